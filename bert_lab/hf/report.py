"""What a load would do, made to be printed, and the errors where it would not be done."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from ..checks import as_path
from ..text_table import text_table
from .weights import CONFIG, WEIGHTS, Problem


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
            shape = "-" if e.shape is None else show_shape(e.shape)
            rows.append((e.key, e.ours or "-", shape, e.dtype, ", ".join(filter(None, changes))))
        return text_table(rows)

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


def show_shape(shape: tuple) -> str:
    """[3, 4], with ? for any size."""
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def as_checkpoint_dir(value, name: str = "dir") -> Path:
    """The path of a directory that is there; else an error as `CheckpointReport.check` raises it."""
    path = as_path(value, name)
    if not path.exists():
        raise CheckpointFileError(f"{name}: expected a directory with a checkpoint, but there is no {path}")
    if not path.is_dir():
        raise CheckpointError(f"{name}: expected a directory with {CONFIG} and {WEIGHTS}, got a file, {path}")
    return path
