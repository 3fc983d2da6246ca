"""The page for teachers: its plans add up, its sections and threads exist, its commands run."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from bert_lab.cli.app import parser
from bert_lab.course.mutants import MUTANTS

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PAGE = (NOTEBOOKS / "teaching.md").read_text(encoding="utf-8")
PLAN = re.compile(r"^\| (\d+) \| \[(\d\d)\]\((\w+\.ipynb)\) \| (.+?) \| .+ \|$", re.MULTILINE)
TABLES = re.findall(r"^\| minutes .*\n(?:\|.*\n)+", PAGE, re.MULTILINE)


def headings(chapter: str) -> set[str]:
    cells = json.loads((NOTEBOOKS / chapter).read_text(encoding="utf-8"))["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "markdown" for line in cell["source"]]
    return {line.removeprefix("## ").strip() for line in lines if line.startswith("## ")}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("table", TABLES, ids=["one session", "first", "second", "third"])
def test_each_session_is_90_minutes_of_sections_that_exist(table):
    rows = PLAN.findall(table)
    assert len(rows) == table.count("\n") - 2, "each row is read"
    assert sum(int(minutes) for minutes, *_ in rows) == 90
    for _, number, chapter, section in rows:
        assert chapter.startswith(f"{number}_") and section in headings(chapter), section
    assert len({(number, section) for _, number, _, section in rows}) == len(rows)


def test_each_fault_links_its_thread_and_its_chapter():
    rows = re.findall(
        r"^\| \[(\d\d)\]\((\w+)\.ipynb\) \| .+ \| .+ \| \[(.+?)\]\((.+?)\) \|$", PAGE, re.MULTILINE
    )
    known = {(row.chapter[:2], row.chapter, row.seen, row.url) for row in MUTANTS.values()}
    assert len(rows) >= 12 and set(rows) <= known
    assert PAGE.count("https://github.com/") == len(rows)


def test_its_links_exist():
    for link in re.findall(r"\]\(([^)]+)\)", PAGE):
        assert link.startswith("https://") or (NOTEBOOKS / link).exists(), link


def test_its_commands_are_commands():
    called = re.findall(r"`(bert-lab [^`]+)`", PAGE)
    called += [line for block in blocks("sh") for line in block.split("\n") if line.startswith("bert-lab ")]
    called += re.findall(r"/env/bin/(bert-lab .*)", PAGE)
    assert len(called) > 8
    for command in called:
        arguments = shlex.split(command)[1:]
        if arguments in (["start"], ["tests"], ["check"]):  # named, and not called
            continue
        parser().parse_args([{"N": "7", "K": "3"}.get(word, word) for word in arguments])


def test_its_code_runs(tmp_path, monkeypatch, capsys):
    (tmp_path / "results.json").write_text(
        '{"submissions": [{"name": "ada", "score": 87.5}]}', encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(code, {})
    assert capsys.readouterr().out == "ada,87.5\n"


def test_its_scripts_are_scripts():
    scripts = [block for block in blocks("sh") if block.startswith("#!/usr/bin/env bash\n")]
    assert len(scripts) == 2
    for script in scripts:
        assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
