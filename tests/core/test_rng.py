"""The generator by known words; what is sampled from it; bad input. `test_plain` has its slow twin."""

import copy
import json
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import make_masking_vectors
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow_example_stream, slow_splitmix64

from bert_lab import PCG32, ScriptedDraws, normal_init, sample_categorical
from bert_lab.rng import _BLOCK, _mix64, cumulative_weights, epoch_order, example_stream

seeds = st.integers(0, 2**64 - 1)
streams = st.integers(0, 2**63 - 1)


def test_reference_words():
    rng = PCG32(42, 54)
    words = [rng.next_u32() for _ in range(6)]
    assert words == [0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E]
    assert PCG32(42) == PCG32(42, 54)


def test_below_skips_words_under_the_threshold(monkeypatch):
    words = iter([15, 57, 16])  # for n = 40 the threshold is 2^32 mod 40 = 16
    monkeypatch.setattr(PCG32, "next_u32", lambda self: next(words))
    assert PCG32(0).below(40) == 17
    assert PCG32(0).below(40) == 16  # the threshold itself is taken
    assert next(words, "all words used") == "all words used"


@pytest.mark.parametrize("n", [0, 1, 2, 63, _BLOCK - 1, _BLOCK, _BLOCK + 1, 2 * _BLOCK + 7])
def test_block_equals_single_draws(n):
    rng, one_by_one = PCG32(7, 3), PCG32(7, 3)
    block = rng.block(n)
    assert block.dtype == np.uint32
    assert block.tolist() == [one_by_one.next_u32() for _ in range(n)]
    assert rng == one_by_one


def test_threads_do_not_disturb_each_other():
    want = [PCG32(seed).block(300_000).tolist() for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda seed: PCG32(seed).block(300_000).tolist(), range(4)))
    assert got == want


@given(seeds, streams, st.lists(st.integers(0, 300), max_size=4))
def test_blocks_join_without_a_seam(seed, stream, sizes):
    rng, whole = PCG32(seed, stream), PCG32(seed, stream)
    parts = [word for n in sizes for word in rng.block(n).tolist()]
    assert parts == whole.block(sum(sizes)).tolist()


@given(seeds, st.integers(0, 500))
def test_advance_skips_and_goes_back(seed, n):
    rng, start = PCG32(seed), PCG32(seed)
    rng.block(n)
    skipped = start.copy()
    skipped.advance(n)
    assert skipped == rng
    rng.advance(-n)
    assert rng == start


def test_advance_far():
    rng = PCG32(1)
    rng.advance(10**15)
    rng.advance(2**64 - 10**15)  # the period is 2^64
    assert rng == PCG32(1)
    rng.advance(-(2**64))
    assert rng == PCG32(1)


def test_copies_are_equal_and_independent():
    rng = PCG32(5, 6)
    rng.next_u32()
    for twin in (rng.copy(), copy.copy(rng), copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))):
        assert twin == rng
        assert twin.next_u32() == rng.copy().next_u32()
        assert twin != rng


def test_equality_is_of_state_and_stream_and_only_among_generators():
    assert PCG32(1, 2) != PCG32(1, 3)
    assert PCG32(1) != "PCG32(1)"
    with pytest.raises(TypeError):
        hash(PCG32(1))


def test_state_can_be_saved_and_restored():
    rng = PCG32(9)
    saved = rng.state
    first = rng.block(5).tolist()
    rng.state = saved
    assert rng.block(5).tolist() == first
    with pytest.raises(ValueError, match=r"state.*18446744073709551616"):
        rng.state = 2**64
    with pytest.raises(AttributeError):
        rng.inc = 3


def test_repr_says_state_and_stream():
    assert repr(PCG32(42, 54)) == "<PCG32 state=0x185706b82c2e03f8 stream=54>"


def test_global_random_states_have_no_effect():
    import torch

    first = PCG32(3).block(4).tolist()
    np.random.seed(0)
    torch.manual_seed(0)
    assert PCG32(3).block(4).tolist() == first


@pytest.mark.parametrize("value", [1.0, "1", None, True, np.True_, [1], np.array([1, 2])])
def test_integers_are_required(value):
    rng = PCG32(0)
    for call in (PCG32, lambda v: PCG32(0, v), rng.below, rng.block, rng.advance):
        with pytest.raises(TypeError, match="expected an integer, got"):
            call(value)
    assert rng == PCG32(0)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (PCG32, -1),
        (PCG32, 2**64),
        (lambda v: PCG32(0, v), -1),
        (lambda v: PCG32(0, v), 2**63),
        (PCG32(0).below, 0),
        (PCG32(0).below, -3),
        (PCG32(0).below, 2**32),
        (PCG32(0).block, -1),
        (PCG32(0).advance, 2**64),
        (PCG32(0).advance, -(2**64) - 1),
    ],
)
def test_out_of_range_is_refused_and_named(call, value):
    with pytest.raises(ValueError, match=f"got {value}"):
        call(value)


def test_numpy_integers_are_integers():
    assert PCG32(np.uint64(2**64 - 1), np.int8(5)) == PCG32(2**64 - 1, 5)
    assert PCG32(1).below(np.int32(40)) == PCG32(1).below(40)


# --- example_stream

LARGEST = (2**64 - 1, 2**63 - 1, 2**63 - 1)


def test_the_mixing_step_is_that_of_splitmix64():
    # The first outputs from the states 0 and 1234567, as published with the generator.
    assert _mix64(0) == 0xE220A8397B1DCDAF
    outputs, state = [], 1234567
    for _ in range(5):
        state, output = slow_splitmix64(state)
        outputs.append(output)
    assert outputs == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert _mix64(1234567) == outputs[0]


@pytest.mark.parametrize(
    ("numbers", "state", "words"),
    [
        ((0, 0, 0), 0xC411EDB3A9F1EDAB, [0x3B96FA82, 0x8029505D, 0xD1FDA2CB]),
        ((0, 0, 1), 0x5C480403B6C93231, [0x46D1204C, 0x3926101F, 0x8856113F]),
        ((0, 1, 0), 0x3F0D9EB57B542FF3, [0x87C3645D, 0xC9DC0B60, 0xF6B204BD]),
        ((1, 0, 0), 0x1FDB0F2617CFEC75, [0x5F6C2343, 0x40947BC3, 0x28160A9B]),
        ((42, 3, 1000), 0x5326C748C30A7F32, [0xB99369C, 0x6AD4CD80, 0x35A9CE04]),
        (LARGEST, 0x3C19ABE7C7472258, [0x6B066938, 0x8FC0C55D, 0x484021AA]),
    ],
)
def test_golden_example_streams(numbers, state, words):
    rng = example_stream(*numbers)
    assert type(rng) is PCG32
    assert (rng.state, rng.inc) == (state, 2 * numbers[2] + 1)
    assert rng.block(3).tolist() == words


def test_golden_vectors_of_example_streams():
    cases = json.loads(make_masking_vectors.PATH.read_text(encoding="utf-8"))["example_streams"]
    assert len(cases) == 6
    for case in cases:
        seed, epoch, index = (int(case[f"{name}_hex"], 16) for name in ("seed", "epoch", "index"))
        slow = slow_example_stream(seed, epoch, index)
        rng = example_stream(seed, epoch, index)
        assert PCG32(int(case["key_hex"], 16), index) == rng
        assert rng.state == slow.state == int(case["first_state_hex"], 16)
        assert rng.block(6).tolist() == [slow.next_u32() for _ in range(6)] == case["words"]


@given(seeds, streams, streams)
def test_example_streams_follow_the_specification(seed, epoch, index):
    rng, slow = example_stream(seed, epoch, index), slow_example_stream(seed, epoch, index)
    assert (rng.state, rng.inc) == (slow.state, slow.inc)


def test_the_order_of_an_epoch_is_that_of_the_words_of_a_stream_that_masks_nothing():
    n = 200_000
    words = example_stream(3, 5, 2**62).block(n).tolist()
    order = epoch_order(n, 3, 5)
    assert len(set(words)) < n  # some are equal: those stay in their order, on every machine
    assert order.dtype == np.int64 and order.tolist() == sorted(range(n), key=words.__getitem__)
    with pytest.raises(ValueError, match="read-only"):
        order[0] = 1


def test_each_example_and_epoch_has_draws_of_its_own():
    few = range(12)
    starts = {tuple(example_stream(s, e, i).block(2).tolist()) for s in few for e in few for i in few}
    assert len(starts) == 12**3


def test_example_streams_are_uniform_across_examples_and_epochs():
    from scipy import stats

    for numbers in ([(7, 0, i) for i in range(3000)], [(7, e, 5) for e in range(3000)]):
        first, second = np.array([example_stream(*n).block(2) for n in numbers]).T * 2.0**-32
        assert stats.kstest(first, "uniform").pvalue > 0.001
        assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4 / math.sqrt(3000)
        assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(3000)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_example_stream_refuses_what_are_no_numbers_of_examples(place):
    name = ("seed", "epoch", "index")[place]
    for value in (1.0, "1", None, True, np.array([1, 2])):
        with pytest.raises(TypeError, match=f"{name}: expected an integer, got"):
            example_stream(*[value if i == place else 0 for i in range(3)])
    for value in (-1, LARGEST[place] + 1):
        with pytest.raises(ValueError, match=f"{name}: expected an integer from 0 to .*, got {value}"):
            example_stream(*[value if i == place else 0 for i in range(3)])
    assert example_stream(*[np.int32(i == place) for i in range(3)]) == example_stream(
        *[int(i == place) for i in range(3)]
    )


# --- ScriptedDraws


def test_script_hands_out_and_records():
    rng = ScriptedDraws([0.05, 0.5], [9])
    assert (rng.uniform(), rng.below(40), rng.uniform()) == (0.05, 9, 0.5)
    assert rng.calls == [("uniform", 0.05), ("below", 40, 9), ("uniform", 0.5)]
    rng.finish()
    assert repr(rng) == "ScriptedDraws(uniforms=[0.05, 0.5], belows=[9])"


def test_script_fails_on_an_extra_draw():
    rng = ScriptedDraws([0.5])
    rng.uniform()
    with pytest.raises(AssertionError, match=r"uniform\(\) more than the 1 scripted"):
        rng.uniform()
    with pytest.raises(AssertionError, match=r"below\(\) more than the 0 scripted"):
        rng.below(40)
    assert rng.calls == [("uniform", 0.5)]


def test_script_fails_on_a_missing_draw():
    with pytest.raises(AssertionError, match=r"left over: \{'uniforms': \[0\.25\], 'belows': \[\]\}"):
        ScriptedDraws([0.25]).finish()
    with pytest.raises(AssertionError, match=r"left over: \{'uniforms': \[\], 'belows': \[3\]\}"):
        ScriptedDraws(belows=[3]).finish()


def test_a_script_takes_what_a_generator_could_give():
    assert ScriptedDraws(belows=[2**32 - 2]).below(2**32 - 1) == 2**32 - 2
    with pytest.raises(ValueError, match=r"belows\[0\]: expected an integer from 0 to 4294967295"):
        ScriptedDraws(belows=[2**32])


def test_a_uniform_is_a_word_times_a_power_of_two():
    words = PCG32(42).block(5) * 2.0**-32
    rng = PCG32(42)
    assert [rng.uniform() for _ in range(5)] == words.tolist()


@pytest.mark.parametrize("u", [1.0, -0.1, math.nan, math.inf])
def test_script_refuses_what_is_no_uniform(u):
    with pytest.raises(ValueError, match=r"uniforms\[0\]"):
        ScriptedDraws([u])


def test_script_refuses_other_types_and_integers_out_of_range():
    for uniforms, belows in (([True], []), (["0.5"], []), ([], [1.5]), ([], [None])):
        with pytest.raises(TypeError):
            ScriptedDraws(uniforms, belows)
    with pytest.raises(ValueError, match=r"belows\[0\]"):
        ScriptedDraws([], [-1])
    with pytest.raises(ValueError, match=r"below\(40\): the script says 40"):
        ScriptedDraws([], [40]).below(40)
    with pytest.raises(ValueError, match="got 0"):
        ScriptedDraws([], [0]).below(0)


# --- sample_categorical


@pytest.mark.parametrize(
    ("weights", "u", "index"),
    [
        ((0.8, 0.1, 0.1), 0.0, 0),
        ((0.8, 0.1, 0.1), 0.7999999, 0),
        ((0.8, 0.1, 0.1), 0.8, 1),  # strict: the cumulative weight must exceed u
        ((0.8, 0.1, 0.1), 0.85, 1),
        ((0.8, 0.1, 0.1), 1 - 2**-32, 2),
        ((0.0, 1.0), 0.0, 1),  # a zero weight is never chosen
        ((0.5, 0.0, 0.5), 0.5, 2),
        ((0.7, 0.1, 0.2, 0.0), 1 - 2**-53, 2),  # 0.7 + 0.1 + 0.2 rounds to just below 1
        ([0.1] * 10 + [0.0], 1 - 2**-53, 9),
        ((1, 0), 0.5, 0),
        ((Fraction(1, 2), Fraction(1, 2)), 0.5, 1),
        (np.array([0.25, 0.75]), np.float64(0.25), 1),
    ],
)
def test_categorical_edges(weights, u, index):
    chosen = sample_categorical(weights, u)
    assert chosen == index
    assert type(chosen) is int


@pytest.mark.parametrize(
    "weights", [(), (0.0, 0.0), (-0.1, 1.1), (math.nan, 1), (math.inf,), (8, 1, 1), (0.6, 0.5)]
)
def test_categorical_refuses_what_are_no_weights(weights):
    with pytest.raises(ValueError, match="weights"):
        sample_categorical(weights, 0.5)


def test_categorical_refuses_what_is_no_uniform():
    for u in (1.0, -0.5, math.nan):
        with pytest.raises(ValueError, match="u: expected"):
            sample_categorical((0.5, 0.5), u)
    for u in (True, "0.5", None):
        with pytest.raises(TypeError, match="u: expected"):
            sample_categorical((0.5, 0.5), u)
    with pytest.raises(TypeError, match=r"weights\[1\]"):
        sample_categorical((0.5, "0.5"), 0.5)
    with pytest.raises(TypeError, match="weights: expected"):
        sample_categorical(0.5, 0.5)


# --- normal_init


def test_normal_golden_first_values():
    values = normal_init((2, 3), 0.02, PCG32(42, 54))
    assert values.dtype == np.float32
    expected = [
        -0.0190867395,
        0.00222056474,
        -0.0159001269,
        -0.00149671045,
        0.00439201075,
        -0.0145721322,
    ]
    assert values.ravel().tolist() == pytest.approx(expected, rel=1e-7, abs=0)


def test_normal_is_normal():
    from scipy import stats

    values = normal_init((200, 100), 3.0, PCG32(1))
    assert stats.kstest(values.ravel() / 3, "norm").pvalue > 0.001


def test_normal_handles_the_smallest_and_largest_words():
    class Extremes(PCG32):
        def block(self, n):
            return np.array([0, 0, 2**32 - 1, 2**32 - 1], np.uint32)[:n]

    values = normal_init(4, 1.0, Extremes(0))
    assert np.isfinite(values).all()
    assert values[0] == pytest.approx(math.sqrt(2 * 32 * math.log(2)))
    assert values[2:].tolist() == [0.0, 0.0]  # u = 1


def test_normal_shapes():
    assert normal_init((), 1.0, PCG32(0)).shape == ()
    assert normal_init((0, 5), 1.0, PCG32(0)).shape == (0, 5)
    assert normal_init([np.int64(2), 2], 0, PCG32(0)).tolist() == [[0, 0], [0, 0]]


def test_normal_refuses_bad_arguments():
    rng = PCG32(0)
    for shape in (2.0, "23", (2, 3.0), (True,), None):
        with pytest.raises(TypeError, match="shape"):
            normal_init(shape, 1.0, rng)
    with pytest.raises(ValueError, match=r"shape\[1\].*got -1"):
        normal_init((2, -1), 1.0, rng)
    with pytest.raises(ValueError, match=rf"shape\[0\].*got {2**63}"):
        normal_init(2**63, 1.0, rng)
    for std in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="std"):
            normal_init(2, std, rng)
    with pytest.raises(TypeError, match="std"):
        normal_init(2, "1", rng)
    with pytest.raises(TypeError, match="rng: expected a PCG32, got Generator"):
        normal_init(2, 1.0, np.random.default_rng(0))
    assert rng == PCG32(0)


def test_cumulative_weights_has_a_sum_for_each_weight():
    assert cumulative_weights([0.25, 0.5, 0.25]) == [0.25, 0.75, math.inf]
    assert cumulative_weights([0.5, 0.5, 0, 0]) == [0.5, math.inf, math.inf, math.inf]
    assert cumulative_weights([0, 1, 0]) == [0.0, math.inf, math.inf]
