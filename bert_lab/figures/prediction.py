"""Figures of predictions: losses, fill-ins, and what moves what."""

import math

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from .base import MONO, PATTERNS, BookFigure, canvas, drawable, short
from .palette import BLACK, BLUE, FATES, GREY, SKY, VERMILLION

MOST_POSITIONS = 512  # of an influence matrix


def loss_ladder(rungs: dict, *, measured=()) -> BookFigure:
    """Bars of losses, one below the other: what each reader pays for a word, from the one who knows least.

    `rungs` maps a name to a loss in nats, finite and not negative, at most eight. `measured` names those that
    come from a model trained on this machine: they are hatched, and `fig.alt` says where they stand, without
    their digits.
    """
    losses = {str(name): float(loss) for name, loss in rungs.items()}
    if not 1 <= len(losses) <= 8:
        raise ValueError(f"rungs: expected one to eight losses, got {len(losses)}")
    bad = [name for name, loss in losses.items() if not 0 <= loss < math.inf]
    if bad:
        raise ValueError(f"rungs: expected finite losses of at least 0, got {losses[bad[0]]} for {bad[0]!r}")
    unknown = sorted({str(name) for name in measured} - set(losses))
    if unknown:
        raise ValueError(f"measured: expected names of rungs, got {', '.join(unknown)}")
    said, top = [], max(losses.values()) or 1.0
    with canvas(0.55 * len(losses) + 1.0) as (fig, [ax]):
        before = None
        for y, (name, loss) in enumerate(losses.items()):
            letter, edge = ("M", VERMILLION) if name in measured else ("R", BLUE)
            ax.barh(y, loss, height=0.62, facecolor=FATES[letter][0], edgecolor=edge, hatch=PATTERNS[letter])
            digits = f"{loss:.2f}" if name in measured else f"{loss:.4f}"
            ax.text(loss + 0.01 * top, y, digits, va="center")
            if name not in measured:
                said.append(f"{name} {digits}")
            elif before is None:
                said.append(f"{name} measured")
            else:
                said.append(f"{name} {'below' if loss < losses[before] else 'not below'} {before}")
            before = name
        ax.set_yticks(range(len(losses)), [drawable(name) for name in losses], parse_math=False)
        ax.set(ylim=(len(losses) - 0.5, -0.5), xlim=(0, 1.12 * top), xlabel="loss in nats")
        fig.alt = f"Loss ladder, from the top: {'; '.join(said)}."
    return fig


def fill_bars(blanks, *, measured: bool = False) -> BookFigure:
    """Bars of the most probable pieces for each blank, one panel a blank: what `fill_mask` returns.

    `blanks` is a list of one to four lists of one to twelve pairs (piece, probability). measured: the
    probabilities come from a model trained on this machine, and `fig.alt` leaves them out.
    """
    blanks = [[(str(piece), float(chance)) for piece, chance in blank] for blank in blanks]
    if not 1 <= len(blanks) <= 4:
        raise ValueError(f"blanks: expected one to four, got {len(blanks)}")
    for number, blank in enumerate(blanks, 1):
        if not 1 <= len(blank) <= 12:
            raise ValueError(f"blank {number}: expected one to twelve pieces, got {len(blank)}")
        chances = [chance for _, chance in blank]
        if not all(0 <= chance <= 1 for chance in chances) or sum(chances) > 1 + 1e-4:
            raise ValueError(f"blank {number}: expected probabilities that sum to at most 1, got {chances}")
    most = max(map(len, blanks))
    said = []
    with canvas(0.36 * most + 1.0, len(blanks)) as (fig, axes):
        for number, (ax, blank) in enumerate(zip(axes, blanks, strict=True), 1):
            for y, (_, chance) in enumerate(blank):
                ax.barh(y, chance, height=0.66, facecolor=FATES["R"][0], edgecolor=BLUE, hatch=PATTERNS["R"])
                ax.text(chance + 0.02, y, f"{chance:.2f}" if measured else f"{chance:.4f}", va="center")
            ax.set_yticks(
                range(len(blank)), [short(piece) for piece, _ in blank], family=MONO, parse_math=False
            )
            ax.set(ylim=(most - 0.5, -0.5), xlim=(0, 1.25), xticks=(0, 0.5, 1), xlabel="probability")
            ax.set_title(f"blank {number}")
            words = ", ".join(f"{piece} {chance:.4f}" for piece, chance in blank)
            said.append(
                f"blank {number}: " + (f"measured, most probable first ({len(blank)})" if measured else words)
            )
        fig.alt = f"Probabilities of the best pieces. {'; '.join(said)}."
    return fig


def influence_matrix(values, tokens) -> BookFigure:
    """A square for each pair of positions: how far the row's output moves when the column's token changes.

    `values` are finite floats `[T, T]`, none negative, as `model.influence` returns them; `tokens` are the T
    texts, T at most 512. Grey with a 0 (in small matrices) is exactly zero. When there are many tokens, only
    some are named.
    """
    values, tokens = np.asarray(values, dtype=np.float64), [str(token) for token in tokens]
    n = len(tokens)
    if values.shape != (n, n):
        raise ValueError(f"values: expected shape {(n, n)} for {n} tokens, got {values.shape}")
    if not 1 <= n <= MOST_POSITIONS:
        raise ValueError(f"tokens: expected 1 to {MOST_POSITIONS}, got {n}")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("values: expected finite numbers of at least 0")
    shades = 256 if n <= 64 else 16  # a large picture of many shades would fill a notebook
    colors = LinearSegmentedColormap.from_list("influence", ["#FFFFFF", SKY, BLUE, BLACK], N=shades)
    colors = colors.with_extremes(bad=GREY)
    every = math.ceil(n / 40)
    with canvas(min(7.5, max(3.2, 1.6 + 0.34 * n))) as (fig, [ax]):
        known = np.ma.masked_equal(values, 0)
        shown = ax.imshow(known, cmap=colors, vmin=0, vmax=values.max() or 1.0, interpolation="nearest")
        fig.colorbar(shown, ax=ax, label="how far the output moves")
        places, labels = range(0, n, every), [short(token) for token in tokens[::every]]
        size = 11 if n <= 16 else 8
        style = {"family": MONO, "fontsize": size, "parse_math": False}
        ax.set_xticks(places, labels, rotation=90, **style)
        ax.set_yticks(places, labels, **style)
        ax.set(xlabel="token that changes", ylabel="output that moves")
        if n <= 16:
            for i, j in np.argwhere(values == 0):
                ax.text(j, i, "0", ha="center", va="center", fontsize=10)
        fig.alt = f"Influence matrix of {n} tokens, outputs in rows, tokens in columns: {_zeros(values)}."
    return fig


def _zeros(values: np.ndarray) -> str:
    """Where a square matrix is exactly zero, in words."""
    zero = values == 0
    above = np.triu(np.ones_like(zero), 1)
    columns = zero.all(axis=0)
    if not zero.any():
        return "no entry is zero, each output is moved by each token"
    if zero.all():
        return "all entries are zero"
    if (zero == above).all():
        return "all entries above the diagonal are zero and no other, no output is moved by a later token"
    if (zero == (columns | columns[:, None])).all():
        names = ", ".join(str(i) for i in np.flatnonzero(columns))
        return f"the rows and columns of positions {names} are zero, and nothing else"
    if (zero == columns).all():
        return f"the columns of positions {', '.join(str(i) for i in np.flatnonzero(columns))} are zero"
    return f"{int(zero.sum())} of the {zero.size} entries are zero"
