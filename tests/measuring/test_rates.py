"""Exact shares, bands, the chi-square test and its power, each against counting or simulating by hand."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_lab import PCG32, mlm_mask
from bert_lab.measuring import rates
from bert_lab.measuring.rates import BERT_SPLIT, chi_square, count_shown, exact_shares

NOT_NUMBERS = [True, "0.15", None, 1j, np.bool_(True), [0.15]]


def test_exact_shares_are_those_of_the_course_text():
    # Section 2.2: 0.8 + 0.1/V, 0.1 (V - 2)/V, 0.1 + 0.1/V.
    for V in (2, 40, 1000, 30522):
        expected = [0.8 + 0.1 / V, 0.1 * (V - 2) / V, 0.1 + 0.1 / V]
        np.testing.assert_allclose(exact_shares(V), expected, rtol=0, atol=1e-15)
    assert exact_shares(1000).round(4).tolist() == [0.8001, 0.0998, 0.1001]


@pytest.mark.parametrize(
    "split", [BERT_SPLIT, (0.5, 0.5, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.25, 0.5, 0.25)]
)
@pytest.mark.parametrize("V", [2, 3, 7])
def test_exact_shares_equal_a_count_of_all_cases(V, split):
    mask_id, original = 0, 1  # a picked token is never [MASK]
    expected = np.zeros(3)
    for (action, weight), word in product(enumerate(split), range(V)):
        shown = [mask_id, word, original][action]
        expected[0 if shown == mask_id else 2 if shown == original else 1] += weight / V
    np.testing.assert_allclose(exact_shares(V, split), expected, atol=1e-12)


@given(
    st.integers(2, 2**32), st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(lambda w: sum(w) > 0.01)
)
def test_exact_shares_sum_to_one(V, weights):
    split = np.array(weights) / sum(weights)
    shares = exact_shares(V, split)
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert (shares >= 0).all()


def test_measured_shares_fit():
    ids = np.full((200, 500), 7)
    inputs, labels = mlm_mask(ids, np.zeros_like(ids), 4, 40, 1.0, PCG32(42))
    counts = count_shown(inputs, labels, 4)
    assert counts.sum() == ids.size
    assert chi_square(counts, exact_shares(40)).p_value > 0.001
    assert chi_square(counts, (0.8, 0.1, 0.1)).p_value < 1e-6  # the shares without 1/V do not fit


def test_count_shown_by_hand():
    inputs = [[2, 4, 6, 9, 3, 5, 4]]
    labels = [[-100, 5, -100, 7, -100, 5, -100]]
    counts = count_shown(inputs, labels, 4)
    assert counts.tolist() == [1, 1, 1]  # the last [MASK] is not picked
    assert counts.dtype == np.int64
    assert count_shown([4], [4], 4).tolist() == [1, 0, 0]  # [MASK] where [MASK] stood counts once
    with pytest.raises(ValueError, match=r"one shape, got \(2,\) and \(3,\)"):
        count_shown([1, 2], [1, 2, 3], 4)


def test_pick_pmf_equals_all_outcomes():
    n, p = 6, 0.15
    expected = np.zeros(n + 1)
    for picks in product((0, 1), repeat=n):
        expected[sum(picks)] += math.prod(p if pick else 1 - p for pick in picks)
    np.testing.assert_allclose(rates.pick_pmf(n, p), expected, atol=1e-15)
    assert rates.pick_pmf(0, 0.3).tolist() == [1.0]
    assert rates.pick_pmf(2, 0).tolist() == [1.0, 0.0, 0.0]


def test_pick_band_and_what_falls_outside():
    low, high = rates.pick_band(400, 0.15)
    assert (low, high) == pytest.approx((60 - 4 * math.sqrt(51), 60 + 4 * math.sqrt(51)))
    assert rates.pick_band(10, 0.5, 0.0) == (5.0, 5.0)
    pmf = rates.pick_pmf(400, 0.15)
    beyond = sum(pmf[k] for k in range(401) if not low <= k <= high)
    assert rates.outside_band(400, 0.15) == pytest.approx(beyond, rel=1e-6)
    assert rates.outside_band(5, 0.5, 0.0) == pytest.approx(1)  # no whole number is 2.5
    assert rates.outside_band(50, 0) == rates.outside_band(50, 1) == 0.0


def test_no_pick_chance():
    assert f"{rates.no_pick_chance(5, 0.15):.4f}" == "0.4437"
    assert rates.no_pick_chance(0, 0.15) == 1.0
    assert rates.no_pick_chance(3, 1) == 0.0


def test_chi_square_by_hand():
    # Expected 80, 10, 10: 4/80 + 4/10 + 0 = 0.45. With two degrees of freedom p is exp(-0.45 / 2).
    result = chi_square([78, 12, 10], BERT_SPLIT)
    assert result.statistic == pytest.approx(0.45)
    assert result.dof == 2
    assert result.p_value == pytest.approx(math.exp(-0.225))


def test_chi_square_of_an_empty_cell():
    assert chi_square([80, 20, 0], (0.8, 0.2, 0.0)) == rates.ChiSquare(pytest.approx(0), 1, pytest.approx(1))
    assert chi_square([80, 19, 1], (0.8, 0.2, 0.0)) == rates.ChiSquare(math.inf, 1, 0.0)
    assert chi_square([7, 0, 0], (1, 0, 0)) == rates.ChiSquare(0.0, 0, 1.0)  # nothing else could be shown
    assert chi_square([6, 1, 0], (1, 0, 0)).p_value == 0.0


def test_p_values_of_correct_counts_are_uniform():
    draws = np.random.default_rng(5).multinomial(5000, BERT_SPLIT, size=2000)
    p_values = np.array([chi_square(counts, BERT_SPLIT).p_value for counts in draws])
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        assert abs((p_values < level).mean() - level) < 4 * math.sqrt(level * (1 - level) / 2000)


WRONG = {"80/2/18": (0.8, 0.02, 0.18), "90/1/9": (0.9, 0.01, 0.09), "81/10/9": (0.81, 0.1, 0.09)}


@pytest.mark.parametrize(("name", "about"), [("80/2/18", 215), ("90/1/9", 290), ("81/10/9", 24_500)])
def test_required_picks(name, about):
    picks = rates.required_picks(BERT_SPLIT, WRONG[name])
    assert picks == pytest.approx(about, rel=0.01)
    assert (
        rates.power(picks, BERT_SPLIT, WRONG[name]) >= 0.95 > rates.power(picks - 1, BERT_SPLIT, WRONG[name])
    )


def test_required_tokens():
    assert rates.tokens_for(24_483, 0.15) == 163_220
    assert rates.tokens_for(3, 0.15) == 20
    assert rates.tokens_for(21, 0.35) == 60  # 21 / 0.35 is a little more than 60 in floating point
    assert rates.tokens_for(0, 0.15) == 0
    assert rates.tokens_for(5, 1.0) == rates.tokens_for(5, 1) == 5
    with pytest.raises(ValueError, match="more than 0"):
        rates.tokens_for(5, 0)


@pytest.mark.parametrize("name", WRONG)
def test_power_is_how_often_a_wrong_recipe_is_noticed(name):
    alpha, runs = 0.001, 4000
    picks = {"80/2/18": 400, "90/1/9": 400, "81/10/9": 15_000}[name]
    draws = np.random.default_rng(11).multinomial(picks, WRONG[name], size=runs)
    noticed = np.mean([chi_square(counts, BERT_SPLIT).p_value < alpha for counts in draws])
    assert noticed == pytest.approx(rates.power(picks, BERT_SPLIT, WRONG[name], alpha), abs=0.03)


def test_power_of_correct_code_is_the_false_alarm_rate():
    assert rates.power(1000, BERT_SPLIT, BERT_SPLIT, 0.01) == pytest.approx(0.01)


def test_power_where_a_cell_must_stay_empty():
    only_mask = (1, 0, 0)
    assert rates.power(10, only_mask, BERT_SPLIT) == pytest.approx(1 - 0.8**10)
    assert rates.required_picks(only_mask, BERT_SPLIT) == math.ceil(math.log(0.05) / math.log(0.8))
    assert rates.power(1, only_mask, (0, 1, 0)) == 1.0
    # One count in the empty cell, or else the others out of proportion: simulate both.
    shares, wrong, picks = (0.8, 0.2, 0.0), (0.7, 0.28, 0.02), 25
    draws = np.random.default_rng(3).multinomial(picks, wrong, size=4000)
    noticed = np.mean([chi_square(counts, shares).p_value < 0.01 for counts in draws])
    assert noticed == pytest.approx(rates.power(picks, shares, wrong, 0.01), abs=0.04)


def test_power_curve_rises():
    curve = rates.power_curve(BERT_SPLIT, WRONG["90/1/9"], [1, 10, 100, 1000])
    assert curve.shape == (4,)
    assert (np.diff(curve) > 0).all()
    assert curve[2] == rates.power(100, BERT_SPLIT, WRONG["90/1/9"])


def test_nothing_tells_equal_shares_apart():
    with pytest.raises(ValueError, match="no amount of data"):
        rates.required_picks(BERT_SPLIT, BERT_SPLIT)


@pytest.mark.parametrize(
    ("picks", "share", "tolerance"), [(10, 0.1, 0.05), (40, 0.8, 0.05), (7, 0.5, 0.0), (10, 0.8, 0.1)]
)
def test_tolerance_miss_equals_the_sum(picks, share, tolerance):
    pmf = rates.pick_pmf(picks, share)
    expected = sum(pmf[k] for k in range(picks + 1) if abs(k / picks - share) > tolerance + 1e-12)
    assert rates.tolerance_miss(picks, share, tolerance) == pytest.approx(expected, abs=1e-12)


def test_an_absolute_tolerance_fails_correct_code():
    assert rates.tolerance_miss(1000, 0.1, 0.01) > 0.25
    assert rates.tolerance_miss(1_000_000, 0.1, 0.01) < 1e-12


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_wrong_types(value):
    calls = [
        lambda: rates.pick_pmf(5, value),
        lambda: rates.pick_pmf(value, 0.1),
        lambda: rates.pick_band(5, 0.1, value),
        lambda: exact_shares(value),
        lambda: rates.power(10, BERT_SPLIT, WRONG["90/1/9"], value),
        lambda: rates.tokens_for(value, 0.1),
        lambda: rates.required_picks(BERT_SPLIT, WRONG["90/1/9"], target=value),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="expected"):
            call()


@pytest.mark.parametrize("value", [0.5, 5.0, np.float64(5)])
def test_counts_are_integers(value):
    for call in (lambda: rates.no_pick_chance(value, 0.1), lambda: exact_shares(value)):
        with pytest.raises(TypeError, match="expected an integer"):
            call()


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, math.inf, 15])
def test_wrong_probabilities(p):
    calls = (
        lambda: rates.pick_pmf(5, p),
        lambda: rates.no_pick_chance(5, p),
        lambda: rates.tokens_for(5, p),
        lambda: rates.power(5, BERT_SPLIT, BERT_SPLIT, p),
    )
    for call in calls:
        with pytest.raises(ValueError, match="expected a number"):
            call()


@pytest.mark.parametrize("p", [0, 1])
def test_a_false_alarm_rate_lies_between_its_ends(p):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        rates.power(5, BERT_SPLIT, WRONG["90/1/9"], p)


def test_wrong_counts():
    for call in (
        lambda: exact_shares(1),
        lambda: rates.pick_pmf(-1, 0.1),
        lambda: rates.power(0, BERT_SPLIT, BERT_SPLIT),
    ):
        with pytest.raises(ValueError, match="expected at least"):
            call()


@pytest.mark.parametrize(
    "split",
    [
        (0.8, 0.1),
        (0.8, 0.1, 0.2),
        (0.9, 0.2, -0.1),
        (math.nan, 0.5, 0.5),
        (math.inf, 0, 0),
        [[0.8, 0.1, 0.1]],
        1.0,
    ],
)
def test_wrong_splits(split):
    with pytest.raises(ValueError, match="split: expected"):
        exact_shares(40, split)


@pytest.mark.parametrize("split", ["0.8", ("a", "b", "c"), (True, False, False), None])
def test_splits_of_wrong_type(split):
    with pytest.raises(TypeError, match="split: expected numbers"):
        exact_shares(40, split)


def test_a_split_may_miss_one_by_rounding_only():
    assert exact_shares(40, (0.1 + 0.2, 0.3, 0.4)).sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="sum to 1"):
        exact_shares(40, (0.8, 0.1, 0.1 + 2e-9))


def test_wrong_chi_square_arguments():
    with pytest.raises(TypeError, match="counts: expected integers"):
        chi_square([0.8, 0.1, 0.1], BERT_SPLIT)
    with pytest.raises(ValueError, match=r"one shape, got \(2,\) and \(3,\)"):
        chi_square([8, 1], BERT_SPLIT)
    with pytest.raises(ValueError, match="not all zero, got"):
        chi_square([0, 0, 0], BERT_SPLIT)
    with pytest.raises(ValueError, match=">= 0"):
        chi_square([8, -1, 1], BERT_SPLIT)
    with pytest.raises(ValueError, match="wrong: expected 3 numbers"):
        rates.power(10, BERT_SPLIT, (0.5, 0.5))
