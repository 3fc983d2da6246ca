"""The masking lab: turn the rate and the split, and see whether what comes out fits the exact shares."""

import html

import ipywidgets as widgets
import numpy as np

from bert_lab import figures
from bert_lab.labs.base import Lab, bad, good
from bert_lab.labs.strip import Strip, fates_of
from bert_lab.masking import IGNORE, as_split, mlm_mask
from bert_lab.rates import chi_square, count_shown, exact_shares, pick_band, power
from bert_lab.recipes import WRONG
from bert_lab.rng import PCG32

SENTENCE = "the cat sat by the door and waited for the rain to stop but the rain did not stop ."
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
OTHERS = "a dog lamp green river ran seven cold bread under song tall key slow moon paper we blue tree hat"
WORDS = (*SPECIALS, *dict.fromkeys(SENTENCE.split()), *OTHERS.split())  # the names of the first 40 ids
CLS, SEP, MASK = 2, 3, 4
ROWS = 64  # of a batch: the sentence, 64 times
SETS = 10  # of masks, where they are not drawn anew: BERT's script wrote each text ten times
ALPHA = 0.001  # the lab's test calls a correct routine wrong once in a thousand runs
BERT, MASK_ONLY = (0.8, 0.1, 0.1), (1.0, 0.0, 0.0)
MLM_MASK = "mlm_mask"

# name -> picking probability, split, new masks in every batch, code
PRESETS = {
    "BERT": (0.15, BERT, False, MLM_MASK),
    "RoBERTa": (0.15, BERT, True, MLM_MASK),
    "40%": (0.40, BERT, True, MLM_MASK),
    "[MASK] only": (0.15, MASK_ONLY, True, MLM_MASK),
    **{f"wrong {name}": (0.15, BERT, True, name) for name in WRONG},
}


class _Setting:
    """A value that lives in one of the controls: `lab.p` reads the slider, `lab.p = 0.4` moves it."""

    def __init__(self, control: str):
        self.control = control

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, lab, owner=None):
        return self if lab is None else getattr(lab, self.control).value

    def __set__(self, lab, value):
        control = getattr(lab, self.control)
        if isinstance(control, widgets.SelectionSlider | widgets.Dropdown):
            known = [choice for _, choice in control.options]
            if value not in known:
                raise ValueError(f"{self.name}: expected one of {known}, got {value!r}")
        elif isinstance(control, widgets.Checkbox):
            if not isinstance(value, bool):
                raise TypeError(f"{self.name}: expected True or False, got {value!r}")
        else:
            kind = int if isinstance(control, widgets.IntSlider) else int | float
            if isinstance(value, bool) or not isinstance(value, kind):
                raise TypeError(
                    f"{self.name}: expected a number, got {value!r} of type {type(value).__name__}"
                )
            if not control.min <= value <= control.max:
                raise ValueError(f"{self.name}: expected {control.min} to {control.max}, got {value}")
        control.value = value


class MaskingLab(Lab):
    """Sliders for the masking of a batch; what happened to each token, histograms, and a verdict in words.

    A batch is one sentence of 20 tokens, 64 times. `p`, `split`, `vocab`, `seed`, `batches`, `fresh` (new
    masks in every batch, or ten sets over and over) and `code` (which routine runs) can be read and set;
    `preset(name)` sets all that a name of `PRESETS` stands for. `inputs` and `labels` are what the routine
    returned, int64 `[rows, 22]`; `ids` and `special_mask`, of the same shape, are what it was given. `counts`
    is how often the picks show [MASK], another token and themselves, `shares` the exact shares of the split,
    `test` the chi-square test between them (None without picks).
    """

    p = _Setting("p_slider")
    vocab = _Setting("vocab_slider")
    seed = _Setting("seed_slider")
    batches = _Setting("batches_slider")
    fresh = _Setting("fresh_box")
    code = _Setting("code_menu")

    def __init__(self):
        wide = widgets.Layout(width="300px", max_width="100%")
        look = {"continuous_update": False, "style": {"description_width": "64px"}, "layout": wide}
        self.p_slider = widgets.FloatSlider(0.15, min=0.0, max=1.0, step=0.01, description="p", **look)
        self.split_slider = widgets.FloatRangeSlider(
            value=(0.8, 0.9), min=0.0, max=1.0, step=0.01, description="split", readout=False, **look
        )
        self.split_text = widgets.HTML("", layout=widgets.Layout(width="304px", margin="0 0 0 8px"))
        sizes = [(f"{size:,}", size) for size in (40, 100, 1000, 4000, 30522)]
        self.vocab_slider = widgets.SelectionSlider(options=sizes, value=1000, description="V", **look)
        self.seed_slider = widgets.IntSlider(1, min=0, max=99, description="seed", **look)
        self.batches_slider = widgets.IntSlider(40, min=1, max=400, description="batches", **look)
        codes = [("mlm_mask, correct", MLM_MASK), *((f"wrong: {name}", name) for name in WRONG)]
        menu = {key: value for key, value in look.items() if key != "continuous_update"}
        self.code_menu = widgets.Dropdown(options=codes, value=MLM_MASK, description="code", **menu)
        beside = widgets.Layout(margin="0 0 0 24px")
        self.fresh_box = widgets.Checkbox(
            False, description="new masks in every batch", indent=False, layout=beside
        )
        self.preset_buttons = {
            name: widgets.Button(description=name, tooltip=f"Preset: {name}") for name in PRESETS
        }
        for name, button in self.preset_buttons.items():
            button.layout.width = "auto"
            button.on_click(lambda _, name=name: self.preset(name))
        self.strip, self.verdict, self.figure, self.again = (widgets.HTML("") for _ in range(4))
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        super().__init__(
            "Masking lab",
            "Choose a preset or move a slider: `split` has two handles, so its shares sum to 1. A batch is"
            " the sentence below, 64 times. Shares do not fit when the p value is below 0.001.",
            [
                widgets.HBox(list(self.preset_buttons.values()), layout=row),
                widgets.HBox([self.p_slider, self.vocab_slider, self.seed_slider], layout=row),
                widgets.HBox([self.split_slider, self.split_text, self.batches_slider], layout=row),
                widgets.HBox([self.code_menu, self.fresh_box], layout=row),
            ],
            [self.strip, self.verdict, self.figure, self.again],
        )
        self.ids = self.special_mask = self.inputs = self.labels = self.counts = self.shares = self.test = (
            None
        )
        self._held = False
        self.watch(
            *(self.p_slider, self.split_slider, self.vocab_slider, self.seed_slider, self.batches_slider),
            *(self.fresh_box, self.code_menu),
        )
        self.refresh()

    @property
    def split(self) -> tuple[float, float, float]:
        """The shares of M, R and K that the code is asked for."""
        first, second = self.split_slider.value
        return first, round(second - first, 12), round(1 - second, 12)

    @split.setter
    def split(self, shares) -> None:
        m, r, _ = as_split(shares)
        self.split_slider.value = (m, min(1.0, round(m + r, 12)))

    def preset(self, name: str) -> None:
        """Set p, split, fresh and code to what this name of `PRESETS` stands for, and draw once."""
        if name not in PRESETS:
            raise ValueError(f"preset: expected one of {list(PRESETS)}, got {name!r}")
        self._held = True
        try:
            self.p, self.split, self.fresh, self.code = PRESETS[name]
        finally:
            self._held = False
        self.refresh()

    def refresh(self, _change=None) -> None:
        """Draw anew, unless a preset is still setting its values."""
        if not self._held:
            super().refresh()

    def draw(self) -> None:
        """Mask the batches and show the first row, the verdict and the histograms."""
        m, r, k = self.split
        shares = zip("MRK", (m, r, k), strict=True)
        self.split_text.value = "&emsp;".join(f"<b>{letter}</b> {share:.0%}" for letter, share in shares)
        now = (self.p, self.split, self.fresh, self.code)
        for name, button in self.preset_buttons.items():
            button.icon = "check" if PRESETS[name] == now else ""
        self.mask()
        picks = (self.labels != IGNORE).sum(axis=1)
        n = len(SENTENCE.split())
        if self.test is None:
            fig = figures.picks_per_row(picks, n, self.p)
        else:
            fig = figures.masking_report(picks, n, self.p, self.counts, self.shares)
        picture = figures.html_image(fig)
        # All at once, so that words and picture never disagree.
        self.strip.value = f"<b>Batch 1, row 1</b>{self.first_row()._repr_html_()}"
        self.verdict.value = f'<div role="status">{self.verdict_html()}</div>'
        self.figure.value = picture
        self.again.value = self.again_html()

    def mask(self) -> None:
        """Run the chosen code over the batches and test what its picks show."""
        row = [CLS, *(WORDS.index(word) for word in SENTENCE.split()), SEP]
        sets = self.batches if self.fresh else min(SETS, self.batches)
        self.ids = np.tile(np.array(row, dtype=np.int64), (sets * ROWS, 1))
        self.special_mask = self.ids < len(SPECIALS)
        code = WRONG.get(self.code, mlm_mask)
        arguments = (self.ids, self.special_mask, MASK, self.vocab, self.p, PCG32(self.seed))
        self.inputs, self.labels = code(*arguments, split=self.split)
        self.counts = count_shown(self.inputs, self.labels, MASK)
        self.shares = exact_shares(self.vocab, self.split)
        self.test = chi_square(self.counts, self.shares) if self.counts.any() else None

    def first_row(self, row: int = 0) -> Strip:
        """What happened to the tokens of one row."""
        fates = fates_of(self.ids[row], self.special_mask[row], self.inputs[row], self.labels[row], MASK)
        names = [
            [WORDS[i] if i < len(WORDS) else f"#{i}" for i in array[row]] for array in (self.ids, self.inputs)
        ]
        return Strip(names[0], fates, names[1])

    def again_html(self) -> str:
        """The first row of the batch after the ten sets of masks, if there is one."""
        if self.batches <= SETS:
            return ""
        again = self.first_row(SETS * ROWS if self.fresh else 0)
        again.legend = False
        said = "drawn anew" if self.fresh else "the masks of batch 1 again"
        return f"<b>Batch {SETS + 1}, row 1</b>: {said}{again._repr_html_()}"

    def summary(self) -> list[tuple[bool | None, str]]:
        """The verdict: pairs of True (fits), False (does not fit) or None (a note) and a sentence."""
        candidates = int((~self.special_mask).sum())
        picks = int(self.counts.sum())
        low, high = pick_band(candidates, self.p)
        sets = len(self.ids) // ROWS
        copies = f" in {sets} batches"
        if sets < self.batches:
            copies += f" ({self.batches - sets} more repeat them: no new evidence)"
        said = [
            (
                low - 1e-9 <= picks <= high + 1e-9,
                f"{picks:,} of {candidates:,} candidates picked{copies};"
                f" 4-sd band {low:,.0f} to {high:,.0f}.",
            )
        ]
        if self.test is None:
            return [*said, (None, "No picks, so there are no shares to test.")]
        shown = ", ".join(
            f"{letter} {count / picks:.4f} (exact {share:.4f})"
            for letter, count, share in zip("MRK", self.counts, self.shares, strict=True)
        )
        fits = self.test.p_value >= ALPHA
        expected = picks * self.shares
        rough = " (rough: fewer than 5 expected in a cell)" if (expected[self.shares > 0] < 5).any() else ""
        value = f"{self.test.p_value:.4f}" if self.test.p_value >= 0.0001 else "below 0.0001"
        said.append((fits, f"{shown}: chi-square {self.test.statistic:.2f}, p value {value}{rough}."))
        if self.code in WRONG:
            true_shares = exact_shares(self.vocab, WRONG[self.code].shares(self.split))
            chance = power(picks, self.shares, true_shares, ALPHA)
            said.append((None, f"{picks:,} picks are enough to notice this recipe with chance {chance:.4f}."))
        return said

    def verdict_html(self) -> str:
        """The summary as an HTML list."""
        words = {True: good("fits"), False: bad("does not fit"), None: "note"}
        return (
            "<ul>"
            + "".join(f"<li>{words[fits]}: {html.escape(text)}</li>" for fits, text in self.summary())
            + "</ul>"
        )

    def settings(self) -> str:
        """What the controls say, in a line."""
        m, r, k = self.split
        masks = "new masks in every batch" if self.fresh else f"{SETS} sets of masks"
        return (
            f"p {self.p:.2f}, split {m:.2f}/{r:.2f}/{k:.2f}, V {self.vocab}, seed {self.seed},"
            f" {self.batches} batches, {masks}, code {self.code}"
        )

    def as_text(self) -> str:
        """The settings, the first row and the verdict, as plain text."""
        if self.shares is None:
            return f"Masking lab: {self.settings()}\nnothing was masked"
        words = {True: "fits", False: "does not fit", None: "note"}
        verdict = "\n".join(f"{words[fits]}: {text}" for fits, text in self.summary())
        return f"Masking lab: {self.settings()}\n{self.first_row()!r}\n{verdict}"

    def as_html(self) -> str:
        """The settings, the first row and the verdict, as HTML."""
        result = "<p>nothing was masked</p>"
        if self.shares is not None:
            result = f"{self.first_row()._repr_html_()}{self.verdict_html()}"
        return (
            f"<p><b>Masking lab</b>: {html.escape(self.settings())}."
            f" <i>Run this cell in JupyterLab to use it.</i></p>{result}"
        )
