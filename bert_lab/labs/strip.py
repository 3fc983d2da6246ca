"""Token strips: a sentence as a row of boxes, coloured and lettered by what masking did to each token."""

import html
from collections.abc import Sequence

from bert_lab.figures.palette import BLUE, FATES

PENDING = "."  # a position that masking has not come to yet
CHOSEN = "?"  # picked, and what will be shown there is not drawn yet
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
    """What `token_strip` draws, as an object a cell can end with: HTML on the page, plain text where there is
    none."""

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
        columns = []
        for token, fate, shown in zip(self.tokens, self.fates, self.shown, strict=True):
            width = max(len(token), len(shown), 1)
            columns.append(
                (token.ljust(width), fate.ljust(width), (shown if fate in "MRK" else "").ljust(width))
            )
        rows = zip(("token", "fate ", "shown"), zip(*columns, strict=True), strict=True) if columns else ()
        return "\n".join(f"{name}  {'  '.join(row)}".rstrip() for name, row in rows)


def token_strip(
    tokens: Sequence[str],
    fates: Sequence[str],
    shown: Sequence[str] | None = None,
    *,
    at: int | None = None,
    legend: bool = True,
) -> str:
    """HTML of a strip: a box a token, coloured and lettered by its fate, with a legend; it wraps when it is
    long.

    tokens, fates, shown: one text each a position. A fate is a letter of `figures.palette.FATES`, or "." for
    a position not visited yet; shown is what the model sees (by default the tokens themselves), printed at
    picked positions. at: the position to frame, or None. Raises ValueError if the lengths differ or a fate is
    unknown.
    """
    return Strip(tokens, fates, shown, at=at, legend=legend)._repr_html_()


def fates_of(ids, special_mask, inputs, labels, mask_id: int) -> list[str]:
    """The letter of `figures.palette.FATES` for each position of one row, [T] each, read off what masking
    returned.

    A random draw that happens to hit [MASK] or the token itself is lettered by what it shows, M or K: the
    arrays cannot tell the difference, and nor can a model.
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
