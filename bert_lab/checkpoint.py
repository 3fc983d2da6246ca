"""Checkpoints under Hugging Face's names: one table of names, and one plan for the loader and the report.

A load makes a plan: which key goes where, what is extra, missing, renamed or cast, and a verdict. The report
shows the plan; the loader raises where the verdict is bad, with all that is wrong in one error, and copies
otherwise. So a load is all or nothing. Hugging Face's BERT is made of `nn.Linear`, as ours is: no weight is
transposed.

Source: the course text, section 2.4; Devlin et al. 2019.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from .model import BertConfig, BertEncoder, BertForMLM
from .rng import as_index, as_real
from .weightfiles import CONFIG, INDEX, WEIGHTS, Problem, read_file, read_json, read_weights, write_together

# ---- the table of names


# Ours to theirs, for what has a weight (and a bias, but for the three tables).
_EMBEDDINGS = {
    "word": "embeddings.word_embeddings",
    "position": "embeddings.position_embeddings",
    "token_type": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
}
_LAYER = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "ff_in": "intermediate.dense",
    "ff_out": "output.dense",
    "ff_norm": "output.LayerNorm",
}
_HEAD = {
    "transform": "cls.predictions.transform.dense",
    "transform_norm": "cls.predictions.transform.LayerNorm",
}
_BIAS = "cls.predictions.bias"
_DECODER_WEIGHT = "cls.predictions.decoder.weight"
_DECODER_BIAS = "cls.predictions.decoder.bias"

# Accepted and not used: the pooler, the next-sentence head, and two buffers of constants.
_POSITION_IDS, _TYPE_IDS = "embeddings.position_ids", "embeddings.token_type_ids"
_EXTRAS = {
    "pooler.dense.weight": "the pooler",
    "pooler.dense.bias": "the pooler",
    "cls.seq_relationship.weight": "the next-sentence head",
    "cls.seq_relationship.bias": "the next-sentence head",
    _POSITION_IDS: "a buffer of 0, 1, 2, ...",
    _TYPE_IDS: "a buffer of zeros",
}

# The config's sizes, ours to theirs.
_SIZES = {
    "vocab": "vocab_size",
    "max_len": "max_position_embeddings",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "d_ff": "intermediate_size",
    "type_vocab": "type_vocab_size",
}

_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True)
class _Want:
    """What a parameter of ours needs: today's key, a shape (None: any size), a dtype to cast to or None."""

    hf: str
    shape: tuple
    dtype: torch.dtype | None


def _wants(vocab, max_len, type_vocab, d_model, d_ff, n_layers, *, head=True, dtype=torch.float32):
    """{our name: _Want} for every parameter, in the parameters' order; without the head, a bare encoder's."""
    sizes = {"word": vocab, "position": max_len, "token_type": type_vocab}
    parts = list(_EMBEDDINGS.items())
    for i in range(n_layers):
        parts += [(f"layers.{i}.{ours}", f"encoder.layer.{i}.{hf}") for ours, hf in _LAYER.items()]
    if head:
        parts = [(f"encoder.{ours}", hf) for ours, hf in parts] + list(_HEAD.items())
    wants = {}
    for ours, hf in parts:
        last = ours.rsplit(".", 1)[-1]
        rows = sizes.get(last, d_ff if last == "ff_in" else d_model)
        columns = d_ff if last == "ff_out" else d_model
        weight = (rows,) if last.endswith("norm") else (rows, columns)
        wants[f"{ours}.weight"] = _Want(f"{hf}.weight", weight, dtype)
        if last not in sizes:
            wants[f"{ours}.bias"] = _Want(f"{hf}.bias", (rows,), dtype)
    if head:
        wants["decoder_bias"] = _Want(_BIAS, (vocab,), dtype)
    return wants


def _wants_of_config(config: BertConfig, **more) -> dict[str, _Want]:
    c = config
    return _wants(c.vocab, c.max_len, c.type_vocab, c.d_model, c.d_ff, c.n_layers, **more)


def _wants_of_model(model) -> dict[str, _Want]:
    """What a model needs; TypeError for another kind of model, ValueError for one that was changed."""
    if not isinstance(model, (BertForMLM, BertEncoder)):
        raise TypeError(f"model: expected a BertForMLM or a BertEncoder, got {type(model).__name__}")
    wants = _wants_of_config(model.config, head=isinstance(model, BertForMLM))
    parameters = dict(model.named_parameters())  # one that has two names has but the first here
    has = {name: tuple(p.shape) for name, p in parameters.items()}
    needs = {name: want.shape for name, want in wants.items()}
    if has != needs:
        odd = sorted({name for name, _ in has.items() ^ needs.items()})
        raise ValueError(f"model: its parameters are not those of its config: {', '.join(odd)}")
    if any(p.is_meta for p in parameters.values()):
        raise ValueError("model: expected parameters with values, got some on the meta device")
    return {name: replace(want, dtype=parameters[name].dtype) for name, want in wants.items()}


def _wants_of_sd(sd: Mapping, *, head: bool, dtype) -> dict[str, _Want]:
    """What a complete checkpoint would hold, by what this one holds."""
    shapes = {_today(key): _shape(value) or () for key, value in sd.items() if isinstance(key, str)}

    def size(name: str, axis: int):
        shape = shapes.get(name, ())
        return shape[axis] if axis < len(shape) else None

    layers = {int(m[1]) for name in shapes if (m := re.match(r"encoder\.layer\.(0|[1-9][0-9]{0,5})\.", name))}
    # A number far beyond the others is a stranger; it must not call for thousands of layers.
    n_layers = max((i + 1 for i in layers if i < 2 * len(layers) + 1), default=1)
    d_model = size("embeddings.word_embeddings.weight", 1) or size("embeddings.LayerNorm.weight", 0)
    tables = [size(f"{_EMBEDDINGS[table]}.weight", 0) for table in ("word", "position", "token_type")]
    d_ff = size("encoder.layer.0.intermediate.dense.weight", 0)
    return _wants(*tables, d_model, d_ff, n_layers, head=head, dtype=dtype)


def _today(key: str) -> str:
    """A key as `BertModel` writes it today: without `bert.`, and norms with weight and bias."""
    if re.match(r"bert\.(embeddings|encoder|pooler)\.", key):
        key = key.removeprefix("bert.")
    return _new_norm(key)


def _new_norm(key: str) -> str:
    return re.sub(
        r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", key)
    )


# ---- the errors and the report


class CheckpointError(ValueError):
    """A checkpoint that does not fit; the message lists all that is wrong with it."""


class CheckpointTypeError(CheckpointError, TypeError):
    """A checkpoint with something of a wrong type in it."""


class CheckpointFileError(CheckpointError, FileNotFoundError):
    """A checkpoint that lacks a file."""


@dataclass(frozen=True)
class Entry:
    """What becomes of one key.

    key: as the checkpoint writes it. ours: the parameter that it maps to, or None. how: "loaded", "repeated"
    (the same values once more), "ignored" (a known extra) or "refused". shape, dtype: of its value, or None
    and the type. renamed: today's name for an old one, or the name that it stands in for. cast: the dtype
    that its values are cast to, where that is another.
    """

    key: str
    ours: str | None
    how: str
    shape: tuple | None
    dtype: str
    renamed: str | None = None
    cast: str | None = None


@dataclass(frozen=True)
class CheckpointReport:
    """All that a load would do, and whether it would be done. Made to be printed.

    target: "BertForMLM" or "BertEncoder". entries: every key, in the order of our parameters. problems: why
    it is refused; when there are none, it loads. notes: what is odd, and does not matter to this model.
    hints: what probably happened. files: the names of the files that were read. unread: of other weights
    beside them. config: what config.json says. path: the place on this machine, which only
    `text(paths=True)` shows. values: the tensor for each parameter of ours.
    """

    target: str
    entries: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    config: BertConfig | None = None
    path: str | None = field(default=None, repr=False)
    values: Mapping[str, Tensor] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """True where a load would be done."""
        return not self.problems

    @property
    def missing(self) -> list[str]:
        """The keys that are needed and absent."""
        return [p.where for p in self.problems if p.kind == "missing"]

    @property
    def unexpected(self) -> list[str]:
        """The keys that nothing is known about."""
        return [p.where for p in self.problems if p.kind == "unexpected"]

    @property
    def extra(self) -> list[str]:
        """The known keys that are accepted and not used."""
        return [e.key for e in self.entries if e.how == "ignored"]

    @property
    def renamed(self) -> dict[str, str]:
        """Old names, and what they are called today."""
        return {e.key: e.renamed for e in self.entries if e.renamed}

    @property
    def cast(self) -> dict[str, tuple[str, str]]:
        """Keys whose values change their dtype: from what, to what."""
        return {e.key: (e.dtype, e.cast) for e in self.entries if e.cast}

    @property
    def verdict(self) -> str:
        """One line: it fits, or how many problems of which kind."""
        if self.ok:
            return f"fits {self.target}"
        return f"refused for {self.target}: {_counts(p.kind for p in self.problems)}"

    def table(self) -> str:
        """Every key on a line: what it maps to, its shape and dtype, and what becomes of it."""
        rows = [("key", "maps to", "shape", "dtype", "what becomes of it")]
        for e in self.entries:
            changes = [e.how, e.renamed and f"today {e.renamed}", e.cast and f"cast to {e.cast}"]
            shape = "-" if e.shape is None else _show(e.shape)
            rows.append((e.key, e.ours or "-", shape, e.dtype, ", ".join(filter(None, changes))))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def text(self, *, paths: bool = False) -> str:
        """The report in words; with `paths`, the checkpoint's place on this machine too."""
        lines = [self.verdict]
        if paths and self.path:
            lines.append(f"path: {self.path}")
        if self.files:
            lines.append(f"read: {', '.join(self.files)}")
        if self.unread:
            lines.append(f"not read: {', '.join(self.unread)}")
        if self.entries:
            lines.append(f"keys: {len(self.entries)}, of which {_counts(e.how for e in self.entries)}")
        lines += map(str, self.problems)
        lines += [f"renamed: {old} -> {new}" for old, new in self.renamed.items()]
        lines += [f"cast: {_counts(f'{old} -> {new}' for old, new in self.cast.values())}"] * bool(self.cast)
        lines += [f"ignored: {key}, {_extra(_today(key), False)}" for key in self.extra]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"hint: {hint}" for hint in self.hints]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def check(self) -> None:
        """Raise one error with all the problems, where there are any; else say what is odd as a warning.

        Raises:
            CheckpointError: a ValueError; where something is of a wrong type a TypeError too, and where a
                file is absent a FileNotFoundError too.
        """
        if self.problems:
            kinds = {p.kind for p in self.problems}
            error = CheckpointFileError if "no file" in kinds else CheckpointError
            error = CheckpointTypeError if "type" in kinds else error
            first = f"{self.path}: {self.verdict}" if self.path else self.verdict
            hints = [f"hint: {hint}" for hint in self.hints]
            raise error("\n  ".join([first, *map(str, self.problems), *hints]))
        for note in self.notes:
            warnings.warn(note, stacklevel=3)


def _counts(words: Iterable[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in Counter(words).items())


def _show(shape: tuple) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _shape(value) -> tuple | None:
    return tuple(value.shape) if isinstance(value, (Tensor, np.ndarray)) else None


def _dtype(value) -> str:
    if isinstance(value, (Tensor, np.ndarray)):
        return str(value.dtype).removeprefix("torch.")
    return type(value).__name__


def _describe(value) -> str:
    shape = _shape(value)
    return _dtype(value) if shape is None else f"{_dtype(value)} {_show(shape)}"


# ---- the plan


def _plan(sd, wants: Mapping[str, _Want], **more) -> CheckpointReport:
    """What loading `sd` into the wanted parameters would do. The loader and the report are this function."""
    head = "decoder_bias" in wants
    word = "encoder.word.weight"  # what the decoder is tied to
    ours_of = {want.hf: ours for ours, want in wants.items()}
    keys = {ours: [] for ours in wants}
    repeats, extras, strangers = [], [], []
    for key in sd:
        name = _today(key) if isinstance(key, str) else None
        if name in ours_of:
            keys[ours_of[name]].append(key)
        elif head and name == _DECODER_BIAS:
            keys["decoder_bias"].append(key)
        elif head and name == _DECODER_WEIGHT:
            repeats.append(key)
        elif name is not None and _extra(name, head):
            extras.append(key)
        else:
            strangers.append(key)
    prefix = "bert." if any(isinstance(key, str) and key.startswith("bert.") for key in sd) else ""

    entries, problems, notes = [], [], []
    first, values = {}, {}  # of each parameter: the key that it is loaded from, and its values
    for ours, want in wants.items():
        if not keys[ours]:
            hf = want.hf if want.hf.startswith("cls.") else prefix + want.hf
            problems.append(Problem("missing", hf, f"expected a value of shape {_show(want.shape)}"))
        # Today's names first: where there are several for one parameter, the others repeat it.
        for key in sorted(keys[ours], key=lambda key: (_today(key) != want.hf, _new_norm(key) != key, key)):
            value, problem = _usable(key, sd[key], want)
            if value is not None and ours in values and not _equal(values[ours], value):
                text = f"expected the values of {first[ours]}, which is the same parameter, got others"
                problem = Problem("conflict", key, text)
            how = "refused" if problem else "repeated" if ours in values else "loaded"
            if problem:
                problems.append(problem)
            elif how == "loaded":
                first[ours], values[ours] = key, value
            entries.append(_entry(key, sd[key], ours, how, want))
    for key in repeats:
        value, problem = _usable(key, sd[key], wants[word])
        if value is not None and word in values and not _equal(values[word], value):
            text = "expected the values of the word table, which is this model's decoder too, got others"
            problem = Problem("conflict", key, text)
        problems += [problem] * bool(problem)
        entries.append(_entry(key, sd[key], word, "refused" if problem else "repeated"))
    for key in sorted(extras):
        notes += _odd_constant(key, sd[key])
        entries.append(_entry(key, sd[key], None, "ignored"))
    for key in sorted(strangers, key=str):
        if isinstance(key, str):
            text = f"expected no such key, got {_describe(sd[key])}"
            problems.append(Problem("unexpected", key, text))
        else:
            problems.append(
                Problem("type", repr(key), f"expected a string for a key, got {type(key).__name__}")
            )
        entries.append(_entry(str(key), sd[key], None, "refused"))
    problems = [*more.pop("problems", ()), *problems]
    return CheckpointReport(
        target="BertForMLM" if head else "BertEncoder",
        entries=tuple(entries),
        problems=tuple(problems),
        notes=tuple(notes),
        hints=(
            *more.pop("hints", ()),
            *_hints(sd, wants, problems, [k for k in strangers if isinstance(k, str)]),
        ),
        values=values,
        **more,
    )


def _extra(name: str, head: bool) -> str | None:
    """What a known extra is, by its name today; None for any other key."""
    if not head and name.startswith("cls.predictions."):
        return "the head of the masked language model"
    return _EXTRAS.get(name)


def _entry(key: str, value, ours: str | None, how: str, want: _Want | None = None) -> Entry:
    dtype, cast, renamed = _dtype(value), None, None
    if how == "loaded" and want.dtype and dtype != _dtype(torch.empty(0, dtype=want.dtype)):
        cast = str(want.dtype).removeprefix("torch.")
    if how != "refused" and _new_norm(key) != key:
        renamed = _new_norm(key)
    if how == "loaded" and key == _DECODER_BIAS:
        renamed = _BIAS
    return Entry(key, ours, how, _shape(value), dtype, renamed, cast)


def _usable(key: str, value, want: _Want) -> tuple[Tensor | None, Problem | None]:
    """The value as a tensor that can be copied into the parameter, or why it cannot."""
    tensor = _as_tensor(value)
    if tensor is None or tensor.dtype not in _DTYPES:
        text = f"expected a tensor of float16, bfloat16, float32 or float64, got {_dtype(value)}"
        return None, Problem("type", key, text)
    if tensor.layout != torch.strided or tensor.is_meta:
        text = f"expected a tensor with all its values, got {tensor.layout} on {tensor.device}"
        return None, Problem("value", key, text)
    fits = len(tensor.shape) == len(want.shape) and all(
        size in (None, got) for size, got in zip(want.shape, tensor.shape, strict=True)
    )
    if not fits:
        text = f"expected {_show(want.shape)}, got {_show(tuple(tensor.shape))}"
        if "dense" in key and tuple(tensor.shape) == want.shape[::-1]:
            text += " (transposed? nn.Linear keeps [out, in])"
        return None, Problem("shape", key, text)
    with torch.inference_mode():
        if not torch.isfinite(tensor).all():
            return None, Problem("value", key, "expected finite values, got NaN or infinity")
        if want.dtype and not torch.isfinite(tensor.to(want.dtype)).all():
            text = f"expected values in the range of {_name(want.dtype)}, got larger ones"
            return None, Problem("value", key, text)
    return tensor, None


def _as_tensor(value) -> Tensor | None:
    """A tensor from a tensor or a NumPy array of floats; None from anything else."""
    if isinstance(value, Tensor):
        return value.detach()
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype.itemsize <= 8:
        return torch.from_numpy(np.array(value, dtype=value.dtype.newbyteorder("=")))
    return None


def _equal(a: Tensor, b: Tensor) -> bool:
    if a.dtype != b.dtype:
        a, b = a.double(), b.double()
    return torch.equal(a.cpu(), b.cpu())


def _odd_constant(key: str, value) -> list[str]:
    """A note where one of the two buffers of constants does not hold the constants that the model uses."""
    name = _today(key)
    if name not in (_POSITION_IDS, _TYPE_IDS):
        return []
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        value = torch.from_numpy(value.astype(np.float64))
    if isinstance(value, Tensor) and not value.is_meta and not value.is_complex():
        got = value.detach().cpu().double().flatten()
        usual = torch.arange(len(got)) if name == _POSITION_IDS else torch.zeros(len(got))
        if torch.equal(got, usual.double()):
            return []
    return [f"{key} is not {_EXTRAS[name]}: it is not used, so the model may differ from the one it was of"]


_FAMILIES = {"albert", "camembert", "deberta", "distilbert", "electra", "roberta"}
_OTHER_MODELS = {
    "distance_embedding": "relative positions, which this model does not have",
    "crossattention": "a decoder that reads another text, which this model does not have",
    "lora_": "low-rank updates that have to be merged into the weights first",
}


def _hints(sd: Mapping, wants: Mapping, problems: Iterable[Problem], strangers: list[str]) -> list[str]:
    """What probably happened, told from the keys that nobody expected and those that are missing."""
    known = {want.hf for want in wants.values()}
    prefixes = Counter()
    for key in strangers:
        parts = key.split(".")
        tails = [(".".join(parts[:i]) + ".", ".".join(parts[i:])) for i in range(1, len(parts))]
        prefixes.update([prefix for prefix, rest in tails if _today(rest) in known][:1])
    hints = []
    for prefix, count in prefixes.items():
        if prefix.split(".")[0] in _FAMILIES:
            hints.append(f"{count} keys begin with {prefix!r}: another model, though a relative of BERT")
        else:
            how = f"{{key.removeprefix({prefix!r}): value for key, value in sd.items()}}"
            hints.append(f"{count} keys would be known without {prefix!r} in front: {how}")
    for part, meaning in _OTHER_MODELS.items():
        if any(part in key for key in strangers):
            hints.append(f"a name with {part!r} belongs to {meaning}")
    if wants.keys() & set(strangers):
        hints.append("these are bert_lab's own names: model.load_state_dict takes them")
    if nested := [key for key, value in sd.items() if isinstance(value, Mapping)]:
        hints.append(f"a whole training state? pass the state dict in it: sd[{nested[0]!r}]")
    missing = {p.where for p in problems if p.kind == "missing"}
    if missing and missing == {want.hf for want in wants.values() if want.hf.startswith("cls.")}:
        hints.append("the encoder is complete: load_hf_bert takes it for a bare BertEncoder")
    return hints


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


# ---- state dicts


def hf_bert_encoder_sd(sd: Mapping) -> dict[str, Tensor]:
    """The encoder's part of a Hugging Face-named state dict, under the names of a bare `BertEncoder`.

    Args:
        sd: names to tensors (or NumPy arrays), with or without `bert.` in front of the encoder's names; a
            head, a pooler and the like may be there and are left out.

    Returns:
        Our names, in the order of the parameters, to the tensors themselves: not copied, not cast.

    Raises:
        TypeError: sd is no mapping. CheckpointError: the encoder is not complete, or see `load_hf_bert`.

    Source: the course text, section 2.4.
    """
    _check_mapping(sd)
    report = _plan(sd, _wants_of_sd(sd, head=False, dtype=None))
    report.check()
    return dict(report.values)


def load_hf_bert(model: BertForMLM | BertEncoder, sd: Mapping) -> None:
    """Copy a Hugging Face-named state dict into a model: all of it, or nothing.

    The values are cast to the model's dtype and copied in place: an optimizer keeps its parameters, the model
    its mode and its device.

    Args:
        model: a `BertForMLM`, or a bare `BertEncoder`, which ignores `cls.predictions.*`.
        sd: names to tensors (or NumPy arrays) of float16, bfloat16, float32 or float64. Names may begin with
            `bert.` or not; norms may have weight and bias or, as of old, gamma and beta; a decoder may repeat
            the word table and the head's bias. Pooler, next-sentence head and `position_ids` are ignored.

    Raises:
        TypeError: another kind of model, or sd is no mapping.
        CheckpointError: a ValueError that lists every key that is missing, unexpected, of a wrong shape, not
            finite, or in conflict with another. A TypeError too where a value or a key is of a wrong type,
            integer weights included. The model is as it was.

    Source: the course text, section 2.4.
    """
    wants = _wants_of_model(model)
    _check_mapping(sd)
    report = _plan(sd, wants)
    report.check()
    _copy(report.values, model)


def checkpoint_report(
    source: Mapping | str | os.PathLike, model: BertForMLM | BertEncoder | None = None
) -> CheckpointReport:
    """What loading a checkpoint would do: every key, what it maps to, and a verdict. Loads nothing.

    Args:
        source: a state dict, a directory (as for `load_bert`), or one safetensors file.
        model: what it is to be loaded into. Without one, a directory is judged as `load_bert` would, with a
            new model of the config's sizes; names and values alone by whether they are a complete
            `BertForMLM`, or, when no key of its head is there, a complete `BertEncoder`, in float32.

    Raises:
        TypeError: source or model is of another type. FileNotFoundError: there is nothing at that path.
    """
    wants = None if model is None else _wants_of_model(model)
    if isinstance(source, Mapping):
        return _plan(source, wants or _guess(source))
    if not isinstance(source, (str, bytes, os.PathLike)):
        kind = type(source).__name__
        raise TypeError(f"source: expected a mapping from names to tensors, or a path, got {kind}")
    path = _path(source, "source")
    if path.is_dir():
        return _read_dir(path, None, wants)
    if not path.exists():
        raise FileNotFoundError(f"source: expected a directory or a safetensors file, but there is no {path}")
    sd, problem = read_file(path)
    if problem:
        return CheckpointReport(_target(wants), problems=(problem,), files=(path.name,), path=str(path))
    return _plan(sd, wants or _guess(sd), files=(path.name,), path=str(path))


def _guess(sd: Mapping) -> dict[str, _Want]:
    head = any(isinstance(key, str) and key.startswith("cls.predictions.") for key in sd)
    return _wants_of_sd(sd, head=head, dtype=torch.float32)


def _target(wants: Mapping | None) -> str:
    return "BertForMLM" if wants is None or "decoder_bias" in wants else "BertEncoder"


def _check_mapping(sd) -> None:
    if not isinstance(sd, Mapping):
        raise TypeError(f"sd: expected a mapping from names to tensors, got {type(sd).__name__}")


@torch.inference_mode()  # also where a model was made in it: such parameters change in no other mode
def _copy(values: Mapping[str, Tensor], model: torch.nn.Module) -> None:
    parameters = dict(model.named_parameters())
    own = {p.untyped_storage().data_ptr() for p in parameters.values()}
    # A value that is one of this model's own parameters must not change before it is copied.
    values = {
        name: value.clone() if value.untyped_storage().data_ptr() in own else value
        for name, value in values.items()
    }
    for name, value in values.items():
        parameters[name].copy_(value)


# ---- directories: reading


def load_bert(dir: str | os.PathLike, *, dropout: float | None = None) -> BertForMLM:
    """A new `BertForMLM` in eval mode from a directory with config.json and safetensors weights.

    Reads model.safetensors, or else the shards that model.safetensors.index.json names. The model is of
    float32, whatever the file is of; call `.train()` to train it further.

    Args:
        dir: the directory, in Hugging Face's layout.
        dropout: the model's dropout, in [0, 1). None takes the config's, which has two that must agree.

    Raises:
        TypeError: dir is no path, or dropout no number. ValueError: dropout out of range.
        CheckpointError: a ValueError that names the directory and lists all that is wrong: a file that is
            not what its name says, with the likely cause; a config of another model; keys as in
            `load_hf_bert`. A FileNotFoundError too where the directory or a file is absent.
    """
    path = _path(dir, "dir")
    if not path.exists():
        raise CheckpointFileError(f"dir: expected a directory with a checkpoint, but there is no {path}")
    if not path.is_dir():
        raise CheckpointError(f"dir: expected a directory with {CONFIG} and {WEIGHTS}, got a file, {path}")
    report = _read_dir(path, dropout, None)
    report.check()
    with torch.device("meta"):  # without first values, which would only be overwritten
        model = BertForMLM(report.config)
    model.to_empty(device="cpu").float()
    _copy(report.values, model)
    return model.eval()


def _path(value, name: str) -> Path:
    try:
        text = os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name}: expected a path, got {type(value).__name__}") from None
    if not text:
        raise ValueError(f"{name}: expected a path, got an empty string")
    return Path(text)


def _read_dir(folder: Path, dropout: float | None, wants: Mapping[str, _Want] | None) -> CheckpointReport:
    content, problem = read_json(folder / CONFIG)
    config, problems = (None, [problem]) if problem else _read_config(content, dropout)
    sd, files, more = read_weights(folder)
    problems += more
    hints = []
    pickles = [path.name for path in folder.iterdir() if path.suffix in _PICKLES]
    if pickles and any(p.kind == "no file" and p.where == WEIGHTS for p in problems):
        hints.append(
            f"{min(pickles)} is a pickle, which can run code when it is opened and is never loaded here; "
            "where you trust it, load it with transformers and save it again: model.save_pretrained(dir)"
        )
    others = _PICKLES | {".safetensors", ".h5", ".msgpack"}
    names = {path.name for path in folder.iterdir() if path.suffix in others or path.name == INDEX}
    about = {"files": tuple(files), "unread": tuple(sorted(names - set(files))), "path": str(folder)}
    if more:  # with a file less, every key in it would be called missing
        return CheckpointReport(_target(wants), problems=tuple(problems), hints=tuple(hints), **about)
    if config and config.n_layers > len(sd):
        text = f"expected at most {len(sd)}, the number of keys in the weights, got {config.n_layers}"
        problems.append(Problem("config", "num_hidden_layers", text))
        config = None
    if wants is None:
        wants = _wants_of_config(config) if config else _wants_of_sd(sd, head=True, dtype=torch.float32)
    return _plan(sd, wants, problems=problems, hints=hints, config=config, **about)


_PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl"}


def _read_config(content: Mapping, dropout: float | None) -> tuple[BertConfig | None, list[Problem]]:
    """Our config from theirs, or all that is not ours in it."""
    problems = []

    def wrong(name: str, text: str) -> None:
        problems.append(Problem("config", name, text))

    def take(name: str, read, *args):
        if name not in content:
            wrong(name, "expected a value, got no such field")
            return None
        try:
            return read(content[name], name, *args)
        except (TypeError, ValueError) as error:
            wrong(name, str(error).removeprefix(f"{name}: "))
            return None

    for name, (usual, meaning) in _FIXED.items():
        got = content.get(name, None if name in _REQUIRED else usual[0])
        if got not in usual:
            wrong(name, f"expected {usual[0]!r}{meaning}, got {got!r}")
    sizes = {ours: take(hf, as_index, 1, 2**31) for ours, hf in _SIZES.items()}
    d_model, n_heads = sizes["d_model"], sizes["n_heads"]
    if d_model and n_heads and d_model % n_heads:
        wrong("num_attention_heads", f"expected a divisor of hidden_size, {d_model}, got {n_heads}")
    # Google's first configs have no such field: their code had the number in it.
    ln_eps = take("layer_norm_eps", as_real) if "layer_norm_eps" in content else 1e-12
    if ln_eps is not None and not 0 < ln_eps < float("inf"):
        wrong("layer_norm_eps", f"expected a finite number > 0, got {ln_eps}")
    if dropout is None:
        dropouts = [take(name, as_real) for name in _DROPOUTS]
        dropout = dropouts[0]
        for name, value in zip(_DROPOUTS, dropouts, strict=True):
            if value is not None and not 0 <= value < 1:
                wrong(name, f"expected a probability in [0, 1), got {value}")
        if None not in dropouts and dropouts[0] != dropouts[1]:
            text = (
                f"expected {_DROPOUTS[0]}, {dropouts[0]}, since this model has one dropout, got "
                f"{dropouts[1]}; load_bert(dir, dropout=...) decides"
            )
            wrong(_DROPOUTS[1], text)
    return (None if problems else BertConfig(**sizes, dropout=dropout, ln_eps=ln_eps)), problems


_DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")
_REQUIRED = {"model_type", "hidden_act"}
# What the config of this model says, or may leave out unless it is required, and why.
_FIXED = {
    "model_type": (("bert",), ""),
    "hidden_act": (("gelu",), ", the exact one"),
    "position_embedding_type": (("absolute", None), ""),
    "is_decoder": ((False, None), ", an encoder"),
    "is_encoder_decoder": ((False, None), ", an encoder"),
    "add_cross_attention": ((False, None), ", an encoder"),
    "tie_word_embeddings": ((True, None), ", the word table as decoder"),
    "pruned_heads": (({}, None), ", all heads"),
    "quantization_config": ((None,), ", plain weights"),
}


# ---- directories: writing


def save_bert(model: BertForMLM, dir: str | os.PathLike) -> None:
    """Write a model as a directory that `load_bert` and `transformers.BertForMaskedLM` load.

    Writes config.json and model.safetensors, with the values bit for bit and the decoder's weight left out,
    since it is the word table. Other files in the directory stay. A save that is cut off, at any moment,
    leaves the old directory whole; a hidden one whose name ends in ".partial" may be left too and can go.

    Args:
        model: a `BertForMLM` of float16, bfloat16, float32 or float64.
        dir: the directory; it and those above it are made where they are not there.

    Raises:
        TypeError: another kind of model (a bare encoder has no head to save), or dir is no path.
        ValueError: dir is a file; a weight is not finite; the model's sizes are not those of its config.
        OSError: the directory cannot be written.

    Source: the course text, section 2.4, for the names.
    """
    if not isinstance(model, BertForMLM):
        raise TypeError(f"model: expected a BertForMLM, got {type(model).__name__}")
    wants = _wants_of_model(model)
    folder = Path(os.path.realpath(_path(dir, "dir")))
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"dir: expected a directory, got a file, {folder}")
    parameters = dict(model.named_parameters())
    tensors = {}
    for ours, want in wants.items():
        hf = want.hf if want.hf.startswith("cls.") else f"bert.{want.hf}"
        # Copies, whole and in order: parameters may be views, and the file holds no two that share memory.
        tensors[hf] = parameters[ours].detach().cpu().contiguous().clone()
    problems = [p for hf, t in tensors.items() if (p := _usable(hf, t, _Want(hf, tuple(t.shape), None))[1])]
    CheckpointReport("BertForMLM", problems=tuple(problems)).check()
    config = json.dumps(_hf_config(model), indent=2) + "\n"

    write_together(folder, config, tensors)


def _hf_config(model: BertForMLM) -> dict:
    config = replace(model.config)  # checked once more: it can be changed after it was made
    return {
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        **{hf: getattr(config, ours) for ours, hf in _SIZES.items()},
        **dict.fromkeys(_DROPOUTS, config.dropout),
        "layer_norm_eps": config.ln_eps,
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
        "initializer_range": 0.02,
        # Theirs never trains the row of the padding id. Ours trains every row, and which id a tokenizer pads
        # with is not known here, so there is none.
        "pad_token_id": None,
        "dtype": _name(model.encoder.word.weight.dtype),
    }
