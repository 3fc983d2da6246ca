"""The zoo: one call for the models of the book, whatever a directory holds.

config.json says what a model is: `model_type` names the family and `architectures` the model. Here a table
says which of ours that is; each family's own module knows its names and its config.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from ..checkpoint import bert_of, filled, save_bert, too_many_layers, write_model
from ..hf.plan import (
    CheckpointError,
    CheckpointReport,
    Directory,
    Names,
    as_checkpoint_dir,
    as_path,
    plan,
    read_directory,
)
from ..hf.weights import Problem
from ..model import BertForMLM
from . import electra, heads, modern


def load(dir: str | os.PathLike, *, dropout: float | None = None) -> nn.Module:
    """The model that a directory holds, in eval mode and float32.

    config.json tells which one. A model_type of "bert" gives a `BertForMLM` (architectures BertForMaskedLM or
    BertForPreTraining), a bare `BertEncoder` (BertModel), a `BertForSequenceClassification` or a
    `BertForTokenClassification`; "electra" gives an `ElectraDiscriminator` (ElectraForPreTraining), and
    "modernbert" a `ModernForMLM` (ModernBertForMaskedLM).

    Args:
        dir: a directory with config.json and safetensors weights, as `load_bert` reads it.
        dropout: the model's dropout, in [0, 1). None takes the config's. ModernBERT's is always 0.

    Raises:
        TypeError: dir is no path, or dropout no number.
        CheckpointError: a ValueError. It says in a sentence which model this is, when it is none of these;
            else it lists all that is wrong, as `load_bert` does. A FileNotFoundError too where the directory
            or a file is absent.
    """
    path = as_checkpoint_dir(dir)
    found = read_directory(path)
    if found.config is None:
        CheckpointReport("a model of the zoo", problems=found.problems, **found.about).check()
    name = _architecture(path, found)
    if name in _BY_CHECKPOINT:
        return bert_of(found, dropout, head=_BY_CHECKPOINT[name])
    return _kept(_KINDS[name], found, dropout)


def save(model: nn.Module, dir: str | os.PathLike) -> None:
    """Write a model as a directory that `load` and `transformers` read, as `save_bert` does for BERT.

    Args:
        model: one of those that `load` returns, but for a bare `BertEncoder`.
        dir: the directory; it and those above it are made where they are not there.

    Raises:
        TypeError: another kind of model, or dir is no path.
        ValueError: dir is a file; a weight is not finite; a `ModernForMLM` that is no
            ModernBERT.
        OSError: the directory cannot be written. It is then as it was.
    """
    name = next((name for name, kind in _KINDS.items() if type(model) is kind.make), None)
    if name is None and type(model) is not BertForMLM:
        kinds = _either(["BertForMLM", *dict.fromkeys(kind.make.__name__ for kind in _KINDS.values())])
        raise TypeError(f"model: expected a {kinds}, got {type(model).__name__}")
    if name is None:
        save_bert(model, dir)
        return
    kind = _KINDS[name]
    keys = {ours: want.hf for ours, want in kind.names(model).wants.items()}
    write_model(as_path(dir, "dir"), model, keys, kind.write(model, name))


def _architecture(path: Path, found: Directory) -> str:
    """Which of the models in `_FAMILIES` it is; CheckpointError, in a sentence, where it is none of them."""
    family, named = (found.config.get(name) for name in ("model_type", "architectures"))
    if not isinstance(family, str) or family not in _FAMILIES:
        got = "a config.json without model_type" if family is None else f"model_type {family!r}"
        raise CheckpointError(f"{path}: expected a model of {_either(_FAMILIES)}, got {got}")
    known = _FAMILIES[family]
    if not named:  # the first configs did not say
        return _by_keys(found.sd) if family == "bert" else known[0]
    for name in named if isinstance(named, list) else [named]:
        if name in known:
            return name
    text = f"of model_type {family!r} expected {_either(known)}, got {named!r}"
    raise CheckpointError(f"{path}: {text}")


def _by_keys(sd: Mapping) -> str:
    """Which BERT it is, by what stands on the encoder."""
    if any(key.startswith("cls.") for key in sd):
        return "BertForMaskedLM"
    if "classifier.weight" not in sd:
        return "BertModel"
    pooled = any("pooler." in key for key in sd)
    return "BertForSequenceClassification" if pooled else "BertForTokenClassification"


def _either(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


class _Kind(NamedTuple):
    """A model that its family's own module knows how to read.

    make: called with what `read` gives for the content of a config.json and a dropout, where that gives no
    problems: (arguments, problems). write: the content of a config.json, for a model and its architecture's
    name. names: how such a model is written in checkpoints.
    """

    make: Callable[..., nn.Module]
    read: Callable[[Mapping, float | None], tuple[tuple, list[Problem]]]
    write: Callable[[nn.Module, str], dict]
    names: Callable[[nn.Module], Names]


def _kept(kind: _Kind, found: Directory, dropout: float | None) -> nn.Module:
    """The model of a directory that was read."""
    arguments, problems = kind.read(found.config, dropout)
    problems = [*problems, *found.problems]
    if not problems and arguments[0].n_layers > len(found.sd):
        problems.append(too_many_layers(arguments[0], found))
    target = kind.make.__name__
    CheckpointReport(target, problems=tuple(problems), **found.about).check()
    with torch.device("meta"):  # without first values, which would only be overwritten
        model = kind.make(*arguments)
    report = plan(found.sd, kind.names(model), config=arguments[0], **found.about)
    report.check()
    return filled(model, report)


def _read_electra(content: Mapping, dropout: float | None) -> tuple[tuple, list[Problem]]:
    config, problems = electra.config_from_hf(content, dropout)
    return (config,), problems


def _read_modern(content: Mapping, dropout: float | None) -> tuple[tuple, list[Problem]]:
    config, problems = modern.config_from_hf(content)
    if config is not None and dropout is not None:
        config = replace(config, dropout=dropout)
    return (config,), problems


# BERT itself: with its head, or bare.
_BY_CHECKPOINT = {"BertForMaskedLM": True, "BertForPreTraining": True, "BertModel": False}
_KINDS = {
    "BertForSequenceClassification": _Kind(
        heads.BertForSequenceClassification, heads.config_from_hf, heads.config_to_hf, heads.hf_names
    ),
    "BertForTokenClassification": _Kind(
        heads.BertForTokenClassification, heads.config_from_hf, heads.config_to_hf, heads.hf_names
    ),
    "ElectraForPreTraining": _Kind(
        electra.ElectraDiscriminator, _read_electra, electra.config_to_hf, electra.hf_names
    ),
    "ModernBertForMaskedLM": _Kind(modern.ModernForMLM, _read_modern, modern.config_to_hf, modern.hf_names),
}
_FAMILIES = {
    "bert": (*_BY_CHECKPOINT, "BertForSequenceClassification", "BertForTokenClassification"),
    "electra": ("ElectraForPreTraining",),
    "modernbert": ("ModernBertForMaskedLM",),
}
