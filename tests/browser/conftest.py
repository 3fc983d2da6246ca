"""A browser, the built book, and a JupyterLab with a copy of the chapters."""

import json
import os
from pathlib import Path

import pytest
from chromium import FLAGS, NAMES, find_chromium
from driving import LAST, SECONDS, Lab, Notebook, Site, build_book, code_cells, write_notebook
from playwright.sync_api import expect, sync_playwright

from bert_lab.cli.copy_book import copy_book

expect.set_options(timeout=SECONDS * 1000)


@pytest.fixture(scope="session")
def browser():
    program = find_chromium()
    if program is None:  # no reason to skip: who asks for these tests wants them run
        pytest.fail(f"expected a browser on the PATH, one of {', '.join(NAMES)}; found none")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def book(tmp_path_factory) -> Path:
    """The folder of the built book: what BERT_LAB_BOOK names, or one made now."""
    built = os.environ.get("BERT_LAB_BOOK")
    path = Path(built).resolve() if built else build_book(tmp_path_factory.mktemp("book") / "html")
    assert (path / "index.html").is_file(), f"{path}: expected the folder of the built book"
    return path


@pytest.fixture
def site(browser, book):
    site = Site(browser, book)
    yield site
    site.close()


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    copy_book(home / "book")
    for path in (home / "book").glob("*.ipynb"):
        # Without outputs: what is shown later was run in the browser.
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        write_notebook(path, cells + code_cells(f"print({LAST!r})"))
    everything = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}  # also far down
    server = Lab(home, **everything)
    yield server
    server.close()


@pytest.fixture
def notebook(browser, lab_server):
    """Opens a notebook by name: one of the chapters, or one made of the sources of its cells."""
    opened = []

    def open_notebook(name: str, *sources: str) -> Notebook:
        if sources:
            write_notebook(lab_server.folder / name, code_cells(*sources))
        opened.append(Notebook(browser, lab_server, name))
        return opened[-1]

    yield open_notebook
    for one in opened:
        one.close()
