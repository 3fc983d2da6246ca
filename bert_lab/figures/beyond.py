"""The figure of the comparisons: a dot for each seed, so that a difference is seen beside its spread.

As in `figures`: data in, a `BookFigure` out, with its alternative text as `fig.alt`.
"""

import math
import statistics
import textwrap
from collections.abc import Mapping, Sequence

from .base import BookFigure, canvas, drawable, short
from .palette import BLACK, BLUE

MOST_ROWS = 8  # in a panel


def seed_dots(scores: Mapping[str, Sequence[float]], measure: str = "score") -> BookFigure:
    """A dot for each seed's score and a bar at their mean: one line for each row of a `Comparison`.

    `scores` maps the name of a row to its scores, each in 0..1; one to eight rows. Where the names of all
    rows are of the form "task: row", there is a panel for each task, one to three of them, and all of them
    have the same rows. `measure` says, below the panels, what a score is.
    """
    panels = _panels(scores)
    names = list(next(iter(panels.values()), ()))
    if not 1 <= len(panels) <= 3 or not 1 <= len(names) <= MOST_ROWS:
        raise ValueError(
            f"scores: expected one to three tasks of one to {MOST_ROWS} rows,"
            f" got {len(panels)} of {len(names)}"
        )
    for task, rows in panels.items():
        if list(rows) != names:
            raise ValueError(f"scores: expected for {task!r} the rows {', '.join(names)}, got others")
        for name, values in rows.items():
            if not values or not all(math.isfinite(value) and 0 <= value <= 1 for value in values):
                raise ValueError(f"scores[{name!r}]: expected numbers from 0 to 1, got {values}")
    said = []
    everything = [value for values in scores.values() for value in values]
    least, most = min(everything), max(everything)
    room = max(most - least, 0.02)
    with canvas(0.5 * len(names) + 1.3, len(panels), sharey=True) as (fig, axes):
        for ax, (task, rows) in zip(axes, panels.items(), strict=True):
            words = []
            for y, (name, values) in enumerate(rows.items()):
                mean = statistics.fmean(values)
                ax.plot([min(values), max(values)], [y, y], color=BLUE, linewidth=1.2)
                ax.plot(values, [y] * len(values), "o", color=BLUE, markersize=6, alpha=0.7)
                ax.plot([mean, mean], [y - 0.28, y + 0.28], color=BLACK, linewidth=2)
                ax.text(max(values) + 0.05 * room, y, f"{mean:.4f}", va="center", fontsize=11)
                span = f" ({min(values):.4f} to {max(values):.4f})" if len(values) > 1 else ""
                words.append(f"{name} {mean:.4f}{span}")
            ax.set(ylim=(len(names) - 0.5, -0.5), xlim=(least - 0.08 * room, most + 0.32 * room))
            ax.set_xlabel(drawable(measure), parse_math=False)
            ax.locator_params(axis="x", nbins=5)
            ax.grid(axis="y", linewidth=0.4)
            if task:
                ax.set_title(drawable(task), fontsize=12, parse_math=False)
            said.append(f"{task}{': ' if task else ''}{'; '.join(words)}")
        labels = ["\n".join(textwrap.wrap(short(name, 48), 26)) for name in names]
        axes[0].set_yticks(range(len(names)), labels, parse_math=False)
        fig.alt = f"A dot for each seed, a bar at the mean of: {drawable(measure)}. {'. '.join(said)}."
    return fig


def _panels(scores: Mapping[str, Sequence[float]]) -> dict[str, dict[str, list[float]]]:
    """Task -> row -> scores; the task is "" where the names do not have one."""
    split = bool(scores) and all(": " in name for name in scores)
    panels: dict[str, dict[str, list[float]]] = {}
    for name, values in scores.items():
        task, _, row = name.partition(": ") if split else ("", "", name)
        panels.setdefault(task, {})[row] = [float(value) for value in values]
    return panels
