"""A learner who writes what the plain reference has: `filled` gives the text of such a bert.py."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from bert_lab.course import plain
from bert_lab.course.handout import PARTS, start, stub

# What the stub of the whole imports or defines.
GIVEN = {"PCG32", "WordPieceTokenizer", "normal_init", "sample_categorical", "BERT_SPLIT"}


def filled(names=None, part: str = "whole") -> str:
    """bert.py as `start` makes it, with these names (all, where none are given) as the reference has them."""
    text, reference = stub(part), Definitions(Path(plain.__file__).read_text(encoding="utf-8"))
    names = PARTS[part] if names is None else names
    for name in names:
        text = text.replace(Definitions(text).text(name), reference.text(name))
    imports, helpers = reference.needs(names, GIVEN | set(PARTS["whole"]))
    head, first, rest = text.partition("\n\ndef mlm_mask(")
    return "\n\n".join([head, *imports, *helpers]) + "\n" + first + rest


class Definitions:
    """What a module defines at its top: the nodes by name, and their text."""

    def __init__(self, source: str):
        self.lines = source.split("\n")
        self.imports, self.nodes = {}, {}
        for node in ast.parse(source).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.imports |= {alias.asname or alias.name: (node, alias) for alias in node.names}
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.nodes.setdefault(node.name, []).append(node)
            elif isinstance(node, (ast.Assign, ast.AugAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for leaf in (leaf for target in targets for leaf in ast.walk(target)):
                    if isinstance(leaf, ast.Name):
                        self.nodes.setdefault(leaf.id, []).append(node)

    def text(self, name: str) -> str:
        spans = [
            (min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]), node.end_lineno)
            for node in self.nodes[name]
        ]
        return "\n".join("\n".join(self.lines[first - 1 : last]) for first, last in spans)

    def needs(self, names, known: set[str]) -> tuple[list[str], list[str]]:
        """The imports and the helpers that these definitions use, and those use, in the module's order."""
        found, todo = set(), list(names)
        while todo:
            used = {
                leaf.id
                for node in self.nodes[todo.pop()]
                for leaf in ast.walk(node)
                if isinstance(leaf, ast.Name)
            }
            new = (used & {*self.nodes, *self.imports}) - found - known
            found |= new
            todo += new & set(self.nodes)
        imports = [import_line(*self.imports[name]) for name in self.imports if name in found]
        return imports, [self.text(name) for name in self.nodes if name in found]


def import_line(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    line = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
    return line if isinstance(node, ast.Import) else f"from {node.module} {line}"


def filled_folder(folder: Path, names=None, part: str = "whole") -> Path:
    """A learner's folder by `start`, with bert.py filled in; returns the folder."""
    start(folder, part)
    (folder / "bert.py").write_text(filled(names, part), encoding="utf-8")
    return folder


def imported(path: Path, name: str = "bert_of_a_learner") -> ModuleType:
    """The module in this file, under a name that nothing else has."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module
