"""BERT checkpoints under Hugging Face's names: the table of names, loading and saving.

What becomes of each key is told by `plans.plan`, for the loader and for the report. Hugging Face's BERT is
made of `nn.Linear`, as ours is: no weight is transposed.

Source: the course text, section 2.4; Devlin et al. 2019.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from .hf.plan import (
    SIZES,
    CheckpointReport,
    Directory,
    Fields,
    Names,
    Want,
    as_checkpoint_dir,
    as_path,
    check_mapping,
    check_values,
    copy_into,
    load_into,
    plan,
    read_directory,
    short_name,
    sizes_of,
    usable,
)
from .hf.weights import Problem, read_file, write_together
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
_SIZES = {**SIZES, "type_vocab": "type_vocab_size"}


def _wants(vocab, max_len, type_vocab, d_model, d_ff, n_layers, *, head=True, dtype=torch.float32):
    """{our name: Want} for every parameter, in the parameters' order; without the head, a bare encoder's."""
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
        wants[f"{ours}.weight"] = Want(f"{hf}.weight", weight, dtype)
        if last not in sizes:
            wants[f"{ours}.bias"] = Want(f"{hf}.bias", (rows,), dtype)
    if head:
        wants["decoder_bias"] = Want(_BIAS, (vocab,), dtype)
    return wants


def _wants_of_config(config: BertConfig, **more) -> dict[str, Want]:
    c = config
    return _wants(c.vocab, c.max_len, c.type_vocab, c.d_model, c.d_ff, c.n_layers, **more)


def _wants_of_model(model) -> dict[str, Want]:
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
    check_values(model)
    return {name: replace(want, dtype=parameters[name].dtype) for name, want in wants.items()}


def _wants_of_sd(sd: Mapping, *, head: bool, dtype) -> dict[str, Want]:
    """What a complete checkpoint would hold, by what this one holds."""
    shapes = {_today(key): sizes_of(value) or () for key, value in sd.items() if isinstance(key, str)}

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


def _names(wants: Mapping[str, Want], prefix: str = "") -> Names:
    """How BERT is written in checkpoints: with the head where it is wanted, else as a bare encoder.

    prefix: what the checkpoint at hand has in front of the encoder's names, so that a missing key is told as
    it would be there.
    """
    head = "decoder_bias" in wants
    missing_head = {want.hf for want in wants.values() if want.hf.startswith("cls.")}

    def extra(name: str) -> str | None:
        if not head and name.startswith("cls.predictions."):
            return "the head of the masked language model"
        return _EXTRAS.get(name)

    def advice(missing: set[str]) -> str | None:
        complete = "the encoder is complete: load_hf_bert takes it for a bare BertEncoder"
        return complete if missing == missing_head else None

    return Names(
        target="BertForMLM" if head else "BertEncoder",
        wants=wants,
        today=_today,
        respelled=_new_norm,
        written=lambda hf: hf if hf.startswith("cls.") else prefix + hf,
        repeats={_DECODER_BIAS: "decoder_bias", _DECODER_WEIGHT: "encoder.word.weight"} if head else {},
        stands_in={_DECODER_BIAS} if head else (),
        extras=extra,
        odd=odd_constant,
        advice=advice,
    )


def _names_for(sd: Mapping, wants: Mapping[str, Want]) -> Names:
    prefixed = any(isinstance(key, str) and key.startswith("bert.") for key in sd)
    return _names(wants, "bert." * prefixed)


def encoder_table(ours: str = "encoder.", hf: str = "bert.") -> dict[str, str]:
    """The names of BERT's encoder, ours to theirs, for `plans.wants_of`: each with its prefix."""
    table = {f"{ours}{name}": f"{hf}{theirs}" for name, theirs in _EMBEDDINGS.items()}
    layers = {
        f"{ours}layers.{{}}.{name}": f"{hf}encoder.layer.{{}}.{theirs}" for name, theirs in _LAYER.items()
    }
    return table | layers


def relative_names(
    target: str, wants: Mapping[str, Want], prefix: str = "bert.", extras: Mapping[str, str] | None = None
) -> Names:
    """How a model is written in checkpoints whose encoder is BERT's, with `prefix` before its names.

    In a file the encoder's names may lack the prefix, and its norms may have gamma and beta. extras: further
    keys that are known and not used, by their full names, and what they are.
    """
    known = {prefix + name: _EXTRAS[name] for name in (_POSITION_IDS, _TYPE_IDS)} | dict(extras or {})

    def today(key: str) -> str:
        bare = key.startswith(("embeddings.", "embeddings_project.", "encoder.", "pooler."))
        return _new_norm(prefix * bare + key)

    return Names(target, wants, today, _new_norm, extras=known.get, odd=odd_constant)


def odd_constant(key: str, value) -> str | None:
    """A note where one of the two buffers of constants does not hold the constants that the model uses."""
    name = next((name for name in (_POSITION_IDS, _TYPE_IDS) if key.endswith(name)), None)
    if name is None:
        return None
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        value = torch.from_numpy(value.astype(np.float64))
    if isinstance(value, Tensor) and not value.is_meta and not value.is_complex():
        got = value.detach().cpu().double().flatten()
        usual = torch.arange(len(got)) if name == _POSITION_IDS else torch.zeros(len(got))
        if torch.equal(got, usual.double()):
            return None
    return f"{key} is not {_EXTRAS[name]}: it is not used, so the model may differ from the one it was of"


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
    report = plan(sd, _names_for(sd, _wants_of_sd(sd, head=False, dtype=None)))
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
    check_mapping(sd)
    load_into(model, sd, _names_for(sd, wants))


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
        return plan(source, _names_for(source, wants or _guess(source)))
    if not isinstance(source, (str, bytes, os.PathLike)):
        kind = type(source).__name__
        raise TypeError(f"source: expected a mapping from names to tensors, or a path, got {kind}")
    path = as_path(source, "source")
    if path.is_dir():
        return _report_of(read_directory(path), None, wants)
    if not path.exists():
        raise FileNotFoundError(f"source: expected a directory or a safetensors file, but there is no {path}")
    sd, problem = read_file(path)
    if problem:
        return CheckpointReport(_target(wants), problems=(problem,), files=(path.name,), path=str(path))
    return plan(sd, _names_for(sd, wants or _guess(sd)), files=(path.name,), path=str(path))


def _guess(sd: Mapping) -> dict[str, Want]:
    head = any(isinstance(key, str) and key.startswith("cls.predictions.") for key in sd)
    return _wants_of_sd(sd, head=head, dtype=torch.float32)


def _target(wants: Mapping | None, head: bool = True) -> str:
    return "BertForMLM" if (head if wants is None else "decoder_bias" in wants) else "BertEncoder"


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
    return bert_of(read_directory(as_checkpoint_dir(dir)), dropout)


def bert_of(found: Directory, dropout: float | None = None, *, head: bool = True) -> BertForMLM | BertEncoder:
    """What `load_bert` returns, of a directory that was read; without the head, the bare encoder."""
    report = _report_of(found, dropout, None, head=head)
    report.check()
    with torch.device("meta"):  # without first values, which would only be overwritten
        model = (BertForMLM if head else BertEncoder)(report.config)
    return filled(model, report)


def filled(model: nn.Module, report: CheckpointReport):
    """A model that was made on the meta device, with the report's values: float32 and in eval mode."""
    model.to_empty(device="cpu").float()
    copy_into(model, report.values)
    return model.eval()


def _report_of(
    found: Directory, dropout: float | None, wants: Mapping[str, Want] | None, *, head: bool = True
) -> CheckpointReport:
    """What loading a directory would do; where nothing is wanted yet, into a model of its config's sizes."""
    config, problems = (None, []) if found.config is None else config_from_hf(found.config, dropout)
    problems = [*problems, *found.problems]
    if not found.whole:  # with a file less, every key in it would be called missing
        return CheckpointReport(_target(wants, head), problems=tuple(problems), **found.about)
    if config and config.n_layers > len(found.sd):
        problems.append(too_many_layers(config, found))
        config = None
    if wants is None and config:
        wants = _wants_of_config(config, head=head)
    elif wants is None:
        wants = _wants_of_sd(found.sd, head=head, dtype=torch.float32)
    return plan(found.sd, _names_for(found.sd, wants), problems=problems, config=config, **found.about)


def too_many_layers(config, found: Directory) -> Problem:
    """What is said of a config that asks for more layers than the weights have keys."""
    text = f"expected at most {len(found.sd)}, the number of keys in the weights, got {config.n_layers}"
    return Problem("config", "num_hidden_layers", text)


def config_from_hf(
    content: Mapping, dropout: float | None = None, *, model_type: str = "bert"
) -> tuple[BertConfig | None, list[Problem]]:
    """A `BertConfig` from the content of a config.json, or all in it that is not ours.

    dropout: instead of the config's two, which must agree. model_type: "bert", or that of a relative whose
    encoder is the same.
    """
    fields = Fields(content)
    fields.fixed("model_type", (model_type,), required=True)
    fields.fixed("hidden_act", ("gelu",), ", the exact one", required=True)
    for name, (usual, meaning) in _FIXED.items():
        fields.fixed(name, usual, meaning)
    sizes = fields.sizes(_SIZES)
    # Google's first configs have no such field: their code had the number in it.
    ln_eps = fields.real("layer_norm_eps", 1e-12)
    if ln_eps is not None and not 0 < ln_eps < float("inf"):
        fields.wrong("layer_norm_eps", f"expected a finite number > 0, got {ln_eps}")
    if dropout is None:
        dropout = _one_dropout(fields)
    problems = fields.problems
    return (None if problems else BertConfig(**sizes, dropout=dropout, ln_eps=ln_eps)), problems


def _one_dropout(fields: Fields) -> float | None:
    dropouts = [fields.real(name) for name in _DROPOUTS]
    for name, value in zip(_DROPOUTS, dropouts, strict=True):
        if value is not None and not 0 <= value < 1:
            fields.wrong(name, f"expected a probability in [0, 1), got {value}")
    if None not in dropouts and dropouts[0] != dropouts[1]:
        text = (
            f"expected {_DROPOUTS[0]}, {dropouts[0]}, since this model has one dropout, got "
            f"{dropouts[1]}; load_bert(dir, dropout=...) decides"
        )
        fields.wrong(_DROPOUTS[1], text)
    return dropouts[0]


_DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")
# What the config of this model says, or may leave out, and why.
_FIXED = {
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
    keys = {
        ours: want.hf if want.hf.startswith("cls.") else f"bert.{want.hf}" for ours, want in wants.items()
    }
    write_model(as_path(dir, "dir"), model, keys, hf_config(model, "BertForMaskedLM"))


def write_model(path: Path, model: nn.Module, keys: Mapping[str, str], config: Mapping) -> None:
    """Write config.json and the weights, each parameter of ours under its key: both files, or none.

    ValueError where the path is a file or a weight cannot be loaded again; OSError where it cannot be
    written.
    """
    folder = Path(os.path.realpath(path))
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"dir: expected a directory, got a file, {folder}")
    parameters = dict(model.named_parameters())
    # Copies, whole and in order: parameters may be views, and the file holds no two that share memory.
    tensors = {hf: parameters[ours].detach().cpu().contiguous().clone() for ours, hf in keys.items()}
    problems = [p for hf, t in tensors.items() if (p := usable(hf, t, Want(hf, tuple(t.shape), None))[1])]
    CheckpointReport(type(model).__name__, problems=tuple(problems)).check()
    write_together(folder, json.dumps(config, indent=2) + "\n", tensors)


def hf_config(model: nn.Module, architecture: str, model_type: str = "bert") -> dict:
    """The config.json of a model with BERT's encoder, for `transformers`."""
    config = replace(model.config)  # checked once more: it can be changed after it was made
    return {
        "architectures": [architecture],
        "model_type": model_type,
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
        "dtype": short_name(model.encoder.word.weight.dtype),
    }
