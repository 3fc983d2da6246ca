"""The course at a terminal: `bert-lab start`, `tests`, `check`, `diff` and `mutants`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path

NOT_PASSED = 3  # the exit code of a command that ran to its end, where something did not pass


def add(commands) -> None:
    """Add the course's commands to the subparsers of an `argparse.ArgumentParser`."""
    start = add_command(
        commands,
        "start",
        "make a folder to work in: stubs, the start of tests, and a page that says how",
        "bert-lab start my-bert\nbert-lab start my-masking --only masking",
        "Nothing that is there is overwritten.",
    )
    start.add_argument("folder", metavar="DIR", help="the folder to make, or an empty one")
    _add_part(start)
    start.set_defaults(run=run_start)

    tests = add_command(
        commands,
        "tests",
        "run the course tests on your bert.py",
        "bert-lab tests my-bert\nbert-lab tests my-bert -k rates",
        "Exit code 0 when all that ran passed, 3 when not.",
    )
    tests.add_argument("folder", metavar="DIR", help="the folder with bert.py")
    tests.add_argument("-k", metavar="NAME", default="", help="only the course tests with NAME in their name")
    _add_part(tests)
    _add_seconds(tests)
    tests.set_defaults(run=run_tests)

    check = add_command(
        commands,
        "check",
        "the course tests, and the grade of your own tests by real bugs",
        "bert-lab check my-bert\nbert-lab check submissions/* --json results.json",
        "Your tests must pass on correct code; then they meet one faulty bert after another. They pass when "
        "every pitfall s01 to s12 and at least 0.80 of all faults turn a test red. Exit code 0 when every "
        "folder passed, 3 when one did not.",
    )
    check.add_argument("folders", metavar="DIR", nargs="+", help="folders with bert.py and test_*.py")
    check.add_argument(
        "--json",
        metavar="FILE",
        help="write the results as Gradescope's autograder reads them; for several folders a list of such",
    )
    check.add_argument(
        "--hints",
        type=int,
        choices=range(4),
        metavar="0..3",
        help="steps of the hint for each fault that survives (default: 3; 0 for several folders)",
    )
    _add_part(check)
    _add_seconds(check)
    check.set_defaults(run=run_check)

    diff = add_command(
        commands,
        "diff",
        "your code beside the reference, function by function, once the course tests pass",
        "bert-lab diff my-bert",
        "Lines with - are yours, lines with + those of the plain reference.",
    )
    diff.add_argument("folder", metavar="DIR", help="the folder with bert.py")
    _add_part(diff)
    _add_seconds(diff)
    diff.set_defaults(run=run_diff)

    mutants = add_command(
        commands,
        "mutants",
        "the faults of the course, and which course tests and chapters catch each",
        "bert-lab mutants",
        "It names every fault: read it after your own tests are written.",
    )
    mutants.set_defaults(run=run_mutants)


def add_command(commands, name: str, help: str, examples: str, more: str) -> argparse.ArgumentParser:
    """Add a command with its help: one line, more details, and examples."""
    return commands.add_parser(
        name,
        help=help,
        description=textwrap.fill(f"{help[0].upper()}{help[1:]}. {more}", 100),
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_part(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", choices=("masking",), help="the masking part alone, without the model")


def _add_seconds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds", type=float, default=20.0, metavar="S", help="that one test may take (default: 20)"
    )


# Grading is imported where it is used, so that --help and wrong calls are answered at once.


def run_start(options: argparse.Namespace) -> int:
    from ..course.handout import start

    part = options.only or "whole"
    made = start(options.folder, part)
    print("\n".join(f"made {path}" for path in made))
    print(f"Begin with {Path(options.folder, 'README.md')}.")
    return 0


def run_tests(options: argparse.Namespace) -> int:
    from ..course.handout import course_tests
    from ..course.report import course_lines, painter

    part = options.only or "whole"
    known = course_tests(part)
    select = [name for name in known if options.k.lower() in name.lower()]
    if not select:
        raise ValueError(f"-k: expected a part of one of {', '.join(known)}, got {options.k!r}")
    course = _course(options, part, select)
    print("\n".join(course_lines(course, part, select, painter(sys.stdout))))
    passed = not course.trouble and set(select) <= set(course.passed)
    print(f"\n{len(course.passed)} of {len(select)} pass")
    return 0 if passed else NOT_PASSED


def _course(options: argparse.Namespace, part: str, select: Sequence[str] | None = None):
    """Run the course tests on one folder. Raises FileNotFoundError if it has no bert.py."""
    from ..course.engine import Engine
    from ..course.grading import libraries, run_course_tests
    from ..course.submission import gather

    _check_seconds(options.seconds)
    with tempfile.TemporaryDirectory(prefix="bert_lab_") as place:
        gather(Path(options.folder), Path(place))
        if not Path(place, "bert.py").is_file():
            raise FileNotFoundError(f"{options.folder}: expected bert.py in it, found none")
        with Engine(libraries(_LIBRARIES[part])) as engine:
            return run_course_tests(engine, Path(place), part, select, options.seconds)


# The libraries that the course tests of each part import.
_LIBRARIES = {"whole": ["torch", "transformers"], "masking": []}


def _check_seconds(seconds: float) -> None:
    if not 0 < seconds < 1e6:
        raise ValueError(f"--seconds: expected a time above 0, got {seconds:g}")


def run_check(options: argparse.Namespace) -> int:
    from ..course.grading import rows_of
    from ..course.report import gradescope, lines_of, painter, table

    part, folders = options.only or "whole", options.folders
    _check_seconds(options.seconds)
    for folder in folders:
        if not Path(folder).is_dir():
            raise NotADirectoryError(f"{folder}: expected a folder with bert.py and tests, found none")
    if options.json is not None:
        _check_target(Path(options.json))
    paint = painter(sys.stdout)
    steps = options.hints if options.hints is not None else (3 if len(folders) == 1 else 0)
    all_checked = []
    for checked in _check_all(folders, part, rows_of(part), options.seconds):
        all_checked.append(checked)
        print("\n".join([f"# {checked.name}", "", *lines_of(checked, steps, paint), ""]), flush=True)
    if len(all_checked) > 1:
        print(table(all_checked))
    if options.json is not None:
        results = [gradescope(each, steps) for each in all_checked]
        named = [{"name": each.name, **result} for each, result in zip(all_checked, results, strict=True)]
        _write(Path(options.json), results[0] if len(results) == 1 else {"submissions": named})
    return 0 if all(each.passed for each in all_checked) else NOT_PASSED


def _check_all(folders: Sequence[str], part: str, rows, seconds: float):
    """Check one folder after another, with one server for all, and a progress bar on a terminal."""
    from tqdm import tqdm

    from ..course.engine import Engine
    from ..course.grading import gather_tests, grade_tests, libraries, run_course_tests
    from ..course.report import Checked
    from ..course.submission import gather

    texts = [path.read_text(encoding="utf-8", errors="replace") for path in _test_files(folders)]
    total = len(folders) * len(rows)
    with (
        Engine(libraries(_LIBRARIES[part] + texts, rows)) as engine,
        tqdm(total=total, unit=" runs", leave=False, disable=None) as bar,
    ):
        for number, folder in enumerate(folders, 1):
            with tempfile.TemporaryDirectory(prefix="bert_lab_") as place:
                whole, tests = Path(place, "whole"), Path(place, "tests")
                whole.mkdir()
                try:
                    gather(Path(folder), whole)
                except ValueError as error:
                    yield _unusable(folder, part, error)
                    continue
                gather_tests(whole, tests)
                try:
                    course = run_course_tests(engine, whole, part, seconds=seconds)
                    grade = grade_tests(engine, tests, rows, seconds, bar.update)
                except ChildProcessError as error:  # the next folder has a new server
                    checked = _unusable(folder, part, error)
                else:
                    checked = Checked(folder, part, course, grade)
            bar.n = number * len(rows)
            bar.clear()
            yield checked


def _test_files(folders: Sequence[str]) -> list[Path]:
    """The test files of all folders, those of a reasonable size."""
    paths = [path for folder in folders for path in Path(folder).glob("*test*.py")]
    return [path for path in paths if path.is_file() and path.stat().st_size < 1_000_000]


def _unusable(folder: str, part: str, error: Exception):
    from ..course.grading import Grade, Outcome
    from ..course.report import Checked

    words = str(error).removeprefix(f"{folder}: ")
    return Checked(folder, part, Outcome(trouble=words), Grade(problem=words))


def run_diff(options: argparse.Namespace) -> int:
    from ..course.contract import source_path
    from ..course.diff import differences
    from ..course.handout import PARTS, course_tests
    from ..course.report import painter

    part = options.only or "whole"
    course = _course(options, part)
    if course.trouble or len(course.passed) < len(course_tests(part)):
        said = course.trouble or f"{len(course.passed)} of {len(course_tests(part))} course tests pass"
        print(
            f"{said}: the reference is shown once all do (bert-lab tests {options.folder})", file=sys.stderr
        )
        return NOT_PASSED
    paint = painter(sys.stdout)
    kinds = {"+": "passed", "-": "failed"}
    for name, text in differences(Path(options.folder, "bert.py")):
        if name.partition(".")[0] in PARTS[part]:
            print(f"## {name}{'' if text else ': the same'}")
            for line in text.splitlines():
                print(paint(line, kinds[line[0]]) if line[:1] in kinds else line)
    print(f"\nThe reference as a whole, with its helpers: {source_path('course.plain')}")
    return 0


def run_mutants(options: argparse.Namespace) -> int:
    from ..course.mutants import table

    print(table())
    return 0


# ---- a file of results


def _check_target(path: Path) -> None:
    """Raise an error, before the work, if its results could not be written."""
    if path.is_dir():
        raise IsADirectoryError(f"--json: expected a file, got the folder {path}")
    if not os.access(path.absolute().parent, os.W_OK):
        raise PermissionError(
            f"--json: expected a folder that can be written to, got {path.absolute().parent}"
        )


def _write(path: Path, results: dict) -> None:
    """Write the file completely, or leave the old one as it was."""
    whole = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        whole.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        whole.replace(path)
    finally:
        whole.unlink(missing_ok=True)
