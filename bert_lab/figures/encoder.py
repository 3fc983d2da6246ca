"""Figures of the encoder: an attention map, two GELUs, the parity ladder."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from .base import WIDTH, BookFigure, canvas, drawable
from .palette import BLACK, BLUE, FATES, GREY, VERMILLION

MOST_RUNGS = 40  # of a parity ladder
MOST_POSITIONS = 512  # of an attention map
_MOST_NAMED = 32  # beyond that, positions are numbered


def _ranked(row: np.ndarray, tokens: list[str], i: int) -> str:
    """Where position i looks most, in words."""
    j = int(row.argmax())
    return f"'{tokens[i]}' at " + (f"'{tokens[j]}' ({row[j]:.4f})" if row[j] > 0 else "none")


def attention_map(weights, tokens) -> BookFigure:
    """How much each position looks at each other: a row for the one that looks, a column for the other.

    `weights` are floats `[T, T]`, or `[H, T, T]` for at most four heads side by side, from 0 to 1; `tokens`
    are the T labels, at most 512. Up to 8 tokens have their weights written in (with one or two heads);
    beyond 32 (fewer with several heads) the positions are numbered. A character that cannot be drawn becomes
    a hollow box, and a token of more than 12 characters is cut; `fig.alt` has up to 12 tokens in full.
    """
    tokens, maps = [str(token) for token in tokens], np.asarray(weights, dtype=np.float64)
    maps = maps[None] if maps.ndim == 2 else maps
    size = len(tokens)
    if not 1 <= size <= MOST_POSITIONS:
        raise ValueError(f"tokens: expected 1 to {MOST_POSITIONS}, got {size}")
    if maps.ndim != 3 or not 1 <= len(maps) <= 4 or maps.shape[1:] != (size, size):
        shape = list(np.shape(weights))
        raise ValueError(f"weights: expected [T, T] or [H, T, T] with H <= 4 and T = {size}, got {shape}")
    if not ((maps >= 0) & (maps <= 1 + 1e-6)).all():
        raise ValueError(f"weights: expected numbers from 0 to 1, got {maps.min():g} to {maps.max():g}")
    panels, top = len(maps), max(maps.max(), 1e-12)
    side = min(WIDTH / panels - 0.9, 5.6, max(2.4, 0.3 * size))
    named, written = size * panels <= _MOST_NAMED, size <= 8 and panels <= 2
    labels = [drawable(t if len(t) <= 12 else t[:11] + "\N{HORIZONTAL ELLIPSIS}") for t in tokens]
    colors = LinearSegmentedColormap.from_list("looks", ["white", BLUE])
    said = []
    with canvas(side + 1.1, panels) as (fig, axes):
        fig.set_layout_engine("compressed")
        for head, (ax, values) in enumerate(zip(axes, maps, strict=True)):
            picture = ax.imshow(values, cmap=colors, vmin=0, vmax=top, interpolation="nearest")
            ax.xaxis.tick_top()
            ax.xaxis.set_label_position("top")
            ax.set(xlabel="looked at", ylabel="looks" if head == 0 else "")
            ax.tick_params(length=0)
            if named:
                turned = 90 if max(map(len, labels)) * size > 60 / panels else 0
                ax.set_xticks(range(size), labels, parse_math=False, rotation=turned)
                ax.set_yticks(range(size), labels, parse_math=False)
            if written:
                for i, j in np.ndindex(size, size):
                    ink = "white" if values[i, j] > 0.7 * top else BLACK
                    ax.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", color=ink, fontsize=11)
            if panels > 1:
                below = {"transform": ax.transAxes, "ha": "center", "va": "top"}
                ax.text(0.5, -0.03, f"head {head}", **below)
            if size <= 12:
                words = "; ".join(_ranked(row, tokens, i) for i, row in enumerate(values))
            else:
                words = f"the largest weight of a row is {values.max(1).mean():.4f} on average"
            said.append(f"head {head}: {words}" if panels > 1 else words)
        fig.colorbar(picture, ax=axes, shrink=0.9, label="weight")
        verb = ", each looks most: " if size <= 12 else ": "
        fig.alt = f"Attention map of {size} tokens{verb}{'. '.join(said)}."
    return fig


def gelu_gap(x, exact, other, *, name: str = "tanh") -> BookFigure:
    """The exact GELU and another formula for it, and beside them what lies between the two.

    `x`, `exact` and `other` are floats `[n]`, x ascending; `name` is what the other formula is called.
    """
    x, exact, other = (np.asarray(part, dtype=np.float64) for part in (x, exact, other))
    if x.ndim != 1 or x.size < 2 or not x.shape == exact.shape == other.shape:
        raise ValueError(
            "x, exact and other: expected three rows of one length,"
            f" got {x.shape}, {exact.shape}, {other.shape}"
        )
    gap = other - exact
    widest = float(np.abs(gap).max())
    places = np.flatnonzero(np.abs(gap) >= widest * (1 - 1e-9))  # one, or one on each side
    with canvas(3.2, 2) as (fig, [left, right]):
        left.plot(x, exact, color=BLUE, linewidth=3.5, label="exact")
        left.plot(x, other, "--", color=VERMILLION, linewidth=1.5, label=drawable(name))
        left.set(xlabel="x", ylabel="GELU(x)")
        left.legend().get_texts()[1].set_parse_math(False)
        right.axhline(0, color=GREY, linewidth=1)
        right.plot(x, gap, color=BLACK)
        right.plot(x[places], gap[places], "s", color=VERMILLION, label=f"largest: {widest:.1e}")
        right.ticklabel_format(axis="y", scilimits=(0, 0))
        right.set_xlabel("x")
        right.set_ylabel(f"{drawable(name)} - exact", parse_math=False)
        right.set_ylim(top=gap.max() + 0.3 * np.ptp(gap))
        right.legend(loc="upper center")
        where = " and ".join(f"{place:.2f}" for place in x[places[:2]])
        fig.alt = (
            f"Two curves of GELU that look like one, and the gap between {name} and exact:"
            f" at most {widest:.1e}, at x = {where}."
        )
    return fig


def parity_ladder(sizes: dict, *, limit: float = 1e-5) -> BookFigure:
    """The largest difference at each rung of a comparison on a log scale, with a line at what is allowed.

    `sizes` maps the name of a rung to a number >= 0, which may be infinite or nan; one to forty rungs, the
    first at the bottom. A rung below `limit` is plain and has a check mark, any other is hatched and has a
    cross. The alternative text gives no sizes, which differ from machine to machine.
    """
    names, values = list(sizes), np.array([float(size) for size in sizes.values()])
    if not 1 <= len(names) <= MOST_RUNGS:
        raise ValueError(f"sizes: expected 1 to {MOST_RUNGS} rungs, got {len(names)}")
    if (values < 0).any():
        raise ValueError(f"sizes: expected numbers >= 0, got {values.min()}")
    good = values < limit  # not so for nan
    low, high = 1e-9, 100.0
    ends = np.clip(np.nan_to_num(values, nan=high, posinf=high), low, high)
    with canvas(0.23 * len(names) + 1.0) as (fig, [ax]):
        for y, (end, fine) in enumerate(zip(ends, good, strict=True)):
            face, pattern = (FATES["R"][0], "") if fine else (FATES["M"][0], "///")
            ax.barh(
                y, end - low, left=low, height=0.7, color=face, edgecolor=BLACK, linewidth=0.8, hatch=pattern
            )
            ax.text(end * 1.3, y, "\N{CHECK MARK}" if fine else "\N{BALLOT X}", va="center", fontsize=11)
        ax.axvline(limit, color=BLACK, linestyle="--", linewidth=1.2)
        ax.set_xscale("log")
        ax.set(xlim=(low, high * 6), ylim=(-0.7, len(names) - 0.3), xlabel="largest difference")
        ax.set_yticks(range(len(names)), [drawable(name) for name in names], fontsize=10, parse_math=False)
        ax.set_title(f"\N{CHECK MARK} below {limit:g}    \N{BALLOT X} not below", fontsize=11)
        fig.alt = f"Parity ladder of {len(names)} rungs, sizes on a log scale, limit {limit:g}: "
        if good.all():
            fig.alt += "all rungs lie below it."
        else:
            first = int(np.argmin(good))
            fig.alt += f"rung {first + 1}, {names[first]}, is the first that does not lie below it."
    return fig
