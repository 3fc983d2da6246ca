"""Heads: does a head learn more from a pretrained encoder than from random weights, in the same few steps?"""

from __future__ import annotations

import torch
from torch import nn

from ..fitting import fit
from ..heads import BertForSequenceClassification, BertForTokenClassification
from ..rng import PCG32
from ..tasks import Task

DEFAULTS = {"steps": 150}
BATCH, PEAK = 16, 5e-4
PEAK_OF_HEAD = 1e-2  # where the head alone is trained


def train_on(
    task: Task, source: nn.Module, seed: int, steps: int = DEFAULTS["steps"], *, frozen: bool = False
) -> float:
    """The score on a task's held-out rows of a fresh head on a copy of an encoder, both trained on the task.

    For any encoder: `train_on(manual_tasks()["order"], encoder, seed)`.

    Args:
        task: of `tasks.manual_tasks()`, whose ids are of the book's vocabulary.
        source: a `BertEncoder` or a kind of it, or a model with one as `encoder`: it is left as it is.
        seed: of the head's first weights and of the order of the rows.
        steps: how many updates, of `BATCH` rows each.
        frozen: train the head alone.

    Returns:
        Balanced accuracy, see `Task.score`.
    """
    kind = BertForTokenClassification if task.per_token else BertForSequenceClassification
    model = kind.from_encoder(source, len(task.labels), PCG32(seed))
    if frozen:
        model.encoder.requires_grad_(False)
    peak = PEAK_OF_HEAD if frozen else PEAK
    fit(model, steps, lambda step: model(**task.batch(step, seed, BATCH))[1], peak=peak)
    with torch.no_grad():
        answers = [
            model(batch["ids"], attn_mask=batch["attn_mask"])[0].argmax(-1)
            for batch in task.held_out_batches()
        ]
    return task.score(answers)
