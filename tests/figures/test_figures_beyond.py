"""The figure of the comparisons: a dot for each seed."""

import re

import figure_checks
import matplotlib.pyplot as plt
import numpy as np
import pytest
from figure_checks import HARD, check_picture, lines, ticks

from bert_lab import figures
from bert_lab.figures.beyond import seed_dots
from bert_lab.figures.palette import BLACK, BLUE

nothing_left_open = figure_checks.nothing_left_open  # around every test here

ONE = {"BERT": [0.25, 0.5, 0.3], "+ RoPE": [0.5, 0.75, 0.25]}
TWO = {"a: x": [0.25, 0.75], "a: y": [0.5], "b: x": [0.5, 0.5], "b: y": [0.0]}


@pytest.mark.parametrize("scores", [ONE, TWO, {"a": [0.5]}], ids=["one panel", "two panels", "one dot"])
def test_a_figure_is_a_small_picture_with_words(scores):
    check_picture(seed_dots(scores))


def check_rows(ax, rows):
    """For each row a line over its span, its dots, an upright bar at its mean, and the mean in digits."""
    expected = []
    for y, values in enumerate(rows.values()):
        mean = float(np.mean(values))
        expected += [
            ([min(values), max(values)], [y, y], BLUE, "-", "None"),
            (values, [y] * len(values), BLUE, "None", "o"),
            ([pytest.approx(mean)] * 2, [y - 0.28, y + 0.28], BLACK, "-", "None"),
        ]
        x, height = ax.texts[y].get_position()
        assert height == y and 0 < x - max(values) < (ax.get_xlim()[1] - max(values))
        assert ax.texts[y].get_text() == f"{mean:.4f}"
    assert lines(ax) == expected and len(ax.texts) == len(rows)
    assert ax.get_ylim() == (len(rows) - 0.5, -0.5), "the first row is on top"


def test_dots_and_means_of_one_panel():
    fig = seed_dots(ONE, "share")
    (ax,) = fig.axes
    check_rows(ax, ONE)
    assert ax.get_xlim() == pytest.approx((0.25 - 0.08 * 0.5, 0.75 + 0.32 * 0.5))
    assert ticks(ax.yaxis) == list(enumerate(ONE))
    assert ax.get_xlabel() == "share" and ax.get_title(loc="left") == ""
    assert [line.get_visible() for line in ax.get_ygridlines()] == [True, True]
    assert not any(line.get_visible() for line in ax.get_xgridlines()) and len(ax.get_xticks()) <= 6
    assert fig.alt == (
        "A dot for each seed, a bar at the mean of: share."
        " BERT 0.3500 (0.2500 to 0.5000); + RoPE 0.5000 (0.2500 to 0.7500)."
    )
    plt.close(fig)


def test_equal_scores_have_room_around_them():
    fig = seed_dots({"a": [0.5, 0.5]})
    assert fig.axes[0].get_xlim() == pytest.approx((0.5 - 0.08 * 0.02, 0.5 + 0.32 * 0.02))
    plt.close(fig)


def test_a_panel_for_each_task():
    fig = seed_dots(TWO)
    left, right = fig.axes
    check_rows(left, {"x": [0.25, 0.75], "y": [0.5]})
    check_rows(right, {"x": [0.5, 0.5], "y": [0.0]})
    assert left.get_title(loc="left") == "a" and right.get_title(loc="left") == "b"
    assert ticks(left.yaxis) == [(0, "x"), (1, "y")] and left.get_position().x1 < right.get_position().x0
    assert left.get_xlim() == right.get_xlim() == pytest.approx((0 - 0.08 * 0.75, 0.75 + 0.32 * 0.75))
    assert left.get_xlabel() == right.get_xlabel() == "score"
    assert not any(label.get_visible() for label in right.get_yticklabels())  # one scale for both
    assert fig.alt == (
        "A dot for each seed, a bar at the mean of: score."
        " a: x 0.5000 (0.2500 to 0.7500); y 0.5000. b: x 0.5000 (0.5000 to 0.5000); y 0.0000."
    )
    plt.close(fig)


def test_a_task_in_some_names_alone_makes_no_panels():
    fig = seed_dots({"a: x": [0.5], "y": [0.5]})
    assert len(fig.axes) == 1 and fig.axes[0].get_yticklabels()[0].get_text() == "a: x"
    plt.close(fig)


def test_a_long_name_takes_two_lines():
    fig = seed_dots({"then ELECTRA, loss at the blanks alone": [0.5]})
    assert fig.axes[0].get_yticklabels()[0].get_text() == "then ELECTRA, loss at the\nblanks alone"
    plt.close(fig)


def test_any_name_is_drawn_without_a_warning():
    for half in (HARD[:8], HARD[8:]):
        figures.png(seed_dots({name: [0.1, 0.2] for name in half}, half[0]))
        figures.png(seed_dots({f"{task}: x": [0.1] for task in half[:3]}, half[1]))


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({}, "got 0 of 0"),
        ({str(i): [0.5] for i in range(9)}, "expected one to three tasks of one to 8 rows, got 1 of 9"),
        ({f"{i}: x": [0.5] for i in range(4)}, "got 4 of 1"),
        ({"a: x": [0.5], "b: y": [0.5]}, "expected for 'b' the rows x, got others"),
        ({"x": []}, "scores['x']: expected numbers from 0 to 1, got []"),
        ({"x": [1.5]}, "got [1.5]"),
        ({"x": [0.5, 1.5]}, "got [0.5, 1.5]"),
        ({"x": [-0.5]}, "got [-0.5]"),
        ({"x": [np.nan]}, "got [nan]"),
    ],
)
def test_scores_that_do_not_fit(scores, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        seed_dots(scores)


def test_a_measure_is_no_formula():
    fig = figures.seed_dots({"a": [0.25, 0.5]}, "cost in $ and $")
    label = fig.axes[0].xaxis.label
    assert label.get_text() == "cost in $ and $" and not label.get_parse_math()
    figures.png(fig)
