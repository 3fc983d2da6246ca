"""`make mutate`: which edits it makes, which it leaves out, and how it makes one."""

import ast

import mutate
import pytest


def edits_of(source: str) -> list[str]:
    """The source, with each of its edits in turn."""
    found = []
    for number in range(len(list(mutate.sites(ast.parse(source))))):
        tree = ast.parse(source)
        _, _, holder, key, _, new = list(mutate.sites(tree))[number]
        holder[key] = new
        found.append(ast.unparse(ast.fix_missing_locations(tree)))
    return found


@pytest.mark.parametrize(
    ("source", "edits"),
    [
        ("x = 1 < y", ["x = 1 <= y", "x = 2 < y"]),
        ("x = a + 0.5", ["x = a - 0.5", "x = a + 1.0"]),
        ("x = FATES['M']", ["x = FATES['R']"]),
        ("x = f'{a:.4f}'", ["x = f'{a:.5f}'"]),
        ("draw(BLUE, color=c)", ["pass", "draw(BLUE)", "draw(VERMILLION, color=c)"]),
        ("ax.imshow(a)", ["pass", "ax.imshow(a.T)"]),
        ("ax.plot(a, b)", ["pass", "ax.plot(b, a)", "ax.plot(-a, b)", "ax.plot(a, -b)"]),
        ("x = left.min()", ["x = left.max()", "x = right.min()"]),
        ("if not a: f()", ["if not (not a): f()", "if a: f()", "if not a: pass"]),
        ("a += b", ["a -= b", "pass"]),
    ],
)  # fmt: skip
def test_single_edits(source, edits):
    assert sorted(edits_of(source)) == sorted(ast.unparse(ast.parse(edit)) for edit in edits)


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "'A docstring.'",
        "raise ValueError(f'got {1 + 1}')",
        "fig.alt = f'{1 + 1} bars'",
        "_STYLE = {'font.size': 12}",
        "def __repr__(self): return 'a'",
        "@cache(maxsize=4)\ndef f(x: int = None) -> int: pass",
        "x = dict(fontsize=11)",
        "x = {'va': 'top'}",
        "x = q.transpose(a, b)",
        "x = canvas(3.0)",
    ],
)
def test_cosmetic_edits_are_left_out(source):
    assert edits_of(source) == []


def test_numbers_that_place_a_text_are_left_out():
    assert edits_of("x = ax.text(a + 0.1, 0, b)") == [
        "x = ax.text(0, a + 0.1, b)",
        "x = ax.text(a - 0.1, 0, b)",
    ]


def test_each_module_has_its_tests_and_each_equivalent_edit_is_there():
    for module, tests in mutate.MODULES.items():
        assert mutate.listed(module) and all((mutate.ROOT / test).is_file() for test in tests)
    figures = {f"figures/{path.name}" for path in (mutate.ROOT / "bert_lab/figures").glob("*.py")}
    assert figures - set(mutate.MODULES) == {"figures/__init__.py"}
    every = {f"{module} {words}" for module in mutate.MODULES for *_, words in mutate.listed(module, True)}
    assert set(mutate.EQUIVALENT) <= every and len(mutate.EQUIVALENT) < 10
