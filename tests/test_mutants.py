"""Each fault is well made and is caught: by the course tests that its row names, and by its chapter."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bert_lab
from bert_lab.course import mutants, test_bert
from bert_lab.course.mutants import MUTANTS, load_mutant, mutated_source, write_mutant

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted({row.chapter for row in MUTANTS.values()})
COURSE_TESTS = [name for name in vars(test_bert) if name.startswith("test_")]


def red_tests(bert) -> list[str]:
    """The course tests that fail on this implementation."""
    red = []
    for name in COURSE_TESTS:
        try:
            getattr(test_bert, name)(bert)
        except Exception:
            red.append(name)
        except pytest.fail.Exception:  # what pytest.raises raises
            red.append(name)
    return red


@pytest.mark.parametrize("row", MUTANTS.values(), ids=lambda row: row.id)
def test_each_mutant_turns_its_course_tests_red(row):
    red = red_tests(load_mutant(row.id))
    assert set(row.tests) <= set(red)
    assert set(row.tests) <= set(COURSE_TESTS)
    assert "test_validation" not in red, "the fault is silent: bad input is still refused"


def test_the_reference_survives():
    assert red_tests(bert_lab) == []


@pytest.mark.parametrize("row", MUTANTS.values(), ids=lambda row: row.id)
def test_each_mutant_compiles_and_changes_one_place(row):
    source = mutated_source(row)
    compile(source, row.id, "exec")
    assert row.new in source
    assert row.pitfall
    assert row.misconception.endswith(".")


def test_a_mutant_leaves_bert_lab_alone():
    before = {name: getattr(bert_lab, name) for name in bert_lab.__all__}
    modules = {name: module for name, module in sys.modules.items() if name.startswith("bert_lab")}
    faulty = load_mutant("s12")
    assert faulty.mlm_batch is not bert_lab.mlm_batch
    assert faulty.mlm_mask is bert_lab.mlm_mask
    assert faulty.PCG32 is bert_lab.PCG32
    assert {name: getattr(bert_lab, name) for name in bert_lab.__all__} == before
    assert {name: sys.modules[name] for name in modules} == modules
    with pytest.raises(AttributeError):
        faulty.no_such_name  # noqa: B018


def test_mutants_load_one_after_another_in_a_fresh_process():
    code = "from bert_lab.course.mutants import MUTANTS, load_mutant\nfor id in MUTANTS: load_mutant(id)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=ROOT, timeout=300)


def test_a_fault_in_masking_reaches_the_batches():
    tok = test_bert.small_tokenizer()
    batch = load_mutant("s02").mlm_batch(tok, ["the cat"], 8, 0.0, bert_lab.PCG32(1))
    np.testing.assert_array_equal(batch["labels"], [[2, 5, 6, 3]])


def test_an_error_in_a_mutant_shows_its_line():
    with pytest.raises(ValueError) as caught:
        load_mutant("s01").mlm_mask([99], [0], 4, 40, 0.15, bert_lab.PCG32(1))
    assert any("masking.py of s01" in str(entry.path) for entry in caught.traceback)


def test_unknown_ids_and_lost_texts_are_errors(monkeypatch):
    with pytest.raises(ValueError, match=r"expected one of s01, .* got 's99'"):
        load_mutant("s99")
    monkeypatch.setattr(mutants, "_reference_source", lambda module: "nothing to change")
    with pytest.raises(ValueError, match=r"s01: expected its old text in masking\.py once, found it 0 times"):
        load_mutant("s01")


def run_chapter(chapter: str, package_parent: Path) -> subprocess.CompletedProcess:
    """Run one chapter under strict nbval with the copy of bert_lab in this folder."""
    notebook = ROOT / "notebooks" / f"{chapter}.ipynb"
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--nbval",
            "-p",
            "no:cacheprovider",
            f"--rootdir={ROOT}",
            notebook,
        ],
        env={**os.environ, "PYTHONPATH": str(package_parent), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=package_parent,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("row", MUTANTS.values(), ids=lambda row: row.id)
def test_each_mutant_turns_its_chapter_red(row, tmp_path):
    copy = write_mutant(row.id, tmp_path)
    assert (copy / f"{row.module}.py").read_text(encoding="utf-8") == mutated_source(row)
    run = run_chapter(row.chapter, tmp_path)
    assert run.returncode == 1, run.stdout
    assert "ImportError" not in run.stdout
    assert "ModuleNotFoundError" not in run.stdout


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_copy_without_a_fault_leaves_the_chapter_green(chapter, tmp_path):
    shutil.copytree(ROOT / "bert_lab", tmp_path / "bert_lab", ignore=shutil.ignore_patterns("__pycache__"))
    run = run_chapter(chapter, tmp_path)
    assert run.returncode == 0, run.stdout


def test_the_chapter_really_runs_the_copy(tmp_path):
    (write_mutant("s01", tmp_path) / "masking.py").write_text("raise RuntimeError\n", encoding="utf-8")
    run = run_chapter("01_mask_by_hand", tmp_path)
    assert run.returncode == 1
    failed, passed = re.search(r"(\d+) failed, (\d+) passed", run.stdout).groups()
    assert int(failed) > int(passed), "all that needs masking fails, and not one output alone"
