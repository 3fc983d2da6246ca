"""The lab of two blanks: its tables against a count, its words and controls, what it shows when it breaks."""

import math

import numpy as np
import pytest

from bert_lab.labs import two_blanks as module
from bert_lab.labs.two_blanks import TwoBlanksLab, pair_table


@pytest.fixture
def lab():
    lab = TwoBlanksLab()
    yield lab
    assert lab.error.value == ""


def test_the_tables_against_counting_sentences():
    sentences = ["new york"] * 3 + ["new angeles"] + ["los york"] * 4 + ["los angeles"] * 12
    tables = pair_table(0.2, 0.75)  # 4 of 20 begin with new; 3 of 4 and 12 of 16 fit

    def chance(of, among=lambda s: True):
        seen = [s for s in sentences if among(s)]
        return sum(map(of, seen)) / len(seen)

    for i, a in enumerate(module.FIRST):
        for j, b in enumerate(module.SECOND):
            first, second = (lambda s, a=a: s.startswith(a)), (lambda s, b=b: s.endswith(b))
            both = chance(lambda s, a=a, b=b: s == f"{a} {b}")
            assert tables["true"][i, j] == pytest.approx(both)
            assert tables["apart"][i, j] == pytest.approx(chance(first) * chance(second))
            score = chance(first, second) * chance(second, first)
            assert tables["score"][i, j] == pytest.approx(score)


def test_what_it_starts_with(lab):
    assert (lab.share, lab.fit) == (0.5, 1.0)
    assert lab.together == pytest.approx(math.log(2)) and lab.apart == pytest.approx(2 * math.log(2))
    assert lab.as_text() == (
        "Two blanks: first word is new 0.50, second word fits 1.00\n"
        "pair            true   apart   score\n"
        "new york      0.5000  0.2500  1.0000\n"
        "new angeles   0.0000  0.2500  0.0000\n"
        "los york      0.0000  0.2500  0.0000\n"
        "los angeles   0.5000  0.2500  1.0000\n"
        "sum           1.0000  1.0000  2.0000\n"
        "Pairs that do not fit: true 0.0000, each blank by itself 0.5000."
        " Loss of a pair: together 0.6931, each by itself 1.3863."
    )


def test_independent_words_lose_nothing(lab):
    lab.fit_slider.value = 0.5
    lab.share_slider.value = 0.8
    np.testing.assert_allclose(lab.tables["apart"], lab.tables["true"])
    assert lab.apart == pytest.approx(lab.together)
    assert lab.tables["score"].sum() == pytest.approx(1)
    assert "first word is new 0.80, second word fits 0.50" in lab.as_html()


def test_the_sliders_reach_what_is_shown(lab):
    before = lab.answer.value
    lab.share_slider.value = 0.25
    assert "0.1875" in lab.answer.value != before  # new angeles, each by itself: a quarter of three quarters
    assert 'role="status"' in lab.answer.value and lab.answer.value.count("<tr>") == 6


def test_what_a_notebook_stores_is_the_same_every_time(lab):
    bundle, other = lab._repr_mimebundle_(), TwoBlanksLab()._repr_mimebundle_()
    for kind in ("text/plain", "text/html"):
        assert bundle[kind] == other[kind]


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    monkeypatch.setattr(module, "pair_table", lambda *args: 1 / 0)
    lab.fit_slider.value = 0.9
    assert "ZeroDivisionError" in lab.error.value
    assert "no answer" in lab.as_text() and "no answer" in lab.as_html() and "<table>" not in lab.as_html()
    monkeypatch.undo()
    lab.fit_slider.value = 0.8
    assert lab.error.value == "" and "<table>" in lab.as_html()


def test_it_can_be_used_from_the_keyboard(lab):
    for control in (lab.share_slider, lab.fit_slider):
        assert control.description and control.tabbable is not False and not control.continuous_update
