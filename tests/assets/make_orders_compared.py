"""How orders_compared.json was made: `python tests/assets/make_orders_compared.py OUT.json`.

Hides spans of three neighboring pieces in held-out passages, and has the shipped model fill them in three
orders. This Python's manual must be the one that the model was trained on.
"""

import argparse
import json
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from bert_lab.data.corpus import Corpus, manual_corpus
from bert_lab.rng import example_stream
from bert_lab.training.filling import ORDERS, fill_one_by_one
from bert_lab.training.shipped import manual_bert

PASSAGES, SPANS, LENGTH = 200, 4, 3
WHAT = ("single pieces", "whole spans")


def spans(passage: Sequence[int], number: int) -> np.ndarray:
    """The places of `SPANS` spans, int64 [SPANS, LENGTH]: one drawn in each part of a passage.

    Only the pieces between [CLS] and [SEP] are divided into parts; [0, LENGTH] where they are too few.
    """
    rng, part = example_stream(2, 0, number), (len(passage) - 2) // SPANS
    if part < LENGTH:
        return np.empty((0, LENGTH), np.int64)
    starts = [1 + part * i + rng.below(part - LENGTH + 1) for i in range(SPANS)]
    return np.array(starts)[:, None] + np.arange(LENGTH)


def compare(model, corpus: Corpus, passages: int = PASSAGES) -> dict:
    """What the JSON file holds: how many pieces, and how many whole spans, each order found."""
    counts = {what: {order: {"hits": 0, "blanks": 0} for order in ORDERS} for what in WHAT}
    for number, passage in enumerate(corpus.held_out[:passages]):
        places, ids = spans(passage, number), np.array(passage)
        if len(places):
            hidden = ids.copy()
            hidden[places] = corpus.tok.mask_id
            for order in ORDERS:
                filled = np.array(fill_one_by_one(model, corpus.tok, hidden, order).ids)
                right = (filled == ids)[places]  # [SPANS, LENGTH]
                for what, found in zip(WHAT, (right.ravel(), right.all(axis=1)), strict=True):
                    counts[what][order]["hits"] += int(found.sum())
                    counts[what][order]["blanks"] += len(found)
    return {
        "passages": min(passages, len(corpus.held_out)),
        "pieces in a span": LENGTH,
        "python": platform.python_version(),
        "counts": counts,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Ask the shipped model and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the JSON file")
    out = parser.parse_args(argv).out
    torch.set_num_threads(1)
    found = compare(manual_bert()[0], manual_corpus())
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
