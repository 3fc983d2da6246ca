"""Token strips: a sentence as a row of boxes, with a color and a letter for the fate of each token."""

import html
from collections.abc import Sequence

from bert_lab.figures.palette import BLUE, FATES
from bert_lab.text_table import text_table

PENDING = "."  # a position that masking has not visited yet
CHOSEN = "?"  # picked, before its action is drawn
_LOOKS = {
    **FATES,
    PENDING: ("#FFFFFF", "not visited yet"),
    CHOSEN: ("#FFFFFF", "picked, what to show is drawn next"),
}

_BOX = (
    "display:inline-block;min-width:3.2em;margin:2px 4px 6px 0;padding:2px 8px 3px;border:{border};"
    "border-radius:4px;background-color:{color};color:#000000;text-align:center;vertical-align:top;"
    "line-height:1.35;font-size:15px"
)


class Strip:
    """The strip of `token_strip` as an object that a cell can end with, as HTML or as plain text."""

    def __init__(
        self,
        tokens: Sequence[str],
        fates: Sequence[str],
        shown: Sequence[str] | None = None,
        *,
        at: int | None = None,
        legend: bool = True,
    ):
        self.tokens, self.fates = list(tokens), list(fates)
        self.shown = self.tokens if shown is None else list(shown)
        if not len(self.tokens) == len(self.fates) == len(self.shown):
            counts = f"{len(self.tokens)} tokens, {len(self.fates)} fates and {len(self.shown)} shown"
            raise ValueError(f"a strip needs as many fates and shown tokens as tokens, got {counts}")
        unknown = sorted({str(fate) for fate in self.fates if fate not in _LOOKS})
        if unknown:
            raise ValueError(f"fates must be among {' '.join(_LOOKS)}, got {' '.join(unknown)}")
        self.at = at
        self.legend = legend

    def _repr_html_(self) -> str:
        boxes = "".join(self._box(i) for i in range(len(self.tokens)))
        said = html.escape(
            "Token strip: " + "; ".join(self._said(i) for i in range(len(self.tokens))), quote=True
        )
        strip = f'<div role="list" aria-label="{said}" style="white-space:normal">{boxes}</div>'
        return strip + (_legend() if self.legend else "")

    def _box(self, i: int) -> str:
        color = _LOOKS[self.fates[i]][0]
        border = f"3px solid {BLUE}" if i == self.at else "1px solid #666666"
        if self.fates[i] == PENDING:
            border = "1px dashed #666666"
        original, shown = html.escape(self.tokens[i]), html.escape(self.shown[i])
        if self.fates[i] in "MRK":
            original = f"<s>{original}</s> {shown}" if self.fates[i] != "K" else original
        said = html.escape(self._said(i), quote=True)
        return (
            f'<span role="listitem" title="{said}" style="{_BOX.format(border=border, color=color)}">'
            f"{original}<br><b>{html.escape(self.fates[i])}</b></span> "
        )

    def _said(self, i: int) -> str:
        meaning = _LOOKS[self.fates[i]][1]
        instead = f" ({self.shown[i]})" if self.fates[i] == "R" else ""
        return f"position {i}, {self.tokens[i]}: {meaning}{instead}"

    def __repr__(self) -> str:
        if not self.tokens:
            return ""
        shown = [text if fate in "MRK" else "" for text, fate in zip(self.shown, self.fates, strict=True)]
        return text_table([("token", *self.tokens), ("fate", *self.fates), ("shown", *shown)])


def token_strip(
    tokens: Sequence[str],
    fates: Sequence[str],
    shown: Sequence[str] | None = None,
    *,
    at: int | None = None,
    legend: bool = True,
) -> str:
    """HTML of a strip: a box for each token, with a color and a letter for its fate, and a legend.

    tokens, fates, shown: one text for each position. A fate is a letter of `palette.FATES`, or "." for a
    position not visited yet. shown is what the model sees, by default the tokens; it is printed at picked
    positions. at: the position to frame, or None. Raises ValueError if the lengths differ or a fate is
    unknown.
    """
    return Strip(tokens, fates, shown, at=at, legend=legend)._repr_html_()


def fates_of(ids, special_mask, inputs, labels, mask_id: int) -> list[str]:
    """The letter of `palette.FATES` for each position of one row, [T] each, from the results of masking.

    A random token that happens to be [MASK] or the token itself gets the letter M or K. The arrays do not
    show the difference.
    """
    letters = []
    for original, special, shown, label in zip(ids, special_mask, inputs, labels, strict=True):
        if label == -100:
            letters.append("S" if special else "-")
        else:
            letters.append("M" if shown == mask_id else "K" if shown == original else "R")
    return letters


def _legend() -> str:
    key = (
        "display:inline-block;min-width:1.3em;padding:0 3px;border:1px solid #666666;border-radius:3px;"
        "color:#000000;text-align:center;background-color:"
    )
    entries = " ".join(
        f'<span style="display:inline-block;margin-right:14px"><b style="{key}{color}">{letter}</b>'
        f" {html.escape(meaning)}</span>"
        for letter, (color, meaning) in FATES.items()
    )
    return f'<div style="font-size:13px;line-height:1.7">{entries}</div>'
