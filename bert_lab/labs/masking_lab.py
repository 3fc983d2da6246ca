"""The masking lab: change the rate and the split, and see whether the result fits the exact shares."""

import html

import numpy as np
import traitlets

from bert_lab.checks import as_bool, as_split
from bert_lab.labs.base import bad, good
from bert_lab.labs.js_lab import JsLab, Setting
from bert_lab.labs.strip import Strip, fates_of
from bert_lab.masking import mlm_mask
from bert_lab.measuring.rates import chi_square, count_shown, exact_shares, pick_band, power
from bert_lab.measuring.recipes import WRONG
from bert_lab.rng import PCG32

SENTENCE = "the cat sat by the door and waited for the rain to stop but the rain did not stop ."
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
OTHERS = "a dog lamp green river ran seven cold bread under song tall key slow moon paper we blue tree hat"
WORDS = (*SPECIALS, *dict.fromkeys(SENTENCE.split()), *OTHERS.split())  # the names of the first 40 ids
CLS, SEP, MASK = 2, 3, 4
ROWS = 64  # of a batch: the sentence, 64 times
SETS = 10  # of masks, if they are not new in every batch: BERT's script wrote each text ten times
ALPHA = 0.001  # the false-alarm rate of the test
BERT, MASK_ONLY = (0.8, 0.1, 0.1), (1.0, 0.0, 0.0)
SIZES = (40, 100, 1000, 4000, 30522)  # of the vocabulary
MLM_MASK = "mlm_mask"

# name -> picking probability, split, new masks in every batch, code
PRESETS = {
    "BERT": (0.15, BERT, False, MLM_MASK),
    "RoBERTa": (0.15, BERT, True, MLM_MASK),
    "40%": (0.40, BERT, True, MLM_MASK),
    "[MASK] only": (0.15, MASK_ONLY, True, MLM_MASK),
    **{f"wrong {name}": (0.15, BERT, True, name) for name in WRONG},
}


ROW = (CLS, *(WORDS.index(word) for word in SENTENCE.split()), SEP)


def _number(kind, low, high):
    def check(_lab, name, value):
        if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
            raise TypeError(f"{name}: expected a number, got {value!r} of type {type(value).__name__}")
        if not low <= value <= high:
            raise ValueError(f"{name}: expected {low} to {high}, got {value}")
        return kind(value)

    return check


def _one_of(known):
    def check(_lab, name, value):
        if value not in known:
            raise ValueError(f"{name}: expected one of {list(known)}, got {value!r}")
        return value

    return check


class MaskingLab(JsLab):
    """Sliders for the masking of a batch; the fate of each token, histograms, and a verdict in words.

    A batch is one sentence of 20 tokens, 64 times. `p`, `split`, `vocab`, `seed`, `batches`, `fresh` (new
    masks in every batch, or ten sets that are repeated) and `code` (the routine that runs) can be read and
    set. `preset(name)` sets the values of a name of `PRESETS`. `ids` and `special_mask` are the arguments of
    the routine, `inputs` and `labels` its results, all `[rows, 22]`. `counts` is how often the picks show
    [MASK], another token and themselves. `shares` are the exact shares of the split. `test` is the chi-square
    test of the counts against the shares (None without picks).

    The view masks in JavaScript with the same seed and the same result, so that it follows a slider at once.
    """

    module = "masking_lab"
    title = "Masking lab"
    how_to = (
        "Choose a preset or move a slider: `split` has two handles, so its shares sum to 1. A batch is the"
        " sentence below, 64 times. Shares do not fit when the p value is below 0.001."
    )
    p = Setting(0.15, _number(float, 0.0, 1.0)).tag(sync=True)
    split = Setting(BERT, lambda _lab, _name, shares: as_split(shares)).tag(sync=True)
    vocab = Setting(1000, _one_of(SIZES)).tag(sync=True)
    seed = Setting(1, _number(int, 0, 99)).tag(sync=True)
    batches = Setting(40, _number(int, 1, 400)).tag(sync=True)
    fresh = Setting(False, lambda _lab, name, value: as_bool(value, name)).tag(sync=True)
    code = Setting(MLM_MASK, _one_of((MLM_MASK, *WRONG))).tag(sync=True)
    given = traitlets.Dict(
        {
            "words": WORDS,
            "row": ROW,
            "specials": len(SPECIALS),
            "mask": MASK,
            "rows": ROWS,
            "sets": SETS,
            "alpha": ALPHA,
            "sizes": SIZES,
            "wrong": list(WRONG),
            "presets": [
                [name, dict(zip(("p", "split", "fresh", "code"), values, strict=True))]
                for name, values in PRESETS.items()
            ],
        },
        read_only=True,
    ).tag(sync=True)

    def __init__(self):
        super().__init__()
        self.ids = self.special_mask = self.inputs = self.labels = self.counts = self.shares = self.test = (
            None
        )
        self.watch("p", "split", "vocab", "seed", "batches", "fresh", "code")
        self.refresh()

    def preset(self, name: str) -> None:
        """Set p, split, fresh and code to the values of this name of `PRESETS`, and draw once."""
        if name not in PRESETS:
            raise ValueError(f"preset: expected one of {list(PRESETS)}, got {name!r}")
        with self.together():
            self.p, self.split, self.fresh, self.code = PRESETS[name]

    def draw(self) -> None:
        """Run the chosen code over the batches and test the counts of its picks."""
        sets = self.batches if self.fresh else min(SETS, self.batches)
        self.ids = np.tile(np.array(ROW, dtype=np.int64), (sets * ROWS, 1))
        self.special_mask = self.ids < len(SPECIALS)
        code = WRONG.get(self.code, mlm_mask)
        arguments = (self.ids, self.special_mask, MASK, self.vocab, self.p, PCG32(self.seed))
        self.inputs, self.labels = code(*arguments, split=self.split)
        self.counts = count_shown(self.inputs, self.labels, MASK)
        self.shares = exact_shares(self.vocab, self.split)
        self.test = chi_square(self.counts, self.shares) if self.counts.any() else None

    def first_row(self, row: int = 0) -> Strip:
        """The fates of the tokens of one row."""
        fates = fates_of(self.ids[row], self.special_mask[row], self.inputs[row], self.labels[row], MASK)
        names = [
            [WORDS[i] if i < len(WORDS) else f"#{i}" for i in array[row]] for array in (self.ids, self.inputs)
        ]
        return Strip(names[0], fates, names[1])

    def summary(self) -> list[tuple[bool | None, str]]:
        """The verdict: pairs of a bool (whether it fits; None for a note) and a sentence."""
        candidates = int((~self.special_mask).sum())
        picks = int(self.counts.sum())
        low, high = pick_band(candidates, self.p)
        sets = len(self.ids) // ROWS
        copies = f" in {sets} batch" if sets == 1 else f" in {sets} batches"
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
        """The values of the controls, in a line."""
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

    def caption(self) -> str:
        """The title and the settings."""
        return f"<b>{self.title}</b>: {html.escape(self.settings())}."

    def picture(self) -> str:
        """The first row and the verdict, as HTML."""
        if self.shares is None:
            return "<p>nothing was masked</p>"
        return f"{self.first_row()._repr_html_()}{self.verdict_html()}"
