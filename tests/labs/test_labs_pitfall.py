"""The museum and the pitfall lab: each fault has a measured symptom, and the lab shows what is known."""

import html
import re

import numpy as np
import pytest

import bert_lab
from bert_lab.course.mutants import MUTANTS, changed_lines, load_mutant
from bert_lab.labs import PitfallLab, museum, pitfall_lab
from bert_lab.labs.museum import BEST, GROUPS, PROBES, Symptom, loss_ratio, masked_words, parity, symptom
from bert_lab.measuring.rates import count_shown

# What is measured of each fault: the reference's answer, and the fault's.
HAND = "inputs 2 4 6 9 3 0; labels -100 5 -100 7 -100 -100"
RATES = "[MASK] 0.800, another word 0.100, the word itself 0.100"
ROW = "-100 5 11 12 -100 -100 -100 -100"
SEEN = {
    "s01": (ROW, "2 5 11 12 3 0 0 0"),
    "s02": (HAND, "inputs 2 4 6 9 3 0; labels 2 5 6 7 3 0"),
    "s03": ("shown 7, label 7", "shown 9, label 7"),
    "s04": (HAND, "inputs 2 4 6 9 3 0; labels -100 4 -100 9 -100 -100"),
    "s05": (HAND, "it asks for a draw that is not in the script"),
    "s06": ("0", "6.0e-04"),
    "s07": ("0", "2.7e+00"),
    "s08": ("no", "yes"),
    "s09": ("yes", "no"),
    "s10": ("0", "1.2e+00"),
    "s11": ("yes", "no"),
    "s12": (ROW, "-100 5 11 12 -100 0 0 0"),
    "b01": (RATES, "[MASK] 1.000, another word 0.000, the word itself 0.000"),
    "b02": (RATES, "[MASK] 0.800, another word 0.020, the word itself 0.179"),
    "b03": (RATES, "[MASK] 0.900, another word 0.000, the word itself 0.100"),
    "b04": (RATES, "[MASK] 0.897, another word 0.011, the word itself 0.092"),
    "b05": (RATES, "[MASK] 0.810, another word 0.098, the word itself 0.092"),
    "b06": (ROW, "2 5 11 12 3 -100 -100 -100"),
    "b07": ("from 5 to 999", "from 0 to 99"),
    "b08": (
        "[MASK] 0, another word 0, the word itself 1000",
        "[MASK] 817, another word 97, the word itself 86",
    ),
    "b09": ("different ones", "the same"),
    "b10": (HAND, "inputs 2 4 6 9 3 0; labels -1 5 -1 7 -1 -1"),
    "b11": ("0", "8.8e-06"),
    "b12": ("0", "1.2e+00"),
    "b13": ("1.000 times the loss at that word", "0.167 times the loss at that word"),
    "b14": ("40 of 40", "6 of 40"),
    "b15": ("its logits", "it raises IndexError"),
    "b16": ("0 of 26", "4 of 26"),
    "b17": ("0 of 26", "8 of 26"),
    "b18": ("the same", "different ones"),
    "b19": ("0", "2.2e-01"),
    "b20": ("no", "yes"),
}


# ---- the museum


def test_every_fault_is_in_one_group():
    grouped = [id for ids in GROUPS.values() for id in ids]
    assert sorted(grouped) == sorted(MUTANTS) == sorted(SEEN)
    assert set(BEST) <= set(MUTANTS) and set(BEST.values()) <= set(PROBES)


@pytest.mark.parametrize("id", SEEN)
def test_what_is_measured_of_each_fault(id):
    found = symptom(id)
    assert (found.right, found.wrong) == SEEN[id]
    assert found.question[-1] in "?:" and str(found).startswith(found.question.replace("`", ""))
    assert str(found).endswith(f"\n  reference: {found.right}\n  fault:     {found.wrong}")


def test_every_question_is_asked_of_some_fault():
    asked = {symptom(id).question for id in MUTANTS}
    assert {probe.question for probe in PROBES.values()} == asked


def test_a_fault_that_no_question_shows(monkeypatch):
    monkeypatch.setattr(museum, "PROBES", {"hand": PROBES["hand"]})
    symptom.cache_clear()
    assert symptom("b13") is None
    symptom.cache_clear()


def test_words_and_what_they_show():
    ids, inputs, labels = masked_words(bert_lab, seed=3, words=2000)
    assert ids.shape == inputs.shape == labels.shape == (2000,)
    assert (ids.min(), ids.max()) == (5, 99)
    assert count_shown(inputs, labels, 4).sum() == (labels != -100).sum() > 200
    assert np.array_equal(inputs[labels == -100], ids[labels == -100])
    masked = load_mutant("b01")
    assert PROBES["random ids"].answer(masked) == "none was shown"


def test_numbers_of_the_model():
    assert loss_ratio(bert_lab) == pytest.approx(1)
    assert loss_ratio(load_mutant("b13")) == pytest.approx(1 / 6)
    assert parity(bert_lab) == 0
    assert parity(load_mutant("b11")) < 1e-5 < parity(load_mutant("s06"))


def test_a_load_that_is_refused_is_said():
    class Refusing:
        BertForMLM, BertConfig = bert_lab.BertForMLM, bert_lab.BertConfig

        @staticmethod
        def load_hf_bert(model, sd):
            raise ValueError("no")

    assert PROBES["loading"].answer(Refusing) == "it raises ValueError"


# ---- the lab


@pytest.fixture
def lab():
    lab = PitfallLab("b07")
    yield lab
    assert lab.error.value == ""


def plain(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


@pytest.mark.parametrize("id", MUTANTS)
def test_the_lab_says_all_that_is_known(lab, id):
    lab.fault_menu.value = id
    row = MUTANTS[id]
    assert (lab.fault, lab.lines, lab.measured) == (id, changed_lines(row), symptom(id))
    known = [row.pitfall, row.misconception, row.symptom, *row.tests, row.chapter.replace("_", " ")]
    known += [row.seen, symptom(id).right, symptom(id).wrong, *lab.lines[0], *lab.lines[1]]
    for page in (plain(lab.shown.value), plain(lab.as_html()), lab.as_text()):
        for words in known:
            assert words.strip().replace("`", "") in page.replace("`", "")
    assert (f'href="{row.url}"' in lab.shown.value) == bool(row.seen)
    assert dict(lab.facts).get("seen in", "") == row.seen


def test_lines_are_told_by_a_sign_and_a_name(lab):
    assert "  - inputs[t] = rng.below(vocab)\n  + inputs[t] = rng.below(ids.max() + 1)\n" in lab.as_text()
    assert 'aria-label="is taken away"' in lab.shown.value
    assert 'aria-label="stands there instead"' in lab.shown.value
    assert "<script" not in lab.as_html() and lab.as_html().startswith("<p><b>Pitfall lab</b>")
    assert lab.as_text().startswith("Pitfall lab: Choose a fault.")


def test_the_buttons_go_around(lab):
    assert [value for _, value in lab.fault_menu.options] == list(MUTANTS)
    lab.next.click()
    assert lab.fault == "b08"
    lab.previous.click()
    lab.previous.click()
    assert lab.fault == "b06"
    lab.fault_menu.value = "b20"
    lab.next.click()
    assert lab.fault == "s01"
    lab.previous.click()
    assert lab.fault == "b20"


def test_a_group_shortens_the_menu(lab):
    assert lab.group_menu.value == "all", "None is shown as an empty choice"
    lab.group_menu.value = "loading"
    assert [value for _, value in lab.fault_menu.options] == list(GROUPS["loading"])
    assert lab.fault == "b16" and "b16" in lab.shown.value
    lab.next.click()
    assert lab.fault == "b17"
    lab.group_menu.value = "all"
    assert lab.fault == "b17" and len(lab.fault_menu.options) == len(MUTANTS)
    assert "b17" in lab.shown.value
    assert [name for name, _ in lab.group_menu.options] == [
        "all 32",
        "rates (6)",
        "picks and labels (6)",
        "draws and seeds (4)",
        "model (13)",
        "loading (3)",
    ]


def test_an_unknown_fault_is_refused():
    with pytest.raises(ValueError, match=r"fault: expected one of s01, .*, got 's99'"):
        PitfallLab("s99")


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    monkeypatch.setattr(pitfall_lab, "symptom", lambda id: 1 / 0)
    lab.next.click()
    assert "ZeroDivisionError" in lab.error.value and lab.shown.value == ""
    assert lab.as_text().splitlines()[1:] == [f"b08: {MUTANTS['b08'].pitfall}"]
    assert "b08" in lab.as_html()
    monkeypatch.undo()
    lab.next.click()
    assert "b09" in lab.shown.value


def test_a_fault_without_a_measure_is_shown_without(lab, monkeypatch):
    monkeypatch.setattr(pitfall_lab, "symptom", lambda id: None)
    lab.next.click()
    assert "measured" not in lab.as_text() and "measured" not in lab.shown.value
    assert MUTANTS["b08"].misconception in lab.as_text()


def test_a_symptom_as_text():
    assert str(Symptom("What of `x`?", "one", "two")) == "What of x?\n  reference: one\n  fault:     two"


def test_the_lab_can_be_used_from_the_keyboard(lab):
    controls = (lab.group_menu, lab.fault_menu, lab.previous, lab.next)
    assert all(control.description and control.tabbable is not False for control in controls)
    assert lab.previous.tooltip and lab.next.tooltip
