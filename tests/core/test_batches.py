"""Batches: a slow and obvious specification, the public cases, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertTokenizer

from bert_lab import PCG32, ScriptedDraws, WordPieceTokenizer, mlm_batch, mlm_mask
from bert_lab.wordpiece import SPECIAL_TOKENS

WORDS = ["the", "cat", "sat", "on", "a", "mat", "##s", "b", "c", "d"]
TOK = WordPieceTokenizer([*SPECIAL_TOKENS, *WORDS])
PAD, UNK, CLS, SEP, MASK = range(5)
KEYS = ["input_ids", "token_type_ids", "attention_mask", "labels"]
NO_DRAWS = ScriptedDraws([])


def unmasked(texts, max_len, tok=TOK):
    """The batch with nothing picked."""
    return mlm_batch(tok, texts, max_len, 0.0, PCG32(0))


def rows(batch, key):
    return batch[key].tolist()


# The specification, with one piece taken away at a time.


def specification(tok, texts, max_len, p, rng):
    table = []
    for text in texts:
        sides = [tok.encode(side)[1:-1] for side in ([text] if isinstance(text, str) else text)]
        while sum(map(len, sides)) + 1 + len(sides) > max_len:
            longer = 0 if len(sides[0]) > len(sides[-1]) else -1
            sides[longer].pop()
        ids, types = [tok.cls_id], [0]
        for kind, side in enumerate(sides):
            ids += [*side, tok.sep_id]
            types += [kind] * (len(side) + 1)
        table.append((ids, types))
    width = max(len(ids) for ids, _ in table)
    ids = np.array([ids + [tok.pad_id] * (width - len(ids)) for ids, _ in table])
    special = [
        [int(i) in (tok.pad_id, tok.unk_id, tok.cls_id, tok.sep_id, tok.mask_id) for i in row] for row in ids
    ]
    inputs, labels = mlm_mask(ids, special, tok.mask_id, tok.vocab_size, p, rng)
    return {
        "input_ids": inputs,
        "token_type_ids": np.array([types + [0] * (width - len(types)) for _, types in table]),
        "attention_mask": np.array([[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in table]),
        "labels": labels,
    }


SIDES = st.lists(st.sampled_from([*WORDS[:6], "cats", "zebra", *SPECIAL_TOKENS]), max_size=9).map(" ".join)
BATCHES = st.lists(st.one_of(SIDES, st.tuples(SIDES, SIDES)), min_size=1, max_size=5)
SHUFFLED = WordPieceTokenizer(["a", "[SEP]", "[MASK]", *WORDS[:4], "[UNK]", "mat", "[PAD]", "##s", "[CLS]"])


@given(BATCHES, st.integers(3, 24), st.sampled_from([0.0, 0.15, 0.5, 1.0]), st.integers(0, 2**64 - 1))
def test_a_batch_is_what_the_specification_says(texts, max_len, p, seed):
    for tok in (TOK, SHUFFLED):
        ours, theirs = PCG32(seed), PCG32(seed)
        batch = mlm_batch(tok, texts, max_len, p, ours)
        expected = specification(tok, texts, max_len, p, theirs)
        assert list(batch) == KEYS
        for key in KEYS:
            assert batch[key].dtype == np.int64
            np.testing.assert_array_equal(batch[key], expected[key], err_msg=key)
        assert ours == theirs


@given(BATCHES)
def test_an_untruncated_batch_is_that_of_transformers(texts):
    theirs = BertTokenizer(vocab={piece: i for i, piece in enumerate(TOK.vocab)})
    batch = unmasked(texts, 64)
    for i, text in enumerate(texts):
        one = theirs([text] if isinstance(text, str) else [tuple(text)])
        length = len(one["input_ids"][0])
        assert batch["input_ids"][i, :length].tolist() == one["input_ids"][0]
        assert batch["token_type_ids"][i, :length].tolist() == one["token_type_ids"][0]
        assert batch["attention_mask"][i].tolist() == [1] * length + [0] * (
            batch["input_ids"].shape[1] - length
        )


# By hand.


def test_a_batch_of_two_lengths():
    batch = unmasked(["the cat sat", "the"], 8)
    assert rows(batch, "input_ids") == [[CLS, 5, 6, 7, SEP], [CLS, 5, SEP, PAD, PAD]]
    assert rows(batch, "attention_mask") == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert rows(batch, "token_type_ids") == [[0] * 5, [0] * 5]
    assert rows(batch, "labels") == [[-100] * 5] * 2


def test_the_token_types_of_a_pair():
    batch = unmasked([("a", "b b"), "the cat sat on a mat"], 16)
    assert rows(batch, "token_type_ids") == [[0, 0, 0, 1, 1, 1, 0, 0], [0] * 8]
    assert rows(batch, "input_ids")[0] == [CLS, 9, SEP, 12, 12, SEP, PAD, PAD]


def test_a_separator_written_out_does_not_flip_token_types():
    batch = unmasked(["a [SEP] b", ("a [SEP] b", "c")], 16)
    assert rows(batch, "input_ids") == [[CLS, 9, SEP, 12, SEP, PAD, PAD], [CLS, 9, SEP, 12, SEP, 13, SEP]]
    assert rows(batch, "token_type_ids") == [[0] * 7, [0, 0, 0, 0, 0, 1, 1]]


def test_special_tokens_written_out_are_never_picked():
    text = "the [MASK] cat [SEP] [PAD] [UNK] [CLS] zebra sat"
    batch = mlm_batch(TOK, [text, "the"], 16, 1.0, PCG32(3))
    special = [True, False, True, False, True, True, True, True, True, False, True]
    assert [label == -100 for label in rows(batch, "labels")[0]] == special
    assert [i for i, s in zip(rows(batch, "input_ids")[0], special, strict=True) if s] == [
        2,
        4,
        3,
        0,
        1,
        2,
        1,
        3,
    ]
    assert rows(batch, "attention_mask") == [
        [1] * 11,
        [1] * 3 + [0] * 8,
    ]  # a [PAD] in a text is a real position


def test_no_special_position_is_picked_at_p_1():
    batch = mlm_batch(TOK, ["the cat", "a", ""], 8, 1.0, PCG32(1))
    assert rows(batch, "labels") == [[-100, 5, 6, -100], [-100, 9, -100, -100], [-100, -100, -100, -100]]
    padding = batch["attention_mask"] == 0
    assert (batch["input_ids"][padding] == PAD).all()


def test_a_random_token_may_be_pad_and_stays_a_real_position():
    rng = ScriptedDraws([0.0, 0.85, 0.0, 0.85], [PAD, MASK])
    batch = mlm_batch(TOK, ["the cat"], 8, 0.15, rng)
    rng.finish()
    assert rows(batch, "input_ids") == [[CLS, PAD, MASK, SEP]]
    assert rows(batch, "attention_mask") == [[1, 1, 1, 1]]
    assert rows(batch, "labels") == [[-100, 5, 6, -100]]


@pytest.mark.parametrize("blank", ["", " ", "\n", "\u200b"])
def test_a_blank_text_is_cls_and_sep_and_draws_nothing(blank):
    batch = mlm_batch(TOK, [blank, blank], 8, 1.0, NO_DRAWS)
    assert rows(batch, "input_ids") == [[CLS, SEP]] * 2
    assert rows(batch, "attention_mask") == [[1, 1]] * 2
    assert rows(batch, "labels") == [[-100, -100]] * 2


@pytest.mark.parametrize(
    ("pair", "max_len", "kept"),
    [
        (("a a a", "b b b"), 9, (3, 3)),
        (("a a a", "b b b"), 8, (3, 2)),  # a tie: the second loses
        (("a a a", "b b b"), 7, (2, 2)),
        (("a a a a a", "b"), 6, (2, 1)),  # the longer one loses
        (("a", "b b b b b"), 6, (1, 2)),
        (("a a a a a", "b b b"), 10, (4, 3)),
        (("a a", ""), 4, (1, 0)),
        (("", "b b"), 4, (0, 1)),
        (("a", "b"), 4, (1, 0)),
        (("a", "b"), 3, (0, 0)),
        (("", ""), 3, (0, 0)),
    ],
)
def test_of_a_pair_the_longer_side_loses_and_on_a_tie_the_second(pair, max_len, kept):
    first, second = kept
    expected = [CLS, *[9] * first, SEP, *[12] * second, SEP]
    assert rows(unmasked([pair], max_len), "input_ids") == [expected]


def test_truncation_keeps_cls_and_sep():
    assert rows(unmasked(["the cat sat on a mat"], 5), "input_ids") == [[CLS, 5, 6, 7, SEP]]
    assert rows(unmasked(["the cat", ""], 2), "input_ids") == [[CLS, SEP]] * 2
    # A separator written out in a text counts as text: it goes with what is cut off, and the row's own stays.
    assert rows(unmasked(["a [SEP] b c"], 4), "input_ids") == [[CLS, 9, SEP, SEP]]
    assert rows(unmasked(["a a [SEP] b"], 4), "input_ids") == [[CLS, 9, 9, SEP]]


def test_the_batch_is_as_wide_as_its_longest_row_and_no_wider():
    assert unmasked(["the", "the cat"], 512)["input_ids"].shape == (2, 4)
    assert unmasked(["the cat sat on", "the"], 4)["input_ids"].shape == (2, 4)


def test_one_seed_one_batch_and_the_next_call_goes_on():
    texts = ["the cat sat on a mat"] * 4
    rng = PCG32(7)
    first, second = (mlm_batch(TOK, texts, 16, 0.5, rng) for _ in range(2))
    np.random.seed(0)
    again = mlm_batch(TOK, texts, 16, 0.5, PCG32(7))
    for key in KEYS:
        np.testing.assert_array_equal(first[key], again[key])
    assert (first["labels"] != second["labels"]).any()


def test_split_is_handed_on():
    kept = mlm_batch(TOK, ["the cat"], 8, 1.0, PCG32(0), split=(0.0, 0.0, 1.0))
    assert rows(kept, "input_ids") == [[CLS, 5, 6, SEP]]
    hidden = mlm_batch(TOK, ["the cat"], 8, 1.0, PCG32(0), split=(1.0, 0.0, 0.0))
    assert rows(hidden, "input_ids") == [[CLS, MASK, MASK, SEP]]


def test_texts_may_come_in_any_ordered_collection():
    expected = unmasked(["the", ("a", "b")], 8)
    for texts in (("the", ["a", "b"]), iter(["the", ("a", "b")]), (t for t in ["the", ("a", "b")])):
        for key, array in unmasked(texts, 8).items():
            np.testing.assert_array_equal(array, expected[key])


# What is refused, and never moves the generator.


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"texts": []}, ValueError, "texts: expected at least one text, got none"),
        ({"texts": iter([])}, ValueError, "texts: expected at least one text, got none"),
        ({"texts": "the cat"}, TypeError, "a list of texts, got str 'the cat'"),
        ({"texts": b"the cat"}, TypeError, "a list of texts, got bytes"),
        ({"texts": None}, TypeError, "a list of texts, got NoneType"),
        ({"texts": 3}, TypeError, "a list of texts, got int"),
        ({"texts": {"the", "cat"}}, TypeError, "a list of texts, got set"),
        ({"texts": {"the": "cat"}}, TypeError, "a list of texts, got dict"),
        ({"texts": [None]}, TypeError, r"got NoneType None at texts\[0\]"),
        ({"texts": ["the", 3]}, TypeError, r"got int 3 at texts\[1\]"),
        ({"texts": ["the", b"the"]}, TypeError, r"got bytes b'the' at texts\[1\]"),
        ({"texts": [float("nan")]}, TypeError, r"got float nan at texts\[0\]"),
        ({"texts": [("a", "b", "c")]}, TypeError, r"got tuple \('a', 'b', 'c'\) at texts\[0\]"),
        ({"texts": [("a", None)]}, TypeError, r"got tuple \('a', None\) at texts\[0\]"),
        ({"texts": [[5, 6, 7]]}, TypeError, r"got list \[5, 6, 7\] at texts\[0\]"),
        ({"texts": ["the \ud800"]}, ValueError, r"lone surrogate U\+D800 at 4"),
        ({"max_len": 1}, ValueError, "max_len: expected at least 2, for "),
        ({"max_len": 0}, ValueError, "max_len: expected at least 2, for "),
        ({"max_len": -8}, ValueError, "max_len: expected at least 2, for "),
        (
            {"max_len": 2, "texts": ["a", ("a", "b")]},
            ValueError,
            "max_len: expected at least 3, for .* got 2",
        ),
        ({"max_len": 8.0}, TypeError, "max_len: expected an integer, got 8.0"),
        ({"max_len": True}, TypeError, "max_len: expected an integer, got True"),
        ({"max_len": None}, TypeError, "max_len: expected an integer, got None"),
        ({"max_len": "8"}, TypeError, "max_len: expected an integer, got '8'"),
        ({"p": 15}, ValueError, "^p: "),
        ({"p": -0.1}, ValueError, "^p: "),
        ({"p": float("nan")}, ValueError, "^p: "),
        ({"p": True}, TypeError, "^p: "),
        ({"p": "0.15"}, TypeError, "^p: "),
        ({"split": (0.8, 0.1)}, ValueError, "^split: "),
        ({"tok": None}, TypeError, "expected a WordPieceTokenizer, got NoneType"),
        ({"tok": "bert-base-uncased"}, TypeError, "expected a WordPieceTokenizer, got str"),
    ],
)
def test_refused(change, error, message):
    rng = PCG32(5)
    arguments = {
        "tok": TOK,
        "texts": ["the cat"],
        "max_len": 8,
        "p": 0.15,
        "split": (0.8, 0.1, 0.1),
        **change,
    }
    with pytest.raises(error, match=message):
        mlm_batch(**arguments, rng=rng)
    assert rng == PCG32(5)


@pytest.mark.parametrize("rng", [None, 42, np.random.default_rng(0)])
def test_a_seed_is_no_generator(rng):
    with pytest.raises(TypeError, match=r"^rng: "):
        mlm_batch(TOK, ["the cat"], 8, 0.15, rng)


def test_numpy_integers_are_integers():
    assert unmasked(["the cat sat"], np.int16(4))["input_ids"].shape == (1, 4)
