"""Each fault is well made and is caught: by the course tests that its row names, and by its chapter."""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from warm import run_chapter

import bert_lab
from bert_lab.course import faults, mutants, test_bert
from bert_lab.course.contract import PACKAGE, source_path
from bert_lab.course.mutants import MUTANTS, changed_lines, load_mutant, mutated_source, table, write_mutant

ROOT = Path(__file__).parents[2]
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


EACH = pytest.mark.parametrize("row", MUTANTS.values(), ids=lambda row: row.id)


@EACH
def test_each_mutant_turns_exactly_its_course_tests_red(row):
    red = red_tests(load_mutant(row.id))
    assert red, "no course test sees the fault"
    assert red == list(row.tests)
    assert "test_validation" not in red, "the fault is silent: bad input is still refused"


def test_the_reference_survives():
    assert red_tests(bert_lab) == []


@EACH
def test_each_mutant_compiles_and_changes_one_place(row):
    reference = source_path(row.module).read_text(encoding="utf-8")
    assert reference.count(row.old) == 1
    source = mutated_source(row)
    compile(source, row.id, "exec")
    assert source.startswith(reference.replace(row.old, row.new))
    added = source.removeprefix(reference.replace(row.old, row.new))
    assert added in ("", "\n\nmask_in_blocks = _mask_one_by_one\n")


def test_a_fault_in_the_loop_of_the_masking_takes_its_twin_away():
    looped = {row.id for row in MUTANTS.values() if "\nmask_in_blocks = " in mutated_source(row)}
    assert looped == {row.id for row in MUTANTS.values() if row.module == "masking"} - {"b08"}


def test_the_ids_are_those_of_the_course_text_and_then_the_others_in_order():
    pitfalls = [f"s{i:02}" for i in range(1, 13)]
    others = [f"b{i:02}" for i in range(1, len(MUTANTS) - 11)]
    assert list(MUTANTS) == pitfalls + others == [row.id for row in MUTANTS.values()]
    assert len(faults.ROWS) == len(MUTANTS) and len(others) >= 18
    assert [row.id for row in MUTANTS.values() if row.required] == pitfalls
    titles = [row.pitfall for row in MUTANTS.values()]
    assert len(set(titles)) == len(titles)
    changes = [(row.module, row.old, row.new) for row in MUTANTS.values()]
    assert len(set(changes)) == len(changes)


def sentence(text: str) -> bool:
    """Exactly one sentence, as far as can be told from its marks."""
    return bool(re.fullmatch(r"[A-Z-].*[.?]", text)) and not re.search(r"[.?!] [A-Z]", text)


@EACH
def test_each_row_says_what_it_is(row):
    assert row.pitfall and not row.pitfall.endswith(".") and len(row.pitfall) <= 50
    assert sentence(row.misconception) and sentence(row.symptom)
    assert row.part == ("masking" if row.module in ("masking", "batches") else "model")
    assert re.fullmatch(r"0[1-8]_\w+", row.chapter) and (ROOT / "notebooks" / f"{row.chapter}.ipynb").exists()


@EACH
def test_hints_are_three_sentences_and_not_the_answer(row):
    assert len(row.hints) == 3 and all(map(sentence, row.hints))
    assert row.hints[0].startswith("Think about ") and row.hints[2].startswith("Assert ")
    old, new = changed_lines(row)
    answers = [row.pitfall, *old, *new]
    assert not [a for a in answers for hint in row.hints if a.strip() and a.strip().lower() in hint.lower()]


@EACH
def test_threads_have_an_address(row):
    if row.required:
        assert row.seen == row.url == ""
    else:
        repository, pull, number = re.fullmatch(r"([\w.-]+/[\w.-]+)( PR)?#([1-9]\d*)", row.seen).groups()
        kind = "pull" if pull else "issues"
        assert row.url == f"https://github.com/{repository}/{kind}/{number}"


def test_addresses_of_an_issue_and_of_a_pull_request():
    assert MUTANTS["b01"].url == "https://github.com/codertimo/BERT-pytorch/issues/29"
    assert MUTANTS["b08"].url == "https://github.com/huggingface/transformers/pull/36903"
    assert MUTANTS["b01"].part == MUTANTS["s12"].part == "masking"
    assert MUTANTS["s08"].part == MUTANTS["b16"].part == "model"


def test_changed_lines_are_those_that_a_reader_has_to_look_at():
    assert changed_lines(MUTANTS["s01"]) == (["if special[t]:", "    continue"], [])
    assert changed_lines(MUTANTS["s03"]) == (["elif action == 1:"], ["elif action == 2:"])
    old, new = changed_lines(MUTANTS["s11"])
    assert old == [] and len(new) == 1 and new[0].startswith("allowed = torch.ones(")
    old, new = changed_lines(MUTANTS["b03"])
    assert old[1] == new[3] == "    inputs[t] = mask_id", "what stands between the changes stays readable"


@EACH
def test_changed_lines_stand_in_the_sources(row):
    reference = source_path(row.module).read_text(encoding="utf-8")
    for lines, source in zip(changed_lines(row), (reference, mutated_source(row)), strict=True):
        stripped = "\n".join(line.strip() for line in source.splitlines())
        assert "\n".join(line.strip() for line in lines) in stripped
        assert len(lines) <= 6
    assert changed_lines(row)[0] != changed_lines(row)[1]


def test_the_table_says_what_the_rows_say():
    lines = table().splitlines()
    assert max(map(len, lines)) <= 110
    assert lines[0].split()[:3] == ["id", "fault", "module"] and lines[0].split()[-1] == "chapter"
    letters = "ABCDEFGHIJKLMN"
    for line, row in zip(lines[1:], MUTANTS.values(), strict=False):
        cells = line.split()
        id, *words, module = cells[:-15]
        assert (id, " ".join(words), module) == (row.id, row.pitfall, row.module)
        caught = [name for name, a, b in zip(COURSE_TESTS, cells[-15:-1], letters, strict=True) if a == b]
        assert caught == list(row.tests)
        assert cells[-1] == row.chapter[:2]
    for letter, name in zip(letters, COURSE_TESTS, strict=True):
        assert f"{letter}  {name}" in lines
    for row in MUTANTS.values():
        assert (f"{row.id}  {row.url}" in lines) == (not row.required)


def test_every_course_test_catches_something_but_the_one_of_bad_input():
    caught = {name for row in MUTANTS.values() for name in row.tests}
    assert set(COURSE_TESTS) - caught == {"test_validation"}


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


HAND = (
    "import bert_lab as b, numpy as n; r = b.ScriptedDraws([0.05, 0.5, 0.05, 0.85], [9]); "
    "print(b.mlm_mask(n.array([5, 6]), [0, 0], 4, 40, 0.15, r)[0].tolist())"
)


def shown(folder: Path) -> str:
    """What a fresh process shows for two picks, [MASK] and random, with bytecode written as usual."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    run = subprocess.run(
        [sys.executable, "-c", HAND],
        env={**kept, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return run.stdout.strip() or run.stderr


def test_equal_length_and_time_bring_no_stale_bytecode_into_play(tmp_path, monkeypatch):
    one = dataclasses.replace(MUTANTS["s03"], id="x1", old="if action == 0:", new="if action == 8:")
    two = dataclasses.replace(MUTANTS["s03"], id="x2", old="elif action == 1:", new="elif action == 8:")
    for row in (one, two):
        monkeypatch.setitem(MUTANTS, row.id, row)
    want = {"x1": "[5, 9]", "x2": "[4, 6]"}
    assert len(mutated_source(one)) == len(mutated_source(two))
    for id in ("x1", "x2", "x1"):
        shutil.rmtree(tmp_path / "bert_lab", ignore_errors=True)
        path = write_mutant(id, tmp_path) / "masking.py"
        os.utime(path, (10**9, 10**9))
        assert shown(tmp_path) == want[id]
        draws = bert_lab.ScriptedDraws([0.05, 0.5, 0.05, 0.85], [9])
        assert str(load_mutant(id).mlm_mask([5, 6], [0, 0], 4, 40, 0.15, draws)[0].tolist()) == want[id]
    assert list(path.parent.rglob("masking.*.pyc")), "bytecode was written"
    path.write_text(mutated_source(two), encoding="utf-8")
    os.utime(path, (10**9, 10**9))
    assert shown(tmp_path) == want["x1"], "written over the first, the second would run the first's bytecode"
    with pytest.raises(FileExistsError):
        write_mutant("x2", tmp_path)  # so it is never written over


@pytest.mark.slow
@EACH
def test_each_mutant_turns_its_chapter_red(row, tmp_path):
    copy = write_mutant(row.id, tmp_path)
    written = copy / source_path(row.module).relative_to(PACKAGE)
    assert written.read_text(encoding="utf-8") == mutated_source(row)
    run = run_chapter(row.chapter, tmp_path, "--exitfirst")
    assert run.returncode == 1, run.stdout
    assert re.search(r"= 1 failed, [1-9]\d* passed", run.stdout), run.stdout
    assert "ImportError" not in run.stdout
    assert "ModuleNotFoundError" not in run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_copy_without_a_fault_leaves_the_chapter_green(chapter, tmp_path):
    shutil.copytree(ROOT / "bert_lab", tmp_path / "bert_lab", ignore=shutil.ignore_patterns("__pycache__"))
    run = run_chapter(chapter, tmp_path)
    assert run.returncode == 0, run.stdout


@pytest.mark.slow
def test_the_chapter_really_runs_the_copy(tmp_path):
    (write_mutant("s01", tmp_path) / "masking.py").write_text("raise RuntimeError\n", encoding="utf-8")
    run = run_chapter("01_mask_by_hand", tmp_path)
    assert run.returncode == 1
    failed, passed = re.search(r"(\d+) failed, (\d+) passed", run.stdout).groups()
    assert int(failed) > int(passed), "all that needs masking fails, and not one output alone"
