"""Figures of reading both ways: all heads at once, and what readers answer at each blank."""

import math

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from .base import LINES, MONO, WIDTH, BookFigure, canvas, drawable, short
from .palette import BLACK, BLUE, FATES

MOST_MAPS = 64  # of a grid
MOST_NAMED = 16  # tokens of a grid's map that are named beside it
_HATCHES = ("", "///", "...", "xx")


def attention_grid(maps, tokens) -> BookFigure:
    """All heads at once: a small attention map for each, a row for each layer and a column for each head.

    `maps` are floats `[L, H, T, T]` from 0 to 1, at most 64 maps, as `attention_maps` gives for one sentence;
    `tokens` are the T labels, written at the left and the lower edge when there are at most 16. In a map, a
    row is a token that looks. The alternative text says who looks at whom at all, and no weights: those of a
    trained model differ from machine to machine in their last digits.
    """
    maps, tokens = np.asarray(maps, dtype=np.float64), [str(token) for token in tokens]
    size = len(tokens)
    if maps.ndim != 4 or maps.shape[2:] != (size, size) or not size:
        shape = list(maps.shape)
        raise ValueError(f"maps: expected [L, H, T, T] with T = {size}, one or more, got {shape}")
    layers, heads = maps.shape[:2]
    if not 1 <= layers * heads <= MOST_MAPS:
        raise ValueError(f"maps: expected 1 to {MOST_MAPS} of them, got {layers * heads}")
    if not ((maps >= 0) & (maps <= 1 + 1e-6)).all():
        raise ValueError(f"maps: expected numbers from 0 to 1, got {maps.min():g} to {maps.max():g}")
    labels = [short(token) for token in tokens]
    colors = LinearSegmentedColormap.from_list("looks", ["white", BLUE])
    side = min(2.0, (WIDTH - 2.0) / heads)
    with canvas(layers * (side + 0.1) + 1.1) as (fig, [whole]):
        whole.remove()
        grid = fig.subplots(layers, heads, squeeze=False)
        for (layer, head), ax in np.ndenumerate(grid):
            shown = ax.imshow(maps[layer, head], cmap=colors, vmin=0, vmax=1, interpolation="nearest")
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(True)
            style = {"family": MONO, "fontsize": 8, "parse_math": False}
            if layer == 0:
                ax.set_title(f"head {head}", loc="center", fontsize=11)
            if head == 0:
                ax.set_ylabel(f"layer {layer}", fontsize=11)
                if size <= MOST_NAMED:
                    ax.set_yticks(range(size), labels, **style)
            if layer == layers - 1 and size <= MOST_NAMED:
                ax.set_xticks(range(size), labels, rotation=90, **style)
        fig.colorbar(shown, ax=grid, label="weight", shrink=0.6)
        fig.alt = (
            f"Attention maps of {_count(size, 'token')}, {_count(layers, 'layer')} from top to bottom and"
            f" {_count(heads, 'head')} from left to right: {_who(maps)}."
        )
    return fig


def _count(n: int, name: str) -> str:
    return f"{n} {name}" if n == 1 else f"{n} {name}s"


def _who(maps: np.ndarray) -> str:
    """Who looks at whom in all maps, in words."""
    seen = maps > 0
    if seen.all():
        return "in each map, every token looks at every token"
    if (seen == np.tril(np.ones(maps.shape[2:], bool))).all():
        return "in each map, a token looks at itself and at those before it, and at no later one"
    real = seen.any(axis=(0, 1, 2))
    if (seen == (real & real[:, None])).all():
        unread = ", ".join(str(j) for j in np.flatnonzero(~real))
        return f"in each map, every token looks at every other, but for positions {unread}, white throughout"
    return f"{seen.mean():.4f} of the weights are above zero"


def blank_scores(scores: dict, chance: float) -> BookFigure:
    """How often each reader answers right at each blank: a panel a reader, a bar a blank, a line at chance.

    `scores` maps the name of a reader to shares `[n]` from 0 to 1, the same n for all, at most four readers.
    `chance` is what guessing gives. The shares are measured on this machine, so that the alternative text has
    none of them.
    """
    names, rows = list(scores), [np.asarray(shares, dtype=np.float64) for shares in scores.values()]
    if not 1 <= len(rows) <= len(_HATCHES):
        raise ValueError(f"scores: expected one to {len(_HATCHES)} readers, got {len(rows)}")
    for name, row in zip(names, rows, strict=True):
        if row.ndim != 1 or row.shape != rows[0].shape or not row.size:
            raise ValueError(f"scores[{name!r}]: expected as many shares as the others, got {row.shape}")
        if not ((row >= 0) & (row <= 1)).all():
            raise ValueError(f"scores[{name!r}]: expected shares from 0 to 1, got {row.tolist()}")
    if not (math.isfinite(chance) and 0 <= chance <= 1):
        raise ValueError(f"chance: expected a share from 0 to 1, got {chance}")
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # digits stay clear of the line
    with canvas(2.7, len(rows), sharey=True) as (fig, axes):
        for ax, name, row, line, hatch in zip(axes, names, rows, LINES, _HATCHES, strict=False):
            places = np.arange(1, row.size + 1)
            ax.bar(places, row, width=0.7, color=FATES["R"][0], edgecolor=line[0], hatch=hatch)
            for place, share in zip(places, row, strict=True):
                ax.text(
                    place, share + 0.03, f"{share:.2f}", ha="center", va="bottom", fontsize=10, bbox=paper
                )
            ax.axhline(chance, color=BLACK, linestyle="--", linewidth=1)
            ax.set_title(drawable(name), fontsize=11, parse_math=False)
            ax.set(xlabel="hidden word", ylim=(0, 1.12), xticks=places, yticks=(0, 0.5, 1))
        axes[0].set_ylabel("share right")
        fig.alt = (
            f"Shares of right answers at {rows[0].size} blanks, measured, a panel for each reader, from the"
            f" left: {'; '.join(names)}. A dashed line marks chance, {chance:.4f}."
        )
    return fig
