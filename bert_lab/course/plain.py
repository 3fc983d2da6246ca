"""The whole contract as one would write it on a board; the package's fast code is tested against it.

Shapes: B batch, T positions, d model width, H heads, k = d/H, V vocabulary, M labelled positions.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from numbers import Integral, Real
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from bert_lab.wordpiece import WordPieceTokenizer

IGNORE = -100  # the label of a position where nothing is predicted
BERT_SPLIT = (0.8, 0.1, 0.1)  # of the picked positions: shown as [MASK], as a random token, as they are


def check(right: bool, name: str, expected: str, got, error: type[Exception] = ValueError) -> None:
    if not right:
        raise error(f"{name}: expected {expected}, got {got!r}")


def check_type(value, kinds, name: str) -> None:
    right = isinstance(value, kinds) and not (kinds in (Integral, Real) and isinstance(value, bool))
    check(right, name, str(kinds), value, TypeError)


def check_number(value, name: str, low, high, kind: type = Real) -> None:
    check_type(value, kind, name)
    check(low <= value <= high and value < math.inf, name, f"{low} to {high}", value)


def as_array(values, name: str, shape: tuple | None, low: int, high: int, flags: bool = False) -> np.ndarray:
    """A list, array or tensor of integers low <= x < high as int64; of `flags`, any 0 and 1, as bool."""
    check_type(values, (list, tuple, np.ndarray, Tensor), name)
    if isinstance(values, Tensor):
        values = (values.float() if values.is_floating_point() else values).detach().cpu().numpy()
    np.asarray(values)  # a ValueError for rows of several lengths
    array = np.array(values, dtype=object)  # its elements as they came: a True among integers is still True
    for x in array.flat:
        check_type(x, (bool, Real) if flags else Integral, name)
        check(low <= x < high and x % 1 == 0, name, f"{low} to {high - 1}", x)
    check(shape in (None, array.shape), name, f"the shape {shape}", array.shape)
    return array.astype(bool if flags else np.int64)


class PCG32:
    """The PCG32 generator of O'Neill's minimal C reference; 0 <= seed < 2^64, 0 <= stream < 2^63."""

    def __init__(self, seed: int, stream: int = 54):
        check_number(seed, "seed", 0, 2**64 - 1, Integral)
        check_number(stream, "stream", 0, 2**63 - 1, Integral)
        self.inc = 2 * int(stream) + 1
        self.state = (self.inc + int(seed)) % 2**64
        self.next_u32()

    def next_u32(self) -> int:  # the next raw word, an integer in 0..2^32-1
        old = self.state
        self.state = (old * 6364136223846793005 + self.inc) % 2**64
        word, turn = ((old >> 18 ^ old) >> 27) % 2**32, old >> 59
        return (word >> turn | word << (32 - turn)) % 2**32

    def uniform(self) -> float:  # in [0, 1): one raw word times 2^-32
        return self.next_u32() * 2.0**-32

    def below(self, n: int) -> int:  # uniform in 0..n-1, 1 <= n < 2^32
        check_number(n, "n", 1, 2**32 - 1, Integral)
        while (raw := self.next_u32()) < 2**32 % n:
            pass  # raw words that would favor a value are skipped
        return raw % int(n)


def sample_categorical(weights: Sequence[float], u: float) -> int:
    """The smallest index whose cumulative weight exceeds u (strictly); never past the last positive one."""
    for weight in weights:
        check_number(weight, "weights", 0, math.inf)
    check(0 < math.fsum(weights) <= 1 + 1e-9, "weights", "a sum of 1", weights)
    check_number(u, "u", 0, 1 - 2**-53)
    sums, positive = np.cumsum(weights), np.flatnonzero(weights)
    return int(next((i for i in positive if sums[i] > u), positive[-1]))


def normal_init(shape: int | Sequence[int], std: float, rng: PCG32) -> np.ndarray:
    """Normal draws with mean 0, float32, by Box-Muller: two raw words give two values, in C order."""
    check(hasattr(rng, "next_u32"), "rng", "a PCG32", rng, TypeError)
    check_number(std, "std", 0, math.inf)
    values = np.empty(shape, np.float32)
    for i in range(0, values.size, 2):
        u, v = (rng.next_u32() + 1) * 2.0**-32, rng.next_u32() * 2.0**-32
        radius = std * math.sqrt(-2 * math.log(u))
        pair = [radius * math.cos(2 * math.pi * v), radius * math.sin(2 * math.pi * v)]
        values.flat[i : i + 2] = pair[: values.size - i]  # an odd count drops the last sine
    return values


def mlm_mask(ids, special_mask, mask_id: int, vocab: int, p: float, rng, *, split=BERT_SPLIT):
    """Pick positions with probability p and hide what stands there: `(inputs, labels)`.

    Positions are visited in C order. A special one draws nothing. Any other draws one uniform u, and is
    picked when u < p. A picked one is labelled with its original id and draws one more uniform, which chooses
    by `split` to show [MASK], a random id (one `rng.below(vocab)`), or the original.

    ids: integers of any shape (list, array or CPU tensor), 0 <= id < vocab; not changed. special_mask: the
    same shape, boolean or 0/1; true where a token must never be picked. mask_id, vocab: the id of [MASK], and
    how many ids there are, 1 <= vocab < 2^32. p: 0 to 1. rng: a `PCG32`, or anything with `uniform()` and
    `below(n)`. split: shares of [MASK], random and kept, that sum to 1 within 1e-9. Returns what the model
    sees, and the original id at picked positions, -100 elsewhere: int64 arrays in the shape of ids. Raises
    TypeError for a wrong type (floats or booleans as ids), ValueError for a wrong value or shape; nothing is
    then drawn. Source: Devlin et al. 2019, section 3.1 and appendix A.1.
    """
    check_number(vocab, "vocab", 1, 2**32 - 1, Integral)
    check_number(mask_id, "mask_id", 0, vocab - 1, Integral)
    check_number(p, "p", 0, 1)
    sample_categorical(split, 0.0)  # refuses what are no shares
    check(len(split) == 3 and math.fsum(split) >= 1 - 1e-9, "split", "three numbers with the sum 1", split)
    drawing = not isinstance(rng, type) and hasattr(rng, "uniform") and hasattr(rng, "below")
    check(drawing, "rng", "a generator with uniform() and below(n)", rng, TypeError)
    ids = as_array(ids, "ids", None, 0, vocab)
    special = as_array(special_mask, "special_mask", ids.shape, 0, 2, flags=True)
    inputs, labels = ids.copy(), np.full_like(ids, IGNORE)
    for t in np.ndindex(ids.shape):
        if special[t] or rng.uniform() >= p:
            continue
        labels[t] = ids[t]
        action = sample_categorical(split, rng.uniform())
        if action == 0:
            inputs[t] = mask_id
        elif action == 1:
            inputs[t] = rng.below(vocab)
    return inputs, labels


def special_ids(tok: WordPieceTokenizer) -> list[int]:
    """The ids of [PAD], [UNK], [CLS], [SEP] and [MASK] in ascending order.

    They are `tok.pad_id`, `unk_id`, `cls_id`, `sep_id` and `mask_id`. What lacks them raises TypeError.
    """
    names = ("pad_id", "unk_id", "cls_id", "sep_id", "mask_id")
    check(all(hasattr(tok, name) for name in names), "tok", "a WordPieceTokenizer", tok, TypeError)
    return sorted(getattr(tok, name) for name in names)


def mlm_batch(tok: WordPieceTokenizer, texts, max_len: int, p: float, rng, *, split=BERT_SPLIT):
    """Turn texts into one masked batch of B rows, as wide as its longest row (T <= max_len).

    A row is [CLS] text [SEP], or [CLS] a [SEP] b [SEP] for a pair, then [PAD]. What is too long loses pieces
    at its end: of a pair the longer side, on a tie the second. [CLS] and the [SEP]s around the texts stay.

    texts: strings, or pairs of strings (a tuple or list of two). max_len: room of a row, special tokens
    included: at least 2, or 3 when there is a pair. p, rng, split: as in `mlm_mask`. Returns four int64
    arrays [B, T]: input_ids, what the model sees; token_type_ids, 1 for the second text and its [SEP], else
    0; attention_mask, 1 at the positions of a row, 0 at padding (a [PAD] in a text, or drawn at random, is a
    real position); labels, the original id where something is to be predicted, -100 elsewhere. No special
    token is ever picked. Raises TypeError for a bare string, a set, or texts that are no strings or pairs;
    ValueError for no texts, too little room, or a lone surrogate. Source: as `mlm_mask`, appendix A.2.
    """
    specials = special_ids(tok)
    ordered = isinstance(texts, Iterable) and not isinstance(texts, (str, bytes, set, frozenset, Mapping))
    check(ordered, "texts", "a list of texts", texts, TypeError)
    texts = list(texts)
    check(len(texts) > 0, "texts", "at least one text", texts)
    for text in texts:
        right = isinstance(text, str) or (isinstance(text, (tuple, list)) and len(text) == 2)
        check(right and all(isinstance(x, str) for x in text), "texts", "strings or pairs", text, TypeError)
    pairs = [(text,) if isinstance(text, str) else text for text in texts]
    check_number(max_len, "max_len", 1 + max(map(len, pairs)), 2**63, Integral)
    rows, types = [], []
    for pair in pairs:
        sides = [tok.encode(text)[1:-1] for text in pair]  # without [CLS] and [SEP]
        while 1 + sum(len(side) + 1 for side in sides) > max_len:
            (sides[0] if len(sides[0]) > len(sides[-1]) else sides[-1]).pop()
        rows.append([tok.cls_id] + [x for side in sides for x in [*side, tok.sep_id]])
        types.append([0] + [i for i, side in enumerate(sides) for _ in range(len(side) + 1)])
    T = max(map(len, rows))
    ids = [row + [tok.pad_id] * (T - len(row)) for row in rows]  # [B, T]
    types = np.array([row + [0] * (T - len(row)) for row in types])  # [B, T]
    real = np.array([[1] * len(row) + [0] * (T - len(row)) for row in rows])  # [B, T]
    inputs, labels = mlm_mask(ids, np.isin(ids, specials), tok.mask_id, tok.vocab_size, p, rng, split=split)
    return {"input_ids": inputs, "token_type_ids": types, "attention_mask": real, "labels": labels}


@dataclass
class BertConfig:
    """The sizes of a BERT, by default those of BERT-base; what cannot work raises TypeError or ValueError."""

    vocab: int  # how many ids
    max_len: int = 512  # how many positions
    d_model: int = 768
    n_heads: int = 12
    n_layers: int = 12
    d_ff: int = 3072  # the width of the feed-forward part
    type_vocab: int = 2  # how many token types
    dropout: float = 0.1  # in [0, 1), active in training alone
    ln_eps: float = 1e-12  # added to variances, > 0

    def __post_init__(self):
        for name in ("vocab", "max_len", "d_model", "n_heads", "n_layers", "d_ff", "type_vocab"):
            check_number(getattr(self, name), name, 1, 2**31 - 1, Integral)
        check(self.d_model % self.n_heads == 0, "d_model", f"a multiple of {self.n_heads}", self.d_model)
        check_number(self.dropout, "dropout", 0, 1 - 2**-53)
        check_number(self.ln_eps, "ln_eps", 2**-1074, math.inf)


def initialized(layer, rng: PCG32):  # weights normal with deviation 0.02, in the parameters' order; biases 0
    if not layer.weight.is_meta:  # it has no memory yet: the values of a file will follow
        layer.weight.data.copy_(torch.from_numpy(normal_init(tuple(layer.weight.shape), 0.02, rng)))
    if isinstance(layer, nn.Linear):
        layer.bias.data.zero_()
    return layer


class BertLayer(nn.Module):
    """Post-LN: h <- LN(h + Attn(h)), then h <- LN(h + W2 GELU(W1 h)), with the exact GELU x Phi(x)."""

    def __init__(self, config: BertConfig, rng: PCG32 | None = None):
        super().__init__()
        check_type(config, BertConfig, "config")
        self.n_heads, d, rng = config.n_heads, config.d_model, rng or PCG32(0)
        parts = ("query", "key", "value", "output")
        self.attention = nn.ModuleDict({part: initialized(nn.Linear(d, d), rng) for part in parts})
        self.attention_norm = nn.LayerNorm(d, config.ln_eps)
        self.ff_in = initialized(nn.Linear(d, config.d_ff), rng)
        self.ff_out = initialized(nn.Linear(config.d_ff, d), rng)
        self.ff_norm = nn.LayerNorm(d, config.ln_eps)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, h: Tensor, allowed: Tensor | None = None) -> Tensor:
        """[B, T, d] -> [B, T, d]; `allowed`: bool, broadcast to [B, H, T, T], true where i may look at j."""
        allowed = torch.ones(1, h.shape[1], dtype=torch.bool) if allowed is None else torch.as_tensor(allowed)
        check(allowed.dtype == torch.bool, "allowed", "booleans", allowed.dtype, TypeError)
        check(allowed.any(-1).all() or not h.numel(), "allowed", "a position for each to look at", allowed)
        projected = (self.attention[part](h) for part in ("query", "key", "value"))  # 3 of [B, T, d]
        q, k, v = (x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for x in projected)  # [B, H, T, k]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [B, H, T, T]
        weights = scores.masked_fill(~allowed, -math.inf).softmax(-1)  # [B, H, T, T]
        mixed = (self.drop(weights) @ v).transpose(1, 2).flatten(-2)  # [B, T, d]
        h = self.attention_norm(h + self.drop(self.attention.output(mixed)))  # [B, T, d]
        inner = F.gelu(self.ff_in(h))  # [B, T, d_ff]
        return self.ff_norm(h + self.drop(self.ff_out(inner)))  # [B, T, d]


class BertEncoder(nn.Module):
    """Embeddings and L layers: each position comes to know all others."""

    def __init__(self, config: BertConfig, rng: PCG32 | None = None):
        super().__init__()
        check_type(config, BertConfig, "config")
        self.config, rng = config, rng or PCG32(0)
        self.word = initialized(nn.Embedding(config.vocab, config.d_model), rng)
        self.position = initialized(nn.Embedding(config.max_len, config.d_model), rng)
        self.token_type = initialized(nn.Embedding(config.type_vocab, config.d_model), rng)
        self.norm = nn.LayerNorm(config.d_model, config.ln_eps)
        self.layers = nn.ModuleList(BertLayer(config, rng) for _ in range(config.n_layers))
        self.drop = nn.Dropout(config.dropout)

    def forward(self, ids, token_type_ids=None, attn_mask=None) -> Tensor:
        """The hidden states, [B, T, d]; zero at padding.

        ids: integers [B, T], 0 <= id < vocab, T <= max_len; a tensor or a NumPy array. token_type_ids:
        integers [B, T], below type_vocab; all 0 where none are given. attn_mask: [B, T] or [B, 1, 1, T],
        boolean or 0/1, 1 at real positions; else all are real. TypeError, ValueError: what does not fit.
        """
        ids = as_array(ids, "ids", None, 0, self.config.vocab)
        check(ids.ndim == 2 and ids.shape[1] <= self.config.max_len, "ids", "[B, T], T <= max_len", ids.shape)
        types = np.zeros_like(ids) if token_type_ids is None else token_type_ids
        types = as_array(types, "token_type_ids", ids.shape, 0, self.config.type_vocab)
        mask = np.ones(ids.shape) if attn_mask is None else attn_mask
        shape = (len(ids), 1, 1, ids.shape[1]) if np.ndim(mask) == 4 else ids.shape
        real = as_array(mask, "attn_mask", shape, 0, 2, flags=True).reshape(ids.shape)
        ids, types, real = map(torch.from_numpy, (ids, types, real))  # [B, T]
        h = self.word(ids) + self.position.weight[: ids.shape[1]] + self.token_type(types)  # [B, T, d]
        h = self.drop(self.norm(h))
        # No real position looks at padding. What padding looks at is dropped below, but has to be finite.
        allowed = real[:, None, None, :] | ~real[:, None, :, None]  # [B, 1, T, T]
        for layer in self.layers:
            h = layer(h, allowed)
        return h * real[:, :, None]


class BertForMLM(nn.Module):
    """The encoder and its head, LN(GELU(W h + b)) W_word^T + b_dec: the decoder is the word table (tied)."""

    def __init__(self, config: BertConfig, rng: PCG32 | None = None):
        super().__init__()
        self.config, rng = config, rng or PCG32(0)
        self.encoder = BertEncoder(config, rng)
        self.transform = initialized(nn.Linear(config.d_model, config.d_model), rng)
        self.transform_norm = nn.LayerNorm(config.d_model, config.ln_eps)
        self.decoder_bias = nn.Parameter(torch.zeros(config.vocab))

    def named_parameters(self, *args, **options):  # torch lists a module's own, here the bias, first
        yield from sorted(super().named_parameters(*args, **options), key=lambda x: x[0] == "decoder_bias")

    def forward(self, ids, token_type_ids=None, attn_mask=None, labels=None) -> tuple[Tensor, Tensor | None]:
        """`(logits, loss)`: logits [B, T, V], zero at padding; the loss is None without labels.

        labels: integers [B, T], an id where something is to be predicted, -100 elsewhere. The loss is the
        mean cross-entropy, in nats, over those that are not -100; exactly 0.0 when there is none. A label
        that is neither, or stands on padding, is a ValueError. The rest: as in `BertEncoder.forward`.
        """
        h = self.encoder(ids, token_type_ids, attn_mask)  # [B, T, d]
        z = self.transform_norm(F.gelu(self.transform(h)))  # [B, T, d]
        logits = z @ self.encoder.word.weight.T + self.decoder_bias  # [B, T, V]
        mask = np.ones(h.shape[:2]) if attn_mask is None else attn_mask
        real = torch.as_tensor(mask).reshape(h.shape[:2]) > 0  # [B, T]
        logits = logits * real[:, :, None]
        if labels is None:
            return logits, None
        labels = torch.from_numpy(as_array(labels, "labels", tuple(real.shape), IGNORE, self.config.vocab))
        at = labels != IGNORE  # [B, T], M of them true
        check((labels >= 0)[at].all() and real[at].all(), "labels", "ids at real positions, or -100", labels)
        loss = F.cross_entropy(logits[at], labels[at], reduction="sum")  # [M, V], [M] -> a number
        return logits, loss / max(1, int(at.sum()))


# Our names for what has a weight, and theirs; "layers.0." in front of ours is "encoder.layer.0." there.
HF_NAMES = {
    "word": "embeddings.word_embeddings", "position": "embeddings.position_embeddings",
    "token_type": "embeddings.token_type_embeddings", "norm": "embeddings.LayerNorm",
    "attention.query": "attention.self.query", "attention.key": "attention.self.key",
    "attention.value": "attention.self.value", "attention.output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm", "ff_norm": "output.LayerNorm",
    "ff_in": "intermediate.dense", "ff_out": "output.dense", "decoder_bias": "cls.predictions.bias",
    "transform": "cls.predictions.transform.dense", "transform_norm": "cls.predictions.transform.LayerNorm",
}  # fmt: skip
EXTRAS = r"(pooler\.dense|cls\.seq_relationship)\.(weight|bias)|embeddings\.(position_ids|token_type_ids)"
DECODER = "cls.predictions.decoder."  # its weight and bias may repeat these:
REPEATS = {DECODER + "weight": "embeddings.word_embeddings.weight", DECODER + "bias": "cls.predictions.bias"}
SIZES = ["vocab_size", "max_position_embeddings", "hidden_size", "num_attention_heads", "num_hidden_layers"]
SIZES += ["intermediate_size", "type_vocab_size"]  # in the order of BertConfig
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")
FIXED = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
FIXED |= {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True}


def hf_name(ours: str) -> str:  # encoder.layers.3.ff_in.bias -> encoder.layer.3.intermediate.dense.bias
    number, part, leaf = re.fullmatch(r"(?:encoder\.)?(?:layers\.(\d+)\.)?(.+?)(\.\w+)?", ours).groups()
    return (f"encoder.layer.{number}." if number else "") + HF_NAMES[part] + (leaf or "")


def canonical_name(key: str) -> str:  # without "bert.", and norms with weight and bias, gamma and beta of old
    key = re.sub(r"^bert\.(?=(embeddings|encoder|pooler)\.)", "", key)
    return key.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def matched(model: nn.Module, sd: Mapping) -> dict[str, Tensor]:
    """Our names to the values in a Hugging Face-named state dict; one error lists all that is wrong."""
    check(isinstance(sd, Mapping) and all(isinstance(key, str) for key in sd), "sd", "names", sd, TypeError)
    wants = {hf_name(name): p for name, p in model.named_parameters()}
    extras = EXTRAS if "cls.predictions.bias" in wants else EXTRAS + r"|cls\.predictions\..+"
    found, wrong = {}, []
    for key in sorted(sd, key=lambda key: DECODER in key):  # after what they repeat
        name, value = canonical_name(key), sd[key]
        place = REPEATS.get(name, name)
        if place not in wants or (name == DECODER + "weight" and place not in found):
            wrong += [] if re.fullmatch(extras, name) else [f"unexpected: {key}"]
            continue
        value = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        check(isinstance(value, Tensor) and value.is_floating_point(), key, "floats", value, TypeError)
        if value.shape != wants[place].shape:
            wrong.append(f"shape: {key}: {list(value.shape)}, not {list(wants[place].shape)}")
        elif not value.to(wants[place].dtype).isfinite().all():
            wrong.append(f"value: {key}: not finite")
        elif not torch.equal(found.setdefault(place, value).double(), value.double()):
            wrong.append(f"conflict: {key}: not the values of another name for the same parameter")
    wrong += [f"missing: {place}" for place in wants if place not in found]
    check(not wrong, "sd", f"the parameters of a {type(model).__name__}", wrong)
    return {name: found[hf_name(name)] for name, _ in model.named_parameters()}


def hf_bert_encoder_sd(sd: Mapping) -> dict[str, Tensor]:
    """The encoder's part of a Hugging Face-named state dict, under the names of a bare `BertEncoder`.

    A head, a pooler and the like may be in `sd` and are left out. Returns our names, in the order of the
    parameters, to the tensors themselves: not copied, not cast. Errors: as in `load_hf_bert`.
    """
    check_type(sd, Mapping, "sd")
    shapes = {canonical_name(str(key)): (*np.shape(value), 1, 1) for key, value in sd.items()}
    tables = map(hf_name, ("word.weight", "position.weight", "token_type.weight", "layers.0.ff_in.weight"))
    (vocab, d, *_), (max_len, *_), (kinds, *_), (d_ff, *_) = (shapes.get(name, (1, 1)) for name in tables)
    layers = {key.split(".")[2] for key in shapes if key.startswith("encoder.layer.")}
    with torch.device("meta"):  # a model of names and shapes alone
        return matched(BertEncoder(BertConfig(vocab, max_len, d, 1, len(layers) or 1, d_ff, kinds)), sd)


def load_hf_bert(model: BertForMLM | BertEncoder, sd: Mapping) -> None:
    """Copy a Hugging Face-named state dict into a model, in its dtype: all of it, or nothing.

    model: a `BertForMLM`, or a bare `BertEncoder`, which ignores `cls.predictions.*`. sd: names to tensors
    (or NumPy arrays) of floats. Names may begin with `bert.` or not; norms may have weight and bias or gamma
    and beta; a decoder may repeat the word table and the head's bias. Pooler, next-sentence head and
    `position_ids` are ignored. Raises TypeError for another kind of model, no mapping, or a value that is no
    tensor of floats; one ValueError that lists every key that is missing, unexpected, of a wrong shape, not
    finite, or in conflict with another. The model is then as it was. The names: chapter 07 of the book.
    """
    check_type(model, (BertForMLM, BertEncoder), "model")
    for name, value in matched(model, sd).items():
        model.get_parameter(name).data.copy_(value)


def save_bert(model: BertForMLM, dir: str | Path) -> None:
    """Write config.json and model.safetensors, as `load_bert` and `transformers.BertForMaskedLM` load them.

    The values are written bit for bit, under Hugging Face's names, `bert.` before the encoder's, without a
    weight of the decoder. The directory is made; other files in it stay. Raises TypeError for another kind of
    model (a bare encoder has no head) or no path; ValueError where dir is a file or a weight is not finite;
    OSError where the directory cannot be written.
    """
    check_type(model, BertForMLM, "model")
    check(not Path(dir).is_file(), "dir", "a directory", dir)
    check(all(p.isfinite().all() for p in model.parameters()), "model", "finite weights", "NaN or infinity")
    sd = {"bert." * ("encoder." in x) + hf_name(x): p.contiguous() for x, p in model.state_dict().items()}
    *sizes, dropout, ln_eps = astuple(model.config)
    dtype = str(model.decoder_bias.dtype).removeprefix("torch.")
    content = FIXED | dict(zip(SIZES, sizes, strict=True)) | dict.fromkeys(DROPOUTS, dropout)
    content |= {"architectures": ["BertForMaskedLM"], "layer_norm_eps": ln_eps, "dtype": dtype}
    Path(dir).mkdir(parents=True, exist_ok=True)
    Path(dir, "config.json").write_text(json.dumps(content | {"pad_token_id": None}), encoding="utf-8")
    save_file(sd, Path(dir, "model.safetensors"), {"format": "pt"})


def load_bert(dir: str | Path, *, dropout: float | None = None) -> BertForMLM:
    """A new `BertForMLM` of float32, in eval mode, from a directory with config.json and model.safetensors.

    dropout: the model's, in [0, 1); None takes the config's, which has two that must agree. Raises TypeError
    for no path or a dropout that is no number; FileNotFoundError for a file that is not there; ValueError for
    a config of another model, a dropout out of range, or keys as in `load_hf_bert`.
    """
    content = json.loads(Path(dir, "config.json").read_text(encoding="utf-8"))
    needed = [*SIZES, "model_type", "hidden_act"]
    check(None not in map(content.get, needed), "config.json", f"all of {needed}", content)
    for name, usual in FIXED.items():
        check(content.get(name) in (usual, None), name, repr(usual), content)
    first, second = (content.get(name) if dropout is None else dropout for name in DROPOUTS)
    check(first == second, DROPOUTS[1], f"{first}, or load_bert(dir, dropout=...)", second)
    config = BertConfig(*[content[name] for name in SIZES], first, content.get("layer_norm_eps", 1e-12))
    with torch.device("meta"):  # without first values, which would only be overwritten
        model = BertForMLM(config).to_empty(device="cpu").float()
    load_hf_bert(model, load_file(Path(dir, "model.safetensors")))
    return model.eval()
