"""What a check found, in words for a learner, as a table for a teacher, and as a file for Gradescope."""

from __future__ import annotations

import ast
import functools
import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import handout
from .grading import Failure, Grade, Outcome

POINTS = 50.0  # for all course tests, and the same for all mutants
_LINES = 6  # of an error's message that are shown
_COLORS = {"passed": "32", "failed": "31", "to do": "33"}

Paint = Callable[[str, str], str]


def painter(stream) -> Paint:
    """A function that colors a text by what it says, where the stream is a terminal that wants colors."""
    wanted = stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    if not wanted:
        return _plain
    return lambda text, kind: f"\x1b[{_COLORS[kind]}m{text}\x1b[0m"


def _plain(text: str, kind: str) -> str:
    return text


@dataclass(frozen=True)
class Checked:
    """One submission: its name, the course tests on its bert.py, and the grade of its own tests."""

    name: str
    part: str
    course: Outcome
    grade: Grade

    @property
    def course_passed(self) -> bool:
        """Whether every course test of the part passes."""
        return not self.course.trouble and set(handout.course_tests(self.part)) <= set(self.course.passed)

    @property
    def passed(self) -> bool:
        """Whether the course tests pass, and the learner's own tests reach the grade."""
        return self.course_passed and self.grade.passed

    @property
    def score(self) -> float:
        """0 to 100: half of it for course tests, half for mutants."""
        tests = handout.course_tests(self.part)
        return POINTS * len(self.course.passed) / len(tests) + POINTS * self.grade.share


# ---- the course tests


def course_lines(
    course: Outcome, part: str, select: Sequence[str], paint: Paint, brief: bool = False
) -> list[str]:
    """One line a test, and under each that is red what it claimed, what came, and why it matters.

    brief: leave out the tests that pass.
    """
    if course.trouble:
        return [f"{paint('failed', 'failed')}  {course.trouble}"]
    shown = [test for test in select if not (brief and test in course.passed)]
    lines = [line for test in shown for line in _test_lines(course, test, paint)]
    missing, borrowed = course.notes.get("missing", []), course.notes.get("borrowed", [])
    if borrowed:
        lines.append(f"note    bert_lab's own, not written in bert.py: {', '.join(borrowed)}")
    if part == "whole" and set(missing) >= set(handout.PARTS["whole"]) - set(handout.PARTS["masking"]):
        lines.append(
            "note    bert.py has nothing of the model: for the masking part alone, add --only masking"
        )
    return lines


def _test_lines(course: Outcome, test: str, paint: Paint) -> list[str]:
    """One course test: passed, to do, or failed and why."""
    if test in course.passed:
        return [f"{paint('passed', 'passed')}  {test}"]
    failure, missing = course.failed[test], course.notes.get("missing", [])
    todo = failure.todo or next((name for name in missing if f"attribute {name!r}" in failure.message), "")
    if todo:
        return [f"{paint('to do', 'to do')}   {test}: {todo} is not written yet"]
    told = [*failure_lines(failure), f"Why it matters: {_reasons()[test]}"]
    return [f"{paint('failed', 'failed')}  {test}", *(f"        {line}" for line in told)]


def failure_lines(failure: Failure) -> list[str]:
    """What the test claimed, what came instead, and where."""
    lines = []
    if failure.claim:
        lines.append(f"line {failure.line} claims: {failure.claim}")
    message = [line for line in failure.message.splitlines() if line.strip()]
    lines += message[:_LINES] + ["..."] * (len(message) > _LINES)
    if failure.bert_line:
        lines.append(f"It comes from bert.py, line {failure.bert_line}.")
    if failure.printed.strip():
        lines += ["It printed:", *failure.printed.rstrip().splitlines()[-_LINES:]]
    return lines


@functools.cache
def _reasons() -> dict[str, str]:
    """{course test: the reason in its docstring}, one line each."""
    tree = ast.parse(Path(__file__).with_name("test_bert.py").read_text(encoding="utf-8"))
    texts = {
        node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.FunctionDef)
    }
    return {name: " ".join(text.partition("Why:")[2].split()) for name, text in texts.items()}


# ---- the whole


def lines_of(checked: Checked, steps: int, paint: Paint) -> list[str]:
    """All that was found about one submission, with hints of so many steps for each survivor."""
    course, grade = checked.course, checked.grade
    tests = handout.course_tests(checked.part)
    lines = [f"Course tests: {len(course.passed)} of {len(tests)} pass"]
    lines += _indented(course_lines(course, checked.part, tests, paint, brief=True))
    lines += ["", f"Your tests: {len(grade.tests)} pass on correct code" if grade.tests else "Your tests"]
    lines += _indented([f"to do: {name}{reason and f' ({reason})'}" for name, reason in grade.todo.items()])
    for failure in grade.wrong:
        lines += _indented(
            [f"{paint('failed', 'failed')}  {failure.test}", *_indented(failure_lines(failure))]
        )
    if not grade.problem:
        lines += ["", grade.kill_matrix(), ""]
    lines += _indented(grade.summary())
    if steps and grade.survived:
        lines += ["", "Hints for what your tests let pass", *_indented(grade.hints(steps).splitlines())]
    verdict = paint("passed", "passed") if checked.passed else paint("not passed", "failed")
    return [*lines, "", f"{verdict}, {checked.score:.1f} of 100 points"]


def _indented(lines: Sequence[str]) -> list[str]:
    return textwrap.indent("\n".join(lines), "  ").splitlines()


def table(all_checked: Sequence[Checked]) -> str:
    """A line for each submission: course tests, mutants, pitfalls, points, and whether it passed."""
    rows = [("folder", "course tests", "mutants", "pitfalls", "points", "")]
    for each in all_checked:
        grade = each.grade
        tests = handout.course_tests(each.part)
        pitfalls = grade.pitfalls.values()
        rows.append(
            (
                each.name,
                f"{len(each.course.passed)}/{len(tests)}",
                f"{len(grade.killed)}/{len(grade.verdicts)}" if grade.verdicts else "none",
                f"{sum(pitfalls)}/{len(pitfalls)}" if pitfalls else "none",
                f"{each.score:.1f}",
                "passed" if each.passed else f"not passed{_first_reason(each)}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _first_reason(checked: Checked) -> str:
    reason = checked.course.trouble or checked.grade.problem
    return f": {textwrap.shorten(reason, 70, placeholder=' ...')}" if reason else ""


# ---- Gradescope


def gradescope(checked: Checked, steps: int) -> dict:
    """The results of one submission, as Gradescope's autograder reads them from results.json.

    steps: of the hint for each survivor, 0 to 3.

    A score of 100, a test for each course test and each mutant, and in `extra_data` what a script may want.
    """
    course, grade = checked.course, checked.grade
    names = handout.course_tests(checked.part)
    tests = []
    for name in names:
        lines = [course.trouble] if course.trouble else _test_lines(course, name, _plain)
        tests.append(_entry(f"course: {name}", name in course.passed, POINTS / len(names), "\n".join(lines)))
    for id, verdict in grade.verdicts.items():
        said = {"killed": f"caught by {', '.join(verdict.tests)}", "survived": "no test caught it"}
        words = said.get(verdict.kind) or f"no verdict: {verdict.why}"
        points = POINTS / len(grade.verdicts)
        tests.append(_entry(f"mutant {id}", verdict.kind == "killed", points, words))
    if grade.problem:
        tests.append(_entry("your tests", False, POINTS, "\n".join(_problem_lines(grade))))
    return {
        "score": round(checked.score, 2),
        "output": "\n".join(lines_of(checked, steps, _plain)),
        "tests": tests,
        "extra_data": {
            "passed": checked.passed,
            "part": checked.part,
            "course_passed": list(course.passed),
            "course_problem": course.trouble,
            "borrowed": course.notes.get("borrowed", []),
            "share": round(grade.share, 4),
            "killed": grade.killed,
            "survived": grade.survived,
            "grade_problem": grade.problem,
            "caught_by": grade.caught_by if not grade.problem else {},
        },
    }


def _problem_lines(grade: Grade) -> list[str]:
    return [grade.problem, *(line for failure in grade.wrong for line in failure_lines(failure))]


def _entry(name: str, passed: bool, points: float, output: str) -> dict:
    return {
        "name": name,
        "score": round(points * passed, 4),
        "max_score": round(points, 4),
        "status": "passed" if passed else "failed",
        "output": output,
    }
