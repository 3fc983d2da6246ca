"""A learner's files, gathered for a run: copied from a folder, or taken out of a notebook."""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import shutil
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

MOST_BYTES = 20 * 2**20  # of a folder's files together
_LEFT_OUT = {"__pycache__", "node_modules", "build", "dist", "venv"}


def gather(folder: Path, into: Path) -> None:
    """Copy a folder's regular files, no links, into an empty place.

    Hidden files and folders, virtual environments and caches stay behind.

    Raises:
        FileNotFoundError, NotADirectoryError: there is no such folder.
        ValueError: its files hold more than 20 MB.
    """
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(f"{folder}: expected a folder made by bert-lab start, found nothing there")
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder}: expected a folder, found a file")
    total = 0
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _left_out(Path(here, name)))
        for name in sorted(files):
            source = Path(here, name)
            if name.startswith(".") or source.is_symlink() or not source.is_file():
                continue
            total += source.stat().st_size
            if total > MOST_BYTES:
                raise ValueError(f"{folder}: expected at most {MOST_BYTES >> 20} MB of files, found more")
            target = into / source.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _left_out(folder: Path) -> bool:
    name = folder.name
    return (
        name.startswith(".") or name in _LEFT_OUT or folder.is_symlink() or (folder / "pyvenv.cfg").exists()
    )


def syntax_error(path: Path) -> str:
    """Where and why a file is no Python, in words; "" where it is."""
    try:
        compile(path.read_bytes(), path.name, "exec")
    except (SyntaxError, ValueError) as error:  # the latter for a null byte, before Python 3.11.4
        line = getattr(error, "lineno", None)
        return f"{path.name}{f', line {line}' if line else ''}: syntax error: {getattr(error, 'msg', error)}"
    return ""


def source_of(tests: Sequence[Callable]) -> str:
    """A test file's text made from functions of a notebook: their source, and that of all they use.

    What they use must be a module, something importable by its name, a function of the same notebook, or a
    plain value (numbers, texts, and lists, tuples, sets and dicts of them).

    Raises:
        TypeError: no functions, or a name that stands for something else.
        ValueError: a function whose source cannot be found, or whose name does not begin with test_.
    """
    for test in tests:
        if not inspect.isfunction(test):
            raise TypeError(f"tests: expected functions, got {type(test).__name__}")
        if not test.__name__.startswith("test_"):
            raise ValueError(f"tests: expected names that begin with test_, got {test.__name__}")
    if len({test.__name__ for test in tests}) < len(tests):
        raise ValueError("tests: expected each to have a name of its own")
    imports, parts = {}, {}
    for test in tests:
        _add(test.__name__, test, imports, parts)
    return "\n".join([*imports.values(), "", *parts.values()])


def _add(name: str, value, imports: dict, parts: dict) -> None:
    """Add the text that makes this name, after that of all it needs."""
    if name in imports or name in parts:
        return
    if isinstance(value, ModuleType):
        imports[name] = f"import {value.__name__} as {name}"
        return
    if inspect.isfunction(value) and (value.__module__ == "__main__" or name.startswith("test_")):
        text = _text_of(name, value)
        parts[name] = ""  # it may use itself
        for used in _names_in(text):
            if used in value.__globals__ and used != name:
                _add(used, value.__globals__[used], imports, parts)
        del parts[name]
        parts[name] = text
        return
    home = getattr(value, "__module__", None)
    if home not in (None, "__main__") and hasattr(value, "__qualname__"):
        imports[name] = f"from {home} import {value.__qualname__} as {name}"
        return
    try:
        plain = ast.literal_eval(repr(value)) == value
    except (ValueError, SyntaxError, TypeError):
        plain = False
    if plain is not True:
        raise TypeError(
            f"{name}: expected a module, a function, a class or a plain value, got {type(value).__name__}; "
            "make it inside the test"
        )
    parts[name] = f"{name} = {value!r}\n"


def _text_of(name: str, value) -> str:
    try:
        return textwrap.dedent(inspect.getsource(value)) + "\n"
    except OSError:
        raise ValueError(f"{name}: its source cannot be found; define it in a cell of the notebook") from None


def _names_in(text: str) -> list[str]:
    """The names that a text reads, in order, those of the language left out."""
    names = [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    return [name for name in dict.fromkeys(names) if not hasattr(builtins, name)]
