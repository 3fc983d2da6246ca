"""The power lab: its answers, its curve, and what it shows when something breaks."""

import matplotlib.pyplot as plt
import pytest

from bert_lab.labs import power as power_module
from bert_lab.labs.power import PICKS, VOCAB, PowerLab
from bert_lab.measuring import rates
from bert_lab.measuring.recipes import WRONG


@pytest.fixture
def lab():
    lab = PowerLab()
    yield lab
    assert lab.error.value == ""
    assert plt.get_fignums() == []


def test_what_it_starts_with(lab):
    assert (lab.recipe, lab.alpha, lab.target, lab.p) == ("81/10/9", 0.001, 0.95, 0.15)
    assert (lab.picks, lab.tokens) == (24_483, 163_220)
    assert lab.as_text() == (
        "Power lab: wrong recipe 81/10/9, false-alarm rate 0.001, power 0.95, p 0.15\n"
        "81/10/9: 24,483 picks, that is about 163,220 tokens at p = 0.15."
        " With a tenth of that it is noticed with chance 0.0317."
    )
    assert (PICKS[0], PICKS[-1]) == (10, 1_000_000)


@pytest.mark.parametrize(("name", "picks"), [("80/2/18", 216), ("90/1/9", 292), ("81/10/9", 24_483)])
def test_the_recipes(lab, name, picks):
    lab.recipe_menu.value = name
    assert lab.picks == picks
    assert f"{picks:,} picks" in lab.answer.value and f"{picks:,} picks" in lab.as_html()
    assert WRONG[name].source.split(" ")[0] in lab.answer.value
    assert 'alt="Power of the chi-square test at false-alarm rate 0.001' in lab.figure.value


def test_every_slider_changes_the_answer(lab):
    right, wrong = rates.exact_shares(VOCAB), rates.exact_shares(VOCAB, (0.81, 0.1, 0.09))
    lab.alpha_slider.value = 0.05
    assert lab.picks == rates.required_picks(right, wrong, 0.05, 0.95) < 24_483
    lab.target_slider.value = 0.5
    assert lab.picks == rates.required_picks(right, wrong, 0.05, 0.5)
    lab.p_slider.value = 0.4
    assert lab.tokens == rates.tokens_for(lab.picks, 0.4)
    assert "at p = 0.40" in lab.as_text()


def test_a_tenth_of_very_few_picks_is_one(lab):
    lab.recipe_menu.value, lab.alpha_slider.value, lab.target_slider.value = "80/2/18", 0.05, 0.5
    assert lab.picks > 10
    assert 0 < lab.tenth < lab.target


def test_what_a_notebook_stores_is_the_same_every_time(lab):
    bundle, other = lab._repr_mimebundle_(), PowerLab()._repr_mimebundle_()
    for kind in ("text/plain", "text/html"):
        assert bundle[kind] == other[kind]
    assert "<img" not in bundle["text/html"]


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    monkeypatch.setattr(power_module, "required_picks", lambda *args: 1 / 0)
    lab.recipe_menu.value = "90/1/9"
    assert "ZeroDivisionError" in lab.error.value
    assert "no answer" in PowerLab().as_text() and "no answer" in PowerLab().as_html()
    monkeypatch.undo()
    lab.recipe_menu.value = "80/2/18"
    assert lab.error.value == "" and lab.picks == 216


def test_it_can_be_used_from_the_keyboard(lab):
    controls = (lab.recipe_menu, lab.alpha_slider, lab.target_slider, lab.p_slider)
    assert all(control.description and control.tabbable is not False for control in controls)
    assert not any(control.continuous_update for control in controls[1:])
