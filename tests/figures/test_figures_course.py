"""The figure of the course: what the picked positions show, routine by routine."""

import figure_checks
import numpy as np
import pytest
from figure_checks import HARD, bars, check_picture, legend, lines, texts, ticks
from matplotlib.colors import to_hex

from bert_lab import figures
from bert_lab.figures.course import share_bars
from bert_lab.figures.palette import BLACK, ORANGE, SKY, YELLOW

nothing_left_open = figure_checks.nothing_left_open  # around every test here


def test_it_is_a_small_picture_with_words():
    fig = share_bars({"reference": (800, 100, 100), "one draw": np.array([5, 0, 0])})
    assert fig.alt == (
        "What the picked positions show."
        " reference: [MASK] 0.800, another token 0.100, the token itself 0.100;"
        " one draw: [MASK] 1.000, another token 0.000, the token itself 0.000."
    )
    check_picture(fig)


def test_bars_are_as_long_as_the_shares():
    fig = share_bars({"a": (6, 3, 1), "b $x$": (1, 0, 3)})
    (ax,) = fig.axes
    mask, other, itself = (ORANGE, BLACK, "///"), (SKY, BLACK, "..."), (YELLOW, BLACK, "xx")
    assert bars(ax, lying=True) == [
        (0, 0, 0.6, *mask),
        (0, 0.6, 0.9, *other),
        (0, 0.9, 1, *itself),
        (1, 0, 0.25, *mask),
        (1, 0.25, 0.25, *other),
        (1, 0.25, 1, *itself),
    ]
    assert lines(ax) == [
        ([0.6, 0.6], [0, 1], BLACK, ":", "None"),
        ([0.9, 0.9], [0, 1], BLACK, ":", "None"),
    ]
    assert texts(ax) == ["M 0.600   R 0.300   K 0.100", "M 0.250   R 0.000   K 0.750"]
    for y, text in enumerate(ax.texts):
        assert text.get_position()[1] == y and 1 < text.get_position()[0] < 1.1
    assert legend(ax) == ["M [MASK]", "R another token", "K the token itself"]
    handles = [
        (to_hex(handle.get_facecolor()).upper(), handle.get_hatch())
        for handle in ax.get_legend().legend_handles
    ]
    assert handles == [(ORANGE, "///"), (SKY, "..."), (YELLOW, "xx")]
    assert ticks(ax.yaxis) == [(0, "a"), (1, "b $x$")]
    assert ax.get_xticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert ax.get_xlim() == (0, 1.42) and ax.get_ylim() == (1.6, -0.6), "the first routine is on top"
    assert ax.spines["bottom"].get_bounds() == (0, 1), "the axis ends where the shares end"
    assert ax.get_xlabel() == "share of the picked positions"
    assert ax.xaxis.label.get_position()[0] == pytest.approx(0.5 / 1.42)  # below the middle of the bars
    figures.png(fig)


def test_names_that_are_hard_to_draw():
    check_picture(share_bars(dict.fromkeys(HARD[:8], (1, 2, 3))))
    check_picture(share_bars(dict.fromkeys(HARD[8:], (1, 2, 3))))
    check_picture(share_bars({HARD[-1]: (1, 2, 3)}))


@pytest.mark.parametrize(
    "numbers", [(1, 2), (1, 2, -1), (0, 0, 0), (1, 2, np.inf), (1, 2, np.nan), [[1, 2, 3]]]
)
def test_counts_that_are_none(numbers):
    with pytest.raises(ValueError, match=r"counts\['a'\]: expected three numbers >= 0, not all 0, got"):
        share_bars({"a": numbers})


@pytest.mark.parametrize("number", [0, 9])
def test_too_few_or_too_many_routines(number):
    with pytest.raises(ValueError, match=f"counts: expected one to 8 routines, got {number}"):
        share_bars({f"routine {i}": (1, 1, 1) for i in range(number)})
