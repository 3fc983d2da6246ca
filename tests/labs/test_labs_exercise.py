"""Exercise checks: a sentence for every answer, and a stack trace for none."""

import sys
import types

import numpy as np
import pytest

from bert_lab.labs import check, exercise
from bert_lab.labs.exercise import NOT_TRIED, RIGHT, WRONG, Exercise, function, value, verdict


def broken(_answer):
    raise RuntimeError("judge fell over")


class Hostile:
    """An answer that cannot be read."""

    def tolist(self):
        raise OSError("no")


@pytest.fixture(autouse=True)
def chapter_77(monkeypatch):
    """A chapter of its own for these tests."""
    module = types.ModuleType("bert_lab.labs.exercises.ch77")
    module.EXERCISES = {
        "77.1": Exercise(value(5, hints=[(6, "Specials draw nothing.")], otherwise="Count again."), "Five."),
        "77.2": Exercise(value([[1, 2], [3, -100]]), "The row."),
        "77.3": Exercise(value(0.4437, tol=1e-4), "0.85^5."),
        "77.4": Exercise(value("keep"), "Keep."),
        "77.5": Exercise(value(True), "True."),
        "77.6": Exercise(
            function([("2", lambda: (2,), 4), ("[1, 2]", lambda: ([1, 2],), [1, 2, 1, 2])]), "Twice."
        ),
        "77.7": Exercise(broken, "never"),
    }
    monkeypatch.setitem(sys.modules, module.__name__, module)
    import bert_lab.labs.exercises as package

    monkeypatch.setattr(package, "ch77", module, raising=False)


def test_no_answer_says_the_same_every_time(capsys):
    for _ in range(2):
        check("77.1", None)
        assert capsys.readouterr().out == "Exercise 77.1: not tried yet\n"
    assert verdict("77.2", None) == (NOT_TRIED, "")


def test_what_is_printed_for_right_and_wrong(capsys):
    check("77.1", 5)
    check("77.1", 6)
    assert capsys.readouterr().out == (
        "Exercise 77.1: right. Five.\nExercise 77.1: not yet. Specials draw nothing.\n"
    )


def test_a_brief_check_does_not_explain_what_is_right(capsys):
    check("77.1", 5, brief=True)
    check("77.1", 6, brief=True)
    check("77.1", None, brief=True)
    assert capsys.readouterr().out == (
        "Exercise 77.1: right\nExercise 77.1: not yet. Specials draw nothing.\nExercise 77.1: not tried yet\n"
    )


@pytest.mark.parametrize("answer", [5, 5.0, np.int64(5), np.float32(5), np.array(5)])
def test_one_number_in_many_types(answer):
    assert verdict("77.1", answer) == (RIGHT, "Five.")


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (4, "4 is too small. Count again."),
        (np.float64(7.5), "7.5 is too large. Count again."),
        (float("nan"), "nan means 'not a number': look for a division of zero by zero. Count again."),
        (float("inf"), "inf is too large. Count again."),
        (True, "Expected a number, got a truth value (True). Count again."),
        ("5", "Expected a number, got a text ('5'). Count again."),
        ("x" * 50, "Expected a number, got a text. Count again."),
        ([5], "Expected one number, got a list that holds one: take it out with [0]. Count again."),
        ([5, 5], "Expected a number, got a list. Count again."),
        (5j, "Expected a number, got a thing of type complex. Count again."),
        (..., "Expected a number, got a thing of type ellipsis. Count again."),
        (len, "Expected a number, got a function or class. Count again."),
        ({}, "Expected a number, got a dict. Count again."),
    ],
)
def test_a_wrong_number_is_told_how(answer, hint):
    assert verdict("77.1", answer) == (WRONG, hint)


@pytest.mark.parametrize(
    "answer",
    [[[1, 2], [3, -100]], ((1, 2), (3, -100)), np.array([[1, 2], [3, -100]]), [range(1, 3), [3.0, -100]]],
)
def test_one_list_in_many_types(answer):
    assert verdict("77.2", answer) == (RIGHT, "The row.")


def test_a_tensor_is_a_list():
    torch = pytest.importorskip("torch")
    assert verdict("77.2", torch.tensor([[1, 2], [3, -100]]))[0] == RIGHT


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ([[1, 2]], "Expected 2 values, got 1."),
        ([1, 2], "At index 0: expected a list of 2, got a number (1)."),
        ([[1, 2], [3, 0]], "At index 1: at index 1: 0 is too large."),
        ([[1, None], [3, -100]], "At index 0: at index 1: expected a number, got None."),
        ("1, 2, 3", "Expected a list of 2, got a text ('1, 2, 3')."),
        ({1, 2}, "Expected a list of 2, got a set."),
        (Hostile(), "This answer could not be read: OSError: no."),
    ],
)
def test_a_wrong_list_is_told_where(answer, hint):
    assert verdict("77.2", answer) == (WRONG, hint)


def test_a_tolerance_is_kept():
    assert verdict("77.3", 0.44371)[0] == RIGHT
    assert verdict("77.3", 0.4439)[0] == WRONG
    assert verdict("77.1", 5 + 1e-6)[0] == WRONG  # without one, only rounding errors pass
    assert verdict("77.1", 0.1 * 50)[0] == RIGHT


def test_texts_and_truths():
    assert verdict("77.4", " Keep ")[0] == RIGHT
    assert verdict("77.4", "random") == (WRONG, "'random' is not it.")
    assert verdict("77.4", 3) == (WRONG, "Expected a text in quotes, got a number (3).")
    assert verdict("77.5", np.bool_(True))[0] == RIGHT
    assert verdict("77.5", False) == (WRONG, "It is the other one.")
    assert verdict("77.5", 1) == (WRONG, "Expected True or False, got a number (1).")


def test_functions_are_called_case_by_case():
    def exits(_x):
        raise SystemExit

    def fails(x):
        return 1 / (x - 2)

    assert verdict("77.6", lambda x: x * 2) == (RIGHT, "Twice.")
    assert verdict("77.6", lambda x: 4) == (WRONG, "With [1, 2]: Expected a list of 4, got a number (4).")
    assert verdict("77.6", lambda x: None)[1].startswith("With 2, your function returned None")
    assert verdict("77.6", fails) == (
        WRONG,
        "With 2, your function raised ZeroDivisionError: division by zero.",
    )
    assert verdict("77.6", exits) == (WRONG, "With 2, your function raised SystemExit.")
    assert verdict("77.6", lambda: 4)[1].startswith("With 2, your function raised TypeError")
    assert verdict("77.6", 4) == (WRONG, "Expected a function, got a number (4).")


def test_a_judge_that_raises_gives_a_sentence():
    assert verdict("77.7", 1) == (WRONG, "This answer could not be read: RuntimeError: judge fell over.")


@pytest.mark.parametrize("name", ["77.9", "78.1", "x", "", "../etc", "777.1", "²"])
def test_an_unknown_name_is_an_error_that_lists_the_known(name):
    with pytest.raises(ValueError, match="there is no exercise") as caught:
        check(name, 1)
    assert ("77.1, 77.2" in str(caught.value)) == name.startswith("77.")


def test_a_name_must_be_a_text():
    with pytest.raises(TypeError, match="name must be a str"):
        check(77.1, 1)


def test_a_table_that_fails_to_import_says_so(monkeypatch):
    def missing(module):
        raise ModuleNotFoundError("No module named 'other'", name="other")

    monkeypatch.setattr(exercise.importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match="other"):
        check("77.1", 1)


def mean_of_all(losses, labels):
    return sum(losses) / len(losses)


def mean_of_labelled(losses, labels):
    kept = [loss for loss, label in zip(losses, labels, strict=True) if label != -100]
    return sum(kept) / len(kept)


def masked_loss(losses, labels):
    return mean_of_labelled(losses, labels) if set(labels) != {-100} else 0.0


ROW = ([2, 12, 4, 9, 7, 3], [-100, -100, 6, 9, -100, -100])


@pytest.mark.parametrize(
    ("name", "answer"),
    [("0.1", 30), ("1.1", 14), ("1.2", ROW), ("1.3", 0.75), ("1.4", masked_loss), ("1.5", 16)],
)
def test_the_first_chapters_take_the_right_answer(name, answer):
    status, sentence = verdict(name, answer)
    assert status == RIGHT and sentence.endswith(".")


@pytest.mark.parametrize(
    ("name", "answer", "hint"),
    [
        ("0.1", 170, "left alone"),
        ("0.1", 31, "Multiply"),
        ("1.1", 7, "draws twice"),
        ("1.1", 20, "Special positions draw nothing"),
        ("1.2", ROW[::-1], "inputs come first"),
        ("1.2", (ROW[0], [-100, -100, 4, 9, -100, -100]), "the original"),
        ("1.2", [], "Expected 2 values, got 0."),
        ("1.3", 0.3, "overall share"),
        ("1.3", 0.5, "remaining 0.4"),
        ("1.4", mean_of_all, "With losses 1, 1, 4 and labels 5, 6, -100: 2 is too large."),
        ("1.4", mean_of_labelled, "no label at all, your function raised ZeroDivisionError"),
        ("1.4", 1.0, "Expected a function"),
        ("1.5", 15, "rejected"),
        ("1.5", 56, "modulo 40"),
    ],
)
def test_the_first_chapters_hint_at_what_is_wrong(name, answer, hint):
    status, sentence = verdict(name, answer)
    assert status == WRONG and hint in sentence
