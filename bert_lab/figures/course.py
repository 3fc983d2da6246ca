"""Figures of the course: what faulty masking routines show.

As in `figures`: data in, a `BookFigure` out, with its alternative text as `fig.alt`.
"""

import numpy as np

from ..measuring.rates import SHOWN
from .base import PATTERNS, BookFigure, canvas, drawable, short
from .palette import BLACK, FATES

MOST_ROUTINES = 8


def share_bars(counts: dict) -> BookFigure:
    """A bar for each routine, split into what its picked positions show.

    `counts` maps the name of a routine to three integers >= 0, of which one at least is positive, as
    `rates.count_shown` gives them: [MASK], another token, the token itself. One to eight routines, the first
    one on top; dotted lines stand at its shares.
    """
    if not 1 <= len(counts) <= MOST_ROUTINES:
        raise ValueError(f"counts: expected one to {MOST_ROUTINES} routines, got {len(counts)}")
    shares = {}
    for name, numbers in counts.items():
        numbers = np.asarray(numbers, dtype=np.float64)
        if numbers.shape != (3,) or not (numbers >= 0).all() or not 0 < numbers.sum() < np.inf:
            raise ValueError(f"counts[{name!r}]: expected three numbers >= 0, not all 0, got {numbers}")
        shares[name] = numbers / numbers.sum()
    with canvas(0.5 * len(shares) + 1.3) as (fig, [ax]):
        for y, share in enumerate(shares.values()):
            for letter, width, left in zip("MRK", share, np.cumsum([0, *share[:2]]), strict=True):
                look = {
                    "color": FATES[letter][0],
                    "edgecolor": BLACK,
                    "hatch": PATTERNS[letter],
                    "linewidth": 0.8,
                }
                ax.barh(y, width, left=left, height=0.66, label=None if y else letter, **look)
            words = "   ".join(f"{letter} {part:.3f}" for letter, part in zip("MRK", share, strict=True))
            ax.text(1.02, y, words, va="center", fontsize=11)
        for limit in np.cumsum(next(iter(shares.values())))[:2]:
            ax.axvline(limit, color=BLACK, linestyle=":", linewidth=1.4)
        ax.set(xlim=(0, 1.42), ylim=(len(shares) - 0.4, -0.6), xlabel="share of the picked positions")
        ax.spines["bottom"].set_bounds(0, 1)
        ax.xaxis.label.set_x(0.5 / 1.42)
        ax.set_xticks(np.linspace(0, 1, 6))
        ax.set_yticks(range(len(shares)), [drawable(short(name, 28)) for name in shares], parse_math=False)
        names = [f"{letter} {what}" for letter, what in zip("MRK", SHOWN, strict=True)]
        handles = ax.get_legend_handles_labels()[0]
        ax.legend(handles, names, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, handlelength=2.4)
        said = "; ".join(
            f"{name}: {', '.join(f'{what} {part:.3f}' for what, part in zip(SHOWN, share, strict=True))}"
            for name, share in shares.items()
        )
        fig.alt = f"What the picked positions show. {said}."
    return fig
