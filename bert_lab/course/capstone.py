"""The capstone of the book: a masking routine with an unknown fault, and a judge of what a reader found out.

The routine is the reference's loop with one line changed. All of these faults pass the worked example of the
course text, section 3, and none is among the rows of `faults`: a reader has to find a new one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import bert_lab
from bert_lab import masking
from bert_lab.checks import as_index
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
        "inputs = ids.copy()",
        "inputs = ids",
        "A copy is a waste of memory: nobody will look at the old ids again.",
        (
            "All that comes back is right. What else can a routine do?",
            "Give it a NumPy array of int64, and let it hide something.",
            "Compare what you gave it, before the call and after it.",
        ),
    ),
    _Fault(
        "if special[t]:",
        "if special[t] or original == mask_id:",
        "[MASK] is a special token, so it can be skipped whatever the flags say.",
        (
            "Who decides which positions may be picked?",
            "Let the row hold every id there is, and flag only some of them as special. Take p = 1.",
            "Every position that is not flagged must have its label.",
        ),
    ),
    _Fault(
        "if rng.uniform() >= p:",
        "if rng.uniform() > p:",
        "A draw that equals p exactly does not happen, so the sign does not matter.",
        (
            "Where does one rule end and the next one begin?",
            "Script draws that lie on a limit, and not only left and right of it. Zero is a p too.",
            "u = p is not picked.",
        ),
    ),
    _Fault(
        "labels[t] = original",
        "labels[t] = original or IGNORE",
        "An id of 0 is padding, and padding has no label.",
        (
            "Is the label the original id, whatever that id is?",
            "Let the row hold every id there is, from 0 to V - 1, and flag none as special. Take p = 1.",
            "The labels are then the row itself.",
        ),
    ),
    _Fault(
        "for t, original in enumerate(ids):",
        "for t, original in enumerate(ids[:512]):",
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

    `bert` is a namespace like the package itself, with the faulty `mlm_mask` in it. `source` is the loop as
    it should be, with numbered lines: in one of them is the fault. `hint(step)` helps, in three steps, and
    `hand_in(test, line)` judges.

    number: an int, 0 <= number < 2^64; TypeError or ValueError otherwise.
    """

    def __init__(self, number: int):
        self.number = as_index(number, "number", 0, 2**64)
        self._fault = _FAULTS[PCG32(self.number).below(len(_FAULTS))]
        self.bert = ModuleType("bert_with_a_fault", "bert_lab with a fault in its mlm_mask.")
        self.bert.__getattr__ = functools.partial(getattr, bert_lab)
        self.bert.mlm_mask = _faulty_routine(self._fault)
        lines = _loop().splitlines()
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


def _loop() -> str:
    """The reference's loop without its docstring."""
    first, *lines = inspect.getsource(masking._mask_one_by_one).splitlines()
    return "\n".join([first, *(line for line in lines if '"""' not in line)])


def _faulty_routine(fault: _Fault) -> Callable:
    """`mlm_mask` with this fault, for every generator; tracebacks do not show its lines."""
    names = dict(vars(masking))
    loop = _loop()
    if loop.count(fault.old + "\n") != 1:
        raise ValueError(f"expected the line {fault.old!r} once in the reference's loop")
    source = loop.replace(fault.old + "\n", fault.new + "\n") + "\n" + inspect.getsource(masking.mlm_mask)
    exec(compile(source, "<a masking routine with a fault>", "exec"), names)
    names["mask_in_blocks"] = names["_mask_one_by_one"]
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
