"""The pitfall lab: choose a fault, and see its code, the misconception behind it, and what catches it."""

import html

import ipywidgets as widgets

from bert_lab.course.mutants import MUTANTS, changed_lines
from bert_lab.labs.base import Lab, bad, good, inline_html
from bert_lab.labs.museum import GROUPS, symptom


class PitfallLab(Lab):
    """The faults of the course, one at a time.

    fault: the first id to show, such as "s03". `fault` is the id that is shown, and `facts` are pairs (name,
    text) about it. The menu of groups restricts the menu of faults. The buttons go to the previous and the
    next fault. Raises ValueError for an unknown id.
    """

    def __init__(self, fault: str = "s03"):
        if fault not in MUTANTS:
            raise ValueError(f"fault: expected one of {', '.join(MUTANTS)}, got {fault!r}")
        self.facts, self.lines, self.measured = [], ([], []), None
        look = {
            "style": {"description_width": "70px"},
            "layout": widgets.Layout(width="520px", max_width="100%"),
        }
        groups = [
            (f"all {len(MUTANTS)}", "all"),
            *((f"{name} ({len(ids)})", name) for name, ids in GROUPS.items()),
        ]
        self.group_menu = widgets.Dropdown(options=groups, description="group", **look)
        self.fault_menu = widgets.Dropdown(options=_named(MUTANTS), value=fault, description="fault", **look)
        self.previous = widgets.Button(description="Previous", tooltip="The fault before this one")
        self.next = widgets.Button(description="Next", tooltip="The fault after this one")
        self.previous.on_click(lambda _button: self.step(-1))
        self.next.on_click(lambda _button: self.step(1))
        self.shown = widgets.HTML("")
        super().__init__(
            "Pitfall lab",
            "Choose a fault. What would you have noticed?",
            [self.group_menu, self.fault_menu, widgets.HBox([self.previous, self.next])],
            [self.shown],
        )
        self.group_menu.observe(self.choose_group, names="value")
        self.watch(self.fault_menu)
        self.refresh()

    @property
    def fault(self) -> str:
        """The id of the fault that is shown."""
        return self.fault_menu.value

    def choose_group(self, _change=None) -> None:
        """List only the faults of the chosen group. The shown fault stays if it is in the group."""
        ids = list(GROUPS.get(self.group_menu.value, MUTANTS))
        kept = self.fault if self.fault in ids else ids[0]
        self.fault_menu.options = _named(ids)  # this chooses the first of them
        self.fault_menu.value = kept

    def step(self, by: int) -> None:
        """Go `by` faults further in the menu, and from its end to its start."""
        ids = [value for _, value in self.fault_menu.options]
        self.fault_menu.value = ids[(ids.index(self.fault) + by) % len(ids)]

    def draw(self) -> None:
        """Measure the fault, and show all facts about it."""
        row = MUTANTS[self.fault]
        self.facts, self.lines, self.measured, self.shown.value = [], ([], []), None, ""
        self.measured = symptom(row.id)
        self.lines = changed_lines(row)
        self.facts = [
            ("believed", row.misconception),
            ("what comes of it", row.symptom),
            ("course tests", ", ".join(f"`{name}`" for name in row.tests)),
            ("chapter", row.chapter.replace("_", " ")),
        ]
        if row.seen:
            self.facts.append(("seen in", row.seen))
        self.shown.value = f'<div role="status">{self._report()}</div>'

    def as_text(self) -> str:
        """The fault and the facts about it, as plain text."""
        row = MUTANTS[self.fault]
        lines = [super().as_text(), f"{row.id}: {row.pitfall}"]
        lines += [f"  - {line}" for line in self.lines[0]] + [f"  + {line}" for line in self.lines[1]]
        lines += [f"{name}: {text}".replace("`", "") for name, text in self.facts]
        return "\n".join([*lines, f"measured: {self.measured}"] if self.measured else lines)

    def as_html(self) -> str:
        """The fault and the facts about it, as HTML."""
        return f"{super().as_html()}{self._report()}"

    def _report(self) -> str:
        row = MUTANTS[self.fault]
        gone, come = self.lines
        lines = [("-", bad("-"), line) for line in gone] + [("+", good("+"), line) for line in come]
        code = "\n".join(
            f'<span aria-label="{"is taken away" if sign == "-" else "stands there instead"}">{mark}</span>'
            f" {html.escape(line)}"
            for sign, mark, line in lines
        )
        cells = [(name, inline_html(text)) for name, text in self.facts]
        cells = [(name, _thread(row, text) if name == "seen in" else text) for name, text in cells]
        if self.measured:
            m = self.measured
            cells.insert(2, ("measured here", inline_html(m.question)))
            cells.insert(3, ("reference", inline_html(m.right)))
            cells.insert(4, ("this fault", inline_html(m.wrong)))
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left;white-space:nowrap">{name}</th>'
            f'<td style="text-align:left">{text}</td></tr>'
            for name, text in cells
        )
        return (
            f"<p><b>{row.id}: {inline_html(row.pitfall)}</b> ({row.module}.py)</p>"
            f'<pre style="white-space:pre-wrap;font-size:14px;margin:4px 0">{code}</pre><table>{rows}</table>'
        )


def _named(ids) -> list[tuple[str, str]]:
    return [(f"{id} {MUTANTS[id].pitfall}", id) for id in ids]


def _thread(row, text: str) -> str:
    look = "color:var(--jp-content-link-color,#0072B2);text-decoration:underline"
    return f'<a href="{row.url}" target="_blank" rel="noopener" style="{look}">{text}</a>'
