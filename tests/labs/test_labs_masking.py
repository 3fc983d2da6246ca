"""The masking lab: its settings, presets and verdict, and what it shows when something breaks."""

import html
import json

import numpy as np
import pytest
import traitlets

from bert_lab import PCG32, mlm_mask
from bert_lab.labs import masking_lab
from bert_lab.labs.masking_lab import MASK, PRESETS, SENTENCE, WORDS, MaskingLab
from bert_lab.measuring.rates import chi_square, count_shown, exact_shares
from bert_lab.measuring.recipes import WRONG


@pytest.fixture
def lab():
    lab = MaskingLab()
    yield lab
    assert lab.error == ""


def sent(lab, **state):
    """What the view does when the reader moves something: one message with all that changed."""
    lab.set_state(json.loads(json.dumps(state)))


def test_what_it_starts_with(lab):
    assert (lab.p, lab.split, lab.vocab, lab.seed, lab.batches) == (0.15, (0.8, 0.1, 0.1), 1000, 1, 40)
    assert lab.fresh is False and lab.code == "mlm_mask"
    assert len(WORDS) == 40 and len(set(WORDS)) == 40
    assert len(SENTENCE.split()) == 20


def test_inputs_and_labels_are_those_of_mlm_mask(lab):
    expected = mlm_mask(lab.ids, lab.special_mask, MASK, 1000, 0.15, PCG32(1))
    assert (lab.inputs == expected[0]).all() and (lab.labels == expected[1]).all()
    assert lab.inputs.shape == (10 * 64, 22)
    assert lab.inputs.dtype == lab.labels.dtype == np.int64
    assert lab.ids[0].tolist() == [2, *(WORDS.index(word) for word in SENTENCE.split()), 3]


def test_a_moved_slider_draws_anew(lab):
    sent(lab, p=0.4)
    assert lab.p == 0.4
    assert (lab.labels != -100).sum() == pytest.approx(0.4 * 640 * 20, rel=0.05)
    before = lab.inputs.copy()
    sent(lab, seed=7)
    assert (lab.inputs != before).any()
    sent(lab, batches=3)
    assert lab.inputs.shape == (3 * 64, 22)
    sent(lab, vocab=40)
    assert lab.inputs.max() < 40
    assert lab.shares.tolist() == exact_shares(40).tolist()
    sent(lab, split=[0.25, 0.5, 0.25])
    assert lab.split == (0.25, 0.5, 0.25)


def test_values_can_be_set_from_code(lab):
    lab.p, lab.vocab, lab.seed, lab.batches, lab.fresh, lab.code = 1, 30522, 5, 2, True, "90/1/9"
    assert lab.counts.sum() == 2 * 64 * 20
    lab.split = (0.25, 0.5, 0.25)
    assert lab.split == (0.25, 0.5, 0.25)
    # What the view is told, in a form that JSON has.
    shown = json.loads(json.dumps({name: value for name, value in lab.get_state().items() if name[0] != "_"}))
    assert (shown["p"], shown["vocab"], shown["seed"], shown["batches"]) == (1.0, 30522, 5, 2)
    assert (shown["fresh"], shown["code"], shown["split"]) == (True, "90/1/9", [0.25, 0.5, 0.25])


@pytest.mark.parametrize("cuts", [(0, 0), (0, 100), (100, 100), (37, 64), (10, 30), (50, 50)])
def test_the_split_always_sums_to_one(lab, cuts):
    first, second = cuts
    sent(lab, split=[first / 100, (second - first) / 100, (100 - second) / 100])  # as the view computes it
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
    before, shown = getattr(lab, name), lab.as_html()
    with pytest.raises(error, match=f"{name}: expected"):
        setattr(lab, name, value)
    assert getattr(lab, name) == before
    assert lab.as_html() == shown


def test_what_a_view_may_not_send_is_an_error_and_moves_back(lab, monkeypatch):
    told = []
    monkeypatch.setattr(lab, "send_state", lambda key=None: told.append(key))
    sent(lab, p=1.5)
    assert lab.error == "ValueError: p: expected 0.0 to 1.0, got 1.5" and lab.p == 0.15
    assert None in told  # all of the state goes back to the view
    sent(lab, p=0.2)
    assert lab.error == "" and lab.p == 0.2


@pytest.mark.parametrize("way", ["called", "sent"])
@pytest.mark.parametrize("name", PRESETS)
def test_presets(lab, name, way):
    p, split, fresh, code = PRESETS[name]
    if way == "called":
        lab.preset(name)
    else:  # the view's button sends the values
        sent(lab, **dict(lab.given["presets"])[name])
    assert (lab.p, lab.split, lab.fresh, lab.code) == (p, split, fresh, code)
    shares = exact_shares(1000, split)
    assert lab.counts.tolist() == count_shown(lab.inputs, lab.labels, MASK).tolist()
    assert lab.test == chi_square(lab.counts, shares)
    fits = code not in ("80/2/18", "90/1/9")  # 7,671 picks are too few to notice 81/10/9
    assert (lab.test.p_value >= 0.001) == fits
    assert ("does not fit" in lab.verdict_html()) == (not fits)
    assert ("enough to notice" in lab.verdict_html()) == (code in WRONG)


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
    sent(lab, p=0.4, split=[0.8, 0.1, 0.1], fresh=True, code="90/1/9")
    assert drawn == [1, 1]
    with pytest.raises(ValueError, match="preset: expected one of"):
        lab.preset("GPT")


def test_old_masks_come_back_and_fresh_ones_do_not(lab):
    assert "in 10 batches (30 more repeat them: no new evidence)" in lab.verdict_html()
    lab.fresh = True
    assert "in 40 batches;" in lab.verdict_html()
    assert (lab.inputs[0] != lab.inputs[640]).any()
    assert lab.first_row(640)._repr_html_() != lab.first_row()._repr_html_()
    lab.batches = 10
    assert len(lab.ids) == 640
    lab.fresh = False
    assert "in 10 batches;" in lab.verdict_html()


def test_the_strip_names_known_and_unknown_ids(lab):
    text = repr(lab.first_row())
    assert text.splitlines()[0].split()[1:] == ["[CLS]", *SENTENCE.split(), "[SEP]"]
    assert "#644" in text  # a random id without a name
    assert html.escape("#644") in lab.picture()


def test_no_picks(lab):
    lab.p = 0.0
    assert lab.test is None
    assert "No picks" in lab.verdict_html()
    assert "No picks" in lab.as_text()


def test_every_pick(lab):
    lab.p = 1.0
    assert lab.counts.sum() == 640 * 20
    assert "fits" in lab.verdict_html()


def test_few_picks_are_called_rough(lab):
    lab.batches, lab.p = 1, 0.01
    assert "rough" in lab.verdict_html()


def test_what_a_notebook_stores_is_the_same_every_time(lab):
    again = MaskingLab()
    (bundle, _), (other, _) = lab._repr_mimebundle_(), again._repr_mimebundle_()
    assert bundle["text/plain"] == other["text/plain"] == lab.as_text()
    assert bundle["text/html"] == other["text/html"] == lab.as_html()
    assert lab.as_text().startswith("Masking lab: p 0.15, split 0.80/0.10/0.10, V 1000, seed 1, 40 batches,")
    assert "<img" not in lab.as_html() and "<script" not in lab.as_html()


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("a <broken> routine")

    monkeypatch.setattr(masking_lab, "mlm_mask", broken)
    sent(lab, p=0.3)
    assert lab.error == "RuntimeError: a <broken> routine"
    monkeypatch.undo()
    sent(lab, p=0.4)
    assert lab.error == ""
    assert (lab.labels != -100).sum() > 4000


def test_a_lab_that_is_broken_from_the_start_can_be_shown(monkeypatch):
    monkeypatch.setattr(masking_lab, "mlm_mask", lambda *args, **kwargs: 1 / 0)
    lab = MaskingLab()
    assert "ZeroDivisionError" in lab.error
    assert lab.inputs is None
    assert "nothing was masked" in lab.as_text() and "nothing was masked" in lab.as_html()
    monkeypatch.undo()
    lab.seed = 2
    assert lab.error == "" and "fits" in lab.as_text()


def test_the_view_is_given_what_never_changes(lab):
    given = json.loads(json.dumps(lab.state()))["given"]
    assert [given["words"][i] for i in given["row"]] == ["[CLS]", *SENTENCE.split(), "[SEP]"]
    assert given["row"] == lab.ids[0].tolist() and given["mask"] == MASK
    assert [name for name, _ in given["presets"]] == list(PRESETS) and given["wrong"] == list(WRONG)
    with pytest.raises(traitlets.TraitError):
        lab.given = {}
