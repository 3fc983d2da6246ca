"""The figure of the comparisons: a dot for each seed."""

import re

import figure_checks
import matplotlib.pyplot as plt
import numpy as np
import pytest
from figure_checks import HARD, check_picture

from bert_lab import figures
from bert_lab.figures.beyond import seed_dots

nothing_left_open = figure_checks.nothing_left_open  # around every test here

ONE = {"BERT": [0.25, 0.5, 0.3], "+ RoPE": [0.5, 0.75, 0.25]}
TWO = {"a: x": [0.25, 0.75], "a: y": [0.5], "b: x": [0.5, 0.5], "b: y": [0.0]}


@pytest.mark.parametrize("scores", [ONE, TWO, {"a": [0.5]}], ids=["one panel", "two panels", "one dot"])
def test_a_figure_is_a_small_picture_with_words(scores):
    check_picture(seed_dots(scores))


def test_dots_and_means_of_one_panel():
    fig = seed_dots(ONE, "share")
    (ax,) = fig.axes
    spans, dots, means = (ax.lines[i::3] for i in range(3))
    assert [line.get_xdata().tolist() for line in dots] == list(ONE.values())
    assert [line.get_xdata()[0] for line in means] == pytest.approx([0.35, 0.5])
    assert [list(line.get_xdata()) for line in spans] == [[0.25, 0.5], [0.25, 0.75]]
    assert [set(line.get_ydata()) for line in dots] == [{0}, {1}]
    assert [text.get_text() for text in ax.texts] == ["0.3500", "0.5000"]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(ONE)
    assert ax.get_xlabel() == "share" and ax.get_title(loc="left") == ""
    assert fig.alt == (
        "A dot for each seed, a bar at the mean of: share."
        " BERT 0.3500 (0.2500 to 0.5000); + RoPE 0.5000 (0.2500 to 0.7500)."
    )
    plt.close(fig)


def test_a_panel_for_each_task():
    fig = seed_dots(TWO)
    left, right = fig.axes
    assert left.get_title(loc="left") == "a" and right.get_title(loc="left") == "b"
    assert [label.get_text() for label in left.get_yticklabels()] == ["x", "y"]
    assert left.get_xlim() == right.get_xlim()
    assert left.lines[1].get_xdata().tolist() == [0.25, 0.75]
    assert right.lines[4].get_xdata().tolist() == [0.0]
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
        ({"x": [-0.5]}, "got [-0.5]"),
        ({"x": [np.nan]}, "got [nan]"),
    ],
)
def test_scores_that_do_not_fit(scores, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        seed_dots(scores)
