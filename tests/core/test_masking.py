"""Masking by hand, its blocks against its loop, golden vectors, and bad input; see also `test_plain`."""

import json
import math
import random
from fractions import Fraction

import make_masking_vectors
import numpy as np
import pytest
import torch

from bert_lab import PCG32, ScriptedDraws, fast_masking, mlm_mask
from bert_lab.course import plain
from bert_lab.fast_masking import mask_in_blocks
from bert_lab.masking import _mask_one_by_one

VECTORS = json.loads(make_masking_vectors.PATH.read_text(encoding="utf-8"))


def specials_of(ids, specials=(0, 1, 2, 3, 4)):
    return np.isin(np.asarray(ids), specials)


def mask(ids, p, rng, *, vocab=40, **options):
    inputs, labels = mlm_mask(ids, specials_of(ids), 4, vocab, p, rng, **options)
    return inputs.tolist(), labels.tolist()


# --- the order of draws


def test_hand_example():
    rng = ScriptedDraws([0.05, 0.50, 0.90, 0.10, 0.85], [9])
    assert mask([2, 5, 6, 7, 3, 0], 0.15, rng) == ([2, 4, 6, 9, 3, 0], [-100, 5, -100, 7, -100, -100])
    rng.finish()
    assert [call[0] for call in rng.calls] == ["uniform"] * 5 + ["below"]


def test_specials_draw_nothing_and_come_back_unchanged():
    rng = ScriptedDraws([0.0, 0.0])
    assert mask([[2, 5, 3, 0, 0]], 1.0, rng) == ([[2, 4, 3, 0, 0]], [[-100, 5, -100, -100, -100]])
    rng.finish()
    assert mask([[2, 3]], 1.0, ScriptedDraws()) == ([[2, 3]], [[-100, -100]])


def test_the_action_has_a_draw_of_its_own():
    assert mask([[5]], 0.15, ScriptedDraws([0.05, 0.50])) == ([[4]], [[5]])
    assert mask([[5]], 0.15, ScriptedDraws([0.05, 0.95])) == ([[5]], [[5]])
    assert mask([[5]], 0.15, ScriptedDraws([0.15])) == ([[5]], [[-100]])  # u = p is no pick


def test_each_piece_is_masked_by_itself():
    # playing ##ly
    assert mask([2, 11, 12, 3], 1.0, ScriptedDraws([0.0, 0.1, 0.0, 0.95])) == (
        [2, 4, 12, 3],
        [-100, 11, 12, -100],
    )


def test_a_random_token_may_be_any_id_and_is_drawn_once():
    assert mask([5, 6], 1.0, ScriptedDraws([0, 0.85, 0, 0.85], [0, 4])) == ([0, 4], [5, 6])
    assert mask([7], 1.0, ScriptedDraws([0, 0.85], [7])) == ([7], [7])


def test_p_zero_draws_one_uniform_a_candidate_and_picks_none():
    rng = ScriptedDraws([0.0, 0.0])
    assert mask([2, 5, 6, 3], 0, rng) == ([2, 5, 6, 3], [-100] * 4)
    rng.finish()


def test_c_order_whatever_the_memory_layout():
    ids = np.arange(5, 29).reshape(2, 3, 4)
    want = mask(ids, 0.5, PCG32(3))
    assert mask(np.asfortranarray(ids), 0.5, PCG32(3)) == want
    assert mask(ids[::-1][::-1], 0.5, PCG32(3)) == want
    flat = mask(ids.ravel(), 0.5, PCG32(3))
    assert np.ravel(want[0]).tolist() == flat[0]


def test_position_by_position_is_the_same_as_all_at_once():
    ids, rng = list(range(5, 40)), PCG32(8)
    together = mask(ids, 0.5, PCG32(8))
    alone = [mask([x], 0.5, rng) for x in ids]
    assert together == ([a[0][0] for a in alone], [a[1][0] for a in alone])


def test_calls_go_on_where_the_last_one_stopped_and_seeds_repeat():
    ids = [[5, 6, 7, 8, 9, 10, 11, 12]]
    rng = PCG32(21)
    first, second = mask(ids, 0.5, rng), mask(ids, 0.5, rng)
    assert first != second
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    assert mask(ids, 0.5, PCG32(21)) == first


def test_a_word_is_compared_with_p_and_the_split_exactly():
    word, action, then = PCG32(42).block(3).tolist()
    for half, picked in ((0.5, True), (0.0, False)):  # just above the word, and no more than it
        _, labels = mlm_mask([5], [0], 3, 9, (word + half) / 2**32, PCG32(42))
        assert (labels[0] == 5) == picked
        first = (action + half) / 2**32
        inputs, _ = mlm_mask([5], [0], 3, 9, 1.0, PCG32(42), split=(first, 1 - first, 0))
        assert inputs[0] == (3 if picked else then % 9)
        inputs, _ = mlm_mask([5], [0], 3, 9, 1.0, PCG32(42), split=(0, first, 1 - first))
        assert inputs[0] == (then % 9 if picked else 5)


# --- the twin


def assert_twins(ids, special, vocab, p, seed, split):
    """Both ways give the same arrays and leave the generator in the same state."""
    a, b = PCG32(seed), PCG32(seed)
    ids, special = np.array(ids, np.int64), np.array(special, bool)
    in_blocks = mask_in_blocks(ids, special, 0, vocab, p, a, split)
    by_loop = _mask_one_by_one(ids, special, 0, vocab, p, b, split)
    np.testing.assert_array_equal(in_blocks, by_loop)
    assert a == b


@pytest.mark.parametrize("p", [0.0, 0.15, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("vocab", [40, 2**31 + 1])
def test_twin_equals_loop_on_large_batches(p, vocab):
    special = PCG32(1).block(20_000) < 2**30
    assert_twins(np.arange(20_000) % 40, special, vocab, p, 11, (0.5, 0.3, 0.2))


@pytest.mark.parametrize("name, value", [("_MOST", 50), ("_SPARE", 3), ("_ROUNDS", 0), ("_ROUNDS", 1)])
def test_twin_equals_loop_whatever_its_block_sizes(monkeypatch, name, value):
    monkeypatch.setattr(fast_masking, name, value)
    for seed in range(12):
        for vocab in (40, 2**31 + 1):
            assert_twins(np.arange(300) % 40, np.zeros(300, bool), vocab, 0.6, seed, (0.2, 0.6, 0.2))


def test_twin_survives_rejections_longer_than_its_block(monkeypatch):
    monkeypatch.setattr(fast_masking, "_MOST", 1)
    monkeypatch.setattr(fast_masking, "_SPARE", 3)
    for seed in range(40):
        assert_twins([5, 6, 7], [False] * 3, 2**31 + 1, 1.0, seed, (0.0, 1.0, 0.0))


def test_a_subclass_with_draws_of_its_own_is_asked_for_them():
    class Zeros(PCG32):
        def uniform(self):
            return 0.0

    assert mask([5, 6], 0.15, Zeros(1)) == ([4, 4], [5, 6])


# --- golden vectors


def test_vectors_are_current_and_say_how_they_were_made():
    assert make_masking_vectors.vectors_json() == make_masking_vectors.PATH.read_text(encoding="utf-8")
    assert "python tests/assets/make_masking_vectors.py" in VECTORS["about"]
    assert len(VECTORS["cases"]) >= 24


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_golden_cases(case):
    arguments = [case[name] for name in ("ids", "special_mask", "mask_id", "vocab", "p")]
    for generator, masking in ((PCG32, mlm_mask), (plain.PCG32, plain.mlm_mask)):
        rng = generator(case["seed"], case["stream"])
        inputs, labels = masking(*arguments, rng, split=case["split"])
        assert inputs.tolist() == case["inputs"]
        assert labels.tolist() == case["labels"]
        assert rng.state == case["state"] == int(case["state_hex"], 16)


def test_golden_generators_and_categoricals():
    for case in VECTORS["generators"]:
        seed, stream = int(case["seed_hex"], 16), int(case["stream_hex"], 16)
        rng, slow = PCG32(seed, stream), plain.PCG32(seed, stream)
        assert rng.state == slow.state == int(case["first_state_hex"], 16)
        assert [slow.next_u32() for _ in range(6)] == rng.copy().block(6).tolist() == case["words"]
        slow = plain.PCG32(seed, stream)
        assert [slow.uniform() for _ in range(3)] == case["uniforms"]
        assert [slow.below(40) for _ in range(3)] == case["below_40"]
        assert [slow.below(3 * 2**30) for _ in range(6)] == case["below_3221225472"]
        assert slow.state == int(case["state_hex"], 16)
    for case in VECTORS["categorical"]:
        assert plain.sample_categorical(case["weights"], case["u"]) == case["index"]


def test_golden_cases_reach_rejections_and_neighboring_picks():
    labels = [np.ravel(case["labels"]) for case in VECTORS["cases"]]
    assert any(((row[1:] >= 0) & (row[:-1] >= 0)).any() for row in labels if row.size)

    def rejects(case):
        calls = []

        class Counting(plain.PCG32):
            def next_u32(self):
                calls.append("word")
                return super().next_u32()

            def below(self, n):
                before = len(calls)
                value = super().below(n)
                calls.extend(["rejected"] * (len(calls) - before - 1))
                return value

        arguments = [case[name] for name in ("ids", "special_mask", "mask_id", "vocab", "p")]
        plain.mlm_mask(*arguments, Counting(case["seed"], case["stream"]), split=case["split"])
        return "rejected" in calls

    assert sum(map(rejects, VECTORS["cases"])) >= 2


# --- what comes in and what goes out


@pytest.mark.parametrize(
    "ids",
    [
        [[5, 6], [7, 8]],
        ((5, 6), (7, 8)),
        np.array([[5, 6], [7, 8]], np.uint8),
        np.array([[5, 6], [7, 8]], ">i2"),
        np.array([[5, 6], [7, 8]], np.uint64),
        torch.tensor([[5, 6], [7, 8]], dtype=torch.int32),
        [torch.tensor([5, 6]), torch.tensor([7, 8])],
        [np.array([5, 6]), np.array([7, 8])],
    ],
)
def test_any_integer_array_comes_in_and_int64_goes_out(ids):
    inputs, labels = mlm_mask(ids, np.zeros((2, 2)), 4, 40, 0.5, PCG32(1))
    want = mlm_mask(np.array([[5, 6], [7, 8]]), np.zeros((2, 2), bool), 4, 40, 0.5, PCG32(1))
    assert (inputs.dtype, labels.dtype) == (np.int64, np.int64)
    np.testing.assert_array_equal((inputs, labels), want)


def test_inputs_are_left_alone_and_results_are_their_own():
    for ids in (np.array([5, 6, 7]), torch.tensor([5, 6, 7])):
        special = np.zeros(3, bool)
        inputs, labels = mlm_mask(ids, special, 4, 40, 1.0, PCG32(1))
        assert ids.tolist() == [5, 6, 7]
        inputs[:], labels[:] = 0, 0
        assert ids.tolist() == [5, 6, 7]
        assert not special.any()


@pytest.mark.parametrize("ids", [[], [[]], np.zeros((0, 5), int), torch.zeros((2, 0), dtype=torch.long)])
def test_empty_comes_back_empty(ids):
    rng = PCG32(1)
    inputs, labels = mlm_mask(ids, np.zeros(np.shape(ids), bool), 4, 40, 0.5, rng)
    assert inputs.shape == labels.shape == np.shape(ids)
    assert rng == PCG32(1)


def test_a_single_number_array():
    inputs, labels = mlm_mask(np.array(5), np.array(False), 4, 40, 1.0, PCG32(9))
    assert (inputs.shape, int(labels)) == ((), 5)


@pytest.mark.parametrize(
    "special",
    [[0, 1], [0.0, 1.0], [False, True], np.array([0, 1], np.int8), torch.tensor([False, True])],
)
def test_special_masks_of_any_type(special):
    assert mlm_mask([5, 6], special, 4, 40, 1.0, PCG32(1))[1].tolist() == [5, -100]


def test_a_vocabulary_of_one_and_of_few():
    assert mlm_mask([0, 0], [0, 0], 0, 1, 1.0, PCG32(1))[0].tolist() == [0, 0]
    assert mlm_mask([2, 0, 1], [1, 0, 1], 4, 5, 1.0, ScriptedDraws([0, 0.8], [3]))[0].tolist() == [2, 3, 1]


GOOD = {"ids": [2, 5, 6, 3], "special_mask": [1, 0, 0, 1], "mask_id": 4, "vocab": 40, "p": 0.15}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"ids": [2, 5.0, 6, 3]}, TypeError, "ids: expected integers, got float64"),
        ({"ids": [2, True, 6, 3]}, TypeError, "ids: expected integers, got the boolean True"),
        ({"ids": np.array([True] * 4)}, TypeError, "ids: expected integers, got bool"),
        ({"ids": [2, None, 6, 3]}, TypeError, "ids: expected integers, got object"),
        ({"ids": "2563"}, TypeError, "ids: expected a list, NumPy array or CPU tensor, got str"),
        ({"ids": None}, TypeError, "ids: expected a list, NumPy array or CPU tensor, got NoneType"),
        ({"ids": {2, 5, 6, 3}}, TypeError, "got set"),
        (
            {"ids": torch.zeros(4, dtype=torch.long, device="meta")},
            TypeError,
            "ids: expected a tensor on the CPU",
        ),
        ({"ids": [2, 5, 6, 40]}, ValueError, "ids: expected ids from 0 to 39, got 40"),
        ({"ids": [2, -5, 6, 3]}, ValueError, "ids: expected ids from 0 to 39, got -5"),
        ({"ids": np.array([2, 5, -1, 3], np.int8)}, ValueError, r"got -1 at ids\[2\]"),
        ({"ids": np.array([2, 5, 2**64 - 1, 3], np.uint64)}, ValueError, "got 18446744073709551615"),
        ({"ids": [2, 5, 2**70, 3]}, ValueError, f"got {2**70}"),
        ({"ids": [[2, 5], [6]]}, ValueError, "ids: expected rows of one length"),
        (
            {"special_mask": [1, 0, 0]},
            ValueError,
            r"special_mask: expected the shape of ids, \(4,\), got \(3,\)",
        ),
        ({"special_mask": [[1, 0, 0, 1]]}, ValueError, r"got \(1, 4\)"),
        ({"special_mask": [1, 0, 2, 1]}, ValueError, "special_mask: expected booleans or 0/1, got 2"),
        ({"special_mask": [1, 0, math.nan, 1]}, ValueError, "got nan"),
        ({"special_mask": ["1", "0", "0", "1"]}, TypeError, "special_mask: expected booleans or 0/1"),
        ({"special_mask": None}, TypeError, "special_mask: expected a list"),
        ({"mask_id": 40}, ValueError, "mask_id: expected an integer from 0 to 39, got 40"),
        ({"mask_id": -1}, ValueError, "mask_id: .* got -1"),
        ({"mask_id": None}, TypeError, "mask_id: expected an integer, got None"),
        ({"mask_id": 4.0}, TypeError, "mask_id: expected an integer, got 4.0"),
        ({"vocab": 0}, ValueError, "vocab: .* got 0"),
        ({"vocab": 2**32}, ValueError, "vocab: .* got 4294967296"),
        ({"vocab": True}, TypeError, "vocab: expected an integer, got True"),
        ({"p": 15}, ValueError, "p: expected a probability from 0 to 1, got 15"),
        ({"p": -0.1}, ValueError, "p: .* got -0.1"),
        ({"p": math.nan}, ValueError, "p: .* got nan"),
        ({"p": math.inf}, ValueError, "p: .* got inf"),
        ({"p": True}, TypeError, "p: expected a number, got True"),
        ({"p": "0.15"}, TypeError, "p: expected a number, got '0.15'"),
        ({"p": None}, TypeError, "p: expected a number, got None"),
        ({"split": (0.8, 0.2)}, ValueError, "split: expected three"),
        ({"split": (0.8, 0.1, 0.2)}, ValueError, "split: expected three"),
        ({"split": (1.1, -0.1, 0.0)}, ValueError, "split: expected three"),
        ({"split": (math.inf, 0, 0)}, ValueError, "split: expected three"),
        ({"split": (math.nan, 0, 1)}, ValueError, "split: .* got nan"),
        ({"split": 0.8}, TypeError, "split: expected three numbers, got 0.8"),
        ({"split": "abc"}, TypeError, "split: expected three numbers"),
        ({"split": (True, 0, 0)}, TypeError, "split: expected a number, got True"),
        ({"split": None}, TypeError, "split: expected three numbers, got None"),
    ],
)
def test_bad_input_is_named_and_draws_nothing(change, error, message):
    rng = PCG32(1)
    arguments = {**GOOD, "rng": rng, **change}
    with pytest.raises(error, match=message):
        mlm_mask(**arguments)
    assert rng == PCG32(1)


@pytest.mark.parametrize("rng", [None, 42, random.Random(1), np.random.default_rng(1)])
def test_a_generator_is_needed(rng):
    with pytest.raises(TypeError, match=f"rng: expected a generator with .* got {type(rng).__name__}"):
        mlm_mask(**GOOD, rng=rng)


def test_the_class_is_no_generator():
    with pytest.raises(TypeError, match="got the class PCG32"):
        mlm_mask(**GOOD, rng=PCG32)


@pytest.mark.parametrize("p", [np.float32(0.5), np.float64(0.5), Fraction(1, 2), 0, 1])
def test_numbers_of_other_kinds_are_numbers(p):
    assert mask([5, 6, 7], p, PCG32(1)) == mask([5, 6, 7], float(p), PCG32(1))


def test_a_split_that_rounds_is_taken():
    shares = (0.1 + 0.2, 0.3, 0.4)  # sums to 1.0000000000000002 at worst
    assert mask([5] * 20, 1.0, PCG32(1), split=shares) == mask(
        [5] * 20, 1.0, PCG32(1), split=np.array(shares)
    )
