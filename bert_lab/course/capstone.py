"""The capstone of the book: a masking routine with an unknown fault, and a judge of what a reader found out.

The routine is that of the plain reference with one line changed. All of these faults pass the worked example
of the course text, section 3, and none is among the rows of `faults`: a reader has to find a new one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import bert_lab
from bert_lab.checks import as_index
from bert_lab.course import plain
from bert_lab.course.contract import plain_source
from bert_lab.rng import PCG32

NOT_TRIED = "not tried yet"


@dataclass(frozen=True)
class _Fault:
    """A line of the loop, less its indentation, the line in its place, its author's belief, and hints."""

    old: str
    new: str
    belief: str
    hints: tuple[str, str, str]


_FAULTS = (
    _Fault(
        "return inputs, labels",
        "return inputs.ravel(), labels.ravel()",
        "Ids are a row of ids, so what comes back is a row too.",
        (
            "Every number that comes back is right. What else does a result have?",
            "Give it a batch of rows, as a list of lists or as an array.",
            "What comes back has the form of what went in.",
        ),
    ),
    _Fault(
        "if special[t] or rng.uniform() >= p:",
        "if special[t] or ids[t] == mask_id or rng.uniform() >= p:",
        "[MASK] is a special token, so it can be skipped whatever the flags say.",
        (
            "Who decides which positions may be picked?",
            "Let the row hold every id there is, and flag only some of them as special. Take p = 1.",
            "Every position that is not flagged must have its label.",
        ),
    ),
    _Fault(
        "if special[t] or rng.uniform() >= p:",
        "if special[t] or rng.uniform() > p:",
        "A draw that equals p exactly does not happen, so the sign does not matter.",
        (
            "Where does one rule end and the next one begin?",
            "Script draws that lie on a limit, and not only left and right of it. Zero is a p too.",
            "u = p is not picked.",
        ),
    ),
    _Fault(
        "labels[t] = ids[t]",
        "labels[t] = ids[t] or IGNORE",
        "An id of 0 is padding, and padding has no label.",
        (
            "Is the label the original id, whatever that id is?",
            "Let the row hold every id there is, from 0 to V - 1, and flag none as special. Take p = 1.",
            "The labels are then the row itself.",
        ),
    ),
    _Fault(
        "for t in np.ndindex(ids.shape):",
        "for t in np.ndindex(ids[:512].shape):",
        "BERT has 512 positions, so nobody can want more.",
        (
            "Does it go on doing what it does at first?",
            "Give it a whole batch, and a much longer one.",
            "The share of picks is the same at the end as at the beginning.",
        ),
    ),
    _Fault(
        "inputs[t] = mask_id",
        "inputs[t] = 4",
        "The id of [MASK] is 4; it was 4 in every example.",
        (
            "Does each argument do something?",
            "Take other numbers than those of the worked example, one by one.",
            "A hidden position shows the mask_id that was asked for.",
        ),
    ),
    _Fault(
        "elif action == 1:",
        "else:",
        "What is not shown as [MASK] is shown as another word.",
        (
            "How many things can happen to a picked position?",
            "Script a draw for each of them.",
            "Look at the input as well as the label, and at the draws that were made.",
        ),
    ),
    _Fault(
        "inputs[t] = rng.below(vocab)",
        "inputs[t] = rng.below(vocab - 1)",
        "The ids end at V - 1, so V - 1 is the bound.",
        (
            "Which random ids are there?",
            "Take a small V and many positions, or look at what the generator is asked for.",
            "Every id below V can be drawn.",
        ),
    ),
)


class Capstone:
    """A masking routine with a fault, another one for many numbers; the same number gives the same one.

    `bert` is a namespace like the package itself, with the faulty `mlm_mask` in it. `source` is the routine
    as it should be, after the checks of its arguments, with numbered lines: in one of them is the fault.
    `hint(step)` helps, in three steps, and `hand_in(test, line)` judges.

    number: an int, 0 <= number < 2^64; TypeError or ValueError otherwise.
    """

    def __init__(self, number: int):
        self.number = as_index(number, "number", 0, 2**64)
        self._fault = _FAULTS[PCG32(self.number).below(len(_FAULTS))]
        self.bert = ModuleType("bert_with_a_fault", "bert_lab with a fault in its mlm_mask.")
        self.bert.__getattr__ = functools.partial(getattr, bert_lab)
        self.bert.mlm_mask = _faulty_routine(self._fault)
        lines = masking_routine().splitlines()
        self.source = "\n".join(f"{i:>2}  {line}" for i, line in enumerate(lines, 1))
        self._lines = [line.strip() for line in lines]

    def __repr__(self) -> str:
        return f"Capstone({self.number})"

    def hint(self, step: int) -> str:
        """The hint of step 1, 2 or 3: what to think about, what to vary, what to assert."""
        return self._fault.hints[as_index(step, "step", 1, 4) - 1]

    def hand_in(self, test: Callable | None, line: int | str | None) -> None:
        """Print what is right and what is missing.

        test: a function `test(bert)` that passes on the reference and fails on this routine. line: the number
        of the line in `source` that has the fault, or the line's text. None is "not tried yet". Nothing that
        is handed in raises here.
        """
        print("\n".join(self.verdict(test, line)))

    def verdict(self, test: Callable | None, line: int | str | None) -> list[str]:
        """The lines that `hand_in` prints."""
        test_right, test_said = self._judge_test(test)
        line_right, line_said = self._judge_line(line)
        said = [f"Capstone {self.number}", f"  test: {test_said}", f"  line: {line_said}"]
        if test_right and line_right:
            said.append(f"  Solved. Its author believed: {self._fault.belief}")
        return said

    def _judge_test(self, test) -> tuple[bool, str]:
        if test is None:
            return False, NOT_TRIED
        if not callable(test):
            return False, f"expected a function test(bert), got {type(test).__name__}"
        problem = failure(test, bert_lab)
        if problem:
            return False, f"not yet: it fails on the reference, which is right. {problem}"
        problem = failure(test, self.bert)
        if not problem:
            return False, "not yet: it passes on the reference, and on this routine as well"
        return True, "right: it passes on the reference and fails on this routine"

    def _judge_line(self, line) -> tuple[bool, str]:
        if line is None:
            return False, NOT_TRIED
        if isinstance(line, str):
            named = [i for i, text in enumerate(self._lines, 1) if text == line.strip()]
            if len(named) != 1:
                return False, f"that text is on {len(named)} of the lines. Give the line's number"
        else:
            try:
                named = [as_index(line, "line", 1, len(self._lines) + 1)]
            except (TypeError, ValueError):
                return False, f"expected the number of a line, 1 to {len(self._lines)}, or its text"
        if self._lines[named[0] - 1] != self._fault.old:
            return False, f"not yet: line {named[0]} is as it should be"
        return True, f"right: it is in line {named[0]}"


_AFTER_CHECKS = "    ids = as_array("  # how the first line after the checks begins


def masking_routine() -> str:
    """The plain `mlm_mask` without its docstring and the checks of its arguments."""
    source = plain_source("mlm_mask") + "\n"
    return source.partition("\n")[0] + "\n" + source[source.index(_AFTER_CHECKS) :]


def _faulty_routine(fault: _Fault) -> Callable:
    """`mlm_mask` with this fault; tracebacks do not show its lines."""
    names, source = dict(vars(plain)), plain_source("mlm_mask") + "\n"
    if source.count(fault.old + "\n") != 1:
        raise ValueError(f"expected the line {fault.old!r} once in the plain mlm_mask")
    source = source.replace(fault.old + "\n", fault.new + "\n")
    exec(compile(source, "<a masking routine with a fault>", "exec"), names)
    return names["mlm_mask"]


def failure(test: Callable, bert) -> str:
    """What the test says when it fails on this namespace; empty if it passes."""
    try:
        test(bert)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # also what pytest.fail and pytest.raises raise
        first = str(problem).strip().split("\n")[0]
        return f"{type(problem).__name__}: {first}" if first else type(problem).__name__
    return ""
