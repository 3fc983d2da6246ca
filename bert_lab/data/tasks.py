"""Two tasks made from the text that came with Python: what is asked, the text itself answers.

Their rows are windows of a corpus's passages, cut every `WINDOW` pieces. The held-out rows are those of its
held-out passages, less those that stand, piece for piece, among the others: so a model that was pretrained
on this corpus has not seen them, with labels or without. (A paragraph may be cut between a passage that is
held out and one that is not.) The text differs between versions of Python; the shipped model's is that of
3.11.7, and with another Python it has seen most of what is held out here, though not the labels.
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

WINDOW = 30  # pieces of a row, [CLS] and [SEP] not counted
LEAST = 16  # pieces that a row must have
EXCHANGES = 4  # pairs of neighbors in a row whose order is changed
WORD = re.compile(r"[^\W_]+|\S")  # what the tokenizer, too, cuts at
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
        """What a head's `forward` takes at training step `step`; each epoch has an order of its own."""
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

        It is the mean over the labels of the share of their places that got the right answer: whoever always
        gives the same answer has 1 / len(labels), however common that label is.
        """
        given = torch.cat([answer.flatten() for answer in answers])
        wanted = torch.cat([batch["labels"].flatten() for batch in self.held_out_batches()])
        shares = [(given[wanted == label] == label).double().mean() for label in range(len(self.labels))]
        return torch.stack(shares).mean().item()


def manual_tasks() -> dict[str, Task]:
    """The two tasks on the text of `corpus.manual_corpus`, with the book's vocabulary; some seconds."""
    return tasks_of(manual_documents(), book_tokenizer())


def tasks_of(documents: Iterable[str], tok: WordPieceTokenizer) -> dict[str, Task]:
    """The two tasks on these documents, by name. Errors as in `corpus_of`.

    "order": have neighboring words of the row been exchanged, in `EXCHANGES` places? Half of the rows, by a
    stream of their own, are as they were written. "capitals": was this word written with a capital? It is
    asked at the first piece of each word of two letters or more; the ids of an uncased vocabulary hide it.
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


def cuts(n: int) -> range:
    """Where the windows of a passage of n pieces begin; what is left at its end may be too short for one."""
    return range(0, n - LEAST + 1, WINDOW)


def _windows(documents: list[str], tok: WordPieceTokenizer) -> tuple[list[Window], list[Window]]:
    """The windows to train on, and the held-out ones; the same pieces are there once, and on one side."""
    rows = passages(documents, tok)
    held_out = held_out_of(rows)
    flat = _capitals([text for texts in paragraphs(documents) for text in texts], tok)
    sides = {}, {}
    for number, (_, *ids, _) in enumerate(rows):
        labels = list(itertools.islice(flat, len(ids)))
        for at in cuts(len(ids)):
            pieces, asked = tuple(ids[at : at + WINDOW]), labels[at : at + WINDOW]
            sides[number in held_out].setdefault(pieces, (pieces, asked, example_stream(0, at, number)))
    train, rest = sides
    return list(train.values()), [window for pieces, window in rest.items() if pieces not in train]


def _capitals(texts: list[str], tok: WordPieceTokenizer) -> Iterator[int]:
    """For each piece of these texts 1 or 0, where a word begins, and else -100."""
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
        # A few paragraphs hold signs that the tokenizer does not cut at: nothing is asked there.
        yield from labels if len(labels) == len(ids) else [IGNORE] * len(ids)


def _exchanged(row: Sequence[int], tok: WordPieceTokenizer, rng: PCG32) -> list[int] | None:
    """The row with `EXCHANGES` pairs of neighbors exchanged, words of one piece; None if it has fewer."""
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
