"""The attention lab: where each token looks, by layer and head, both ways or causally, with padding."""

import html

import numpy as np
import traitlets

from bert_lab.checks import as_index
from bert_lab.labs.attention_data import BOTH, CAUSAL, MOST, as_shown, look
from bert_lab.labs.front import FrontLab, Setting

MOST_PADDING = 8


def _text(_lab, name, value):
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, got {value!r} of type {type(value).__name__}")
    return value


def _reads(_lab, name, value):
    if value not in (BOTH, CAUSAL):
        raise ValueError(f"{name}: expected {BOTH!r} or {CAUSAL!r}, got {value!r}")
    return value


def _below(end):
    return lambda lab, name, value: as_index(value, name, 0, end(lab))


class AttentionLab(FrontLab):
    """Choose a token by mouse or arrow keys, and see where it looks, in one head and in all of them.

    model, tok: a `BertForMLM` (or `BertEncoder`) and its tokenizer; those that come with the book when left
    out. text: a sentence, and `pair`, when it is not empty, the sentence after it. layer, head: from 0.
    reads: "both ways" or "causal". padding: how many [PAD] are put at the end, 0 to 8. token: the position
    that looks.

    `text`, `pair`, `layer`, `head`, `reads`, `padding` and `token` are what the controls say, to be read and
    to be set. `tokens` are the T pieces, `maps` the weights [L, H, T, T] as `attention_maps` gives them,
    `weights` [T] those of the token in the chosen head, and `influence` [T, T] is that of `model.influence`.
    These four are None when the text cannot be read. What is longer than 48 tokens, or than the model admits,
    is cut.

    Raises TypeError or ValueError for a setting that is not there.
    """

    module = "attention_lab"
    title = "Attention lab"
    how_to = "Choose the token that looks: click it, or move with the arrow keys."
    text = Setting("", _text).tag(sync=True)
    pair = Setting("", _text).tag(sync=True)
    layer = Setting(0, _below(lambda lab: lab.model.config.n_layers)).tag(sync=True)
    head = Setting(0, _below(lambda lab: lab.model.config.n_heads)).tag(sync=True)
    reads = Setting(BOTH, _reads).tag(sync=True)
    padding = Setting(0, _below(lambda lab: MOST_PADDING + 1)).tag(sync=True)
    token = Setting(0, _below(lambda lab: MOST if lab.tokens is None else len(lab.tokens))).tag(sync=True)
    shown = traitlets.Dict().tag(sync=True)  # what the view draws; empty when the text cannot be read

    def __init__(
        self,
        model=None,
        tok=None,
        text: str = "not bad at all",
        pair: str = "",
        *,
        layer: int = 0,
        head: int = 0,
        reads: str = BOTH,
        padding: int = 0,
        token: int = 1,
    ):
        if (model is None) != (tok is None):
            raise ValueError("model and tok: expected both or neither, got one of them")
        if model is None:
            from bert_lab.training.shipped import manual_bert

            model, tok = manual_bert()
        self.model, self.tok = model, tok
        self.tokens = self.maps = self.influence = None
        super().__init__(text=text, pair=pair, layer=layer, head=head, reads=reads, padding=padding)
        self.watch("text", "pair", "reads", "padding")
        self.observe(self._chosen, names=["layer", "head", "token"])
        self.refresh()
        if self.tokens is not None:
            self.token = token

    @property
    def weights(self) -> np.ndarray | None:
        """How much the token takes from each, in the chosen layer and head: [T]."""
        return None if self.maps is None else self.maps[self.layer, self.head, self.token]

    def draw(self) -> None:
        """Compute tokens, maps and influence anew; a token that is gone is replaced by the last."""
        with self.hold_sync():  # the view hears of the end alone
            self.tokens = self.maps = self.influence = None
            self.shown = {}
            looked = look(self.model, self.tok, self.text, self.pair, reads=self.reads, padding=self.padding)
            shown = as_shown(looked)
            self.token = min(self.token, len(looked.tokens) - 1)
            self.tokens, self.maps, self.influence = looked
            self.shown = shown

    def _chosen(self, _change) -> None:
        if self.tokens is not None:
            self.error = ""

    def state(self) -> dict:
        """The setting alone: weights differ between machines in their last digits, and a page has its own."""
        state = super().state()
        del state["shown"]
        return state

    def _setting(self) -> str:
        both = f"{self.text!r}" + (f" and {self.pair!r}" if self.pair.strip() else "")
        return f"{both}, {self.reads}, padding {self.padding}, layer {self.layer}, head {self.head}"

    def _may(self) -> str:
        """Who looks, and at which positions: what does not depend on the weights' digits."""
        if self.weights is None:
            return "no tokens"
        seen = " ".join(str(j) for j in np.flatnonzero(self.weights)) or "none"
        return f"position {self.token}, {self.tokens[self.token]}, looks at positions: {seen}"

    def as_text(self) -> str:
        """The setting, and which positions are looked at, in plain text."""
        return f"{self.title}: {self._setting()}\n{self._may()}"

    def caption(self) -> str:
        """The setting, in HTML."""
        return f"<b>{self.title}</b>: {html.escape(self._setting())}."

    def picture(self) -> str:
        """Which positions are looked at, in HTML."""
        return f"<p>{html.escape(self._may())}</p>"
