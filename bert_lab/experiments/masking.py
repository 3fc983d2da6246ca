"""Masking after BERT: fixed or new masks, a higher rate, and whole words.

The same model is trained with the same steps on the same passages. Only the masks differ. There are few
passages, so that each is seen many times: BERT's own masks were made once and repeated in later epochs.

Source: Liu et al. 2019, section 4.1, for dynamic masking; Wettig et al. 2023 for 40%; the whole-word
checkpoints of Devlin et al.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..checks import as_index
from ..data.corpus import MAX_LEN, Corpus, manual_corpus
from ..data.datasets import MLMDataset
from ..model import BertConfig, BertForMLM
from ..rng import PCG32
from ..training.fitting import fit_mlm
from ..training.pretrain import SIZES, Batches
from ..training.readers import bert_guesses, blanks_of
from .base import Comparison, as_seeds, environment

DEFAULTS = {"steps": 2000, "passages": 1000}
BATCH_SIZE = 8  # passages a step
PEAK = 1e-3  # the highest learning rate
ROWS = {
    "15%, fixed": {"p": 0.15, "fixed": True},
    "15%, new each epoch": {"p": 0.15},
    "40%, new each epoch": {"p": 0.40},
    "15% of words, new each epoch": {"p": 0.15, "whole_word": True},
}


def run(
    seeds: int = 3,
    steps: int = DEFAULTS["steps"],
    *,
    passages: int = DEFAULTS["passages"],
    corpus: Corpus | None = None,
    say: Callable[[str], None] = print,
) -> Comparison:
    """Train a tiny model with each way of masking, and fill the held-out blanks.

    Args:
        seeds: how many runs for each row. They differ in initial weights, order and masks.
        steps: updates of a run, each on `BATCH_SIZE` passages.
        passages: how many to train on, the first of the corpus.
        corpus: the text; by default the manual of this Python.
        say: called with each result as a line of text.
    """
    corpus = manual_corpus() if corpus is None else corpus
    passages = as_index(passages, "passages", 1, len(corpus.train) + 1)
    few = replace(corpus, train=corpus.train[:passages])
    blanks = blanks_of(corpus)
    scores = {row: [] for row in ROWS}
    for seed in as_seeds(seeds):
        for row, how in ROWS.items():
            model = train(few, seed, steps, **how)
            hits = bert_guesses(model, blanks, corpus.tok.mask_id) == blanks.answers
            scores[row].append(float(hits.mean()))
            say(f"{row}, seed {seed}: {scores[row][-1]:.4f}")
    settings = {
        "steps": steps,
        "passages": passages,
        "epochs": round(steps * BATCH_SIZE / passages, 1),
        **environment(),
    }
    return Comparison("masking", "Share of the ladder's blanks that are filled", settings, scores)


def train(corpus: Corpus, seed: int, steps: int, **how) -> BertForMLM:
    """Train a tiny model on a corpus; return it in eval mode. how: options of `MLMDataset`."""
    data = MLMDataset(corpus.train, corpus.tok, seed=seed, max_len=MAX_LEN, **how)
    batches = Batches(data, corpus.tok, BATCH_SIZE, seed)
    model = BertForMLM(BertConfig(corpus.tok.vocab_size, MAX_LEN, dropout=0.0, **SIZES["tiny"]), PCG32(seed))
    fit_mlm(model, batches, steps, peak=PEAK)
    return model
