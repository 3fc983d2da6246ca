"""Predictions: the question without the answer, then the reader's choice, then the truth."""

import pytest

from bert_lab.labs import predict

QUESTION = "How many uniforms does `[CLS]` draw?"
OPTIONS = [
    ("`one`", "One would shift every draw after it."),
    ("none", "Nothing can happen to it & nothing is drawn."),
    ("two", "Two is what a picked position draws."),
]


def ask():
    return predict(QUESTION, OPTIONS, right="none")


def test_nothing_is_chosen_or_told_at_first():
    p = ask()
    assert p.radio.value is None and p.choice is None and p.correct is None
    assert [label for label, _ in p.radio.options] == ["one", "none", "two"]
    assert p.result.value == ""
    bundle = p._repr_mimebundle_()
    for kind in ("text/plain", "text/html"):
        assert "How many uniforms" in bundle[kind] and "two" in bundle[kind]
        assert not any(sentence[:12] in bundle[kind] for _, sentence in OPTIONS)
        assert "right" not in bundle[kind]
    assert bundle["text/plain"] == (
        "Predict: How many uniforms does [CLS] draw?\n  ( ) one\n  ( ) none\n  ( ) two"
    )


def test_a_commit_without_a_choice_asks_for_one():
    p = ask()
    p.button.click()
    assert "Choose one first" in p.result.value
    assert p.choice is None and not p.button.disabled


def test_the_right_choice():
    p = ask()
    p.radio.value = "none"
    assert p.result.value == ""  # nothing is told before the commit
    p.button.click()
    assert p.choice == "none" and p.correct is True
    assert ">Right</b>: none." in p.result.value
    assert p.radio.disabled and p.button.disabled and p.button.description == "Committed"


def test_a_wrong_choice_gets_the_truth_and_a_sentence_for_each():
    p = ask()
    p.radio.value = "`one`"
    p.button.click()
    assert p.choice == "`one`" and p.correct is False
    told = p.result.value
    assert ">Not so</b>: you said <code>one</code>." in told
    assert "nothing is drawn" in told and "&amp; nothing" in told
    assert "One would shift" in told and "Two is what" in told
    assert (
        told.index("<b>none</b> is right")
        < told.index("<code>one</code></b> is wrong")
        < told.index("two</b>")
    )


def test_the_choice_is_kept_but_the_printed_text_stays_the_question():
    p = ask()
    before = p.as_text(), p.as_html()
    p.radio.value = "two"
    p.button.click()
    assert (p.as_text(), p.as_html()) == before
    assert ask().choice is None  # a fresh run of the cell asks anew


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, OPTIONS, "none"), TypeError, "question must be a str, got int"),
        ((" ", OPTIONS, "none"), ValueError, "question must not be blank"),
        (("q", "none", "none"), TypeError, "options must be a list"),
        (("q", {"a": "b"}, "a"), TypeError, "options must be a list"),
        (("q", ["ab", "cd"], "a"), TypeError, r"options\[0\] must be a pair"),
        (("q", [("a", "b"), ("c",)], "a"), TypeError, r"options\[1\] must be a pair"),
        (("q", [("a", "b"), (3, "c")], "a"), TypeError, r"options\[1\] choice must be a str, got int"),
        (("q", [("a", "b"), ("c", "")], "a"), ValueError, r"options\[1\] sentence must not be blank"),
        (("q", [("a", "b")], "a"), ValueError, "at least two options, got 1"),
        (("q", [], "a"), ValueError, "at least two options, got 0"),
        (("q", [("a", "b"), ("`a`", "c"), ("d", "e")], "a"), ValueError, "more than once: 'a'"),
        (("q", [("a", "b"), ("c", "d")], "e"), ValueError, "right must be one of"),
        (("q", [("a", "b"), ("c", "d")], 0), TypeError, "right must be a str, got int"),
        (("q", [("a", "b"), ("c", "d")], None), TypeError, "right must be a str, got NoneType"),
    ],
)
def test_arguments_are_checked(arguments, error, message):
    question, options, right = arguments
    with pytest.raises(error, match=message):
        predict(question, options, right=right)
