"""A learner who writes exactly what the reference has: `filled` gives the text of such a bert.py."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from bert_lab.course.contract import HOME, source_path
from bert_lab.course.handout import PARTS, start, stub

# Their helpers know the learner's own classes, so they are written out; those of the others are imported.
WRITTEN_OUT = ("model", "checkpoint")


def filled(names=None, part: str = "whole") -> str:
    """bert.py as `start` makes it, with these names (all, where none are given) as the reference has them."""
    text = stub(part)
    names = PARTS[part] if names is None else names
    imports, helpers, rows = set(), [], []
    for module in dict.fromkeys(HOME[name] for name in PARTS[part]):
        own = [name for name in names if HOME[name] == module]
        reference = Definitions(source_path(module).read_text(encoding="utf-8"))
        for name in own:
            text = text.replace(Definitions(text).text(name), reference.text(name))
        more_imports, more_helpers, more_rows = needs(module, reference, own, set(PARTS[part]))
        imports |= more_imports
        helpers += more_helpers
        rows += more_rows
    head, first, rest = text.partition("\n\ndef mlm_mask(")
    return "\n\n".join([head, *sorted(imports), *helpers]) + "\n" + first + "\n\n".join([rest, *rows])


class Definitions:
    """What a module defines at its top: the nodes by name, and their text."""

    def __init__(self, source: str):
        self.lines = source.split("\n")
        self.imports, self.nodes = {}, {}
        for node in ast.parse(source).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.imports |= {alias.asname or alias.name: (node, alias) for alias in node.names}
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.nodes[node.name] = node
            elif isinstance(node, ast.Assign):
                targets = [leaf for target in node.targets for leaf in ast.walk(target)]
                self.nodes |= {leaf.id: node for leaf in targets if isinstance(leaf, ast.Name)}

    def text(self, name: str) -> str:
        node = self.nodes[name]
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        return "\n".join(self.lines[first - 1 : node.end_lineno])

    def used(self, name: str) -> set[str]:
        return {node.id for node in ast.walk(self.nodes[name]) if isinstance(node, ast.Name)}


def needs(module: str, reference: Definitions, names: list[str], contract: set[str]):
    """The import lines, the helpers and then the values of models that these definitions use, and so on."""
    imports, helpers, seen, todo = set(), set(), set(), list(names)
    while todo:
        name = todo.pop()
        for used in reference.used(name) - seen:
            seen.add(used)
            if used in reference.imports:
                node, alias = reference.imports[used]
                if used not in contract:
                    imports.add(import_line(node, alias))
            elif used in reference.nodes and used not in contract:
                if module in WRITTEN_OUT:
                    helpers.add(used)
                    todo.append(used)
                else:
                    imports.add(f"from bert_lab.{module} import {used}")
    before, after = {}, {}  # a value that is made of the contract's classes comes after them
    for name in (name for name in reference.nodes if name in helpers):
        value = isinstance(reference.nodes[name], ast.Assign)
        made_of = contract | {name for names in after.values() for name in names}
        place = after if value and reference.used(name) & made_of else before
        place.setdefault(reference.text(name), []).append(name)  # one text once: two names may share it
    return imports, list(before), list(after)


def import_line(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    end = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
    if isinstance(node, ast.Import):
        return end
    return f"from {'bert_lab.' if node.level else ''}{node.module} {end}"


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
