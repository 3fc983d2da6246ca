"""The exercises of the chapters with a table here: right answers, and a sentence of its own for each mistake.

Each `exercises_chNN.py` beside this file has two tables by the exercise's name: ANSWERS, a right answer, and
MISTAKES, the wrong answers that one expects, each with a part of the sentence that it must get.
"""

import importlib

import exercises_ch02
import exercises_ch04
import exercises_ch05
import exercises_ch06
import exercises_ch07
import exercises_ch08
import exercises_ch09
import exercises_ch10
import pytest

from bert_lab.labs.exercise import RIGHT, WRONG, find, verdict

TABLES = {
    "ch02": exercises_ch02,
    "ch04": exercises_ch04,
    "ch05": exercises_ch05,
    "ch06": exercises_ch06,
    "ch07": exercises_ch07,
    "ch08": exercises_ch08,
    "ch09": exercises_ch09,
    "ch10": exercises_ch10,
}
ANSWERS = {name: answer for table in TABLES.values() for name, answer in table.ANSWERS.items()}
MISTAKES = {name: mistakes for table in TABLES.values() for name, mistakes in table.MISTAKES.items()}


@pytest.mark.parametrize("chapter", TABLES)
def test_every_exercise_is_here(chapter):
    exercises = importlib.import_module(f"bert_lab.labs.exercises.{chapter}").EXERCISES
    assert list(TABLES[chapter].ANSWERS) == list(TABLES[chapter].MISTAKES) == list(exercises)


@pytest.mark.parametrize("name", ANSWERS)
def test_right_answers(name):
    assert verdict(name, ANSWERS[name]) == (RIGHT, find(name).right)


@pytest.mark.parametrize(
    ("name", "mistake", "part"),
    [
        pytest.param(name, mistake, part, id=f"{name}: {part}")
        for name, mistakes in MISTAKES.items()
        for mistake, part in mistakes
    ],
)
def test_each_mistake_is_told_what_differs(name, mistake, part):
    status, sentence = verdict(name, mistake)
    assert status == WRONG and part in sentence


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_has_its_sentence(name):
    said = [verdict(name, mistake)[1] for mistake, _ in MISTAKES[name]]
    assert said and len(set(said)) == len(said)
