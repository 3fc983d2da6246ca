"""Figures of training: the curves of a run, hits on blanks, words that come in one by one."""

import re

import figure_checks
import matplotlib.pyplot as plt
import numpy as np
import pytest
from figure_checks import HARD, bars, check_picture, legend, lines, texts, ticks

from bert_lab import figures
from bert_lab.figures.palette import BLACK, BLUE, GREEN, ORANGE, SKY, VERMILLION, YELLOW
from bert_lab.figures.training import hit_bars, reveal_curves, training_curves

nothing_left_open = figure_checks.nothing_left_open  # around every test here


def entry(step, loss, accuracy, *held_out):
    names = ("held_out_loss", "held_out_accuracy")
    return {"step": step, "loss": loss, "accuracy": accuracy, **dict(zip(names, held_out, strict=False))}


HISTORY = [entry(0, 4.0, 0.0, 3.9, 0.01), entry(1, 3.0, 0.1), entry(2, 2.5, 0.2, 2.6, 0.18)]
LEVELS = {"uniform": (4.1, 0.001), "uni$gram": (2.7, 0.05)}
ONE = {"same blanks": {"unigram": (5, 100), "BERT": (1450, 2900)}}
TWO = {"hidden": {"a": (1, 4), "b": (0, 4)}, "in view": {"a": (4, 4), "b": (2, 4)}}
WORDS = ["-", "statement", "modules."]
CHANCES = {"import": [0.1, 0.2, 0.9], "$x$": [0.3, 0.1, 0.0]}
MADE = {
    "training_curves": lambda: training_curves(HISTORY, LEVELS),
    "hit_bars, one test": lambda: hit_bars(ONE),
    "hit_bars, two tests": lambda: hit_bars(TWO),
    "reveal_curves": lambda: reveal_curves(WORDS, CHANCES),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_figure_is_a_small_picture_with_words(make):
    check_picture(make())


def test_training_curves_draw_the_run_and_the_levels():
    fig = MADE["training_curves"]()
    left, right = fig.axes
    for ax, batches, held, levels in (
        (left, [4.0, 3.0, 2.5], [3.9, 2.6], [4.1, 2.7]),
        (right, [0.0, 0.1, 0.2], [0.01, 0.18], [0.001, 0.05]),
    ):
        assert lines(ax) == [
            ([0, 1, 2], batches, SKY, "-", "None"),
            ([0, 2], held, BLUE, "-", "o"),
            ([0, 1], [levels[0]] * 2, VERMILLION, "--", "None"),
            ([0, 1], [levels[1]] * 2, GREEN, "-.", "None"),
        ]
        assert texts(ax) == ["uniform", "uni$gram"]
        assert [text.get_position() for text in ax.texts] == [(2, level) for level in levels]
        assert [text.get_color() for text in ax.texts] == [VERMILLION, GREEN]
        assert {(text.get_ha(), text.get_va()) for text in ax.texts} == {("right", "bottom")}
        assert ax.get_xlabel() == "step"
    assert (left.get_ylabel(), right.get_ylabel()) == ("loss in nats", "share of blanks that are hit")
    assert right.get_ylim()[0] == 0 and left.get_ylim()[0] > 1 and right.get_legend() is None
    assert legend(left) == ["each batch", "held-out text"]
    plt.close(fig)


def test_training_curves_say_no_digits_of_the_run():
    fig = MADE["training_curves"]()
    assert fig.alt == (
        "Loss and accuracy of a run over its steps."
        " The loss on held-out text falls, ends below uniform, ends below uni$gram."
    )
    plt.close(fig)
    flat = [entry(0, 4, 0, 3.9, 0), entry(5, 4, 0, 3.9, 0)]
    fig = training_curves(flat, LEVELS)
    assert "does not fall, ends below uniform, does not end below uni$gram." in fig.alt
    figures.png(fig)
    fig = training_curves(flat, {"just so": (3.9, 0)})
    assert fig.alt.endswith("does not end below just so.")
    figures.png(fig)


def check_hits(ax, results, looks, room):
    """Bars of shares with whiskers of two standard deviations to each side, from the top."""
    shares = np.array([hits / blanks for hits, blanks in results.values()])
    sd = np.sqrt(shares * (1 - shares) / [blanks for _, blanks in results.values()])
    assert bars(ax, lying=True) == [
        (y, 0, pytest.approx(share), *look) for y, (share, look) in enumerate(zip(shares, looks, strict=True))
    ]
    for i, (share, spread) in enumerate(zip(shares, sd, strict=True)):
        (whisker,) = ax.collections[i].get_segments()
        np.testing.assert_allclose(whisker, [[share - 2 * spread, i], [share + 2 * spread, i]], atol=1e-12)
        x, y = ax.texts[i].get_position()
        assert y == i and 0 < x - (share + 2 * spread) < 0.05 * room
    assert ax.get_ylim() == (len(shares) - 0.5, -0.5) and ax.get_xlim() == pytest.approx((0, 1.5 * room))
    assert ax.get_xlabel() == "share of blanks hit"


def test_hit_bars_draw_and_say_the_shares():
    fig = MADE["hit_bars, one test"]()
    (ax,) = fig.axes
    check_hits(ax, ONE["same blanks"], [(SKY, BLUE, "...")] * 2, room=0.5)
    assert texts(ax) == ["0.050  (5 of 100)", "0.500  (1,450 of 2,900)"]
    assert ticks(ax.yaxis) == [(0, "unigram"), (1, "BERT")] and ax.get_title(loc="left") == ""
    assert ax.get_xticks().min() == 0 and 0.5 < ax.get_xticks().max() <= 0.75
    assert (
        fig.alt == "Blanks that were hit. same blanks: unigram 5 of 100, 0.050; BERT 1,450 of 2,900, 0.500."
    )
    plt.close(fig)


def test_hit_bars_of_readers_that_hit_nothing():
    fig = hit_bars({"test": {"a": (0, 10)}})
    check_hits(fig.axes[0], {"a": (0, 10)}, [(SKY, BLUE, "...")], room=0.05)
    figures.png(fig)


def test_hit_bars_keep_what_was_measured_here_out_of_the_words():
    fig = hit_bars(ONE, measured=["BERT"])
    assert fig.alt == "Blanks that were hit. same blanks: unigram 5 of 100, 0.050; BERT measured, the most."
    assert fig.axes[0].texts[1].get_text() == "0.500  (1,450 of 2,900)"
    figures.png(fig)
    fig = hit_bars({"test": {"a": (1, 2), "b": (1, 2)}}, measured=["b"])
    assert fig.alt == "Blanks that were hit. test: a 1 of 2, 0.500; b measured, not the most."
    plt.close(fig)


def test_hit_bars_side_by_side():
    four = {"a": (1, 4), "b": (0, 4), "$c$": (2, 4), "d": (3, 4)}
    tests = {"hidden": four, "in $view$": {name: (4 - hits, 4) for name, (hits, _) in four.items()}}
    fig = hit_bars(tests)
    looks = [(SKY, BLUE, "..."), (ORANGE, VERMILLION, "///"), (YELLOW, BLACK, "xx"), (SKY, BLUE, "...")]
    for ax, (test, results) in zip(fig.axes, tests.items(), strict=True):
        check_hits(ax, results, looks, room=1)
        assert texts(ax) == [f"{hits / 4:.3f}" for hits, _ in results.values()]
        assert ax.get_title(loc="left") == test and ax.get_xticks().max() == 1
    assert ticks(fig.axes[0].yaxis) == list(enumerate(four))
    assert fig.axes[0].get_position().x1 < fig.axes[1].get_position().x0
    assert not any(label.get_visible() for label in fig.axes[1].get_yticklabels())  # one scale for both
    figures.png(fig)
    fig = MADE["hit_bars, two tests"]()
    assert fig.alt == (
        "Blanks that were hit. hidden: a 1 of 4, 0.250; b 0 of 4, 0.000."
        " in view: a 4 of 4, 1.000; b 2 of 4, 0.500."
    )
    plt.close(fig)


def test_reveal_curves_draw_and_say_who_leads():
    fig = MADE["reveal_curves"]()
    (ax,) = fig.axes
    assert lines(ax) == [
        ([0, 1, 2], [0.1, 0.2, 0.9], BLUE, "-", "o"),
        ([0, 1, 2], [0.3, 0.1, 0.0], VERMILLION, "--", "s"),
    ]
    assert ticks(ax.xaxis) == list(enumerate(WORDS))
    assert legend(ax) == list(CHANCES) and ax.get_legend().get_title().get_text() == "piece"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("words added to the right, one by one", "probability")
    assert ax.get_ylim() == (0, 1.02)
    assert fig.alt == (
        "Probabilities of 2 pieces as words are added."
        " The likeliest of them after -: $x$; statement: import; modules.: import."
    )
    plt.close(fig)


def test_many_words_are_turned():
    for words, turned in ((WORDS, 0), (["sevenxx"] * 12, 0), (["eightxxx"] * 12, 90)):
        fig = reveal_curves(words, {"a": np.full(len(words), 0.5)})
        assert {label.get_rotation() for label in fig.axes[0].get_xticklabels()} == {turned}
        figures.png(fig)


def test_any_name_is_drawn_without_a_warning():
    for half in (HARD[:8], HARD[8:]):
        figures.png(hit_bars({half[0]: dict.fromkeys(half, (1, 2)), half[1]: dict.fromkeys(half, (1, 2))}))
        figures.png(training_curves(HISTORY, dict.fromkeys(half[:4], (1.0, 0.1))))
        figures.png(reveal_curves(half, {piece: [0.5] * len(half) for piece in half[:5]}))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: training_curves(HISTORY[:1], LEVELS), "two of them with held-out numbers, got 1 and 1"),
        (lambda: training_curves(HISTORY[:2], LEVELS), "got 2 and 1"),
        (lambda: hit_bars({}), "one to three tests, got 0"),
        (lambda: hit_bars({str(i): ONE["same blanks"] for i in range(4)}), "got 4"),
        (lambda: hit_bars({"a": {}}), "one to 8 readers, got 0"),
        (lambda: hit_bars({"a": {str(i): (1, 2) for i in range(9)}}), "got 9"),
        (lambda: hit_bars({"a": {"x": (1, 2)}, "b": {"y": (1, 2)}}), "panels['b']: expected the readers x"),
        (lambda: hit_bars({"a": {"x": (3, 2)}}), "panels['a']['x']: expected 0 <= hits <= blanks, got 3, 2"),
        (lambda: hit_bars({"a": {"x": (-1, 2)}}), "got -1, 2"),
        (lambda: hit_bars({"a": {"x": (0, 0)}}), "got 0, 0"),
        (lambda: reveal_curves(["a"], {"x": [0.1]}), "words: expected 2 to 24, got 1"),
        (lambda: reveal_curves(["a"] * 25, {"x": [0.1] * 25}), "got 25"),
        (lambda: reveal_curves(["a", "b"], {}), "one to 5 pieces, got 0"),
        (lambda: reveal_curves(["a", "b"], {str(i): [0, 0] for i in range(6)}), "got 6"),
        (lambda: reveal_curves(["a", "b"], {"x": [0.1]}), "chances['x']: expected 2 probabilities"),
        (lambda: reveal_curves(["a", "b"], {"x": [0.1, 1.1]}), "chances['x']: expected 2 probabilities"),
        (lambda: reveal_curves(["a", "b"], {"x": [0.1, np.nan]}), "chances['x']: expected 2 probabilities"),
        (lambda: reveal_curves(["a", "b"], {"x": [-0.1, 0.1]}), "chances['x']: expected 2 probabilities"),
    ],
)
def test_sizes_and_values_that_do_not_fit(call, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        call()


def test_a_piece_may_be_certain():
    fig = figures.reveal_curves(["", "a"], {"the": [0.25, 1.0]})
    [line] = fig.axes[0].lines
    assert line.get_ydata().tolist() == [0.25, 1.0]
    figures.png(fig)
