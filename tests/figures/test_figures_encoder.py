"""The figures of the encoder: attention maps and the gap between two formulas of GELU."""

import figure_checks
import numpy as np
import pytest
from figure_checks import HARD, check_picture

from bert_lab import figures

nothing_left_open = figure_checks.nothing_left_open  # around every test here

WORDS = ["the", "cat", "sat"]
WEIGHTS = np.array([[0.25, 0.5, 0.25], [0.1, 0.1, 0.8], [0.2, 0.4, 0.4]])


def uniform(size: int, *heads: int) -> np.ndarray:
    return np.full((*heads, size, size), 1 / size)


def texts_of(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_an_attention_map_shows_every_weight_and_says_it():
    fig = figures.attention_map(WEIGHTS, WORDS)
    ax = fig.axes[0]
    assert np.array_equal(ax.images[0].get_array(), WEIGHTS)
    assert [label.get_text() for label in ax.get_xticklabels()] == WORDS
    assert [label.get_text() for label in ax.get_yticklabels()] == WORDS
    assert texts_of(ax) == ["0.25", "0.50", "0.25", "0.10", "0.10", "0.80", "0.20", "0.40", "0.40"]
    assert fig.alt == (
        "Attention map of 3 tokens, each looks most: 'the' at 'cat' (0.5000); 'cat' at 'sat' (0.8000);"
        " 'sat' at 'cat' (0.4000)."
    )
    check_picture(fig)


def test_the_darkest_square_is_the_largest_weight():
    fig = figures.attention_map(WEIGHTS / 2, WORDS)
    image = fig.axes[0].images[0]
    assert image.norm.vmin == 0 and image.norm.vmax == 0.4
    figures.png(fig)


def test_heads_stand_side_by_side():
    fig = figures.attention_map(np.stack([WEIGHTS, WEIGHTS[::-1]]), WORDS)
    assert [texts_of(ax)[-1] for ax in fig.axes[:2]] == ["head 0", "head 1"]
    assert np.array_equal(fig.axes[1].images[0].get_array(), WEIGHTS[::-1])
    assert "head 0: 'the' at 'cat' (0.5000)" in fig.alt and "head 1: 'the' at 'cat' (0.4000)" in fig.alt
    figures.png(fig)


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
    assert not any(label.get_parse_math() for label in fig.axes[0].get_xticklabels())
    figures.png(fig)


def test_few_tokens_are_said_in_full():
    fig = figures.attention_map(np.eye(2), ["我", "x" * 50])
    assert f"'我' at '我' (1.0000); '{'x' * 50}' at" in fig.alt
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


def test_gelu_gap_marks_the_largest_gap():
    x = np.array([-1.0, 0, 1, 2])
    fig = figures.gelu_gap(x, x, x + np.array([0.5, 0, 0.5, -0.25]), name="a $b$")
    left, right = fig.axes
    assert left.get_legend().get_texts()[1].get_text() == "a $b$"
    assert right.lines[1].get_ydata().tolist() == [0.5, 0, 0.5, -0.25]
    assert right.lines[2].get_xdata().tolist() == [-1, 1]
    assert fig.alt.endswith("the gap between a $b$ and exact: at most 5.0e-01, at x = -1.00 and 1.00.")
    check_picture(fig)


def test_gelu_gap_of_equal_curves():
    figures.png(figures.gelu_gap([0, 1], [0, 1], [0, 1]))


@pytest.mark.parametrize("sizes", [(3, 3, 2), (3, 2, 3), (1, 1, 1)])
def test_gelu_gap_takes_rows_of_one_length(sizes):
    with pytest.raises(ValueError, match="three rows of one length"):
        figures.gelu_gap(*(np.zeros(size) for size in sizes))
