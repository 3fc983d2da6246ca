"""A learner's code beside the plain reference, definition by definition."""

from __future__ import annotations

import ast
import difflib
import functools
import io
import os
import re
import textwrap
import tokenize
import warnings
from collections.abc import Iterable
from pathlib import Path

from .contract import source_path
from .handout import PARTS


def differences(path: str | os.PathLike) -> list[tuple[str, str]]:
    """Compare a learner's bert.py with `plain.py`: `[(name, diff), ...]` in the contract's order.

    After a class come its methods, as "BertLayer.forward". A diff is "" where both are the same, and
    otherwise unified, from the learner's (-) to the reference's (+). Where only one side has a name, a
    sentence says so. Docstrings, comments between definitions, tabs or spaces, and the ends of lines make no
    difference.

    path: the file, or the folder that it is in.

    Raises:
        ValueError: the file is no valid Python; the line is named.
        FileNotFoundError: there is no such file. OSError: it cannot be read.
    """
    file = Path(path)
    file = file / "bert.py" if file.is_dir() else file
    if not file.exists():
        raise FileNotFoundError(f"{file}: expected a file with your code, found none")
    theirs = _definitions(*_parse(file))
    found = []
    for name in PARTS["whole"]:
        reference = _reference()[name]
        mine = theirs.get(name, {})
        if not mine:
            reference = {"": "\n\n".join(reference.values())}  # a missing class is one thing, not five
        for member in dict.fromkeys([*reference, *mine]):
            full = f"{name}.{member}" if member else name
            found.append((full, _diff(full, mine.get(member), reference.get(member), file.name)))
    return found


def _diff(name: str, mine: str | None, reference: str | None, file: str) -> str:
    if reference is None:
        return f"{name} is in your {file} only.\n"
    old, new = ([] if text is None else text.split("\n") for text in (mine, reference))
    lines = list(difflib.unified_diff(old, new, f"your {file}", "the reference", lineterm=""))
    if mine is None:
        lines.insert(0, f"{name} is not in your {file}.")
    return "".join(f"{line}\n" for line in lines)


@functools.cache
def _reference() -> dict[str, dict[str, str]]:
    return _definitions(*_parse(source_path("course.plain")))


# ---- reading


def _parse(file: Path) -> tuple[list[str], ast.Module]:
    """The lines of a file and its syntax tree; ValueError, with the line, for what is no Python."""
    raw = file.read_bytes()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
        # The same ends of lines as Python counts: not those of str.splitlines, which knows more of them.
        text = re.sub(r"\r\n?", "\n", text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes such as "\d": they run
            return text.split("\n"), ast.parse(text)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{file}, line {line}: expected text in {error.encoding}, got other bytes") from None
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise ValueError(f"{file}{line}: expected valid Python, got an error: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:  # zero bytes; brackets a thousand deep
        raise ValueError(f"{file}: expected valid Python, got an error: {error}") from None


def _definitions(lines: list[str], tree: ast.Module) -> dict[str, dict[str, str]]:
    """What each name at the top of a file is: {"": its code}; of a class less its methods, which follow."""
    found: dict[str, dict[str, str]] = {}
    for name, nodes in _bindings(tree.body).items():
        members: dict[str, list[str]] = {"": []}
        for node in nodes:
            members[""].append(_code(lines, node, _own_lines(node)))
            if isinstance(node, ast.ClassDef):
                for method, definitions in _bindings(node.body).items():
                    for each in filter(_is_function, definitions):
                        members.setdefault(method, []).append(_code(lines, each, _span(each)))
        found[name] = {member: "\n\n".join(texts) for member, texts in members.items()}
    return found


def _bindings(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """The statements that define a name, by name; also those under an if, a try or a with."""
    found: dict[str, list[ast.stmt]] = {}
    for node in body:
        if _is_function(node) or isinstance(node, ast.ClassDef):
            names = [node.name]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
        else:
            for block in ("body", "orelse", "handlers", "finalbody", "cases"):
                for name, nodes in _bindings(getattr(node, block, [])).items():
                    found.setdefault(name, []).extend(nodes)
            continue
        for name in names:
            found.setdefault(name, []).append(node)
    return found


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def _own_lines(node: ast.stmt) -> Iterable[int]:
    """The numbers of a definition's lines; of a class without its methods and what stands between them."""
    if not isinstance(node, ast.ClassDef):
        return _span(node)
    head = range(_span(node).start, _span(node.body[0]).start)
    parts = [head, *(_span(part) for part in node.body if not _is_function(part))]
    return sorted({number for part in parts for number in part})


def _code(lines: list[str], node: ast.stmt, numbers: Iterable[int]) -> str:
    """The lines with these numbers, less the docstrings of the definition, and all inside it."""
    drop = {number for inner in ast.walk(node) for number in _docstring(lines, inner)}
    kept = [lines[number - 1].rstrip() for number in numbers if number not in drop]
    # A tab is four spaces here: it shows how deep a line is, and all levels of a file are of one kind.
    kept = [re.sub(r"^[ \t]+", lambda space: space[0].replace("\t", "    "), line) for line in kept]
    text = textwrap.dedent("\n".join(kept)).strip("\n")
    return re.sub(r"\n{2,}", "\n\n", text)


def _span(node: ast.stmt) -> range:
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    return range(first, node.end_lineno + 1)


def _docstring(lines: list[str], node: ast.AST) -> range:
    """The lines of a definition's docstring, unless other code stands on them."""
    if not (_is_function(node) or isinstance(node, ast.ClassDef)) or ast.get_docstring(node) is None:
        return range(0)
    text = node.body[0]
    before = lines[text.lineno - 1].encode()[: text.col_offset].strip()
    after = lines[text.end_lineno - 1].encode()[text.end_col_offset :].partition(b"#")[0].strip()
    return range(0) if before or after else _span(text)
