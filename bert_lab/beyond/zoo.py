"""The zoo: one call for the models of the book, whatever a directory holds.

config.json says what a model is: `model_type` names the family and `architectures` the model. Here a table
says which of ours that is; each family's own module knows its names and its config.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from torch import nn

from ..checkpoint import ARCHITECTURES, save_bert
from ..checks import as_path
from ..hf.loading import load_model, write_model
from ..hf.report import CheckpointError, CheckpointReport, as_checkpoint_dir
from ..hf.weights import Directory, read_directory
from ..model import BertForMLM
from . import electra, heads, modern

_ROWS = ARCHITECTURES | heads.ARCHITECTURES | electra.ARCHITECTURES | modern.ARCHITECTURES
_FAMILIES = {
    family: tuple(name for name, row in _ROWS.items() if row.model_type == family)
    for family in dict.fromkeys(row.model_type for row in _ROWS.values())
}


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
    return load_model(found, _ROWS[_architecture(path, found)], dropout)


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
    if type(model) is BertForMLM:
        save_bert(model, dir)
        return
    rows = {name: row for name, row in _ROWS.items() if name not in ARCHITECTURES}
    name = next((name for name, row in rows.items() if type(model) is row.make), None)
    if name is None:
        kinds = _either(["BertForMLM", *(row.make.__name__ for row in rows.values())])
        raise TypeError(f"model: expected a {kinds}, got {type(model).__name__}")
    row = rows[name]
    write_model(as_path(dir, "dir"), model, row.names(model, {}), row.write(model, name))


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
