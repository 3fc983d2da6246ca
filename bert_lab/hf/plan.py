"""What becomes of each key of a checkpoint: one plan, for the loader and for the report.

A load makes a plan: which key goes where, what is extra, missing, renamed or cast, and a verdict. The report
shows the plan. The loader raises where the verdict is bad, with all that is wrong in one error, and copies
otherwise. So a load is all or nothing. How a kind of model is written in checkpoints is a `Names`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from .report import CheckpointReport, Entry, show_shape
from .weights import Problem

_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True)
class Expected:
    """What a parameter needs: its canonical key, a shape (None: any size), a dtype to cast to or None."""

    key: str
    shape: tuple
    dtype: torch.dtype | None


class Names:
    """How one kind of model is written in checkpoints; a kind overrides what is special to it.

    target: the model's name. expected: for each parameter of ours, what it needs. extras: keys that are known
    and not used, and what they are.
    """

    tied: Mapping[str, str] = {}  # keys that repeat the values of a parameter, to its name
    aliases: Collection[str] = ()  # those of `tied` that may also stand in for the parameter's own key

    def __init__(
        self, target: str, expected: Mapping[str, Expected], extras: Mapping[str, str] | None = None
    ):
        self.target, self.expected, self.extras = target, expected, dict(extras or {})

    def canonical_name(self, key: str) -> str:
        """The name by which `expected`, `tied` and `extras` know a key."""
        return key

    def current_spelling(self, key: str) -> str:
        """The key with its last parts as they are written today."""
        return key

    def written(self, name: str) -> str:
        """A canonical name as the checkpoint at hand would write it, for a key that is missing."""
        return name

    def extra(self, name: str) -> str | None:
        """What a known key is that is not used, by its canonical name; None for another."""
        return self.extras.get(name)

    def note(self, key: str, value) -> str | None:
        """What a reader should know about the value of an extra key, or None."""
        return None

    def hint(self, missing: set[str]) -> str | None:
        """What to do about the keys that are missing, or None."""
        return None


def expected_by(model: nn.Module, table: Mapping[str, str]) -> dict[str, Expected]:
    """What each parameter of a model needs, in their order, by a table of names.

    table: ours to theirs, without the last part (weight, bias); of several that fit, the longest counts. {}
    stands for a number: "layers.{}." to "encoder.layer.{}.". A parameter without a place in it keeps its
    name.
    """
    return {
        name: Expected(_renamed(name, table), tuple(p.shape), p.dtype) for name, p in model.named_parameters()
    }


def _renamed(name: str, table: Mapping[str, str]) -> str:
    for ours in sorted(table, key=len, reverse=True):
        pattern = re.escape(ours).replace(r"\{\}", "([0-9]+)")
        if found := re.match(rf"{pattern}(?=\.|$)" if not ours.endswith(".") else pattern, name):
            return table[ours].format(*found.groups()) + name[found.end() :]
    return name


def sizes_of(value) -> tuple | None:
    """The shape of a tensor or an array; None of anything else."""
    return tuple(value.shape) if isinstance(value, (Tensor, np.ndarray)) else None


def _dtype(value) -> str:
    if isinstance(value, (Tensor, np.ndarray)):
        return short_name(value.dtype)
    return type(value).__name__


def _describe(value) -> str:
    shape = sizes_of(value)
    return _dtype(value) if shape is None else f"{_dtype(value)} {show_shape(shape)}"


def short_name(dtype: torch.dtype | np.dtype) -> str:
    """float32 for torch.float32, and for NumPy's."""
    return str(dtype).removeprefix("torch.")


# ---- the plan


def plan(sd: Mapping, names: Names, **more) -> CheckpointReport:
    """What loading `sd` would do. The loader and the report are this function."""
    parameters = names.expected
    ours_of = {expected.key: ours for ours, expected in parameters.items()}
    keys = {ours: [] for ours in parameters}
    repeats, extras, unknown = [], [], []
    for key in sd:
        name = names.canonical_name(key) if isinstance(key, str) else None
        if name in ours_of:
            keys[ours_of[name]].append(key)
        elif name in names.aliases:
            keys[names.tied[name]].append(key)
        elif name in names.tied:
            repeats.append(key)
        elif name is not None and names.extra(name):
            extras.append(key)
        else:
            unknown.append(key)

    entries, problems, notes = [], [], []
    first, values = {}, {}  # of each parameter: the key that it is loaded from, and its values
    for ours, expected in parameters.items():
        if not keys[ours]:
            text = f"expected a value of shape {show_shape(expected.shape)}"
            problems.append(Problem("missing", names.written(expected.key), text))

        def rank(key, canonical=expected.key):
            return (names.canonical_name(key) != canonical, names.current_spelling(key) != key, key)

        # Current names first: where there are several for one parameter, the others repeat it.
        for key in sorted(keys[ours], key=rank):
            value, problem = usable(key, sd[key], expected)
            if value is not None and ours in values and not _equal(values[ours], value):
                text = f"expected the values of {first[ours]}, which is the same parameter, got others"
                problem = Problem("conflict", key, text)
            how = "refused" if problem else "repeated" if ours in values else "loaded"
            if problem:
                problems.append(problem)
            elif how == "loaded":
                first[ours], values[ours] = key, value
            entries.append(_entry(key, sd[key], ours, how, names))
    for key in repeats:
        ours = names.tied[names.canonical_name(key)]
        value, problem = usable(key, sd[key], parameters[ours])
        if value is not None and ours in values and not _equal(values[ours], value):
            text = "expected the values of the word table, which is this model's decoder too, got others"
            problem = Problem("conflict", key, text)
        problems += [problem] * bool(problem)
        entries.append(_entry(key, sd[key], ours, "refused" if problem else "repeated", names))
    for key in sorted(extras):
        note = names.note(key, sd[key])
        notes += [note] * bool(note)
        entries.append(_entry(key, sd[key], None, "ignored", names))
    for key in sorted(unknown, key=str):
        if isinstance(key, str):
            text = f"expected no such key, got {_describe(sd[key])}"
            problems.append(Problem("unexpected", key, text))
        else:
            problems.append(
                Problem("type", repr(key), f"expected a string for a key, got {type(key).__name__}")
            )
        entries.append(_entry(str(key), sd[key], None, "refused", names))
    problems = [*more.pop("problems", ()), *problems]
    hints = [
        *more.pop("hints", ()),
        *_hints(sd, names, problems, [k for k in unknown if isinstance(k, str)]),
    ]
    return CheckpointReport(
        target=names.target,
        entries=tuple(entries),
        problems=tuple(problems),
        notes=tuple(notes),
        hints=tuple(hints),
        values=values,
        **more,
    )


def _entry(key: str, value, ours: str | None, how: str, names: Names) -> Entry:
    dtype, cast, renamed = _dtype(value), None, None
    name = names.canonical_name(key)
    if how == "loaded":
        expected = names.expected[ours]
        if expected.dtype and dtype != short_name(expected.dtype):
            cast = short_name(expected.dtype)
        if name in names.aliases:
            renamed = expected.key
    if how != "refused" and names.current_spelling(key) != key:
        renamed = names.current_spelling(key)
    meaning = names.extra(name) if how == "ignored" else None
    return Entry(key, ours, how, sizes_of(value), dtype, renamed, cast, meaning)


def usable(key: str, value, expected: Expected) -> tuple[Tensor | None, Problem | None]:
    """The value as a tensor that can be copied into the parameter, or why it cannot."""
    tensor = _as_tensor(value)
    if tensor is None or tensor.dtype not in _DTYPES:
        text = f"expected a tensor of float16, bfloat16, float32 or float64, got {_dtype(value)}"
        return None, Problem("type", key, text)
    if tensor.layout != torch.strided or tensor.is_meta:
        text = f"expected a tensor with all its values, got {tensor.layout} on {tensor.device}"
        return None, Problem("value", key, text)
    fits = len(tensor.shape) == len(expected.shape) and all(
        size in (None, got) for size, got in zip(expected.shape, tensor.shape, strict=True)
    )
    if not fits:
        text = f"expected {show_shape(expected.shape)}, got {show_shape(tuple(tensor.shape))}"
        if "dense" in key and tuple(tensor.shape) == expected.shape[::-1]:
            text += " (transposed? nn.Linear keeps [out, in])"
        return None, Problem("shape", key, text)
    with torch.inference_mode():
        if not torch.isfinite(tensor).all():
            return None, Problem("value", key, "expected finite values, got NaN or infinity")
        if expected.dtype and not torch.isfinite(tensor.to(expected.dtype)).all():
            text = f"expected values in the range of {short_name(expected.dtype)}, got larger ones"
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


_FAMILIES = {"albert", "camembert", "deberta", "distilbert", "electra", "roberta"}
_OTHER_MODELS = {
    "distance_embedding": "relative positions, which this model does not have",
    "crossattention": "a decoder that reads another text, which this model does not have",
    "lora_": "low-rank updates that have to be merged into the weights first",
}


def _hints(sd: Mapping, names: Names, problems: Iterable[Problem], unknown: list[str]) -> list[str]:
    """What probably happened, told from the keys that nobody expected and those that are missing."""
    known = {expected.key for expected in names.expected.values()}
    prefixes = Counter()
    for key in unknown:
        parts = key.split(".")
        tails = [(".".join(parts[:i]) + ".", ".".join(parts[i:])) for i in range(1, len(parts))]
        prefixes.update([prefix for prefix, rest in tails if names.canonical_name(rest) in known][:1])
    hints = []
    for prefix, count in prefixes.items():
        if prefix.split(".")[0] in _FAMILIES:
            hints.append(f"{count} keys begin with {prefix!r}: another model, though a relative of BERT")
        else:
            how = f"{{key.removeprefix({prefix!r}): value for key, value in sd.items()}}"
            hints.append(f"{count} keys would be known without {prefix!r} in front: {how}")
    for part, meaning in _OTHER_MODELS.items():
        if any(part in key for key in unknown):
            hints.append(f"a name with {part!r} belongs to {meaning}")
    if names.expected.keys() & set(unknown):
        hints.append("these are bert_lab's own names: model.load_state_dict takes them")
    if nested := [key for key, value in sd.items() if isinstance(value, Mapping)]:
        hints.append(f"a whole training state? pass the state dict in it: sd[{nested[0]!r}]")
    missing = {p.where for p in problems if p.kind == "missing"}
    if missing and (hint := names.hint(missing)):
        hints.append(hint)
    return hints


# ---- loading


def load_into(model: nn.Module, sd: Mapping, names: Names, hints: Iterable[str] = ()) -> None:
    """Copy a state dict into a model, all of it or nothing: what does not fit raises a `CheckpointError`.

    It is for the loaders of the kinds of models: a warning names the line that calls one of these. hints:
    what the error says besides.
    """
    check_mapping(sd)
    check_values(model)
    report = plan(sd, names, hints=hints)
    report.check(depth=4)
    copy_into(model, report.values)


def check_mapping(sd) -> None:
    """TypeError unless it is a mapping, as a state dict is."""
    if not isinstance(sd, Mapping):
        raise TypeError(f"sd: expected a mapping from names to tensors, got {type(sd).__name__}")


def check_values(model: nn.Module) -> None:
    """ValueError for a model on the meta device, which has sizes alone."""
    if any(p.is_meta for p in model.parameters()):
        raise ValueError("model: expected parameters with values, got some on the meta device")


@torch.inference_mode()  # also where a model was made in it: such parameters change in no other mode
def copy_into(model: nn.Module, values: Mapping[str, Tensor]) -> None:
    """Copy values into the parameters of these names, in place."""
    parameters = dict(model.named_parameters())
    own = {p.untyped_storage().data_ptr() for p in parameters.values()}
    # A value that is one of this model's own parameters must not change before it is copied.
    values = {
        name: value.clone() if value.untyped_storage().data_ptr() in own else value
        for name, value in values.items()
    }
    for name, value in values.items():
        parameters[name].copy_(value)
