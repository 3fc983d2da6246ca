"""The training loop of the book: AdamW, linear warm-up, linear decay to 0, and clipped gradients.

Source: Devlin et al. 2019, appendix A.2, for the schedule; Loshchilov and Hutter 2019 for AdamW.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from tqdm import tqdm

from ..checks import as_index, as_real
from ..model import BertForMLM
from ..padding import BATCH

WARM_UP = 0.03  # share of the steps


def optimizer_of(model: nn.Module) -> torch.optim.AdamW:
    """AdamW over a model's parameters, with weight decay for matrices, and none for biases and norms."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-6, fused=True)


def learning_rate(step: int, steps: int, peak: float) -> float:
    """The learning rate of step number `step`, which counts from 0."""
    part = (step + 1) / steps
    return peak * min(part / WARM_UP, (1 - part) / (1 - WARM_UP) + 1e-3)


def update(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor, rate: float) -> None:
    """Take one optimizer step on the gradient of `loss`, with its norm clipped to 1."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()


def fit(
    model: nn.Module,
    steps: int,
    loss_of: Callable[[int], Tensor],
    *,
    peak: float = 1e-3,
    progress: bool = False,
) -> list[float]:
    """Train a model in place and return the loss of each step.

    Args:
        model: in train mode while it is trained, and in eval mode after that.
        steps: how many updates, at least 1.
        loss_of: step number, from 0 -> the loss of that step's batch, a scalar tensor.
        peak: the highest learning rate.
        progress: show a bar.

    Raises:
        TypeError, ValueError: steps or peak cannot be used.
        ValueError: a loss is not finite. Training ends before that update.
    """
    steps, peak = as_index(steps, "steps", 1, 2**31), as_real(peak, "peak")
    if not 0 < peak < math.inf:
        raise ValueError(f"peak: expected a finite learning rate > 0, got {peak}")
    optimizer, losses = optimizer_of(model), []
    model.train()
    for step in tqdm(range(steps), unit="step", disable=not progress):
        loss = loss_of(step)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            raise ValueError(f"loss_of({step}): expected a finite loss, got {losses[-1]}")
        update(model, optimizer, loss, learning_rate(step, steps, peak))
    model.eval()
    return losses


def fit_mlm(
    model: BertForMLM, batches, steps: int, *, peak: float = 1e-3, progress: bool = False
) -> list[float]:
    """`fit` by the loss of masked-language modeling: step number k takes `batches[k]`, a dict of `BATCH`."""

    def loss_of(step: int) -> Tensor:
        batch = batches[step]
        return model.mlm_loss(*(batch[name] for name in BATCH))

    return fit(model, steps, loss_of, peak=peak, progress=progress)
