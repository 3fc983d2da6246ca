"""The parity ladder's figure: what it draws, what it says in words, and what it refuses."""

import math

import figure_checks
import matplotlib.pyplot as plt
import pytest
from figure_checks import check_picture

from bert_lab import figures
from bert_lab.figures.base import DPI

nothing_left_open = figure_checks.nothing_left_open  # around every test here


def letters(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_rungs_below_the_limit_are_plain_and_checked():
    fig = figures.parity_ladder({"embeddings": 0.0, "logits": 3e-7, "$loss$": 9.9e-6})
    (ax,) = fig.axes
    assert letters(ax) == ["\N{CHECK MARK}"] * 3
    assert [bar.get_hatch() or "" for bar in ax.patches] == [""] * 3
    assert [label.get_text() for label in ax.get_yticklabels()] == ["embeddings", "logits", "$loss$"]
    assert [bar.get_y() for bar in ax.patches] == sorted(bar.get_y() for bar in ax.patches)
    assert [bar.get_x() + bar.get_width() for bar in ax.patches] == pytest.approx([1e-9, 3e-7, 9.9e-6])
    assert fig.alt == "Parity ladder of 3 rungs, sizes on a log scale, limit 1e-05: all rungs lie below it."
    assert round(fig.get_figheight() * DPI) == 169
    check_picture(fig)


@pytest.mark.parametrize("size", [1e-5, 0.3, 1e9, math.inf, math.nan])
def test_a_broken_rung_is_hatched_crossed_and_named(size):
    fig = figures.parity_ladder({"a": 1e-8, "b": size, "c": 2e-9, "d": 1.0})
    (ax,) = fig.axes
    assert letters(ax) == ["\N{CHECK MARK}", "\N{BALLOT X}", "\N{CHECK MARK}", "\N{BALLOT X}"]
    assert [bar.get_hatch() or "" for bar in ax.patches] == ["", "///", "", "///"]
    assert ax.patches[1].get_x() + ax.patches[1].get_width() <= ax.get_xlim()[1]
    assert fig.alt.endswith("limit 1e-05: rung 2, b, is the first that does not lie below it.")
    figures.png(fig)


def test_another_limit():
    fig = figures.parity_ladder({"a": 1e-3}, limit=1e-2)
    assert fig.axes[0].lines[0].get_xdata()[0] == 1e-2 and "limit 0.01: all rungs" in fig.alt
    plt.close(fig)


def test_forty_rungs_are_drawn_and_more_are_refused():
    figures.png(figures.parity_ladder({f"rung {i}": 1e-7 for i in range(40)}))
    for rungs in ({}, {f"rung {i}": 1e-7 for i in range(41)}):
        with pytest.raises(ValueError, match=rf"sizes: expected 1 to 40 rungs, got {len(rungs)}"):
            figures.parity_ladder(rungs)
    with pytest.raises(ValueError, match=r"sizes: expected numbers >= 0, got -1\.0"):
        figures.parity_ladder({"a": -1.0})
