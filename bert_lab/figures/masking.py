"""Figures of masking: picks, shares, p values, power, and a row of tokens."""

import math

import numpy as np
from matplotlib.patches import FancyBboxPatch

from ..measuring.rates import SHOWN, pick_band, pick_pmf
from .base import LINES, MONO, PATTERNS, WIDTH, BookFigure, canvas, drawable
from .palette import BLACK, BLUE, FATES, GREY

MOST_TOKENS = 120  # of a token strip


def _picks(picks, n: int) -> np.ndarray:
    """Numbers of picks as int64 `[rows]`, each in 0..n."""
    picks = np.asarray(picks)
    if picks.ndim != 1 or not picks.size:
        raise ValueError(f"picks: expected one number a row, got shape {picks.shape}")
    if picks.dtype.kind not in "iu":
        raise TypeError(f"picks: expected integers, got {picks.dtype}")
    if picks.min() < 0 or picks.max() > n:
        raise ValueError(f"picks: expected numbers from 0 to {n}, got {picks.min()} to {picks.max()}")
    return picks.astype(np.int64)


def _draw_picks(ax, picks, n: int, p: float, sds: float) -> str:
    """Histogram of picks per row against the exact binomial; returns what it shows in words."""
    pmf = pick_pmf(n, p)
    picks = _picks(picks, n)
    rows = picks.size
    share = np.bincount(picks, minlength=pmf.size) / rows
    sd = np.sqrt(pmf * (1 - pmf) / rows)
    inside = np.abs(share - pmf) <= sds * sd + 1e-12
    reach = 4.5 * math.sqrt(n * p * (1 - p))
    low, high = min(picks.min(), math.floor(n * p - reach)), max(picks.max(), math.ceil(n * p + reach))
    k = np.arange(max(0, low), min(n, high) + 1)
    ax.bar(k, share[k], width=0.8, color=FATES["R"][0], edgecolor=BLUE, linewidth=0.8, label="measured")
    band = {"yerr": sds * sd[k], "capsize": 2.5, "elinewidth": 1}
    ax.errorbar(k, pmf[k], fmt="o", color=BLACK, markersize=3.5, label=f"exact, ± {sds:g} sd", **band)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(f"picks in a row of {n} candidates")
    ax.set_ylabel("share of rows")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend()
    verdict = f"{inside[k].sum()} of the {k.size} bars lie within {sds:g} sd of the exact binomial"
    return f"Picks in {rows} rows of {n} candidates: mean {picks.mean():.4f}, exact {n * p:.4f}; {verdict}."


def _draw_shares(ax, counts, shares, sds: float, size: int = 11) -> str:
    """Bars of what the picks show against exact shares; returns what it shows in words."""
    counts, shares = np.asarray(counts), np.asarray(shares, dtype=np.float64)
    if counts.shape != (3,) or shares.shape != (3,):
        raise ValueError(
            f"counts and shares: expected three numbers each, got {counts.shape} and {shares.shape}"
        )
    total = int(counts.sum())
    if total < 1:
        raise ValueError("counts: expected at least one pick, got none")
    share, sd = counts / total, np.sqrt(shares * (1 - shares) / total)
    for x, letter in enumerate("MRK"):
        ax.bar(x, share[x], width=0.62, color=FATES[letter][0], edgecolor=BLACK, hatch=PATTERNS[letter])
        top = max(share[x], shares[x] + sds * sd[x]) + 0.025
        text = f"{share[x]:.4f}\n(exact {shares[x]:.4f})"
        ax.text(x, top, text, ha="center", va="bottom", fontsize=size)
    ax.errorbar(
        range(3),
        shares,
        yerr=sds * sd,
        fmt="o",
        color=BLACK,
        markersize=4,
        capsize=4,
        label=f"exact, ± {sds:g} sd",
    )
    ax.set_xticks(range(3), ["M\n[MASK]", "R\nanother\ntoken", "K\nthe token\nitself"])
    ax.set_xlim(-0.6, 2.6)
    ax.set_ylim(0, 1.25)
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_ylabel("share of picks")
    ax.legend(loc="upper right")
    said = ", ".join(
        f"{what} {a:.4f} (exact {b:.4f})" for what, a, b in zip(SHOWN, share, shares, strict=True)
    )
    return f"What {total} picks show: {said}."


def picks_per_row(picks, n: int, p: float, *, sds: float = 4.0) -> BookFigure:
    """Histogram of the number of picks in each row, against the exact binomial and its band.

    `picks` are integers `[rows]` from 0 to n, where n is the number of candidates in each row. The band is
    `sds` standard deviations to each side; the share of rows with k picks has standard deviation sqrt(pmf (1
    - pmf) / rows).
    """
    with canvas(3.4) as (fig, [ax]):
        fig.alt = _draw_picks(ax, picks, n, p, sds)
    return fig


def shown_shares(counts, shares, *, sds: float = 4.0) -> BookFigure:
    """Bars of what the picked positions show, against the exact shares with their band of `sds` sd.

    `counts` are integers `[3]` as `rates.count_shown` gives them, `shares` are `[3]` as `rates.exact_shares`.
    """
    with canvas(3.4) as (fig, [ax]):
        fig.alt = _draw_shares(ax, counts, shares, sds)
    return fig


def masking_report(picks, n: int, p: float, counts, shares, *, sds: float = 4.0) -> BookFigure:
    """`picks_per_row` and `shown_shares` side by side."""
    with canvas(3.0, 2) as (fig, [left, right]):
        fig.alt = _draw_picks(left, picks, n, p, sds) + " " + _draw_shares(right, counts, shares, sds, 10)
    return fig


def p_value_histogram(p_values, *, alpha: float = 0.05, bins: int = 20) -> BookFigure:
    """Histogram of p values of correct code, which must be flat; those below `alpha` are false alarms.

    `p_values` are floats `[n]` from 0 to 1; `1 / alpha` and `bins` should fit: a bin edge stands at alpha.
    """
    values = np.asarray(p_values, dtype=np.float64)
    if values.ndim != 1 or not values.size or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"p_values: expected numbers from 0 to 1 in one row, got shape {values.shape}")
    below = int((values < alpha).sum())
    with canvas(3.0) as (fig, [ax]):
        counts, edges, patches = ax.hist(values, bins=bins, range=(0, 1), color=FATES["R"][0], edgecolor=BLUE)
        for patch, edge in zip(patches, edges[1:], strict=True):
            if edge <= alpha + 1e-9:
                patch.set(facecolor=FATES["M"][0], hatch="///")
        ax.axhline(
            values.size / bins,
            color=BLACK,
            linestyle="--",
            label=f"expected: {values.size / bins:g} in each bar",
        )
        ax.text(alpha + 0.01, counts.max() * 1.04, f"hatched: p below {alpha:g}", va="bottom", fontsize=11)
        ax.set(xlabel="p value", ylabel="runs", xlim=(0, 1), ylim=(0, counts.max() * 1.35))
        ax.legend(loc="upper right")
        fig.alt = (
            f"Histogram of {values.size} p values against a flat line: {below} of them"
            f" ({below / values.size:.4f}) are below {alpha:g}."
        )
    return fig


def power_curves(picks, curves: dict, *, target: float = 0.95, alpha: float = 0.001, mark=None) -> BookFigure:
    """How likely a test is to notice each wrong recipe, over the number of picks it is given.

    `picks` are numbers `[n]`, ascending; `curves` maps the name of a recipe to its power `[n]` at each of
    them, at most five recipes. The dashed line is the power one wants; `mark`, a pair (picks, name), draws an
    upright line.
    """
    picks = np.asarray(picks, dtype=np.float64)
    if not 1 <= len(curves) <= len(LINES):
        raise ValueError(f"curves: expected one to {len(LINES)} recipes, got {len(curves)}")
    said = []
    with canvas(3.4) as (fig, [ax]):
        for (name, power), (color, line, marker) in zip(curves.items(), LINES, strict=False):
            power = np.asarray(power, dtype=np.float64)
            if power.shape != picks.shape or picks.ndim != 1:
                raise ValueError(f"curves[{name!r}]: expected {picks.shape} values, got {power.shape}")
            every = max(1, picks.size // 10)
            ax.plot(picks, power, line, color=color, marker=marker, markevery=every, label=drawable(name))
            enough = picks[power >= target]
            reached = f"at {enough[0]:.0f} picks" if enough.size else "not in this range"
            said.append(f"{name} reaches {target:g} {reached}")
        ax.axhline(target, color=BLACK, linestyle=(0, (6, 3)), linewidth=1)
        if mark is not None:
            ax.axvline(mark[0], color=BLACK, linestyle=":", linewidth=1.5)
            ax.text(mark[0], 0.5, f"  {mark[1]}: {mark[0]:,} picks", parse_math=False)
        ax.text(picks[0], target - 0.02, f" power {target:g}", va="top", fontsize=11)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.set(
            xlabel="picks in the test", ylabel="chance to notice", ylim=(0, 1.05), xlim=(picks[0], picks[-1])
        )
        for text in ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="recipe").get_texts():
            text.set_parse_math(False)
        fig.alt = f"Power of the chi-square test at false-alarm rate {alpha:g}: {'; '.join(said)}."
    return fig


def batch_counts(counts: dict, n: int, *, sds: float = 4.0) -> BookFigure:
    """Histograms over many batches of how often something happened in each, against the exact binomial.

    `counts` maps a name to a pair: integers `[batches]` from 0 to n, and the chance of it at each of the n
    candidates of a batch; at most four. The shaded band is the mean plus and minus `sds` standard deviations.
    """
    if not 1 <= len(counts) <= 4:
        raise ValueError(f"counts: expected one to four things to count, got {len(counts)}")
    said = []
    with canvas(3.0, len(counts)) as (fig, axes):
        for ax, (name, (numbers, chance)) in zip(axes, counts.items(), strict=True):
            numbers = _picks(numbers, n)
            low, high = pick_band(n, chance, sds)
            k = np.arange(
                max(0, math.floor(min(low, numbers.min()))), math.ceil(max(high, numbers.max())) + 1
            )
            step = max(1, round((high - low) / 24))
            edges = np.arange(k[0], k[-1] + step + 1, step)
            pmf = np.pad(pick_pmf(n, chance), (0, step + k[-1]))
            exact = [pmf[edge : edge + step].sum() * numbers.size for edge in edges[:-1]]
            ax.axvspan(low, high, color=GREY, alpha=0.35, linewidth=0, label=f"± {sds:g} sd")
            ax.hist(
                numbers,
                bins=edges - 0.5,
                color=FATES["R"][0],
                edgecolor=BLUE,
                linewidth=0.8,
                label="measured",
            )
            ax.plot(
                edges[:-1] + (step - 1) / 2,
                exact,
                "o-",
                color=BLACK,
                markersize=3,
                linewidth=0.8,
                label="exact",
            )
            ax.set_title(drawable(name), parse_math=False)
            ax.set(xlabel="in a batch", xlim=(min(low, k[0]) - step, max(high, k[-1]) + step))
            inside = int(((numbers >= low) & (numbers <= high)).sum())
            said.append(
                f"{name} from {numbers.min()} to {numbers.max()}, {inside} of {numbers.size} in the band"
            )
        axes[0].set_ylabel("batches")
        axes[-1].legend(loc="upper right", fontsize=9, handlelength=1.2)
        axes[-1].set_ylim(top=axes[-1].get_ylim()[1] * 1.35)
        fig.alt = f"Counts in {numbers.size} batches of {n} candidates: {'; '.join(said)}."
    return fig


def row_joint(recipes: dict, n: int, p: float) -> BookFigure:
    """Picks per row of several recipes side by side, each against the exact binomial.

    `recipes` maps the name of a recipe to its picks per row, integers `[rows]` from 0 to n; at most four
    recipes.
    """
    if not 1 <= len(recipes) <= 4:
        raise ValueError(f"recipes: expected one to four, got {len(recipes)}")
    pmf = pick_pmf(n, p)
    said = []
    with canvas(3.0, len(recipes), sharey=True) as (fig, axes):
        for ax, (name, picks), (color, _, marker) in zip(axes, recipes.items(), LINES, strict=False):
            picks = _picks(picks, n)
            share = np.bincount(picks, minlength=pmf.size) / picks.size
            k = np.arange(min(n, math.ceil(n * p + 4 * math.sqrt(n * p * (1 - p)) + 1)) + 1)
            ax.bar(k, share[k], color=FATES["R"][0], edgecolor=color, linewidth=0.8)
            ax.plot(k, pmf[k], color=BLACK, marker=marker, markersize=3.5, linewidth=0.8, label="binomial")
            ax.set_title(drawable(name), parse_math=False)
            ax.set_xlabel("picks in a row")
            ax.xaxis.get_major_locator().set_params(integer=True)
            said.append(f"{name} has mean {picks.mean():.4f} and variance {picks.var():.4f}")
        axes[0].set_ylabel("share of rows")
        axes[-1].legend()
        exact = f"The binomial has variance {n * p * (1 - p):.4f}."
        fig.alt = f"Picks per row of {n} candidates: {'; '.join(said)}. {exact}"
    return fig


def token_strip(tokens, fates, shown=None) -> BookFigure:
    """A box for each token, colored and lettered by what masking did to it; a long strip wraps.

    `tokens`, `fates` and `shown` are sequences of one length, at most 120: what stood there, a letter of
    `palette.FATES` each, and what the model sees (by default the tokens). A character that cannot be drawn
    becomes a hollow box, and a token of more than 20 characters is cut; `fig.alt` has them in full.
    """
    tokens, fates = [str(token) for token in tokens], list(fates)
    shown = tokens if shown is None else [str(token) for token in shown]
    if not len(tokens) == len(fates) == len(shown):
        raise ValueError(
            f"expected as many tokens, fates and shown, got {len(tokens)}, {len(fates)}, {len(shown)}"
        )
    if not 1 <= len(tokens) <= MOST_TOKENS:
        raise ValueError(f"tokens: expected 1 to {MOST_TOKENS}, got {len(tokens)}")
    unknown = sorted({str(fate) for fate in fates if fate not in FATES})
    if unknown:
        raise ValueError(f"fates: expected letters among {' '.join(FATES)}, got {' '.join(unknown)}")
    texts = [
        drawable(text if len(text) <= 20 else text[:19] + "\N{HORIZONTAL ELLIPSIS}", MONO) for text in shown
    ]
    places, x, line = [], 0.0, 0
    for text in texts:
        wide = 0.28 + 0.104 * max(len(text), 2)  # inches: a mono character at 12 points, and the margins
        if x + wide > WIDTH - 0.1:
            x, line = 0.0, line + 1
        places.append((x, line, wide))
        x += wide + 0.08
    lines = line + 1
    with canvas(0.66 * lines + 0.1) as (fig, [ax]):
        fig.set_layout_engine("none")
        ax.set_position([0, 0, 1, 1])
        ax.set(xlim=(-0.05, WIDTH - 0.05), ylim=(-lines * 0.66 - 0.05, 0.05))
        ax.axis("off")
        for text, fate, (left, row, wide) in zip(texts, fates, places, strict=True):
            low = -row * 0.66 - 0.58
            box = FancyBboxPatch(
                (left + 0.04, low), wide - 0.08, 0.52, boxstyle="round,pad=0,rounding_size=0.06",
                facecolor=FATES[fate][0], edgecolor=BLACK if fate in "MRK" else GREY, linewidth=1,
            )  # fmt: skip
            ax.add_patch(box)
            middle = left + wide / 2
            ax.text(middle, low + 0.345, text, ha="center", va="center", family=MONO, parse_math=False)
            ax.text(middle, low + 0.125, fate, ha="center", va="center", weight="bold", fontsize=10)
        fig.alt = "Token strip: " + "; ".join(
            f"{token}: {FATES[fate][1]}" + (f" {now}" if fate == "R" else "")
            for token, fate, now in zip(tokens, fates, shown, strict=True)
        )
    return fig
