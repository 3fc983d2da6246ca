"""Labs whose view is a JavaScript module, in Jupyter and on the pages of the book.

In Jupyter the view is synchronized with Python in both directions. On a page of the book the same module runs
without a kernel, from the state that `as_html` writes beside the static picture. The modules are in `js/`.
They import each other by name and need nothing else. This file joins them into one script.
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
    """The book's vocabulary by id. A page holds it once, since it is too long for the state of each lab."""
    return tuple((ASSETS / "vocab.txt").read_text(encoding="utf-8").splitlines())


@functools.cache
def sentences() -> list[dict]:
    """The sentences and their values that the attention lab shows on a page, where there is no model."""
    return json.loads((ASSETS / "attention.json").read_text(encoding="utf-8"))


# The traits that all labs of a page share, instead of having them in their own state.
SHARED = {"words": words, "sentences": sentences}


def _ordered(modules: list[str]) -> list[str]:
    """The modules and all that they import, each after the modules that it imports."""
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
    """The text of these modules and all that they import, without import and export statements.

    Raises ValueError if two of them have the same top-level name: the second would replace the first.
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
    """The name of the function `render...` of a lab. Raises ValueError unless its module exports just one."""
    found = _LAB.findall(source(module))
    if len(found) != 1:
        raise ValueError(f"{module}.mjs: expected to export one function render..., got {found}")
    return found[0]


@functools.cache
def esm(module: str) -> str:
    """One ES module that shows this lab, in the form that anywidget needs."""
    return f"{_joined([module])}\nexport default {{ render: {_renderer(module)} }};\n"


def lab_modules() -> list[str]:
    """The names of the modules that show a lab."""
    paths = sorted(JS.glob("*.mjs"))
    return [path.stem for path in paths if _LAB.search(path.read_text(encoding="utf-8"))]


@functools.cache
def page_script() -> str:
    """One classic script that runs all labs of a page. Unlike modules, it works from `file://`."""
    labs = lab_modules()
    table = ", ".join(f"{module}: {_renderer(module)}" for module in labs)
    shared = json.dumps({name: value() for name, value in SHARED.items()}, separators=(",", ":"))
    body = f"{_joined([*labs, 'page'])}\nmountLabs({{ {table} }}, {shared});"
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


class Setting(traitlets.TraitType):
    """A trait that the view shows and changes. `check(lab, name, value)` returns a valid value or raises."""

    def __init__(self, default, check):
        super().__init__(default)
        self.check = check

    def validate(self, obj, value):
        return self.check(obj, self.name, value)


class JsLab(anywidget.AnyWidget):
    """A lab whose view is the module `module` of `js/`.

    A subclass sets `module`, `title` and `how_to` (one line each, where `backticks` mark code). It declares
    its state as traits with `.tag(sync=True)`, computes results in `draw()`, and calls `watch(names)` for the
    traits that change them. `draw()` may raise: `error` shows the exception in the lab. `picture()` is the
    lab as static HTML. A notebook stores it, so it must be the same on every machine. `state()` is the state
    from which the view starts on a page: the synced traits, without those that the labs of a page share.
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
        """Recompute whenever one of these traits changes."""
        self.observe(self.refresh, names=list(names))

    def refresh(self, _change=None) -> None:
        """Recompute, after all changes of a `together` block. `error` shows an exception."""
        if self._held:
            self._waiting = True
        else:
            self.guard(self.draw)

    @contextlib.contextmanager
    def together(self):
        """All changes inside the `with` block lead to one `draw`."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if self._waiting and not self._held:
                self._waiting = False
                self.refresh()

    def guard(self, action) -> None:
        """Run `action()`. The error line shows an exception; without one it is cleared."""
        try:
            action()
        except Exception as problem:
            self.error = f"{type(problem).__name__}: {problem}"
        else:
            self.error = ""

    def set_state(self, sync_data) -> None:
        """Set all traits that the view sends. A value that cannot be used is an error, and is reset."""
        try:
            with self.together():
                super().set_state(sync_data)
        except (TypeError, ValueError, traitlets.TraitError) as problem:
            self.error = f"{type(problem).__name__}: {problem}"
            self.send_state()

    def draw(self) -> None:
        """Compute the results from the state."""

    def state(self) -> dict:
        """The state from which the view starts on a page, as values for JSON."""
        own = self.trait_names(sync=True)
        given = anywidget.AnyWidget.class_trait_names(sync=True)
        names = [name for name in own if name not in (*given, *SHARED, "error") and name[0] != "_"]
        # In the same form as for the live view: a trait may have its own form for JSON.
        forms = {name: self.trait_metadata(name, "to_json", _as_it_is) for name in sorted(names)}
        return {name: form(getattr(self, name), self) for name, form in forms.items()}

    def picture(self) -> str:
        """The present state as HTML without scripts or pictures."""
        raise NotImplementedError

    def caption(self) -> str:
        """The line above the static picture, as HTML."""
        return f"<b>{inline_html(self.title)}</b>: {inline_html(self.how_to)}"

    def as_text(self) -> str:
        """The present state as plain text, the same on every machine."""
        return f"{inline_text(self.title)}: {inline_text(self.how_to)}"

    def as_html(self) -> str:
        """The static picture under its caption, with the state from which the lab starts on a page."""
        note = " <i>(Run this cell in JupyterLab to use it.)</i>"
        return self.placed(f"<p>{self.caption()}{note}</p>{self.picture()}")

    def placed(self, inner: str) -> str:
        """Static HTML in the place of the lab, with the state from which the lab starts on a page."""
        state = _attribute(self.state())
        return f'<div class="bert-lab-static" data-lab="{self.module}" data-state=\'{state}\'>{inner}</div>'

    def _repr_mimebundle_(self, **kwargs):
        # The widget where one can be shown; else the static picture, which a page of the book replaces.
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/plain": self.as_text(), "text/html": self.as_html()}, metadata


def _as_it_is(value, _lab):
    return value


def _attribute(state: dict) -> str:
    """The state as JSON for an HTML attribute in single quotes."""
    text = json.dumps(state, ensure_ascii=False, allow_nan=False, sort_keys=True)
    return html.escape(text, quote=False).replace("'", "&#x27;")
