"""BERT checkpoints under Hugging Face's names: the table of names, loading and saving.

What becomes of each key is told by `hf.plan`, for the loader and for the report. Hugging Face's BERT is made
of `nn.Linear`, as ours is: no weight is transposed. The models on BERT's encoder use the same names and the
same loader; each is a row of a table such as `ARCHITECTURES`.

Source: the course text, section 2.4; Devlin et al. 2019.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .checks import as_path
from .hf.config import bert_config_content, read_bert_config
from .hf.loading import Architecture, load_model, report_directory, write_model
from .hf.plan import (
    Expected,
    Names,
    check_mapping,
    check_values,
    expected_by,
    load_into,
    plan,
    short_name,
    sizes_of,
)
from .hf.report import CheckpointReport, as_checkpoint_dir
from .hf.weights import Problem, read_directory, read_file
from .model import BertConfig, BertEncoder, BertForMLM

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
    "decoder_bias": "cls.predictions.bias",
}
_DECODER_WEIGHT = "cls.predictions.decoder.weight"
_DECODER_BIAS = "cls.predictions.decoder.bias"

# Accepted and not used: the pooler, the next-sentence head, and two buffers of constants.
_POSITION_IDS, _TYPE_IDS = "embeddings.position_ids", "embeddings.token_type_ids"
_BUFFERS = {_POSITION_IDS: "a buffer of 0, 1, 2, ...", _TYPE_IDS: "a buffer of zeros"}
POOLER = dict.fromkeys(("bert.pooler.dense.weight", "bert.pooler.dense.bias"), "the pooler")
_NEXT_SENTENCE = dict.fromkeys(
    ("cls.seq_relationship.weight", "cls.seq_relationship.bias"), "the next-sentence head"
)


def encoder_table(ours: str = "encoder.", theirs: str = "bert.") -> dict[str, str]:
    """The names of BERT's encoder, ours to theirs, for `hf.plan.expected_by`: each with its prefix."""
    table = {f"{ours}{name}": f"{theirs}{hf}" for name, hf in _EMBEDDINGS.items()}
    return table | {
        f"{ours}layers.{{}}.{name}": f"{theirs}encoder.layer.{{}}.{hf}" for name, hf in _LAYER.items()
    }


class BertNames(Names):
    """How a model is written in checkpoints whose encoder is BERT's.

    In a file the encoder's keys may lack the prefix, and norms may have gamma and beta.
    """

    def __init__(self, target, expected, extras: Mapping[str, str] | None = None, prefix: str = "bert."):
        buffers = {prefix + name: meaning for name, meaning in _BUFFERS.items()}
        super().__init__(target, expected, buffers | dict(extras or {}))
        self.prefix = prefix

    def canonical_name(self, key: str) -> str:
        bare = key.startswith(("embeddings.", "embeddings_project.", "encoder.", "pooler."))
        return self.current_spelling(self.prefix * bare + key)

    def current_spelling(self, key: str) -> str:
        key = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", key)
        return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", key)

    def note(self, key: str, value) -> str | None:
        """A note where a buffer does not hold the constants that the model uses."""
        name = next((name for name in _BUFFERS if key.endswith(name)), None)
        if name is None:
            return None
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
            value = torch.from_numpy(value.astype(np.float64))
        if isinstance(value, Tensor) and not value.is_meta and not value.is_complex():
            got = value.detach().cpu().double().flatten()
            usual = torch.arange(len(got)) if name == _POSITION_IDS else torch.zeros(len(got))
            if torch.equal(got, usual.double()):
                return None
        return (
            f"{key} is not {_BUFFERS[name]}: it is not used, so the model may differ from the one it was of"
        )


class _MLMNames(BertNames):
    """How a `BertForMLM` is written, or a bare `BertEncoder`, in the checkpoint `sd`."""

    def __init__(self, expected: Mapping[str, Expected], sd: Iterable):
        self.head = "decoder_bias" in expected
        target = "BertForMLM" if self.head else "BertEncoder"
        super().__init__(target, expected, POOLER | _NEXT_SENTENCE)
        self.has_prefix = any(isinstance(key, str) and key.startswith(self.prefix) for key in sd)
        if self.head:
            self.tied = {_DECODER_BIAS: "decoder_bias", _DECODER_WEIGHT: "encoder.word.weight"}
            self.aliases = {_DECODER_BIAS}

    def written(self, name: str) -> str:
        return name if self.has_prefix else name.removeprefix(self.prefix)

    def extra(self, name: str) -> str | None:
        if not self.head and name.startswith("cls.predictions."):
            return "the head of the masked language model"
        return super().extra(name)

    def hint(self, missing: set[str]) -> str | None:
        if missing == {e.key for e in self.expected.values() if e.key.startswith("cls.")}:
            return "the encoder is complete: load_hf_bert takes it for a bare BertEncoder"
        return None


# Stand-ins for sizes, all different, by which an axis of a parameter is told.
_AXES = {2: "vocab", 3: "max_len", 5: "type_vocab", 7: "d_model", 11: "d_ff"}


def _expected(sizes: Mapping[str, int | None], head: bool, dtype) -> dict[str, Expected]:
    """What the parameters of a model of these sizes need, in their order; a size that is None is any."""
    stand_ins = {name: size for size, name in _AXES.items()}
    with torch.device("meta"):
        config = BertConfig(**stand_ins, n_heads=1, n_layers=sizes["n_layers"] or 1)
        model = (BertForMLM if head else BertEncoder)(config)
    table = encoder_table() | _HEAD if head else encoder_table("")
    return {
        name: Expected(e.key, tuple(sizes[_AXES[axis]] for axis in e.shape), dtype)
        for name, e in expected_by(model, table).items()
    }


def _names_of(model: BertForMLM | BertEncoder, sd: Iterable = ()) -> Names:
    """How a model is written; TypeError for another kind of model, ValueError for one that was changed."""
    if not isinstance(model, (BertForMLM, BertEncoder)):
        raise TypeError(f"model: expected a BertForMLM or a BertEncoder, got {type(model).__name__}")
    expected = _expected(vars(model.config), isinstance(model, BertForMLM), None)
    parameters = dict(model.named_parameters())  # one that has two names has but the first here
    shapes = {name: tuple(p.shape) for name, p in parameters.items()}
    differing = shapes.items() ^ {name: e.shape for name, e in expected.items()}.items()
    if differing:
        names = ", ".join(sorted({name for name, _ in differing}))
        raise ValueError(f"model: its parameters are not those of its config: {names}")
    return _MLMNames({name: replace(e, dtype=parameters[name].dtype) for name, e in expected.items()}, sd)


def _guessed_names(sd: Mapping, head: bool | None = None, dtype=torch.float32) -> Names:
    """How the model is written that a state dict seems to be of, by the keys and sizes in it."""
    if head is None:
        head = any(isinstance(key, str) and key.startswith("cls.predictions.") for key in sd)
    names = BertNames("", {})
    shapes = {names.canonical_name(key): sizes_of(value) for key, value in sd.items() if isinstance(key, str)}

    def size(name: str, axis: int):
        shape = shapes.get(f"bert.{name}") or ()
        return shape[axis] if axis < len(shape) else None

    pattern = re.compile(r"bert\.encoder\.layer\.(0|[1-9][0-9]{0,5})\.")
    layers = {int(found[1]) for name in shapes if (found := pattern.match(name))}
    sizes = {
        "vocab": size("embeddings.word_embeddings.weight", 0),
        "max_len": size("embeddings.position_embeddings.weight", 0),
        "type_vocab": size("embeddings.token_type_embeddings.weight", 0),
        "d_model": size("embeddings.word_embeddings.weight", 1) or size("embeddings.LayerNorm.weight", 0),
        "d_ff": size("encoder.layer.0.intermediate.dense.weight", 0),
        # A number far beyond the others is a stray key; it must not call for thousands of layers.
        "n_layers": max((i + 1 for i in layers if i < 2 * len(layers) + 1), default=1),
    }
    return _MLMNames(_expected(sizes, head, dtype), sd)


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
    check_mapping(sd)
    report = plan(sd, _guessed_names(sd, head=False, dtype=None))
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
    names = _names_of(model, sd if isinstance(sd, Mapping) else ())
    load_into(model, sd, names)


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
    if model is not None:
        _names_of(model)
        check_values(model)

    def names(sd: Mapping) -> Names:
        return _guessed_names(sd) if model is None else _names_of(model, sd)

    if isinstance(source, Mapping):
        return plan(source, names(source))
    if not isinstance(source, (str, bytes, os.PathLike)):
        kind = type(source).__name__
        raise TypeError(f"source: expected a mapping from names to tensors, or a path, got {kind}")
    path, row = as_path(source, "source"), _BERT if model is None or isinstance(model, BertForMLM) else _BARE
    if path.is_dir():
        return report_directory(read_directory(path), row, model=model)[0]
    if not path.exists():
        raise FileNotFoundError(f"source: expected a directory or a safetensors file, but there is no {path}")
    sd, problem = read_file(path)
    if problem:
        return CheckpointReport(row.make.__name__, problems=(problem,), files=(path.name,), path=str(path))
    return plan(sd, names(sd), files=(path.name,), path=str(path))


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
    return load_model(read_directory(as_checkpoint_dir(dir)), _BERT, dropout)


def config_from_hf(
    content: Mapping, dropout: float | None = None, *, model_type: str = "bert"
) -> tuple[BertConfig | None, list[Problem]]:
    """A `BertConfig` from the content of a config.json, or all in it that is not ours.

    dropout: instead of the config's two, which must agree. model_type: "bert", or that of a relative whose
    encoder is the same.
    """
    arguments, problems = read_bert_config(content, dropout, model_type)
    return (None if problems else BertConfig(**arguments)), problems


def _read_config(content: Mapping, dropout: float | None) -> tuple[tuple, list[Problem]]:
    config, problems = config_from_hf(content, dropout)
    return (config,), problems


# ---- directories: writing


def save_bert(model: BertForMLM, dir: str | os.PathLike) -> None:
    """Write a model as a directory that `load_bert` and `transformers.BertForMaskedLM` load.

    Writes config.json and model.safetensors, with the values bit for bit and the decoder's weight left out,
    since it is the word table. Other files in the directory stay. A save that is cut off leaves the old
    checkpoint or the new one, or, where the config changes, for a moment a directory without config.json,
    which is refused. A hidden directory in it whose name ends in ".partial" may be left and can be deleted.

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
    write_model(as_path(dir, "dir"), model, _names_of(model), hf_config(model, "BertForMaskedLM"))


def hf_config(model: Any, architecture: str, model_type: str = "bert") -> dict:
    """The content of the config.json of a model with BERT's encoder, for `transformers`."""
    config = replace(model.config)  # checked once more: it can be changed after it was made
    return bert_config_content(config, architecture, model_type, short_name(model.encoder.word.weight.dtype))


_BERT = Architecture(
    "bert", BertForMLM, _read_config, hf_config, _names_of, partial(_guessed_names, head=True)
)
_BARE = replace(_BERT, make=BertEncoder, guess=partial(_guessed_names, head=False))
ARCHITECTURES = {"BertForMaskedLM": _BERT, "BertForPreTraining": _BERT, "BertModel": _BARE}
