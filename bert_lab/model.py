"""BERT: the encoder that reads both ways, and the head that fills in blanks.

Shapes: B batch, T positions, N real ones, d model width, H heads, k = d/H, L layers, V vocabulary.
Source: Devlin et al. 2019, section 3 and appendix A; Vaswani et al. 2017, section 3; the course text, 2.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .packing import Rows, as_allowed, as_integers, as_real_positions, labelled, mean_cross_entropy
from .rng import PCG32, as_index, as_real, normal_init


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


def drawn(kind: type[nn.Module], *sizes: int, rng: PCG32) -> nn.Module:
    """A linear layer or a table; its weight is normal with standard deviation 0.02, its bias 0."""
    layer = nn.utils.skip_init(kind, *sizes, device=torch.get_default_device())
    if not layer.weight.is_meta:  # which has no values: those of a file will follow
        layer.weight.data.copy_(torch.from_numpy(normal_init(tuple(layer.weight.shape), 0.02, rng)))
    if kind is nn.Linear:
        nn.init.zeros_(layer.bias)
    return layer


def checked(config: BertConfig) -> BertConfig:
    if not isinstance(config, BertConfig):
        raise TypeError(f"config: expected a BertConfig, got {type(config).__name__}")
    return config


class Attention(nn.Module):
    """Multi-head self-attention: each position takes a weighted mean of the values it may look at."""

    def __init__(self, config: BertConfig, rng: PCG32):
        super().__init__()
        self.heads, self.dropout = config.n_heads, config.dropout
        for name in ("query", "key", "value", "output"):
            setattr(self, name, drawn(nn.Linear, config.d_model, config.d_model, rng=rng))

    def project(self, x: Tensor) -> Tensor:
        """Queries, keys and values in one matrix product, [N, 3d]"""
        parts = self.query, self.key, self.value
        return F.linear(x, torch.cat([p.weight for p in parts]), torch.cat([p.bias for p in parts]))

    def split(self, qkv: Tensor, rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
        """[N, 3d] -> queries, keys and values, each [B, H, T, k]"""
        return rows.unpack(qkv).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind()

    def weights(self, x: Tensor, rows: Rows, allowed: Tensor | None) -> Tensor:
        """softmax(Q K^T / sqrt(k)) over the allowed positions: [B, H, T, T]"""
        q, k, _ = self.split(self.project(x), rows)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return (scores if allowed is None else scores.masked_fill(~allowed, -math.inf)).softmax(-1)

    def forward(self, x: Tensor, rows: Rows, allowed: Tensor | None) -> Tensor:
        """The mean of the values by `weights`, in one fused operation: [N, d], not yet through `output`"""
        dropout, mixed = self.dropout if self.training else 0.0, []
        for part, qkv in zip(rows.parts, self.project(x).split([p.count for p in rows.parts]), strict=True):
            out = F.scaled_dot_product_attention(*self.split(qkv, part), part.cut(allowed), dropout)
            mixed.append(part.pack(out.transpose(1, 2).flatten(-2)))
        return torch.cat(mixed)


class BertLayer(nn.Module):
    """Post-LN: h <- LN(h + Attn(h)), then h <- LN(h + W2 GELU(W1 h)), with the exact GELU x Phi(x).

    Weights are drawn from `rng` (or PCG32(0)) in the order of the parameters; biases are 0, norms 1 and 0.
    """

    def __init__(self, config: BertConfig, rng: PCG32 | None = None):
        super().__init__()
        rng = rng or PCG32(0)
        self.attention = Attention(checked(config), rng)
        self.attention_norm = nn.LayerNorm(config.d_model, config.ln_eps)
        self.ff_in = drawn(nn.Linear, config.d_model, config.d_ff, rng=rng)
        self.ff_out = drawn(nn.Linear, config.d_ff, config.d_model, rng=rng)
        self.ff_norm = nn.LayerNorm(config.d_model, config.ln_eps)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, h: Tensor, allowed: Tensor | None = None) -> Tensor:
        """[B, T, d] -> [B, T, d]; `allowed`: bool, broadcast to [B, H, T, T], true where i may look at j."""
        rows = Rows(torch.ones(h.shape[:2], dtype=torch.bool, device=h.device))
        return rows.unpack(self.packed(rows.pack(h), rows, as_allowed(allowed, rows)))

    def packed(self, h: Tensor, rows: Rows, allowed: Tensor | None, places: Tensor | None = None) -> Tensor:
        """[N, d] -> [N, d], or [M, d] where the output is wanted at the M `places` alone"""
        mixed = self.attention(h, rows, allowed)
        if places is not None:
            h, mixed = h.index_select(0, places), mixed.index_select(0, places)
        h = self.attention_norm(h + self.drop(self.attention.output(mixed)))
        return self.ff_norm(h + self.drop(self.ff_out(F.gelu(self.ff_in(h)))))


class BertEncoder(nn.Module):
    """Embeddings and L layers: each position comes to know all others. Its weights: as in `BertLayer`."""

    def __init__(self, config: BertConfig, rng: PCG32 | None = None):
        super().__init__()
        self.config, rng = checked(config), rng or PCG32(0)
        self.word, self.position, self.token_type = (
            drawn(nn.Embedding, rows, config.d_model, rng=rng)
            for rows in (config.vocab, config.max_len, config.type_vocab)
        )
        self.norm = nn.LayerNorm(config.d_model, config.ln_eps)
        self.layers = nn.ModuleList(BertLayer(config, rng) for _ in range(config.n_layers))
        self.drop = nn.Dropout(config.dropout)

    def forward(self, ids, token_type_ids=None, attn_mask=None) -> Tensor:
        """The hidden states, [B, T, d]; zero at padding.

        Args:
            ids: integers [B, T], 0 <= id < vocab, T <= max_len; a tensor or a NumPy array.
            token_type_ids: integers [B, T], below type_vocab; all 0 where none are given.
            attn_mask: [B, T] or [B, 1, 1, T], boolean or 0/1, 1 at real positions; else all are real.

        Raises TypeError or ValueError for ids, types or a mask that do not fit; it is named.
        """
        h, rows, allowed = self.embed(ids, token_type_ids, attn_mask)
        return rows.unpack(self.run(h, rows, allowed))

    def run(self, h: Tensor, rows: Rows, allowed: Tensor | None, places: Tensor | None = None) -> Tensor:
        """[N, d] through all layers; the last one only as far as it is wanted, see `BertLayer.packed`"""
        for layer in self.layers[:-1]:
            h = layer.packed(h, rows, allowed)
        return self.layers[-1].packed(h, rows, allowed, places)

    def embed(self, ids, token_type_ids=None, attn_mask=None, allowed=None):
        """LN(word + position + token type) [N, d], the real positions, and who may look at whom."""
        device = self.word.weight.device
        ids = as_integers(ids, "ids", self.config.vocab, device)
        if ids.dim() != 2 or ids.shape[1] > self.config.max_len:
            raise ValueError(f"ids: expected [B, T] with T <= {self.config.max_len}, got {list(ids.shape)}")
        types = torch.zeros_like(ids) if token_type_ids is None else token_type_ids
        types = as_integers(types, "token_type_ids", max(1, self.config.type_vocab), device)
        if types.shape != ids.shape:
            raise ValueError(f"token_type_ids: expected the shape {list(ids.shape)}, got {list(types.shape)}")
        rows = Rows(as_real_positions(attn_mask, ids))
        positions = torch.arange(ids.shape[1], device=device).expand_as(ids)
        h = self.word(rows.pack(ids)) + self.position(rows.pack(positions))
        h = h + self.token_type(rows.pack(types))
        return self.drop(self.norm(h)), rows, as_allowed(allowed, rows)


class BertForMLM(nn.Module):
    """The encoder with the head that predicts the token at each position: LN(GELU(W h + b)) W_word^T + b_dec.

    The decoder is the word table itself (tied); only its bias is new. Weights are drawn as in `BertLayer`.
    """

    def __init__(self, config: BertConfig, rng: PCG32 | None = None):
        super().__init__()
        self.config, rng = checked(config), rng or PCG32(0)
        self.encoder = BertEncoder(config, rng)
        self.transform = drawn(nn.Linear, config.d_model, config.d_model, rng=rng)
        self.transform_norm = nn.LayerNorm(config.d_model, config.ln_eps)
        self.decoder_bias = nn.Parameter(torch.zeros(config.vocab))

    def named_parameters(self, *args, **options):
        """In the order of their use; torch lists a module's own, here the decoder's bias, first."""
        members = super().named_parameters(*args, **options)
        yield from sorted(members, key=lambda member: member[0].endswith("decoder_bias"))

    def head(self, h: Tensor) -> Tensor:
        """[N, d] -> logits [N, V]"""
        z = self.transform_norm(F.gelu(self.transform(h)))
        return F.linear(z, self.encoder.word.weight, self.decoder_bias)

    def forward(self, ids, token_type_ids=None, attn_mask=None, labels=None) -> tuple[Tensor, Tensor | None]:
        """`(logits, loss)`: logits [B, T, V], zero at padding; the loss is None without labels.

        Args:
            ids, token_type_ids, attn_mask: as in `BertEncoder.forward`.
            labels: integers [B, T], an id where something is to be predicted, -100 elsewhere. The loss is the
                mean cross-entropy, in nats, over those that are not -100; exactly 0.0 when there is none.

        Raises as `BertEncoder.forward` does; ValueError for a label that is neither, or stands on padding.
        """
        h, rows, allowed = self.encoder.embed(ids, token_type_ids, attn_mask)
        logits = self.head(self.encoder.run(h, rows, allowed))
        if labels is None:
            return rows.unpack(logits), None
        places, targets = labelled(labels, rows, self.config.vocab)
        return rows.unpack(logits), mean_cross_entropy(logits.index_select(0, places), targets)

    def masked_logits(self, ids, token_type_ids=None, attn_mask=None, labels=None, *, allowed=None):
        """Logits [M, V] at the M labelled positions alone, and the labels [M]; `allowed`: see `BertLayer`."""
        h, rows, allowed = self.encoder.embed(ids, token_type_ids, attn_mask, allowed)
        places, targets = labelled(labels, rows, self.config.vocab)
        return self.head(self.encoder.run(h, rows, allowed, places)), targets

    def mlm_loss(self, ids, token_type_ids=None, attn_mask=None, labels=None) -> Tensor:
        """The loss of `forward`, and its gradients, by `masked_logits`."""
        return mean_cross_entropy(*self.masked_logits(ids, token_type_ids, attn_mask, labels))


@contextlib.contextmanager
def looking(model: nn.Module):
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


def attention_maps(model, ids, token_type_ids=None, attn_mask=None, *, allowed=None) -> Tensor:
    """The attention weights that `forward` uses, [L, B, H, T, T]; rows and columns of padding are zero.

    `maps[l, b, h, i, j]` is how much position i takes from j in head h of layer l. `allowed` is that of
    `BertLayer.forward`; the other arguments and the errors are those of `BertEncoder.forward`.
    """
    maps = []
    with looking(model) as encoder:
        h, rows, allowed = encoder.embed(ids, token_type_ids, attn_mask, allowed)
        both = rows.real[:, None, :, None] & rows.real[:, None, None, :]
        for layer in encoder.layers:
            maps.append(layer.attention.weights(h, rows, allowed) * both)
            h = layer.packed(h, rows, allowed)
    return torch.stack(maps)


def influence(model, ids, token_type_ids=None, attn_mask=None, *, allowed=None) -> Tensor:
    """[T, T]: the distance by which output i moves when the id at j becomes the next id (the last: 0).

    Full for BERT, lower triangular under a causal `allowed`, exactly zero at padding. Takes one sentence,
    ids [1, T], and the arguments of `attention_maps`.
    """
    with looking(model) as encoder:
        ids = as_integers(ids, "ids", encoder.config.vocab, encoder.word.weight.device)
        if ids.dim() != 2 or len(ids) != 1:
            raise ValueError(f"ids: expected one sentence, [1, T], got {list(ids.shape)}")
        steps = torch.eye(ids.shape[1] + 1, dtype=torch.long, device=ids.device)[:, 1:]  # none, then each
        outputs = []  # one sentence at a time: the same work gives the same bits
        for sentence in (ids + steps) % encoder.config.vocab:
            h, rows, look = encoder.embed(sentence[None], token_type_ids, attn_mask, allowed)
            outputs.append(rows.unpack(encoder.run(h, rows, look))[0])
    return torch.stack([(moved - outputs[0]).norm(dim=-1) for moved in outputs[1:]], dim=1)


def fill_mask(model, tok, text: str, top_k: int = 5) -> list[list[tuple[str, float]]]:
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
    with looking(model):
        probabilities = model([ids])[0][0, blanks].softmax(-1)[:, : tok.vocab_size]  # [blanks, V]
    values, ids = (part.tolist() for part in probabilities.topk(top_k))
    return [list(zip(tok.tokens(i), v, strict=True)) for i, v in zip(ids, values, strict=True)]
