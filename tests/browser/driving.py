"""What the tests in a browser share: the book without a network, notebooks in JupyterLab, what is shown."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAST = "all cells have run"  # printed by a cell at the end of each chapter's copy
SECONDS = int(os.environ.get("BERT_LAB_SECONDS", 60))  # that a condition may take to come true
# In the page: fonts are there, formulas are typeset, labs are live.
SETTLED = """async (seconds) => {
  const ready = Promise.all([document.fonts.ready, window.MathJax?.startup?.promise]);
  const slow = new Error("fonts or formulas are late");
  const late = new Promise((_, fail) => setTimeout(fail, 1000 * seconds, slow));
  await Promise.race([ready, late]);
  const labs = [...document.querySelectorAll(".bert-lab-static[data-lab]")];
  return labs.filter((lab) => !lab.matches(".bl-is-live")).map((lab) => lab.dataset.lab);
}"""


# ---- the built book


def build_book(out: Path) -> Path:
    settings = ["-W", "--keep-going", "-q", "-d", str(out.with_name("doctrees"))]
    command = [sys.executable, "-m", "sphinx", *settings, str(ROOT / "notebooks"), str(out)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return out


def page_names() -> list[str]:
    """The pages that the book will have, known before it is built: tests are made for each."""
    sources = {path.stem for path in (ROOT / "notebooks").iterdir() if path.suffix in (".md", ".ipynb")}
    return sorted(f"{name}.html" for name in sources | {"genindex", "search"})


class Site:
    """The book opened from its folder, in a browser that has no network."""

    def __init__(self, browser, folder: Path):
        self.browser, self.folder = browser, folder
        self.contexts, self.asked, self.errors = [], [], []

    def open(self, name: str, settle: bool = True, media: str | None = None, **options):
        """A page of the book in a context of its own."""
        context = self.browser.new_context(offline=True, **options)
        self.contexts.append(context)
        context.set_default_timeout(SECONDS * 1000)
        context.route(re.compile(r"^(https?|wss?):", re.IGNORECASE), self._refuse)
        page = context.new_page()
        listen(page, self.errors)
        if media:
            page.emulate_media(media=media)
        page.goto((self.folder / name).as_uri())
        if settle:
            assert page.evaluate(SETTLED, SECONDS) == [], f"{name}: a lab is not live"
        return page

    def _refuse(self, route) -> None:
        self.asked.append(route.request.url)
        route.abort()

    def close(self) -> None:
        for context in self.contexts:
            context.close()
        assert self.asked == [], f"the page asked another host: {self.asked}"
        assert self.errors == [], f"errors in the console: {self.errors}"


def listen(page, errors: list[str]) -> None:
    """Note what goes wrong in the page's scripts."""
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda problem: errors.append(str(problem)))


# ---- JupyterLab


def makefile_lab() -> tuple[list[str], dict]:
    """How `make lab` starts JupyterLab, and the settings that it is installed with."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    (recipe,) = re.findall(r"^\t@\$\(PY\) -m jupyterlab (.*)\$\(if", text, re.MULTILINE)
    (settings,) = re.findall(r"^SETTINGS := (.*)$", text, re.MULTILINE)
    return recipe.split(), json.loads(settings)


class Lab:
    """A JupyterLab server with a HOME of its own, started as `make lab` starts it."""

    def __init__(self, home: Path, **settings):
        arguments, installed = makefile_lab()
        self.home, self.folder = home, home / "book"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        given = {"ServerApp.port": str(port), "ServerApp.root_dir": str(self.folder)}
        arguments = [re.sub(r"^--([\w.]+)=.*\$.*", lambda m: f"--{m[1]}={given[m[1]]}", a) for a in arguments]
        (home / "settings").mkdir()
        (home / "settings" / "overrides.json").write_text(json.dumps(installed | settings))
        more = [
            "--no-browser",
            "--IdentityProvider.token=",
            "--ServerApp.disable_check_xsrf=True",
            f"--LabApp.app_settings_dir={home / 'settings'}",
        ]
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("JUPYTER", "XDG", "IPYTHON", "COV"))}
        # Kernels import this bert_lab; a Python that is not an environment of its own has another in its way.
        env = kept | {"HOME": str(home), "JUPYTER_PREFER_ENV_PATH": "1", "PYTHONPATH": str(ROOT)}
        with open(home / "log", "w") as log:
            command = [sys.executable, "-m", "jupyterlab", *arguments, *more]
            self.process = subprocess.Popen(command, cwd=home, env=env, stdout=log, stderr=log)
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + SECONDS
        while True:
            assert self.process.poll() is None and time.monotonic() < end, (self.home / "log").read_text()
            try:
                with urllib.request.urlopen(f"{self.url}/api", timeout=5):
                    return
            except OSError:
                time.sleep(0.2)

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def write_notebook(path: Path, cells: list[dict]) -> None:
    cells = [c | {"outputs": [], "execution_count": None} if c["cell_type"] == "code" else c for c in cells]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    path.write_text(
        json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}),
        encoding="utf-8",
    )


def code_cells(*sources: str) -> list[dict]:
    return [
        {"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "source": source}
        for i, source in enumerate(sources)
    ]


class Notebook:
    """A notebook in JupyterLab; its kernel ends when it is closed."""

    def __init__(self, browser, server: Lab, name: str):
        self.server, self.errors = server, []
        self.context = browser.new_context(viewport={"width": 1280, "height": 1000})
        self.context.set_default_timeout(SECONDS * 1000)
        self.page = self.context.new_page()
        listen(self.page, self.errors)
        self.page.goto(f"{server.url}/doc/tree/{name}?reset")
        self.page.get_by_text("| Idle").first.wait_for()  # else JupyterLab asks which kernel to start
        self.cells = self.page.locator(".jp-CodeCell")

    def run_all(self, seconds: float = SECONDS) -> None:
        """Run > Run All Cells; every cell must come to its end without an error."""
        self.page.locator(".lm-MenuBar-itemLabel", has_text="Run").first.click()
        self.page.locator(".lm-Menu-itemLabel", has_text="Run All Cells").first.click()
        failed = '.jp-RenderedText[data-mime-type="application/vnd.jupyter.error"]'
        self.page.wait_for_function(
            """([failed, last]) => document.querySelector(failed) ||
              [...document.querySelectorAll(".jp-OutputArea-output")]
                .some((output) => output.textContent.trim() === last)""",
            arg=[failed, LAST],
            timeout=seconds * 1000,
        )
        assert self.page.locator(failed).all_inner_texts() == []

    def run(self, index: int) -> str:
        """Run one code cell, wait for its end, and return what it printed."""
        cell = self.cells.nth(index)
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.text_content()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function(
            "([prompt, before]) => /\\d/.test(prompt.textContent) && prompt.textContent !== before",
            arg=[prompt.element_handle(), before],
        )
        return "\n".join(cell.locator(".jp-OutputArea-output pre").all_inner_texts())

    def old_lab(self, title: str):
        """A lab of ipywidgets by the name in its header."""
        return self.page.locator(".bert-lab", has=self.page.locator(".bl-title", has_text=title)).first

    def close(self) -> None:
        self.context.close()
        for session in self._ask("GET", "/api/sessions"):
            self._ask("DELETE", f"/api/sessions/{session['id']}")
        assert self.errors == [], f"errors in the console: {self.errors}"

    def _ask(self, method: str, path: str):
        request = urllib.request.Request(self.server.url + path, method=method)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.loads(answer.read() or "null")


# ---- what is shown


class _Texts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.parts, self.styles = [], 0

    def handle_starttag(self, tag, attrs):
        self.styles += tag == "style"

    def handle_endtag(self, tag):
        self.styles -= tag == "style"

    def handle_data(self, data):
        self.parts += [] if self.styles else [data]


def plain(text: str) -> str:
    """The words of some HTML, however they are spaced."""
    parser = _Texts()
    parser.feed(text)
    return words(" ".join(parser.parts))


def words_in(locator) -> list[str]:
    """The same of elements in the browser, hidden parts included."""
    texts = locator.evaluate_all("""nodes => nodes.map((node) => {
      const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT), parts = [];
      while (walker.nextNode()) {
        if (!walker.currentNode.parentElement.closest("style")) parts.push(walker.currentNode.data);
      }
      return parts.join(" ");
    })""")
    return [words(text) for text in texts]


def words(text: str) -> str:
    """A text, however it is spaced: between words, and before the stops that follow them."""
    return re.sub(r"\s+", " ", re.sub(r"\s+(?=[.,:;?!)])", "", text)).strip()


def live_lab(page, title: str, index: int = 0):
    """A lab of the new kind by its title: the same view in JupyterLab and on a page."""
    return page.get_by_role("group", name=title, exact=True).nth(index)


def letters(lab, strip: int = 0) -> list[str]:
    """The letters under the tokens of a lab's strip."""
    return lab.locator(".bl-strip").nth(strip).locator(".bl-box > b").all_inner_texts()


def until(page, probe, expected) -> None:
    """Wait until `probe()` gives what is expected; fail with what it gave last."""
    end = time.monotonic() + SECONDS / 2
    while (got := probe()) != expected and time.monotonic() < end:
        page.wait_for_timeout(50)
    assert got == expected, f"shown: {got}\nexpected: {expected}"


def slide(page, slider, share: float) -> None:
    """Press the mouse on a slider at a share of its length."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
