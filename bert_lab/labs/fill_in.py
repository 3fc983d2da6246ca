"""The fill-in lab: a model's predictions for a blank, and how words to its right change them."""

import html
import re

import ipywidgets as widgets

from bert_lab.figures.palette import BLUE
from bert_lab.labs.base import Lab
from bert_lab.model import fill_mask

BLANK = "[MASK]"
TEXT = "The [MASK] statement is used to import modules."


class FillInLab(Lab):
    """Type a sentence with [MASK], see the best pieces, and see them change as words to its right are added.

    model, tok: a `BertForMLM` and its tokenizer. text: the sentence, with at least one [MASK]. words: how
    many words to the right of the blank are shown at first, by default all. word: a word whose probability
    is always shown. top_k: how many pieces are shown.

    `text`, `blank` (from 1), `words` and `word` are the values of the controls. `shown` is the part of the
    text that the model sees, `best` its `top_k` pieces with their probabilities, best first, and `watched` is
    (probability, rank from 1) of the watched word. These three are None after an error.
    """

    def __init__(
        self, model, tok, text: str = TEXT, *, words: int | None = None, word: str = "", top_k: int = 5
    ):
        self.model, self.tok, self.top_k = model, tok, top_k
        look = {"style": {"description_width": "160px"}}
        wide = widgets.Layout(width="100%", max_width="100%")
        middle = widgets.Layout(width="560px", max_width="100%")
        self.box = widgets.Text(
            text, description="sentence", continuous_update=False, layout=wide, style=look["style"]
        )
        self.blank_menu = widgets.Dropdown(options=[1], description="blank", layout=middle, **look)
        self.words_slider = widgets.IntSlider(
            0, min=0, max=1, description="words to its right", layout=middle, **look
        )
        self.word_box = widgets.Text(
            word, description="watch a word", continuous_update=False, layout=middle, **look
        )
        self.answer = widgets.HTML("")
        super().__init__(
            "Fill-in lab",
            f"Write `{BLANK}` for a blank, press Enter, and add the words to its right one by one.",
            [self.box, self.blank_menu, self.words_slider, self.word_box],
            [self.answer],
        )
        self.shown = self.best = self.watched = None
        self.box.observe(self._new_text, names="value")
        self.blank_menu.observe(self._new_blank, names="value")
        self.watch(self.words_slider, self.word_box)
        self._new_text()
        if words is not None:
            self.words_slider.value = words

    @property
    def text(self) -> str:
        """The sentence."""
        return self.box.value

    @property
    def blank(self) -> int:
        """The number of the blank that is filled, from 1."""
        return self.blank_menu.value

    @property
    def words(self) -> int:
        """How many of the words to the right of the blank are shown."""
        return self.words_slider.value

    @property
    def word(self) -> str:
        """The word that is watched."""
        return self.word_box.value.strip()

    def right_ends(self) -> list[int]:
        """The ends of the blank and of each word to its right, in characters; [] without a blank.

        Words are separated by spaces, so that a full stop belongs to the word before it.
        """
        blanks = [match.end() for match in re.finditer(re.escape(BLANK), self.text)]
        if not blanks:
            return []
        end = blanks[self.blank - 1]
        return [end, *(match.end() for match in re.finditer(r"\S+", self.text) if match.end() > end)]

    def _new_text(self, _change=None) -> None:
        """List the blanks of this text in the menu, and choose the first one."""
        self.blank_menu.options = [n + 1 for n in range(max(1, self.text.count(BLANK)))]
        self.blank_menu.disabled = len(self.blank_menu.options) == 1
        self._new_blank()

    def _new_blank(self, _change=None) -> None:
        """Set the slider to the number of words to the right of this blank, and show all of them."""
        most = max(0, len(self.right_ends()) - 1)
        self.words_slider.max = max(1, most)  # a slider needs a maximum above its minimum
        self.words_slider.disabled = most == 0
        self.words_slider.value = most
        self.refresh()

    def draw(self) -> None:
        """Run the model and show its best pieces for the blank as bars."""
        self.shown = self.best = self.watched = None
        self.answer.value = ""
        ends = self.right_ends()
        if not ends:
            raise ValueError(f"sentence: expected at least one {BLANK}, got {self.text!r}")
        shown = self.text[: ends[min(self.words, len(ends) - 1)]]
        pieces = fill_mask(self.model, self.tok, shown, self.tok.vocab_size)[self.blank - 1]
        self.shown, self.best = shown, pieces[: self.top_k]
        self.watched = self._find(pieces)
        self.answer.value = f'<div role="status">{self._table()}</div>'

    def _find(self, pieces) -> tuple[float, int] | None:
        """(probability, rank) of the watched word; None without a word, or if it is no single piece."""
        ids = self.tok.encode(self.word)[1:-1]
        if len(ids) != 1:
            return None
        (word,) = self.tok.tokens(ids)
        return next((chance, rank) for rank, (piece, chance) in enumerate(pieces, 1) if piece == word)

    def watched_summary(self) -> str:
        """The probability and the rank of the watched word, as a sentence; empty without such a word."""
        if not self.word or self.best is None:
            return ""
        if self.watched is None:
            return f"{self.word} is no single piece of the vocabulary."
        chance, rank = self.watched
        return f"{self.word}: {chance:.4f}, number {rank} of {self.tok.vocab_size}."

    def _table(self) -> str:
        body = ""
        for piece, chance in self.best:
            bar = f"display:inline-block;height:.8em;width:{24 * chance:.2f}em;background:{BLUE}"
            body += (
                f'<tr><th scope="row"><code>{html.escape(piece)}</code></th><td>{chance:.4f}</td>'
                f'<td style="width:25em"><span aria-hidden="true" style="{bar}"></span></td></tr>'
            )
        return (
            f"<div>The model sees: <code>{html.escape(self.shown)}</code></div><table><tr>"
            '<th scope="col">piece</th><th scope="col">probability</th><th scope="col"></th></tr>'
            f"{body}</table><div>{html.escape(self.watched_summary())}</div>"
        )

    def summary(self) -> str:
        """The text and the best piece in a line, without digits, which depend on the model."""
        if self.best is None:
            return "no answer"
        return f"{self.shown} -> {self.best[0][0]}"

    def as_text(self) -> str:
        """The visible text and the best piece."""
        return f"{super().as_text()}\n{self.summary()}"

    def as_html(self) -> str:
        """The visible text and the best piece."""
        return f"{super().as_html()}<p><code>{html.escape(self.summary())}</code></p>"
