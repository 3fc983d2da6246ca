"""Worksheets: every seed gives a sentence that can be masked by hand, and the key is what the hand finds."""

import pytest

from bert_lab import PCG32, ScriptedDraws, mlm_mask
from bert_lab.labs import worksheet
from bert_lab.labs.worksheets import MASK_ID, TINY_VOCAB, P, V


def test_the_vocabulary_is_that_of_the_hand_example():
    assert V == len(set(TINY_VOCAB)) == 40
    assert [TINY_VOCAB[i] for i in (2, 5, 6, 7, 3, 0, 4)] == [
        "[CLS]",
        "the",
        "cat",
        "sat",
        "[SEP]",
        "[PAD]",
        "[MASK]",
    ]


@pytest.mark.parametrize("seeds", [range(150), [2**32, 2**63, 2**64 - 1]])
def test_the_printed_draws_give_the_key(seeds):
    for seed in seeds:
        sheet = worksheet(seed)
        arguments = (sheet.ids, sheet.special_mask, MASK_ID, V, P)
        printed = ScriptedDraws(sheet.uniforms, sheet.belows)  # what a student has: two digits
        exact = PCG32(seed, sheet.stream)
        for rng in (printed, exact):
            inputs, labels = mlm_mask(*arguments, rng)
            assert (sheet.inputs, sheet.labels) == (inputs.tolist(), labels.tolist())
        assert 6 <= len(sheet.ids) <= 7
        assert sum(label != -100 for label in sheet.labels) >= 2
        assert not set(sheet.uniforms) & {0.15, 0.8, 0.9}
        uniforms = sum(call[0] == "uniform" for call in printed.calls)
        belows = len(printed.calls) - uniforms
        assert f"{uniforms} uniforms and {belows} below(40) are used." in repr(sheet)
        words = sum(not special for special in sheet.special_mask)
        assert (len(sheet.uniforms), len(sheet.belows)) == (2 * words, 2)  # the count gives nothing away


def test_seeds_give_different_sheets_and_one_seed_the_same():
    sheets = [repr(worksheet(seed, key=False)) for seed in range(40)]
    assert len({sheet.split("\n", 1)[1] for sheet in sheets}) >= 39
    assert repr(worksheet(3)) == repr(worksheet(3))
    assert worksheet(3)._repr_html_() == worksheet(3)._repr_html_()


def test_all_three_actions_come_up():
    fates = {fate for seed in range(40) for fate in worksheet(seed).fates}
    assert fates == set("S-MRK")


def test_the_key_can_be_left_out():
    for seed in range(20):
        blank, full = worksheet(seed, key=False), worksheet(seed)
        for text in (repr(blank), blank._repr_html_()):
            assert "label" in text and "key" not in text.lower() and "-100" not in text and "used" not in text
            assert f"uniforms, in order: {blank.uniforms[0]:.2f}" in text
        for text in (repr(full), full._repr_html_()):
            assert "Answer key" in text and f"inputs {full.inputs}" in text and "-100" in text
        assert repr(full).startswith(repr(blank))  # the sheet to fill in comes first, then the key
        sheet, _, key = full._repr_html_().partition("<details>")
        assert "-100" not in sheet and "-100" in key and key.endswith("</details></div>")


def test_the_key_reads_like_the_hand_example():
    rows = worksheet(7).rows(key=True)
    assert rows == [
        ("0", "[CLS]", "2", "yes", "none", "", "", "2", "-100"),
        ("1", "our", "12", "no", "0.07, 0.96", "yes", "keep", "12", "12"),
        ("2", "cat", "6", "no", "0.14, 0.38", "yes", "[MASK]", "4", "6"),
        ("3", "waited", "34", "no", "0.61", "no", "", "34", "-100"),
        ("4", "[SEP]", "3", "yes", "none", "", "", "3", "-100"),
        ("5", "[PAD]", "0", "yes", "none", "", "", "0", "-100"),
    ]


@pytest.mark.parametrize(
    ("seed", "key", "error"),
    [
        ("7", True, TypeError),
        (1.0, True, TypeError),
        (True, True, TypeError),
        (None, True, TypeError),
        (-1, True, ValueError),
        (2**64, True, ValueError),
        (7, "yes", TypeError),
        (7, 0, TypeError),
    ],
)
def test_arguments_are_checked(seed, key, error):
    with pytest.raises(error):
        worksheet(seed, key=key)
