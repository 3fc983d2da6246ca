"""Figures of reading both ways: the grid of all heads, and the bars of what readers answer."""

import re

import figure_checks
import matplotlib.pyplot as plt
import numpy as np
import pytest
from figure_checks import HARD, bars, check_picture, check_texts_beyond, lines, texts, ticks
from matplotlib.colors import to_hex

from bert_lab import figures
from bert_lab.figures.attention import attention_grid, blank_scores
from bert_lab.figures.palette import BLACK, BLUE, GREEN, PURPLE, SKY, VERMILLION

nothing_left_open = figure_checks.nothing_left_open  # around every test here

TOKENS = ["[CLS]", "not", "bad", "[SEP]"]
SCORES = {"copies": [0.1, 0.2, 0.0], "reads $x$": [1.0, 0.9, 0.8]}


def some_maps(layers=2, heads=3, size=4, seed=0):
    raw = np.random.default_rng(seed).random((layers, heads, size, size)) + 0.01
    return raw / raw.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    "make",
    [lambda: attention_grid(some_maps(), TOKENS), lambda: blank_scores(SCORES, 1 / 7)],
    ids=["attention_grid", "blank_scores"],
)
def test_a_figure_is_a_small_picture_with_words(make):
    check_picture(make())


def test_the_grid_draws_each_map_in_its_place():
    maps = some_maps()
    fig = attention_grid(maps, TOKENS)
    *panels, bar = fig.axes
    fig.canvas.draw()  # which puts the panels in their places
    grid = np.array(panels).reshape(2, 3)
    for (layer, head), ax in np.ndenumerate(grid):
        (image,) = ax.images
        np.testing.assert_array_equal(image.get_array(), maps[layer, head])
        assert image.get_extent() == [-0.5, 3.5, 3.5, -0.5], "the first row is on top"
        assert image.get_clim() == (0, 1) and image.get_interpolation() == "nearest"
        assert [to_hex(image.to_rgba(value)).upper() for value in (0, 1)] == ["#FFFFFF", BLUE]
        assert all(spine.get_visible() for spine in ax.spines.values())
        assert ax.get_title(loc="center") == ("" if layer else f"head {head}")
        assert ax.get_ylabel() == ("" if head else f"layer {layer}")
        assert ticks(ax.yaxis) == ([] if head else list(enumerate(TOKENS)))
        assert ticks(ax.xaxis) == (list(enumerate(TOKENS)) if layer == 1 else [])
        assert {label.get_rotation() for label in ax.get_xticklabels()} <= {90}
    assert grid[0, 0].get_position().x1 < grid[0, 1].get_position().x0
    assert grid[0, 0].get_position().y0 > grid[1, 0].get_position().y1
    assert bar.get_ylabel() == "weight"
    assert fig.get_figheight() == pytest.approx(2 * 2.1 + 1.1)
    plt.close(fig)


@pytest.mark.parametrize(("size", "named"), [(16, 16), (17, 0)])
def test_a_grid_of_many_tokens_or_maps_is_drawn_without_names(size, named):
    fig = attention_grid(some_maps(8, 8, size), ["x"] * size)
    grid = np.array(fig.axes[:64]).reshape(8, 8)
    assert [len(ax.get_yticks()) for ax in grid[:, 0]] == [named] * 8
    assert [len(ax.get_xticks()) for ax in grid[7]] == [named] * 8
    assert not any(len(ax.get_yticks()) for ax in grid[:, 1:].flat) and fig.get_figheight() == pytest.approx(
        8.9
    )
    figures.png(fig)


def test_a_tall_grid_draws():
    figures.png(attention_grid(some_maps(12, 1, 40), ["x"] * 40))


CAUSAL = np.tril(some_maps())
PADDED = some_maps()
PADDED[..., 3] = PADDED[..., 3, :] = 0
ODD = some_maps()
ODD[0, 0, 0, 1] = 0


@pytest.mark.parametrize(
    ("maps", "words"),
    [
        (some_maps(), "in each map, every token looks at every token"),
        (some_maps(seed=9), "in each map, every token looks at every token"),
        (CAUSAL, "in each map, a token looks at itself and at those before it, and at no later one"),
        (PADDED, "in each map, every token looks at every other, but for positions 3, white throughout"),
        (ODD, "0.9896 of the weights are above zero"),
    ],
)
def test_the_words_of_a_grid_have_no_weights(maps, words):
    fig = attention_grid(maps, TOKENS)
    assert fig.alt == (
        f"Attention maps of 4 tokens, 2 layers from top to bottom and 3 heads from left to right: {words}."
    )
    figures.png(fig)


def test_one_layer_is_said_as_one():
    fig = attention_grid(some_maps(1, 1, 1), ["x"])
    assert fig.alt.startswith("Attention maps of 1 token, 1 layer from top to bottom and 1 head from left to")
    figures.png(fig)


def test_the_bars_and_the_line_at_chance():
    scores = SCORES | {"c": [0.3, 0.2, 0.1], "d": [0.5, 0.6, 0.7]}
    fig = blank_scores(scores, 0.25)
    looks = [(SKY, BLUE, ""), (SKY, VERMILLION, "///"), (SKY, GREEN, "..."), (SKY, PURPLE, "xx")]
    for ax, (name, shares), look in zip(fig.axes, scores.items(), looks, strict=True):
        assert bars(ax) == [(place, 0, share, *look) for place, share in enumerate(shares, 1)]
        assert texts(ax) == [f"{share:.2f}" for share in shares]
        check_texts_beyond(ax, shares)
        assert lines(ax) == [([0, 1], [0.25, 0.25], BLACK, "--", "None")]
        assert ax.get_title(loc="left") == name and ax.get_xticks().tolist() == [1, 2, 3]
        assert ax.get_ylim() == (0, 1.12) and ax.get_yticks().tolist() == [0, 0.5, 1]
        assert ax.get_xlabel() == "hidden word"
    assert [ax.get_ylabel() for ax in fig.axes] == ["share right", "", "", ""]
    fig.canvas.draw()
    assert not any(label.get_visible() for label in fig.axes[1].get_yticklabels())  # one scale for all
    assert fig.alt == (
        "Shares of right answers at 3 blanks, measured, a panel for each reader, from the left: copies;"
        " reads $x$; c; d. A dashed line marks chance, 0.2500."
    )
    plt.close(fig)
    for chance in (0, 1):
        plt.close(blank_scores(SCORES, chance))


def test_any_name_is_drawn_without_a_warning():
    figures.png(attention_grid(some_maps(1, 2, len(HARD)), HARD))
    for part in (HARD[:4], HARD[4:8], HARD[8:12], HARD[12:]):
        figures.png(blank_scores({key: [0.5] for key in part}, 0))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: attention_grid(some_maps(), "abc"),
            r"\[L, H, T, T\] with T = 3, one or more, got \[2, 3, 4",
        ),
        (lambda: attention_grid(some_maps()[0], TOKENS), re.escape("got [3, 4, 4]")),
        (lambda: attention_grid(np.zeros((1, 1, 0, 0)), ""), "T = 0, one or more"),
        (lambda: attention_grid(some_maps(5, 13), TOKENS), "1 to 64 of them, got 65"),
        (lambda: attention_grid(np.zeros((0, 2, 4, 4)), TOKENS), "1 to 64 of them, got 0"),
        (lambda: attention_grid(some_maps() + 1, TOKENS), "from 0 to 1"),
        (lambda: attention_grid(-some_maps(), TOKENS), "from 0 to 1"),
        (lambda: attention_grid(some_maps() * np.nan, TOKENS), "from 0 to 1"),
        (lambda: blank_scores({}, 0.1), "one to 4 readers, got 0"),
        (lambda: blank_scores({key: [0.5] for key in "abcde"}, 0.1), "got 5"),
        (lambda: blank_scores({"a": [0.5], "b": [0.5, 0.5]}, 0.1), r"scores\['b'\]: .* got \(2,\)"),
        (lambda: blank_scores({"a": []}, 0.1), r"got \(0,\)"),
        (lambda: blank_scores({"a": 0.5}, 0.1), r"got \(\)"),
        (lambda: blank_scores({"a": [1.5]}, 0.1), r"from 0 to 1, got \[1.5\]"),
        (lambda: blank_scores({"a": [float("nan")]}, 0.1), "from 0 to 1"),
        (lambda: blank_scores({"a": [0.5]}, 1.5), "chance: expected a share from 0 to 1, got 1.5"),
        (lambda: blank_scores({"a": [0.5]}, float("nan")), "got nan"),
    ],
)
def test_sizes_and_values_that_do_not_fit(call, said):
    with pytest.raises(ValueError, match=said):
        call()
