"""Figures of training: the curves of a run, hits of several readers on the same blanks, words that come in.

As in `figures`: data in, a `BookFigure` out, with its alternative text as `fig.alt`. What a run on the
reader's machine gave is drawn with its digits, and the text says what is true of it without them.
"""

import math

import numpy as np

from .base import LINES, PATTERNS, BookFigure, canvas, drawable, short
from .palette import BLACK, BLUE, FATES, VERMILLION

MOST_BARS = 8  # in a panel of hits
_FILLS = (("R", BLUE), ("M", VERMILLION), ("K", BLACK))  # the letters of palette.FATES lend their colors


def training_curves(history, levels: dict) -> BookFigure:
    """Loss and accuracy of a run, step by step: of each batch as a thin line, on held-out text as points.

    `history` is what `pretrain` keeps: two or more dicts with `step`, `loss` and `accuracy`, of which two at
    least have `held_out_loss` and `held_out_accuracy` too. `levels` maps the name of a line to a pair: a loss
    in nats to be drawn in the left panel, and an accuracy for the right.
    """
    steps, loss, accuracy = (
        np.array([float(entry[name]) for entry in history]) for name in ("step", "loss", "accuracy")
    )
    held = [entry for entry in history if "held_out_loss" in entry]
    if len(steps) < 2 or len(held) < 2:
        raise ValueError(
            "history: expected two entries or more, two of them with held-out numbers,"
            f" got {len(steps)} and {len(held)}"
        )
    held_steps, held_loss, held_accuracy = (
        np.array([float(entry[name]) for entry in held])
        for name in ("step", "held_out_loss", "held_out_accuracy")
    )
    said = []
    with canvas(3.6, 2) as (fig, [left, right]):
        for ax, batches, points, which in (
            (left, loss, held_loss, 0),
            (right, accuracy, held_accuracy, 1),
        ):
            ax.plot(steps, batches, color=FATES["R"][0], linewidth=1, label="each batch")
            ax.plot(held_steps, points, "o-", color=BLUE, markersize=4, label="held-out text")
            for name, (color, line, _) in zip(levels, LINES[1:], strict=False):
                level = float(levels[name][which])
                ax.axhline(level, color=color, linestyle=line, linewidth=1.3)
                above = {"va": "bottom", "ha": "right", "fontsize": 11, "parse_math": False}
                ax.text(steps[-1], level, drawable(name), color=color, **above)
            ax.set_xlabel("step")
        left.set_ylabel("loss in nats")
        right.set_ylabel("share of blanks that are hit")
        right.set_ylim(bottom=0)
        left.legend(loc="upper right", bbox_to_anchor=(1, 0.93))
        said.append("falls" if held_loss[-1] < held_loss[0] else "does not fall")
        for name, pair in levels.items():
            said.append(f"{'ends below' if held_loss[-1] < pair[0] else 'does not end below'} {name}")
        fig.alt = f"Loss and accuracy of a run over its steps. The loss on held-out text {', '.join(said)}."
    return fig


def hit_bars(panels: dict, *, measured=()) -> BookFigure:
    """Shares of blanks that were hit, with their counts: a panel for each test, a bar for each reader.

    `panels` maps the name of a test, one to three, to the readers' results: a name to a pair (hits, blanks),
    one to eight readers, the same ones in each panel. The whisker is two standard deviations of a share, each
    sqrt(a (1 - a) / blanks), to each side. `measured` names readers that were asked on this machine:
    `fig.alt` says of them only whether they hit more than all others.
    """
    if not 1 <= len(panels) <= 3:
        raise ValueError(f"panels: expected one to three tests, got {len(panels)}")
    names = [str(name) for name in next(iter(panels.values()))]
    if not 1 <= len(names) <= MOST_BARS:
        raise ValueError(f"panels: expected one to {MOST_BARS} readers, got {len(names)}")
    for test, results in panels.items():
        if [str(name) for name in results] != names:
            raise ValueError(f"panels[{test!r}]: expected the readers {', '.join(names)}, got others")
        for name, (hits, blanks) in results.items():
            if not (0 <= hits <= blanks and blanks > 0):
                raise ValueError(
                    f"panels[{test!r}][{name!r}]: expected 0 <= hits <= blanks, got {hits}, {blanks}"
                )
    said = []
    room = max(0.05, *(hits / blanks for results in panels.values() for hits, blanks in results.values()))
    with canvas(0.5 * len(names) + 1.2, len(panels), sharey=True) as (fig, axes):
        for ax, (test, results) in zip(axes, panels.items(), strict=True):
            words = []
            for y, (name, (hits, blanks)) in enumerate(results.items()):
                share = hits / blanks
                sd = math.sqrt(share * (1 - share) / blanks)
                letter, edge = _FILLS[y % len(_FILLS)] if len(panels) > 1 else _FILLS[0]
                ax.barh(
                    y,
                    share,
                    height=0.62,
                    facecolor=FATES[letter][0],
                    edgecolor=edge,
                    hatch=PATTERNS[letter],
                    xerr=2 * sd,
                    error_kw={"capsize": 3, "elinewidth": 1.2},
                )
                count = f"{hits:,} of {blanks:,}"
                text = f"{share:.3f}" if len(panels) > 1 else f"{share:.3f}  ({count})"
                ax.text(share + 2 * sd + 0.015 * room, y, text, va="center", fontsize=11)
                if name in measured:
                    most = all(share > other / n for key, (other, n) in results.items() if key != name)
                    words.append(f"{name} measured, {'' if most else 'not '}the most")
                else:
                    words.append(f"{name} {count}, {share:.3f}")
            ax.set(ylim=(len(names) - 0.5, -0.5), xlim=(0, 1.5 * room), xlabel="share of blanks hit")
            ax.set_xticks([tick for tick in ax.get_xticks() if 0 <= tick <= min(1, 1.5 * room)])
            if len(panels) > 1:
                ax.set_title(drawable(test), fontsize=12, parse_math=False)
            said.append(f"{test}: {'; '.join(words)}")
        axes[0].set_yticks(range(len(names)), [short(name, 28) for name in names], parse_math=False)
        fig.alt = f"Blanks that were hit. {'. '.join(said)}."
    return fig


def reveal_curves(words, chances: dict) -> BookFigure:
    """How likely each piece is for a blank, over the words to its right that have been added one by one.

    `words` are the texts that are added, the first of them for nothing added; `chances` maps a piece to its
    probabilities, one for each of the words, at most five pieces. `fig.alt` says which piece is likeliest
    where, without digits.
    """
    words = [str(word) for word in words]
    if not 2 <= len(words) <= 24:
        raise ValueError(f"words: expected 2 to 24, got {len(words)}")
    if not 1 <= len(chances) <= len(LINES):
        raise ValueError(f"chances: expected one to {len(LINES)} pieces, got {len(chances)}")
    curves = {str(piece): np.asarray(values, dtype=np.float64) for piece, values in chances.items()}
    for piece, values in curves.items():
        if values.shape != (len(words),) or not ((values >= 0) & (values <= 1 + 1e-6)).all():
            raise ValueError(f"chances[{piece!r}]: expected {len(words)} probabilities, got {values}")
    with canvas(3.6) as (fig, [ax]):
        for (piece, values), (color, line, marker) in zip(curves.items(), LINES, strict=False):
            ax.plot(values, line, color=color, marker=marker, label=short(piece))
        ax.set_xticks(range(len(words)), [short(word) for word in words], parse_math=False)
        if max(map(len, words)) * len(words) > 84:
            ax.tick_params(axis="x", rotation=90)
        ax.set(xlabel="words added to the right, one by one", ylabel="probability", ylim=(0, 1.02))
        for text in ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="piece").get_texts():
            text.set_parse_math(False)
        names, table = list(curves), np.array(list(curves.values()))
        best = "; ".join(f"{word}: {names[i]}" for word, i in zip(words, table.argmax(0), strict=True))
        fig.alt = (
            f"Probabilities of {len(names)} pieces as words are added. The likeliest of them after {best}."
        )
    return fig
