"""Data in, matplotlib Figure out: the book's figures.

Each function makes one figure with pyplot, so that `plt.show()` at the end of a cell shows it once and closes
it. The figure carries its alternative text as `fig.alt`: what a reader who cannot see the picture is told,
and what a notebook stores as text beside it. `png(fig)` gives the bytes of the picture and closes the figure,
for labs.

Colors come from the palette, and a letter, a pattern or a marker says the same.
"""

import base64
import functools
import html
import io
import math
from contextlib import contextmanager

import matplotlib.pyplot as plt
import matplotlib.style
import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image

from .palette import BLACK, BLUE, FATES, GREEN, GREY, PURPLE, SKY, VERMILLION
from .rates import SHOWN, pick_band, pick_pmf

DPI = 100
WIDTH = 9.0  # inches: 900 pixels, what a notebook cell shows without shrinking
MOST_TOKENS = 120  # of a token strip
MOST_RUNGS = 40  # of a parity ladder
_FONT, _MONO = (
    "DejaVu Sans",
    "DejaVu Sans Mono",
)  # both come with matplotlib, so a figure is the same everywhere
_STYLE = {
    "font.family": _FONT,
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 13,
    "axes.titlelocation": "left",
    "axes.facecolor": "white",
    "figure.facecolor": "white",
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 11,
    "text.usetex": False,
}
_PATTERNS = {"M": "///", "R": "...", "K": "xx"}
_LINES = (
    (BLUE, "-", "o"),
    (VERMILLION, "--", "s"),
    (GREEN, "-.", "^"),
    (PURPLE, ":", "D"),
    (BLACK, "-", "v"),
)


def _style():
    """matplotlib's default style with the book's changes, whatever style the reader has set."""
    return matplotlib.style.context(["default", _STYLE])


class BookFigure(Figure):
    """A Figure that says in `alt` what it shows, and puts that text beside its picture in a notebook."""

    alt = ""

    def _ipython_display_(self) -> None:
        # plt.show() comes here; matplotlib's own way has no alternative text, and three times the bytes.
        from IPython.display import display

        picture = base64.b64encode(_render(self)).decode("ascii")
        metadata = {"image/png": {"alt": self.alt}}
        display({"image/png": picture, "text/plain": self.alt}, raw=True, metadata=metadata)


def _render(fig: Figure) -> bytes:
    """The figure as PNG bytes of at most 128 colors: a third of the size, and a notebook must stay small."""
    out, canvas = io.BytesIO(), fig.canvas
    try:
        agg = FigureCanvasAgg(fig)
        with _style():  # ticks are made when they are drawn
            agg.draw()
        pixels = Image.fromarray(np.asarray(agg.buffer_rgba())).convert("RGB")
    finally:
        fig.set_canvas(canvas)  # the one that pyplot knows
    pixels.quantize(128).save(out, format="png", optimize=True)
    return out.getvalue()


def png(fig: Figure) -> bytes:
    """The picture as PNG bytes; the figure is closed."""
    try:
        return _render(fig)
    finally:
        plt.close(fig)


def html_image(fig: BookFigure) -> str:
    """An HTML image of the figure with its alternative text; the figure is closed."""
    data = base64.b64encode(png(fig)).decode("ascii")
    return f'<img alt="{html.escape(fig.alt)}" style="max-width:100%" src="data:image/png;base64,{data}">'


@contextmanager
def _canvas(height: float, panels: int = 1, **spec):
    """(figure, list of axes) in the book's style; closed again if drawing fails."""
    with _style():
        fig = plt.figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained", FigureClass=BookFigure)
        try:
            yield fig, list(fig.subplots(1, panels, squeeze=False, **spec)[0])
        except BaseException:
            plt.close(fig)
            raise


@functools.cache
def _known(font: str) -> frozenset[int]:
    """The characters that a font has."""
    return frozenset(font_manager.get_font(font_manager.findfont(font)).get_charmap())


def _drawable(text: str, font: str = _FONT) -> str:
    """The text with a hollow box for each character that cannot be drawn."""
    return "".join(c if c.isprintable() and ord(c) in _known(font) else "\N{WHITE SQUARE}" for c in str(text))


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
    share = np.bincount(picks, minlength=n + 1) / rows
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
        ax.bar(x, share[x], width=0.62, color=FATES[letter][0], edgecolor=BLACK, hatch=_PATTERNS[letter])
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
    with _canvas(3.4) as (fig, [ax]):
        fig.alt = _draw_picks(ax, picks, n, p, sds)
    return fig


def shown_shares(counts, shares, *, sds: float = 4.0) -> BookFigure:
    """Bars of what the picked positions show, against the exact shares with their band of `sds` sd.

    `counts` are integers `[3]` as `rates.count_shown` gives them, `shares` are `[3]` as `rates.exact_shares`.
    """
    with _canvas(3.4) as (fig, [ax]):
        fig.alt = _draw_shares(ax, counts, shares, sds)
    return fig


def masking_report(picks, n: int, p: float, counts, shares, *, sds: float = 4.0) -> BookFigure:
    """`picks_per_row` and `shown_shares` side by side."""
    with _canvas(3.0, 2) as (fig, [left, right]):
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
    with _canvas(3.0) as (fig, [ax]):
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
    if not 1 <= len(curves) <= len(_LINES):
        raise ValueError(f"curves: expected one to {len(_LINES)} recipes, got {len(curves)}")
    said = []
    with _canvas(3.4) as (fig, [ax]):
        for (name, power), (color, line, marker) in zip(curves.items(), _LINES, strict=False):
            power = np.asarray(power, dtype=np.float64)
            if power.shape != picks.shape or picks.ndim != 1:
                raise ValueError(f"curves[{name!r}]: expected {picks.shape} values, got {power.shape}")
            every = max(1, picks.size // 10)
            ax.plot(picks, power, line, color=color, marker=marker, markevery=every, label=_drawable(name))
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
    with _canvas(3.0, len(counts)) as (fig, axes):
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
            ax.set_title(_drawable(name), parse_math=False)
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
    with _canvas(3.0, len(recipes), sharey=True) as (fig, axes):
        for ax, (name, picks), (color, _, marker) in zip(axes, recipes.items(), _LINES, strict=False):
            picks = _picks(picks, n)
            share = np.bincount(picks, minlength=n + 1) / picks.size
            k = np.arange(min(n, math.ceil(n * p + 4 * math.sqrt(n * p * (1 - p)) + 1)) + 1)
            ax.bar(k, share[k], color=FATES["R"][0], edgecolor=color, linewidth=0.8)
            ax.plot(k, pmf[k], color=BLACK, marker=marker, markersize=3.5, linewidth=0.8, label="binomial")
            ax.set_title(_drawable(name), parse_math=False)
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
        _drawable(text if len(text) <= 20 else text[:19] + "\N{HORIZONTAL ELLIPSIS}", _MONO) for text in shown
    ]
    places, x, line = [], 0.0, 0
    for text in texts:
        wide = 0.28 + 0.104 * max(len(text), 2)  # inches: a mono character at 12 points, and the margins
        if x + wide > WIDTH - 0.1:
            x, line = 0.0, line + 1
        places.append((x, line, wide))
        x += wide + 0.08
    lines = line + 1
    with _canvas(0.66 * lines + 0.1) as (fig, [ax]):
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
            ax.text(middle, low + 0.345, text, ha="center", va="center", family=_MONO, parse_math=False)
            ax.text(middle, low + 0.125, fate, ha="center", va="center", weight="bold", fontsize=10)
        fig.alt = "Token strip: " + "; ".join(
            f"{token}: {FATES[fate][1]}" + (f" {now}" if fate == "R" else "")
            for token, fate, now in zip(tokens, fates, shown, strict=True)
        )
    return fig


MOST_POSITIONS = 512  # of an influence matrix


def _short(token, most: int = 12) -> str:
    """A token as a label: cut when long, and with a hollow box for what cannot be drawn."""
    token = str(token)
    return _drawable(token if len(token) <= most else token[: most - 1] + "\N{HORIZONTAL ELLIPSIS}", _MONO)


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
    with _canvas(0.55 * len(losses) + 1.0) as (fig, [ax]):
        before = None
        for y, (name, loss) in enumerate(losses.items()):
            letter, edge = ("M", VERMILLION) if name in measured else ("R", BLUE)
            ax.barh(y, loss, height=0.62, facecolor=FATES[letter][0], edgecolor=edge, hatch=_PATTERNS[letter])
            digits = f"{loss:.2f}" if name in measured else f"{loss:.4f}"
            ax.text(loss + 0.01 * top, y, digits, va="center")
            if name not in measured:
                said.append(f"{name} {digits}")
            elif before is None:
                said.append(f"{name} measured")
            else:
                said.append(f"{name} {'below' if loss < losses[before] else 'not below'} {before}")
            before = name
        ax.set_yticks(range(len(losses)), [_drawable(name) for name in losses], parse_math=False)
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
    with _canvas(0.36 * most + 1.0, len(blanks)) as (fig, axes):
        for number, (ax, blank) in enumerate(zip(axes, blanks, strict=True), 1):
            for y, (_, chance) in enumerate(blank):
                ax.barh(y, chance, height=0.66, facecolor=FATES["R"][0], edgecolor=BLUE, hatch=_PATTERNS["R"])
                ax.text(chance + 0.02, y, f"{chance:.2f}" if measured else f"{chance:.4f}", va="center")
            ax.set_yticks(
                range(len(blank)), [_short(piece) for piece, _ in blank], family=_MONO, parse_math=False
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
    with _canvas(min(7.5, max(3.2, 1.6 + 0.34 * n))) as (fig, [ax]):
        known = np.ma.masked_equal(values, 0)
        shown = ax.imshow(known, cmap=colors, vmin=0, vmax=values.max() or 1.0, interpolation="nearest")
        fig.colorbar(shown, ax=ax, label="how far the output moves")
        places, labels = range(0, n, every), [_short(token) for token in tokens[::every]]
        size = 11 if n <= 16 else 8
        style = {"family": _MONO, "fontsize": size, "parse_math": False}
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
    labels = [_drawable(t if len(t) <= 12 else t[:11] + "\N{HORIZONTAL ELLIPSIS}") for t in tokens]
    colors = LinearSegmentedColormap.from_list("looks", ["white", BLUE])
    said = []
    with _canvas(side + 1.1, panels) as (fig, axes):
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
    with _canvas(3.2, 2) as (fig, [left, right]):
        left.plot(x, exact, color=BLUE, linewidth=3.5, label="exact")
        left.plot(x, other, "--", color=VERMILLION, linewidth=1.5, label=_drawable(name))
        left.set(xlabel="x", ylabel="GELU(x)")
        left.legend().get_texts()[1].set_parse_math(False)
        right.axhline(0, color=GREY, linewidth=1)
        right.plot(x, gap, color=BLACK)
        right.plot(x[places], gap[places], "s", color=VERMILLION, label=f"largest: {widest:.1e}")
        right.ticklabel_format(axis="y", scilimits=(0, 0))
        right.set_xlabel("x")
        right.set_ylabel(f"{_drawable(name)} - exact", parse_math=False)
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
    with _canvas(0.23 * len(names) + 1.0) as (fig, [ax]):
        for y, (end, fine) in enumerate(zip(ends, good, strict=True)):
            face, pattern = (FATES["R"][0], "") if fine else (FATES["M"][0], "///")
            ax.barh(
                y, end - low, left=low, height=0.7, color=face, edgecolor=BLACK, linewidth=0.8, hatch=pattern
            )
            ax.text(end * 1.3, y, "\N{CHECK MARK}" if fine else "\N{BALLOT X}", va="center", fontsize=11)
        ax.axvline(limit, color=BLACK, linestyle="--", linewidth=1.2)
        ax.set_xscale("log")
        ax.set(xlim=(low, high * 6), ylim=(-0.7, len(names) - 0.3), xlabel="largest difference")
        ax.set_yticks(range(len(names)), [_drawable(name) for name in names], fontsize=10, parse_math=False)
        ax.set_title(f"\N{CHECK MARK} below {limit:g}    \N{BALLOT X} not below", fontsize=11)
        fig.alt = f"Parity ladder of {len(names)} rungs, sizes on a log scale, limit {limit:g}: "
        if good.all():
            fig.alt += "all rungs lie below it."
        else:
            first = int(np.argmin(good))
            fig.alt += f"rung {first + 1}, {names[first]}, is the first that does not lie below it."
    return fig
