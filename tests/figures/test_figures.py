"""Figures: what they draw, what they say in words, what they refuse, and that nothing is left open."""

import base64
import io
import warnings

import figure_checks
import matplotlib.pyplot as plt
import matplotlib_inline.backend_inline
import numpy as np
import pytest
from figure_checks import HARD, check_picture
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image
from traitlets.config import Config

from bert_lab import figures
from bert_lab.figures import base
from bert_lab.figures.palette import FATES
from bert_lab.measuring.rates import exact_shares, pick_pmf

nothing_left_open = figure_checks.nothing_left_open  # around every test here

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


def test_the_figures_style_does_not_leak():
    before = dict(plt.rcParams)
    figures.png(MADE["masking_report"]())
    assert dict(plt.rcParams) == before


def test_the_users_style_does_not_leak_in():
    plain = figures.png(MADE["picks_per_row"]())
    with plt.style.context(["dark_background", {"font.size": 30, "font.family": "serif"}]):
        assert figures.png(MADE["picks_per_row"]()) == plain


def test_picks_per_row_draws_the_shares_and_says_so():
    fig = MADE["picks_per_row"]()
    ax = fig.axes[0]
    bars = {round(bar.get_x() + 0.4): bar.get_height() for bar in ax.patches}
    assert bars[2] == 3 / 8 and bars[5] == 0
    exact = dict(zip(*ax.lines[0].get_data(), strict=True))
    assert exact[3] == pytest.approx(pick_pmf(20, 0.15)[3])
    assert fig.alt == (
        "Picks in 8 rows of 20 candidates: mean 1.8750, exact 3.0000;"
        " 12 of the 12 bars lie within 4 sd of the exact binomial."
    )
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


def test_shown_shares_letters_patterns_and_words():
    fig = MADE["shown_shares"]()
    ax = fig.axes[0]
    assert [bar.get_height() for bar in ax.patches] == [0.79, 0.105, 0.105]
    assert len({bar.get_hatch() for bar in ax.patches}) == 3
    assert [label.get_text()[0] for label in ax.get_xticklabels()] == ["M", "R", "K"]
    assert fig.alt.startswith(
        "What 1000 picks show: [MASK] 0.7900 (exact 0.8001), another token 0.1050 (exact 0.0998)"
    )
    plt.close(fig)


def test_p_values_below_alpha_are_hatched():
    fig = figures.p_value_histogram([0.01, 0.02, 0.3, 0.7], alpha=0.1, bins=10)
    assert [bool(bar.get_hatch()) for bar in fig.axes[0].patches] == [True, *[False] * 9]
    assert "2 of them (0.5000) are below 0.1" in fig.alt
    plt.close(fig)


def test_power_curves_say_where_they_reach_the_target():
    fig = MADE["power_curves"]()
    assert "80/2/18 reaches 0.95 at 1000 picks; a $b$ reaches 0.95 not in this range" in fig.alt
    lines = fig.axes[0].lines[:2]
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == 2
    assert fig.axes[0].texts[0].get_text() == "  80/2/18: 300 picks"
    plt.close(fig)


def test_batch_counts_draw_all_batches_and_count_those_in_the_band():
    fig = figures.batch_counts({"picked": ([170, 190, 400], 0.15), "M": ([1, 2, 3], 0.001)}, 1280)
    left = fig.axes[0]
    assert sum(bar.get_height() for bar in left.patches[1:]) == 3  # the first patch is the band
    assert "picked from 170 to 400, 2 of 3 in the band; M from 1 to 3, 3 of 3 in the band" in fig.alt
    exact = left.lines[0].get_ydata().sum()
    assert exact == pytest.approx(3, abs=0.01)
    plt.close(fig)


def test_row_joint_says_mean_and_variance():
    fig = MADE["row_joint"]()
    assert "exact $count$ has mean 3.0000 and variance 0.0000" in fig.alt
    assert "The binomial has variance 2.5500." in fig.alt
    assert fig.axes[1].get_title(loc="left") == "exact $count$"
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
    fig = figures.token_strip(["token"] * 120, "-" * 120)
    ax = fig.axes[0]
    lefts = [box.get_x() for box in ax.patches]
    assert lefts.count(lefts[0]) > 5  # lines
    assert all(box.get_x() + box.get_width() <= 9 for box in ax.patches)
    low, high = ax.get_ylim()
    assert all(low <= box.get_y() and box.get_y() + box.get_height() <= high for box in ax.patches)
    plt.close(fig)


def test_every_fate_has_its_box():
    fig = figures.token_strip(list(FATES), list(FATES))
    assert len({box.get_facecolor() for box in fig.axes[0].patches}) == len(FATES)
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
        (lambda: figures.batch_counts({}, 10), "one to four"),
        (lambda: figures.batch_counts({"a": ([11], 0.5)}, 10), "from 0 to 10"),
        (lambda: figures.row_joint({}, 10, 0.5), "one to four"),
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
