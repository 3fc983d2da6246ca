"""The lab of two blanks: independent predictions of two words, and the pairs that they give."""

import html

import ipywidgets as widgets
import numpy as np

from bert_lab.labs.base import Lab

FIRST, SECOND = ("new", "los"), ("york", "angeles")


def pair_table(share: float, fit: float) -> dict[str, np.ndarray]:
    """Three tables `[2, 2]` for a language of two-word sentences, first word in rows, second in columns.

    share: the probability that the first word is `FIRST[0]`. fit: the probability that the second word
    belongs to the first. "true" is the probability of each pair. "apart" is the product of the exact
    probabilities of the two blanks. "score" is exp of the pseudo-log-likelihood, where each word is predicted
    from the other one.
    """
    true = np.array([[share * fit, share * (1 - fit)], [(1 - share) * (1 - fit), (1 - share) * fit]])
    first, second = true.sum(axis=1, keepdims=True), true.sum(axis=0, keepdims=True)
    return {"true": true, "apart": first * second, "score": (true / first) * (true / second)}


class TwoBlanksLab(Lab):
    """Choose how often the words go together; see the predictions of two blanks, and the scores of pairs.

    `share` and `fit` are the values of the controls, `tables` is their `pair_table`. `together` is the loss
    of predicting the pair, and `apart` the loss of predicting each word by itself.
    """

    def __init__(self):
        slider = {
            "step": 0.05,
            "continuous_update": False,
            "style": {"description_width": "210px"},
            "layout": widgets.Layout(width="560px", max_width="100%"),
        }
        self.share_slider = widgets.FloatSlider(
            0.5, min=0.05, max=0.95, description="first word is new", **slider
        )
        self.fit_slider = widgets.FloatSlider(
            1.0, min=0.5, max=1.0, description="second word fits the first", **slider
        )
        self.answer = widgets.HTML("")
        super().__init__(
            "Two blanks",
            "What do two blanks say that answer by themselves, and what do the scores of all pairs sum to?",
            [widgets.VBox([self.share_slider, self.fit_slider])],
            [self.answer],
        )
        self.tables = None
        self.watch(self.share_slider, self.fit_slider)
        self.refresh()

    @property
    def share(self) -> float:
        """How often the first word is "new"."""
        return self.share_slider.value

    @property
    def fit(self) -> float:
        """How often the second word belongs to the first."""
        return self.fit_slider.value

    @property
    def together(self) -> float:
        """The loss of a pair, in nats, if both words are predicted together."""
        true = self.tables["true"]
        return float(-(true[true > 0] * np.log(true[true > 0])).sum())

    @property
    def apart(self) -> float:
        """The loss of a pair, in nats, if each word is predicted by itself."""
        return float(-(self.tables["true"] * np.log(self.tables["apart"])).sum())

    def draw(self) -> None:
        """Compute the tables and show them."""
        self.tables = None
        self.tables = pair_table(self.share, self.fit)
        self.answer.value = f'<div role="status">{self._table()}{html.escape(self.summary())}</div>'

    def rows(self) -> list[tuple[str, float, float, float]]:
        """(pair, true, apart, score) for each pair, and the sums."""
        names = [f"{a} {b}" for a in FIRST for b in SECOND]
        columns = [table.ravel().tolist() for table in self.tables.values()]
        return [*zip(names, *columns, strict=True), ("sum", *(sum(column) for column in columns))]

    def summary(self) -> str:
        """The result, in two sentences."""
        if self.tables is None:
            return "no answer"
        wrong = [table[0, 1] + table[1, 0] for table in self.tables.values()]
        return (
            f"Pairs that do not fit: true {wrong[0]:.4f}, each blank by itself {wrong[1]:.4f}."
            f" Loss of a pair: together {self.together:.4f}, each by itself {self.apart:.4f}."
        )

    def settings(self) -> str:
        """The values of the controls, in a line."""
        return f"first word is new {self.share:.2f}, second word fits {self.fit:.2f}"

    def _table(self) -> str:
        head = "".join(
            f'<th scope="col" style="text-align:right">{name}</th>'
            for name in ("true", "each by itself", "score exp(PLL)")
        )
        body = "".join(
            f'<tr><th scope="row">{name}</th>'
            + "".join(f'<td style="text-align:right">{number:.4f}</td>' for number in numbers)
            + "</tr>"
            for name, *numbers in self.rows()
        )
        return f'<table><tr><th scope="col">pair</th>{head}</tr>{body}</table>'

    def as_text(self) -> str:
        """The settings and the answer, as plain text."""
        lines = [f"Two blanks: {self.settings()}"]
        if self.tables is not None:
            lines.append(f"{'pair':<12}    true   apart   score")
            lines += [f"{name:<12} {a:7.4f} {b:7.4f} {c:7.4f}" for name, a, b, c in self.rows()]
        return "\n".join([*lines, self.summary()])

    def as_html(self) -> str:
        """The settings and the answer, as HTML."""
        table = "" if self.tables is None else self._table()
        return f"{self.caption(self.settings())}{table}<p>{html.escape(self.summary())}</p>"
