"""Attention steps: chapter 04's hand example, what each control does, and what it refuses."""

import math

import numpy as np
import pytest

from bert_lab.labs import attention_steps as module
from bert_lab.labs.attention_steps import KEYS, QUERIES, VALUES, WORDS, AttentionSteps

BY_HAND = {
    "the": ([0, 1, 0], [0.25, 0.5, 0.25], [2, 4, 2, 4]),
    "cat": ([0, 0, 3], [0.1, 0.1, 0.8], [0.8, 0.8, 6.4, 4]),
    "sat": ([0, 1, 1], [0.2, 0.4, 0.4], [1.6, 3.2, 3.2, 4]),
}


@pytest.fixture
def lab():
    lab = AttentionSteps()
    yield lab
    assert lab.error.value == ""


@pytest.mark.parametrize("word", WORDS)
def test_the_hand_example(lab, word):
    scores, weights, mix = BY_HAND[word]
    for made in (AttentionSteps(word), lab):
        made.word_menu.value = word
        assert made.query == QUERIES[word] and made.divisor == 2
        assert (made.scores / 2).tolist() == scores
        assert made.weights == pytest.approx(np.array(weights))
        assert made.mix == pytest.approx(np.array(mix))


def test_what_it_says(lab):
    assert lab.as_text() == (
        "Attention steps: the asks with ln 2 times 0 2 0 0\n"
        "looks at  key      query · key  divided by 2  exp     weight  value\n"
        "the       1 0 0 0  0 ln 2       0.0000        1.0000  0.2500  8 0 0 4\n"
        "cat       0 1 0 1  2 ln 2       0.6931        2.0000  0.5000  0 8 0 4\n"
        "sat       0 0 1 1  0 ln 2       0.0000        1.0000  0.2500  0 0 8 4\n"
        "the takes 2.0000 4.0000 2.0000 4.0000"
    )
    for text in (lab.result.value, lab.as_html()):
        assert "<td>2 ln 2</td><td>0.6931</td><td>2.0000</td><td>0.5000 " in text
        assert text.count("width:2.00em") == 2 and text.count("width:4.00em") == 1
        assert "<b>the</b> takes 2.0000 4.0000 2.0000 4.0000." in text


def test_every_slider_changes_the_result(lab):
    for i, slider in enumerate(lab.query_sliders):
        slider.value = i - 5
        query = np.array(lab.query)
        powers = np.exp(math.log(2) * KEYS @ query / 2)
        assert query[i] == i - 5
        assert lab.weights == pytest.approx(powers / powers.sum())
        assert lab.mix == pytest.approx(lab.weights @ VALUES)
        assert f"{lab.mix[0]:.4f}" in lab.result.value


def test_the_divisor_sharpens_and_flattens(lab):
    largest = []
    for divisor in module.DIVISORS:
        lab.divisor_slider.value = divisor
        assert f"divided by {divisor}" in lab.result.value
        largest.append(lab.weights.max())
    assert largest == sorted(largest, reverse=True)
    assert largest[0] == pytest.approx(4 / 6) and largest[-1] == pytest.approx(1 / 3, abs=0.005)


def test_another_word_brings_its_own_query(lab):
    lab.query_sliders[0].value = 7
    lab.divisor_slider.value = 1
    lab.word_menu.value = "sat"
    assert lab.query == QUERIES["sat"] and lab.divisor == 1 and "<b>sat</b> takes" in lab.result.value


def test_another_word_with_the_same_query_is_named():
    lab = AttentionSteps("the", query=QUERIES["cat"])
    lab.word_menu.value = "cat"
    assert "<b>cat</b> takes" in lab.result.value


def test_a_setting_can_be_given():
    lab = AttentionSteps("cat", query=(8, -8, 0, 8), divisor=1)
    assert (lab.word, lab.query, lab.divisor) == ("cat", (8, -8, 0, 8), 1)
    assert lab.scores.tolist() == [8, 0, 8]


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"word": "dog"}, ValueError, "expected one of the, cat, sat, got 'dog'"),
        ({"divisor": 3}, ValueError, "expected one of 1, 2, 4, 8, 100, got 3"),
        ({"query": [1, 2, 3]}, ValueError, "expected 4 numbers, got 3"),
        ({"query": [1, 2, 3, 9]}, ValueError, r"query\[3\]: expected an integer from -8 to 8, got 9"),
        ({"query": [1, 2, 0.5, 3]}, TypeError, r"query\[2\]: expected an integer"),
    ],
)
def test_what_it_refuses(arguments, error, said):
    with pytest.raises(error, match=said):
        AttentionSteps(**arguments)


def test_what_a_notebook_stores_is_the_same_every_time(lab):
    bundle, other = lab._repr_mimebundle_(), AttentionSteps()._repr_mimebundle_()
    for kind in ("text/plain", "text/html"):
        assert bundle[kind] == other[kind]


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    monkeypatch.setattr(AttentionSteps, "_powers", lambda self: 1 / 0)
    lab.query_sliders[0].value = 1
    assert "ZeroDivisionError" in lab.error.value
    monkeypatch.undo()
    lab.query_sliders[0].value = 2
    assert lab.scores.tolist() == [2, 2, 0]


def test_it_can_be_used_from_the_keyboard(lab):
    controls = [lab.word_menu, lab.divisor_slider, *lab.query_sliders]
    assert all(control.description and control.tabbable is not False for control in controls)
