"""What becomes of each key of a checkpoint: one plan, for the loader and for the report.

A load makes a plan: which key goes where, what is extra, missing, renamed or cast, and a verdict. The report
shows the plan; the loader raises where the verdict is bad, with all that is wrong in one error, and copies
otherwise. So a load is all or nothing. How a kind of model is written in checkpoints is a `Names`; which
names those are, its own module says.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ..checks import as_bool, as_index, as_real
from .weights import CONFIG, INDEX, WEIGHTS, Problem, read_json, read_weights

_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True)
class Want:
    """What a parameter of ours needs: today's key, a shape (None: any size), a dtype to cast to or None."""

    hf: str
    shape: tuple
    dtype: torch.dtype | None


def _same(name: str) -> str:
    return name


def _nothing(*_) -> None:
    return None


@dataclass(frozen=True)
class Names:
    """How a kind of model is written in checkpoints.

    target: the model's name. wants: for each parameter of ours, what it needs. today: a key -> the name by
    which `wants`, `repeats` and `extras` know it. respelled: a key -> the same with the names of today for
    its last parts. written: a name -> how a missing key is told. repeats: names whose values repeat those of
    a parameter; those in `stands_in` may also stand in for it. extras: what a key is that is known and not
    used, or None. odd: (key, value) of an extra -> what is odd about it, or None. advice: the keys that are
    missing -> a hint, or None.
    """

    target: str
    wants: Mapping[str, Want]
    today: Callable[[str], str] = _same
    respelled: Callable[[str], str] = _same
    written: Callable[[str], str] = _same
    repeats: Mapping[str, str] = field(default_factory=dict)
    stands_in: Collection[str] = ()
    extras: Callable[[str], str | None] = _nothing
    odd: Callable[[str, object], str | None] = _nothing
    advice: Callable[[set[str]], str | None] = _nothing


def wants_of(model: nn.Module, table: Mapping[str, str]) -> dict[str, Want]:
    """What each parameter of a model needs, in their order, by a table of names.

    table: ours to theirs, without the last part (weight, bias); of several that fit, the longest counts. {}
    stands for a number: "layers.{}." to "encoder.layer.{}.". A parameter without a place in it keeps its
    name.
    """
    return {
        name: Want(_renamed(name, table), tuple(p.shape), p.dtype) for name, p in model.named_parameters()
    }


def _renamed(name: str, table: Mapping[str, str]) -> str:
    for ours in sorted(table, key=len, reverse=True):
        pattern = re.escape(ours).replace(r"\{\}", "([0-9]+)")
        if found := re.match(rf"{pattern}(?=\.|$)" if not ours.endswith(".") else pattern, name):
            return table[ours].format(*found.groups()) + name[found.end() :]
    return name


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
    that its values are cast to, where that is another. meaning: what an ignored key is.
    """

    key: str
    ours: str | None
    how: str
    shape: tuple | None
    dtype: str
    renamed: str | None = None
    cast: str | None = None
    meaning: str | None = None


@dataclass(frozen=True)
class CheckpointReport:
    """All that a load would do, and whether it would be done. Made to be printed.

    target: the model, "BertForMLM" or another. entries: every key, in the order of our parameters. problems:
    why it is refused; when there are none, it loads. notes: what is odd, and does not matter to this model.
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
    config: object | None = None
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
        lines += [f"ignored: {e.key}, {e.meaning}" for e in self.entries if e.how == "ignored"]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"hint: {hint}" for hint in self.hints]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def check(self, depth: int = 3) -> None:
        """Raise one error with all the problems, where there are any; else say what is odd as a warning.

        depth: how many calls up the line stands that the warning is to name; 3 is the caller's caller.

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
            warnings.warn(note, stacklevel=depth)


def _counts(words: Iterable[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in Counter(words).items())


def _show(shape: tuple) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def sizes_of(value) -> tuple | None:
    """The shape of a tensor or an array; None of anything else."""
    return tuple(value.shape) if isinstance(value, (Tensor, np.ndarray)) else None


def _dtype(value) -> str:
    if isinstance(value, (Tensor, np.ndarray)):
        return str(value.dtype).removeprefix("torch.")
    return type(value).__name__


def _describe(value) -> str:
    shape = sizes_of(value)
    return _dtype(value) if shape is None else f"{_dtype(value)} {_show(shape)}"


def short_name(dtype: torch.dtype) -> str:
    """float32 for torch.float32."""
    return str(dtype).removeprefix("torch.")


# ---- the plan


def plan(sd: Mapping, names: Names, **more) -> CheckpointReport:
    """What loading `sd` would do. The loader and the report are this function."""
    wants = names.wants
    ours_of = {want.hf: ours for ours, want in wants.items()}
    keys = {ours: [] for ours in wants}
    repeats, extras, strangers = [], [], []
    for key in sd:
        name = names.today(key) if isinstance(key, str) else None
        if name in ours_of:
            keys[ours_of[name]].append(key)
        elif name in names.stands_in:
            keys[names.repeats[name]].append(key)
        elif name in names.repeats:
            repeats.append(key)
        elif name is not None and names.extras(name):
            extras.append(key)
        else:
            strangers.append(key)

    entries, problems, notes = [], [], []
    first, values = {}, {}  # of each parameter: the key that it is loaded from, and its values
    for ours, want in wants.items():
        if not keys[ours]:
            text = f"expected a value of shape {_show(want.shape)}"
            problems.append(Problem("missing", names.written(want.hf), text))

        def rank(key, hf=want.hf):
            return (names.today(key) != hf, names.respelled(key) != key, key)

        # Today's names first: where there are several for one parameter, the others repeat it.
        for key in sorted(keys[ours], key=rank):
            value, problem = usable(key, sd[key], want)
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
        ours = names.repeats[names.today(key)]
        value, problem = usable(key, sd[key], wants[ours])
        if value is not None and ours in values and not _equal(values[ours], value):
            text = "expected the values of the word table, which is this model's decoder too, got others"
            problem = Problem("conflict", key, text)
        problems += [problem] * bool(problem)
        entries.append(_entry(key, sd[key], ours, "refused" if problem else "repeated", names))
    for key in sorted(extras):
        odd = names.odd(key, sd[key])
        notes += [odd] * bool(odd)
        entries.append(_entry(key, sd[key], None, "ignored", names))
    for key in sorted(strangers, key=str):
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
        *_hints(sd, names, problems, [k for k in strangers if isinstance(k, str)]),
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
    today = names.today(key)
    if how == "loaded":
        want = names.wants[ours]
        if want.dtype and dtype != short_name(want.dtype):
            cast = short_name(want.dtype)
        if today in names.stands_in:
            renamed = want.hf
    if how != "refused" and names.respelled(key) != key:
        renamed = names.respelled(key)
    meaning = names.extras(today) if how == "ignored" else None
    return Entry(key, ours, how, sizes_of(value), dtype, renamed, cast, meaning)


def usable(key: str, value, want: Want) -> tuple[Tensor | None, Problem | None]:
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
            text = f"expected values in the range of {short_name(want.dtype)}, got larger ones"
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


def _hints(sd: Mapping, names: Names, problems: Iterable[Problem], strangers: list[str]) -> list[str]:
    """What probably happened, told from the keys that nobody expected and those that are missing."""
    known = {want.hf for want in names.wants.values()}
    prefixes = Counter()
    for key in strangers:
        parts = key.split(".")
        tails = [(".".join(parts[:i]) + ".", ".".join(parts[i:])) for i in range(1, len(parts))]
        prefixes.update([prefix for prefix, rest in tails if names.today(rest) in known][:1])
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
    if names.wants.keys() & set(strangers):
        hints.append("these are bert_lab's own names: model.load_state_dict takes them")
    if nested := [key for key, value in sd.items() if isinstance(value, Mapping)]:
        hints.append(f"a whole training state? pass the state dict in it: sd[{nested[0]!r}]")
    missing = {p.where for p in problems if p.kind == "missing"}
    if missing and (advice := names.advice(missing)):
        hints.append(advice)
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


# ---- directories


def as_path(value, name: str) -> Path:
    """A path; TypeError or ValueError, with the name, for what is none."""
    try:
        text = os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name}: expected a path, got {type(value).__name__}") from None
    if not text:
        raise ValueError(f"{name}: expected a path, got an empty string")
    return Path(text)


def as_checkpoint_dir(value, name: str = "dir") -> Path:
    """The path of a directory that is there; else an error as `CheckpointReport.check` raises it."""
    path = as_path(value, name)
    if not path.exists():
        raise CheckpointFileError(f"{name}: expected a directory with a checkpoint, but there is no {path}")
    if not path.is_dir():
        raise CheckpointError(f"{name}: expected a directory with {CONFIG} and {WEIGHTS}, got a file, {path}")
    return path


@dataclass(frozen=True)
class Directory:
    """What the files of a checkpoint hold.

    config: the content of config.json, or None. sd: the weights. problems: what is wrong with the files.
    whole: whether all weights could be read. about: what a `CheckpointReport` tells of files.
    """

    config: dict | None
    sd: dict[str, Tensor]
    problems: tuple[Problem, ...]
    whole: bool
    about: Mapping[str, object]


_PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl"}


def read_directory(folder: Path) -> Directory:
    """Read config.json and the weights; nothing is raised for a bad file."""
    content, problem = read_json(folder / CONFIG)
    sd, files, problems = read_weights(folder)
    hints = []
    pickles = [path.name for path in folder.iterdir() if path.suffix in _PICKLES]
    if pickles and any(p.kind == "no file" and p.where == WEIGHTS for p in problems):
        hints.append(
            f"{min(pickles)} is a pickle, which can run code when it is opened and is never loaded here; "
            "where you trust it, load it with transformers and save it again: model.save_pretrained(dir)"
        )
    others = _PICKLES | {".safetensors", ".h5", ".msgpack"}
    names = {path.name for path in folder.iterdir() if path.suffix in others or path.name == INDEX}
    about = {
        "files": tuple(files),
        "unread": tuple(sorted(names - set(files))),
        "path": str(folder),
        "hints": tuple(hints),
    }
    return Directory(content, sd, (*[problem] * bool(problem), *problems), not problems, about)


# The sizes that every family's config has, ours to theirs.
SIZES = {
    "vocab": "vocab_size",
    "max_len": "max_position_embeddings",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "d_ff": "intermediate_size",
}


class Fields:
    """The fields of a config.json: reads them, and keeps all that is wrong in `problems`."""

    def __init__(self, content: Mapping):
        self.content = content
        self.problems: list[Problem] = []

    def wrong(self, name: str, text: str) -> None:
        """Note that a field cannot be used."""
        self.problems.append(Problem("config", name, text))

    def size(self, name: str, default: int | None = None) -> int | None:
        """A whole number from 1 on; None where it is wrong, or absent without a default."""
        return self._read(name, default, as_index, 1, 2**31)

    def sizes(self, table: Mapping[str, str]) -> dict[str, int | None]:
        """The sizes in a table such as `SIZES`, by our names; the heads must share the width evenly."""
        sizes = {ours: self.size(theirs) for ours, theirs in table.items()}
        d_model, n_heads = sizes["d_model"], sizes["n_heads"]
        if d_model and n_heads and d_model % n_heads:
            self.wrong(
                table["n_heads"], f"expected a divisor of {table['d_model']}, {d_model}, got {n_heads}"
            )
        return sizes

    def real(self, name: str, default: float | None = None) -> float | None:
        """A number."""
        return self._read(name, default, as_real)

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        """True or false."""
        return self._read(name, default, as_bool)

    def _read(self, name: str, default, read, *limits):
        if name not in self.content and default is None:
            self.wrong(name, "expected a value, got no such field")
            return None
        try:
            return read(self.content.get(name, default), name, *limits)
        except (TypeError, ValueError) as error:
            self.wrong(name, str(error).removeprefix(f"{name}: "))
            return None

    def fixed(self, name: str, usual: tuple, meaning: str = "", *, required: bool = False) -> None:
        """Refuse a value that is not one of `usual`; an absent field is the first, unless it is required."""
        got = self.content.get(name, None if required else usual[0])
        if got not in usual:
            self.wrong(name, f"expected {usual[0]!r}{meaning}, got {got!r}")
