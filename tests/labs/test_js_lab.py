"""Labs with a JavaScript view: how their modules are joined, and the Python side of one."""

import html.parser
import json
import re
import subprocess
import tomllib
from pathlib import Path

import javascript
import pytest
import traitlets

from bert_lab.labs import js_lab

MODULES = sorted(path.stem for path in js_lab.JS.glob("*.mjs"))
LABS = js_lab.lab_modules()


# ---- the modules


def fake(monkeypatch, **texts):
    monkeypatch.setattr(js_lab, "source", texts.__getitem__)


def test_the_labs_of_the_book_are_there():
    assert {"masking_lab", "microscope"} <= set(LABS)
    assert {"engine", "elements", "page", "rates"} <= set(MODULES) - set(LABS)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_others_by_name_and_nothing_else(module):
    text = js_lab.source(module)
    lines = re.findall(r"^\s*(?:import|export .*from)\b.*$", text, re.MULTILINE)
    assert len(lines) == len(js_lab._IMPORT.findall(text)), 'expected: import { names } from "./other.mjs";'
    assert all(" as " not in line for line in lines), "a renamed import would lose its name when joined"
    assert "import(" not in text and "require(" not in text
    assert not re.search(r"https?://(?!www\.w3\.org/)", text), "a page of the book asks no other host"


@pytest.mark.parametrize("lab", LABS)
def test_a_lab_is_one_module_for_anywidget(lab):
    text = js_lab.esm(lab)
    assert text.endswith("};\n") and "\nexport default { render: render" in text
    assert len(re.findall(r"^export\b", text, re.MULTILINE)) == 1
    assert not re.search(r"^import\b", text, re.MULTILINE)
    assert text.count("export function") == 0 and "mountLabs" not in text


def test_the_page_script_holds_every_lab_once():
    text = js_lab.page_script()
    assert text.startswith("(() => {\n") and text.endswith("})();\n")
    assert not re.search(r"^(?:import|export)\b", text, re.MULTILINE)
    assert text.count("class PCG32") == 1 and text.count("function labFrame(") == 1
    (table,) = re.findall(r"^mountLabs\(\{ (.*?) \}", text, re.MULTILINE)
    assert [entry.split(": ")[0] for entry in table.split(", ")] == LABS
    for name in js_lab.SHARED:
        assert f'"{name}":' in text


def test_needed_modules_come_first_and_once(monkeypatch):
    fake(
        monkeypatch,
        top='import { left } from "./left.mjs";\nimport {\n  right } from "./right.mjs";\n'
        "export function renderTop() {}\n",
        left='import { base } from "./base.mjs";\nexport const left = base;\n',
        right='import { base } from "./base.mjs";\nexport async function right() {}\n',
        base="export class base {}\nlet own = 1;\n",
    )  # fmt: skip
    assert js_lab._ordered(["top"]) == ["base", "left", "right", "top"]
    joined = (
        "class base {}\nlet own = 1;\n\nconst left = base;\n\n"
        "async function right() {}\n\nfunction renderTop() {}\n"
    )
    assert js_lab._joined(["top"]) == joined
    assert js_lab.esm.__wrapped__("top") == joined + "\nexport default { render: renderTop };\n"


def test_a_circle_a_shared_name_and_a_missing_view_are_refused(monkeypatch):
    fake(
        monkeypatch,
        a='import { b } from "./b.mjs";\nexport const a = 1;\n',
        b='import { a } from "./a.mjs";\nexport const b = 1;\n',
        one="export const same = 1;\n",
        two='import { same } from "./one.mjs";\nfunction same() {}\n',
    )
    with pytest.raises(ValueError, match="in a circle: a > b > a"):
        js_lab._joined(["a"])
    with pytest.raises(ValueError, match=r"one.mjs and two.mjs both have a top-level same"):
        js_lab._joined(["two"])
    with pytest.raises(ValueError, match=r"one.mjs: expected to export one function render..., got \[\]"):
        js_lab.esm.__wrapped__("one")


def test_the_modules_are_installed_with_the_package():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert "labs/js/*.mjs" in project["tool"]["setuptools"]["package-data"]["bert_lab"]
    assert all(path.suffix == ".mjs" for path in js_lab.JS.iterdir())


def test_the_words_are_the_vocabulary():
    assert js_lab.words()[:5] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    assert len(js_lab.words()) == len(set(js_lab.words())) == 4000


@pytest.mark.skipif(
    javascript.NODE is None, reason="no Node on this machine: the scripts were not read by it"
)
def test_node_reads_what_is_joined(tmp_path):
    scripts = {"page.cjs": js_lab.page_script(), **{f"{lab}.mjs": js_lab.esm(lab) for lab in LABS}}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        run = subprocess.run(
            [javascript.NODE, "--check", str(tmp_path / name)], capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
    # Each module by itself: what it imports is there, and nothing needs a page before a lab is shown.
    code = "for (const path of process.argv.slice(1)) await import(path);"
    paths = [(js_lab.JS / f"{module}.mjs").as_uri() for module in MODULES]
    command = [javascript.NODE, "--input-type=module", "--eval", code, *paths]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


# ---- the Python side


class Doubler(js_lab.JsLab):
    """A lab of the smallest kind: twice a number and a word, and an error for numbers below zero."""

    module = "masking_lab"
    title = "Doubler <b>"
    how_to = "type a `number` & look"
    number = traitlets.Int(1).tag(sync=True)
    word = traitlets.Unicode("a'b\"<c>&").tag(sync=True)
    long = traitlets.Int(2**60).tag(sync=True, to_json=lambda value, lab: str(value))
    words = traitlets.List([]).tag(sync=True)
    _own = traitlets.Int(0).tag(sync=True)
    answer = None

    def __init__(self, **state):
        super().__init__(**state)
        self.drawn = 0
        self.watch("number", "word")
        self.refresh()

    def draw(self):
        self.drawn += 1
        if self.number < 0:
            raise ValueError(f"number: expected at least 0, got <{self.number}>")
        self.answer = 2 * self.number, 2 * self.word

    def picture(self):
        return f"<p>{self.answer[0]}</p>"


def test_a_change_is_computed():
    lab = Doubler(number=3)
    assert lab.answer[0] == 6
    lab.number = 21
    assert lab.answer[0] == 42
    lab.set_state({"number": 4})
    assert lab.answer[0] == 8


def test_an_error_is_told_and_goes_when_it_is_mended():
    lab = Doubler()
    lab.number = -1
    assert lab.error == "ValueError: number: expected at least 0, got <-1>"
    assert lab.get_state()["error"] == lab.error  # the view shows it
    lab.number = 3
    assert lab.error == "" and lab.answer[0] == 6


def test_changes_that_come_together_are_computed_once():
    lab = Doubler()
    assert lab.drawn == 1
    lab.set_state({"number": 2, "word": "x"})
    assert lab.drawn == 2 and lab.answer == (4, "xx")
    with lab.together():
        lab.number = 5
        with lab.together():
            lab.word = "y"
        assert lab.drawn == 2
    assert lab.drawn == 3 and lab.answer == (10, "yy")
    with lab.together():
        pass
    assert lab.drawn == 3


def test_changes_are_computed_even_when_the_block_stops():
    lab = Doubler()
    with pytest.raises(ZeroDivisionError), lab.together():
        lab.number = 7
        lab.number = 1 / 0
    assert lab.answer[0] == 14
    lab.number = 1
    assert lab.answer[0] == 2


def test_what_cannot_be_used_is_an_error_and_goes_back_to_the_view(monkeypatch):
    lab, told = Doubler(), []
    monkeypatch.setattr(lab, "send_state", lambda key=None: told.append(key))
    lab.set_state({"number": "many"})
    assert lab.error.startswith("TraitError: The 'number' trait") and lab.number == 1
    assert None in told
    lab.set_state({"number": 2})
    assert lab.error == ""


def test_the_state_of_a_page_has_what_the_view_needs():
    lab = Doubler(number=2)
    assert lab.state() == {
        "header": ("Doubler <b>", "type a `number` & look"),
        "long": str(2**60),
        "number": 2,
        "word": "a'b\"<c>&",
    }


class Attributes(html.parser.HTMLParser):
    """Keeps the attributes of the first element."""

    first = None

    def handle_starttag(self, tag, attrs):
        self.first = self.first or (tag, dict(attrs))


def test_the_static_picture_carries_the_state():
    lab = Doubler(number=2)
    parser = Attributes()
    parser.feed(lab.as_html())
    tag, attributes = parser.first
    assert (tag, attributes["class"], attributes["data-lab"]) == ("div", "bert-lab-static", "masking_lab")
    assert json.loads(attributes["data-state"]) == json.loads(json.dumps(lab.state()))
    assert (
        "<p><b>Doubler &lt;b&gt;</b>: type a <code>number</code> &amp; look <i>(Run this cell"
        in lab.as_html()
    )
    assert lab.as_html().endswith("</p><p>4</p></div>")
    assert "<script" not in lab.as_html() and "<svg" not in lab.as_html()


def test_a_state_that_json_lacks_is_refused():
    lab = Doubler()
    lab.add_traits(share=traitlets.Float(float("nan")).tag(sync=True))
    with pytest.raises(ValueError, match="not JSON compliant"):
        lab.as_html()


def test_the_bundle_holds_the_widget_and_the_same_text_each_time():
    (first, metadata), (second, _) = Doubler()._repr_mimebundle_(), Doubler()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in first and metadata == {}
    for kind in ("text/plain", "text/html"):
        assert first[kind] == second[kind]
    assert first["text/plain"] == "Doubler <b>: type a number & look"


def test_the_view_is_sent_with_the_widget():
    assert Doubler().get_state()["_esm"] == js_lab.esm("masking_lab")


def test_a_lab_must_say_how_it_looks_without_a_view():
    class Bare(js_lab.JsLab):
        module = "masking_lab"

    lab = Bare()
    lab.refresh()
    assert lab.error == "" and lab.as_text() == ": "
    with pytest.raises(NotImplementedError):
        lab.picture()
