"""How well BERT and its baselines fill the same blanks.

The blanks are in the held-out passages. They are filled one at a time, while the rest of the passage is
visible. The baselines use only a part of it. A guess is right if it is the piece that was hidden.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ..data.corpus import Corpus
from ..masking import IGNORE
from ..model import BertForMLM
from ..wordpiece import special_ids
from .pretrain import held_out_masks
from .shipped import manual_bert

STORED = Path(__file__).parents[1] / "assets" / "ladder.npz"
READERS = {
    "uniform": "a blind guess",
    "unigram": "the most common piece",
    "neighbors": "counts of both neighbors",
    "left_only": "a left-only twin",
    "bert": "this BERT",
}


@dataclass(frozen=True)
class Blanks:
    """M blanks in B passages.

    passages: rows of ids, without masks. row, place: the row and the position of each blank, int64 [M], row
    by row.
    """

    passages: list[list[int]]
    row: np.ndarray
    place: np.ndarray

    def near(self, offset: int) -> np.ndarray:
        """The id `offset` positions to the right of each blank, [M]. Offset 0 gives the answers."""
        pairs = zip(self.row.tolist(), self.place.tolist(), strict=True)
        return np.array([self.passages[row][place + offset] for row, place in pairs], np.int64)

    @property
    def answers(self) -> np.ndarray:
        return self.near(0)


@dataclass(frozen=True)
class ReaderScore:
    """The score of one model: how many blanks it filled correctly (the expected number for a blind guess)."""

    name: str
    hits: float
    blanks: int

    @property
    def accuracy(self) -> float:
        return self.hits / self.blanks


def blanks_of(corpus: Corpus) -> Blanks:
    """The blanks of a corpus's held-out passages, the same for every model."""
    labels = [item["labels"] for item in held_out_masks(corpus)]
    row = np.repeat(np.arange(len(labels)), [int((of_row != IGNORE).sum()) for of_row in labels])
    place = np.concatenate([np.flatnonzero(of_row != IGNORE) for of_row in labels])
    return Blanks(corpus.held_out, row, place)


def score_readers(corpus: Corpus, model: BertForMLM, guesses: Mapping[str, np.ndarray]) -> list[ReaderScore]:
    """The scores of a blind guess, of each of `guesses`, and of BERT, in this order.

    guesses: ids [M] by a key of `READERS`. Raises ValueError for a model of another vocabulary, or for a
    corpus without blanks.
    """
    if model.config.vocab != corpus.tok.vocab_size:
        raise ValueError(f"model: expected one of {corpus.tok.vocab_size} pieces, got {model.config.vocab}")
    blanks = blanks_of(corpus)
    m = len(blanks.row)
    if not m:
        raise ValueError("corpus: expected blanks in the held-out passages, got none: they are too short")
    rungs = [ReaderScore(READERS["uniform"], m / corpus.tok.vocab_size, m)]
    for key, ids in {**guesses, "bert": bert_guesses(model, blanks, corpus.tok.mask_id)}.items():
        rungs.append(ReaderScore(READERS[key], int((ids == blanks.answers).sum()), m))
    return rungs


def shipped_ladder(passages: int | None = None) -> list[ReaderScore]:
    """The scores of the shipped model and its baselines. Only BERT runs; the other guesses are stored.

    passages: how many to use, from the first on. All of them take some minutes at most.
    """
    model, tok = manual_bert()
    with np.load(STORED) as stored:
        ends = np.cumsum(stored["lengths"])
        held_out = [row.tolist() for row in np.split(stored["ids"].astype(np.int64), ends[:-1])][:passages]
        corpus = Corpus(tok, [], held_out)
        m = len(blanks_of(corpus).row)
        guesses = {key: stored[key][:m].astype(np.int64) for key in ("unigram", "neighbors", "left_only")}
    return score_readers(corpus, model, guesses)


def store_guesses(path: Path, corpus: Corpus, twin: BertForMLM) -> None:
    """Write the held-out passages, and the guesses of the baselines, for `shipped_ladder`."""
    blanks = blanks_of(corpus)
    guesses = count_guesses(corpus, blanks) | {"left_only": left_only_guesses(twin, blanks)}
    np.savez_compressed(
        path,
        ids=np.concatenate(corpus.held_out).astype(np.uint16),
        lengths=np.array([len(passage) for passage in corpus.held_out], np.uint8),
        **{key: ids.astype(np.uint16) for key, ids in guesses.items()},
    )


# ---- the readers


def count_guesses(corpus: Corpus, blanks: Blanks) -> dict[str, np.ndarray]:
    """The guesses of the two baselines that only count: "unigram" and "neighbors", int64 [M] each."""
    counts = Counts(corpus)
    pairs = zip(blanks.near(-1).tolist(), blanks.near(1).tolist(), strict=True)
    return {
        "unigram": np.full(len(blanks.row), counts.most_common(), np.int64),
        "neighbors": np.array([counts.between(left, right) for left, right in pairs], np.int64),
    }


class Counts:
    """Counts of each piece in the training passages, alone and by its neighbors, without special tokens."""

    def __init__(self, corpus: Corpus):
        specials = set(special_ids(corpus.tok))
        self.single: Counter = Counter()
        self.after, self.before, self.inside = (defaultdict(Counter) for _ in range(3))
        for passage in corpus.train:
            for left, piece, right in zip(passage, passage[1:], passage[2:], strict=False):
                if piece not in specials:
                    self.single[piece] += 1
                    self.after[left][piece] += 1
                    self.before[right][piece] += 1
                    self.inside[left, right][piece] += 1

    def most_common(self) -> int:
        return _first(self.single)

    def between(self, left: int, right: int) -> int:
        """The piece seen most often between the two.

        If there was none: the piece with the largest P(piece after left) P(right after piece). Else the most
        common piece after the left one, before the right one, or of all.
        """
        if (left, right) in self.inside:
            return _first(self.inside[left, right])
        after, before = self.after.get(left, {}), self.before.get(right, {})
        both = {
            piece: after[piece] * before[piece] / self.single[piece] for piece in after if piece in before
        }
        return _first(both or after or before or self.single)


def _first(scores: Mapping[int, float]) -> int:
    """The piece with the highest score. Among equal scores, the lowest id."""
    return min(scores, key=lambda piece: (-scores[piece], piece))


def bert_guesses(model: BertForMLM, blanks: Blanks, mask_id: int) -> np.ndarray:
    """The most probable piece at each blank, [M], where the rest of the passage is visible."""

    def ask(ids, places):
        each = np.arange(len(places))
        rows = np.tile(ids, (len(places), 1))  # the passage once for each of its blanks
        rows[each, places] = mask_id
        return rows, (each, places), None

    return _guesses(model, blanks, ask)


def left_only_guesses(model: BertForMLM, blanks: Blanks) -> np.ndarray:
    """The most probable piece at each blank, [M], for a left-only model, which sees all pieces before it."""

    def ask(ids, places):
        return ids[None], (0, places - 1), torch.ones(len(ids), len(ids), dtype=torch.bool).tril()

    return _guesses(model, blanks, ask)


def _guesses(model: BertForMLM, blanks: Blanks, ask) -> np.ndarray:
    """The most probable id at each blank, [M].

    ask: ids and blanks of a passage -> rows of ids, the positions whose logits are wanted, and `allowed`.
    """
    guesses = [np.empty(0, np.int64)]
    with torch.no_grad():
        for number in np.unique(blanks.row):
            rows, where, allowed = ask(np.array(blanks.passages[number]), blanks.place[blanks.row == number])
            labels = np.full(rows.shape, IGNORE)
            labels[where] = 0  # any id: a label only selects the position
            logits, _ = model.masked_logits(rows, labels=labels, allowed=allowed)
            guesses.append(logits.argmax(-1).numpy())
    return np.concatenate(guesses)
