"""A directory into a model, and a model into a directory: the same way for every kind of model.

A kind is a row, an `Architecture`; the modules of the models have the tables of these.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..files import write_files
from .plan import Expected, Names, check_values, copy_into, plan, usable
from .report import CheckpointReport
from .weights import CONFIG, WEIGHTS, Directory, Problem, weights_content


@dataclass(frozen=True)
class Architecture:
    """A model that the loader knows: a row of a table whose keys are the names of `transformers`.

    model_type: the family, as config.json names it. make: the class. read: (content of a config.json,
    dropout or None) to the arguments of `make`, the config first, and what is wrong. write: (model,
    architecture) to the content of a config.json. names: (model, state dict) to how it is written. guess: a
    state dict to names, where the config cannot be used; None where there is no such guess.
    """

    model_type: str
    make: Callable[..., nn.Module]
    read: Callable[[Mapping, float | None], tuple[tuple, list[Problem]]]
    write: Callable[[Any, str], dict]
    names: Callable[[Any, Mapping], Names]
    guess: Callable[[Mapping], Names] | None = None


def load_model(found: Directory, row: Architecture, dropout: float | None = None) -> Any:
    """The model of a directory that was read, in float32 and in eval mode.

    A warning names the line that calls the function that called this.
    """
    report, model = report_directory(found, row, dropout)
    report.check(depth=4)
    model.to_empty(device="cpu")
    copy_into(model, report.values)
    return model.eval()


def report_directory(
    found: Directory, row: Architecture, dropout: float | None = None, model: nn.Module | None = None
) -> tuple[CheckpointReport, nn.Module | None]:
    """What loading a directory would do, and the model, without values: a new one where none is given."""
    arguments, problems = ((), []) if found.config is None else row.read(found.config, dropout)
    config = arguments[0] if arguments and not problems else None
    problems = [*problems, *found.problems]
    target = row.make.__name__
    if not found.whole:  # with a file less, every key in it would be called missing
        return CheckpointReport(target, problems=tuple(problems), **found.about), None
    if config and config.n_layers > len(found.sd):
        text = f"expected at most {len(found.sd)}, the number of keys in the weights, got {config.n_layers}"
        problems.append(Problem("config", "num_hidden_layers", text))
        config = None
    if model is None and config:
        with torch.device("meta"):  # without first values, which would only be overwritten
            model = row.make(*arguments).float()
    if model is None and not row.guess:
        return CheckpointReport(target, problems=tuple(problems), **found.about), None
    names = row.guess(found.sd) if model is None else row.names(model, found.sd)
    return plan(found.sd, names, problems=problems, config=config, **found.about), model


def write_model(path: Path, model: nn.Module, names: Names, config: Mapping) -> None:
    """Write config.json and the weights, each parameter of ours under its key: both files, or none.

    ValueError where the path is a file or a weight cannot be loaded again; OSError where it cannot be
    written.
    """
    check_values(model)
    folder = Path(os.path.realpath(path))
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"dir: expected a directory, got a file, {folder}")
    parameters, keys = dict(model.named_parameters()), {n: e.key for n, e in names.expected.items()}
    # Copies, whole and in order: parameters may be views, and the file holds no two that share memory.
    tensors = {key: parameters[name].detach().cpu().contiguous().clone() for name, key in keys.items()}
    expected = {key: Expected(key, tuple(tensor.shape), None) for key, tensor in tensors.items()}
    problems = [p for key, tensor in tensors.items() if (p := usable(key, tensor, expected[key])[1])]
    CheckpointReport(type(model).__name__, problems=tuple(problems)).check()
    weights = weights_content(tensors, {"format": "pt"}, f"{folder}: the weights")
    # The config goes first and comes last: weights of one model never stand beside the config of another,
    # which a load may not notice, since the number of heads shows in no shape.
    write_files(folder, {WEIGHTS: weights, CONFIG: json.dumps(config, indent=2) + "\n"}, guard=CONFIG)
