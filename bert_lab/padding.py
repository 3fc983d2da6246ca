"""The positions of a batch that are real: taken out, put back, and let attend to each other.

Padding is never computed. What a layer does to one position alone runs on the N real positions; where
positions meet, in attention, the rows come back.

Shapes: B batch, T positions, N real ones, M labelled ones, d model width, H heads, k = d/H, V vocabulary.
"""

from __future__ import annotations

import functools
import math
from typing import Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional as F

from .checks import IGNORE, as_device_ids, as_labels, as_real_positions

# The parts of a batch, in the order in which a model takes them.
BATCH = ("input_ids", "token_type_ids", "attention_mask", "labels")
_ROWS = 4  # at least so many rows attend together


class Rows:
    """Rows of a batch: `take` their real positions out, `put_back` with zeros between them."""

    def __init__(self, real: Tensor, index: Tensor | None, allowed: Tensor | None):
        self.real, self.shape = real, real.shape  # bool [B, T]
        self.index = index  # [N], where they stand among all B * T; None: all are real, in their order
        self.allowed = allowed  # bool [B or 1, H or 1, T, T], true where i may attend to j; None: everywhere

    @property
    def count(self) -> int:
        """N"""
        return self.real.numel() if self.index is None else len(self.index)

    def take(self, x: Tensor) -> Tensor:
        """[B, T, ...] -> [N, ...]"""
        x = x.flatten(0, 1)
        return x if self.index is None else x.index_select(0, self.index)

    def put_back(self, x: Tensor) -> Tensor:
        """[N, ...] -> [B, T, ...], zero at padding"""
        if self.index is not None:
            x = x.new_zeros(self.shape.numel(), *x.shape[1:]).index_copy(0, self.index, x)
        return x.unflatten(0, self.shape)

    def heads(self, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[N, 3, H, k] -> queries, keys and values, each [B, H, T, k]"""
        q, k, v = self.put_back(qkv).permute(2, 0, 3, 1, 4).unbind()
        return q, k, v

    def mix(self, qkv: Tensor, dropout: float) -> Tensor:
        """softmax(Q K^T / sqrt(k)) V over the allowed positions: [N, 3, H, k] -> [N, d]"""
        mixed = F.scaled_dot_product_attention(*self.heads(qkv), self.allowed, dropout)  # [B, H, T, k]
        return self.take(mixed.transpose(1, 2).flatten(-2))


class Unpadded(Rows):
    """The real positions of a batch, N of its B * T; those of short rows come first.

    real: bool [B, T]. allowed: who may attend to whom, bool, broadcast to [B, H, T, T], padding aside; None:
    all.
    TypeError or ValueError for an `allowed` that is not boolean, does not fit, or leaves a position nothing.
    """

    def __init__(self, real: Tensor, allowed: Tensor | None = None):
        super().__init__(real, None, None)
        self.allowed = allowed = self._without_padding(allowed)
        self.groups: list[Rows] = [self]
        if allowed is None or real.all():
            return
        ends = (real * torch.arange(1, real.shape[1] + 1, device=real.device)).amax(1)  # [B]
        order = ends.argsort(stable=True)
        position = torch.arange(real.numel(), device=real.device).view(real.shape)
        self.index = position[order][real[order]]
        # Attention over rows of like length is spared the padding of the longer ones.
        self.groups = []
        for rows in order.split(max(_ROWS, -(-len(order) // 4))):
            width = max(1, int(ends[rows].max()))
            part = real[rows, :width]
            self.groups.append(
                Rows(part, part.flatten().nonzero().squeeze(1), allowed[rows, :, :width, :width])
            )

    @functools.cached_property
    def positions(self) -> Tensor:
        """Each one's place in its row, [N]"""
        return self.take(torch.arange(self.shape[1], device=self.real.device).expand(self.shape))

    def attend(self, qkv: Tensor, dropout: float) -> Tensor:
        """`mix` in each group of rows: [N, 3, H, k] -> [N, d]"""
        parts = qkv.split([group.count for group in self.groups])
        return torch.cat([group.mix(x, dropout) for group, x in zip(self.groups, parts, strict=True)])

    def attention_weights(self, qkv: Tensor) -> Tensor:
        """softmax(Q K^T / sqrt(k)) over the allowed positions, [B, H, T, T]; 0 at padding"""
        q, k, _ = self.heads(qkv)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, H, T, T]
        if self.allowed is not None:
            scores = scores.masked_fill(~self.allowed, -math.inf)
        return scores.softmax(-1) * (self.real[:, None, :, None] & self.real[:, None, None, :])

    def narrowed(self, near: Tensor) -> Unpadded:
        """The same positions, each of which may attend to those that are also `near`, bool [T, T]"""
        return Unpadded(self.real, near if self.allowed is None else near & self.allowed)

    def labelled(self, labels: ArrayLike | None, n_classes: int) -> tuple[Tensor, Tensor]:
        """Which of the N positions have a label, [M], and their labels, [M]; errors: see `as_labels`"""
        array = as_labels(labels, self.real.cpu().numpy(), n_classes)
        packed = self.take(torch.from_numpy(array).to(self.real.device))  # [N]
        at = (packed != IGNORE).nonzero().squeeze(1)
        return at, packed[at]

    def _without_padding(self, allowed: Tensor | None) -> Tensor | None:
        """`allowed`, checked, less the keys that are padding; None where all may attend to all"""
        if allowed is not None:
            allowed = torch.as_tensor(allowed, device=self.real.device)
            if allowed.dtype != torch.bool:
                raise TypeError(f"allowed: expected booleans, got {allowed.dtype}")
        if not self.real.all():
            keys = self.real[:, None, None, :]
            keys = keys if allowed is None else keys & allowed
            # Padding itself may attend to anything: what it finds is dropped, but has to be finite.
            allowed = keys | ~self.real[:, None, :, None]  # [B, H or 1, T, T]
        if allowed is not None and not allowed.any(-1).all():
            raise ValueError("allowed: expected at least one position for each to look at, got none for some")
        return allowed


class Sizes(Protocol):
    """What a batch asks of a model's config."""

    vocab: int
    max_len: int
    type_vocab: int


class TokenBatch(Unpadded):
    """What an encoder reads: the id and the token type at each real position, [N].

    Arguments and errors are those of `BertEncoder.forward`; type_vocab may be 0: a model without token types.
    """

    def __init__(
        self,
        ids: ArrayLike,
        token_type_ids: ArrayLike | None,
        attn_mask: ArrayLike | None,
        allowed: Tensor | None,
        config: Sizes,
        device: torch.device,
    ):
        ids = as_device_ids(ids, "ids", config.vocab)  # int64 [B, T]
        if ids.ndim != 2 or ids.shape[1] > config.max_len:
            raise ValueError(f"ids: expected [B, T] with T <= {config.max_len}, got {list(ids.shape)}")
        types = np.zeros_like(ids)
        if token_type_ids is not None:
            types = as_device_ids(token_type_ids, "token_type_ids", max(1, config.type_vocab))
        if types.shape != ids.shape:
            raise ValueError(
                f"token_type_ids: expected the shape of ids, {list(ids.shape)}, got {list(types.shape)}"
            )
        real = as_real_positions(attn_mask, ids.shape)
        super().__init__(torch.tensor(real, device=device), allowed)
        self.ids = self.take(torch.tensor(ids, device=device))
        self.token_types = self.take(torch.tensor(types, device=device))


def mean_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of logits [M, V] at targets [M], in nats; 0.0 with zero gradients when M is 0."""
    return F.cross_entropy(logits, targets, reduction="sum") / max(1, len(targets))
