"""What the labs' views compute in JavaScript: every number and sentence is the one that Python has."""

import hashlib
import random

import javascript
import matplotlib.pyplot as plt
import numpy as np
import pytest

from bert_lab import figures
from bert_lab.labs import DrawMicroscope, MaskingLab, js_lab
from bert_lab.labs.masking_lab import PRESETS, ROWS, SETS, SIZES
from bert_lab.masking import IGNORE
from bert_lab.measuring.rates import chi_square, exact_shares, pick_band, pick_pmf, power
from bert_lab.measuring.recipes import WRONG
from bert_lab.wordpiece import book_tokenizer

if javascript.NODE is None:
    pytest.skip("no Node on this machine: the labs' views were not run", allow_module_level=True)

CODES = ["mlm_mask", *WRONG]
SPLITS = [
    (80, 10, 10),
    (100, 0, 0),
    (0, 100, 0),
    (0, 0, 100),
    (50, 0, 50),
    (90, 10, 0),
    (0, 40, 60),
    (1, 1, 98),
]


def as_split(hundredths) -> tuple[float, ...]:
    return tuple(share / 100 for share in hundredths)


# ---- the masking lab


def settings() -> list[dict]:
    """States of the masking lab: every preset, and everything that its controls can say."""
    rnd = random.Random(1)
    names = ("p", "split", "fresh", "code")
    found = [
        {**dict(zip(names, values, strict=True)), "vocab": 1000, "seed": 1, "batches": batches}
        for values in PRESETS.values()
        for batches in (40, 400)
    ]
    for _ in range(250):
        first, second = sorted((rnd.randrange(101), rnd.randrange(101)))
        split = rnd.choice([*SPLITS, (first, second - first, 100 - second), (33, 33, 34)])
        found.append(
            {
                "p": rnd.choice([0.0, 0.01, 0.15, 0.5, 1.0, rnd.randrange(101) / 100]),
                "split": as_split(split),
                "vocab": rnd.choice(SIZES),
                "seed": rnd.randrange(100),
                "batches": rnd.choice([1, 9, 10, 11, rnd.randrange(1, 40)]),
                "fresh": rnd.random() < 0.5,
                "code": rnd.choice(CODES),
            }
        )
    return found


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(array.astype("<i4").tobytes()).hexdigest()


def strip_of(strip) -> dict:
    return {"tokens": strip.tokens, "fates": strip.fates, "shown": strip.shown}


def alt_of(lab: MaskingLab) -> str:
    """What matplotlib's figures of the same numbers say of themselves."""
    picks, n = (lab.labels != IGNORE).sum(axis=1), int((~lab.special_mask[0]).sum())
    if lab.test is None:
        fig = figures.picks_per_row(picks, n, lab.p)
    else:
        fig = figures.masking_report(picks, n, lab.p, lab.counts, lab.shares)
    plt.close(fig)
    return fig.alt


def test_the_view_of_the_masking_lab_shows_what_python_computes():
    lab, states = MaskingLab(), settings()
    found = javascript.run("lab", states, {"given": lab.given})
    chances = rough = 0
    for i, (state, there) in enumerate(zip(states, found, strict=True)):
        with lab.together():
            for name, value in state.items():
                setattr(lab, name, value)
        assert lab.error == ""
        assert (there["inputs"], there["labels"]) == (digest(lab.inputs), digest(lab.labels)), state
        assert there["counts"] == lab.counts.tolist()
        verdict = lab.summary()
        assert [tuple(line) for line in there["verdict"]] == [
            (f if f is None else bool(f), t) for f, t in verdict
        ], state
        assert there["first"] == strip_of(lab.first_row())
        if state["batches"] <= SETS:
            assert there["again"] is None
        else:
            row = SETS * ROWS if state["fresh"] else 0
            said = "drawn anew" if state["fresh"] else "the masks of batch 1 again"
            assert there["again"] == {"said": said, **strip_of(lab.first_row(row))}
        if i < 20:
            assert there["alt"] == alt_of(lab), state
        chances += "with chance" in verdict[-1][1]
        rough += "rough" in str(verdict)
    assert min(chances, rough) > 20


def test_no_picks_and_every_pick():
    lab = MaskingLab()
    base = {"split": [0.8, 0.1, 0.1], "vocab": 40, "seed": 3, "batches": 2, "fresh": True, "code": "mlm_mask"}
    none, every = javascript.run("lab", [{**base, "p": 0}, {**base, "p": 1}], {"given": lab.given})
    assert none["verdict"][1] == [None, "No picks, so there are no shares to test."]
    assert none["alt"].startswith(
        "Picks in 128 rows of 20 candidates: mean 0.0000, exact 0.0000; 1 of the 1 bars"
    )
    assert sum(every["counts"]) == 128 * 20 and "What 2560 picks show" in every["alt"]


def test_the_recipes_follow_the_shares_of_python():
    rnd = random.Random(2)
    splits = [as_split(split) for split in SPLITS]
    splits += [(a / 7, b / 7, (7 - a - b) / 7) for a in range(8) for b in range(8 - a)]
    items = [{"name": name, "split": list(split)} for name in WRONG for split in splits]
    rnd.shuffle(items)
    assert javascript.run("recipe", items) == [
        list(WRONG[item["name"]].shares(item["split"])) for item in items
    ]


# ---- its statistics


def ask(call: str, rows: list[tuple]) -> list:
    return javascript.run("number", [{"call": call, "args": list(row)} for row in rows])


def test_shares_bands_and_chances_of_picks():
    rows = [(V, list(as_split(split))) for V in SIZES for split in SPLITS]
    assert ask("exactShares", rows) == [exact_shares(V, split).tolist() for V, split in rows]
    bands = [(1280 * b, k / 100) for b in (1, 7, 40, 400) for k in range(0, 101, 5)]
    assert ask("pickBand", bands) == [list(pick_band(n, p)) for n, p in bands]
    chances = [(20, k / 100) for k in range(0, 101, 5)]
    for found, (n, p) in zip(ask("pickPmf", chances), chances, strict=True):
        assert found == pytest.approx(pick_pmf(n, p).tolist(), rel=1e-12, abs=1e-15)


def counts_and_shares() -> list[tuple[list[int], list[float]]]:
    rnd = random.Random(3)
    found = []
    for _ in range(600):
        shares = exact_shares(rnd.choice(SIZES), as_split(rnd.choice(SPLITS))).tolist()
        total = rnd.choice([1, 5, 50, 2000, 100_000])
        near = np.random.default_rng(rnd.randrange(10**6)).multinomial(total, shares).tolist()
        found.append((near, shares))
        found.append(
            ([n + rnd.randrange(60) * (share > 0) for n, share in zip(near, shares, strict=True)], shares)
        )
    return [(counts, shares) for counts, shares in found if sum(counts)]


def test_chi_square_is_that_of_scipy():
    rows = counts_and_shares()
    dofs = set()
    for found, (counts, shares) in zip(ask("chiSquare", rows), rows, strict=True):
        here = chi_square(counts, shares)
        dofs.add(here.dof)
        assert found["dof"] == here.dof
        assert found["statistic"] == pytest.approx(here.statistic, rel=1e-12)
        assert found["pValue"] == pytest.approx(here.p_value, rel=1e-9, abs=1e-14)
    assert dofs == {0, 1, 2}
    (found,) = ask("chiSquare", [([5, 1, 0], [0.5, 0.0, 0.5])])
    assert (found["pValue"], found["dof"]) == (0, 1) and chi_square([5, 1, 0], [0.5, 0.0, 0.5]).p_value == 0
    assert ask("fixed", [("@inf", 2)]) == ["inf"]


def test_power_is_that_of_scipy():
    rnd = random.Random(4)
    rows = []
    for _ in range(800):
        split, vocab = as_split(rnd.choice(SPLITS)), rnd.choice(SIZES)
        wrong = exact_shares(vocab, rnd.choice(list(WRONG.values())).shares(split))
        other = exact_shares(vocab, as_split(rnd.choice(SPLITS)))
        picks = rnd.choice([1, 10, 1966, 512_000, rnd.randrange(20, 5000)])
        rows.append((picks, exact_shares(vocab, split).tolist(), rnd.choice([wrong, other]).tolist()))
    here = [power(*row) for row in rows]
    assert ask("power", rows) == pytest.approx(here, rel=1e-9, abs=1e-11)
    assert sum(0.01 < chance < 0.99 for chance in here) > 40


# ---- the draw microscope


WORDS = {"words": js_lab.words()}


def sentences() -> list[str]:
    rnd = random.Random(5)
    words = [word for word in js_lab.words() if word.isascii() and len(word) > 1]
    signs = "".join(map(chr, range(32, 127))) + "\t\n\r"
    odd = [
        "Unbelievable",
        "XYLOPHONES",
        "don't",
        "3.14",
        "a" * 100,
        "a" * 101,
        "[MASK]",
        "[SEP]x",
        "[mask]",
        "[MASK",
    ]
    found = ["the cat sat on the mat", "[UNK][PAD][CLS]", "fill in the blank", "...", "a"]
    for _ in range(1500):
        parts = [
            rnd.choice(
                [rnd.choice(words), rnd.choice(odd), "".join(rnd.choices(signs, k=rnd.randrange(1, 9)))]
            )
            for _ in range(rnd.randrange(1, 8))
        ]
        found.append(rnd.choice([" ", " ", "", "  "]).join(parts))
    return found


def test_plain_text_is_split_as_python_splits_it():
    tok, texts = book_tokenizer(), sentences()
    found = javascript.run("pieces", [{"text": text} for text in texts], WORDS)
    assert found == [tok.encode(text) for text in texts]
    assert any(tok.unk_id in ids for ids in found) and any(len(ids) > 20 for ids in found)


def test_other_letters_are_left_to_python():
    texts = ["Café", "naïve cat", "日本", "a\u200bb", "a\x00b", "a\x7f"]
    found = javascript.run("pieces", [{"text": text} for text in texts], WORDS)
    assert found == [None] * len(texts)


def state_of(lab: DrawMicroscope) -> dict:
    """What the view of the lab has, but for the words that the labs of a page share."""
    return {"alone": True, **lab.state()}


def test_the_view_of_the_microscope_says_what_python_says():
    rnd = random.Random(6)
    texts = [text for text in sentences() if text.strip()]
    lab, states, expected = DrawMicroscope(), [], []
    for seed in [0, 1, 42, 2**53 + 1, 2**63, 2**64 - 1, *(rnd.randrange(2**64) for _ in range(80))]:
        with lab.together():
            lab.text, lab.seed, lab.step = rnd.choice(texts), seed, 0
            lab.p = rnd.choice([0, 0.15, 0.5, 1, 1e-5, rnd.random(), rnd.randrange(2**32) * 2**-32])
        assert lab.error == ""
        states.append(state_of(lab))
        strips, rows = [], []
        for at in range(len(lab.steps) + 1):
            lab.step = at
            rows.append([list(row) for row in lab.current_rows()])
            strips.append(lab.current_strip())
        expected.append((lab.tokens, lab.fates, lab.steps, lab.inputs, lab.labels, rows))
    kinds = set()
    for there, (tokens, fates, steps, inputs, labels, rows) in zip(
        javascript.run("trace", states, WORDS), expected, strict=True
    ):
        assert (there["tokens"], there["fates"]) == (tokens, fates)
        assert (there["inputs"], there["labels"]) == (inputs, labels)
        assert there["rows"] == rows
        names = ("position", "token", "kind", "value", "says")
        for step, found in zip(steps, there["steps"], strict=True):
            assert [found[name] for name in names] == [getattr(step, name) for name in names]
            assert found["fates"] == list(step.fates) and found["shown"] == list(step.shown)
            assert found["raws"] == list(step.raws)
            kinds.add(step.kind if len(step.raws) == 1 else "rejected")
    assert kinds >= {"pick", "action", "below"}


def test_rejected_words_are_told_apart():
    # V = 4000 rejects one word in 1.5 million, so here three quarters of 2^32 stand in.
    from bert_lab import PCG32
    from bert_lab.labs.microscope import trace

    found = javascript.run("rejections", [{"seed": seed, "vocab": 3221225472} for seed in range(150)])
    rejected = 0
    for seed, there in enumerate(found):
        steps, inputs, labels = trace(
            ["a"] * 6, [5] * 6, [0] * 6, 4, 3221225472, 1.0, PCG32(seed), name=lambda i: f"w{i}"
        )
        assert [step.says.replace("`a`", "`w5`") for step in steps] == [
            step["says"] for step in there["steps"]
        ]
        assert (there["inputs"], there["labels"]) == (inputs, labels)
        rejected += sum("rejected" in step.says for step in steps)
    assert rejected > 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", "x"),
        ("seed", ""),
        ("seed", "1.5"),
        ("seed", "-1"),
        ("seed", str(2**64)),
        ("p", "lots"),
        ("p", "1.5"),
        ("p", "-0.1"),
        ("p", "nan"),
        ("p", "0x1"),
        ("p", ""),
        ("text", ""),
        ("text", "  "),
    ],
)
def test_the_view_refuses_what_python_refuses_in_the_same_words(field, value):
    lab = DrawMicroscope("the cat sat", seed=42, p=0.5)
    state = {**state_of(lab), field: value}
    setattr(lab, field, value)
    assert lab.error != ""
    assert javascript.run("trace", [state], WORDS) == [lab.error]


def test_text_that_only_python_can_split():
    lab = DrawMicroscope("Café", seed=42, p=0.5)
    there, waits, alone = javascript.run(
        "trace",
        [
            state_of(lab),  # Python has split it: its ids are in the state
            {**state_of(lab), "text": "naïve", "alone": False},  # in Jupyter: until Python has
            {**state_of(lab), "text": "naïve"},  # on a page
        ],
        WORDS,
    )
    assert there["tokens"] == lab.tokens and there["inputs"] == lab.inputs
    assert waits is None
    assert alone.startswith(
        "ValueError: sentence: expected plain letters (a to z), digits and signs on this page, got 'ï'"
    )


# ---- the model of a page


def test_the_model_of_a_page():
    sets = [("a", 2), ("a", 2), ("b", 5), ("a", 3)]
    (found,) = javascript.run("model", [{"values": {"a": 1, "error": ""}, "sets": sets}])
    assert found == {"heard": [2, 3], "values": {"error": "", "a": "unheard", "b": 5}, "alone": True}
