"""Grading by real faults: which of a learner's tests turn red on which mutant, and what that is worth.

First the tests must pass on the reference, twice, since a test that fails correct code proves nothing. Then
they run on a control in which every function raises, to see that they ask `bert` for anything. Then each
fault has its turn, in a process of its own. Source: the course text, section 4, "Your graded tests".
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .engine import Engine
from .faults import MUTANTS, Mutant
from .handout import PARTS, course_tests
from .kill_matrix import kill_matrix, smallest_set
from .mutants import mutant, mutated_source
from .submission import gather, source_of, syntax_error

SHARE = 0.80  # of all mutants that the tests must kill
SECONDS = 20.0  # that one test may take
_LEAST, _TIMES = 5.0, 10.0  # seconds for a test on a mutant: these, and so many times the reference's
_EXITS = {2: "it was interrupted", 3: "pytest itself failed", 4: "pytest was called wrongly", 5: "no tests"}


def libraries(texts: Iterable[str], rows: Iterable[Mutant] = ()) -> list[str]:
    """What the server imports once, by what the files speak of: torch takes seconds, transformers more."""
    text = "\n".join(texts)
    names = ["numpy", "pytest", "scipy.stats"]
    if re.search(r"\btorch\b|Bert|_bert\b", text) or any(row.part == "model" for row in rows):
        # torch._dynamo: what torch itself imports at the first initialization, in every child anew.
        names += ["torch._dynamo", "safetensors.torch", "bert_lab.checkpoint"]
    if "transformers" in text:
        names += ["transformers.models.bert.modeling_bert"]
    return names


def rows_of(part: str) -> list[Mutant]:
    """The faults of a part of the course: "whole", or "masking"."""
    return [row for row in MUTANTS.values() if part == "whole" or row.part == part]


# ---- one run


@dataclass(frozen=True)
class Failure:
    """A test that failed: what it claimed, and what came.

    claim: the test's line. message: the error. line: where in the test. bert_line: where in the learner's
    bert.py, if it went through there. todo: the function of it that is not written yet. printed: by the code.
    """

    test: str
    message: str
    claim: str = ""
    line: int | None = None
    bert_line: int | None = None
    todo: str = ""
    printed: str = ""


@dataclass(frozen=True)
class Outcome:
    """What one run of tests came to.

    passed: names of tests. failed: {name: Failure}. skipped: {name: reason}. trouble: why the run has no
    verdict, in words; "" where it has one. seconds: the whole run's. timeout: whether that was the trouble.
    running: the test at its end. notes: what else was told, {name: value}.
    """

    passed: tuple[str, ...] = ()
    failed: dict[str, Failure] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    trouble: str = ""
    seconds: float = 0.0
    timeout: bool = False
    running: str = ""
    notes: dict = field(default_factory=dict)


def outcome(job: dict, result: dict) -> Outcome:
    """Read a result of the engine: a verdict needs pytest's exit code, 0 or 1, and a process that agrees."""
    last, running, notes, exits, uncollected = {}, "", {}, None, []
    for event in result["events"]:
        if "start" in event:
            running = event["start"]
        elif "test" in event:
            last[event["test"]] = event
            running = ""
        elif "uncollected" in event:
            uncollected.append(_uncollected(event))
        elif "exit" in event:
            exits = event["exit"]
        elif "begun" not in event:
            notes.update(event)
    kinds = ("passed", "failed", "skipped")
    by = {kind: [event for event in last.values() if event["outcome"] == kind] for kind in kinds}
    fields = Failure.__dataclass_fields__
    failed = {e["test"]: Failure(**{k: v for k, v in e.items() if k in fields}) for e in by["failed"]}
    run = Outcome(
        tuple(e["test"] for e in by["passed"]),
        failed,
        {e["test"]: e["message"].removeprefix("to do: ") for e in by["skipped"]},
        seconds=result["seconds"],
        timeout=result["ended"] == "timeout",
        running=running,
        notes=notes,
    )
    where = running or "the run"
    if run.timeout:
        trouble = f"timeout: {where} did not end within {job['seconds']:g} s"
    elif result["ended"]:
        trouble = f"{where} was ended: {result['ended']}"
    elif "unusable" in notes:
        trouble = notes["unusable"]
    elif uncollected:
        trouble = "; ".join(uncollected)
    elif exits is None or exits != result["code"]:
        trouble = f"{where} ended the process: {_code(result['code'])}"
    elif exits not in (0, 1):
        trouble = _EXITS.get(exits, f"pytest ended with exit code {exits}")
    elif (exits == 1) != bool(failed):
        trouble = f"pytest ended with exit code {exits}, and {len(failed)} tests failed"
    else:
        trouble = ""
    return replace(run, trouble=trouble)


def _uncollected(event: dict) -> str:
    """The last line of an error that kept a file from being read."""
    errors = [line[1:].strip() for line in event["message"].splitlines() if line.startswith("E ")]
    lines = errors or event["message"].strip().splitlines() or ["it cannot be read"]
    return f"{event['uncollected'] or 'the tests'}: {lines[-1]}"


def _code(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


# ---- the course tests on a learner's module


def run_course_tests(
    engine: Engine, folder: Path, part: str = "whole", select: Sequence[str] | None = None, seconds=SECONDS
) -> Outcome:
    """The course tests on the bert.py of a gathered folder; one that takes too long does not stop the others.

    The result's notes hold "missing" and "borrowed": names that bert.py lacks, or has from bert_lab.
    """
    if not (folder / "bert.py").is_file():
        return Outcome(trouble="bert.py: no such file")
    left = list(course_tests(part) if select is None else select)
    whole = Outcome()
    while left:
        job = {
            "kind": "course",
            "folder": str(folder),
            "names": PARTS[part],
            "select": left,
            "seconds": seconds,
        }
        [(_, result)] = engine.run([job])
        run = outcome(job, result)
        failed, trouble = dict(run.failed), run.trouble
        if trouble and run.running in left:  # the others still have their turn, in a new process
            failed[run.running] = Failure(run.running, trouble)
            trouble = ""
        whole = Outcome(
            whole.passed + run.passed,
            whole.failed | failed,
            trouble=trouble,
            timeout=run.timeout and bool(trouble),
            notes=run.notes,
        )
        left = [] if trouble else [name for name in left if name not in {*run.passed, *failed}]
    return whole


# ---- the mutation grade of a learner's tests


@dataclass(frozen=True)
class Verdict:
    """What the tests made of one fault.

    kind: "killed", "survived", "timeout" or "no verdict". tests: those that turned red. why: of the last two.
    """

    kind: str
    tests: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Grade:
    """How many faults the tests catch. Shows itself as the kill matrix and a summary.

    tests: names of those that pass on the reference. todo: {name: reason} of skipped ones.
    verdicts: {mutant's id: Verdict}. problem: why there is no grade; "" where there is one.
    wrong: tests that fail correct code.
    """

    tests: tuple[str, ...] = ()
    todo: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    problem: str = ""
    wrong: tuple[Failure, ...] = ()

    @property
    def killed(self) -> list[str]:
        """The ids of the mutants that at least one test caught."""
        return [id for id, verdict in self.verdicts.items() if verdict.kind == "killed"]

    @property
    def survived(self) -> list[str]:
        """The ids of the mutants that no test caught, those without a verdict included."""
        return [id for id in self.verdicts if id not in self.killed]

    @property
    def share(self) -> float:
        """Killed mutants by all mutants; 0 where there is no grade."""
        return len(self.killed) / len(self.verdicts) if self.verdicts else 0.0

    @property
    def pitfalls(self) -> dict[str, bool]:
        """{id: whether it is killed} of the course text's own twelve, all of which must be."""
        killed = self.killed
        return {id: id in killed for id in self.verdicts if MUTANTS[id].required}

    @property
    def passed(self) -> bool:
        """Whether at least 0.80 of the mutants are killed, and every pitfall."""
        return not self.problem and self.share >= SHARE and all(self.pitfalls.values())

    @property
    def caught_by(self) -> dict[str, list[str]]:
        """{test: ids of the mutants that it kills}, for every test, in their order."""
        return {
            test: [
                id
                for id, verdict in self.verdicts.items()
                if test in verdict.tests and verdict.kind == "killed"
            ]
            for test in self.tests
        }

    @property
    def catches_nothing(self) -> list[str]:
        """The tests that no mutant turns red."""
        return [test for test, ids in self.caught_by.items() if not ids]

    @property
    def redundant(self) -> list[str]:
        """The tests without which the others still kill the same mutants."""
        kept = smallest_set(self.caught_by)
        return [test for test, ids in self.caught_by.items() if ids and test not in kept]

    def kill_matrix(self) -> str:
        """Tests by mutants, as text: X where the test catches the fault."""
        return kill_matrix(self.caught_by, {id: verdict.kind for id, verdict in self.verdicts.items()})

    def hints(self, steps: int = 3) -> str:
        """For each survivor the first `steps` of: what to think about, what to vary, what to assert."""
        lines = []
        for id in self.survived:
            lines.append(f"{id}, in {MUTANTS[id].module}")
            words = zip(("think", "vary", "assert"), MUTANTS[id].hints, strict=True)
            lines += [f"  {step:6}  {hint}" for step, hint in list(words)[:steps]]
        return "\n".join(lines)

    def summary(self) -> list[str]:
        """The grade in words, line by line."""
        if self.problem:
            return [f"no grade: {self.problem}"]
        lines = [
            f"killed {len(self.killed)} of {len(self.verdicts)} mutants: "
            f"{self.share:.2f} ({SHARE:.2f} is wanted)"
        ]
        pitfalls = self.pitfalls.values()
        if pitfalls:
            lines.append(f"pitfalls: {sum(pitfalls)} of {len(pitfalls)} (all are wanted)")
        for id, verdict in self.verdicts.items():
            if verdict.why:
                kind = "" if verdict.kind == "timeout" else f"{verdict.kind}: "  # its reason begins with it
                lines.append(f"{id}: {kind}{verdict.why}")
        if self.catches_nothing:
            lines.append(f"catches nothing: {', '.join(self.catches_nothing)}")
        if self.redundant:
            lines.append(f"redundant, the others catch the same: {', '.join(self.redundant)}")
        return lines

    def __repr__(self) -> str:
        return "\n".join(([] if self.problem else [self.kill_matrix(), ""]) + self.summary())


def grade(
    tests: str | Path | Sequence[Callable],
    *,
    mutants: Iterable[str] | None = None,
    seconds: float = SECONDS,
) -> Grade:
    """Grade tests by the faults that they catch.

    Args:
        tests: a folder with test_*.py, one test file, or functions of a notebook. A test takes the module
            under test from `import bert`, or as an argument named `bert`.
        mutants: the ids of the faults; all of them by default.
        seconds: that one test may take.

    Raises:
        TypeError, ValueError: no such mutant, or functions that cannot be taken out of the notebook.
        OSError: no such folder or file.
    """
    rows = list(MUTANTS.values()) if mutants is None else [mutant(id) for id in mutants]
    with tempfile.TemporaryDirectory(prefix="bert_lab_") as place:
        folder = Path(place)
        if isinstance(tests, (str, Path)):
            gather_tests(Path(tests), folder)
        else:
            (folder / "test_notebook.py").write_text(source_of(tests), encoding="utf-8")
        with Engine(libraries(_texts(folder), rows)) as engine:
            return grade_tests(engine, folder, rows, seconds)


def gather_tests(source: Path, into: Path) -> None:
    """Copy a folder's files, or one test file, without the learner's own bert.py."""
    if source.is_file():
        name = source.name if re.match(r"test_.*\.py$|.*_test\.py$", source.name) else "test_given.py"
        shutil.copyfile(source, into / name)
    else:
        gather(source, into)
        (into / "bert.py").unlink(missing_ok=True)


def _texts(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8", errors="replace") for path in folder.rglob("*.py")]


def grade_tests(
    engine: Engine,
    folder: Path,
    rows: Sequence[Mutant],
    seconds: float = SECONDS,
    progress: Callable[[], None] = lambda: None,
) -> Grade:
    """Grade the tests of a gathered folder; `progress` is called after each mutant."""
    files = [*folder.rglob("test_*.py"), *folder.rglob("*_test.py")]
    if not files:
        return Grade(problem="no tests: expected test_bert.py, or another file test_*.py")
    wrong = "; ".join(filter(None, map(syntax_error, files)))
    if wrong:
        return Grade(problem=wrong)
    own = {"kind": "own", "folder": str(folder), "seconds": seconds, "changed": {}, "control": False}
    first = [own, {**own, "turn": "again"}, {**own, "turn": "control", "control": True}]
    runs = {job.get("turn", "first"): outcome(job, result) for job, result in engine.run(first)}
    start = _on_the_reference(**runs)
    if start.problem:
        return start
    # A test that never ends with a fault in place must not cost the whole time for each such fault.
    own["seconds"] = min(seconds, _LEAST + _TIMES * max(runs["first"].seconds, runs["again"].seconds))
    verdicts = {}
    jobs = [{**own, "row": row.id, "changed": {row.module: mutated_source(row)}} for row in rows]
    for job, result in engine.run(jobs):
        verdicts[job["row"]] = _verdict(outcome(job, result), start.tests)
        progress()
    return replace(start, verdicts={row.id: verdicts[row.id] for row in rows})


def _on_the_reference(first: Outcome, again: Outcome, control: Outcome) -> Grade:
    """The tests that can be graded, or why there is no grade."""
    run, start = first, Grade(first.passed, first.skipped)
    for each in (first, again):
        if each.trouble == _EXITS[5]:
            return replace(start, problem="no tests: the files hold no function test_...")
        if each.trouble:
            return replace(start, problem=f"on correct code: {each.trouble}")
    unstable = sorted(set(run.failed) ^ set(again.failed))
    if unstable:
        return replace(start, problem=f"not the same twice on correct code: {', '.join(unstable)}")
    if run.failed:
        count = len(run.failed)
        problem = (
            f"{count} test{'s fail' if count > 1 else ' fails'} on correct code: {', '.join(run.failed)}"
        )
        return replace(start, problem=problem, wrong=tuple(run.failed.values()))
    if not run.passed:
        return replace(start, problem=f"no tests yet: all {len(run.skipped)} are to do")
    if not control.trouble and not control.failed:
        return replace(start, problem="no test calls bert: all pass where every function of it raises")
    return start


def _verdict(run: Outcome, tests: Sequence[str]) -> Verdict:
    red = tuple(test for test in tests if test in run.failed)
    if "broken" in run.notes and not run.timeout and not run.passed:
        return Verdict("killed", red or tuple(tests))  # what cannot be imported cannot be tested either
    if run.trouble:
        return Verdict("timeout" if run.timeout else "no verdict", why=run.trouble)
    if run.failed and not red:
        return Verdict("no verdict", why=f"only tests that are to do turned red: {', '.join(run.failed)}")
    return Verdict("killed", red) if red else Verdict("survived")
