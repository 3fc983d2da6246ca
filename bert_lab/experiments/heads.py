"""Heads on a pretrained encoder and on random weights, trained for the same few steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import nn

from ..beyond.heads import BertForSequenceClassification, BertForTokenClassification
from ..data.tasks import Task, manual_tasks
from ..model import BertEncoder
from ..rng import PCG32
from ..training.fitting import fit
from ..training.shipped import manual_bert
from .base import Comparison, as_seeds, environment

DEFAULTS = {"steps": 150}
BATCH_SIZE = 16  # rows a step
PEAK = 5e-4  # the highest learning rate
PEAK_OF_HEAD = 1e-2  # the same, if the head alone is trained
SHIPPED, RANDOM = "shipped weights", "random weights"
HEAD, CONSTANT = "shipped, head alone", "one answer always"


def train_on(
    task: Task, source: nn.Module, seed: int, steps: int = DEFAULTS["steps"], *, frozen: bool = False
) -> float:
    """Train a new head and a copy of an encoder on a task; return the score on the task's held-out rows.

    For any encoder: `train_on(manual_tasks()["order"], encoder, seed)`.

    Args:
        task: of `tasks.manual_tasks()`, whose ids are of the book's vocabulary.
        source: a `BertEncoder` or a kind of it, or a model with one as `encoder`. It is not changed.
        seed: of the head's initial weights and of the order of the rows.
        steps: how many updates, of `BATCH_SIZE` rows each.
        frozen: train the head alone.

    Returns:
        Balanced accuracy, see `Task.score`.
    """
    kind = BertForTokenClassification if task.per_token else BertForSequenceClassification
    model = kind.from_encoder(source, len(task.labels), PCG32(seed))
    if frozen:
        model.encoder.requires_grad_(False)
    peak = PEAK_OF_HEAD if frozen else PEAK
    fit(model, steps, lambda step: model(**task.batch(step, seed, BATCH_SIZE))[1], peak=peak)
    with torch.no_grad():
        answers = [model(**batch)[0].argmax(-1) for batch in task.held_out_batches()]
    return task.score(answers)


def run(
    seeds: int = 3,
    steps: int = DEFAULTS["steps"],
    *,
    tasks: Mapping[str, Task] | None = None,
    say: Callable[[str], None] = print,
) -> Comparison:
    """Train the same heads on the shipped encoder and on random weights of its sizes.

    Args:
        seeds: how many. Each has its own head, random weights and order of the rows.
        steps: of `BATCH_SIZE` rows each.
        tasks: what is learned, in the book's vocabulary; by default `manual_tasks()`.
        say: called with each result as a line of text.

    Raises TypeError or ValueError for seeds or steps below 1, or something else.
    """
    numbers = as_seeds(seeds)
    shipped = manual_bert()[0].encoder
    tasks = manual_tasks() if tasks is None else tasks
    scores, facts = {}, {}
    for name, task in tasks.items():
        rows = {row: f"{name}: {row}" for row in (SHIPPED, RANDOM, HEAD, CONSTANT)}
        scores |= {row: [] for row in rows.values()}
        for seed in numbers:
            fresh = BertEncoder(shipped.config, PCG32(seed))
            for row, encoder in ((SHIPPED, shipped), (RANDOM, fresh), (HEAD, shipped)):
                scores[rows[row]].append(train_on(task, encoder, seed, steps, frozen=row == HEAD))
                say(f"{rows[row]}, seed {seed}: {scores[rows[row]][-1]:.4f}")
        share, constant = _constant(task)
        scores[rows[CONSTANT]].append(constant)
        facts[rows[CONSTANT]] = {"accuracy": share}
    return Comparison(
        "heads",
        "balanced accuracy on held-out rows: for each answer the share found, and their mean",
        {
            "steps": steps,
            "rows a step": BATCH_SIZE,
            "peak": PEAK,
            "peak of a head alone": PEAK_OF_HEAD,
            "seeds": len(numbers),
            **environment(),
        },
        scores,
        facts,
    )


def _constant(task: Task) -> tuple[float, float]:
    """Plain and balanced accuracy of the most common answer."""
    labels = [batch["labels"] for batch in task.held_out_batches()]
    counts = torch.cat([part.flatten() for part in labels]).clamp(min=-1).add(1).bincount()[1:]
    answer = counts.argmax()
    share = (counts[answer] / counts.sum()).item()
    return share, task.score([torch.full_like(part, answer) for part in labels])
