"""Measure bert_lab against Hugging Face's code, side by side in one run, and print ratios.

    make bench

Each row lets the two sides take turns, a few at a time, and compares the fastest turn of each: on a shared
machine that is the one least disturbed. Both get one thread, the same input, and no warm-up that the other
does not get.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pydoc_data.topics import topics

import numpy as np
import torch
from transformers import AutoTokenizer, DataCollatorForLanguageModeling

from bert_lab import PCG32, mlm_batch, mlm_mask
from bert_lab.wordpiece import book_tokenizer

torch.set_num_threads(1)


@dataclass
class Row:
    """One comparison: what is measured, against what, the wanted ratio, and the two sides."""

    what: str
    against: str
    wanted: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    rounds: int = 10
    turns: int = 5  # of each side in a round
    ours_over_theirs: bool = False  # a cost that may be larger, rather than a speed


def fastest(row: Row) -> tuple[float, float]:
    """The fastest turn of each side, in seconds."""
    best = [float("inf"), float("inf")]
    for _ in range(row.rounds):
        for side, call in enumerate((row.ours, row.theirs)):
            for _ in range(row.turns):
                start = time.perf_counter()
                call()
                best[side] = min(best[side], time.perf_counter() - start)
    return best[0], best[1]


def mask_row(collator) -> Row:
    """`mlm_mask` on a full batch [64, 512] of ids from a vocabulary of BERT's size."""
    vocab = len(collator.tokenizer)
    ids = 5 + PCG32(1).block(64 * 512).astype(np.int64).reshape(64, 512) % (vocab - 5)
    ids[:, 0], ids[:, -1] = 2, 3
    special = ids < 5
    ids_tensor, special_tensor = torch.from_numpy(ids), torch.from_numpy(special)
    rng = PCG32(2)
    return Row(
        "mlm_mask, [64, 512], PCG32",
        "DataCollatorForLanguageModeling.torch_mask_tokens",
        "3, aim 6",
        lambda: mlm_mask(ids, special, 4, vocab, 0.15, rng),
        lambda: collator.torch_mask_tokens(ids_tensor.clone(), special_tokens_mask=special_tensor),
        turns=30,
    )


def batch_row(collator) -> Row:
    """From 64 paragraphs of the Python manual to a masked batch, cut at 128 pieces."""
    tok, theirs = book_tokenizer(), collator.tokenizer
    paragraphs = [p.strip() for text in topics.values() for p in text.split("\n\n") if len(p) > 200][:64]
    rng = PCG32(3)

    def hugging_face():
        encoded = theirs(paragraphs, truncation=True, max_length=128, return_special_tokens_mask=True)
        return collator([{name: encoded[name][i] for name in encoded} for i in range(len(paragraphs))])

    rows = mlm_batch(tok, paragraphs, 128, 0.0, rng)["input_ids"]
    encoded = theirs(paragraphs, truncation=True, max_length=128, padding=True)["input_ids"]
    assert rows.tolist() == encoded, "both sides must do the same work"
    return Row(
        f"mlm_batch, {len(paragraphs)} paragraphs, 128 pieces",
        "tokenizer and DataCollatorForLanguageModeling",
        "1.5, aim 2",
        lambda: mlm_batch(tok, paragraphs, 128, 0.15, rng),
        hugging_face,
    )


def import_row() -> Row:
    """`import bert_lab` in a fresh Python, less what starting Python takes on both sides."""

    def importing(name: str):
        return lambda: subprocess.run([sys.executable, "-c", f"import {name}"], check=True)

    return Row(
        "import bert_lab",
        "import numpy",
        "at most 1.5",
        importing("bert_lab"),
        importing("numpy"),
        turns=1,
        ours_over_theirs=True,
    )


def hugging_face_collator(folder: str) -> DataCollatorForLanguageModeling:
    """Hugging Face's collator over the book's vocabulary, with unused ids up to BERT's 30522."""
    book_tokenizer().save(folder)
    return DataCollatorForLanguageModeling(AutoTokenizer.from_pretrained(folder), mlm_probability=0.15)


def main() -> None:
    """Print one line a row."""
    with tempfile.TemporaryDirectory() as folder:
        collator = hugging_face_collator(folder)
        rows = [mask_row(collator), batch_row(collator), import_row()]
        print(f"{'what':<38} {'against':<50} {'ratio':>6}  wanted")
        for row in rows:
            ours, theirs = fastest(row)
            ratio = ours / theirs if row.ours_over_theirs else theirs / ours
            print(f"{row.what:<38} {row.against:<50} {ratio:>6.2f}  {row.wanted}")


if __name__ == "__main__":
    main()
