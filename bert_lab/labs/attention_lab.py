"""The attention lab: where each token looks, by layer and head, both ways or causally, with padding."""

import base64
import html
import io

import ipywidgets as widgets
import numpy as np
import torch
from PIL import Image

from bert_lab.batches import mlm_batch
from bert_lab.labs.base import Lab
from bert_lab.model import attention_maps
from bert_lab.palette import BLUE, VERMILLION
from bert_lab.rng import PCG32, as_index

BOTH, CAUSAL = "both ways", "causal"
MOST = 48  # tokens, padding included
MOST_PADDING = 8
_SIDE, _WIDTH = 140, 840  # pixels: of a small map, at most, and of all that stand in a row
_BOX = (
    "display:inline-block;min-width:3.4em;margin:2px 4px 6px 0;padding:2px 8px 3px;border-radius:4px;"
    "text-align:center;vertical-align:top;line-height:1.35;font-size:15px;"
)


class AttentionLab(Lab):
    """Choose a token by mouse or arrow keys, and see where it looks, in one head and in all of them.

    model, tok: a `BertForMLM` (or `BertEncoder`) and its tokenizer; those that come with the book when left
    out. text: a sentence, and `pair`, when it is not empty, the sentence after it. layer, head: from 0.
    reads: "both ways" or "causal". padding: how many [PAD] are put at the end, 0 to 8. token: the position
    that looks.

    `text`, `pair`, `layer`, `head`, `reads`, `padding` and `token` are what the controls say, to be read.
    `tokens` are the T pieces, `maps` the weights [L, H, T, T] as `attention_maps` gives them, and `weights`
    [T] those of the token in the chosen head. These three are None when the text cannot be read. What is
    longer than 48 tokens, or than the model admits, is cut.

    Raises TypeError or ValueError for a setting that is not there.
    """

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
            from bert_lab.shipped import manual_bert

            model, tok = manual_bert()
        if reads not in (BOTH, CAUSAL):
            raise ValueError(f"reads: expected {BOTH!r} or {CAUSAL!r}, got {reads!r}")
        self.model, self.tok = model, tok
        config, wide = model.config, widgets.Layout(width="100%", max_width="100%")
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        self.text_box, self.pair_box = (
            widgets.Text(value, description=name, continuous_update=False, layout=wide)
            for name, value in (("sentence", text), ("second", pair))
        )
        self.layer_slider, self.head_slider, self.padding_slider = (
            widgets.IntSlider(as_index(value, name, 0, end), 0, end - 1, description=name)
            for name, value, end in (
                ("layer", layer, config.n_layers),
                ("head", head, config.n_heads),
                ("padding", padding, MOST_PADDING + 1),
            )
        )
        self.reads_buttons = widgets.ToggleButtons(
            options=[BOTH, CAUSAL],
            value=reads,
            description="reads",
            tooltips=["each token looks at all", "each token looks at itself and at those before it"],
            layout=widgets.Layout(width="450px", max_width="100%"),
        )
        self.token_slider = widgets.SelectionSlider(options=[("", 0)], description="token", layout=wide)
        self.token_buttons = widgets.ToggleButtons(options=[("", 0)], style={"button_width": "auto"})
        self.token_buttons.add_class("bl-tokens")
        self.strip, self.grid = widgets.HTML(""), widgets.HTML("")
        super().__init__(
            "Attention lab",
            "Choose the token that looks: click it, or move the slider below with the arrow keys.",
            [
                self.text_box,
                self.pair_box,
                widgets.HBox([self.reads_buttons, self.padding_slider], layout=row),
                widgets.HBox([self.layer_slider, self.head_slider], layout=row),
                self.token_buttons,
                self.token_slider,
            ],
            [self.strip, self.grid],
        )
        self.tokens = self.maps = self.weights = None
        self._setting_tokens = False
        for control in (self.text_box, self.pair_box, self.reads_buttons, self.padding_slider):
            control.observe(self._new_input, names="value")
        self.token_slider.observe(self._new_token, names="index")
        self.token_buttons.observe(self._new_token, names="index")
        self.watch(self.layer_slider, self.head_slider)
        self._new_input()
        if self.tokens is not None:
            self.token_slider.index = as_index(token, "token", 0, len(self.tokens))

    @property
    def text(self) -> str:
        """The sentence."""
        return self.text_box.value

    @property
    def pair(self) -> str:
        """The second sentence; empty for none."""
        return self.pair_box.value

    @property
    def reads(self) -> str:
        """ "both ways" or "causal"."""
        return self.reads_buttons.value

    @property
    def padding(self) -> int:
        """How many [PAD] stand at the end."""
        return self.padding_slider.value

    @property
    def layer(self) -> int:
        """The layer, from 0."""
        return self.layer_slider.value

    @property
    def head(self) -> int:
        """The head, from 0."""
        return self.head_slider.value

    @property
    def token(self) -> int:
        """The position that looks."""
        return self.token_slider.index

    def _new_input(self, _change=None) -> None:
        """Another text, mask or padding: other tokens, other maps."""
        self.tokens = self.maps = self.weights = None
        self.strip.value = self.grid.value = ""
        self.guard(self._look)
        if self.maps is not None:
            self.refresh()

    def _look(self) -> None:
        room = min(MOST, self.model.config.max_len) - self.padding
        row = (self.text, self.pair) if self.pair.strip() else self.text
        # Picking nothing, p = 0, it gives ids, token types and the mask.
        batch = mlm_batch(self.tok, [row], room, 0.0, PCG32(0))
        ids, types, real = (
            np.pad(batch[name], ((0, 0), (0, self.padding)), constant_values=fill)
            for name, fill in (("input_ids", self.tok.pad_id), ("token_type_ids", 0), ("attention_mask", 0))
        )
        size = ids.shape[1]
        allowed = torch.ones(size, size, dtype=torch.bool).tril() if self.reads == CAUSAL else None
        maps = attention_maps(self.model, ids, types, real, allowed=allowed)[:, 0]
        tokens = self.tok.tokens(ids[0].tolist())
        options = [(f"{i} {token}", i) for i, token in enumerate(tokens)]
        kept = min(self.token, size - 1)
        self._setting_tokens = True
        for control in (self.token_slider, self.token_buttons):
            control.options = options
            control.index = kept
        self._setting_tokens = False
        self.tokens, self.maps = tokens, maps.numpy()

    def _new_token(self, change) -> None:
        """The slider and the buttons say the same."""
        if self._setting_tokens or change["new"] is None:
            return
        self.token_slider.index = self.token_buttons.index = change["new"]
        self.refresh()

    def draw(self) -> None:
        """Show where the token looks, in the chosen head and in all."""
        if self.maps is None:
            return
        self.weights = self.maps[self.layer, self.head, self.token]
        self.strip.value = f'<div role="status">{html.escape(self._said())}</div>{self._boxes()}'
        self.grid.value = self._all_heads()

    def _said(self) -> str:
        """Where the token looks most, in a sentence."""
        place = f"layer {self.layer}, head {self.head}: position {self.token}, {self.tokens[self.token]}"
        if not self.weights.any():
            return f"{place}, is padding: it is not computed, and nobody looks at it."
        best = np.argsort(-self.weights, kind="stable")[:3]
        most = ", ".join(f"{self.tokens[j]} ({self.weights[j]:.2f})" for j in best if self.weights[j] > 0)
        return f"{place}, looks most at {most}."

    def _boxes(self) -> str:
        """A box for each token, the darker the more the chosen one looks at it, with the weight in digits."""
        boxes, top = "", max(float(self.weights.max()), 1e-12)
        for i, (token, weight) in enumerate(zip(self.tokens, self.weights.tolist(), strict=True)):
            share, looks = weight / top, i == self.token
            edge = f"3px solid {VERMILLION}" if looks else "1px solid #666666"
            look = f"border:{edge};background-color:{_shade(share)};color:{'#FFF' if share > 0.6 else '#000'}"
            said = f"{html.escape(token)}<br>{weight:.2f}{'<br>looks' if looks else ''}"
            boxes += f'<span role="listitem" style="{_BOX}{look}">{said}</span>'
        return f'<div role="list" aria-label="Weights" style="white-space:normal">{boxes}</div>'

    def _all_heads(self) -> str:
        """A table of all maps, a row for each layer and a column for each head."""
        layers, heads = self.maps.shape[:2]
        top = max(float(self.maps.max()), 1e-12)
        head = "".join(f'<th scope="col" style="text-align:center">head {h}</th>' for h in range(heads))
        body = ""
        for layer in range(layers):
            cells = "".join(self._small_map(layer, h, top) for h in range(heads))
            body += f'<tr><th scope="row">layer {layer}</th>{cells}</tr>'
        return (
            "All heads. A row of a map is a token that looks, a column one that is looked at; darker is more."
            " The chosen token's row is between red marks, the chosen head in a red frame."
            f"<table><tr><td></td>{head}</tr>{body}</table>"
        )

    def _small_map(self, layer: int, head: int, top: float) -> str:
        values = self.maps[layer, head]
        weights = values[self.token]
        where = (
            f"at {self.tokens[int(weights.argmax())]} ({weights.max():.2f})" if weights.any() else "nowhere"
        )
        chosen, side = (layer, head) == (self.layer, self.head), min(_SIDE, _WIDTH // self.maps.shape[1])
        edge = f"4px solid {VERMILLION}" if chosen else "4px solid transparent"
        alt = html.escape(f"layer {layer}, head {head}: looks most {where}", quote=True)
        return (
            f'<td style="padding:1px"><img alt="{alt}" title="{alt}" style="display:block;border:{edge}"'
            f' src="data:image/png;base64,{_picture(values / top, self.token, side)}"></td>'
        )

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
        return f"Attention lab: {self._setting()}\n{self._may()}"

    def as_html(self) -> str:
        """The setting, and which positions are looked at, in HTML."""
        return (
            f"<p><b>Attention lab</b>: {html.escape(self._setting())}."
            f" <i>Run this cell in JupyterLab to use it.</i></p><p>{html.escape(self._may())}</p>"
        )


def _mix(share):
    """White to blue as `share` goes from 0 to 1: [...] -> [..., 3]"""
    blue = np.array([int(BLUE[i : i + 2], 16) for i in (1, 3, 5)])
    return np.rint(255 + np.asarray(share)[..., None] * (blue - 255)).astype(np.uint8)


def _shade(share: float) -> str:
    return "#" + bytes(_mix(share)).hex().upper()


def _picture(shares: np.ndarray, row: int, side: int) -> str:
    """A map as PNG in base64, about `side` pixels wide, with a mark on each side of one row."""
    size = max(2, side // len(shares))
    pixels = _mix(shares).repeat(size, axis=0).repeat(size, axis=1)
    pixels = np.pad(pixels, ((1, 1), (1, 1), (0, 0)), constant_values=187)
    pixels = np.pad(pixels, ((0, 0), (5, 5), (0, 0)), constant_values=255)
    mark = [int(VERMILLION[i : i + 2], 16) for i in (1, 3, 5)]
    pixels[1 + row * size : 1 + (row + 1) * size, :5] = mark
    pixels[1 + row * size : 1 + (row + 1) * size, -5:] = mark
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format="png")
    return base64.b64encode(out.getvalue()).decode("ascii")
