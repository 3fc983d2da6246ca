"""What the attention lab and the predictions say on a page, where no Python runs."""

import javascript
import numpy as np
import pytest

from bert_lab.labs import js_lab
from bert_lab.labs.attention_data import BOTH, CAUSAL, AttentionData, as_json, attention_data, levels
from bert_lab.training.shipped import manual_bert

if javascript.NODE is None:
    pytest.skip("no Node on this machine: the labs' views were not run", allow_module_level=True)


def test_the_truth_comes_with_a_sentence_for_each_choice_the_right_one_first():
    options = [["`a`", "It is a."], ["b", "It is b."], ["c", "It is c."]]
    wrong, right = javascript.run(
        "told", [{"choice": "`a`"}, {"choice": "b"}], {"options": options, "right": "b"}
    )
    rows = [["b", "is right", "It is b."], ["`a`", "is wrong", "It is a."], ["c", "is wrong", "It is c."]]
    assert wrong == {"right": False, "said": "you said `a`.", "rows": rows}
    assert right == {"right": True, "said": "b.", "rows": rows}


def test_a_level_is_written_so_that_zero_is_told_from_nearly_zero():
    values = [0.0, 1e-6, 0.07, 1.0, 12.34]
    items = [{"level": level} for level in levels(values).tolist()]
    assert javascript.run("written", items) == ["0", "0.00", "0.07", "1.00", "12.34"]


@pytest.mark.parametrize("reads", [BOTH, CAUSAL])
def test_a_page_draws_what_python_computes(reads):
    """For each stored sentence, with and without padding."""
    model, tok = manual_bert()
    stored = js_lab.sentences()
    states = [
        {
            "text": entry["text"],
            "pair": entry["pair"],
            "reads": reads,
            "padding": padding,
            "layer": 1,
            "head": 2,
        }
        for entry in stored
        for padding in (0, 3)
    ]
    drawn = javascript.run("attention", states, {"sentences": stored})
    assert len(drawn) == 24
    for state, found in zip(states, drawn, strict=True):
        looked = attention_data(
            model, tok, state["text"], state["pair"], reads=reads, padding=state["padding"]
        )
        assert found["tokens"] == looked.tokens
        for name in ("maps", "influence"):
            ours, theirs = levels(getattr(looked, name)), np.array(found[name])
            assert ours.shape == theirs.shape and ((ours == 0) == (theirs == 0)).all()
            assert abs(ours - theirs).max() <= 1, "machines may round the last digit otherwise"


def test_in_jupyter_the_view_draws_what_the_lab_sends_and_says_it():
    maps = np.zeros((2, 2, 3, 3))
    maps[1, 1] = [[0.002, 0.998, 0.0], [0.25, 0.25, 0.5], [0.0, 0.0, 0.0]]
    moved = np.array([[0.5, 1.5, 0.0], [0.0, 2.25, 0.0], [0.0, 0.0, 0.0]])
    shown = as_json(AttentionData(["not", "<b>", "[PAD]"], maps, moved))
    (found,) = javascript.run("attention", [{"shown": shown, "layer": 1, "head": 1}])
    assert found["maps"] == levels(maps).tolist() and found["influence"] == levels(moved).tolist()
    assert found["said"] == [
        "layer 1, head 1: position 0, not, looks most at <b> (1.00).",
        "layer 1, head 1: position 1, <b>, looks most at [PAD] (0.50), not (0.25), <b> (0.25).",
        "layer 1, head 1: position 2, [PAD], is padding: it is not computed, and nobody looks at it.",
    ]
    zeros = "6 of 9 entries are exactly zero. The output at position "
    assert [text.removeprefix(zeros) for text in found["moves"]] == [
        "0 (not) moves most when position 1 (<b>) changes (1.50).",
        "1 (<b>) moves most when its own token changes (2.25).",
        "2 ([PAD]) is not moved by any token.",
    ]


def test_without_values_there_is_nothing_to_draw():
    stored, state = js_lab.sentences(), {"pair": "", "reads": BOTH, "padding": 0, "layer": 0, "head": 0}
    assert javascript.run("attention", [state | {"shown": {}}]) == [None]
    assert javascript.run("attention", [state | {"text": "another one"}], {"sentences": stored}) == [
        'Error: this page has no values of the sentence "another one"'
    ]
