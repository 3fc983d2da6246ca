"""BERT: the encoder that reads both ways, and the head that fills in blanks.

Shapes: B batch, T positions, N real ones, d model width, H heads, k = d/H, L layers, V vocabulary.
Source: Devlin et al. 2019, section 3 and appendix A; Vaswani et al. 2017, section 3; the course text, 2.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional as F

from .checks import as_device_ids, as_index, as_real, check_config
from .padding import TokenBatch, Unpadded, mean_cross_entropy
from .rng import PCG32, normal_init

if TYPE_CHECKING:
    from .wordpiece import WordPieceTokenizer


@dataclass
class BertConfig:
    """The sizes of a BERT; the defaults are those of BERT-base.

    vocab: how many ids. max_len: how many positions. d_ff: width of the feed-forward part. type_vocab: how
    many token types. dropout: in [0, 1), active in training alone. ln_eps: added to variances, > 0. What
    cannot work raises TypeError or ValueError, with the field's name.
    """

    vocab: int
    max_len: int = 512
    d_model: int = 768
    n_heads: int = 12
    n_layers: int = 12
    d_ff: int = 3072
    type_vocab: int = 2
    dropout: float = 0.1
    ln_eps: float = 1e-12

    def __post_init__(self):
        for field in fields(BertConfig)[:-2]:
            setattr(self, field.name, as_index(getattr(self, field.name), field.name, 1, 2**31))
        self.dropout, self.ln_eps = as_real(self.dropout, "dropout"), as_real(self.ln_eps, "ln_eps")
        if self.d_model % self.n_heads:
            raise ValueError(f"d_model: expected a multiple of n_heads, {self.n_heads}, got {self.d_model}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout: expected a probability in [0, 1), got {self.dropout}")
        if not 0 < self.ln_eps < math.inf:
            raise ValueError(f"ln_eps: expected a finite number > 0, got {self.ln_eps}")


def linear(n_in: int, n_out: int, rng: PCG32) -> nn.Linear:
    """x W^T + b; W [n_out, n_in] is normal with standard deviation 0.02, b is 0."""
    layer = _initialized(nn.Linear, n_in, n_out, rng)
    nn.init.zeros_(layer.bias)
    return layer


def table(n_rows: int, width: int, rng: PCG32) -> nn.Embedding:
    """A row of `width` numbers for each id, normal with standard deviation 0.02."""
    return _initialized(nn.Embedding, n_rows, width, rng)


def _initialized(kind, n_in: int, n_out: int, rng: PCG32):
    layer = nn.utils.skip_init(kind, n_in, n_out, device=torch.get_default_device())
    if not layer.weight.is_meta:  # which has no values: those of a file will follow
        layer.weight.data.copy_(torch.from_numpy(normal_init(tuple(layer.weight.shape), 0.02, rng)))
    return layer


class Attention(nn.Module):
    """Multi-head self-attention: each position takes a weighted mean of the values it may attend to."""

    def __init__(self, config: BertConfig, rng: PCG32):
        super().__init__()
        self.n_heads, self.dropout = config.n_heads, config.dropout
        self.query = linear(config.d_model, config.d_model, rng)
        self.key = linear(config.d_model, config.d_model, rng)
        self.value = linear(config.d_model, config.d_model, rng)
        self.output = linear(config.d_model, config.d_model, rng)

    def project(self, h: Tensor) -> Tensor:
        """Queries, keys and values of each head, in one matrix product: [N, d] -> [N, 3, H, k]"""
        parts = self.query, self.key, self.value
        weight, bias = torch.cat([p.weight for p in parts]), torch.cat([p.bias for p in parts])
        return F.linear(h, weight, bias).unflatten(-1, (3, self.n_heads, -1))

    def forward(self, h: Tensor, batch: Unpadded) -> Tensor:
        """softmax(Q K^T / sqrt(k)) V, [N, d] -> [N, d]; `output` has still to be applied"""
        return batch.attend(self.project(h), self.dropout if self.training else 0.0)

    def weights(self, h: Tensor, batch: Unpadded) -> Tensor:
        """softmax(Q K^T / sqrt(k)): [N, d] -> [B, H, T, T]"""
        return batch.attention_weights(self.project(h))


class BertLayer(nn.Module):
    """Post-LN: h <- LN(h + Attn(h)), then h <- LN(h + W2 GELU(W1 h)), with the exact GELU x Phi(x).

    Weights are drawn from `rng` (or PCG32(0)) in the order of the parameters; biases are 0, norms 1 and 0.
    """

    def __init__(self, config: BertConfig, rng: PCG32 | None = None):
        super().__init__()
        check_config(config, BertConfig)
        rng = rng or PCG32(0)
        self.attention = Attention(config, rng)
        self.attention_norm = nn.LayerNorm(config.d_model, config.ln_eps)
        self.ff_in = linear(config.d_model, config.d_ff, rng)
        self.ff_out = linear(config.d_ff, config.d_model, rng)
        self.ff_norm = nn.LayerNorm(config.d_model, config.ln_eps)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, h: Tensor, allowed: Tensor | None = None) -> Tensor:
        """[B, T, d] -> [B, T, d]; `allowed`: bool, broadcast to [B, H, T, T], true where i may look at j."""
        batch = Unpadded(torch.ones(h.shape[:2], dtype=torch.bool, device=h.device), allowed)
        return batch.put_back(self.unpadded(batch.take(h), batch))

    def unpadded(self, h: Tensor, batch: Unpadded, at: Tensor | slice = slice(None)) -> Tensor:
        """[N, d] -> [M, d]: the layer at the real positions; its output `at` those that are wanted"""
        mixed = self.attention(h, batch)  # [N, d]
        h = self.attention_norm(h[at] + self.drop(self.attention.output(mixed[at])))  # [M, d]
        return self.ff_norm(h + self.drop(self.ff_out(F.gelu(self.ff_in(h)))))  # [M, d]


class BertEncoder(nn.Module):
    """Embeddings and L layers: each position comes to know all others. Its weights: as in `BertLayer`."""

    config_class = BertConfig

    def __init__(self, config: BertConfig, rng: PCG32 | None = None):
        super().__init__()
        check_config(config, self.config_class)
        self.config, rng = config, rng or PCG32(0)
        self.make_embeddings(config, rng)
        layers = [self.make_layer(config, i, rng) for i in range(config.n_layers)]
        self.layers: Sequence[BertLayer] = nn.ModuleList(layers)  # type: ignore[assignment]
        self.drop = nn.Dropout(config.dropout)

    def make_embeddings(self, config: BertConfig, rng: PCG32) -> None:
        self.word = table(config.vocab, config.d_model, rng)
        self.position = table(config.max_len, config.d_model, rng)
        self.token_type = table(config.type_vocab, config.d_model, rng)
        self.norm = nn.LayerNorm(config.d_model, config.ln_eps)

    def make_layer(self, config: BertConfig, number: int, rng: PCG32) -> BertLayer:
        return BertLayer(config, rng)

    def forward(
        self, ids: ArrayLike, token_type_ids: ArrayLike | None = None, attn_mask: ArrayLike | None = None
    ) -> Tensor:
        """The hidden states, [B, T, d]; zero at padding.

        Args:
            ids: integers [B, T], 0 <= id < vocab, T <= max_len; a tensor or a NumPy array.
            token_type_ids: integers [B, T], below type_vocab; all 0 where none are given.
            attn_mask: [B, T] or [B, 1, 1, T], boolean or 0/1, 1 at real positions; else all are real.

        Raises TypeError or ValueError for ids, types or a mask that do not fit; it is named.
        """
        batch = self.batch_of(ids, token_type_ids, attn_mask)
        return batch.put_back(self.read(batch))

    def batch_of(
        self,
        ids: ArrayLike,
        token_type_ids: ArrayLike | None = None,
        attn_mask: ArrayLike | None = None,
        allowed: Tensor | None = None,
    ) -> TokenBatch:
        """The arguments of `forward`, checked, without padding; `allowed` is that of `BertLayer.forward`."""
        return TokenBatch(ids, token_type_ids, attn_mask, allowed, self.config, self.word.weight.device)

    def embed(self, batch: TokenBatch) -> Tensor:
        """LN(word + position + token type), [N, d]"""
        h = self.word(batch.ids) + self.position(batch.positions) + self.token_type(batch.token_types)
        return self.drop(self.norm(h))

    def read(self, batch: TokenBatch, at: Tensor | slice = slice(None)) -> Tensor:
        """The hidden states at the real positions, [N, d]; or [M, d], `at` those that are wanted"""
        h = self.embed(batch)
        for layer in self.layers[:-1]:
            h = layer.unpadded(h, batch)
        return self.layers[-1].unpadded(h, batch, at)


class BertForMLM(nn.Module):
    """The encoder with the head that predicts the token at each position: LN(GELU(W h + b)) W_word^T + b_dec.

    The decoder is the word table itself (tied); only its bias is new. Weights are drawn as in `BertLayer`.
    """

    encoder_class = BertEncoder

    def __init__(self, config: BertConfig, rng: PCG32 | None = None):
        super().__init__()
        self.config, rng = config, rng or PCG32(0)
        self.encoder = self.encoder_class(config, rng)
        self.transform = linear(config.d_model, config.d_model, rng)
        self.transform_norm = nn.LayerNorm(config.d_model, config.ln_eps)
        self.decoder_bias = nn.Parameter(torch.zeros(config.vocab))

    def named_parameters(self, *args, **options):
        """In the order of their use; torch lists a module's own, here the decoder's bias, first."""
        members = super().named_parameters(*args, **options)
        yield from sorted(members, key=lambda member: member[0].endswith("decoder_bias"))

    def head(self, h: Tensor) -> Tensor:
        """[N, d] -> logits [N, V]"""
        z = self.transform_norm(F.gelu(self.transform(h)))  # [N, d]
        return F.linear(z, self.encoder.word.weight, self.decoder_bias)  # [N, V]: tied to the word table

    def forward(
        self,
        ids: ArrayLike,
        token_type_ids: ArrayLike | None = None,
        attn_mask: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """`(logits, loss)`: logits [B, T, V], zero at padding; the loss is None without labels.

        Args:
            ids, token_type_ids, attn_mask: as in `BertEncoder.forward`.
            labels: integers [B, T], an id where something is to be predicted, -100 elsewhere. The loss is the
                mean cross-entropy, in nats, over those that are not -100; exactly 0.0 when there is none.

        Raises as `BertEncoder.forward` does; ValueError for a label that is neither, or stands on padding.
        """
        batch = self.encoder.batch_of(ids, token_type_ids, attn_mask)
        logits = self.head(self.encoder.read(batch))  # [N, V]
        if labels is None:
            return batch.put_back(logits), None
        at, targets = batch.labelled(labels, self.config.vocab)
        return batch.put_back(logits), mean_cross_entropy(logits[at], targets)

    def masked_logits(
        self,
        ids: ArrayLike,
        token_type_ids: ArrayLike | None = None,
        attn_mask: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        *,
        allowed: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Logits [M, V] at the M labelled positions alone, and the labels [M]; `allowed`: see `BertLayer`."""
        batch = self.encoder.batch_of(ids, token_type_ids, attn_mask, allowed)
        at, targets = batch.labelled(labels, self.config.vocab)
        return self.head(self.encoder.read(batch, at)), targets

    def mlm_loss(
        self,
        ids: ArrayLike,
        token_type_ids: ArrayLike | None = None,
        attn_mask: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> Tensor:
        """The loss of `forward`, and its gradients, by `masked_logits`."""
        return mean_cross_entropy(*self.masked_logits(ids, token_type_ids, attn_mask, labels))


@contextlib.contextmanager
def evaluating(model: BertEncoder | BertForMLM) -> Iterator[BertEncoder]:
    """Without dropout and gradients; yields the encoder, and leaves each module in the mode it was in."""
    if not isinstance(model, (BertEncoder, BertForMLM)):
        raise TypeError(f"model: expected a BertEncoder or a BertForMLM, got {type(model).__name__}")
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.no_grad():
            yield model.encoder if isinstance(model, BertForMLM) else model
    finally:
        for module in training:
            module.training = True


def attention_maps(
    model: BertEncoder | BertForMLM,
    ids: ArrayLike,
    token_type_ids: ArrayLike | None = None,
    attn_mask: ArrayLike | None = None,
    *,
    allowed: Tensor | None = None,
) -> Tensor:
    """The attention weights that `forward` uses, [L, B, H, T, T]; rows and columns of padding are zero.

    `maps[l, b, h, i, j]` is how much position i attends to j in head h of layer l. `allowed` is that of
    `BertLayer.forward`; the other arguments and the errors are those of `BertEncoder.forward`.
    """
    maps = []
    with evaluating(model) as encoder:
        batch = encoder.batch_of(ids, token_type_ids, attn_mask, allowed)
        h = encoder.embed(batch)
        for layer in encoder.layers:
            maps.append(layer.attention.weights(h, batch))
            h = layer.unpadded(h, batch)
    return torch.stack(maps)


def influence(
    model: BertEncoder | BertForMLM,
    ids: ArrayLike,
    token_type_ids: ArrayLike | None = None,
    attn_mask: ArrayLike | None = None,
    *,
    allowed: Tensor | None = None,
) -> Tensor:
    """[T, T]: the distance by which output i moves when the id at j becomes the next id (the last: 0).

    Full for BERT, lower triangular under a causal `allowed`, exactly zero at padding. Takes one sentence,
    ids [1, T], and the arguments of `attention_maps`.
    """
    with evaluating(model) as encoder:
        ids = as_device_ids(ids, "ids", encoder.config.vocab)
        if ids.ndim != 2 or len(ids) != 1:
            raise ValueError(f"ids: expected one sentence, [1, T], got {list(ids.shape)}")
        steps = np.eye(ids.shape[1] + 1, dtype=np.int64)[:, 1:]  # none, then each
        outputs = []  # one sentence at a time: the same work gives the same bits
        for sentence in (ids + steps) % encoder.config.vocab:
            batch = encoder.batch_of(sentence[None], token_type_ids, attn_mask, allowed)
            outputs.append(batch.put_back(encoder.read(batch))[0])
    return torch.stack([(moved - outputs[0]).norm(dim=-1) for moved in outputs[1:]], dim=1)


def fill_mask(
    model: BertForMLM, tok: WordPieceTokenizer, text: str, top_k: int = 5
) -> list[list[tuple[str, float]]]:
    """For each [MASK] in the text, the `top_k` likeliest pieces with their probabilities, best first.

    Raises ValueError for a text without [MASK] or too long for the model, or a tokenizer too large for it.
    """
    if not isinstance(model, BertForMLM):
        raise TypeError(f"model: expected a BertForMLM, got {type(model).__name__}")
    if tok.vocab_size > model.config.vocab:
        raise ValueError(f"tok: expected at most {model.config.vocab} pieces, got {tok.vocab_size}")
    top_k = as_index(top_k, "top_k", 1, tok.vocab_size + 1)
    ids = tok.encode(text)
    blanks = [t for t, piece in enumerate(ids) if piece == tok.mask_id]
    if not blanks:
        raise ValueError(f"text: expected at least one [MASK], got {text!r}")
    with evaluating(model):
        probabilities = model([ids])[0][0, blanks].softmax(-1)[:, : tok.vocab_size]  # [blanks, V]
    values, ids = (part.tolist() for part in probabilities.topk(top_k))
    return [list(zip(tok.tokens(i), v, strict=True)) for i, v in zip(ids, values, strict=True)]
