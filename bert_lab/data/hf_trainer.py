"""What `transformers.Trainer` needs besides an `MLMDataset`: the epoch, and equal weights for all labels.

Alone, `Trainer` passes the epoch to a dataset only in a single process, and not in an epoch that it resumes.
With its own BERT it averages the loss over the labels of each rank's batch, although batches differ in their
number of labels.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F
from transformers import TrainerCallback

from ..masking import IGNORE


class SetEpochCallback(TrainerCallback):
    """Calls `dataset.set_epoch` before each epoch: `Trainer(..., callbacks=[SetEpochCallback(dataset)])`.

    It does so in every process, and in the rest of an epoch after `resume_from_checkpoint` too. Raises
    TypeError for a dataset without `set_epoch`.
    """

    def __init__(self, dataset):
        if not callable(getattr(dataset, "set_epoch", None)):
            raise TypeError(f"dataset: expected one with set_epoch, got {type(dataset).__name__}")
        self.dataset, self.epoch = dataset, 0

    def on_train_begin(self, args, state, control, **kwargs) -> None:
        """A new run begins with epoch 0, a resumed one with the epoch of its checkpoint."""
        self.epoch = int(state.epoch or 0)

    def on_epoch_begin(self, args, state, control, **kwargs) -> None:
        """Set the dataset's epoch, counted here: `state.epoch` is too low after an interrupted epoch."""
        self.dataset.set_epoch(self.epoch)
        self.epoch += 1


def mean_over_all_labels(outputs, labels, num_items_in_batch=None) -> torch.Tensor:
    """The summed cross-entropy divided by the number of labels in the whole step, as `compute_loss_func`.

    outputs: a model's, with logits [B, T, V]. labels: [B, T], -100 where nothing is predicted.
    num_items_in_batch: how many labels all ranks and all accumulated batches have together, as `Trainer`
    counts them; these labels alone where it is None.
    """
    total = F.cross_entropy(
        outputs.logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE, reduction="sum"
    )
    count = (labels != IGNORE).sum() if num_items_in_batch is None else num_items_in_batch
    return total / max(1, int(count))
