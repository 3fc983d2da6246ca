"""Token strips: a letter, a color and words for each position."""

import numpy as np
import pytest

from bert_lab.figures.palette import FATES
from bert_lab.labs import Strip, fates_of, token_strip
from bert_lab.labs.strip import CHOSEN, PENDING

TOKENS = ["[CLS]", "the", "cat", "sat", "<b>"]
FATE = ["S", "M", "-", "R", "K"]
SHOWN = ["[CLS]", "[MASK]", "cat", "dog", "<b>"]


def test_each_box_has_color_letter_and_words():
    html = token_strip(TOKENS, FATE, SHOWN, legend=False)
    assert html.count('role="listitem"') == 5
    boxes = html.split('role="listitem"')[1:]
    for fate, box in zip(FATE, boxes, strict=True):
        color, meaning = FATES[fate]
        assert f"background-color:{color}" in box
        assert f"<b>{fate}</b>" in box
        assert meaning in box
    assert "<s>the</s> [MASK]" in boxes[1]
    assert "position 3, sat: picked, shown as a random token (dog)" in boxes[3]
    assert "&lt;b&gt;" in boxes[4] and "<b>\n" not in html and "<b><" not in html
    assert 'aria-label="Token strip: position 0, [CLS]: special' in html


def test_the_legend_names_every_fate():
    with_legend, without = token_strip(TOKENS, FATE), token_strip(TOKENS, FATE, legend=False)
    legend = with_legend.removeprefix(without)
    assert with_legend.startswith(without) and legend
    for letter, (color, meaning) in FATES.items():
        assert f">{letter}</b> {meaning}" in legend and color in legend


def test_the_framed_position_and_those_to_come():
    html = token_strip(["a", "b", "c"], ["-", CHOSEN, PENDING], at=1, legend=False)
    first, second, third = html.split('role="listitem"')[1:]
    assert "3px solid" in second and "3px solid" not in first + third
    assert "dashed" in third and "not visited yet" in third
    assert "drawn next" in second


def test_the_text_lines_up():
    assert repr(Strip(TOKENS, FATE, SHOWN)) == (
        "token  [CLS]  the     cat  sat  <b>\n"
        "fate   S      M       -    R    K\n"
        "shown         [MASK]       dog  <b>"
    )
    assert repr(Strip([], [])) == ""


@pytest.mark.parametrize(
    ("tokens", "fates", "shown"), [("ab", "-", None), ("ab", "--", "a"), ("", "-", None)]
)
def test_lengths_must_agree(tokens, fates, shown):
    with pytest.raises(ValueError, match="as many fates and shown tokens as tokens"):
        token_strip(tokens, fates, shown)


def test_fates_must_be_known():
    with pytest.raises(ValueError, match="got X Z"):
        token_strip("abc", "ZX-")


def test_fates_are_read_off_the_arrays():
    ids, special = [2, 5, 6, 7, 8, 3], [1, 0, 0, 0, 0, 1]
    inputs, labels = [2, 4, 6, 9, 8, 3], [-100, 5, -100, 7, 8, -100]
    assert fates_of(ids, special, inputs, labels, 4) == ["S", "M", "-", "R", "K", "S"]
    assert fates_of(np.array(ids), np.array(special), np.array(inputs), np.array(labels), 4) == list("SM-RKS")
    assert fates_of([4], [0], [4], [4], 4) == ["M"]  # a literal [MASK] that nobody declared special
    with pytest.raises(ValueError, match="shorter"):
        fates_of(ids, special, inputs[:-1], labels, 4)
