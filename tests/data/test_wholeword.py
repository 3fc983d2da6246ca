"""Whole words against the slow specification, by hand, against piece-wise masking, and bad input."""

import json

import make_masking_vectors
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow_mask_words

from bert_lab import PCG32, ScriptedDraws, mlm_mask
from bert_lab.course import plain
from bert_lab.data.wholeword import mask_whole_words
from bert_lab.masking import BERT_SPLIT

CLS, SEP, MASK = 2, 3, 4


def mask(ids, continues, p, rng, *, vocab=40, **options):
    special = np.asarray(np.asarray(ids) < 5)
    inputs, labels = mask_whole_words(ids, special, continues, MASK, vocab, p, rng, **options)
    return inputs.tolist(), labels.tolist()


# --- by hand


def test_a_word_of_three_pieces_is_picked_as_one_and_each_piece_has_its_own_action():
    # [CLS] the play ##ful ##ly cat [SEP]: one uniform a word; three actions, one of them random.
    rng = ScriptedDraws([0.90, 0.10, 0.50, 0.85, 0.95, 0.20], [9])
    got = mask([CLS, 5, 11, 12, 13, 6, SEP], [0, 0, 0, 1, 1, 0, 0], 0.15, rng)
    assert got == ([CLS, 5, MASK, 9, 13, 6, SEP], [-100, -100, 11, 12, 13, -100, -100])
    rng.finish()
    assert [call[0] for call in rng.calls] == ["uniform"] * 4 + ["below"] + ["uniform"] * 2


def test_a_special_token_ends_a_word_and_is_never_picked():
    # play [MASK] ##ful: the last piece has no word to continue, so it starts one, whatever [MASK]'s flag is.
    for flags in ([0, 0, 1], [0, 1, 1]):
        rng = ScriptedDraws([0.0, 0.0, 0.9])
        assert mask([11, MASK, 12], flags, 0.15, rng) == ([MASK, MASK, 12], [11, -100, -100])
        rng.finish()
    assert mask([CLS, SEP], [1, 1], 1.0, ScriptedDraws()) == ([CLS, SEP], [-100, -100])


def test_the_first_piece_of_a_row_starts_a_word():
    rng = ScriptedDraws([0.0, 0.0, 0.9])
    got = mask([[5, 11], [12, 13]], [[0, 1], [1, 1]], 0.15, ScriptedDraws([0.0, 0.0, 0.95, 0.9]))
    assert got == ([[MASK, 11], [12, 13]], [[5, 11], [-100, -100]])
    assert mask([12, 6], [1, 0], 0.15, rng)[1] == [12, -100]
    # Rows lie along the last axis, and one number is a row of its own.
    cube = mask(np.full((2, 2, 2), 7), np.ones((2, 2, 2)), 0.15, ScriptedDraws([0.9, 0.9, 0.9, 0.9]))
    assert np.ravel(cube[1]).tolist() == [-100] * 8
    assert mask(np.array(7), np.array(True), 1.0, ScriptedDraws([0.5, 0.5])) == (MASK, 7)


# --- the specification


@st.composite
def grids(draw):
    height, width = draw(st.integers(1, 4)), draw(st.integers(0, 12))

    def grid(cells):
        row = st.lists(cells, min_size=width, max_size=width)
        return draw(st.lists(row, min_size=height, max_size=height))

    return grid(st.integers(0, 11)), grid(st.booleans())


@given(
    grids(),
    st.sampled_from([0.0, 0.15, 0.5, 1.0]),
    st.integers(0, 2**64 - 1),
    st.sampled_from([BERT_SPLIT, (0, 1, 0), (0.2, 0.6, 0.2)]),
    st.sampled_from([12, 2**31 + 1]),
)
def test_whole_words_follow_the_specification(grid, p, seed, split, vocab):
    ids, continues = grid
    special = [[x < 5 for x in row] for row in ids]
    rng, slow = PCG32(seed), plain.PCG32(seed)
    want = slow_mask_words(ids, special, continues, MASK, vocab, p, slow, split)
    assert mask(ids, continues, p, rng, vocab=vocab, split=split) == want
    assert rng.state == slow.state


@given(grids(), st.sampled_from([0.15, 0.5, 1.0]), st.integers(0, 2**64 - 1))
def test_words_of_one_piece_are_masked_as_pieces_are(grid, p, seed):
    ids, _ = grid
    ours, pieces = PCG32(seed), PCG32(seed)
    got = mask(ids, np.zeros(np.shape(ids)), p, ours)
    want = mlm_mask(ids, np.asarray(ids) < 5, MASK, 40, p, pieces)
    assert got == tuple(array.tolist() for array in want)
    assert ours == pieces


def test_words_are_picked_at_the_rate_p_and_actions_at_the_split():
    from scipy import stats

    ids = np.full((500, 40), 7)
    continues = np.arange(40) % 4 > 0  # words of four pieces
    rng = PCG32(1)
    inputs, labels = mask_whole_words(
        ids, np.zeros(ids.shape), np.tile(continues, (500, 1)), MASK, 30522, 0.15, rng
    )
    words = (labels == 7).reshape(500, 10, 4)
    assert (words.all(-1) == words.any(-1)).all(), "a word is picked as a whole"
    picked = int(words.any(-1).sum())
    assert abs(picked - 750) < 4 * np.sqrt(5000 * 0.15 * 0.85)
    shown = inputs.reshape(500, 10, 4)[words.any(-1)]  # [picked, 4]
    counts = [(shown == MASK).sum(), ((shown != MASK) & (shown != 7)).sum(), (shown == 7).sum()]
    assert stats.chisquare(counts, np.array([0.8, 0.1, 0.1]) * 4 * picked).pvalue > 0.001
    # Each piece draws its own action: were they one action a word, no word would show two fates.
    mixed = ((shown == MASK).any(1) & (shown != MASK).any(1)).mean()
    assert abs(mixed - (1 - 0.8**4 - 0.2**4)) < 4 * np.sqrt(0.25 / picked)


# --- golden vectors

CASES = json.loads(make_masking_vectors.PATH.read_text(encoding="utf-8"))["whole_words"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden_cases(case):
    names = ("ids", "special_mask", "continues", "mask_id", "vocab", "p")
    rng, slow = PCG32(case["seed"], case["stream"]), plain.PCG32(case["seed"], case["stream"])
    inputs, labels = mask_whole_words(*(case[name] for name in names), rng, split=case["split"])
    assert (inputs.tolist(), labels.tolist()) == (case["inputs"], case["labels"])
    assert rng.state == case["state"] == int(case["state_hex"], 16)

    rows = [np.atleast_2d(case[name]).tolist() for name in names[:3]]
    want = slow_mask_words(*rows, *(case[name] for name in names[3:]), slow, case["split"])
    assert want == tuple(np.atleast_2d(case[name]).tolist() for name in ("inputs", "labels"))
    assert slow.state == case["state"]


def test_golden_cases_hold_picked_words_of_many_pieces():
    labels, continues = (CASES[5][name] for name in ("labels", "continues"))
    runs = [
        (a >= 0 and b >= 0, c)
        for row, flags in zip(labels, continues, strict=True)
        for a, b, c in zip(row, row[1:], flags[1:], strict=False)
    ]
    assert (True, 1) in runs and (False, 0) in runs


# --- what comes in and what goes out


def test_results_are_int64_and_their_own_and_inputs_are_left_alone():
    for ids in (np.array([5, 6, 7], np.uint8), torch.tensor([5, 6, 7]), [5, 6, 7]):
        flags = torch.tensor([0, 1, 1])
        inputs, labels = mask_whole_words(ids, np.zeros(3), flags, MASK, 40, 1.0, PCG32(1))
        assert (inputs.dtype, labels.dtype) == (np.int64, np.int64)
        assert labels.tolist() == [5, 6, 7]
        inputs[:], labels[:] = 0, 0
        assert [int(x) for x in ids] == [5, 6, 7] and flags.tolist() == [0, 1, 1]


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_empty_comes_back_empty_and_draws_nothing(shape):
    rng = PCG32(1)
    inputs, labels = mask_whole_words(np.zeros(shape, int), np.zeros(shape), np.zeros(shape), 4, 40, 1.0, rng)
    assert inputs.shape == labels.shape == shape
    assert rng == PCG32(1)


GOOD = {
    "ids": [2, 5, 6, 3],
    "special_mask": [1, 0, 0, 1],
    "continues": [0, 0, 1, 0],
    "mask_id": 4,
    "vocab": 40,
    "p": 1.0,
}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"continues": [0, 0, 1]}, ValueError, r"continues: expected the shape of ids, \(4,\), got \(3,\)"),
        ({"continues": [[0, 0, 1, 0]]}, ValueError, r"continues: .* got \(1, 4\)"),
        ({"continues": [0, 0, 2, 0]}, ValueError, "continues: expected booleans or 0/1, got 2"),
        ({"continues": None}, TypeError, "continues: expected a list, NumPy array or CPU tensor"),
        ({"continues": ["", "", "##", ""]}, TypeError, "continues: expected booleans or 0/1"),
        ({"ids": [2, 5.0, 6, 3]}, TypeError, "ids: expected integers"),
        ({"ids": [2, 5, 40, 3]}, ValueError, "ids: expected ids from 0 to 39, got 40"),
        ({"special_mask": [1, 0]}, ValueError, "special_mask: expected the shape of ids"),
        ({"mask_id": 40}, ValueError, "mask_id: expected an integer from 0 to 39"),
        ({"p": 1.5}, ValueError, "p: expected a probability"),
        ({"split": (0.8, 0.1)}, ValueError, "split: expected three"),
    ],
)
def test_bad_input_is_named_and_draws_nothing(change, error, message):
    rng = PCG32(1)
    with pytest.raises(error, match=message):
        mask_whole_words(**{**GOOD, **change}, rng=rng)
    assert rng == PCG32(1)


def test_a_generator_is_needed():
    with pytest.raises(TypeError, match=r"rng: expected a generator with .* got int"):
        mask_whole_words(**GOOD, rng=42)
