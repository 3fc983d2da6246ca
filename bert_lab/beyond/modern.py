"""ModernBERT: the changes to the encoder after BERT, as options that can be switched on one by one.

With every option off this computes exactly what `BertForMLM` does. With all of them on it is ModernBERT. In
both, the linear layers run on the real positions alone (`padding.Unpadded`).

Shapes: B batch, T positions, N real ones, d model width, H heads, k = d/H, V vocabulary.
Source: Warner et al. 2024 (ModernBERT), section 2.1; for rotary positions Su et al. 2021 (RoFormer), section
3.2; for GeGLU Shazeer 2020; for the norms' place Xiong et al. 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..checks import as_bool, as_index, as_real, check_config
from ..hf.config import SIZES, Fields
from ..hf.loading import Architecture
from ..hf.plan import Expected, Names, expected_by, load_into, short_name
from ..hf.weights import Problem
from ..model import BertConfig, BertEncoder, BertForMLM, BertLayer, linear, table
from ..padding import TokenBatch, Unpadded
from ..rng import PCG32

CHANGES = {
    "rope": "no position table: queries and keys are turned by their position",
    "geglu": "a gate in the feed-forward part, which is narrowed to two thirds",
    "pre_norm": "norms in front of attention and feed-forward, and one at the end",
    "no_biases": "no biases but the decoder's, and no token types",
    "local": "most layers look at a window around each position",
}


# ---- the configuration


@dataclass
class ModernConfig:
    """The sizes of a `BertConfig`, in which type_vocab may be 0 for no token types, and five options.

    rope: queries and keys are rotated by their position, instead of adding position vectors to the words.
    Heads must have an even width.
    geglu: the feed-forward part is W2 (GELU(W1 h) * W3 h), where d_ff is the width of each half.
    pre_norm: h + f(LN(h)) instead of LN(h + f(h)).
    biases: whether linear layers and norms have them. The decoder always has one.
    local_window: in local layers, a position sees `local_window // 2` positions to each side. Every
    `global_every`-th layer, from the first on, is global and sees all. None: all layers are global.
    global_theta, local_theta: the base of RoPE's angles in global and in local layers, see `rotate`.

    Raises TypeError or ValueError, with the field's name.
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
    rope: bool = False
    geglu: bool = False
    pre_norm: bool = False
    biases: bool = True
    local_window: int | None = None
    global_every: int = 3
    global_theta: float = 160_000.0
    local_theta: float = 10_000.0

    def __post_init__(self):
        sizes = {field.name: getattr(self, field.name) for field in fields(BertConfig)}
        sizes["type_vocab"] = as_index(self.type_vocab, "type_vocab", 0, 2**31)
        known = asdict(BertConfig(**sizes | {"type_vocab": sizes["type_vocab"] or 1}))
        known["type_vocab"] = sizes["type_vocab"]
        for name in ("rope", "geglu", "pre_norm", "biases"):
            known[name] = as_bool(getattr(self, name), name)
        if self.local_window is not None:
            known["local_window"] = as_index(self.local_window, "local_window", 1, 2**31)
        known["global_every"] = as_index(self.global_every, "global_every", 1, 2**31)
        for name in ("global_theta", "local_theta"):
            known[name] = as_real(getattr(self, name), name)
            if not 0 < known[name] < math.inf:
                raise ValueError(f"{name}: expected a finite number > 0, got {known[name]}")
        vars(self).update(known)
        if self.rope and self.d_model // self.n_heads % 2:
            raise ValueError(
                f"n_heads: expected heads of an even width for rope, got {self.n_heads} heads of "
                f"{self.d_model // self.n_heads}"
            )

    def radius(self, layer: int) -> int | None:
        """How many positions a position of this layer sees to each side; None in a global layer."""
        is_global = self.local_window is None or layer % self.global_every == 0
        return None if is_global else self.local_window // 2


def modern_config(sizes: BertConfig, *changes: str, **options) -> ModernConfig:
    """The config of a BERT of these sizes with some of `CHANGES`. All of them together give ModernBERT.

    "geglu" narrows d_ff to two thirds, so that the number of parameters stays the same. "local" takes windows
    of 128. options: other values for fields of `ModernConfig`.

    Raises TypeError for sizes that are no `BertConfig`; ValueError for an unknown change; else as
    `ModernConfig` does.
    """
    if not isinstance(sizes, BertConfig):
        raise TypeError(f"sizes: expected a BertConfig, got {type(sizes).__name__}")
    for change in changes:
        if change not in CHANGES:
            raise ValueError(f"changes: expected some of {', '.join(CHANGES)}, got {change!r}")
    sets = {
        "rope": {"rope": True},
        "geglu": {"geglu": True, "d_ff": max(1, round(sizes.d_ff * 2 / 3))},
        "pre_norm": {"pre_norm": True},
        "no_biases": {"biases": False, "type_vocab": 0},
        "local": {"local_window": 128},
    }
    chosen = asdict(sizes)
    for change in changes:
        chosen |= sets[change]
    return ModernConfig(**chosen | options)


# ---- positions


def rotate(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    """Rotate each vector by its position (RoPE). Components i and i + k/2 are one pair, rotated as a point.

    x: [..., T, k], k even. positions: numbers [T]. Pair i at position t is rotated by the angle
    t * theta^(-2i/k): the first pair by t, the last pairs only a little. So the dot product of a rotated
    query and a rotated key depends on the distance of their positions alone.

    Source: Su et al. 2021, section 3.2.2. There the pairs are neighboring components.
    """
    half = x.shape[-1] // 2
    rates = theta ** (-torch.arange(half, dtype=torch.float64, device="cpu") / half)
    angles = torch.outer(positions.cpu().double(), rates)  # [T, k/2]
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def allowed(config: ModernConfig, layer: int, length: int) -> Tensor:
    """The attention mask of this layer, bool [T, T]: row i is true at each j that i may attend to."""
    check_config(config, ModernConfig)
    layer = as_index(layer, "layer", 0, config.n_layers)
    places = torch.arange(as_index(length, "length", 1, 2**31))
    radius = config.radius(layer)
    return _distances(places) <= (length if radius is None else radius)


def _distances(places: Tensor) -> Tensor:
    return (places[:, None] - places).abs()


# ---- the model


class ModernAttention(nn.Module):
    """BERT's attention with the options of its config: rotary positions, a local window, and pre-norm.

    In pre-norm the input is normed first, except in the first layer: the embeddings are normed already.
    """

    def __init__(self, config: ModernConfig, layer: int, rng: PCG32):
        super().__init__()
        self.n_heads, self.dropout, self.radius = config.n_heads, config.dropout, config.radius(layer)
        self.theta = None
        if config.rope:
            self.theta = config.global_theta if self.radius is None else config.local_theta
        pre_norm = config.pre_norm and layer > 0
        self.norm = nn.LayerNorm(config.d_model, config.ln_eps) if pre_norm else nn.Identity()
        self.qkv = linear(config.d_model, 3 * config.d_model, rng)
        self.output = linear(config.d_model, config.d_model, rng)

    def project(self, h: Tensor, batch: Unpadded) -> Tensor:
        """Queries, keys and values of each head, with rotary positions if any: [N, d] -> [N, 3, H, k]"""
        qkv = self.qkv(self.norm(h)).unflatten(-1, (3, self.n_heads, -1))
        if self.theta is None:
            return qkv
        turned = rotate(qkv[:, :2].permute(1, 2, 0, 3), batch.positions, self.theta)  # [2, H, N, k]
        return torch.cat([turned.permute(2, 0, 1, 3), qkv[:, 2:]], dim=1)

    def forward(self, h: Tensor, batch: Unpadded) -> Tensor:
        """[N, d] -> [N, d]; `output` has still to be applied"""
        return self.window(batch).attend(self.project(h, batch), self.dropout if self.training else 0.0)

    def weights(self, h: Tensor, batch: Unpadded) -> Tensor:
        """[N, d] -> [B, H, T, T]"""
        return self.window(batch).attention_weights(self.project(h, batch))

    def window(self, batch: Unpadded) -> Unpadded:
        """The batch, with attention restricted to the local window."""
        if self.radius is None or self.radius >= batch.shape[1] - 1:
            return batch
        return batch.narrowed(
            _distances(torch.arange(batch.shape[1], device=batch.real.device)) <= self.radius
        )


class ModernLayer(nn.Module):
    """A layer with the options of its config. Its number decides if it is local and has a first norm."""

    def __init__(self, config: ModernConfig, layer: int, rng: PCG32):
        super().__init__()
        self.pre_norm, self.geglu = config.pre_norm, config.geglu
        self.attention = ModernAttention(config, layer, rng)
        self.attention_norm = (
            nn.Identity() if config.pre_norm else nn.LayerNorm(config.d_model, config.ln_eps)
        )
        self.ff_in = linear(config.d_model, config.d_ff * (2 if config.geglu else 1), rng)
        self.ff_out = linear(config.d_ff, config.d_model, rng)
        self.ff_norm = nn.LayerNorm(config.d_model, config.ln_eps)
        self.drop = nn.Dropout(config.dropout)

    forward = BertLayer.forward  # [B, T, d] -> [B, T, d], by `unpadded`

    def unpadded(self, h: Tensor, batch: Unpadded, at: Tensor | slice = slice(None)) -> Tensor:
        """[N, d] -> [M, d]: as in `BertLayer`"""
        mixed = self.attention(h, batch)  # [N, d]
        h = self.attention_norm(h[at] + self.drop(self.attention.output(mixed[at])))  # [M, d]
        if self.pre_norm:
            return h + self.drop(self.feed_forward(self.ff_norm(h)))
        return self.ff_norm(h + self.drop(self.feed_forward(h)))

    def feed_forward(self, h: Tensor) -> Tensor:
        """W2 GELU(W1 h), or with a gate W2 (GELU(W1 h) * W3 h). `ff_in` holds W1, and W3 below it."""
        if not self.geglu:
            return self.ff_out(F.gelu(self.ff_in(h)))
        z, gate = self.ff_in(h).chunk(2, dim=-1)
        return self.ff_out(F.gelu(z) * gate)


class ModernEncoder(BertEncoder):
    """`BertEncoder` with the options of its config, with the same methods and the same drawing of weights."""

    config_class = ModernConfig

    def __init__(self, config: ModernConfig, rng: PCG32 | None = None):
        super().__init__(config, rng)
        self.final_norm = nn.LayerNorm(config.d_model, config.ln_eps) if config.pre_norm else nn.Identity()
        if not config.biases:
            _remove_biases(self)

    def make_embeddings(self, config: ModernConfig, rng: PCG32) -> None:
        self.word = table(config.vocab, config.d_model, rng)
        self.position = None if config.rope else table(config.max_len, config.d_model, rng)
        self.token_type = table(config.type_vocab, config.d_model, rng) if config.type_vocab else None
        self.norm = nn.LayerNorm(config.d_model, config.ln_eps)

    def make_layer(self, config: ModernConfig, number: int, rng: PCG32) -> ModernLayer:
        return ModernLayer(config, number, rng)

    def embed(self, batch: TokenBatch) -> Tensor:
        """The layer norm of the sum of the tables that the model has, [N, d]"""
        h = self.word(batch.ids)
        h = h if self.position is None else h + self.position(batch.positions)
        h = h if self.token_type is None else h + self.token_type(batch.token_types)
        return self.drop(self.norm(h))

    def read(self, batch: TokenBatch, at: Tensor | slice = slice(None)) -> Tensor:
        """As in `BertEncoder`; in pre-norm the last norm is applied too"""
        return self.final_norm(super().read(batch, at))


class ModernForMLM(BertForMLM):
    """`BertForMLM` with the options of its config, and with the same methods.

    Raises TypeError for a config that is no `ModernConfig`.
    """

    encoder_class = ModernEncoder

    def __init__(self, config: ModernConfig, rng: PCG32 | None = None):
        super().__init__(config, rng)
        if not config.biases:
            _remove_biases(self)


def _remove_biases(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.LayerNorm)):
            module.bias = None


def as_modern(bert: BertForMLM) -> ModernForMLM:
    """A `ModernForMLM` with every option off and copies of the weights of `bert`."""
    if not isinstance(bert, BertForMLM) or isinstance(bert, ModernForMLM):
        raise TypeError(f"bert: expected a BertForMLM, got {type(bert).__name__}")
    sd = bert.state_dict()
    for i in range(bert.config.n_layers):
        start = f"encoder.layers.{i}.attention."
        for kind in ("weight", "bias"):
            parts = [sd.pop(f"{start}{name}.{kind}") for name in ("query", "key", "value")]
            sd[f"{start}qkv.{kind}"] = torch.cat(parts)
    model = ModernForMLM(modern_config(bert.config)).to(bert.decoder_bias)
    model.load_state_dict(sd)
    return model.train(bert.training)


# ---- what a model costs


def parameters_of(config: ModernConfig) -> dict[str, int]:
    """The number of parameters in each part of a `ModernForMLM`."""
    with torch.device("meta"):  # sizes without values
        model = ModernForMLM(config)
    counts = dict.fromkeys(
        ("words", "positions and types", "attention", "feed-forward", "head", "norms and biases"), 0
    )
    parts = {"encoder.word": "words", "encoder.layers": "attention", "transform": "head"}
    for name, parameter in model.named_parameters():
        part = next((part for start, part in parts.items() if name.startswith(start)), "positions and types")
        if parameter.dim() == 1:
            part = "norms and biases"
        elif ".ff_" in name:
            part = "feed-forward"
        counts[part] += parameter.numel()
    return counts


def work_of(config: ModernConfig, lengths: Iterable[int]) -> dict[str, int]:
    """The multiply-adds in the matrix products of one forward pass, by part, with the head at all positions.

    "linear": the linear layers, at the real positions alone. "attention": queries times keys and weights
    times values, for the pairs that a layer allows. "head": the transform and the decoder.

    The count for local layers is that of a kernel that skips the pairs outside of the window, as ModernBERT's
    does. This implementation masks them instead, and saves no time.

    lengths: of the rows, each from 0 to max_len. Raises TypeError or ValueError for others.
    """
    check_config(config, ModernConfig)
    c = config
    lengths = [as_index(n, f"lengths[{i}]", 0, c.max_len + 1) for i, n in enumerate(lengths)]
    pairs = sum(_pairs(n, c.radius(layer)) for layer in range(c.n_layers) for n in lengths)
    in_layer = 4 * c.d_model**2 + (3 if c.geglu else 2) * c.d_model * c.d_ff
    return {
        "linear": sum(lengths) * c.n_layers * in_layer,
        "attention": 2 * c.d_model * pairs,
        "head": sum(lengths) * (c.d_model**2 + c.d_model * c.vocab),
    }


def work(config: ModernConfig, lengths: Iterable[int]) -> int:
    """The multiply-adds of one forward pass: the sum of `work_of`."""
    return sum(work_of(config, lengths).values())


def _pairs(length: int, radius: int | None) -> int:
    """The number of pairs (i, j) of a row with |i - j| <= radius"""
    if radius is None or radius >= length:
        return length**2
    return length * (2 * radius + 1) - radius * (radius + 1)


# ---- checkpoints under Hugging Face's names

_NAMES = {
    "encoder.word": "model.embeddings.tok_embeddings",
    "encoder.norm": "model.embeddings.norm",
    "encoder.layers.{}.attention.norm": "model.layers.{}.attn_norm",
    "encoder.layers.{}.attention.qkv": "model.layers.{}.attn.Wqkv",
    "encoder.layers.{}.attention.output": "model.layers.{}.attn.Wo",
    "encoder.layers.{}.ff_norm": "model.layers.{}.mlp_norm",
    "encoder.layers.{}.ff_in": "model.layers.{}.mlp.Wi",
    "encoder.layers.{}.ff_out": "model.layers.{}.mlp.Wo",
    "encoder.final_norm": "model.final_norm",
    "transform": "head.dense",
    "transform_norm": "head.norm",
    "decoder_bias": "decoder.bias",
}
_FULL, _SLIDING = "full_attention", "sliding_attention"
_BIASES = ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias")
_DROPOUTS = ("embedding_dropout", "attention_dropout", "mlp_dropout")


def hf_names(model: ModernForMLM, sd: Mapping | None = None) -> Names:
    """How this model is written in checkpoints of `transformers.ModernBertForMaskedLM`.

    Raises TypeError for another model; ValueError for one whose options are not ModernBERT's.
    """
    if not isinstance(model, ModernForMLM):
        raise TypeError(f"model: expected a ModernForMLM, got {type(model).__name__}")
    lacks = [name for name in ("rope", "geglu", "pre_norm") if not getattr(model.config, name)]
    if lacks or model.config.type_vocab:
        raise ValueError(
            "model: expected rope, geglu and pre_norm, and no token types, as ModernBERT has them, got one "
            + (f"without {', '.join(lacks)}" if lacks else f"of {model.config.type_vocab} token types")
        )
    return _ModernNames("ModernForMLM", expected_by(model, _NAMES))


class _ModernNames(Names):
    def __init__(self, target: str, expected: Mapping[str, Expected]):
        super().__init__(target, expected)
        self.tied = {"decoder.weight": "encoder.word.weight"}


def load_hf_modernbert(model: ModernForMLM, sd: Mapping) -> None:
    """Copy the weights of a `transformers.ModernBertForMaskedLM` state dict, all of them or nothing.

    Raises as `hf_names` does for the model, TypeError for an sd that is no mapping, and `CheckpointError`, a
    ValueError that lists all that is wrong: keys missing or unexpected, wrong shapes, values not finite, or a
    decoder's weight that is not the word table.
    """
    load_into(model, sd, hf_names(model))


def config_from_hf(content: Mapping) -> tuple[ModernConfig | None, list[Problem]]:
    """Our config from the fields of a ModernBERT's config.json, or all that is not ours in it.

    Reads those of `transformers` 5 (layer_types, rope_parameters) and the older ones
    (global_attn_every_n_layers, global_rope_theta, local_rope_theta).
    """
    fields = Fields(content)
    fields.fixed("model_type", ("modernbert",), required=True)
    fields.fixed("hidden_activation", ("gelu",), ", the exact one")
    fields.fixed("classifier_activation", ("gelu",), ", the exact one")
    fields.fixed("decoder_bias", (True,), ", a decoder with a bias")
    fields.fixed("tie_word_embeddings", (True,), ", the word table as decoder")
    fields.fixed("rope_scaling", (None,), ", positions as they are")
    fields.fixed("quantization_config", (None,), ", plain weights")
    for name in _DROPOUTS:
        fields.fixed(name, (0.0,), ", since dropout stands at other places here")
    found = fields.sizes(SIZES)
    biases = [fields.flag(name, False) for name in _BIASES]
    for name, value in zip(_BIASES, biases, strict=True):
        if None not in (value, biases[0]) and value != biases[0]:
            fields.wrong(name, f"expected {biases[0]} as {_BIASES[0]}, all biases or none, got {value}")
    global_theta, local_theta = _thetas(fields)
    found |= {
        "ln_eps": fields.real("norm_eps", 1e-5),
        "biases": biases[0],
        "local_window": fields.size("local_attention", 128),
        "global_every": _global_every(fields, found["n_layers"]),
        "global_theta": global_theta,
        "local_theta": local_theta,
    }
    if not fields.problems:
        try:
            more = {"rope": True, "geglu": True, "pre_norm": True, "type_vocab": 0, "dropout": 0.0}
            return ModernConfig(**found, **more), []
        except ValueError as error:
            name, text = str(error).split(": ", 1)
            fields.wrong(SIZES.get(name, name), text)
    return None, fields.problems


def _global_every(fields: Fields, n_layers: int | None) -> int | None:
    """Every how many layers one is global, by a number or by a list of the layers' kinds"""
    kinds = fields.content.get("layer_types")
    if kinds is None:
        return fields.size("global_attn_every_n_layers", 3)
    if isinstance(kinds, list) and kinds and len(kinds) == n_layers:
        every = kinds.index(_FULL, 1) if _FULL in kinds[1:] else n_layers
        if kinds == [_SLIDING if layer % every else _FULL for layer in range(n_layers)]:
            return every
    told = f"num_hidden_layers of them, {_FULL} from the first on at equal steps, {_SLIDING} between"
    fields.wrong("layer_types", f"expected {told}, got {kinds!r}")
    return None


def _thetas(fields: Fields) -> tuple[float | None, float | None]:
    """The base of RoPE's angles in global and in local layers"""
    parts = fields.content.get("rope_parameters")
    parts = {} if parts is None else parts
    known = isinstance(parts, Mapping) and parts.keys() <= {_FULL, _SLIDING}
    if not known or not all(isinstance(part, Mapping) for part in parts.values()):
        fields.wrong("rope_parameters", f"expected fields for {_FULL} and {_SLIDING}, got {parts!r}")
        return None, None
    thetas = []
    old_names = ((_FULL, "global_rope_theta", 160_000.0), (_SLIDING, "local_rope_theta", 10_000.0))
    for kind, old, usual in old_names:
        part = Fields(parts.get(kind, {}))
        part.fixed("rope_type", ("default",))
        own = "rope_theta" in part.content
        thetas.append(part.real("rope_theta") if own else fields.real(old, usual))
        for problem in part.problems:
            fields.wrong(f"rope_parameters.{kind}.{problem.where}", problem.text)
    return tuple(thetas)


def config_to_hf(model: ModernForMLM, architecture: str) -> dict:
    """The content of a config.json for a ModernBERT, from which `transformers` makes the same model.

    Dropout is written as 0: theirs stands at other places.
    """
    config = replace(model.config)  # checked once more: it can be changed after it was made
    local = [config.radius(layer) is not None for layer in range(config.n_layers)]
    thetas = {_FULL: config.global_theta, _SLIDING: config.local_theta}
    return {
        "architectures": [architecture],
        "model_type": "modernbert",
        **{theirs: getattr(config, ours) for ours, theirs in SIZES.items()},
        **dict.fromkeys(_BIASES, config.biases),
        **dict.fromkeys(_DROPOUTS, 0.0),
        "norm_eps": config.ln_eps,
        "hidden_activation": "gelu",
        "classifier_activation": "gelu",
        "decoder_bias": True,
        "tie_word_embeddings": True,
        "layer_types": [_SLIDING if is_local else _FULL for is_local in local],
        "local_attention": config.local_window or 128,
        "rope_parameters": {
            kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()
        },
        # No id of theirs is special to this model, which trains every row of its table.
        **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")),
        "dtype": short_name(model.encoder.word.weight.dtype),
    }


def _read(content: Mapping, dropout: float | None) -> tuple[tuple, list[Problem]]:
    config, problems = config_from_hf(content)
    if config is not None and dropout is not None:
        config = replace(config, dropout=dropout)
    return (config,), problems


ARCHITECTURES = {
    "ModernBertForMaskedLM": Architecture("modernbert", ModernForMLM, _read, config_to_hf, hf_names)
}
