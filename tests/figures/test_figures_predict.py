"""Figures of the prediction chapters: the loss ladder, the bars of a blank, the influence matrix."""

import re
import warnings

import figure_checks
import matplotlib.pyplot as plt
import numpy as np
import pytest
from figure_checks import HARD, bars, check_picture, check_texts_beyond, texts, ticks
from matplotlib.colors import to_hex

from bert_lab import figures
from bert_lab.figures.palette import BLACK, BLUE, GREY, ORANGE, SKY, VERMILLION

nothing_left_open = figure_checks.nothing_left_open  # around every test here

RUNGS = {"ln V": 3.1781, "unigram": 2.5, "model $x$": 1.25}
BLANKS = [[("new", 0.5), ("los", 0.25)], [("york", 0.75)]]
SQUARE = np.arange(1.0, 10.0).reshape(3, 3)
MADE = {
    "loss_ladder": lambda: figures.loss_ladder(RUNGS),
    "fill_bars": lambda: figures.fill_bars(BLANKS),
    "influence_matrix": lambda: figures.influence_matrix(SQUARE, ["[CLS]", "cat", "[SEP]"]),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_figure_is_a_small_picture_with_words(make):
    check_picture(make())


def test_loss_ladder_draws_and_says_each_rung():
    fig = MADE["loss_ladder"]()
    ax = fig.axes[0]
    losses = list(RUNGS.values())
    assert bars(ax, lying=True) == [(y, 0, loss, SKY, BLUE, "...") for y, loss in enumerate(losses)]
    assert texts(ax) == ["3.1781", "2.5000", "1.2500"]
    check_texts_beyond(ax, losses, lying=True)
    assert ticks(ax.yaxis) == list(enumerate(RUNGS))
    assert ax.get_ylim() == (2.5, -0.5), "the first rung stands at the top"
    assert ax.get_xlim() == pytest.approx((0, 1.12 * 3.1781)) and ax.get_xlabel() == "loss in nats"
    assert fig.alt == "Loss ladder, from the top: ln V 3.1781; unigram 2.5000; model $x$ 1.2500."
    plt.close(fig)


def test_loss_ladder_keeps_trained_digits_out_of_the_words():
    low, high = ({"a": 2.0, "b": loss, "c": 1.0} for loss in (1.73, 2.0))
    for rungs, words in ((low, "below a"), (high, "not below a")):
        fig = figures.loss_ladder(rungs, measured=["b"])
        assert fig.alt == f"Loss ladder, from the top: a 2.0000; b {words}; c 1.0000."
        figures.png(fig)
    fig = figures.loss_ladder(low, measured=["b"])
    plain, measured = (SKY, BLUE, "..."), (ORANGE, VERMILLION, "///")
    assert [bar[3:] for bar in bars(fig.axes[0], lying=True)] == [plain, measured, plain]
    assert texts(fig.axes[0]) == ["2.0000", "1.73", "1.0000"]
    figures.png(fig)
    fig = figures.loss_ladder({"b": 1.73}, measured=("b",))
    assert fig.alt == "Loss ladder, from the top: b measured."
    assert texts(fig.axes[0]) == ["1.73"]
    plt.close(fig)


def test_loss_ladder_of_zeros():
    fig = figures.loss_ladder({"certain": 0.0})
    assert fig.axes[0].get_xlim() == (0, 1.12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures.png(fig)


def test_as_many_bars_as_there_may_be():
    figures.png(figures.loss_ladder({str(i): i for i in range(8)}))
    fig = figures.fill_bars([[("a", 1 / 12)] * 12, [("b", 1.0), ("c", 0.0)], [("d", 0.5)], [("e", 0.5)]])
    assert [ax.get_ylim() for ax in fig.axes] == [(11.5, -0.5)] * 4  # bars of one size in all panels
    figures.png(fig)
    figures.png(figures.fill_bars([[("a", 0.6), ("b", 0.40009)]]))  # float32 rounds


def test_fill_bars_draw_and_say_each_piece():
    fig = MADE["fill_bars"]()
    for number, (ax, blank) in enumerate(zip(fig.axes, BLANKS, strict=True), 1):
        chances = [chance for _, chance in blank]
        assert bars(ax, lying=True) == [(y, 0, chance, SKY, BLUE, "...") for y, chance in enumerate(chances)]
        assert texts(ax) == [f"{chance:.4f}" for chance in chances]
        check_texts_beyond(ax, chances, lying=True)
        assert ticks(ax.yaxis) == list(enumerate(piece for piece, _ in blank))
        assert ax.get_title(loc="left") == f"blank {number}" and ax.get_xlabel() == "probability"
        assert ax.get_ylim() == (1.5, -0.5), "the first piece stands at the top"
        assert ax.get_xlim() == (0, 1.25) and ax.get_xticks().tolist() == [0, 0.5, 1]
    assert fig.axes[0].get_position().x1 < fig.axes[1].get_position().x0
    assert fig.alt == (
        "Probabilities of the best pieces. blank 1: new 0.5000, los 0.2500; blank 2: york 0.7500."
    )
    plt.close(fig)


def test_fill_bars_keep_trained_digits_out_of_the_words():
    fig = figures.fill_bars(BLANKS[:1], measured=True)
    assert fig.alt == "Probabilities of the best pieces. blank 1: measured, most probable first (2)."
    assert texts(fig.axes[0]) == ["0.50", "0.25"]
    plt.close(fig)


@pytest.mark.parametrize("n", [1, len(HARD), 41, 512])
def test_influence_matrix_draws_any_tokens_without_a_warning(n):
    tokens = (HARD * 40)[:n]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fig = figures.influence_matrix(np.random.default_rng(0).random((n, n)) + 0.01, tokens)
        labels = [label.get_text() for label in fig.axes[0].get_xticklabels()]
        assert len(figures.png(fig)) < 220_000  # noise, the worst case; base64 adds a third
    assert len(labels) == {1: 1, len(HARD): len(HARD), 41: 21, 512: 40}[n]
    assert labels[0] == "$"
    if n == len(HARD):
        assert labels[4] == "\N{WHITE SQUARE}" and labels[-1] == "x" * 11 + "…"


def test_ladder_and_bars_draw_any_name_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        halves = HARD[:8], HARD[8:]
        for half in halves:
            figures.png(figures.loss_ladder(dict.fromkeys(half, 1.0)))
        figures.png(figures.fill_bars([[(token, 0.05) for token in half] for half in halves]))


def test_influence_matrix_has_outputs_in_rows_and_tokens_in_columns():
    fig = figures.influence_matrix(SQUARE, "abc")
    ax, bar = fig.axes
    np.testing.assert_array_equal(ax.images[0].get_array(), SQUARE)
    assert ax.images[0].get_extent() == [-0.5, 2.5, 2.5, -0.5], "the first row is on top"
    assert ticks(ax.xaxis) == ticks(ax.yaxis) == list(enumerate("abc"))
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("token that changes", "output that moves")
    assert bar.get_ylabel() == "how far the output moves" and texts(ax) == []
    plt.close(fig)


def test_influence_matrix_marks_exact_zeros():
    fig = figures.influence_matrix(np.tril(SQUARE), "abc")
    ax, image = fig.axes[0], fig.axes[0].images[0]
    zeros = {text.get_position(): text.get_text() for text in ax.texts}
    assert zeros == dict.fromkeys([(1, 0), (2, 0), (2, 1)], "0")  # (column, row)
    assert {(text.get_ha(), text.get_va()) for text in ax.texts} == {("center", "center")}
    np.testing.assert_array_equal(image.get_array().mask, np.triu(np.ones((3, 3)), 1))
    shades = [to_hex(color).upper() for color in image.to_rgba(np.ma.masked_equal([0, 1e-9, 3, 9], 0))]
    grey, white, _, black = shades
    assert (grey, white, black) == (GREY, "#FFFFFF", BLACK)
    assert image.get_clim() == (0, 9) and image.get_interpolation() == "nearest"
    light = [sum(image.to_rgba(value)[:3]) for value in np.linspace(0.01, 9, 50)]
    assert light == sorted(light, reverse=True), "what moves more is darker"
    plt.close(fig)
    fig = figures.influence_matrix(np.zeros((2, 2)), "ab")
    assert fig.axes[0].images[0].get_clim() == (0, 1) and texts(fig.axes[0]) == ["0"] * 4
    plt.close(fig)


@pytest.mark.parametrize(
    ("n", "height", "named", "zeros", "size", "shades"),
    [
        (4, 3.2, 1, 16, 11, 256),
        (16, 7.04, 1, 256, 11, 256),
        (17, 7.38, 1, 0, 8, 256),
        (40, 7.5, 1, 0, 8, 256),
        (64, 7.5, 2, 0, 8, 256),
        (65, 7.5, 2, 0, 8, 16),
        (81, 7.5, 3, 0, 8, 16),
    ],
)
def test_a_large_influence_matrix_has_fewer_names_and_shades(n, height, named, zeros, size, shades):
    fig = figures.influence_matrix(np.zeros((n, n)), [str(i) for i in range(n)])
    ax = fig.axes[0]
    assert ticks(ax.xaxis) == ticks(ax.yaxis) == [(i, str(i)) for i in range(0, n, named)]
    assert len(ax.texts) == zeros and shades == ax.images[0].cmap.N
    assert {label.get_fontsize() for label in ax.get_yticklabels()} == {size}
    assert fig.get_figheight() == pytest.approx(height)
    plt.close(fig)


PADDED = SQUARE.copy()
PADDED[2] = PADDED[:, 2] = 0
COLUMN = SQUARE.copy()
COLUMN[:, 1] = 0
ODD = SQUARE.copy()
ODD[1, 0] = 0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (SQUARE, "no entry is zero, each output is moved by each token"),
        (np.zeros((3, 3)), "all entries are zero"),
        (
            np.tril(SQUARE),
            "all entries above the diagonal are zero and no other, no output is moved by a later token",
        ),
        (PADDED, "the rows and columns of positions 2 are zero, and nothing else"),
        (COLUMN, "the columns of positions 1 are zero"),
        (ODD, "1 of the 9 entries are zero"),
    ],
)
def test_influence_matrix_says_where_it_is_zero(values, words):
    fig = figures.influence_matrix(values, "abc")
    assert fig.alt == f"Influence matrix of 3 tokens, outputs in rows, tokens in columns: {words}."
    figures.png(fig)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: figures.loss_ladder({}), "one to eight losses, got 0"),
        (lambda: figures.loss_ladder({str(i): 1.0 for i in range(9)}), "got 9"),
        (lambda: figures.loss_ladder({"a": -0.1}), "at least 0, got -0.1 for 'a'"),
        (lambda: figures.loss_ladder({"a": float("nan")}), "got nan for 'a'"),
        (lambda: figures.loss_ladder({"a": float("inf")}), "got inf for 'a'"),
        (lambda: figures.loss_ladder({"a": 1.0}, measured=["b"]), "names of rungs, got b"),
        (lambda: figures.fill_bars([]), "one to four, got 0"),
        (lambda: figures.fill_bars([[("a", 0.1)]] * 5), "one to four, got 5"),
        (lambda: figures.fill_bars([[]]), "blank 1: expected one to twelve pieces, got 0"),
        (lambda: figures.fill_bars([[("a", 1.0)], []]), "blank 2: expected one to twelve pieces, got 0"),
        (lambda: figures.fill_bars([[("a", 0.01)] * 13]), "got 13"),
        (lambda: figures.fill_bars([[("a", 0.6), ("b", 0.6)]]), "sum to at most 1"),
        (lambda: figures.fill_bars([[("a", -0.1)]]), "sum to at most 1"),
        (lambda: figures.fill_bars([[("a", float("nan"))]]), "sum to at most 1"),
        (lambda: figures.influence_matrix(SQUARE, "ab"), re.escape("shape (2, 2) for 2 tokens, got (3, 3)")),
        (lambda: figures.influence_matrix(SQUARE[:2], "ab"), re.escape("got (2, 3)")),
        (lambda: figures.influence_matrix(np.zeros((0, 0)), ""), "1 to 512, got 0"),
        (lambda: figures.influence_matrix(np.zeros((513, 513)), "a" * 513), "got 513"),
        (lambda: figures.influence_matrix(-SQUARE, "abc"), "finite numbers of at least 0"),
        (lambda: figures.influence_matrix(SQUARE * np.nan, "abc"), "finite numbers of at least 0"),
        (lambda: figures.influence_matrix(SQUARE * np.inf, "abc"), "finite numbers of at least 0"),
    ],
)
def test_sizes_and_values_that_do_not_fit(call, said):
    with pytest.raises(ValueError, match=said):
        call()
