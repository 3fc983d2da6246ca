"""Predictions: the question without the answer, then the reader's choice, then the truth."""

import html
import json
import re

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


def visible(bundle):
    """What a reader sees of the static picture: its text, and not the state that lies beside it."""
    return html.unescape(re.sub("<[^>]*>", " ", bundle["text/html"]))


def test_nothing_is_chosen_or_told_at_first():
    p = ask()
    assert p.choice is None and p.correct is None
    assert p.question == QUESTION and p.right == "none" and p.error == ""
    bundle = p._repr_mimebundle_()[0]
    for text in (bundle["text/plain"], visible(bundle)):
        assert "How many uniforms" in text and "two" in text
        assert not any(sentence[:12] in text for _, sentence in OPTIONS)
        assert "right" not in text
    assert bundle["text/plain"] == (
        "Predict: How many uniforms does [CLS] draw?\n  ( ) one\n  ( ) none\n  ( ) two"
    )
    assert bundle["text/html"].endswith(
        "><p><b>Predict</b>: How many uniforms does <code>[CLS]</code> draw?</p>"
        "<ul><li><code>one</code></li><li>none</li><li>two</li></ul>"
        "<p><i>Run this cell in JupyterLab to choose and to see the truth.</i></p></div>"
    )


def test_a_page_finds_all_that_its_script_needs():
    (lab, state) = re.findall(r'data-lab="(\w+)" data-state=\'([^\']*)\'', ask().as_html())[0]
    assert lab == "prediction"
    assert json.loads(html.unescape(state)) == {
        "header": ["Predict", QUESTION],
        "options": [list(option) for option in OPTIONS],
        "right": "none",
        "choice": None,
    }


@pytest.mark.parametrize(("choice", "right"), [("none", True), ("`one`", False), ("two", False)])
def test_a_committed_choice_is_told_to_python(choice, right):
    p = ask()
    p.set_state({"choice": choice})  # as the view does it
    assert p.choice == choice and p.correct is right and p.error == ""


def test_what_is_no_choice_shows_as_an_error_and_the_prediction_goes_on():
    p = ask()
    p.set_state({"choice": "three"})
    assert p.error == "ValueError: choice: expected one of ['`one`', 'none', 'two'], got 'three'"
    assert p.choice is None and p.correct is None
    p.set_state({"choice": "two"})
    assert p.choice == "two" and p.correct is False and p.error == ""
    with pytest.raises(ValueError, match="choice: expected one of"):
        p.choice = "`two`"
    assert p.choice == "two"
    p.choice = None  # asks anew
    assert p.correct is None


def test_the_choice_is_kept_but_the_printed_text_stays_the_question():
    p = ask()
    before = p.as_text(), p.as_html()
    p.choice = "two"
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
