"""The comparison of ways to mask, on a few passages."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bert_lab.data.corpus import corpus_of
from bert_lab.experiments import masking
from bert_lab.wordpiece import book_tokenizer

TEXT = [
    f"The cat number {i} sat on mat {i % 7} and looked at the {'dog' if i % 2 else 'bird'}." * 3
    for i in range(40)
]
CORPUS = corpus_of(TEXT, book_tokenizer())
CORPUS = replace(CORPUS, train=CORPUS.train[: 4 * masking.BATCH_SIZE])  # an epoch ends with a batch


def test_every_way_gets_a_score_a_seed_and_says_so():
    told = []
    found = masking.run(2, 3, passages=8, corpus=CORPUS, say=told.append)
    assert found.name == "masking" and list(found.scores) == list(masking.ROWS)
    assert all(len(scores) == 2 for scores in found.scores.values())
    assert found.settings | {"steps": 3, "passages": 8, "epochs": 3.0} == found.settings
    assert len(told) == 8 and told[0].startswith("15%, fixed, seed 0: 0.")


@pytest.mark.parametrize("passages", [0, 10_000, 2.5])
def test_a_number_of_passages_that_the_text_has(passages):
    with pytest.raises((TypeError, ValueError), match="passages"):
        masking.run(1, 1, passages=passages, corpus=CORPUS)


def masks(monkeypatch, row: str) -> list[torch.Tensor]:
    """The labels of the batches of two epochs, 2 passages of equal place in each."""
    seen = []

    def fit_mlm(model, batches, steps, *, peak):
        seen.extend(batches[step]["labels"] for step in range(steps))

    monkeypatch.setattr(masking, "fit_mlm", fit_mlm)
    masking.train(CORPUS, 0, 2 * len(CORPUS.train) // masking.BATCH_SIZE, **masking.ROWS[row])
    return seen


def rows_of(batches: list[torch.Tensor]) -> list[tuple]:
    return sorted(tuple(row[row != -100].tolist()) for batch in batches for row in batch)


def test_fixed_masks_come_again_and_others_do_not(monkeypatch):
    half = len(CORPUS.train) // masking.BATCH_SIZE
    for row in masking.ROWS:
        batches = masks(monkeypatch, row)
        again = rows_of(batches[:half]) == rows_of(batches[half:])
        assert again == ("fixed" in row), row


def test_the_shares_are_those_of_the_names(monkeypatch):
    picked = {}
    real = sum(len(passage) - 2 for passage in CORPUS.train) * 2
    for row in masking.ROWS:
        picked[row] = sum(int((batch != -100).sum()) for batch in masks(monkeypatch, row)) / real
    assert all(np.isclose(share, 0.40 if "40%" in row else 0.15, atol=0.04) for row, share in picked.items())
