"""The exercises of chapter 02: the right answers, and a sentence of its own for each mistake one expects."""

import math

import pytest

from bert_lab import rates
from bert_lab.labs.exercise import RIGHT, WRONG, verdict
from bert_lab.labs.exercises.ch02 import EXERCISES


def statistic(counts, shares):
    total = sum(counts)
    return sum((c - total * q) ** 2 / (total * q) for c, q in zip(counts, shares, strict=True))


ANSWERS = {
    "2.1": rates.exact_shares(10, (0.5, 0.4, 0.1))[1],
    "2.2": [math.ceil(rates.pick_band(10_000, 0.15)[0]), math.floor(rates.pick_band(10_000, 0.15)[1])],
    "2.3": statistic,
    "2.4": next(n for n in range(100) if rates.no_pick_chance(n, 0.15) < 0.001),
    "2.5": rates.required_picks(rates.exact_shares(30522), rates.exact_shares(30522, (0.8, 0.12, 0.08))),
}
MISTAKES = {
    "2.1": [0.4, 0.36, 0.8, 0.1],
    "2.2": [[1357, 1643], [1357, 1642], [1358, 1643], [1465, 1535], [1500, 1500], [0, 1]],
    "2.4": [42, 42.5, 44, 7],
    "2.5": [3443, 216, 292, 24_483, 1],
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


def test_a_statistic_that_divides_by_the_wrong_thing():
    def squared(counts, shares):
        total = sum(counts)
        return sum((c - total * q) ** 2 / (total * q) ** 2 for c, q in zip(counts, shares, strict=True))

    status, sentence = verdict("2.3", squared)
    assert status == WRONG and "not by its square" in sentence
