"""The ModernBERT lab: its changes one by one, with parameters, multiply-adds and attention beside BERT's."""

import html
from collections.abc import Iterable

import ipywidgets as widgets

from bert_lab.beyond.modern import CHANGES, ModernConfig, modern_config, parameters_of, work_of
from bert_lab.figures.palette import BLUE, GREY
from bert_lab.labs.base import Lab
from bert_lab.model import BertConfig
from bert_lab.text_table import text_table

SIZES = {
    "base, 12 layers x 768": BertConfig(30522),
    "the book's, 4 layers x 96": BertConfig(4000, 128, d_model=96, n_heads=3, n_layers=4, d_ff=384),
}
LABELS = {
    "rope": "RoPE",
    "geglu": "GeGLU",
    "pre_norm": "pre-norm",
    "no_biases": "no biases",
    "local": "local attention",
}
LENGTHS = tuple(2**n for n in range(4, 14))
WINDOWS = tuple(2**n for n in range(2, 11))
MAX_GLOBAL_EVERY = 6


class ModernLab(Lab):
    """Choose changes, the text's length and the window; see their costs, and which positions see each other.

    changes: names of `modern.CHANGES`, by default all. size: one of `SIZES`. length: positions T, one of
    `LENGTHS`. window: of local layers, one of `WINDOWS`. every: one layer in so many is global, 1 to 6.
    narrow: whether a GeGLU is narrowed to two thirds. The position table is as long as the text.

    `changes`, `size`, `length`, `window`, `every` and `narrow` are the values of the controls. `configs`,
    `parameters` and `work` (multiply-adds) are the results: each a pair, for BERT and for the chosen model.

    Raises ValueError for anything else.
    """

    def __init__(
        self,
        changes: Iterable[str] = tuple(CHANGES),
        size: str = next(iter(SIZES)),
        length: int = 512,
        window: int = 128,
        every: int = 3,
        narrow: bool = True,
    ):
        changes = tuple(changes)
        for name, got, known in (
            *(("changes", change, CHANGES) for change in changes),
            ("size", size, SIZES),
            ("length", length, LENGTHS),
            ("window", window, WINDOWS),
            ("every", every, range(1, MAX_GLOBAL_EVERY + 1)),
            ("narrow", narrow, (True, False)),
        ):
            if got not in list(known):
                raise ValueError(f"{name}: expected one of {', '.join(map(str, known))}, got {got!r}")
        box = {"indent": False, "layout": widgets.Layout(width="auto", margin="2px 14px 2px 0")}
        self.boxes = {
            name: widgets.Checkbox(name in changes, description=label, **box)
            for name, label in LABELS.items()
        }
        self.narrow_box = widgets.Checkbox(narrow, description="GeGLU narrowed to 2/3", **box)
        wide = {"style": {"description_width": "110px"}, "continuous_update": False}
        self.size_menu = widgets.Dropdown(
            options=list(SIZES), value=size, description="size", style={"description_width": "110px"}
        )
        self.length_slider = widgets.SelectionSlider(options=LENGTHS, value=length, description="T", **wide)
        self.window_slider = widgets.SelectionSlider(
            options=WINDOWS, value=window, description="window", **wide
        )
        self.every_slider = widgets.IntSlider(every, 1, MAX_GLOBAL_EVERY, description="global every", **wide)
        self.result = widgets.HTML("")
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        super().__init__(
            "ModernBERT lab",
            "Switch changes on and off, and see what they cost beside BERT, and who sees whom.",
            [
                widgets.HBox([*self.boxes.values(), self.narrow_box], layout=row),
                widgets.HBox([self.size_menu, self.length_slider], layout=row),
                widgets.HBox([self.window_slider, self.every_slider], layout=row),
            ],
            [self.result],
        )
        self.configs = self.parameters = self.work = None
        self.watch(*self.boxes.values(), self.narrow_box, self.size_menu)
        self.watch(self.length_slider, self.window_slider, self.every_slider)
        self.refresh()

    @property
    def changes(self) -> tuple[str, ...]:
        """The changes that are switched on."""
        return tuple(name for name, box in self.boxes.items() if box.value)

    @property
    def size(self) -> str:
        """The size of both models."""
        return self.size_menu.value

    @property
    def length(self) -> int:
        """Positions of the text, T."""
        return self.length_slider.value

    @property
    def window(self) -> int:
        """The window of local layers."""
        return self.window_slider.value

    @property
    def every(self) -> int:
        """One layer in so many is global."""
        return self.every_slider.value

    @property
    def narrow(self) -> bool:
        """Whether a GeGLU is narrowed to two thirds."""
        return self.narrow_box.value

    def draw(self) -> None:
        """Compute the costs of both models at this length, and show them."""
        self.configs = self.parameters = self.work = None
        self.narrow_box.disabled = "geglu" not in self.changes
        self.window_slider.disabled = self.every_slider.disabled = "local" not in self.changes
        self.configs = self._configs()
        self.parameters = tuple(map(parameters_of, self.configs))
        self.work = tuple(
            {part: round(count / self.length) for part, count in work_of(config, [self.length]).items()}
            for config in self.configs
        )
        self.result.value = f'<div role="status">{self._shown()}</div>'

    def _configs(self) -> tuple[ModernConfig, ModernConfig]:
        sizes = SIZES[self.size]
        options = {"max_len": max(sizes.max_len, self.length)}
        bert = modern_config(sizes, **options)
        if "local" in self.changes:
            options |= {"local_window": self.window, "global_every": self.every}
        if not self.narrow:
            options |= {"d_ff": sizes.d_ff}
        return bert, modern_config(sizes, *self.changes, **options)

    def settings(self) -> str:
        """The values of the controls, in a line."""
        labels = [LABELS[change] for change in self.changes]
        if "geglu" in self.changes:
            labels[self.changes.index("geglu")] += " narrowed to 2/3" if self.narrow else " at BERT's width"
        if "local" in self.changes:
            labels[-1] += f" (window {self.window}, one layer in {self.every} global)"
        return f"{self.size}, T = {self.length}; {', '.join(labels) or 'no change'}"

    def summary(self) -> str:
        """The results, in a few sentences."""
        if self.work is None:
            return "no answer"
        (bert, this), (bert_work, this_work) = (
            [sum(counts.values()) for counts in pair] for pair in (self.parameters, self.work)
        )
        shares = [counts["attention"] / sum(counts.values()) for counts in self.work]
        return (
            f"This one has {this / bert:.4f} times BERT's parameters, and does {this_work / bert_work:.4f} "
            f"times its work at T = {self.length}. Attention is {shares[0]:.4f} of BERT's work and "
            f"{shares[1]:.4f} of this one's. {self.attention_summary()}"
        )

    def attention_summary(self) -> str:
        """How many positions each position sees, in a sentence."""
        config = self.configs[1]
        reach = [config.radius(layer) for layer in range(config.n_layers)]
        local = [radius for radius in reach if radius is not None and radius < self.length - 1]
        if not local:
            return f"In every layer each position sees all {self.length}."
        everywhere = ", ".join(str(layer + 1) for layer, radius in enumerate(reach) if radius is None)
        most = min(self.length, 2 * local[0] + 1)
        return (
            f"In layers {everywhere} each position sees all {self.length}, in the {len(local)} others from "
            f"{local[0] + 1}, at the ends, to {most}."
        )

    def _rows(self) -> list[tuple[str, int | None, int | None]]:
        """A row for each number: name, BERT's, the chosen model's. A heading has no numbers."""
        rows = []
        for heading, pair in (
            ("parameters", self.parameters),
            (f"multiply-adds a token at T = {self.length}", self.work),
        ):
            rows.append((heading, None, None))
            rows.append(("together", *(sum(counts.values()) for counts in pair)))
            rows += [(part, *(counts[part] for counts in pair)) for part in pair[0]]
        return rows

    def _shown(self) -> str:
        body, whole = "", 1
        for name, *numbers in self._rows():
            if numbers[0] is None:
                body += (
                    f'<tr><th scope="col">{html.escape(name)}</th>'
                    '<th scope="col">BERT</th><th scope="col">this one</th></tr>'
                )
                continue
            if name == "together":
                whole = max(numbers)
            cells = ""
            for number, color in zip(numbers, (GREY, BLUE), strict=True):
                bar = f"display:block;height:.35em;width:{12 * number / whole:.2f}em;background:{color}"
                cells += f'<td>{number:,}<span aria-hidden="true" style="{bar}"></span></td>'
            body += f'<tr><th scope="row" style="font-weight:normal">{html.escape(name)}</th>{cells}</tr>'
        on = "".join(f"<li>{LABELS[name]}: {html.escape(CHANGES[name])}</li>" for name in self.changes)
        return (
            f"<b>{html.escape(self.summary())}</b>{self._squares()}<table>{body}</table>"
            f"<ul>{on or '<li>no change: this is BERT</li>'}</ul>"
        )

    def _squares(self) -> str:
        """The attention mask of each layer as a square, with allowed pairs in color."""
        config, squares = self.configs[1], ""
        for layer in range(config.n_layers):
            radius = config.radius(layer)
            part = 100 if radius is None else min(100.0, 100 * radius / self.length)
            rest = 100 - part
            corners = ((0, 0), (part, 0), (100, rest), (100, 100), (rest, 100), (0, part))
            shape = ", ".join(f"{x:.4g}% {y:.4g}%" for x, y in corners)
            outer = f"display:inline-block;width:62px;height:62px;background:{GREY}"
            inner = f"display:block;width:100%;height:100%;background:{BLUE};clip-path:polygon({shape})"
            kind = "global" if radius is None else "local"
            squares += (
                '<span style="display:inline-block;margin:4px 8px 4px 0;text-align:center">'
                f'<span style="{outer}"><span style="{inner}"></span></span><br>{layer + 1} {kind}</span>'
            )
        told = html.escape(f"Who sees whom, a square for each layer. {self.attention_summary()}", quote=True)
        return f'<div role="img" aria-label="{told}" style="margin:.5em 0">{squares}</div>'

    def as_text(self) -> str:
        """The settings and the numbers, as plain text."""
        lines = [f"ModernBERT lab: {self.settings()}", self.summary()]
        if self.work is not None:
            table = [
                (name, "BERT", "this one") if bert is None else (f"  {name}", f"{bert:,}", f"{this:,}")
                for name, bert, this in self._rows()
            ]
            lines.append(text_table(table, right=True))
        return "\n".join(lines)

    def as_html(self) -> str:
        """The settings, the numbers and the attention masks, as HTML."""
        shown = html.escape(self.summary()) if self.work is None else self._shown()
        return f"{self.caption(self.settings())}{shown}"
