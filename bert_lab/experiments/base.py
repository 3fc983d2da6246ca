"""What a comparison found, as a table and as a file."""

from __future__ import annotations

import json
import platform
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..checks import as_index
from ..files import write_files

ASSETS = Path(__file__).parents[1] / "assets"
WIDTH = 92  # of a line of text


@dataclass(frozen=True)
class Comparison:
    """Rows that were trained on the same text, each with one score a seed.

    name: of `experiments.NAMES`. measure: one sentence that says what a score is.
    settings: what all rows share, such as steps and the version of Python. scores: row -> scores, the same
    number for every row but for rows that no seed changes, which may have one. facts: row -> numbers that no
    seed changes, such as the parameters.
    """

    name: str
    measure: str
    settings: Mapping[str, object]
    scores: Mapping[str, Sequence[float]]
    facts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def mean(self, row: str) -> float:
        """The mean of a row's scores."""
        return statistics.fmean(self.scores[row])

    def spread(self, row: str) -> tuple[float, float]:
        """The lowest and the highest of a row's scores."""
        return min(self.scores[row]), max(self.scores[row])

    def margin(self, row: str, other: str) -> float:
        """How far a row's lowest score is above the highest of another; negative where they overlap."""
        return self.spread(row)[0] - self.spread(other)[1]

    def text(self) -> str:
        """What was measured, and a line for each row: mean, lowest and highest score, and the facts."""
        names = list(dict.fromkeys(name for row in self.facts.values() for name in row))
        head = ["", "mean", "lowest", "highest", *names]
        rows = [head]
        for row in self.scores:
            numbers = [f"{value:.4f}" for value in (self.mean(row), *self.spread(row))]
            rows.append([row, *numbers, *(_told(self.facts.get(row, {}).get(name)) for name in names)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"{row[0]:<{widths[0]}}  " + _right(row[1:], widths[1:]) for row in rows]
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        about = [textwrap.fill(text, WIDTH) for text in (self.measure, settings)]
        return "\n".join([*about, *(line.rstrip() for line in lines)])

    def __str__(self) -> str:
        return self.text()

    def write(self, path: Path | str) -> None:
        """Write it as JSON; OSError where that cannot be done, and an old file stays."""
        path = Path(path)
        write_files(path.parent, {path.name: json.dumps(asdict(self), indent=1) + "\n"})

    @classmethod
    def read(cls, path: Path | str) -> Comparison:
        """What `write` wrote."""
        return cls(**json.loads(Path(path).read_text(encoding="utf-8")))


def _told(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _right(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def stored(name: str) -> Comparison:
    """A comparison that the book quotes, by one of `experiments.NAMES`."""
    return Comparison.read(ASSETS / f"{name}_compared.json")


def made_here() -> dict[str, str]:
    """The settings that say where a comparison was made: the text differs between versions of Python."""
    return {"python": platform.python_version()}


def as_seeds(seeds: int) -> range:
    """The seeds of a comparison, 0, 1, ..., as many as asked for; at least 1."""
    return range(as_index(seeds, "seeds", 1, 1000))
