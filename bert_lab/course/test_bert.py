"""The course tests: what any implementation of the contract must do.

Each test takes the implementation as its argument: any namespace with the contract's names, such as the
package `bert_lab` itself, a learner's module, or what `bert_lab.course.mutants.load_mutant` returns. Run one
by hand with `test_hand_example_mlm_mask(bert_lab)`: silence means that it passed.

Source: the course text, section 4; the names of the tests are its names.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bert_lab.rng import PCG32, ScriptedDraws, sample_categorical
from bert_lab.wordpiece import WordPieceTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "##s", "ran", "."]


def small_tokenizer() -> WordPieceTokenizer:
    """[PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, and a few words from 5 on."""
    return WordPieceTokenizer(SPECIALS + WORDS)


def random_batch(seed: int, shape: tuple[int, int], vocab: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids [B, T], rows of [CLS] words [SEP] and padding; and the mask of their specials."""
    rng = PCG32(seed)
    ids = 5 + rng.block(math.prod(shape)).reshape(shape).astype(np.int64) % (vocab - 5)
    ids[:, 0] = 2
    for row in ids:
        length = shape[1] - rng.below(shape[1] // 2)
        row[length - 1] = 3
        row[length:] = 0
    return ids, ids < 5


def test_hand_example_mlm_mask(bert):
    """Agree on the order of draws: a generator that fails on any extra draw replays the worked example.

    Why: with another order of draws the same seed gives another batch, and no two implementations can be
    compared.
    """
    rng = ScriptedDraws(uniforms=[0.05, 0.50, 0.90, 0.10, 0.85], belows=[9])
    ids = np.array([2, 5, 6, 7, 3, 0])  # [CLS] the cat sat [SEP] [PAD]
    special = np.array([True, False, False, False, True, True])
    inputs, labels = bert.mlm_mask(ids, special, 4, 40, 0.15, rng)
    assert np.asarray(inputs).tolist() == [2, 4, 6, 9, 3, 0]
    assert np.asarray(labels).tolist() == [-100, 5, -100, 7, -100, -100]
    assert rng.calls[-1] == ("below", 40, 9)
    rng.finish()


def test_keep_action_still_predicts(bert):
    """A picked token that is shown as it is still has its label.

    Why: the kept tenth teaches the model that a visible token may be right, which it learns only if it is
    asked.
    """
    rng = ScriptedDraws(uniforms=[0.05, 0.95])
    inputs, labels = bert.mlm_mask(np.array([7]), np.array([False]), 4, 40, 0.15, rng)
    assert np.asarray(inputs).tolist() == [7]
    assert np.asarray(labels).tolist() == [7]
    rng.finish()


def test_mask_follows_the_op_order(bert):
    """A batch [4, 32] equals the order of draws replayed on a second generator from the same seed.

    Why: it fixes every draw of a real batch, so that the same seed gives the same batch in every language.
    """
    ids, special = random_batch(1, (4, 32), 40)
    rng, replay = PCG32(2026), PCG32(2026)
    want_inputs, want_labels = ids.copy(), np.full_like(ids, -100)
    for place in np.ndindex(ids.shape):
        if special[place] or replay.uniform() >= 0.5:
            continue
        want_labels[place] = ids[place]
        action = sample_categorical([0.8, 0.1, 0.1], replay.uniform())
        if action == 0:
            want_inputs[place] = 4
        elif action == 1:
            want_inputs[place] = replay.below(40)
    inputs, labels = bert.mlm_mask(ids, special, 4, 40, 0.5, rng)
    np.testing.assert_array_equal(inputs, want_inputs)
    np.testing.assert_array_equal(labels, want_labels)
    assert rng == replay, "the generator must have made exactly the draws of the replay"


def test_mask_rates(bert):
    """The share of picks lies within 4 standard deviations of p; what is shown passes a chi-square test.

    Why: wrong proportions train a different model, and no single example shows them. The seed is fixed: a
    right implementation gives the same counts each time. With a free seed the two tests would raise a false
    alarm about once in 16,000 and once in 10,000 runs.
    """
    vocab, p, n = 1000, 0.15, 40_000
    ids = 5 + PCG32(3).block(n).astype(np.int64) % (vocab - 5)
    inputs, labels = map(np.asarray, bert.mlm_mask(ids, np.zeros(n, bool), 4, vocab, p, PCG32(4)))
    picked = labels != -100
    assert abs(picked.sum() - n * p) < 4 * math.sqrt(n * p * (1 - p))
    shown, original = inputs[picked], ids[picked]
    counts = [(shown == 4).sum(), ((shown != 4) & (shown != original)).sum(), (shown == original).sum()]
    shares = np.array([0.8 + 0.1 / vocab, 0.1 * (vocab - 2) / vocab, 0.1 + 0.1 / vocab])
    assert stats.chisquare(counts, shares * picked.sum()).pvalue > 1e-4


def test_mlm_batch_from_text(bert):
    """Text to WordPiece ids, padding, token types and attention mask; at p = 1 no special token is picked.

    Why: batches come straight from text, and a picked [PAD] or [CLS] would teach the model to predict
    padding.
    """
    tok = small_tokenizer()
    assert list(bert.special_ids(tok)) == [0, 1, 2, 3, 4]
    texts = ["The cat sat", "a dog", ("the cat sat", "dogs ran.")]
    plain = bert.mlm_batch(tok, texts, 12, 0.0, PCG32(5))
    assert {name: np.asarray(rows).tolist() for name, rows in plain.items()} == {
        "input_ids": [
            [2, 5, 6, 7, 3, 0, 0, 0, 0, 0],
            [2, 9, 11, 3, 0, 0, 0, 0, 0, 0],
            [2, 5, 6, 7, 3, 11, 12, 13, 14, 3],
        ],
        "token_type_ids": [[0] * 10, [0] * 10, [0] * 5 + [1] * 5],
        "attention_mask": [[1] * 5 + [0] * 5, [1] * 4 + [0] * 6, [1] * 10],
        "labels": [[-100] * 10] * 3,
    }
    ids = np.asarray(plain["input_ids"])
    masked = bert.mlm_batch(tok, texts, 12, 1.0, PCG32(5))
    np.testing.assert_array_equal(masked["labels"], np.where(ids > 4, ids, -100))
    np.testing.assert_array_equal(np.asarray(masked["input_ids"])[ids < 5], ids[ids < 5])
    np.testing.assert_array_equal(masked["attention_mask"], plain["attention_mask"])


def test_validation(bert):
    """Bad ids, shapes, rates, splits and mask ids are errors, and no draw is made.

    Why: an error in the first minute is cheaper than a model trained for a day on silent garbage.
    """
    ids, special = np.array([2, 5, 6, 3]), np.array([True, False, False, True])
    good = {"ids": ids, "special_mask": special, "mask_id": 4, "vocab": 40, "p": 0.15}
    bad = [
        {"ids": np.array([2, 5, 40, 3])},
        {"ids": np.array([2, 5, -1, 3])},
        {"ids": np.array([2.0, 5.0, 6.0, 3.0])},
        {"special_mask": special[:3]},
        {"special_mask": np.array([2, 0, 0, 1])},
        {"mask_id": 40},
        {"mask_id": -1},
        {"vocab": 0},
        {"p": 1.5},
        {"p": -0.1},
        {"p": math.nan},
    ]
    for change in bad:
        rng = PCG32(6)
        with pytest.raises((TypeError, ValueError)):
            bert.mlm_mask(*{**good, **change}.values(), rng)
        assert rng == PCG32(6), f"a draw was made before {change} was refused"
    tok = small_tokenizer()
    for texts, max_len in (([], 8), ("the cat", 8), ([None], 8), (["the cat"], 1)):
        with pytest.raises((TypeError, ValueError)):
            bert.mlm_batch(tok, texts, max_len, 0.15, PCG32(6))
