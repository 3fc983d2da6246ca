"""ELECTRA: a small generator fills the blanks, and the encoder learns to detect which pieces were replaced.

The generator is a small `BertForMLM`. Pieces drawn from its predictions are put into the blanks. The
discriminator says at every position whether its piece was replaced. So it learns from all real positions, not
from the blanks alone. After training, the generator is not used any more.

Shapes: B batch, T positions, N real ones, M blanks, d model width, e width of the tables, V vocabulary.
Source: Clark et al. 2020, "ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import checkpoint
from ..checks import as_index, as_real, check_config
from ..hf.config import Fields
from ..hf.loading import Architecture
from ..hf.plan import Names, expected_by, load_into
from ..hf.weights import Problem
from ..masking import IGNORE
from ..model import BertConfig, BertEncoder, BertForMLM, linear, table
from ..padding import BATCH, TokenBatch, mean_cross_entropy
from ..rng import PCG32

DISCRIMINATOR_WEIGHT = 50.0  # of its loss: Clark et al. 2020, section 2 and appendix A


# ---- the discriminator


@dataclass
class ElectraConfig(BertConfig):
    """The sizes of a discriminator whose tables may be narrower than its layers.

    d_embedding: the width e of the tables, >= 1; by default d_model. The other fields and the errors are
    those of `BertConfig`.
    """

    d_embedding: int | None = None

    def __post_init__(self):
        super().__post_init__()
        width = self.d_model if self.d_embedding is None else self.d_embedding
        self.d_embedding = as_index(width, "d_embedding", 1, 2**31)


class ElectraEncoder(BertEncoder):
    """A `BertEncoder` whose tables have width e. If e is not d, `project` maps their normed sum to d.

    Weights are drawn from `rng` (or PCG32(0)) in the order of the parameters: tables, projection, layers.
    """

    config_class = ElectraConfig

    def make_embeddings(self, config: ElectraConfig, rng: PCG32) -> None:
        e, d = config.d_embedding, config.d_model
        self.word, self.position = table(config.vocab, e, rng), table(config.max_len, e, rng)
        self.token_type = table(config.type_vocab, e, rng)
        self.norm = nn.LayerNorm(e, config.ln_eps)
        self.project = nn.Identity() if e == d else linear(e, d, rng)

    def embed(self, batch: TokenBatch) -> Tensor:
        """As in `BertEncoder`, and projected: [N, d]"""
        return self.project(super().embed(batch))


class ElectraDiscriminator(nn.Module):
    """The encoder with a head that gives one number for each position: w GELU(W h + b) + c.

    `config` is a `BertConfig`, for a `BertEncoder`, or an `ElectraConfig`, for an `ElectraEncoder`. Weights
    are drawn as in `BertLayer`.
    """

    def __init__(self, config: BertConfig, rng: PCG32 | None = None):
        super().__init__()
        check_config(config, BertConfig)
        self.config, rng = config, rng or PCG32(0)
        self.encoder = (ElectraEncoder if isinstance(config, ElectraConfig) else BertEncoder)(config, rng)
        self.transform = linear(config.d_model, config.d_model, rng)
        self.prediction = linear(config.d_model, 1, rng)

    def forward(self, ids, token_type_ids=None, attn_mask=None, labels=None) -> tuple[Tensor, Tensor | None]:
        """`(logits, loss)`: logits [B, T], above 0 for a piece classified as replaced, 0 at padding.

        Args:
            ids, token_type_ids, attn_mask: as in `BertEncoder.forward`.
            labels: integers [B, T]: 1 where the piece was replaced, 0 where it is the original, -100 at
                padding and other positions without a label. The loss is the mean binary cross-entropy, in
                nats, over the labels that are not -100; 0.0 if there are none; None without labels.

        Raises as `BertForMLM.forward` does.

        Source: Clark et al. 2020, section 2, the loss of the discriminator.
        """
        batch = self.encoder.batch_of(ids, token_type_ids, attn_mask)
        h = self.encoder.read(batch)  # [N, d]
        logits = self.prediction(F.gelu(self.transform(h))).squeeze(-1)  # [N]
        if labels is None:
            return batch.put_back(logits), None
        at, targets = batch.labelled(labels, 2)
        at_labels = logits[at]  # [M]
        loss = F.binary_cross_entropy_with_logits(at_labels, targets.to(logits.dtype), reduction="sum")
        return batch.put_back(logits), loss / max(1, len(targets))


# ---- the pair


def sample_replacements(logits: Tensor, rng) -> Tensor:
    """One id for each row of logits [M, V], drawn from its softmax: int64 [M].

    Each row takes one `rng.uniform()` u, in order. It gives the smallest id whose cumulative probability
    exceeds u, as in `sample_categorical`. Probabilities and their sums are float64.

    Raises TypeError for logits that are no floating-point tensor, and for a generator without uniform();
    ValueError for another shape, and for logits without a softmax (NaN). Nothing is drawn then.

    Source: Clark et al. 2020, section 2, the distribution of the generator; the course text, section 2.2.
    """
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        told = logits.dtype if isinstance(logits, Tensor) else type(logits).__name__
        raise TypeError(f"logits: expected a tensor of floating-point numbers, got {told}")
    if logits.dim() != 2 or not logits.shape[1]:
        raise ValueError(f"logits: expected [M, V] with V >= 1, got {list(logits.shape)}")
    if isinstance(rng, type) or not callable(getattr(rng, "uniform", None)):
        raise TypeError(f"rng: expected a generator with uniform(), such as PCG32(42), got {rng!r}")
    p = logits.detach().double().softmax(-1).cpu().numpy()
    if np.isnan(p).any():
        raise ValueError("logits: expected numbers with a softmax, got NaN, infinity or -infinity alone")
    m, v = p.shape
    # A PCG32 draws in one block. A subclass may have changed `uniform`, so it is called one by one.
    u = rng.block(m) * 2.0**-32 if type(rng) is PCG32 else np.array([rng.uniform() for _ in range(m)])
    found = (p.cumsum(1) <= u[:, None]).sum(1)
    last = (
        v - 1 - (p[:, ::-1] > 0).argmax(1)
    )  # the last id that can be drawn: the sum may be below 1 by rounding
    return torch.from_numpy(np.minimum(found, last)).to(logits.device)


def generator_config(config: BertConfig) -> BertConfig:
    """The generator's sizes for a discriminator: half the layers, a quarter of the feed-forward width.

    The generator is as wide as the tables, which both share. The paper's generators have a quarter to a half
    of the discriminator's size. They are narrower, with a projection after the tables.

    Source: Clark et al. 2020, section 3.2.
    """
    width = _table_width(config)
    return BertConfig(
        config.vocab,
        config.max_len,
        d_model=width,
        n_heads=math.gcd(config.n_heads, width),
        n_layers=max(1, config.n_layers // 2),
        d_ff=max(1, config.d_ff // 4),
        type_vocab=config.type_vocab,
        dropout=config.dropout,
        ln_eps=config.ln_eps,
    )


def _table_width(config: BertConfig) -> int:
    check_config(config, BertConfig)
    return config.d_embedding if isinstance(config, ElectraConfig) else config.d_model


class Corrupted(NamedTuple):
    """A batch with pieces from the generator in its blanks.

    inputs: the masked ids, int64 [B, T]. blanks: true at the blanks, bool [B, T]. sampled: the ids drawn for
    the blanks, [M], in reading order. ids: the inputs with the sampled ids in the blanks, [B, T]. replaced: 1
    where `ids` differs from the text, 0 at other real positions, -100 at padding, [B, T]. generator_loss: the
    generator's mean cross-entropy at the blanks, in nats.
    """

    inputs: Tensor
    blanks: Tensor
    sampled: Tensor
    ids: Tensor
    replaced: Tensor
    generator_loss: Tensor


class Losses(NamedTuple):
    """Scalars in nats: `total` is `generator` plus the weight times `discriminator`."""

    total: Tensor
    generator: Tensor
    discriminator: Tensor


class Electra(nn.Module):
    """Generator and discriminator, with the same three tables: word, position and token type.

    Both losses send gradients into the tables. There is no other gradient from the discriminator to the
    generator: sampling is not differentiable, and the generator is not trained adversarially.

    Args:
        config: the discriminator's sizes; see `ElectraDiscriminator`.
        generator: the generator's sizes, by default `generator_config(config)`. Its width must be that of the
            tables.
        rng: weights are drawn from it (or PCG32(0)): the discriminator's, then the generator's.
        weight: of the discriminator's loss, finite and >= 0.

    Raises TypeError or ValueError for sizes that do not fit together, or for another weight.

    Source: Clark et al. 2020, section 2; section 3.2 for the shared tables.
    """

    def __init__(
        self,
        config: BertConfig,
        generator: BertConfig | None = None,
        rng: PCG32 | None = None,
        *,
        weight: float = DISCRIMINATOR_WEIGHT,
    ):
        super().__init__()
        self.weight, rng = as_real(weight, "weight"), rng or PCG32(0)
        if not 0 <= self.weight < math.inf:
            raise ValueError(f"weight: expected a finite number >= 0, got {self.weight}")
        generator, width = generator_config(config) if generator is None else generator, _table_width(config)
        check_config(generator, BertConfig)
        tables = {"vocab": config.vocab, "max_len": config.max_len, "type_vocab": config.type_vocab}
        for name, size in {**tables, "d_model": width, "d_embedding": width}.items():
            if (got := getattr(generator, name, size)) != size:
                raise ValueError(f"generator: expected {name} {size}, that of the tables, got {got}")
        self.discriminator = ElectraDiscriminator(config, rng)
        self.generator = BertForMLM(generator, rng)
        for name in ("word", "position", "token_type"):
            setattr(self.generator.encoder, name, getattr(self.discriminator.encoder, name))

    def corrupt(self, batch: Mapping, rng) -> Corrupted:
        """Put a piece drawn from the generator's prediction into each blank of a masked batch.

        Blanks are visited in reading order, row by row, with one `rng.uniform()` each. A drawn piece that
        equals the original counts as the original.

        Args:
            batch: input_ids, labels and optionally token_type_ids and attention_mask: integers [B, T], such
                as `MLMCollator` gives. A label that is not -100 marks a blank and is the original piece.
                ELECTRA shows [MASK] at every blank: mask with the split (1, 0, 0).
            rng: a `PCG32`, or anything with `uniform()`.

        Raises as `BertForMLM.forward` and `sample_replacements` do; ValueError for a batch without input_ids
        or labels.
        """
        missing = [name for name in (BATCH[0], BATCH[-1]) if name not in _mapping(batch)]
        if missing:
            raise ValueError(f"batch: expected input_ids and labels, got none called {', '.join(missing)}")
        inputs, types, attn_mask, labels = map(batch.get, BATCH)
        encoder = self.generator.encoder
        tokens = encoder.batch_of(inputs, types, attn_mask)
        at, originals = tokens.labelled(labels, encoder.config.vocab)
        logits = self.generator.head(encoder.read(tokens, at))  # [M, V]
        real, shape = tokens.real, tokens.shape
        position = torch.arange(real.numel(), device=real.device).view(shape)
        where = tokens.take(position)[at]  # the blanks, in the order of the unpadded positions
        order = where.argsort()
        where = where[order]
        sampled = sample_replacements(logits[order], rng)
        inputs = torch.as_tensor(inputs, device=real.device).long()
        blanks = torch.zeros_like(real).flatten().index_fill(0, where, True).view(shape)
        ids = inputs.flatten().index_copy(0, where, sampled).view(shape)
        text = inputs.flatten().index_copy(0, where, originals[order]).view(shape)
        replaced = (ids != text).long().masked_fill(~real, IGNORE)
        return Corrupted(inputs, blanks, sampled, ids, replaced, mean_cross_entropy(logits, originals))

    def step(self, batch: Mapping, rng) -> Losses:
        """The losses of a masked batch: `corrupt`, then `judge`. Arguments and errors as in `corrupt`."""
        return self.judge(batch, self.corrupt(batch, rng))

    def judge(self, batch: Mapping, corrupted: Corrupted) -> Losses:
        """The losses of a batch that `corrupt` has corrupted."""
        _, types, attn_mask, _ = map(batch.get, BATCH)
        _, loss = self.discriminator(corrupted.ids, types, attn_mask, corrupted.replaced)
        return Losses(corrupted.generator_loss + self.weight * loss, corrupted.generator_loss, loss)


def _mapping(batch) -> Mapping:
    if not isinstance(batch, Mapping):
        raise TypeError(f"batch: expected a mapping from names to arrays, got {type(batch).__name__}")
    return batch


def trained_positions(
    model: nn.Module, ids, token_type_ids=None, attn_mask=None, labels=None
) -> tuple[int, int]:
    """`(positions that the loss sends a gradient to, real positions)`, counted at the input of the head.

    model: a `BertForMLM` or an `ElectraDiscriminator`. The other arguments and the errors are those of its
    forward. The parameters' gradients do not change.

    Source: Clark et al. 2020, section 3.5, which compares a loss at the blanks alone with one everywhere.
    """
    if not isinstance(model, (BertForMLM, ElectraDiscriminator)):
        kind = type(model).__name__
        raise TypeError(f"model: expected a BertForMLM or an ElectraDiscriminator, got {kind}")
    seen = []
    with torch.enable_grad(), model.transform.register_forward_hook(lambda *call: seen.append(call[-1])):
        _, loss = model(ids, token_type_ids, attn_mask, labels)
    if loss is None:
        raise ValueError("labels: expected integers [B, T], got none")
    (gradient,) = torch.autograd.grad(loss, seen)  # [N, d]
    return int(gradient.any(-1).sum()), len(gradient)


# ---- checkpoints


def load_hf_electra(model: ElectraDiscriminator, sd: Mapping) -> None:
    """Copy the state dict of a `transformers.ElectraForPreTraining` into a model: all of it, or nothing.

    Values are cast to the model's dtype and copied in place; the encoder's names may lack their `electra.`.

    Raises TypeError for another kind of model or no mapping; CheckpointError, a ValueError, that lists all
    that does not fit, as in `load_hf_bert`. The model is then as it was.
    """
    load_into(model, sd, hf_names(model))


def hf_names(model: ElectraDiscriminator, sd: Mapping | None = None) -> Names:
    """How a discriminator is written in checkpoints."""
    if not isinstance(model, ElectraDiscriminator):
        raise TypeError(f"model: expected an ElectraDiscriminator, got {type(model).__name__}")
    table = {
        **checkpoint.encoder_table("encoder.", "electra."),
        "encoder.project": "electra.embeddings_project",
        "transform": "discriminator_predictions.dense",
        "prediction": "discriminator_predictions.dense_prediction",
    }
    expected = expected_by(model, table)
    return checkpoint.BertNames("ElectraDiscriminator", expected, prefix="electra.")


def config_from_hf(
    content: Mapping, dropout: float | None = None
) -> tuple[ElectraConfig | None, list[Problem]]:
    """An `ElectraConfig` from the content of a discriminator's config.json, or all in it that is not ours.

    dropout: instead of the config's two, which must agree.
    """
    config, problems = checkpoint.config_from_hf(content, dropout, model_type="electra")
    fields = Fields(content)
    why = ", the discriminator: a generator has done its work when the pair is trained, and is not loaded"
    fields.fixed("architectures", (["ElectraForPreTraining"], None), why)
    d_embedding = fields.size("embedding_size")
    problems = [*problems, *fields.problems]
    return (None if problems else ElectraConfig(**vars(config), d_embedding=d_embedding)), problems


def config_to_hf(model: ElectraDiscriminator, architecture: str) -> dict:
    """The content of a config.json for a discriminator, from which `transformers` makes the same one."""
    width = _table_width(model.config)
    return {**checkpoint.hf_config(model, architecture, "electra"), "embedding_size": width}


def _read(content: Mapping, dropout: float | None) -> tuple[tuple, list[Problem]]:
    config, problems = config_from_hf(content, dropout)
    return (config,), problems


ARCHITECTURES = {
    "ElectraForPreTraining": Architecture("electra", ElectraDiscriminator, _read, config_to_hf, hf_names)
}
