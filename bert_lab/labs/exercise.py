"""Exercises: `check(name, answer)` says whether an answer is right, or how it differs.

The exercises of chapter NN are in `bert_lab/labs/exercises/chNN.py`, in a table `EXERCISES` from a name
such as "2.1" (chapter 2, exercise 1) to an `Exercise`:

    EXERCISES = {
        "1.1": Exercise(
            value(5, hints=[(6, "The special positions draw nothing.")]),
            right="Three picks and two actions.",
        ),
        "1.4": Exercise(
            function([("one word", lambda: ([5], [0]), [7])]),
            right="It labels the original.",
        ),
    }

A judge takes the answer. It returns None if the answer is right, else a hint: one sentence that says what
differs, without the right answer. `value` and `function` make the usual judges; any such function is one. A
judge may raise an exception. `check` then prints that the answer could not be read, without a stack trace.
"""

import dataclasses
import importlib
import math
import numbers
from collections.abc import Callable, Sequence

NOT_TRIED, RIGHT, WRONG = "not tried yet", "right", "not yet"


@dataclasses.dataclass(frozen=True)
class Exercise:
    """A judge, answer -> None or a hint, and the sentence said when the answer is right."""

    judge: Callable[[object], str | None]
    right: str


def check(name: str, answer: object, *, brief: bool = False) -> None:
    """Print whether `answer` to the exercise `name` is right, with a hint if it is not.

    brief: leave out the sentence that explains a right answer. Folded solutions use it, since their output is
    visible to readers who have not tried yet.
    The answer None means "not tried yet". No answer raises an exception. Raises TypeError or ValueError if
    there is no exercise of that name.
    """
    status, sentence = verdict(name, answer)
    if brief and status == RIGHT:
        sentence = ""
    print(f"Exercise {name}: {status}" + (f". {sentence}" if sentence else ""))


def verdict(name: str, answer: object) -> tuple[str, str]:
    """The parts that `check` prints: the status, NOT_TRIED, RIGHT or WRONG, and a sentence."""
    exercise = find(name)
    if answer is None:
        return NOT_TRIED, ""
    try:
        hint = exercise.judge(answer)
    except (Exception, SystemExit) as problem:
        hint = f"This answer could not be read: {_named(problem)}."
    return (RIGHT, exercise.right) if hint is None else (WRONG, hint)


def find(name: str) -> Exercise:
    """The exercise called `name`, for example "1.2"; TypeError or ValueError if there is none."""
    if not isinstance(name, str):
        raise TypeError(f'name must be a str such as "1.2", got {type(name).__name__}')
    chapter = name.partition(".")[0]
    table = {}
    if chapter.isascii() and chapter.isdigit() and len(chapter) <= 2:
        module = f"bert_lab.labs.exercises.ch{int(chapter):02d}"
        try:
            table = importlib.import_module(module).EXERCISES
        except ModuleNotFoundError as problem:
            if problem.name != module:
                raise
    if name not in table:
        known = ", ".join(table) or "none in that chapter"
        raise ValueError(f'there is no exercise {name!r}; known: {known}. Names look like "1.2"')
    return table[name]


def value(
    expected: object,
    *,
    hints: Sequence[tuple[object, str]] = (),
    otherwise: str = "",
    tol: float = 0.0,
) -> Callable[[object], str | None]:
    """A judge for a number, a text, or a list of them (nested lists for more axes).

    Numbers are equal if they differ by at most `tol` (and a rounding error). 5, 5.0 and a NumPy 5 are the
    same number. Tuples and arrays are lists. Texts are compared without case and outer spaces. hints: pairs
    (wrong answer, sentence) for expected mistakes. otherwise: a sentence that is added to the hint for any
    other wrong answer.
    """
    target = _plain(expected)

    def judge(answer: object) -> str | None:
        given = _plain(answer)
        difference = _difference(given, target, tol)
        if difference is None:
            return None
        for wrong, sentence in hints:
            if _difference(given, _plain(wrong), tol) is None:
                return sentence
        return f"{difference} {otherwise}".strip()

    return judge


def function(
    cases: Sequence[tuple[str, Callable[[], tuple], object]],
    *,
    otherwise: str = "",
    tol: float = 0.0,
) -> Callable[[object], str | None]:
    """A judge for a function that the reader writes.

    cases: triples (description, a function that makes new arguments, expected result). The hint names the
    first case that differs. Results are compared as in `value`.
    """

    def judge(answer: object) -> str | None:
        if not callable(answer):
            return f"Expected a function, got {_kind(answer)}."
        for tried, make_arguments, expected in cases:
            try:
                given = answer(*make_arguments())
            except (Exception, SystemExit) as problem:
                return f"With {tried}, your function raised {_named(problem)}."
            if given is None:
                return f"With {tried}, your function returned None: does it end with `return`?"
            difference = _difference(_plain(given), _plain(expected), tol)
            if difference is not None:
                return f"With {tried}: {difference} {otherwise}".strip()
        return None

    return judge


def _plain(thing: object) -> object:
    """Python numbers, texts and nested lists, from NumPy scalars, arrays, tensors, tuples and ranges."""
    if hasattr(thing, "tolist"):
        thing = thing.tolist()
    if isinstance(thing, (list, tuple, range)):
        return [_plain(item) for item in thing]
    if isinstance(thing, str):
        return thing.strip().casefold()
    return thing


def _difference(given: object, target: object, tol: float) -> str | None:
    """How two plain values differ, without the expected value; None if they are equal."""
    if isinstance(target, list):
        return _list_difference(given, target, tol)
    if isinstance(target, bool):
        if not isinstance(given, bool):
            return f"Expected True or False, got {_kind(given)}."
        return None if given == target else "It is the other one."
    if isinstance(target, numbers.Number):
        return _number_difference(given, target, tol)
    if isinstance(target, str) and not isinstance(given, str):
        return f"Expected a text in quotes, got {_kind(given)}."
    return None if given == target else f"{given!r} is not it."


def _number_difference(given: object, target: numbers.Number, tol: float) -> str | None:
    if isinstance(given, list) and len(given) == 1:
        return "Expected one number, got a list that holds one: take it out with [0]."
    if isinstance(given, bool) or not isinstance(given, numbers.Real):
        return f"Expected a number, got {_kind(given)}."
    if math.isnan(given):
        return "nan means 'not a number': look for a division of zero by zero."
    if math.isclose(given, target, rel_tol=1e-9, abs_tol=tol):
        return None
    return f"{_digits(given)} is too {'small' if given < target else 'large'}."


def _list_difference(given: object, target: list, tol: float) -> str | None:
    if not isinstance(given, list):
        return f"Expected a list of {len(target)}, got {_kind(given)}."
    if len(given) != len(target):
        return f"Expected {len(target)} values, got {len(given)}."
    for i, (mine, theirs) in enumerate(zip(given, target, strict=True)):
        difference = _difference(mine, theirs, tol)
        if difference is not None:
            return f"At index {i}: {difference[0].lower() + difference[1:]}"
    return None


def _kind(thing: object) -> str:
    """The kind of a value in plain words, with the value if it is short."""
    words = {
        str: "a text",
        bool: "a truth value",
        list: "a list",
        type(None): "None",
        dict: "a dict",
        set: "a set",
    }
    if isinstance(thing, numbers.Real) and not isinstance(thing, bool):
        return f"a number ({thing})"
    if type(thing) in (str, bool):
        return f"{words[type(thing)]} ({thing!r})" if len(repr(thing)) < 40 else words[type(thing)]
    if callable(thing):
        return "a function or class"
    return words.get(type(thing), f"a thing of type {type(thing).__name__}")


def _digits(number: numbers.Real) -> str:
    return str(number) if isinstance(number, int) else f"{float(number):.6g}"


def _named(problem: BaseException) -> str:
    text = str(problem)
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__
