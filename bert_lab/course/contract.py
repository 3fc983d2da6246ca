"""The contract: which module defines each name of `bert_lab`'s face, and its plain reference as text."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
HOME: dict[str, str] = {
    name.name: node.module
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for name in node.names
}


def source_path(module: str) -> Path:
    """The file of a module, by its name below `bert_lab`: "masking", "hf.plan"."""
    return PACKAGE.joinpath(*module.split(".")).with_suffix(".py")


@functools.cache
def plain_definitions() -> tuple[list[str], dict[str, ast.FunctionDef | ast.ClassDef]]:
    """The lines of the plain reference, and its functions and classes by name; it is not imported."""
    text = source_path("course.plain").read_text(encoding="utf-8")
    kinds = (ast.FunctionDef, ast.ClassDef)
    return text.split("\n"), {node.name: node for node in ast.parse(text).body if isinstance(node, kinds)}


def plain_source(*names: str) -> str:
    """The plain reference's definitions of these names, one after another; a KeyError for another name."""
    lines, nodes = plain_definitions()
    spans = [(first_line(nodes[name]), nodes[name].end_lineno) for name in names]
    return "\n\n\n".join("\n".join(lines[first - 1 : last]) for first, last in spans)


def first_line(node: ast.FunctionDef | ast.ClassDef) -> int:
    """The number of a definition's first line, its decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
