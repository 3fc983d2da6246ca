"""Which module defines each name of `bert_lab`'s face, read from its stub."""

from __future__ import annotations

import ast
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
