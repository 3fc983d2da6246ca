"""Two tasks made from the text that came with Python. The text itself gives the labels.

Their rows are windows of a corpus's passages, one every `WINDOW` pieces. The held-out rows come from its
held-out passages. A held-out row with the same pieces as a training row is left out. So a model that was
pretrained on this corpus has not seen the held-out rows, with labels or without. (A paragraph may be split
between a training passage and a held-out passage.)

The text differs between versions of Python. The shipped model was pretrained on the text of 3.11.7. With
another Python it has seen most of the text that is held out here, but not the labels.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..masking import IGNORE
from ..rng import PCG32, epoch_order, example_stream
from ..wordpiece import WordPieceTokenizer, book_tokenizer
from .corpus import held_out_of, manual_documents, paragraphs, passages

WINDOW = 30  # pieces of a row at most, without [CLS] and [SEP]
MIN_PIECES = 16  # of a row
EXCHANGES = 4  # pairs of neighboring words that are exchanged in a row
WORD = re.compile(r"[^\W_]+|\S")  # the tokenizer splits words in the same way
Example = tuple[list[int], list[int]]  # a row of ids; the labels of its tokens, or its one label


@dataclass(frozen=True)
class Task:
    """A question with one of a few answers, about rows or about the tokens in them.

    name: "order" or "capitals". question: one sentence. per_token: whether each token has a label (-100 where
    nothing is asked), or each row. labels: what the numbers 0, 1, ... mean. train, held_out: (ids, labels) of
    each row, ids with [CLS] and [SEP].
    """

    name: str
    question: str
    per_token: bool
    labels: tuple[str, ...]
    train: list[Example]
    held_out: list[Example]

    def batch(self, step: int, seed: int, size: int = 16) -> dict[str, Tensor]:
        """The arguments of a head's `forward` at training step `step`. Each epoch has another order."""
        n = len(self.train)
        epochs = (divmod(place, n) for place in range(step * size, (step + 1) * size))
        return self.collate([self.train[epoch_order(n, seed, epoch)[at]] for epoch, at in epochs])

    def held_out_batches(self, size: int = 64) -> Iterator[dict[str, Tensor]]:
        """The held-out rows, in their order."""
        for start in range(0, len(self.held_out), size):
            yield self.collate(self.held_out[start : start + size])

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """ids, attn_mask [B, T] and labels, [B, T] or [B], of these examples; padding has the id 0."""
        ids, labels = zip(*examples, strict=True)
        padded = {"ids": (ids, 0), "attn_mask": ([[1] * len(row) for row in ids], 0)}
        if self.per_token:
            padded["labels"] = labels, IGNORE
        width = max(map(len, ids))
        batch = {
            name: torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows])
            for name, (rows, fill) in padded.items()
        }
        return {"labels": torch.tensor(labels).flatten(), **batch} if not self.per_token else batch

    def score(self, answers: Sequence[Tensor]) -> float:
        """Balanced accuracy of the answers to `held_out_batches`, [B, T] or [B] each.

        This is the accuracy for each label, averaged over the labels. A constant answer scores
        1 / len(labels), however common that label is.
        """
        given = torch.cat([answer.flatten() for answer in answers])
        wanted = torch.cat([batch["labels"].flatten() for batch in self.held_out_batches()])
        shares = [(given[wanted == label] == label).double().mean() for label in range(len(self.labels))]
        return torch.stack(shares).mean().item()


def manual_tasks() -> dict[str, Task]:
    """The two tasks on the text of `corpus.manual_corpus`, with the book's vocabulary. Takes some seconds."""
    return tasks_of(manual_documents(), book_tokenizer())


def tasks_of(documents: Iterable[str], tok: WordPieceTokenizer) -> dict[str, Task]:
    """The two tasks on these documents, by name. Errors as in `corpus_of`.

    "order": were `EXCHANGES` pairs of neighboring words exchanged in this row? A random half of the rows is
    left as it was written. "capitals": was this word written with a capital? The label is at the first piece
    of each word of two letters or more. An uncased vocabulary hides the answer.
    """
    train, held_out = _windows(list(documents), tok)

    def task(name: str, question: str, labels: tuple[str, str], example_of) -> Task:
        rows = ([e for window in side if (e := example_of(*window))] for side in (train, held_out))
        return Task(name, question, name == "capitals", labels, *rows)

    def framed(pieces: Sequence[int]) -> list[int]:
        return [tok.cls_id, *pieces, tok.sep_id]

    def order(pieces, _, rng) -> Example | None:
        exchanged, is_exchanged = _exchanged(pieces, tok, rng), rng.uniform() < 0.5
        return exchanged and (framed(exchanged if is_exchanged else pieces), [int(is_exchanged)])

    def capitals(pieces, asked, _) -> Example:
        return framed(pieces), [IGNORE, *asked, IGNORE]

    return {
        "order": task("order", "Have words been exchanged?", ("as written", "exchanged"), order),
        "capitals": task("capitals", "Had this word a capital?", ("small", "capital"), capitals),
    }


Window = tuple[tuple[int, ...], list[int], PCG32]  # pieces, a label for each, a generator of its own


def window_starts(n: int) -> range:
    """The starts of the windows of a passage of n pieces. A rest below `MIN_PIECES` is dropped."""
    return range(0, n - MIN_PIECES + 1, WINDOW)


def _windows(documents: list[str], tok: WordPieceTokenizer) -> tuple[list[Window], list[Window]]:
    """The training windows, and the held-out windows. No two windows have the same pieces."""
    rows = passages(documents, tok)
    held_out = held_out_of(rows)
    flat = _capitals([text for texts in paragraphs(documents) for text in texts], tok)
    sides = {}, {}
    for number, (_, *ids, _) in enumerate(rows):
        labels = list(itertools.islice(flat, len(ids)))
        for at in window_starts(len(ids)):
            pieces, asked = tuple(ids[at : at + WINDOW]), labels[at : at + WINDOW]
            sides[number in held_out].setdefault(pieces, (pieces, asked, example_stream(0, at, number)))
    train, rest = sides
    return list(train.values()), [window for pieces, window in rest.items() if pieces not in train]


def _capitals(texts: list[str], tok: WordPieceTokenizer) -> Iterator[int]:
    """A label for each piece of these texts: 1 or 0 at the first piece of a word, -100 elsewhere."""
    cut = [WORD.findall(text) for text in texts]
    words = sorted({word for words in cut for word in words})
    counts = dict(zip(words, map(len, tok.encode_plain(words)), strict=True))
    for words, ids in zip(cut, tok.encode_plain(texts), strict=True):
        labels = []
        for word in words:
            row = [IGNORE] * counts[word]
            if word.isalpha() and len(word) > 1:
                row[:1] = [int(word[0].isupper())]
            labels += row
        # The tokenizer splits a few paragraphs in another way than `WORD`: they get no labels.
        yield from labels if len(labels) == len(ids) else [IGNORE] * len(ids)


def _exchanged(row: Sequence[int], tok: WordPieceTokenizer, rng: PCG32) -> list[int] | None:
    """The row with `EXCHANGES` pairs of neighboring one-piece words exchanged; None if it has too few."""
    pieces = [*tok.tokens(row), "##"]
    places = [
        i
        for i, (left, right, after) in enumerate(zip(pieces, pieces[1:], pieces[2:], strict=False))
        if left.isalpha() and right.isalpha() and left != right and not after.startswith("##")
    ]
    row, missing = list(row), EXCHANGES
    while places and missing:
        i = places[rng.below(len(places))]
        row[i], row[i + 1] = row[i + 1], row[i]
        places, missing = [place for place in places if abs(place - i) > 1], missing - 1
    return None if missing else row
