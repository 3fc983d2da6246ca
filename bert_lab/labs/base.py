"""The base class of the labs: one style, a header, controls, a result, and an error line.

A lab's callbacks only set the values of HTML and Image widgets. They do not print and use no Output widget,
so that a notebook's stored outputs are the same in every run. An exception in a callback is shown in the
lab's error line, and the lab stays usable.
"""

import html
import re
from collections.abc import Sequence

import ipywidgets as widgets

from bert_lab.figures.palette import BLUE, GREEN, SKY, VERMILLION

# JupyterLab handles plain keys itself while the focus is in an output, unless the focused element has the
# attribute below. Shift+Enter and the like still work. Arrow keys move among radio buttons of one name.
_KEYS = """if (!window.bertLabGroups) {
  window.bertLabGroups = 1;
  window.addEventListener('keydown', key => {
    const target = key.target;
    if (!target.closest('.bert-lab')) return;
    const plain = !(key.shiftKey || key.ctrlKey || key.metaKey || key.altKey);
    target.toggleAttribute('data-lm-suppress-shortcuts', plain);
    const box = target.closest('.widget-radio-box');
    if (!box || target.name) return;
    const name = 'bert-lab-' + window.bertLabGroups++;
    box.querySelectorAll('input').forEach(radio => { radio.name = name; });
  }, true);
}"""

# One style for all labs, large enough for a projector. The variables are those of JupyterLab's themes, so
# that a dark theme works too. The second value is for pages without these themes.
STYLE = f"""<style onload="{_KEYS}">
.bert-lab {{
  --jp-widgets-font-size: 16px; --jp-widgets-inline-height: 34px; --jp-widgets-radio-item-height: 30px;
  --jp-widgets-inline-label-width: 110px;
  font-size: 16px; line-height: 1.5; max-width: 62em; box-sizing: border-box; overflow: visible;
  margin: 6px 0; padding: 10px 16px 12px;
  border: 1px solid var(--jp-border-color2, #bbb); border-left: 5px solid {BLUE}; border-radius: 4px;
  background: var(--jp-layout-color1, #fff); color: var(--jp-content-font-color1, #111);
}}
.bert-lab .widget-html-content, .bert-lab .jupyter-widgets {{ font-size: 16px; line-height: 1.5; }}
.bert-lab .widget-html, .bert-lab .widget-html-content {{
  height: auto; overflow: visible; white-space: normal;
}}
.bert-lab .widget-html > .widget-label {{ display: none; }}
.bert-lab .jupyter-button {{
  height: 36px; line-height: 34px; min-width: 96px; font-size: 16px; border-radius: 4px;
}}
.bert-lab :focus-visible {{ outline: 3px solid {BLUE}; outline-offset: 2px; }}
.bert-lab .bl-title {{ font-weight: 700; color: {BLUE}; margin-right: .4em; }}
[data-jp-theme-light="false"] .bert-lab .bl-title {{ color: {SKY}; }}
.bert-lab code {{
  font-size: 95%; background: var(--jp-layout-color2, #eee); padding: 0 .2em; border-radius: 3px;
}}
.bert-lab ul {{ margin: .3em 0 0; padding-left: 1.3em; }}
.bert-lab table {{ border-collapse: collapse; margin: .4em 0; font-size: 16px; }}
.bert-lab th, .bert-lab td {{
  padding: 3px 10px; text-align: left; border-bottom: 1px solid var(--jp-border-color2, #bbb);
}}
</style>"""


def inline_html(text: str) -> str:
    """HTML of one line of plain text, where `backticks` mark code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def inline_text(text: str) -> str:
    """The same line without its backticks, for plain text."""
    return re.sub(r"`([^`]+)`", r"\1", text)


def as_table(rows: Sequence[tuple[str, str]]) -> str:
    """HTML of a table of names and texts, in which `backticks` mark code."""
    cells = "".join(
        f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{inline_html(text)}</td></tr>'
        for name, text in rows
    )
    return f"<table>{cells}</table>"


def digits(u: float, thresholds: Sequence[float], least: int = 4) -> str:
    """A uniform with the fewest decimals, at least `least`, that do not move it across 1 or a threshold."""
    for places in range(least, 33):
        text = f"{u:.{places}f}"
        if all((float(text) < t) == (u < t) for t in [*thresholds, 1.0]):
            break
    return text


def good(word: str) -> str:
    """HTML of a word of approval, in green. The word alone must tell the meaning."""
    return f'<b style="color:{GREEN}">{html.escape(word)}</b>'


def bad(word: str) -> str:
    """HTML of a word of warning, in red. The word alone must tell the meaning."""
    return f'<b style="color:{VERMILLION}">{html.escape(word)}</b>'


class Lab(widgets.VBox):
    """A widget made of a header, rows of controls, a result and an error line.

    A subclass passes its parts to `__init__`, computes in `draw()`, and calls `watch(control)` for each
    control whose value changes the result. `draw()` sets the values of the result widgets. It may raise: the
    error line shows the exception. `as_text()` and `as_html()` give the present state as plain text and as
    HTML. A notebook stores both, so they must be the same on every machine.

    title and how_to: one line each, where `backticks` mark code.
    """

    def __init__(self, title: str, how_to: str, controls: list[widgets.Widget], result: list[widgets.Widget]):
        header = widgets.HTML(
            f'{STYLE}<span class="bl-title">{inline_html(title)}</span> {inline_html(how_to)}'
        )
        self.title = title
        self.how_to = how_to
        self.error = widgets.HTML("")
        super().__init__([header, *controls, *result, self.error])
        self.add_class("bert-lab")

    def watch(self, *controls: widgets.ValueWidget) -> None:
        """Redraw whenever the value of one of these controls changes."""
        for control in controls:
            control.observe(self.refresh, names="value")

    def refresh(self, _change=None) -> None:
        """Redraw, and show an exception in the error line."""
        self.guard(self.draw)

    def guard(self, action) -> None:
        """Run `action()`. The error line shows an exception; without one it is cleared."""
        try:
            action()
        except Exception as problem:
            self.error.value = f'<div role="alert">{bad(f"{type(problem).__name__}: {problem}")}</div>'
        else:
            self.error.value = ""

    def draw(self) -> None:
        """Compute the result from the controls' values and put it into the result widgets."""
        raise NotImplementedError

    def caption(self, settings: str) -> str:
        """The title and the settings, as HTML."""
        note = "<i>Run this cell in JupyterLab to use it.</i>"
        return f"<p><b>{html.escape(self.title)}</b>: {html.escape(settings)}. {note}</p>"

    def as_text(self) -> str:
        """The present state as plain text, the same on every machine."""
        return f"{inline_text(self.title)}: {inline_text(self.how_to)}"

    def as_html(self) -> str:
        """The present state as HTML without scripts or pictures, the same on every machine."""
        return (
            f"<p><b>{inline_html(self.title)}</b>: {inline_html(self.how_to)}"
            " <i>(Run this cell in JupyterLab to use it.)</i></p>"
        )

    def _repr_mimebundle_(self, **kwargs) -> dict:
        # The widget where one can be shown; the static HTML on a printed page or before the cell is run.
        bundle = super()._repr_mimebundle_(**kwargs)
        return {**bundle, "text/plain": self.as_text(), "text/html": self.as_html()}
