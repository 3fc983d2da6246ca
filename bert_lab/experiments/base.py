"""The result of a comparison, as a table and as a file."""

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
from ..text_table import text_table

ASSETS = Path(__file__).parents[1] / "assets"
WIDTH = 92  # of a line of text


@dataclass(frozen=True)
class Comparison:
    """Rows of models that were trained on the same text, with one score for each seed.

    name: of `experiments.NAMES`. measure: one sentence that says what a score is. settings: what all rows
    share, such as steps and the version of Python. scores: row -> scores, one for each seed. A row that does
    not depend on the seed may have one score. facts: row -> numbers that do not depend on the seed, such as
    the parameters.
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
        """A row's lowest score minus the highest score of another row; negative if they overlap."""
        return self.spread(row)[0] - self.spread(other)[1]

    def text(self) -> str:
        """The measure, the settings, and a line for each row: mean, lowest and highest score, facts."""
        names = list(dict.fromkeys(name for row in self.facts.values() for name in row))
        head = ["", "mean", "lowest", "highest", *names]
        rows = [head]
        for row in self.scores:
            numbers = [f"{value:.4f}" for value in (self.mean(row), *self.spread(row))]
            rows.append([row, *numbers, *(_format(self.facts.get(row, {}).get(name)) for name in names)])
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        about = [textwrap.fill(text, WIDTH) for text in (self.measure, settings)]
        return "\n".join([*about, text_table(rows, right=True)])

    def __str__(self) -> str:
        return self.text()

    def write(self, path: Path | str) -> None:
        """Write the comparison as JSON. On an OSError, an existing file stays as it was."""
        path = Path(path)
        write_files(path.parent, {path.name: json.dumps(asdict(self), indent=1) + "\n"})

    @classmethod
    def read(cls, path: Path | str) -> Comparison:
        """What `write` wrote."""
        return cls(**json.loads(Path(path).read_text(encoding="utf-8")))


def _format(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def stored(name: str) -> Comparison:
    """A comparison that the book quotes. name: one of `experiments.NAMES`."""
    return Comparison.read(ASSETS / f"{name}_compared.json")


def environment() -> dict[str, str]:
    """The settings that depend on this Python: the text differs between its versions."""
    return {"python": platform.python_version()}


def as_seeds(seeds: int) -> range:
    """The seeds of a comparison: 0, 1, ..., `seeds` of them, at least 1."""
    return range(as_index(seeds, "seeds", 1, 1000))
