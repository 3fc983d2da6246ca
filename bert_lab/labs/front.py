"""Labs whose view is written once, as a JavaScript module, and shown in two places.

In Jupyter the view is tied to Python: what the reader moves is set here, and what a cell sets moves there. On
a page of the book the same module runs without a kernel, from the state that `as_html` puts beside the static
picture. The modules lie in `js/`, import each other by name and need nothing else; this file joins them.
"""

import contextlib
import functools
import html
import json
import re
from pathlib import Path

import anywidget
import traitlets

from bert_lab.labs.base import inline_html, inline_text

JS = Path(__file__).parent / "js"
ASSETS = Path(__file__).parents[1] / "assets"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.mjs";\n', re.MULTILINE)
_LAB = re.compile(r"^export function (render\w+)\(", re.MULTILINE)
_NAME = re.compile(r"^(?:async )?(?:function\*?|class|const|let|var) (\w+)", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function |class |const )", re.MULTILINE)


@functools.cache
def source(module: str) -> str:
    """The text of one module."""
    return (JS / f"{module}.mjs").read_text(encoding="utf-8")


@functools.cache
def words() -> tuple[str, ...]:
    """The book's vocabulary by id: too long for every lab's own state, so a page holds it once."""
    return tuple((ASSETS / "vocab.txt").read_text(encoding="utf-8").splitlines())


@functools.cache
def sentences() -> list[dict]:
    """What the attention lab shows on a page, where there is no model: some sentences and their values."""
    return json.loads((ASSETS / "attention.json").read_text(encoding="utf-8"))


# What the labs of a page find there and not in their own state: the name of a trait, and where it comes from.
SHARED = {"words": words, "sentences": sentences}


def _ordered(modules: list[str]) -> list[str]:
    """The modules and all that they import, each after what it needs."""
    done: list[str] = []

    def visit(module: str, above: tuple[str, ...]) -> None:
        if module in above:
            raise ValueError(f"modules import each other in a circle: {' > '.join((*above, module))}")
        if module not in done:
            for other in _IMPORT.findall(source(module)):
                visit(other, (*above, module))
            done.append(module)

    for module in modules:
        visit(module, ())
    return done


def _joined(modules: list[str]) -> str:
    """One text of these modules and all that they need, without imports and exports.

    ValueError if two of them have a top-level name in common: here the second would replace the first.
    """
    texts, homes = [], {}
    for module in _ordered(modules):
        text = _EXPORT.sub("", _IMPORT.sub("", source(module)))
        for name in _NAME.findall(text):
            if homes.setdefault(name, module) != module:
                raise ValueError(f"{homes[name]}.mjs and {module}.mjs both have a top-level {name}")
        texts.append(text)
    return "\n".join(texts)


def _renderer(module: str) -> str:
    """The name of the function that shows a lab: ValueError unless its module exports one `render...`."""
    found = _LAB.findall(source(module))
    if len(found) != 1:
        raise ValueError(f"{module}.mjs: expected to export one function render..., got {found}")
    return found[0]


@functools.cache
def esm(module: str) -> str:
    """One ES module that shows this lab, in the form that anywidget takes."""
    return f"{_joined([module])}\nexport default {{ render: {_renderer(module)} }};\n"


def lab_modules() -> list[str]:
    """The modules that show a lab, by name."""
    paths = sorted(JS.glob("*.mjs"))
    return [path.stem for path in paths if _LAB.search(path.read_text(encoding="utf-8"))]


@functools.cache
def page_script() -> str:
    """One classic script that makes all labs of a page live; unlike modules, it works from `file://`."""
    labs = lab_modules()
    table = ", ".join(f"{module}: {_renderer(module)}" for module in labs)
    shared = json.dumps({name: value() for name, value in SHARED.items()}, separators=(",", ":"))
    body = f"{_joined([*labs, 'page'])}\nmountLabs({{ {table} }}, {shared});"
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


class Setting(traitlets.TraitType):
    """A value that the view shows and moves; `check(lab, name, value)` returns it as kept, or raises."""

    def __init__(self, default, check):
        super().__init__(default)
        self.check = check

    def validate(self, obj, value):
        return self.check(obj, self.name, value)


class FrontLab(anywidget.AnyWidget):
    """A lab whose view is the module `module` of `js/`.

    A subclass names `module`, `title` and `how_to` (one line each, where `backticks` mark code), declares its
    state as traits with `.tag(sync=True)`, computes what Python shall know in `draw()`, and calls
    `watch(names)` for the traits that change it. `draw()` may raise: `error` shows it in the lab. `picture()`
    is the lab as static HTML: the same on every machine, since a notebook stores it. `state()` is what the
    view needs to start on a page: the synced traits, but for those that a page's labs share.
    """

    module = ""
    title = ""
    how_to = ""
    header = traitlets.Tuple().tag(sync=True)  # title and how_to, for the view
    error = traitlets.Unicode("").tag(sync=True)

    def __init__(self, **state):
        self._esm = esm(self.module)
        self._held = 0
        self._waiting = False
        super().__init__(header=(self.title, self.how_to), **state)

    def watch(self, *names: str) -> None:
        """Compute anew whenever one of these traits changes."""
        self.observe(self.refresh, names=list(names))

    def refresh(self, _change=None) -> None:
        """Compute anew, once all changes made together are in; `error` says what went wrong."""
        if self._held:
            self._waiting = True
        else:
            self.guard(self.draw)

    @contextlib.contextmanager
    def together(self):
        """Changes made inside the `with` block belong together: they lead to one `draw`."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if self._waiting and not self._held:
                self._waiting = False
                self.refresh()

    def guard(self, action) -> None:
        """Run `action()`; an exception becomes the text of the error line, and success clears it."""
        try:
            action()
        except Exception as problem:
            self.error = f"{type(problem).__name__}: {problem}"
        else:
            self.error = ""

    def set_state(self, sync_data) -> None:
        """Take what the view sends, all of it at once; what cannot be used is an error, and moves back."""
        try:
            with self.together():
                super().set_state(sync_data)
        except (TypeError, ValueError, traitlets.TraitError) as problem:
            self.error = f"{type(problem).__name__}: {problem}"
            self.send_state()

    def draw(self) -> None:
        """Compute from the state what Python shall know of it."""

    def state(self) -> dict:
        """The state from which the view starts on a page: values that JSON has."""
        own = self.trait_names(sync=True)
        given = anywidget.AnyWidget.class_trait_names(sync=True)
        names = [name for name in own if name not in (*given, *SHARED, "error") and name[0] != "_"]
        # As the live view gets it: a trait may have a form of its own for JSON.
        forms = {name: self.trait_metadata(name, "to_json", _as_it_is) for name in sorted(names)}
        return {name: form(getattr(self, name), self) for name, form in forms.items()}

    def picture(self) -> str:
        """What the lab shows now, as HTML without scripts or pictures."""
        raise NotImplementedError

    def caption(self) -> str:
        """HTML of the line above the static picture."""
        return f"<b>{inline_html(self.title)}</b>: {inline_html(self.how_to)}"

    def as_text(self) -> str:
        """What the lab shows now, as plain text: the same on every machine."""
        return f"{inline_text(self.title)}: {inline_text(self.how_to)}"

    def as_html(self) -> str:
        """The static picture under its caption, wrapped with the state that makes it live on a page."""
        note = " <i>(Run this cell in JupyterLab to use it.)</i>"
        return self.placed(f"<p>{self.caption()}{note}</p>{self.picture()}")

    def placed(self, inner: str) -> str:
        """HTML of what stands where the lab will be, wrapped with the state that makes it live on a page."""
        state = _attribute(self.state())
        return f'<div class="bert-lab-static" data-lab="{self.module}" data-state=\'{state}\'>{inner}</div>'

    def _repr_mimebundle_(self, **kwargs):
        # The widget where one can be shown; else its static picture, which a page of the book makes live.
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/plain": self.as_text(), "text/html": self.as_html()}, metadata


def _as_it_is(value, _lab):
    return value


def _attribute(state: dict) -> str:
    """The state as JSON for an HTML attribute in single quotes."""
    text = json.dumps(state, ensure_ascii=False, allow_nan=False, sort_keys=True)
    return html.escape(text, quote=False).replace("'", "&#x27;")
