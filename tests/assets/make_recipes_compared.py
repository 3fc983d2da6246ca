"""How recipes_compared.json was made: `python tests/assets/make_recipes_compared.py OUT.json RUNS`.

Trains a tiny model by each of three masking recipes, with the same text, steps, first weights and order of
passages, and asks all of them about the same places of held-out text, each shown in three ways. RUNS is a
directory for the runs: when the command was stopped, it goes on where it was.
"""

import argparse
import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from bert_lab.data.corpus import Corpus, manual_corpus
from bert_lab.data.datasets import MLMCollator, MLMDataset
from bert_lab.masking import BERT_SPLIT, IGNORE
from bert_lab.rng import example_stream
from bert_lab.training.pretrain import HELD_OUT_P, Plan, logits_and_labels, pretrain
from bert_lab.wordpiece import special_ids

STEPS = 4000
RECIPES = {
    "80/10/10, p = 0.15": {"p": 0.15, "split": BERT_SPLIT},
    "100/0/0, p = 0.15": {"p": 0.15, "split": (1.0, 0.0, 0.0)},
    "80/10/10, p = 0.40": {"p": 0.4, "split": BERT_SPLIT},
}
VIEWS = ("[MASK]", "the word itself", "another word")


def views(corpus: Corpus) -> Iterator[tuple[str, dict]]:
    """(view, collated batch) for the held-out passages: the same labelled places, shown in three ways.

    15% of the places of each passage are labelled. "[MASK]" hides them all; with "the word itself" the
    passage is as it was written, and no [MASK] is in view; with "another word" each of them shows a piece
    that is neither special nor the right one, and again no [MASK] is in view.
    """
    items = MLMDataset(corpus.held_out, corpus.tok, HELD_OUT_P, split=(1, 0, 0), fixed=True)
    collate, specials = MLMCollator(corpus.tok), special_ids(corpus.tok)
    words = [i for i in range(corpus.tok.vocab_size) if i not in specials]
    rows = {view: [] for view in VIEWS}
    for number in range(len(items)):
        item, rng = items[number], example_stream(1, 0, number)
        inputs, labels = item["input_ids"], item["labels"]
        original = np.where(labels == IGNORE, inputs, labels)
        other = original.copy()
        for t in np.flatnonzero(labels != IGNORE):
            at = words.index(labels[t])
            other[t] = words[(at + 1 + rng.below(len(words) - 1)) % len(words)]
        for view, shown in zip(VIEWS, (inputs, original, other), strict=True):
            rows[view].append({**item, "input_ids": shown})
    for view, shown in rows.items():
        for start in range(0, len(shown), 32):
            yield view, collate(shown[start : start + 32])


def score(model, corpus: Corpus) -> dict[str, dict]:
    """{view: {"hits", "blanks"}}: at how many of the labelled places the likeliest piece is the label."""
    counts = {view: {"hits": 0, "blanks": 0} for view in VIEWS}
    with torch.no_grad():
        for view, batch in views(corpus):
            logits, targets = logits_and_labels(model, batch, left_only=False)
            counts[view]["hits"] += int((logits.argmax(-1) == targets).sum())
            counts[view]["blanks"] += len(targets)
    return counts


def compare(corpus: Corpus, runs: Path, steps: int = STEPS) -> dict:
    """What the JSON file holds: how the models were trained, and the counts of each."""
    watched = replace(corpus, held_out=corpus.held_out[:32])  # enough to follow a run by
    results = {}
    for number, (name, fields) in enumerate(RECIPES.items()):
        plan = Plan(steps=steps, config="tiny", **fields)
        model = pretrain(plan, watched, runs / f"recipe{number}").model
        results[name] = score(model, corpus)
    return {
        "config": plan.config,
        "steps": steps,
        "passages a step": plan.batch,
        "passages": len(corpus.train),
        "held-out passages": len(corpus.held_out),
        "python": platform.python_version(),
        "counts": results,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Train, ask, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the JSON file")
    parser.add_argument("runs", type=Path, help="a directory for the runs")
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    found = compare(manual_corpus(), arguments.runs, arguments.steps)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
