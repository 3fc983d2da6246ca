"""The faults that a good test catches, as running code: the reference with one line changed.

There is one copy of the reference: a mutant is a row of `faults`, its old text stands in the reference
exactly once, and the faulty code is made from the reference's source when it is asked for, in memory.
Nothing is compiled to a file, so that no stale bytecode can come into play.
"""

from __future__ import annotations

import functools
import importlib
import linecache
import re
import shutil
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from unittest import mock

import bert_lab

from .contract import HOME, PACKAGE, source_path
from .faults import MUTANTS, Mutant

# A changed module, and the modules that must be made anew because they use it.
_USERS = {
    "masking": ["masking", "batches"],
    "batches": ["batches"],
    "padding": ["padding", "model", "checkpoint"],
    "model": ["model", "checkpoint"],
    "hf.plan": ["hf.plan", "hf.loading", "checkpoint"],
    "hf.loading": ["hf.loading", "checkpoint"],
}


def mutant(id: str) -> Mutant:
    """The row of this id; a ValueError that lists the ids when there is none."""
    if id not in MUTANTS:
        raise ValueError(f"mutant: expected one of {', '.join(MUTANTS)}, got {id!r}")
    return MUTANTS[id]


def mutated_source(row: Mutant) -> str:
    """The source of the row's module with the fault in it; ValueError unless the old text is there once."""
    reference = _reference_source(row.module)
    source = _changed(row, reference)
    loop = reference.partition("def _mask_one_by_one")[2].partition("\ndef ")[0]
    if row.old in loop:
        # The readable loop is the reference. Its twin would hide the fault from a PCG32, so it has to go.
        source += "\n\nmask_in_blocks = _mask_one_by_one\n"
    return source


def _changed(row: Mutant, source: str) -> str:
    found = source.count(row.old)
    if found != 1:
        raise ValueError(
            f"mutant {row.id}: expected its old text in {source_path(row.module).name} once, "
            f"found it {found} times"
        )
    return source.replace(row.old, row.new)


def changed_lines(row: Mutant) -> tuple[list[str], list[str]]:
    """The lines from the first to the last that the fault changes: as they were, and as they are with it.

    Less the indentation that they have in common. Either may be empty, where lines only come or only go.
    """
    source = _reference_source(row.module)
    before, after = source.splitlines(), _changed(row, source).splitlines()
    start = _same(before, after)
    end = _same(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    lines = textwrap.dedent("\n".join(old + new)).split("\n")
    return lines[: len(old)], lines[len(old) :]


def _same(a: list[str], b: list[str]) -> int:
    """How many lines at the beginning are the same."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def load_mutant(id: str) -> ModuleType:
    """The contract's names with this one fault in them; what the fault does not touch is bert_lab's own."""
    row = mutant(id)
    faulty = ModuleType(f"bert_lab_{row.id}", f"bert_lab, but {row.pitfall}.")
    faulty.__getattr__ = functools.partial(getattr, bert_lab)
    # Under their own names, for as long as they are imported: the copies then find each other, and all else.
    names = [f"bert_lab.{name}" for name in _USERS[row.module]]
    for name in names:
        importlib.import_module(name)  # what they import, torch for one, cannot be imported a second time
    with mock.patch.dict(sys.modules, {name: ModuleType(name) for name in names}):
        for name in names:
            module, stem = sys.modules[name], name.partition(".")[2]
            source = mutated_source(row) if stem == row.module else _reference_source(stem)
            _run(source, module, f"<{stem.rpartition('.')[2]}.py of {row.id}>")
            vars(faulty).update((key, vars(module)[key]) for key, home in HOME.items() if home == stem)
    return faulty


def _reference_source(module: str) -> str:
    return source_path(module).read_text(encoding="utf-8")


def _run(source: str, module: ModuleType, filename: str) -> None:
    """Run the source as the body of the module; tracebacks show its lines."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    module.__package__ = module.__name__.rpartition(".")[0]
    exec(compile(source, filename, "exec"), vars(module))


def write_mutant(id: str, folder: Path) -> Path:
    """Write a copy of the whole package with this one fault into `folder`; return the copy's path.

    With `folder` first on PYTHONPATH, another process runs the faulty code, a notebook's kernel for example.
    """
    row = mutant(id)
    copy = Path(folder) / "bert_lab"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    copy.joinpath(source_path(row.module).relative_to(PACKAGE)).write_text(
        mutated_source(row), encoding="utf-8"
    )
    return copy


def table() -> str:
    """The faults, and what catches each: the course tests that turn red, and a chapter that does.

    Text of at most 110 columns. Below the table: the tests' names, and where each fault was seen in public.
    """
    letters = {name: chr(ord("A") + i) for i, name in enumerate(_course_tests())}
    rows = [("id", "fault", "module", "course tests".ljust(2 * len(letters) - 1), "chapter")]
    for row in MUTANTS.values():
        red = " ".join(letter if name in row.tests else "." for name, letter in letters.items())
        rows.append((row.id, row.pitfall, row.module, red, row.chapter.partition("_")[0]))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines += ["", "The course tests that turn red:"]
    lines += [f"{letter}  {name}" for name, letter in letters.items()]
    lines += ["", "Seen in public:"]
    lines += [f"{row.id}  {row.url}" for row in MUTANTS.values() if row.seen]
    return "\n".join(lines)


def _course_tests() -> list[str]:
    """The names of the course tests, in their order; not by importing them, since they need pytest."""
    source = (PACKAGE / "course" / "test_bert.py").read_text(encoding="utf-8")
    return re.findall(r"^def (test_\w+)", source, re.MULTILINE)
