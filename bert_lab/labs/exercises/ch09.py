"""Exercises of chapter 09, Catch the mutants."""

import bert_lab
from bert_lab.course.capstone import failure
from bert_lab.course.mutants import load_mutant
from bert_lab.labs.exercise import Exercise, value

_REPORTS = ["s04", "s08", "s02", "s11", "s09"]


def _reports(answer) -> str | None:
    """A judge that says how many are right, and not which."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 5:
        return "Expected a list of five ids."
    right = sum(str(mine).strip().lower() == id for mine, id in zip(answer, _REPORTS, strict=True))
    return None if right == 5 else f"{right} of 5 are right."


def _kills(id: str, otherwise: str):
    """A judge for a test that passes on the reference and fails on this mutant."""

    def judge(answer) -> str | None:
        if not callable(answer):
            return "Expected a function test(bert)."
        problem = failure(answer, bert_lab)
        if problem:
            return f"It fails on the reference, which is right: {problem}"
        if not failure(answer, load_mutant(id)):
            return f"It passes on {id} as well. {otherwise}"
        return None

    return judge


EXERCISES = {
    "9.1": Exercise(
        _reports,
        right="Wrong labels, a neighbor's padding, copied words, a causal mask, no token types.",
    ),
    "9.2": Exercise(
        value(
            "test_d",
            hints=[
                ("test_a", "Without `test_a`, who kills m2?"),
                ("test_b", "Without `test_b`, who kills m3?"),
                ("test_c", "Without `test_c`, who kills m6?"),
            ],
            otherwise="Answer with the name of one of the four tests.",
        ),
        right="Each of its marks stands in another row as well.",
    ),
    "9.3": Exercise(
        _kills("s08", "Is there a longer sentence in the batch, so that padding has to stay?"),
        right="Beside a longer sentence the padding stays, and a faulty model looks at it.",
    ),
    "9.4": Exercise(
        _kills("b14", "The loss and the logits are right. What does `backward` leave in the word table?"),
        right="Every row of the table is in the decoder, so every row has a gradient.",
    ),
}
