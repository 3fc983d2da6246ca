"""Attention steps: from one word's query and three keys to the weighted sum of the values."""

import html
import math
from collections.abc import Sequence

import ipywidgets as widgets
import numpy as np

from bert_lab.checks import as_index
from bert_lab.figures.palette import BLUE
from bert_lab.labs.base import Lab
from bert_lab.text_table import text_table

WORDS = ("the", "cat", "sat")
QUERIES = {"the": (0, 2, 0, 0), "cat": (0, 0, 6, 0), "sat": (0, 1, 1, 1)}  # in units of ln 2
KEYS = np.array([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]])  # [T, k]
VALUES = np.array([[8, 0, 0, 4], [0, 8, 0, 4], [0, 0, 8, 4]])  # [T, k]
DIVISORS = (1, 2, 4, 8, 100)
MAX_QUERY = 8  # the largest absolute value of a query's number


class AttentionSteps(Lab):
    """Change a word's query, or the divisor of the scores; see the scores, the weights and the mix of values.

    word: one of `WORDS`; the keys and values are those of chapter 04's example. query: four integers from -8
    to 8, in units of ln 2 (by default the word's query in that example). divisor: one of `DIVISORS`; 2 is the
    square root of k = 4.

    `word`, `query` and `divisor` are the values of the controls. `scores` [T] (in units of ln 2, before the
    division), `weights` [T] and `mix` [k] are the result.

    Raises TypeError or ValueError for anything else.
    """

    def __init__(self, word: str = "the", query: Sequence[int] | None = None, divisor: int = 2):
        if word not in WORDS:
            raise ValueError(f"word: expected one of {', '.join(WORDS)}, got {word!r}")
        if divisor not in DIVISORS:
            raise ValueError(f"divisor: expected one of {', '.join(map(str, DIVISORS))}, got {divisor!r}")
        numbers = QUERIES[word] if query is None else tuple(query)
        if len(numbers) != KEYS.shape[1]:
            raise ValueError(f"query: expected {KEYS.shape[1]} numbers, got {len(numbers)}")
        numbers = [as_index(n, f"query[{i}]", -MAX_QUERY, MAX_QUERY + 1) for i, n in enumerate(numbers)]
        self.word_menu = widgets.Dropdown(options=WORDS, value=word, description="looks")
        self.divisor_slider = widgets.SelectionSlider(
            options=[("1", 1), ("2 = √4", 2), *((str(n), n) for n in DIVISORS[2:])],
            value=divisor,
            description="divide by",
            continuous_update=False,
        )
        self.query_sliders = [
            widgets.IntSlider(n, -MAX_QUERY, MAX_QUERY, description=f"query {i}", continuous_update=False)
            for i, n in enumerate(numbers, 1)
        ]
        self.result = widgets.HTML("")
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        super().__init__(
            "Attention steps",
            "Move the query's four numbers, in units of ln 2, and see what the word takes from each word.",
            [
                widgets.HBox([self.word_menu, self.divisor_slider], layout=row),
                widgets.HBox(self.query_sliders[:2], layout=row),
                widgets.HBox(self.query_sliders[2:], layout=row),
            ],
            [self.result],
        )
        self.scores = self.weights = self.mix = None
        self.word_menu.observe(self._own_query, names="value")
        self.watch(self.divisor_slider, *self.query_sliders)
        self.refresh()

    @property
    def word(self) -> str:
        """The word whose query is used."""
        return self.word_menu.value

    @property
    def query(self) -> tuple[int, ...]:
        """The query of the word, in units of ln 2."""
        return tuple(slider.value for slider in self.query_sliders)

    @property
    def divisor(self) -> int:
        """The divisor of the scores."""
        return self.divisor_slider.value

    def _own_query(self, _change) -> None:
        """Set the query to that of the chosen word."""
        for slider, number in zip(self.query_sliders, QUERIES[self.word], strict=True):
            slider.value = number
        self.refresh()

    def draw(self) -> None:
        """Compute scores, weights and mix, and show them as a table."""
        self.scores = KEYS @ np.array(self.query)
        powers = self._powers()
        self.weights = powers / powers.sum()
        self.mix = self.weights @ VALUES
        self.result.value = f'<div role="status">{self._table()}</div>'

    def _powers(self) -> np.ndarray:
        return np.exp(math.log(2) * self.scores / self.divisor)

    def _rows(self) -> list[list[str]]:
        """A row for each key: word, key, score, divided score, exp, weight, value."""
        return [
            [
                word,
                " ".join(map(str, key)),
                f"{score} ln 2",
                f"{math.log(2) * score / self.divisor:.4f}",
                f"{power:.4f}",
                f"{weight:.4f}",
                " ".join(map(str, value)),
            ]
            for word, key, score, power, weight, value in zip(
                WORDS, KEYS, self.scores, self._powers(), self.weights, VALUES, strict=True
            )
        ]

    def _head(self) -> list[str]:
        return ["looks at", "key", "query · key", f"divided by {self.divisor}", "exp", "weight", "value"]

    def _mix(self) -> str:
        return " ".join(f"{x:.4f}" for x in self.mix)

    def _table(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self._head())
        body = ""
        for row, weight in zip(self._rows(), self.weights, strict=True):
            cells = [f"<td>{html.escape(text)}</td>" for text in row[1:]]
            bar = f"display:inline-block;height:.8em;width:{8 * weight:.2f}em;background:{BLUE}"
            cells[4] = f'<td>{row[5]} <span aria-hidden="true" style="{bar}"></span></td>'
            body += f'<tr><th scope="row">{html.escape(row[0])}</th>{"".join(cells)}</tr>'
        return f"<table><tr>{head}</tr>{body}</table><b>{html.escape(self.word)}</b> takes {self._mix()}."

    def _setting(self) -> str:
        return f"{self.word} asks with ln 2 times {' '.join(map(str, self.query))}"

    def as_text(self) -> str:
        """The steps as a table in plain text."""
        steps = text_table([self._head(), *self._rows()])
        return f"Attention steps: {self._setting()}\n{steps}\n{self.word} takes {self._mix()}"

    def as_html(self) -> str:
        """The steps as a table in HTML."""
        return f"{self.caption(self._setting())}{self._table()}"
