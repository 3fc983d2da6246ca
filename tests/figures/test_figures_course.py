"""The figure of the course: what the picked positions show, routine by routine."""

import figure_checks
import numpy as np
import pytest
from figure_checks import HARD, check_picture

from bert_lab import figures
from bert_lab.figures.course import share_bars

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
    fig = share_bars({"a": (6, 3, 1), "b": (1, 0, 3)})
    (ax,) = fig.axes
    bars = sorted((round(bar.get_y() + 0.33), bar.get_x(), bar.get_width()) for bar in ax.patches)
    assert [bar[0] for bar in bars] == [0, 0, 0, 1, 1, 1]
    widths = np.array([bar[2] for bar in bars]).reshape(2, 3)
    np.testing.assert_allclose(np.sort(widths[0]), [0.1, 0.3, 0.6])
    np.testing.assert_allclose(np.sort(widths[1]), [0, 0.25, 0.75])
    limits = [line.get_xdata()[0] for line in ax.lines]
    np.testing.assert_allclose(limits, [0.6, 0.9])
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["M 0.600   R 0.300   K 0.100", "M 0.250   R 0.000   K 0.750"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "M [MASK]",
        "R another token",
        "K the token itself",
    ]
    assert {bar.get_hatch() for bar in ax.patches} == {"///", "...", "xx"}
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first routine is on top"
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
