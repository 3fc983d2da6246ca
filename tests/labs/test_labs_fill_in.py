"""The fill-in lab, with a small random model: what it shows is what the model says when it is asked."""

import html

import pytest
from small_reader import MODEL, SENTENCE, TOK

from bert_lab import fill_mask
from bert_lab.labs import fill_in as module
from bert_lab.labs.fill_in import FillInLab


@pytest.fixture
def lab():
    lab = FillInLab(MODEL, TOK, SENTENCE)
    yield lab
    assert lab.error.value == ""


def test_what_it_starts_with(lab):
    assert (lab.text, lab.blank, lab.words, lab.word) == (SENTENCE, 1, 5, "")
    assert lab.shown == SENTENCE
    assert lab.best == fill_mask(MODEL, TOK, SENTENCE)[0]
    assert lab.watched is None and lab.watched_summary() == ""
    for piece, chance in lab.best:
        assert f"<code>{piece.replace('<', '&lt;')}</code></th><td>{chance:.4f}</td>" in lab.answer.value
        assert f"width:{24 * chance:.2f}em" in lab.answer.value
    assert 'role="status"' in lab.answer.value


def test_words_are_added_one_by_one(lab):
    seen = []
    for words in range(6):
        lab.words_slider.value = words
        assert lab.best == fill_mask(MODEL, TOK, lab.shown)[0]
        assert f"<code>{lab.shown}</code>" in lab.answer.value
        seen.append(lab.shown)
    assert seen == [
        "Red [MASK]",
        "Red [MASK] and",
        "Red [MASK] and white",
        "Red [MASK] and white [MASK]",
        "Red [MASK] and white [MASK] and",
        SENTENCE,
    ]


def test_the_other_blank(lab):
    lab.words_slider.value = 2
    lab.blank_menu.value = 2
    assert lab.blank == 2 and lab.words == lab.words_slider.max == 2
    assert lab.best == fill_mask(MODEL, TOK, SENTENCE)[1]
    lab.words_slider.value = 0
    assert lab.shown == "Red [MASK] and white [MASK]"
    assert lab.best == fill_mask(MODEL, TOK, lab.shown)[1]


def test_another_sentence_brings_its_own_words(lab):
    assert lab.blank_menu.options == (1, 2) and not lab.blank_menu.disabled
    lab.blank_menu.value = 2
    lab.box.value = "bread and [MASK]"
    assert lab.blank == 1 and lab.blank_menu.options == (1,) and lab.blank_menu.disabled
    assert lab.words == 0 and lab.words_slider.disabled and lab.words_slider.max == 1
    assert lab.shown == "bread and [MASK]" and lab.best == fill_mask(MODEL, TOK, lab.shown)[0]
    lab.box.value = "[MASK]. Red  wine"
    assert lab.words == lab.words_slider.max == 3 and not lab.words_slider.disabled
    lab.words_slider.value = 1
    assert lab.shown == "[MASK]."
    lab.words_slider.value = 3
    assert lab.shown == "[MASK]. Red  wine"


def test_a_word_is_watched_wherever_it_stands():
    lab = FillInLab(MODEL, TOK, SENTENCE, words=1, word=" Ink ", top_k=2)
    assert lab.words == 1 and len(lab.best) == 2 and lab.word == "Ink"
    every = fill_mask(MODEL, TOK, "Red [MASK] and", TOK.vocab_size)[0]
    rank = [piece for piece, _ in every].index("ink")
    assert lab.watched == (every[rank][1], rank + 1)
    assert lab.watched_summary() == f"Ink: {every[rank][1]:.4f}, number {rank + 1} of {TOK.vocab_size}."
    assert lab.watched_summary() in lab.answer.value
    lab.word_box.value = "wines"
    assert lab.watched is None and lab.watched_summary() == "wines is no single piece of the vocabulary."
    assert lab.watched_summary() in lab.answer.value


def test_what_is_typed_is_text_and_no_markup():
    lab = FillInLab(MODEL, TOK, "< <b>[MASK]</b>", word="<i>", top_k=TOK.vocab_size)
    assert "<code>&lt;</code></th>" in lab.answer.value
    assert "<b>[" not in lab.answer.value and "&lt;b&gt;[MASK]" in lab.answer.value
    assert "<i>" not in lab.answer.value and "<b>[" not in lab.as_html()


def test_what_a_notebook_stores_is_the_same_every_time_and_has_no_digits(lab):
    bundle, other = lab._repr_mimebundle_(), FillInLab(MODEL, TOK, SENTENCE)._repr_mimebundle_()
    for kind in ("text/plain", "text/html"):
        assert bundle[kind] == other[kind]
        assert not any(c.isdigit() for c in bundle[kind])
    assert lab.as_text().endswith(f"\n{SENTENCE} -> {lab.best[0][0]}")


def test_a_sentence_without_a_blank_shows_inside_and_the_lab_goes_on(lab):
    lab.box.value = "red wine"
    assert html.escape("expected at least one [MASK], got 'red wine'") in lab.error.value
    assert lab.best is None and lab.answer.value == "" and lab.words_slider.disabled
    assert lab.watched_summary() == "" and "no answer" in lab.as_text() and "no answer" in lab.as_html()
    lab.box.value = "[MASK] " * 20
    assert html.escape("T <= 12") in lab.error.value
    lab.box.value = "red [MASK]"
    assert lab.error.value == "" and lab.best is not None


def test_it_can_be_used_from_the_keyboard(lab):
    controls = [lab.box, lab.blank_menu, lab.words_slider, lab.word_box]
    assert all(control.description and control.tabbable is not False for control in controls)
    assert not lab.box.continuous_update and not lab.word_box.continuous_update


def test_the_default_sentence_has_a_blank():
    assert module.BLANK in module.TEXT
