"""The attention lab: the attention of each token, by layer and head, both ways or causal, with padding."""

import html

import numpy as np
import traitlets

from bert_lab.checks import as_index
from bert_lab.labs.attention_data import BOTH, CAUSAL, MAX_TOKENS, as_json, attention_data
from bert_lab.labs.js_lab import JsLab, Setting

MAX_PADDING = 8


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


class AttentionLab(JsLab):
    """Choose a token by mouse or arrow keys, and see what it attends to, in one head and in all of them.

    model, tok: a `BertForMLM` (or `BertEncoder`) and its tokenizer; by default those of the book. text, pair:
    a sentence, and a second sentence if `pair` is not empty. layer, head: from 0. reads: "both ways" or
    "causal". padding: how many [PAD] are added at the end, 0 to 8. token: the position whose attention is
    shown.

    `text`, `pair`, `layer`, `head`, `reads`, `padding` and `token` are the values of the controls, and can be
    set. `tokens` are the T pieces, `maps` the weights [L, H, T, T] as `attention_maps` gives them, `weights`
    [T] those of the token in the chosen head, and `influence` [T, T] is that of `model.influence`. These four
    are None if the text cannot be used. Texts are truncated to 48 tokens, or to the model's maximum length.

    Raises TypeError or ValueError for a setting that cannot be used.
    """

    module = "attention_lab"
    title = "Attention lab"
    how_to = "Choose the token that looks: click it, or move with the arrow keys."
    text = Setting("", _text).tag(sync=True)
    pair = Setting("", _text).tag(sync=True)
    layer = Setting(0, _below(lambda lab: lab.model.config.n_layers)).tag(sync=True)
    head = Setting(0, _below(lambda lab: lab.model.config.n_heads)).tag(sync=True)
    reads = Setting(BOTH, _reads).tag(sync=True)
    padding = Setting(0, _below(lambda lab: MAX_PADDING + 1)).tag(sync=True)
    token = Setting(0, _below(lambda lab: MAX_TOKENS if lab.tokens is None else len(lab.tokens))).tag(
        sync=True
    )
    shown = traitlets.Dict().tag(sync=True)  # the data of the view; empty if the text cannot be used

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
        """The attention weights of the token in the chosen layer and head: [T]."""
        return None if self.maps is None else self.maps[self.layer, self.head, self.token]

    def draw(self) -> None:
        """Recompute tokens, maps and influence. If the token does not exist any more, take the last one."""
        with self.hold_sync():  # send the final values alone
            self.tokens = self.maps = self.influence = None
            self.shown = {}
            data = attention_data(
                self.model, self.tok, self.text, self.pair, reads=self.reads, padding=self.padding
            )
            shown = as_json(data)
            self.token = min(self.token, len(data.tokens) - 1)
            self.tokens, self.maps, self.influence = data
            self.shown = shown

    def _chosen(self, _change) -> None:
        if self.tokens is not None:
            self.error = ""

    def state(self) -> dict:
        """The settings alone, since the last digits of weights differ between machines."""
        state = super().state()
        del state["shown"]
        return state

    def _setting(self) -> str:
        both = f"{self.text!r}" + (f" and {self.pair!r}" if self.pair.strip() else "")
        return f"{both}, {self.reads}, padding {self.padding}, layer {self.layer}, head {self.head}"

    def _visible(self) -> str:
        """The positions that the token attends to. They do not depend on the digits of the weights."""
        if self.weights is None:
            return "no tokens"
        seen = " ".join(str(j) for j in np.flatnonzero(self.weights)) or "none"
        return f"position {self.token}, {self.tokens[self.token]}, looks at positions: {seen}"

    def as_text(self) -> str:
        """The settings, and the positions that the token attends to, as plain text."""
        return f"{self.title}: {self._setting()}\n{self._visible()}"

    def caption(self) -> str:
        """The settings, as HTML."""
        return f"<b>{self.title}</b>: {html.escape(self._setting())}."

    def picture(self) -> str:
        """The positions that the token attends to, as HTML."""
        return f"<p>{html.escape(self._visible())}</p>"
