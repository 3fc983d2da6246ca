"""What comes into the model: checked, on the model's device, and with its padding taken out.

B batch, T positions, N real positions, M labelled ones, V vocabulary.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from .masking import IGNORE, as_array, as_flags, as_ids

# The parts of a batch, in the order in which a model takes them.
BATCH = ("input_ids", "token_type_ids", "attention_mask", "labels")


class Rows:
    """The real positions of a batch: takes them out, [N, ...], and puts them back with zeros between."""

    def __init__(self, real: Tensor):  # bool [B, T]
        self.real, self.shape, self.device = real, real.shape, real.device
        self.count = int(real.sum())  # N
        self.places = None  # where nothing is padded, both ways are a change of shape
        self.parts = [self]
        if self.count < real.numel():
            ends = (real * torch.arange(1, real.shape[1] + 1, device=real.device)).amax(1)  # [B]
            order = ends.argsort(stable=True)
            grid = torch.arange(real.numel(), device=real.device).view(real.shape)
            self.places = grid[order][real[order]]  # [N], the shortest rows first
            # Four or more rows of like length a part: attention over it is spared the padding of the others.
            parts = order.split(max(4, -(-len(order) // 4)))
            self.parts = [Part(real, which, max(1, int(ends[which].max()))) for which in parts]

    def pack(self, x: Tensor) -> Tensor:
        """[B, T, ...] -> [N, ...]"""
        x = x.flatten(0, 1)
        return x if self.places is None else x.index_select(0, self.places)

    def unpack(self, x: Tensor) -> Tensor:
        """[N, ...] -> [B, T, ...], zero at padding"""
        if self.places is not None:
            x = x.new_zeros(self.shape.numel(), *x.shape[1:]).index_copy(0, self.places, x)
        return x.unflatten(0, self.shape)

    def cut(self, allowed: Tensor | None) -> Tensor | None:
        """What these rows need of `allowed`, [B, 1, T, T]"""
        return allowed


class Part(Rows):
    """Some rows of a batch, as wide as the longest; their real positions are neighbors when packed."""

    def __init__(self, real: Tensor, which: Tensor, width: int):
        self.which, self.width = which, width
        self.real = real[which, :width]
        self.shape, self.device, self.count = self.real.shape, real.device, int(self.real.sum())
        self.places = self.real.flatten().nonzero().squeeze(1)

    def cut(self, allowed: Tensor) -> Tensor:
        return allowed[self.which, :, : self.width, : self.width]


def as_integers(values, name: str, limit: int, device: torch.device) -> Tensor:
    """Integers in 0..limit-1 as an int64 tensor on the model's device."""
    return torch.tensor(
        as_ids(values.cpu() if isinstance(values, Tensor) else values, limit, name), device=device
    )


def as_real_positions(attn_mask, ids: Tensor) -> Tensor:
    """The attention mask as bool [B, T]; all true where none is given."""
    if attn_mask is None:
        return torch.ones_like(ids, dtype=torch.bool)
    if isinstance(attn_mask, Tensor):
        attn_mask = (attn_mask.double() if attn_mask.is_floating_point() else attn_mask).cpu()
    mask = as_array(attn_mask, "attn_mask")
    batch, length = ids.shape
    if mask.shape not in ((batch, length), (batch, 1, 1, length)):
        raise ValueError(
            f"attn_mask: expected [B, T] or [B, 1, 1, T] for ids {[batch, length]}, got {list(mask.shape)}"
        )
    return torch.tensor(
        as_flags(mask.reshape(batch, length), "attn_mask", (batch, length)), device=ids.device
    )


def as_allowed(allowed, rows: Rows) -> Tensor | None:
    """Who may look at whom, bool broadcast to [B, H, T, T]: what is asked for, less padding; None for all."""
    if allowed is not None:
        allowed = torch.as_tensor(allowed, device=rows.device)
        if allowed.dtype != torch.bool:
            raise TypeError(f"allowed: expected booleans, got {allowed.dtype}")
    if rows.places is not None:
        keys = rows.real[:, None, None, :]
        if allowed is not None:
            keys = keys & allowed
        # Padding itself may look at anything: what it finds is dropped, but has to be finite.
        allowed = keys | ~rows.real[:, None, :, None]  # [B, 1, T, T]
    if allowed is not None and not allowed.any(-1).all():
        raise ValueError("allowed: expected at least one position for each to look at, got none for some")
    return allowed


def labelled(labels, rows: Rows, vocab: int) -> tuple[Tensor, Tensor]:
    """Which of the N real positions have a label, [M], and their labels, [M]."""
    array = as_array(labels.cpu() if isinstance(labels, Tensor) else labels, "labels")
    if array.dtype.kind not in "iu":
        raise TypeError(f"labels: expected integers, got {array.dtype}")
    labels = torch.tensor(array.astype(np.int64), device=rows.device)
    if labels.shape != rows.shape:
        raise ValueError(f"labels: expected the shape of ids, {list(rows.shape)}, got {list(labels.shape)}")
    asked = labels != IGNORE
    for what, wrong in (
        (f"-100 or an id from 0 to {vocab - 1}", asked & ((labels < 0) | (labels >= vocab))),
        ("-100 at padding", asked & ~rows.real),
    ):
        if wrong.any():
            b, t = wrong.nonzero()[0].tolist()
            raise ValueError(f"labels: expected {what}, got {labels[b, t].item()} at labels[{b}][{t}]")
    labels = rows.pack(labels)
    places = (labels != IGNORE).nonzero().squeeze(1)
    return places, labels[places]


def mean_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of logits [M, V] at targets [M], in nats; 0.0 with zero gradients when M is 0."""
    return F.cross_entropy(logits, targets, reduction="sum") / max(1, len(targets))
