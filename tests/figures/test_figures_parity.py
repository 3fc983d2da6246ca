"""The parity ladder's figure: what it draws, what it says in words, and what it refuses."""

import math

import figure_checks
import matplotlib.pyplot as plt
import pytest
from figure_checks import bars, check_picture, lines, ticks
from figure_checks import texts as letters

from bert_lab import figures
from bert_lab.figures.base import DPI
from bert_lab.figures.palette import BLACK, ORANGE, SKY

nothing_left_open = figure_checks.nothing_left_open  # around every test here


def check_places(ax, ends):
    """Each letter stands beside its bar; the scale is logarithmic."""
    assert [bar[0] for bar in bars(ax, lying=True)] == list(range(len(ends)))
    assert {round(bar.get_height(), 9) for bar in ax.patches} == {0.7}  # with room between them
    for y, (text, end) in enumerate(zip(ax.texts, ends, strict=True)):
        assert text.get_position()[1] == y and 1 < text.get_position()[0] / end < 2
    assert ax.get_xscale() == "log" and ax.get_xlim() == pytest.approx((1e-9, 600))
    assert ax.get_ylim() == pytest.approx((-0.7, len(ends) - 0.3)), "the first rung is at the bottom"
    assert ax.get_xlabel() == "largest difference"


def test_rungs_below_the_limit_are_plain_and_checked():
    fig = figures.parity_ladder({"embeddings": 0.0, "logits": 3e-7, "$loss$": 9.9e-6})
    (ax,) = fig.axes
    assert letters(ax) == ["\N{CHECK MARK}"] * 3
    ends = [1e-9, 3e-7, 9.9e-6]
    assert [bar.get_x() for bar in ax.patches] == [1e-9] * 3
    assert [bar.get_x() + bar.get_width() for bar in ax.patches] == pytest.approx(ends)
    assert [bar[3:] for bar in bars(ax, lying=True)] == [(SKY, BLACK, "")] * 3
    check_places(ax, ends)
    assert ticks(ax.yaxis) == [(0, "embeddings"), (1, "logits"), (2, "$loss$")]
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert lines(ax) == [([1e-5, 1e-5], [0, 1], BLACK, "--", "None")]
    assert ax.get_title(loc="left") == "\N{CHECK MARK} below 1e-05    \N{BALLOT X} not below"
    assert fig.alt == "Parity ladder of 3 rungs, sizes on a log scale, limit 1e-05: all rungs lie below it."
    assert round(fig.get_figheight() * DPI) == 169
    check_picture(fig)


@pytest.mark.parametrize("size", [1e-5, 0.3, 1e9, math.inf, math.nan])
def test_a_broken_rung_is_hatched_crossed_and_named(size):
    fig = figures.parity_ladder({"a": 1e-8, "b": size, "c": 2e-9, "d": 1.0})
    (ax,) = fig.axes
    ends = [1e-8, size if size < 100 else 100, 2e-9, 1.0]
    assert letters(ax) == ["\N{CHECK MARK}", "\N{BALLOT X}", "\N{CHECK MARK}", "\N{BALLOT X}"]
    assert [bar.get_x() + bar.get_width() for bar in ax.patches] == pytest.approx(ends)
    plain, broken = (SKY, BLACK, ""), (ORANGE, BLACK, "///")
    assert [bar[3:] for bar in bars(ax, lying=True)] == [plain, broken, plain, broken]
    check_places(ax, ends)
    assert fig.alt.endswith("limit 1e-05: rung 2, b, is the first that does not lie below it.")
    figures.png(fig)


def test_another_limit():
    fig = figures.parity_ladder({"a": 1e-3}, limit=1e-2)
    assert lines(fig.axes[0])[0][0] == [1e-2, 1e-2] and "limit 0.01: all rungs" in fig.alt
    assert "below 0.01 " in fig.axes[0].get_title(loc="left")
    plt.close(fig)


def test_forty_rungs_are_drawn_and_more_are_refused():
    figures.png(figures.parity_ladder({f"rung {i}": 1e-7 for i in range(40)}))
    for rungs in ({}, {f"rung {i}": 1e-7 for i in range(41)}):
        with pytest.raises(ValueError, match=rf"sizes: expected 1 to 40 rungs, got {len(rungs)}"):
            figures.parity_ladder(rungs)
    with pytest.raises(ValueError, match=r"sizes: expected numbers >= 0, got -1\.0"):
        figures.parity_ladder({"a": -1.0})
