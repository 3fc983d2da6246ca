"""Fill several blanks of one text one after another: the model sees the pieces that it has filled in.

Source: Ghazvininejad et al. 2019 (mask-predict), for filling the most certain blanks first.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model import BertForMLM, evaluating
from ..wordpiece import special_ids

ORDERS = ("all at once", "left to right", "most certain first")


@dataclass(frozen=True)
class Step:
    """One filled blank: its position in the row, the piece that was filled in, and its probability."""

    place: int
    piece: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """A row whose blanks are filled: its ids, its text, and the steps in order."""

    ids: list[int]
    text: str
    steps: list[Step]


def fill_one_by_one(model, tok, text, order: str = "most certain first") -> Filled:
    """Fill every [MASK] of a text with the most probable piece, and run the model again after each one.

    text: a string, or a row of ids. order: one of `ORDERS`. "left to right" fills the first blank that
    remains. "most certain first" fills the blank whose best piece has the highest probability. "all at once"
    fills all blanks from one run of the model. No special token is ever filled in.

    Raises TypeError if `model` is no BertForMLM; ValueError for another order, for a text without [MASK], or
    for a text too long for the model.
    """
    if not isinstance(model, BertForMLM):
        raise TypeError(f"model: expected a BertForMLM, got {type(model).__name__}")
    if order not in ORDERS:
        raise ValueError(f"order: expected one of {', '.join(ORDERS)}, got {order!r}")
    ids = tok.encode(text) if isinstance(text, str) else [int(i) for i in text]
    left = [t for t, piece in enumerate(ids) if piece == tok.mask_id]  # the blanks that remain
    if not left:
        raise ValueError(f"text: expected at least one [MASK], got {text!r}")
    steps = []
    with evaluating(model):
        while left:
            probabilities = model([ids])[0][0, left].softmax(-1)[:, : tok.vocab_size]  # [blanks, V]
            probabilities[:, special_ids(tok)] = 0
            chances, pieces = (part.tolist() for part in probabilities.max(-1))
            first = chances.index(max(chances)) if order == "most certain first" else 0
            for n in range(len(left)) if order == "all at once" else [first]:
                ids[left[n]] = pieces[n]
                steps.append(Step(left[n], tok.tokens([pieces[n]])[0], chances[n]))
            left = [t for t in left if ids[t] == tok.mask_id]
    return Filled(ids, tok.decode(ids, skip_special=True), steps)
