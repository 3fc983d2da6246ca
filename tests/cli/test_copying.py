"""A reader's copy of the book."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bert_lab.cli import app as cli
from bert_lab.cli import copy_book as copying
from bert_lab.cli.copy_book import BOOK, copy_book

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)\s]*)?\)")


def text_of(page: Path) -> str:
    """What a page says in Markdown: links in code are none."""
    if page.suffix == ".md":
        return page.read_text(encoding="utf-8")
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def small_book(folder: Path) -> Path:
    (folder / "images").mkdir(parents=True)
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / "_build").mkdir()
    for name in ("00_start_here.ipynb", "01_two.ipynb", "page.md", "conf.py", "references.bib"):
        (folder / name).write_text(f"this is {name}\n")
    for name in (".ipynb_checkpoints/01_two-checkpoint.ipynb", "_build/x.md", "images/lab.png"):
        (folder / name).write_bytes(b"\x89\n")
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_book_is_copied_and_its_links_work_in_the_copy(tmp_path):
    mine = tmp_path / "my book"
    files = copy_book(mine)
    assert files == sorted(p for p in mine.rglob("*") if p.is_file())
    chapters = sorted(path.name for path in BOOK.glob("*.ipynb"))
    assert [path.name for path in files if path.suffix == ".ipynb"] == chapters and len(chapters) >= 10
    for path in files:
        assert path.read_bytes() == (BOOK / path.relative_to(mine)).read_bytes()
    links = {
        (page.name, link)
        for page in files
        if page.suffix in (".ipynb", ".md")
        for link in LINK.findall(text_of(page))
    }
    assert len(links) > 20
    assert [(page, link) for page, link in sorted(links) if not (mine / link).exists()] == []


def test_only_what_a_reader_needs_is_copied(tmp_path):
    copy_book(tmp_path / "mine", small_book(tmp_path / "book"))
    assert sorted(tree(tmp_path / "mine")) == [
        "00_start_here.ipynb",
        "01_two.ipynb",
        "images/lab.png",
        "page.md",
    ]
    assert sorted(os.listdir(tmp_path)) == ["book", "mine"], "nothing is left beside it"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_the_copy_can_be_changed_where_the_book_cannot(tmp_path):
    book = small_book(tmp_path / "book")
    for path in book.rglob("*"):
        path.chmod(path.stat().st_mode & 0o555)
    copy_book(tmp_path / "mine", book)
    assert all(path.stat().st_mode & 0o200 for path in [tmp_path / "mine", *(tmp_path / "mine").rglob("*")])


def test_nothing_is_overwritten(tmp_path):
    book = small_book(tmp_path / "book")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "01_two.ipynb").write_text("changed")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    before = tree(tmp_path)
    for name in ("empty", "file", "full", "dangling"):
        with pytest.raises(FileExistsError, match=f"{name} is there already: name a folder that is not"):
            copy_book(tmp_path / name, book)
    assert tree(tmp_path) == before and not (tmp_path / "nowhere").exists()


def test_a_copy_that_fails_leaves_nothing(tmp_path, monkeypatch):
    book = small_book(tmp_path / "book")
    copyfile = shutil.copyfile
    done = []

    def full(source, target):
        if len(done) == 2:
            raise problem
        done.append(copyfile(source, target))

    monkeypatch.setattr(copying.shutil, "copyfile", full)
    problem = OSError(28, "No space left on device")
    with pytest.raises(OSError, match=r"mine: no space left on device; nothing was written$"):
        copy_book(tmp_path / "mine", book)
    assert len(done) == 2 and os.listdir(tmp_path) == ["book"]
    problem, done = KeyboardInterrupt(), []
    with pytest.raises(KeyboardInterrupt):
        copy_book(tmp_path / "mine", book)
    assert len(done) == 2 and os.listdir(tmp_path) == ["book"]


def test_what_cannot_be_a_copy_is_refused(tmp_path):
    book = small_book(tmp_path / "book")
    before = tree(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"expected the book's chapters in \S+images, but they are"):
        copy_book(tmp_path / "mine", book / "images")
    with pytest.raises(ValueError, match="expected the path of a folder, got an empty one"):
        copy_book("", book)
    with pytest.raises(TypeError):
        copy_book(3, book)
    with pytest.raises(FileNotFoundError, match="expected a folder to put the copy into, but there is none"):
        copy_book(tmp_path / "no" / "mine", book)
    with pytest.raises(FileNotFoundError, match="expected a folder to put the copy into, but there is none"):
        copy_book(book / "page.md" / "mine", book)
    with pytest.raises(ValueError, match="expected a folder outside of the book itself"):
        copy_book(book / "images" / "mine", book)
    assert tree(tmp_path) == before


def test_the_command(tmp_path, capsys, monkeypatch):
    mine = str(tmp_path / "mine")
    assert cli.main(["copy", mine]) == 0
    chapters = len(list(BOOK.glob("*.ipynb")))
    start = tmp_path / "mine" / "00_start_here.ipynb"
    assert capsys.readouterr().out == f"made {mine}: {chapters} chapters\nOpen it with: jupyter lab {start}\n"
    assert start.is_file()
    assert cli.main(["copy", mine]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert (
        told.err
        == f"bert-lab copy: {mine} is there already: name a folder that is not; nothing was written\n"
    )


def test_a_package_installed_without_the_book_says_what_to_do(tmp_path):
    package, left_out = Path(copying.__file__).parents[1], shutil.ignore_patterns("assets")
    shutil.copytree(package, tmp_path / "site" / "bert_lab", ignore=left_out)
    command = [sys.executable, "-P", "-m", "bert_lab", "copy", str(tmp_path / "mine")]
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert run.returncode == 1 and run.stdout == ""
    assert re.fullmatch(
        r"bert-lab copy: expected the book's chapters in \S+notebooks, but they are not there: .* run "
        r"`make lab` in it, and copy with the bert-lab of its \.venv\.\n",
        run.stderr,
    )
    assert not (tmp_path / "mine").exists()
