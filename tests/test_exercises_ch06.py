"""The exercises of chapter 06: the right answers, and a sentence of its own for each mistake one expects."""

import numpy as np
import pytest

from bert_lab.labs.exercise import RIGHT, WRONG, verdict
from bert_lab.labs.exercises.ch06 import EXERCISES


def bias_slope(probabilities, labels):
    probabilities, labels = np.array(probabilities), np.array(labels)
    asked = labels != -100
    wanted = np.eye(probabilities.shape[1])[labels[asked]]
    return (probabilities[asked] - wanted).sum(axis=0) / max(1, asked.sum())


ANSWERS = {
    "6.1": np.mean([2, 3]),
    "6.2": 384 * 384 + 384 + 2 * 384 + 30522,
    "6.3": [2, 3, 4, 7],
    "6.4": bias_slope,
    "6.5": 0.25**2,
}
MISTAKES = {
    "6.1": [1.625, 1.25, 5, 0.75, 3],
    "6.2": [179_130 + 384 * 30522, 148_608, 178_362, 178_746, 147_456, 1],
    "6.3": [[0, 2, 3, 4, 7], [5, 8], [2, 4, 7, 4, 3], [4], [2, 3, 4, 5, 7, 8], [0, 2, 3, 4, 5, 7, 8], [2]],
    "6.5": [0, 0.25, 0.5625, 0.1875, 0.3],
}
WRONG_SLOPES = {
    "without the label": (lambda p, y: np.mean(p, axis=0), "one position, half and half"),
    "not a mean": (lambda p, y: bias_slope(p, y) * np.sum(np.array(y) != -100), "two labelled positions"),
    "a mean over all": (
        lambda p, y: bias_slope(p, y) * np.mean(np.array(y) != -100),
        "a position without a label",
    ),
}


def test_every_exercise_is_here():
    assert list(ANSWERS) == list(EXERCISES)


@pytest.mark.parametrize("name", ANSWERS)
def test_right_answers(name):
    assert verdict(name, ANSWERS[name]) == (RIGHT, EXERCISES[name].right)


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_has_its_sentence(name):
    said = [verdict(name, mistake) for mistake in MISTAKES[name]]
    assert {status for status, _ in said} == {WRONG}
    assert len({sentence for _, sentence in said}) == len(said)


@pytest.mark.parametrize("name", WRONG_SLOPES)
def test_a_wrong_slope_is_told_where(name):
    slope, where = WRONG_SLOPES[name]
    status, sentence = verdict("6.4", slope)
    assert status == WRONG and where in sentence


def test_a_slope_of_nothing():
    def nan_slope(probabilities, labels):
        slope = bias_slope(probabilities, labels)
        return slope if any(y != -100 for y in labels) else slope + np.nan

    status, sentence = verdict("6.4", nan_slope)
    assert status == WRONG and "With no label at all" in sentence and "zero by zero" in sentence
