"""Figures: what they draw, what they say in words, what they refuse, and that nothing is left open."""

import base64
import io
import itertools
import math
import warnings

import figure_checks
import matplotlib.pyplot as plt
import matplotlib_inline.backend_inline
import numpy as np
import pytest
from figure_checks import HARD, bars, check_picture, check_texts_beyond, legend, lines, texts, ticks, whiskers
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib.colors import to_hex
from PIL import Image
from scipy.stats import binom
from traitlets.config import Config

from bert_lab import figures
from bert_lab.figures import base
from bert_lab.figures.palette import FATES
from bert_lab.measuring.rates import exact_shares

nothing_left_open = figure_checks.nothing_left_open  # around every test here

# The Okabe-Ito palette, as published.
BLACK, GREY, ORANGE, SKY, GREEN = "#000000", "#BBBBBB", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
PICKS = np.array([0, 1, 1, 2, 2, 2, 3, 4])
COUNTS, SHARES = [790, 105, 105], exact_shares(1000)
CURVES = {"80/2/18": [0.1, 0.5, 1.0], "a $b$": [0.0, 0.1, 0.2]}
MADE = {
    "picks_per_row": lambda: figures.picks_per_row(PICKS, 20, 0.15),
    "shown_shares": lambda: figures.shown_shares(COUNTS, SHARES),
    "masking_report": lambda: figures.masking_report(PICKS, 20, 0.15, COUNTS, SHARES),
    "p_value_histogram": lambda: figures.p_value_histogram(np.linspace(0, 1, 41)),
    "power_curves": lambda: figures.power_curves([10, 100, 1000], CURVES, mark=(300, "80/2/18")),
    "batch_counts": lambda: figures.batch_counts({"picked": ([170, 190, 210], 0.15)}, 1280),
    "row_joint": lambda: figures.row_joint({"ours": PICKS, "exact $count$": np.full(8, 3)}, 20, 0.15),
    "token_strip": lambda: figures.token_strip(["[CLS]", "the", "cat"], "S-M", ["[CLS]", "the", "[MASK]"]),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_figure_is_a_small_picture_with_words(make):
    check_picture(make())


def test_show_displays_a_figure_once_and_closes_it(monkeypatch, tmp_path):
    # What plt.show() does in a notebook: display every open figure, then close all of them.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    fig = MADE["picks_per_row"]()
    assert plt.get_fignums() == [fig.number]
    try:
        with capture_output() as shown:
            matplotlib_inline.backend_inline.show(close=True)
    finally:
        shell.clear_instance()
    assert plt.get_fignums() == []
    (output,) = shown.outputs
    assert output.data["text/plain"] == fig.alt
    assert output.metadata["image/png"]["alt"] == fig.alt
    with Image.open(io.BytesIO(base64.b64decode(output.data["image/png"]))) as picture:
        assert picture.mode == "P"  # the small one of ours


def test_rendering_leaves_pyplots_canvas_in_place():
    fig = MADE["picks_per_row"]()
    canvas = fig.canvas
    base._render(fig)
    assert fig.canvas is canvas
    plt.close(fig)


def test_html_image_carries_the_words_and_is_closed():
    fig = figures.token_strip(["<b>", '"'], "--")
    text = figures.html_image(fig)
    assert text.startswith('<img alt="Token strip: &lt;b&gt;: not picked; &quot;: not picked"')
    assert 'src="data:image/png;base64,iVBOR' in text


def test_labels_are_cut_and_hollow_where_they_cannot_be_drawn():
    assert base.short("x" * 12) == "x" * 12 and base.short("x" * 13) == "x" * 11 + "…"
    assert base.short("abcdef", 4) == "abc…" and base.short(12) == "12"
    assert base.drawable("a\t我\u200b$") == "a□□□$" and base.drawable(7) == "7"


def test_patterns_and_lines_tell_apart_what_colors_tell_apart():
    assert base.PATTERNS == {"M": "///", "R": "...", "K": "xx"}
    assert base.LINES == (
        (BLUE, "-", "o"),
        (VERMILLION, "--", "s"),
        (GREEN, "-.", "^"),
        (PURPLE, ":", "D"),
        (BLACK, "-", "v"),
    )
    assert {letter: color for letter, (color, _) in FATES.items()} == {
        "S": GREY, "-": "#FFFFFF", "M": ORANGE, "R": SKY, "K": YELLOW
    }  # fmt: skip


def test_a_canvas_has_its_panels_from_the_left_and_is_closed_when_drawing_fails():
    with base.canvas(2.5, 3, sharey=True) as (fig, axes):
        assert isinstance(fig, figures.BookFigure) and fig.axes == axes and len(axes) == 3
    assert fig.get_size_inches().tolist() == [9, 2.5] and fig.get_dpi() == 100
    assert type(fig.get_layout_engine()).__name__ == "ConstrainedLayoutEngine"
    axes[0].set_ylim(3, 4)
    assert axes[2].get_ylim() == (3, 4)
    plt.close(fig)
    with pytest.raises(KeyboardInterrupt), base.canvas(2):
        raise KeyboardInterrupt
    assert plt.get_fignums() == []


def test_the_figures_style_does_not_leak():
    before = dict(plt.rcParams)
    figures.png(MADE["masking_report"]())
    assert dict(plt.rcParams) == before


def test_the_users_style_does_not_leak_in():
    plain = figures.png(MADE["picks_per_row"]())
    with plt.style.context(["dark_background", {"font.size": 30, "font.family": "serif"}]):
        assert figures.png(MADE["picks_per_row"]()) == plain


def check_picks(ax, picks, n, p, sds, span):
    """Bars of shares and the exact binomial with its band, at each number of picks of `span`."""
    exact = binom(n, p).pmf(span)
    sd = np.sqrt(exact * (1 - exact) / len(picks))
    share = [list(picks).count(k) / len(picks) for k in span]
    assert bars(ax) == [
        (k, 0, pytest.approx(height), SKY, BLUE, "") for k, height in zip(span, share, strict=True)
    ]
    assert lines(ax) == [(list(span), pytest.approx(exact, abs=1e-9), BLACK, "None", "o")]
    np.testing.assert_allclose(whiskers(ax), np.stack([exact - sds * sd, exact + sds * sd], 1), atol=1e-12)
    assert legend(ax) == ["measured", f"exact, ± {sds} sd"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (f"picks in a row of {n} candidates", "share of rows")
    assert ax.get_ylim()[0] == 0 and all(tick == round(tick) for tick in ax.get_xticks())


def test_picks_per_row_draws_the_shares_and_says_so():
    fig = MADE["picks_per_row"]()
    check_picks(fig.axes[0], PICKS, 20, 0.15, 4, range(12))
    assert fig.alt == (
        "Picks in 8 rows of 20 candidates: mean 1.8750, exact 3.0000;"
        " 12 of the 12 bars lie within 4 sd of the exact binomial."
    )
    plt.close(fig)


@pytest.mark.parametrize(
    ("picks", "n", "p", "span"),
    [
        ([30, 31, 31], 100, 0.3, range(9, 52)),  # 4.5 standard deviations to each side
        ([2, 60], 100, 0.3, range(2, 61)),  # and as far as the picks go
        ([19, 20], 20, 0.9, range(11, 21)),  # at most all
    ],
)
def test_picks_per_row_shows_each_number_that_may_occur(picks, n, p, span):
    fig = figures.picks_per_row(picks, n, p, sds=2)
    check_picks(fig.axes[0], picks, n, p, 2, span)
    plt.close(fig)


def test_picks_per_row_counts_the_bars_outside():
    fig = figures.picks_per_row(np.full(500, 9), 20, 0.15)
    assert "mean 9.0000" in fig.alt and "4 of the 12 bars" in fig.alt
    plt.close(fig)


def test_picks_per_row_at_the_ends():
    for p, picks in ((0.0, [0, 0]), (1.0, [3, 3])):
        fig = figures.picks_per_row(picks, 3, p)
        assert "1 of the 1 bars" in fig.alt
        figures.png(fig)


def check_shares(ax, sds):
    """Bars of COUNTS, and SHARES with their band."""
    assert bars(ax) == [
        (0, 0, 0.79, ORANGE, BLACK, "///"),
        (1, 0, 0.105, SKY, BLACK, "..."),
        (2, 0, 0.105, YELLOW, BLACK, "xx"),
    ]
    assert lines(ax) == [([0, 1, 2], pytest.approx(SHARES), BLACK, "None", "o")]
    sd = np.sqrt(np.multiply(SHARES, 1 - np.array(SHARES)) / 1000)
    np.testing.assert_allclose(whiskers(ax), np.stack([SHARES - sds * sd, SHARES + sds * sd], 1))
    assert texts(ax) == ["0.7900\n(exact 0.8001)", "0.1050\n(exact 0.0998)", "0.1050\n(exact 0.1001)"]
    check_texts_beyond(ax, np.maximum([0.79, 0.105, 0.105], SHARES + sds * sd))
    labels = ["M\n[MASK]", "R\nanother\ntoken", "K\nthe token\nitself"]
    assert ticks(ax.xaxis) == list(enumerate(labels))
    assert ax.get_yticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert ax.get_xlim() == (-0.6, 2.6) and ax.get_ylim() == (0, 1.25)
    assert ax.get_ylabel() == "share of picks" and legend(ax) == [f"exact, ± {sds} sd"]


def test_shown_shares_letters_patterns_and_words():
    fig = MADE["shown_shares"]()
    check_shares(fig.axes[0], 4)
    assert fig.alt == (
        "What 1000 picks show: [MASK] 0.7900 (exact 0.8001), another token 0.1050 (exact 0.0998),"
        " the token itself 0.1050 (exact 0.1001)."
    )
    plt.close(fig)
    fig = figures.shown_shares(COUNTS, SHARES, sds=9)
    check_shares(fig.axes[0], 9)
    plt.close(fig)
    fig = figures.shown_shares([0, 0, 1], SHARES)  # one pick is enough
    assert [bar[2] for bar in bars(fig.axes[0])] == [0, 0, 1]
    plt.close(fig)


@pytest.mark.parametrize("sds", [4, 2])
def test_the_report_is_both_side_by_side(sds):
    fig = (
        MADE["masking_report"]()
        if sds == 4
        else figures.masking_report(PICKS, 20, 0.15, COUNTS, SHARES, sds=2)
    )
    left, right = fig.axes
    check_picks(left, PICKS, 20, 0.15, sds, range(12))
    check_shares(right, sds)
    assert left.get_position().x1 < right.get_position().x0
    assert fig.alt.startswith("Picks in 8 rows") and "binomial. What 1000 picks show" in fig.alt
    plt.close(fig)


def test_p_values_below_alpha_are_hatched():
    fig = figures.p_value_histogram([0.01, 0.02, 0.1, 0.35, 0.75, 1], alpha=0.1, bins=10)
    (ax,) = fig.axes
    heights = [2, 1, 0, 1, 0, 0, 0, 1, 0, 1]  # a bin has its lower edge, the last one both
    assert [bar[:3] for bar in bars(ax)] == [
        (pytest.approx(i / 10 + 0.05), 0, height) for i, height in enumerate(heights)
    ]
    assert [bar[3:] for bar in bars(ax)] == [(ORANGE, BLUE, "///"), *[(SKY, BLUE, "")] * 9]
    assert lines(ax) == [([0, 1], [0.6, 0.6], BLACK, "--", "None")]
    assert texts(ax) == ["hatched: p below 0.1"] and legend(ax) == ["expected: 0.6 in each bar"]
    x, y = ax.texts[0].get_position()
    assert 0.1 < x < 0.15 and 2 < y < 2.7  # beside the hatched bar, above all of them
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("p value", "runs")
    assert ax.get_xlim() == (0, 1) and ax.get_ylim() == pytest.approx((0, 2.7))
    assert "6 p values against a flat line: 2 of them (0.3333) are below 0.1" in fig.alt
    plt.close(fig)
    fig = MADE["p_value_histogram"]()
    assert [bar[5] for bar in bars(fig.axes[0])] == ["///", *[""] * 19]
    plt.close(fig)


def test_power_curves_say_where_they_reach_the_target():
    fig = MADE["power_curves"]()
    assert "rate 0.001: 80/2/18 reaches 0.95 at 1000 picks; a $b$ reaches 0.95 not in this range" in fig.alt
    (ax,) = fig.axes
    assert lines(ax)[:2] == [
        ([10, 100, 1000], [0.1, 0.5, 1], BLUE, "-", "o"),
        ([10, 100, 1000], [0, 0.1, 0.2], VERMILLION, "--", "s"),
    ]
    wanted, mark = lines(ax)[2:]
    assert wanted == ([0, 1], [0.95, 0.95], BLACK, "--", "None")
    assert mark == ([300, 300], [0, 1], BLACK, ":", "None")
    assert texts(ax) == ["  80/2/18: 300 picks", " power 0.95"]
    assert [text.get_position()[0] for text in ax.texts] == [300, 10]
    assert 0.9 < ax.texts[1].get_position()[1] < 0.95 and ax.texts[1].get_va() == "top"
    assert legend(ax) == list(CURVES) and ax.get_legend().get_title().get_text() == "recipe"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("picks in the test", "chance to notice")
    assert ax.get_xscale() == "log" and ax.get_xlim() == (10, 1000) and ax.get_ylim() == (0, 1.05)
    assert ax.xaxis.get_major_formatter()(1000) == "1,000"
    plt.close(fig)


def test_power_curves_for_another_target_and_more_recipes():
    power = np.linspace(0.1, 0.9, 30)
    fig = figures.power_curves(np.arange(1, 31), dict.fromkeys("abcde", power), target=3 * 0.3, alpha=0.05)
    (ax,) = fig.axes
    assert len({line[2:] for line in lines(ax)[:5]}) == 5 and len(ax.lines) == 6
    assert len({line.get_color() for line in ax.lines[:5]}) == 5
    assert {line.get_markevery() for line in ax.lines[:5]} == {3}  # ten marks a curve
    assert lines(ax)[5][1] == pytest.approx([0.9, 0.9]) and texts(ax) == [" power 0.9"]
    assert "false-alarm rate 0.05: a reaches 0.9 at 30 picks" in fig.alt
    plt.close(fig)
    fig = figures.power_curves([7, 8], {"a": [0.9, 0.99]})
    assert fig.axes[0].lines[0].get_markevery() == 1
    plt.close(fig)


def test_batch_counts_draw_all_batches_and_count_those_in_the_band():
    fig = figures.batch_counts({"picked": ([170, 190, 190, 400], 0.15), "$M$": ([0, 1, 2, 9], 0.001)}, 1280)
    sd = math.sqrt(1280 * 0.15 * 0.85)
    low = 192 - 4 * sd
    left, right = fig.axes
    band, *measured = bars(left)
    assert band[0] == pytest.approx(192) and to_hex(left.patches[0].get_facecolor()).upper() == GREY
    assert [left.patches[0].get_x(), left.patches[0].get_width()] == pytest.approx([low, 8 * sd])
    step, first = 4, 140  # a bar for every four counts, from below the band on
    starts = range(first, first + step * len(measured), step)
    assert starts[-1] <= 400 < starts[-1] + 2 * step
    expected = [sum(start <= count < start + step for count in (170, 190, 190, 400)) for start in starts]
    assert measured == [
        (start + 1.5, 0, count, SKY, BLUE, "") for start, count in zip(starts, expected, strict=True)
    ]
    ((x, y, *look),) = lines(left)
    cdf = binom(1280, 0.15).cdf
    assert x == [start + 1.5 for start in starts] and look == [BLACK, "-", "o"]
    assert y == pytest.approx([4 * (cdf(start + 3) - cdf(start - 1)) for start in starts], abs=1e-8)
    x0, x1 = left.get_xlim()
    assert x0 == first - step and 400 < x1 <= 400 + 3 * step

    sd = math.sqrt(1280 * 0.001 * 0.999)
    assert [right.patches[0].get_x(), right.patches[0].get_width()] == pytest.approx([1.28 - 4 * sd, 8 * sd])
    counts = [1, 1, 1, 0, 0, 0, 0, 0, 0, 1]  # one bar for each count here
    assert [bar[:3] for bar in bars(right)[1:]] == [(k, 0, count) for k, count in enumerate(counts)]
    assert lines(right)[0][1] == pytest.approx(4 * binom(1280, 0.001).pmf(range(10)), abs=1e-8)
    assert right.get_xlim() == pytest.approx((1.28 - 4 * sd - 1, 10))

    assert [ax.get_title(loc="left") for ax in fig.axes] == ["picked", "$M$"]
    assert {ax.get_xlabel() for ax in fig.axes} == {"in a batch"} and left.get_ylabel() == "batches"
    assert right.get_ylabel() == "" and left.get_legend() is None
    assert legend(right) == ["± 4 sd", "measured", "exact"]
    assert right.get_ylim()[1] > 1.3 * max(4 * binom(1280, 0.001).pmf(range(10)))  # room for the legend
    assert fig.alt == (
        "Counts in 4 batches of 1280 candidates: picked from 170 to 400, 3 of 4 in the band;"
        " $M$ from 0 to 9, 3 of 4 in the band."
    )
    plt.close(fig)


def test_the_band_of_batch_counts_is_as_wide_as_asked():
    fig = figures.batch_counts({"half": ([48, 52, 55], 0.5)}, 100, sds=1)
    ax = fig.axes[0]
    assert [ax.patches[0].get_x(), ax.patches[0].get_width()] == pytest.approx([45, 10])
    assert legend(ax)[0] == "± 1 sd" and bars(ax)[1][0] == 45
    assert "3 of 3 in the band" in fig.alt
    plt.close(fig)


def test_row_joint_draws_each_recipe_beside_the_binomial():
    fig = MADE["row_joint"]()
    span = range(12)  # the mean, 3, plus four standard deviations of 1.597, and one more
    exact = pytest.approx(binom(20, 0.15).pmf(span), abs=1e-9)
    for ax, picks, color, marker in zip(fig.axes, (PICKS, [3] * 8), (BLUE, VERMILLION), "os", strict=True):
        share = [list(picks).count(k) / 8 for k in span]
        assert bars(ax) == [(k, 0, height, SKY, color, "") for k, height in zip(span, share, strict=True)]
        assert lines(ax) == [(list(span), exact, BLACK, "-", marker)]
        assert ax.get_xlabel() == "picks in a row" and all(tick == round(tick) for tick in ax.get_xticks())
    left, right = fig.axes
    assert left.get_ylim() == right.get_ylim() and left.get_ylabel() == "share of rows"
    assert left.get_legend() is None and legend(right) == ["binomial"] and right.get_ylabel() == ""
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["ours", "exact $count$"]
    assert fig.alt == (
        "Picks per row of 20 candidates: ours has mean 1.8750 and variance 1.3594;"
        " exact $count$ has mean 3.0000 and variance 0.0000. The binomial has variance 2.5500."
    )
    plt.close(fig)
    fig = figures.row_joint({"all": [5, 5]}, 5, 0.9)
    assert [bar[0] for bar in bars(fig.axes[0])] == [0, 1, 2, 3, 4, 5]  # no more than there are candidates
    plt.close(fig)


def test_token_strip_draws_any_token_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fig = figures.token_strip(HARD, "S-MRK-MRK-MRK-MR")
        alt, texts = fig.alt, [text.get_text() for text in fig.axes[0].texts]
        figures.png(fig)
    assert "我" in alt and "x" * 50 in alt
    assert texts[0::2][:5] == ["$", "$x$", "a_b", "$\\frac$", "\N{WHITE SQUARE}"]
    assert "x" * 19 + "…" in texts
    assert texts[1::2] == list("S-MRK-MRK-MRK-MR")


def test_token_strip_shows_what_the_model_sees():
    fig = figures.token_strip(["the", "cat", "sat"], "MRK", ["[MASK]", "dog", "sat"])
    assert [text.get_text() for text in fig.axes[0].texts] == ["[MASK]", "M", "dog", "R", "sat", "K"]
    assert fig.alt == (
        "Token strip: the: picked, shown as [MASK]; cat: picked, shown as a random token dog;"
        " sat: picked, kept as it is"
    )
    plt.close(fig)


def test_token_strip_wraps_and_every_box_is_inside():
    fates = ("S-MRK" * 24)[:120]
    fig = figures.token_strip([f"t{i:04}" for i in range(120)], fates)
    (ax,) = fig.axes
    boxes = [(box.get_x(), box.get_y(), box.get_width(), box.get_height()) for box in ax.patches]
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    assert x1 - x0 == pytest.approx(9) and y1 - y0 == pytest.approx(fig.get_figheight())  # in inches
    assert all(x0 < x and x + wide < x1 and y0 < y and y + high < y1 for x, y, wide, high in boxes)
    for (x, y, wide, _), (right, below, _, tall) in itertools.pairwise(boxes):
        if below == y:
            assert 0.05 < right - (x + wide) < 0.2
        else:  # a line is as long as it can be, and the next one is below it
            assert right == boxes[0][0] and 0.05 < y - (below + tall) < 0.2
            assert x + wide + 0.08 + wide > 9 - 0.1 - 0.3
    assert len({y for _, y, *_ in boxes}) == 12
    for i, (x, y, wide, high) in enumerate(boxes):
        word, letter = ax.texts[2 * i], ax.texts[2 * i + 1]
        assert (word.get_text(), letter.get_text()) == (f"t{i:04}", fates[i])
        for text in (word, letter):
            assert text.get_position()[0] == pytest.approx(x + wide / 2)
            assert (text.get_ha(), text.get_va()) == ("center", "center")
        assert y < letter.get_position()[1] < y + high / 2 < word.get_position()[1] < y + high
    assert ax.get_position().bounds == (0, 0, 1, 1) and not ax.axison
    plt.close(fig)


def test_a_box_is_as_wide_as_its_token_needs():
    fig = figures.token_strip(["", "ab", "abcdefgh"], "---")
    none, two, eight = (box.get_width() for box in fig.axes[0].patches)
    assert none == two and eight == pytest.approx(two + 6 * 0.104)
    assert two == pytest.approx(0.28 + 2 * 0.104 - 0.08)
    plt.close(fig)


def test_a_token_of_twenty_characters_is_not_cut():
    fig = figures.token_strip(["a" * 20, "a" * 21], "--")
    assert texts(fig.axes[0])[0::2] == ["a" * 20, "a" * 19 + "…"]
    plt.close(fig)


def test_every_fate_has_its_box():
    fig = figures.token_strip(list(FATES), list(FATES))
    looks = [
        (to_hex(box.get_facecolor()).upper(), to_hex(box.get_edgecolor()).upper())
        for box in fig.axes[0].patches
    ]
    assert dict(zip(FATES, looks, strict=True)) == {
        "S": (GREY, GREY),
        "-": ("#FFFFFF", GREY),
        "M": (ORANGE, BLACK),
        "R": (SKY, BLACK),
        "K": (YELLOW, BLACK),
    }
    plt.close(fig)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: figures.picks_per_row([], 20, 0.15), "one number a row"),
        (lambda: figures.picks_per_row([[1]], 20, 0.15), "one number a row"),
        (lambda: figures.picks_per_row([21], 20, 0.15), "from 0 to 20, got 21 to 21"),
        (lambda: figures.picks_per_row([-1], 20, 0.15), "from 0 to 20"),
        (lambda: figures.picks_per_row([1], 20, 1.5), "between 0 and 1"),
        (lambda: figures.shown_shares([1, 2], SHARES), "three numbers each"),
        (lambda: figures.shown_shares([0, 0, 0], SHARES), "at least one pick"),
        (lambda: figures.masking_report(PICKS, 20, 0.15, [1, 2], SHARES), "three numbers each"),
        (lambda: figures.p_value_histogram([]), "from 0 to 1"),
        (lambda: figures.p_value_histogram([1.5]), "from 0 to 1"),
        (lambda: figures.p_value_histogram([float("nan")]), "from 0 to 1"),
        (lambda: figures.power_curves([1, 2], {}), "one to 5 recipes, got 0"),
        (lambda: figures.power_curves([1, 2], {"a": [0.5]}), r"'a'.*expected \(2,\) values"),
        (lambda: figures.power_curves([1], dict.fromkeys("abcdef", (0.5,))), "one to 5 recipes, got 6"),
        (lambda: figures.batch_counts({}, 10), "one to four"),
        (lambda: figures.batch_counts(dict.fromkeys("abcde", ((1,), 0.5)), 10), "one to four .*, got 5"),
        (lambda: figures.batch_counts({"a": ([11], 0.5)}, 10), "from 0 to 10"),
        (lambda: figures.row_joint({}, 10, 0.5), "one to four"),
        (lambda: figures.row_joint(dict.fromkeys("abcde", (1,)), 10, 0.5), "one to four, got 5"),
        (lambda: figures.row_joint({"a": [11]}, 10, 0.5), "from 0 to 10"),
        (lambda: figures.token_strip(["a", "b"], "-"), "as many tokens, fates and shown, got 2, 1, 2"),
        (lambda: figures.token_strip(["a"], "-", ["a", "b"]), "got 1, 1, 2"),
        (lambda: figures.token_strip([], []), "expected 1 to 120, got 0"),
        (lambda: figures.token_strip(["a"] * 121, "-" * 121), "got 121"),
        (lambda: figures.token_strip(["a"], "X"), "letters among"),
    ],
)
def test_sizes_and_values_that_do_not_fit(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_picks_are_integers():
    with pytest.raises(TypeError, match="expected integers, got float64"):
        figures.picks_per_row([1.5], 20, 0.15)


def test_a_picture_that_fails_is_closed_too(monkeypatch):
    monkeypatch.setattr(base, "_render", lambda fig: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        figures.png(MADE["token_strip"]())
