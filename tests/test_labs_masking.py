"""The masking lab: its controls, presets and verdict, and what it shows when something breaks."""

import html

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bert_lab import PCG32, mlm_mask
from bert_lab.labs import masking_lab
from bert_lab.labs.masking_lab import MASK, PRESETS, SENTENCE, WORDS, MaskingLab
from bert_lab.rates import chi_square, count_shown, exact_shares
from bert_lab.recipes import WRONG


@pytest.fixture
def lab():
    lab = MaskingLab()
    yield lab
    assert lab.error.value == ""
    assert plt.get_fignums() == []


def test_what_it_starts_with(lab):
    assert (lab.p, lab.split, lab.vocab, lab.seed, lab.batches) == (0.15, (0.8, 0.1, 0.1), 1000, 1, 40)
    assert lab.fresh is False and lab.code == "mlm_mask"
    assert lab.preset_buttons["BERT"].icon == "check"
    assert len(WORDS) == 40 and len(set(WORDS)) == 40
    assert len(SENTENCE.split()) == 20


def test_inputs_and_labels_are_those_of_mlm_mask(lab):
    expected = mlm_mask(lab.ids, lab.special_mask, MASK, 1000, 0.15, PCG32(1))
    assert (lab.inputs == expected[0]).all() and (lab.labels == expected[1]).all()
    assert lab.inputs.shape == (10 * 64, 22)
    assert lab.inputs.dtype == lab.labels.dtype == np.int64
    assert lab.ids[0].tolist() == [2, *(WORDS.index(word) for word in SENTENCE.split()), 3]


def test_a_moved_slider_draws_anew(lab):
    lab.p_slider.value = 0.4
    assert lab.p == 0.4
    assert (lab.labels != -100).sum() == pytest.approx(0.4 * 640 * 20, rel=0.05)
    before = lab.inputs.copy()
    lab.seed_slider.value = 7
    assert (lab.inputs != before).any()
    lab.batches_slider.value = 3
    assert lab.inputs.shape == (3 * 64, 22)
    lab.vocab_slider.value = 40
    assert lab.inputs.max() < 40
    assert lab.shares.tolist() == exact_shares(40).tolist()


def test_values_can_be_set_from_code(lab):
    lab.p, lab.vocab, lab.seed, lab.batches, lab.fresh, lab.code = 1, 30522, 5, 2, True, "90/1/9"
    assert (lab.p_slider.value, lab.vocab_slider.value, lab.seed_slider.value) == (1.0, 30522, 5)
    assert (lab.batches_slider.value, lab.fresh_box.value, lab.code_menu.value) == (2, True, "90/1/9")
    assert lab.counts.sum() == 2 * 64 * 20
    lab.split = (0.25, 0.5, 0.25)
    assert lab.split == (0.25, 0.5, 0.25)
    assert lab.split_slider.value == (0.25, 0.75)
    assert "<b>R</b> 50%" in lab.split_text.value


@pytest.mark.parametrize("cuts", [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.37, 0.64), (0.1, 0.3), (0.5, 0.5)])
def test_the_split_always_sums_to_one(lab, cuts):
    lab.split_slider.value = cuts
    assert sum(lab.split) == pytest.approx(1, abs=1e-12)
    assert all(share >= 0 for share in lab.split)
    assert lab.test.p_value > 0.001


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("p", 15, ValueError),
        ("p", -0.1, ValueError),
        ("p", float("nan"), ValueError),
        ("p", True, TypeError),
        ("p", "0.15", TypeError),
        ("seed", 100, ValueError),
        ("seed", 0.5, TypeError),
        ("batches", 0, ValueError),
        ("vocab", 50, ValueError),
        ("code", "none", ValueError),
        ("fresh", 1, TypeError),
        ("split", (0.8, 0.1, 0.2), ValueError),
        ("split", 0.8, TypeError),
    ],
)
def test_wrong_values_are_refused_and_nothing_moves(lab, name, value, error):
    before, shown = getattr(lab, name), lab.figure.value
    with pytest.raises(error, match=f"{name}: expected"):
        setattr(lab, name, value)
    assert getattr(lab, name) == before
    assert lab.figure.value == shown


def test_settings_are_described_on_the_class():
    assert MaskingLab.p.control == "p_slider"


@pytest.mark.parametrize("name", PRESETS)
def test_presets(lab, name):
    lab.preset_buttons[name].click()
    p, split, fresh, code = PRESETS[name]
    assert (lab.p, lab.split, lab.fresh, lab.code) == (p, split, fresh, code)
    assert [label for label, button in lab.preset_buttons.items() if button.icon] == [name]
    shares = exact_shares(1000, split)
    assert lab.counts.tolist() == count_shown(lab.inputs, lab.labels, MASK).tolist()
    assert lab.test == chi_square(lab.counts, shares)
    fits = code not in ("80/2/18", "90/1/9")  # 7,671 picks are too few to notice 81/10/9
    assert (lab.test.p_value >= 0.001) == fits
    assert ("does not fit" in lab.verdict.value) == (not fits)
    assert ("enough to notice" in lab.verdict.value) == (code in WRONG)


def test_more_data_notices_what_less_does_not(lab):
    lab.preset("wrong 81/10/9")
    assert lab.test.p_value >= 0.001
    lab.batches = 400
    assert lab.test.p_value < 0.001
    assert "p value below 0.0001" in lab.as_text()


def test_a_preset_draws_once(lab, monkeypatch):
    drawn = []
    monkeypatch.setattr(lab, "draw", lambda: drawn.append(1))
    lab.preset("[MASK] only")
    assert drawn == [1]
    with pytest.raises(ValueError, match="preset: expected one of"):
        lab.preset("GPT")


def test_old_masks_come_back_and_fresh_ones_do_not(lab):
    assert "the masks of batch 1 again" in lab.again.value
    assert "in 10 batches (30 more repeat them: no new evidence)" in lab.verdict.value
    lab.fresh = True
    assert "drawn anew" in lab.again.value and "in 40 batches;" in lab.verdict.value
    assert (lab.inputs[0] != lab.inputs[640]).any()
    row = lab.first_row(640)
    row.legend = False
    assert row._repr_html_() in lab.again.value
    lab.batches = 10
    assert lab.again.value == ""
    lab.fresh = False
    assert "in 10 batches;" in lab.verdict.value


def test_the_strip_names_known_and_unknown_ids(lab):
    text = repr(lab.first_row())
    assert text.splitlines()[0].split()[1:] == ["[CLS]", *SENTENCE.split(), "[SEP]"]
    assert "#644" in text  # a random id without a name
    assert html.escape("#644") in lab.strip.value


def test_no_picks(lab):
    lab.p = 0.0
    assert lab.test is None
    assert "No picks" in lab.verdict.value
    assert 'alt="Picks in 640 rows' in lab.figure.value
    assert "No picks" in lab.as_text()


def test_every_pick(lab):
    lab.p = 1.0
    assert lab.counts.sum() == 640 * 20
    assert "fits" in lab.verdict.value


def test_few_picks_are_called_rough(lab):
    lab.batches, lab.p = 1, 0.01
    assert "rough" in lab.verdict.value


def test_the_picture_has_words(lab):
    assert lab.figure.value.startswith('<img alt="Picks in 640 rows of 20 candidates')
    assert "What 1966 picks show" in lab.figure.value


def test_what_a_notebook_stores_is_the_same_every_time(lab):
    again = MaskingLab()
    bundle, other = lab._repr_mimebundle_(), again._repr_mimebundle_()
    assert bundle["text/plain"] == other["text/plain"] == lab.as_text()
    assert bundle["text/html"] == other["text/html"] == lab.as_html()
    assert lab.as_text().startswith("Masking lab: p 0.15, split 0.80/0.10/0.10, V 1000, seed 1, 40 batches,")
    assert "<img" not in lab.as_html() and "<script" not in lab.as_html()


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("a <broken> routine")

    monkeypatch.setattr(masking_lab, "mlm_mask", broken)
    lab.p_slider.value = 0.3
    assert "RuntimeError: a &lt;broken&gt; routine" in lab.error.value
    monkeypatch.undo()
    lab.p_slider.value = 0.4
    assert lab.error.value == ""
    assert (lab.labels != -100).sum() > 4000


def test_a_lab_that_is_broken_from_the_start_can_be_shown(monkeypatch):
    monkeypatch.setattr(masking_lab, "mlm_mask", lambda *args, **kwargs: 1 / 0)
    lab = MaskingLab()
    assert "ZeroDivisionError" in lab.error.value
    assert lab.inputs is None
    assert "nothing was masked" in lab.as_text() and "nothing was masked" in lab.as_html()
    monkeypatch.undo()
    lab.seed = 2
    assert lab.error.value == "" and "fits" in lab.as_text()


def test_it_can_be_used_from_the_keyboard(lab):
    sliders = (lab.p_slider, lab.split_slider, lab.vocab_slider, lab.seed_slider, lab.batches_slider)
    assert not any(slider.continuous_update for slider in sliders)
    assert all(control.description for control in (*sliders, lab.code_menu, lab.fresh_box))
    assert all(button.tabbable is not False for button in lab.preset_buttons.values())
