"""The figures of the encoder: attention maps and the gap between two formulas of GELU."""

import figure_checks
import matplotlib.pyplot as plt
import numpy as np
import pytest
from figure_checks import HARD, check_picture, legend, lines, ticks
from figure_checks import texts as texts_of
from matplotlib.colors import to_hex

from bert_lab import figures
from bert_lab.figures.palette import BLACK, BLUE, GREY, VERMILLION

nothing_left_open = figure_checks.nothing_left_open  # around every test here

WORDS = ["the", "cat", "sat"]
WEIGHTS = np.array([[0.25, 0.5, 0.25], [0.1, 0.1, 0.8], [0.2, 0.4, 0.4]])


def uniform(size: int, *heads: int) -> np.ndarray:
    return np.full((*heads, size, size), 1 / size)


def written(ax) -> dict[tuple, str]:
    """(column, row) -> the weight that is written there."""
    return {text.get_position(): text.get_text() for text in ax.texts if text.get_transform() == ax.transData}


def test_an_attention_map_shows_every_weight_and_says_it():
    fig = figures.attention_map(WEIGHTS, WORDS)
    ax, bar = fig.axes
    assert np.array_equal(ax.images[0].get_array(), WEIGHTS)
    assert ax.images[0].get_extent() == [-0.5, 2.5, 2.5, -0.5], "the first row is on top"
    assert ticks(ax.xaxis) == ticks(ax.yaxis) == list(enumerate(WORDS))
    assert written(ax) == {(j, i): f"{WEIGHTS[i, j]:.2f}" for i, j in np.ndindex(3, 3)}
    assert {(text.get_ha(), text.get_va()) for text in ax.texts} == {("center", "center")}
    assert (ax.get_xlabel(), ax.get_ylabel(), bar.get_ylabel()) == ("looked at", "looks", "weight")
    assert ax.xaxis.get_label_position() == ax.xaxis.get_ticks_position() == "top"
    assert ax.images[0].get_interpolation() == "nearest"
    assert fig.alt == (
        "Attention map of 3 tokens, each looks most: 'the' at 'cat' (0.5000); 'cat' at 'sat' (0.8000);"
        " 'sat' at 'cat' (0.4000)."
    )
    check_picture(fig)


def test_the_darkest_square_is_the_largest_weight():
    fig = figures.attention_map(WEIGHTS / 2, WORDS)
    image = fig.axes[0].images[0]
    assert image.norm.vmin == 0 and image.norm.vmax == 0.4
    assert [to_hex(image.to_rgba(value)).upper() for value in (0, 0.4)] == ["#FFFFFF", BLUE]
    figures.png(fig)


def test_weights_of_any_type_and_four_heads():
    fig = figures.attention_map(np.eye(2, dtype=bool), "ab")
    assert texts_of(fig.axes[0]) == ["1.00", "0.00", "0.00", "1.00"]
    figures.png(fig)
    fig = figures.attention_map(uniform(8, 2), "t" * 8)
    assert len(texts_of(fig.axes[0])) == 8 * 8 + 1  # the name of the head too
    figures.png(fig)
    fig = figures.attention_map(uniform(2, 3), "ab")
    assert [texts_of(ax) for ax in fig.axes[:3]] == [["head 0"], ["head 1"], ["head 2"]]
    figures.png(fig)


def test_weights_on_dark_squares_are_white():
    fig = figures.attention_map([[0.71, 0.29], [0, 1]], "ab")
    inks = [text.get_color() for text in fig.axes[0].texts]
    assert inks == ["white", BLACK, BLACK, "white"]
    figures.png(fig)


def test_heads_stand_side_by_side():
    fig = figures.attention_map(np.stack([WEIGHTS, WEIGHTS[::-1]]), WORDS)
    for head, (ax, weights) in enumerate(zip(fig.axes, (WEIGHTS, WEIGHTS[::-1]), strict=False)):
        assert texts_of(ax)[-1] == f"head {head}"
        x, y = ax.texts[-1].get_position()
        assert x == 0.5 and -0.1 < y < 0 and ax.texts[-1].get_transform() == ax.transAxes, "below the map"
        assert (ax.texts[-1].get_ha(), ax.texts[-1].get_va()) == ("center", "top")
        assert np.array_equal(ax.images[0].get_array(), weights)
        assert written(ax) == {(j, i): f"{weights[i, j]:.2f}" for i, j in np.ndindex(3, 3)}
        assert ticks(ax.xaxis) == ticks(ax.yaxis) == list(enumerate(WORDS))
    assert [ax.get_ylabel() for ax in fig.axes] == ["looks", "", "weight"]
    assert [ax.get_xlabel() for ax in fig.axes] == ["looked at", "looked at", ""]
    assert fig.axes[0].get_position().x1 < fig.axes[1].get_position().x0
    assert "head 0: 'the' at 'cat' (0.5000)" in fig.alt and "head 1: 'the' at 'cat' (0.4000)" in fig.alt
    figures.png(fig)


def test_a_small_map_stands_in_the_middle_and_its_scale_close_to_it():
    fig = figures.attention_map(WEIGHTS, WORDS)
    fig.canvas.draw()
    ax, bar = fig.axes
    assert 0 < bar.get_position().x0 - ax.get_position().x1 < 0.05
    assert ax.get_position().x0 == pytest.approx(1 - bar.get_position().x1, abs=0.1)
    figures.png(fig)


def test_all_heads_share_one_scale():
    fig = figures.attention_map(np.stack([WEIGHTS, WEIGHTS / 4]), WORDS)
    assert [ax.images[0].get_clim() for ax in fig.axes[:2]] == [(0, 0.8), (0, 0.8)]
    figures.png(fig)


@pytest.mark.parametrize(
    ("tokens", "heads", "turned"),
    [(["123456"] * 10, 1, 0), (["1234567"] * 10, 1, 90), (["12345"] * 6, 2, 0), (["123456"] * 6, 2, 90)],
)
def test_long_labels_are_turned(tokens, heads, turned):
    fig = figures.attention_map(uniform(len(tokens), heads), tokens)
    assert {label.get_rotation() for label in fig.axes[0].get_xticklabels()} == {turned}
    assert {label.get_rotation() for label in fig.axes[0].get_yticklabels()} == {0}
    figures.png(fig)


def test_the_size_of_a_map():
    sizes = [
        figures.attention_map(uniform(size, heads), "t" * size).get_figheight()
        for size, heads in ((3, 1), (12, 1), (30, 1), (30, 4))
    ]
    assert sizes == pytest.approx([3.5, 4.7, 6.7, 2.45])  # inches: a map that grows until it is 5.6 high
    plt.close("all")


def test_padding_looks_at_nothing():
    weights = np.array([[1.0, 0], [0, 0]])
    fig = figures.attention_map(weights, ["a", "[PAD]"])
    assert "'a' at 'a' (1.0000); '[PAD]' at none" in fig.alt
    figures.png(fig)
    figures.png(figures.attention_map(weights * 0, ["[PAD]", "[PAD]"]))


def test_any_token_is_drawn_without_a_warning():
    fig = figures.attention_map(uniform(len(HARD)), HARD)
    labels = [label.get_text() for label in fig.axes[0].get_xticklabels()]
    assert labels[:5] == ["$", "$x$", "a_b", "$\\frac$", "\N{WHITE SQUARE}"]
    assert labels[-1] == "x" * 11 + "…"
    assert not any(label.get_parse_math() for label in fig.axes[0].get_yticklabels())
    assert not any(label.get_parse_math() for label in fig.axes[0].get_xticklabels())
    figures.png(fig)


def test_few_tokens_are_said_in_full():
    fig = figures.attention_map(np.eye(2), ["我", "x" * 50])
    assert f"'我' at '我' (1.0000); '{'x' * 50}' at" in fig.alt
    figures.png(fig)


@pytest.mark.parametrize(
    ("size", "said"), [(12, ", each looks most: "), (13, ": the largest weight of a row")]
)
def test_up_to_twelve_tokens_are_said_one_by_one(size, said):
    fig = figures.attention_map(np.eye(size), [str(i) for i in range(size)])
    assert fig.alt.startswith(f"Attention map of {size} tokens{said}")
    assert ("'3' at '3' (1.0000)" in fig.alt) == (size == 12)
    figures.png(fig)


@pytest.mark.parametrize(("size", "named"), [(32, True), (33, False)])
def test_up_to_thirty_two_tokens_are_named(size, named):
    fig = figures.attention_map(np.eye(size), ["w"] * size)
    assert ([text for _, text in ticks(fig.axes[0].yaxis)] == ["w"] * size) == named
    figures.png(fig)


@pytest.mark.parametrize(("size", "heads"), [(1, ()), (9, ()), (12, (4,)), (33, ()), (512, ()), (512, (4,))])
def test_every_size_draws(size, heads):
    fig = figures.attention_map(uniform(size, *heads), ["t"] * size)
    labels = [label.get_text() for label in fig.axes[0].get_yticklabels()]
    assert (labels == ["t"] * size) == (size * len(fig.axes[:-1]) <= 32)
    assert bool(fig.axes[0].texts) == (size <= 8 or bool(heads))
    if size > 12:
        assert f"the largest weight of a row is {1 / size:.4f} on average" in fig.alt
    figures.png(fig)


@pytest.mark.parametrize(
    ("weights", "tokens", "said"),
    [
        (WEIGHTS, WORDS[:2], r"T = 2, got \[3, 3\]"),
        (WEIGHTS[:2], WORDS, r"T = 3, got \[2, 3\]"),
        (WEIGHTS[0], WORDS, r"got \[3\]"),
        (uniform(2, 5), "ab", r"H <= 4 and T = 2, got \[5, 2, 2\]"),
        (uniform(2, 0), "ab", r"got \[0, 2, 2\]"),
        (uniform(2, 1, 1), "ab", r"got \[1, 1, 2, 2\]"),
        (np.zeros((0, 0)), [], "expected 1 to 512, got 0"),
        (uniform(513), "a" * 513, "expected 1 to 512, got 513"),
        (WEIGHTS - 0.2, WORDS, "from 0 to 1, got -0.1"),
        (WEIGHTS * 2, WORDS, "from 0 to 1, got 0.2 to 1.6"),
        (WEIGHTS * float("nan"), WORDS, "from 0 to 1, got nan"),
    ],
)
def test_an_attention_map_that_does_not_fit(weights, tokens, said):
    with pytest.raises(ValueError, match=said):
        figures.attention_map(weights, tokens)


def test_gelu_gap_draws_both_curves_and_marks_the_largest_gap():
    x, exact, gap = [-1.0, 0, 1, 2], np.array([-0.25, 0, 1, 2]), [0.5, 0, 0.5, -0.25]
    fig = figures.gelu_gap(x, exact, exact + gap, name="a $b$")
    left, right = fig.axes
    assert lines(left) == [
        (x, [-0.25, 0, 1, 2], BLUE, "-", "None"),
        (x, [0.25, 0, 1.5, 1.75], VERMILLION, "--", "None"),
    ]
    assert left.lines[0].get_linewidth() > left.lines[1].get_linewidth(), "the first is seen below the second"
    assert legend(left) == ["exact", "a $b$"] and not left.get_legend().get_texts()[1].get_parse_math()
    assert (left.get_xlabel(), left.get_ylabel()) == ("x", "GELU(x)")
    zero, difference, largest = lines(right)
    assert zero == ([0, 1], [0, 0], GREY, "-", "None")
    assert difference == (x, gap, BLACK, "-", "None")
    assert largest == ([-1, 1], [0.5, 0.5], VERMILLION, "None", "s")
    assert legend(right) == ["largest: 5.0e-01"]
    assert (right.get_xlabel(), right.get_ylabel()) == ("x", "a $b$ - exact")
    assert right.get_ylim()[0] < -0.25 and right.get_ylim()[1] == pytest.approx(0.5 + 0.3 * 0.75)
    assert fig.alt.endswith("the gap between a $b$ and exact: at most 5.0e-01, at x = -1.00 and 1.00.")
    check_picture(fig)
    assert right.yaxis.get_offset_text().get_text() == "1e−1"  # small numbers as digits and a power


def test_gelu_gap_marks_all_that_are_as_large_and_says_two():
    fig = figures.gelu_gap([0, 1, 2, 3], [0] * 4, [1e-3, -1e-3, 1e-3, 0.99e-3])
    assert lines(fig.axes[1])[2][:2] == ([0, 1, 2], [1e-3, -1e-3, 1e-3])
    assert legend(fig.axes[0]) == ["exact", "tanh"]
    assert fig.alt.endswith("at most 1.0e-03, at x = 0.00 and 1.00.")
    figures.png(fig)


def test_gelu_gap_of_equal_curves():
    figures.png(figures.gelu_gap([0, 1], [0, 1], [0, 1]))


@pytest.mark.parametrize("sizes", [(3, 3, 2), (3, 2, 3), (1, 1, 1)])
def test_gelu_gap_takes_rows_of_one_length(sizes):
    with pytest.raises(ValueError, match="three rows of one length"):
        figures.gelu_gap(*(np.zeros(size) for size in sizes))
