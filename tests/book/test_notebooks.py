"""How chapters are stored and shaped, and the runner that makes them so: each rule fails on a bad chapter."""

import base64
import importlib.util
import io
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
CHAPTERS = sorted(NOTEBOOKS.glob("*.ipynb"))
CODE_LINES, MEDIAN_LINES = 25, 8


def load_runner():
    spec = importlib.util.spec_from_file_location("bert_lab_notebooks_execute", NOTEBOOKS / "_execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


runner = load_runner()


def shape_problems(name: str, nb: nbformat.NotebookNode) -> list[str]:
    """What in a chapter's name and make-up is not as the book's template has it."""
    found = []
    if not re.fullmatch(r"\d\d(_[a-z0-9]+){2,}\.ipynb", name):
        found.append(f"expected a name NN_verb_phrase.ipynb, got {name}")
    first = nb.cells[0]
    if first.cell_type != "markdown" or not first.source.startswith("# "):
        found.append("expected a first cell with the chapter's title")
    elif not re.search(r"\*\*\d+ minutes\.\*\*", first.source):
        found.append("expected the chapter's minutes below its title, as **40 minutes.**")
    lines = {cell.id: len(cell.source.splitlines()) for cell in runner.code_cells(nb)}
    found += [
        f"cell {name}: expected at most {CODE_LINES} lines, got {n}"
        for name, n in lines.items()
        if n > CODE_LINES
    ]
    if lines and statistics.median(lines.values()) > MEDIAN_LINES:
        median = statistics.median(lines.values())
        found.append(f"expected at most {MEDIAN_LINES} lines of code at the median, got {median}")
    return found


# ---- the chapters


def test_there_are_chapters_and_each_has_a_number_of_its_own():
    numbers = [path.name[:2] for path in CHAPTERS]
    assert numbers[0] == "00"
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_is_stored_by_the_rules(path):
    text = path.read_text(encoding="utf-8")
    nb = runner.read(text)
    assert runner.problems(nb) == []
    assert runner.text_of(runner.normal_form(nb)) == text, "run `make notebooks`: this is not the stored form"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_the_shape_of_the_template(path):
    assert shape_problems(path.name, runner.read(path.read_text(encoding="utf-8"))) == []


# ---- each rule fails on a notebook that breaks it


def code(cell_id: str, count: int, source: str, *outputs: dict) -> dict:
    cell = nbformat.v4.new_code_cell(source, execution_count=count, outputs=list(outputs))
    cell.id = cell_id
    return cell


def text(words: str, name: str = "stdout") -> dict:
    return nbformat.v4.new_output("stream", name=name, text=words)


def shown(data: dict, kind: str = "display_data", **more) -> dict:
    return nbformat.v4.new_output(kind, data=data, **more)


def good_notebook() -> nbformat.NotebookNode:
    title = nbformat.v4.new_markdown_cell("# A chapter\n\n**5 minutes.** See [a page](https://a.org/home/x).")
    title.id = "title"
    cells = [
        title,
        code("say-one", 1, "print(1)", text("1\n")),
        code("show-two", 2, "2", shown({"text/plain": "2"}, "execute_result", execution_count=2)),
        code("nothing", 3, "x = 3"),
    ]
    metadata = {"kernelspec": dict(runner.KERNELSPEC), "language_info": dict(runner.LANGUAGE_INFO)}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def with_output(output: dict):
    return lambda nb: nb.cells[1].outputs.append(nbformat.from_dict(output))


def with_cell(index: int, **values):
    return lambda nb: nb.cells[index].update(nbformat.from_dict(values))


HOME, TEMP = "/" + "home/me/x", "/" + "tmp/x"
FAULTS = {
    "another kernel": (
        lambda nb: nb.metadata.kernelspec.update(name="conda-env-py"),
        "expected the kernelspec",
    ),
    "no kernel": (lambda nb: nb.metadata.pop("kernelspec"), "expected the kernelspec"),
    "a Python version": (
        lambda nb: nb.metadata.language_info.update(version="3.11.7"),
        "expected the language_info",
    ),
    "not executed": (with_cell(3, execution_count=None), "expected execution counts 1 to 3"),
    "executed out of order": (with_cell(1, execution_count=9), "expected execution counts 1 to 3"),
    "an id twice": (with_cell(1, id="nothing"), "cell nothing: another cell has this id"),
    "an id that an editor drew": (with_cell(1, id="4f1c9a02-77aa"), "not one drawn by an editor"),
    "an id with capitals": (with_cell(1, id="SayOne"), "expected an id of lower case words"),
    "an unknown field": (with_cell(1, colour="red"), "not a valid notebook"),
    "stderr": (
        with_output(text("UserWarning: x", "stderr")),
        "cell say-one: wrote to stderr: 'UserWarning: x'",
    ),
    "an error": (
        with_output(nbformat.v4.new_output("error", ename="KeyError", evalue="'x'", traceback=[])),
        "cell say-one: stopped with KeyError: 'x'",
    ),
    "a home folder printed": (with_output(text(HOME)), "cell say-one: prints a path of one machine"),
    "a path in a result": (
        with_output(shown({"text/html": f"<b>{TEMP}</b>"})),
        "prints a path of one machine",
    ),
    "a Windows path": (with_output(text("C:" + r"\Users\me")), "prints a path of one machine"),
    "a path in the source": (
        with_cell(1, source=f"open('{TEMP}')"),
        "cell say-one: holds a path of one machine",
    ),
    "an SVG picture": (with_output(shown({"image/svg+xml": "<svg></svg>"})), "shows an SVG picture"),
    "an SVG picture in HTML": (with_output(shown({"text/html": "<svg></svg>"})), "shows an SVG picture"),
    "a live widget": (with_output(shown({runner.WIDGET_VIEW: {"model_id": "x"}})), "stores a live widget"),
    "too large": (with_output(text("x" * 300_000)), "expected at most 300000 bytes"),
    "a result with another number": (
        with_output(shown({"text/plain": "2"}, "execute_result", execution_count=7)),
        "the result is numbered 7, the cell 1",
    ),
    "outputs not compared": (with_cell(1, source="# NBVAL_IGNORE_OUTPUT\n1"), "turns the comparison"),
    "a tag for the same": (with_cell(1, metadata={"tags": ["nbval-skip"]}), "turns the comparison"),
    "an error allowed": (with_cell(1, metadata={"tags": ["raises-exception"]}), "turns the comparison"),
}


def test_a_good_notebook_has_no_problems():
    assert runner.problems(good_notebook()) == []
    assert shape_problems("01_mask_by_hand.ipynb", good_notebook()) == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name):
    change, message = FAULTS[name]
    nb = good_notebook()
    change(nb)
    found = runner.problems(nb)
    assert any(message in line for line in found), found


LONG = "\n".join(["x = 1"] * 26)
SHAPES = {
    "a capital": ("01_Mask.ipynb", lambda nb: None, "expected a name"),
    "no number": ("mask_by_hand.ipynb", lambda nb: None, "expected a name"),
    "one word": ("01_mask.ipynb", lambda nb: None, "expected a name"),
    "no title": (
        "01_a_b.ipynb",
        lambda nb: nb.cells.pop(0),
        "expected a first cell with the chapter's title",
    ),
    "no minutes": ("01_a_b.ipynb", with_cell(0, source="# A chapter"), "expected the chapter's minutes"),
    "a long cell": (
        "01_a_b.ipynb",
        with_cell(1, source=LONG),
        "cell say-one: expected at most 25 lines, got 26",
    ),
    "long cells": (
        "01_a_b.ipynb",
        lambda nb: [cell.update(source="x = 1\n" * 9) for cell in nb.cells[1:]],
        "expected at most 8 lines of code at the median, got 9",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_fault_of_shape_is_named(name):
    file, change, message = SHAPES[name]
    nb = good_notebook()
    change(nb)
    found = shape_problems(file, nb)
    assert any(message in line for line in found), found


# ---- the normal form


def test_the_normal_form_drops_what_differs_from_run_to_run():
    nb = good_notebook()
    nb.metadata.update(
        widgets={"application/vnd.jupyter.widget-state+json": {"state": {}}}, toc={"base": 1}, title="x"
    )
    nb.metadata.kernelspec.update(display_name="bert (venv)", name="bert")
    nb.metadata.language_info.update(version="3.12.1", file_extension=".py")
    nb.cells[1].metadata.update(
        execution={"iopub.status.busy": "2026-01-01"},
        scrolled=True,
        tags=["hide-input"],
        jupyter={"source_hidden": True},
    )
    nb.cells[1].outputs = nbformat.from_dict(
        [
            text("1"),
            text("2\n"),
            shown(
                {runner.WIDGET_VIEW: {"model_id": "a"}, "text/plain": "a lab"},
                metadata={"image/png": {"width": 3}},
            ),
            shown({runner.WIDGET_VIEW: {"model_id": "b"}}),
            text("3\n"),
            text("4\n", "stderr"),
        ]
    )
    nb.cells.append(code("empty", None, "  \n"))
    before = json.dumps(nb)
    new = runner.normal_form(nb)
    assert json.dumps(nb) == before, "the notebook that came in was changed"
    assert new.metadata == {"kernelspec": runner.KERNELSPEC, "language_info": {"name": "python"}}
    assert new.cells[1].metadata == {"tags": ["hide-input"], "jupyter": {"source_hidden": True}}
    assert new.cells[1].outputs == [
        text("12\n"),
        shown({"text/plain": "a lab"}),
        text("3\n"),
        text("4\n", "stderr"),
    ]
    assert [cell.id for cell in new.cells] == ["title", "say-one", "show-two", "nothing"]
    assert runner.normal_form(new) == new
    assert runner.text_of(new).endswith("}\n") and runner.read(runner.text_of(new)) == new


def test_a_notebook_without_ids_is_refused():
    old = json.loads(runner.text_of(good_notebook()))
    old["nbformat_minor"] = 4
    with pytest.raises(
        ValueError, match=r"expected a notebook of format 4\.5, whose cells have ids, got format 4\.4"
    ):
        runner.read(json.dumps(old))
    old["nbformat_minor"] = 5
    del old["cells"][2]["id"]
    with pytest.raises(ValueError, match="expected an id in every cell, got none in cell 3 from the top"):
        runner.read(json.dumps(old))


def png(value: int, size: int = 4, **options) -> str:
    file = io.BytesIO()
    Image.fromarray(np.full((size, size, 3), value, np.uint8)).save(file, "PNG", **options)
    return base64.b64encode(file.getvalue()).decode()


def test_a_picture_keeps_its_bytes_while_its_pixels_are_the_same():
    first, packed = png(100, compress_level=0), png(100, compress_level=9)
    assert first != packed
    old, new = good_notebook(), good_notebook()
    old.cells[1].outputs = nbformat.from_dict([shown({"image/png": first})])
    for now, expected in [
        (packed, first),
        (png(108), first),
        (png(109), png(109)),
        (png(100, 5), png(100, 5)),
    ]:
        new.cells[1].outputs = nbformat.from_dict([text("x"), shown({"image/png": now})])
        assert runner.keep_pictures(old, new).cells[1].outputs[1].data["image/png"] == expected
        assert new.cells[1].outputs[1].data["image/png"] == now, "the notebook that came in was changed"
    assert not runner.same_pixels(first, base64.b64encode(b"no picture").decode())


# ---- the runner


def chapter(folder: Path, *sources: str, name: str = "01_a_b.ipynb") -> Path:
    nb = good_notebook()
    nb.cells[1:] = [code(f"cell-{'abcdefgh'[i]}", None, source) for i, source in enumerate(sources)]
    path = folder / name
    path.write_text(runner.text_of(nb), encoding="utf-8")
    return path


def test_a_chapter_is_executed_stored_and_then_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MPLBACKEND", "Agg")  # somebody's setting, which would lose the pictures
    monkeypatch.setenv("THIS_PYTHON", sys.executable)
    path = chapter(
        tmp_path,
        "import os, sys\nprint(os.environ['OMP_NUM_THREADS'], sys.flags.hash_randomization)",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
        "import ipywidgets\nipywidgets.IntSlider()",
        "os.path.exists('01_a_b.ipynb'), sys.executable == os.environ['THIS_PYTHON']",
    )
    assert runner.main([str(path)]) == 0
    assert re.fullmatch(r"01_a_b\.ipynb: written \(\d+\.\d s\)\n", capsys.readouterr().out)
    nb = runner.read(path.read_text(encoding="utf-8"))
    one, two, three, four = runner.code_cells(nb)
    assert one.outputs == [text("1 0\n")]
    assert two.outputs[0].data.keys() == {"image/png", "text/plain"}
    assert three.outputs[0].data.keys() == {"text/plain"}
    assert four.outputs[0].data == {"text/plain": "(True, True)"}
    assert runner.problems(nb) == []
    stamp = os.stat(path).st_mtime_ns
    assert runner.main([str(path)]) == 0
    assert "unchanged" in capsys.readouterr().out and os.stat(path).st_mtime_ns == stamp
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_chapter_that_fails_is_left_as_it_was_and_the_others_go_on(tmp_path, capsys):
    bad = chapter(tmp_path, "x = 1", "x / 0", "x = 3")
    loud = chapter(tmp_path, "import warnings\nwarnings.warn('old')", name="02_a_b.ipynb")
    fine = chapter(tmp_path, "1", name="03_a_b.ipynb")
    before = bad.read_bytes(), loud.read_bytes(), fine.read_bytes()
    assert runner.main([str(bad), str(loud), str(fine)]) == 1
    printed = capsys.readouterr()
    assert "01_a_b.ipynb: not stored: cell cell-b: ZeroDivisionError: division by zero" in printed.err
    assert "02_a_b.ipynb: not stored: " in printed.err and "cell cell-a: wrote to stderr" in printed.err
    assert "03_a_b.ipynb: written" in printed.out
    assert (bad.read_bytes(), loud.read_bytes()) == before[:2] and fine.read_bytes() != before[2]


def test_a_cell_that_does_not_end_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "CELL_TIMEOUT", 1)
    path = chapter(tmp_path, "1", "import time\ntime.sleep(30)")
    with pytest.raises(ValueError, match="cell cell-b: "):
        runner.refresh(path)


def test_every_chapter_is_executed_in_order_when_none_is_named(tmp_path, monkeypatch, capsys):
    for name in ("02_a_b.ipynb", "01_a_b.ipynb"):
        chapter(tmp_path, name=name)
    done = []
    monkeypatch.setattr(runner, "HERE", tmp_path)
    monkeypatch.setattr(runner, "refresh", lambda path: done.append(path.name))
    assert runner.main([]) == 0
    assert done == ["01_a_b.ipynb", "02_a_b.ipynb"]
    assert runner.main([str(tmp_path / "none.ipynb")]) == 0 and done[-1] == "none.ipynb"


def test_a_file_that_is_missing_is_said(tmp_path, capsys):
    assert runner.main([str(tmp_path / "01_no.ipynb")]) == 1
    assert "01_no.ipynb: not stored: " in capsys.readouterr().err


def test_a_write_that_breaks_off_leaves_the_old_file(tmp_path, monkeypatch):
    path = chapter(tmp_path, "1")
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        runner.write(path, "new")
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == [path.name]


# ---- what pytest collects


def collect(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("COV_", "PYTEST_"))}
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True)


def test_pytest_runs_the_chapters_and_stays_out_of_copies_and_builds(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        (ROOT / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "notebooks").mkdir()
    chapter(tmp_path / "notebooks", "1")
    places = [
        "notebooks/.ipynb_checkpoints",
        "notebooks/_build/html",
        "notebooks/build",
        "tests/.venv/lib",
        "tests/dist",
    ]
    for place in places:
        (tmp_path / place).mkdir(parents=True)
        chapter(tmp_path / place, "1", name="01_a_b-checkpoint.ipynb")
        (tmp_path / place / "test_copy.py").write_text("def test_it(): pass\n", encoding="utf-8")
    run = collect(tmp_path, "--collect-only")
    found = {line.split("::")[0] for line in run.stdout.splitlines() if "::" in line}
    assert found == {"notebooks/01_a_b.ipynb"}, run.stdout + run.stderr


def test_a_stored_output_that_is_wrong_turns_pytest_red(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        (ROOT / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    nb = good_notebook()
    nb.cells[2].outputs[0].data["text/plain"] = "3"  # the cell says 2
    (tmp_path / "01_a_b.ipynb").write_text(runner.text_of(nb), encoding="utf-8")
    run = collect(tmp_path, "01_a_b.ipynb")
    assert run.returncode == 1 and "1 failed, 2 passed" in run.stdout, run.stdout + run.stderr
