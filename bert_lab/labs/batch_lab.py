"""Views of a batch: all its arrays as tables, a picture, and the batch lab."""

import html

import ipywidgets as widgets
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from bert_lab.batches import mlm_batch
from bert_lab.figures.base import BookFigure
from bert_lab.figures.palette import BLACK, FATES, GREY
from bert_lab.labs.base import Lab
from bert_lab.labs.strip import fates_of
from bert_lab.masking import IGNORE
from bert_lab.rng import PCG32
from bert_lab.text_table import text_table
from bert_lab.wordpiece import WordPieceTokenizer, book_tokenizer, special_ids

PAIR_SIGN = "||"  # between the two texts of a pair, in the lab's text box
MAX_ROWS = 8  # that are shown, of a longer batch too
TEXTS = f"My friend sold the old boat.\nWho opened the window? {PAIR_SIGN} It was the teacher.\nHello!"

_COLORED = 3  # lines of a table that are colored by fate: pieces, fate, shown pieces


class BatchTable:
    """The rows of a batch as tables, with a column for each position and a line for each array.

    batch: what `mlm_batch` returns, or some of its arrays, int64 `[B, T]`. It must have `input_ids` and
    `labels`. Together they give the original pieces, which are the column heads. rows: which rows to show; by
    default all.
    """

    def __init__(self, tok: WordPieceTokenizer, batch: dict[str, np.ndarray], rows=None):
        self.tok = tok
        self.batch = batch
        self.rows = range(len(batch["input_ids"])) if rows is None else rows

    def lines(self, row: int) -> list[tuple[str, list[str]]]:
        """The lines of the table of one row: a name, and a text for each position."""
        inputs, labels = self.batch["input_ids"][row], self.batch["labels"][row]
        original = np.where(labels == IGNORE, inputs, labels)  # [T]
        special = np.isin(original, special_ids(self.tok))
        return [
            (f"row {row}", self.tok.tokens(original)),
            ("fate", fates_of(original, special, inputs, labels, self.tok.mask_id)),
            ("shown", self.tok.tokens(inputs)),
            *((name, [str(number) for number in array[row].tolist()]) for name, array in self.batch.items()),
        ]

    def __repr__(self) -> str:
        return "\n\n".join(self._as_text(self.lines(row)) for row in self.rows)

    def _repr_html_(self) -> str:
        return "".join(self._as_html(self.lines(row)) for row in self.rows)

    @staticmethod
    def _as_text(lines) -> str:
        return text_table(((name, *texts) for name, texts in lines), right=True)

    @staticmethod
    def _as_html(lines) -> str:
        fates = lines[1][1]
        out = []
        for i, (name, texts) in enumerate(lines):
            tag = "td" if i else "th"
            cells = ""
            for text, fate in zip(texts, fates, strict=True):
                color = f' style="background-color:{FATES[fate][0]};color:#000"' if i < _COLORED else ""
                cells += f"<{tag}{color}>{html.escape(text)}</{tag}>"
            out.append(f'<tr><th scope="row" style="text-align:left">{name}</th>{cells}</tr>')
        return (
            '<div style="overflow-x:auto;margin:6px 0"><table style="white-space:nowrap">'
            f"{''.join(out)}</table></div>"
        )


def batch_map(batch: dict[str, np.ndarray]) -> BookFigure:
    """A picture of a batch: a line for each row, grey for text, white for padding, a dot for each pick.

    batch: `attention_mask` and `labels` of what `mlm_batch` returns, int64 `[B, T]`.
    """
    real, picked = batch["attention_mask"] == 1, batch["labels"] != IGNORE
    rows, columns = real.shape
    fig = plt.figure(figsize=(9, 4), layout="constrained", FigureClass=BookFigure)
    ax = fig.subplots()
    ax.imshow(
        real, cmap=ListedColormap(["#FFFFFF", GREY]), vmin=0, vmax=1, aspect="auto", interpolation="none"
    )
    y, x = np.nonzero(picked)
    ax.plot(x, y, "o", color=BLACK, markersize=2.5)
    ax.set(xlabel="position", ylabel="row", title="Grey: text.  White: padding.  Dot: picked.")
    fig.alt = (
        f"A batch of {rows} rows and {columns} positions. Each row is grey from the left up to its own"
        " length, and white after it. Black dots, the picked positions, lie scattered over the grey; none"
        " lies on white."
    )
    return fig


class BatchLab(Lab):
    """A box for texts, sliders for max_len, p and the seed, and every array of the batch.

    `texts` are the lines of the box, with `||` between the two texts of a pair. `batch` is the result of
    `mlm_batch`, None after an error. `max_len`, `p` and `seed` are the sliders' values.
    """

    def __init__(self, texts: str = TEXTS, max_len: int = 12, p: float = 0.15, seed: int = 8):
        wide = widgets.Layout(width="440px", max_width="100%")
        look = {"continuous_update": False, "style": {"description_width": "90px"}, "layout": wide}
        self.box = widgets.Textarea(
            texts,
            rows=4,
            description="texts",
            continuous_update=False,
            style={"description_width": "90px"},
            layout=widgets.Layout(width="100%"),
        )
        self.max_len_slider = widgets.IntSlider(max_len, min=1, max=32, description="max_len", **look)
        self.p_slider = widgets.FloatSlider(p, min=0.0, max=1.0, step=0.05, description="p", **look)
        self.seed_slider = widgets.IntSlider(seed, min=0, max=999, description="seed", **look)
        self.tok = book_tokenizer()
        self.batch = None
        self.tables = widgets.HTML("")
        super().__init__(
            "Batch lab",
            f"A line is a text; `{PAIR_SIGN}` parts the two texts of a pair. Click outside the box,"
            " or press Tab, to see the new batch.",
            [self.box, self.max_len_slider, self.p_slider, self.seed_slider],
            [self.tables],
        )
        self.watch(self.box, self.max_len_slider, self.p_slider, self.seed_slider)
        self.refresh()

    @property
    def texts(self) -> list[str | tuple[str, ...]]:
        """The texts of the box: a string for each line, or a tuple of the parts between `||`."""
        lines = self.box.value.split("\n")
        parts = [tuple(part.strip() for part in line.split(PAIR_SIGN)) for line in lines]
        return [part if len(part) > 1 else part[0] for part in parts]

    def draw(self) -> None:
        """Make the batch and show its first rows; after an error, show none."""
        self.batch, self.tables.value = None, ""
        rng = PCG32(self.seed_slider.value)
        self.batch = mlm_batch(self.tok, self.texts, self.max_len_slider.value, self.p_slider.value, rng)
        legend = "; ".join(f"<b>{letter}</b> {meaning}" for letter, (_, meaning) in FATES.items())
        tables = self._table()._repr_html_()
        self.tables.value = f'<div role="status">{self._summary()}</div>{tables}<div>{legend}</div>'

    def _table(self) -> BatchTable:
        return BatchTable(self.tok, self.batch, range(min(len(self.batch["labels"]), MAX_ROWS)))

    def _summary(self) -> str:
        rows, columns = self.batch["labels"].shape
        asked = int((self.batch["labels"] != IGNORE).sum())
        more = f" The first {MAX_ROWS} rows are shown." if rows > MAX_ROWS else ""
        return f"B = {rows}, T = {columns}, labels: {asked}.{more}"

    def as_text(self) -> str:
        """The summary and the tables as plain text."""
        if self.batch is None:
            return super().as_text()
        return f"{super().as_text()}\n\n{self._summary()}\n\n{self._table()!r}"

    def as_html(self) -> str:
        """The summary and the tables."""
        return super().as_html() + self.tables.value
