"""Measure bert_lab against Hugging Face's code, side by side in one run, and print ratios.

    make bench

Each row lets the two sides take turns, a few at a time, and compares the fastest turn of each: on a shared
machine that is the one least disturbed. Both sides get the same input and the same number of threads, two for
the model, one for the rest.
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
from transformers import (
    AutoTokenizer,
    BertForMaskedLM,
    BertModel,
    DataCollatorForLanguageModeling,
)
from transformers import BertConfig as TheirConfig

from bert_lab import PCG32, BertConfig, BertEncoder, BertForMLM, mlm_batch, mlm_mask
from bert_lab.data.corpus import passages
from bert_lab.data.datasets import MLMCollator, MLMDataset
from bert_lab.wordpiece import book_tokenizer

VOCAB = 30522  # of BERT-base


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
    threads: int = 1
    tokens: int = 0  # of a turn: their number a second is printed, ours and theirs


def fastest(row: Row) -> tuple[float, float]:
    """The fastest turn of each side, in seconds."""
    torch.set_num_threads(row.threads)
    best = [float("inf"), float("inf")]
    for _ in range(row.rounds):
        for side, call in enumerate((row.ours, row.theirs)):
            for _ in range(row.turns):
                start = time.perf_counter()
                call()
                best[side] = min(best[side], time.perf_counter() - start)
    return best[0], best[1]


def mask_row(collator) -> Row:
    """`mlm_mask` on a full batch [64, 512] of ids from the book's vocabulary."""
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


def ragged_batch(full: bool) -> dict[str, torch.Tensor]:
    """A masked batch [16, 128] of ids below 30522; lengths 20 to 128, evenly spread, or all 128."""
    lengths = np.full(16, 128) if full else np.linspace(20, 128, 16).astype(int)
    real = np.arange(128) < lengths[:, None]
    ids = np.where(real, 5 + PCG32(4).block(16 * 128).reshape(16, 128) % (VOCAB - 5), 0).astype(np.int64)
    inputs, labels = mlm_mask(ids, ~real, 4, VOCAB, 0.15, PCG32(5))
    arrays = {"ids": inputs, "attn_mask": real.astype(np.int64), "labels": labels}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def their_config() -> TheirConfig:
    """6 layers x 384 in Hugging Face's words; attention and dropout as they come."""
    return TheirConfig(
        vocab_size=VOCAB,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=6,
        intermediate_size=1536,
        max_position_embeddings=128,
    )


def step_row(full: bool) -> Row:
    """A training step: forward, loss, backward, AdamW."""
    batch = ragged_batch(full)
    ours, theirs = BertForMLM(BertConfig(VOCAB, 128, 384, 6, 6, 1536)), BertForMaskedLM(their_config())
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-4) for model in (ours, theirs)]

    def our_step():
        optimizers[0].zero_grad()
        ours.mlm_loss(batch["ids"], None, batch["attn_mask"], batch["labels"]).backward()
        optimizers[0].step()

    def their_step():
        optimizers[1].zero_grad()
        output = theirs(input_ids=batch["ids"], attention_mask=batch["attn_mask"], labels=batch["labels"])
        output.loss.backward()
        optimizers[1].step()

    lengths = "all full" if full else "lengths 20 to 128"
    return Row(
        f"training step, {lengths}",
        "the same with transformers.BertForMaskedLM",
        "1.2" if full else "3",
        our_step,
        their_step,
        rounds=4,
        turns=2,
        threads=2,
    )


def pretraining_row(collator) -> Row:
    """A step of pretraining at the shipped model's size: masks, padding, forward, loss, backward, AdamW."""
    tok = book_tokenizer()
    rows = passages(list(topics.values())[:20], tok)[:32]
    dataset = MLMDataset(rows, tok, max_len=128)
    # What their collator gets: ids, and the special tokens that the tokenizer found.
    features = [{"input_ids": ids, "special_tokens_mask": [int(i < 5) for i in ids]} for ids in rows]
    our_collator = MLMCollator(tok)
    ours = BertForMLM(BertConfig(tok.vocab_size, 128, 192, 4, 4, 768))
    theirs = BertForMaskedLM(
        TheirConfig(
            vocab_size=tok.vocab_size,
            hidden_size=192,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=768,
            max_position_embeddings=128,
        )
    )
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-4) for model in (ours, theirs)]

    def our_step():
        batch = our_collator([dataset[i] for i in range(len(dataset))])
        optimizers[0].zero_grad()
        ours.mlm_loss(
            batch["input_ids"], batch["token_type_ids"], batch["attention_mask"], batch["labels"]
        ).backward()
        optimizers[0].step()

    def their_step():
        optimizers[1].zero_grad()
        theirs(**collator([dict(feature) for feature in features])).loss.backward()
        optimizers[1].step()

    return Row(
        f"pretraining step, {len(rows)} passages, 4 x 192",
        "BertForMaskedLM and its collator",
        "1.5",
        our_step,
        their_step,
        rounds=4,
        turns=2,
        threads=2,
        tokens=sum(map(len, rows)),
    )


def encoder_row() -> Row:
    """A forward of the encoder, in eval mode and without gradients."""
    batch = ragged_batch(full=False)
    ours, theirs = (
        BertEncoder(BertConfig(VOCAB, 128, 384, 6, 6, 1536)).eval(),
        BertModel(their_config()).eval(),
    )

    @torch.no_grad()
    def our_forward():
        ours(batch["ids"], None, batch["attn_mask"])

    @torch.no_grad()
    def their_forward():
        theirs(input_ids=batch["ids"], attention_mask=batch["attn_mask"])

    return Row(
        "encoder forward, lengths 20 to 128",
        "transformers.BertModel",
        "1.4",
        our_forward,
        their_forward,
        rounds=5,
        turns=3,
        threads=2,
    )


def import_row() -> Row:
    """`import bert_lab` in a fresh Python, whose start is part of both sides."""

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
    """Hugging Face's collator over the book's vocabulary."""
    book_tokenizer().save(folder)
    return DataCollatorForLanguageModeling(AutoTokenizer.from_pretrained(folder), mlm_probability=0.15)


def main() -> None:
    """Print one line a row."""
    with tempfile.TemporaryDirectory() as folder:
        collator = hugging_face_collator(folder)
        rows = [
            lambda: mask_row(collator),
            lambda: batch_row(collator),
            import_row,
            lambda: step_row(full=False),
            lambda: step_row(full=True),
            lambda: pretraining_row(collator),
            encoder_row,
        ]
        print(f"{'what':<38} {'against':<50} {'ratio':>6}  wanted")
        for make in rows:
            row = make()
            ours, theirs = fastest(row)
            ratio = ours / theirs if row.ours_over_theirs else theirs / ours
            print(f"{row.what:<38} {row.against:<50} {ratio:>6.2f}  {row.wanted}")
            if row.tokens:
                speeds = (f"{row.tokens / seconds:,.0f}" for seconds in (ours, theirs))
                print("  tokens a second: {} and {}".format(*speeds))


if __name__ == "__main__":
    main()
