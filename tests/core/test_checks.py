"""Checks of arguments, one by one: what each takes, what it makes of it, and how it refuses the rest."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from bert_lab import PCG32, checks


class Plan:
    pass


class Other(Plan):
    pass


def same(found, expected) -> bool:
    """Equal in value and in type; arrays in dtype and shape too."""
    if isinstance(expected, np.ndarray):
        return found.dtype == expected.dtype and np.array_equal(found, expected)
    return type(found) is type(expected) and found == expected


IDS = np.array([[0, 4], [3, 2]])
REAL = np.array([[True, True], [True, False]])


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: checks.as_index(np.uint8(3), "n", 3, 4), 3),
        (lambda: checks.as_bool(True, "x"), True),
        (lambda: checks.as_bool(np.False_, "x"), False),
        (lambda: checks.as_real(Fraction(1, 2), "x"), 0.5),
        (lambda: checks.as_real(np.float32(-2), "x"), -2.0),
        (lambda: checks.as_unit(0, "x"), 0.0),
        (lambda: checks.as_probability(1, "x"), 1.0),
        (lambda: checks.as_probability(0, "x"), 0.0),
        (lambda: checks.as_split([1, 0, 0]), (1.0, 0.0, 0.0)),
        (lambda: checks.as_split(np.array([0.2, 0.3, 0.5 + 9e-10])), (0.2, 0.3, 0.5 + 9e-10)),
        (lambda: checks.as_array([], "x"), np.array([], np.int64)),
        (lambda: checks.as_array(np.array([]), "x"), np.array([], np.float64)),
        (lambda: checks.as_array(torch.ones(2, requires_grad=True), "x"), np.ones(2, np.float32)),
        (lambda: checks.as_ids(np.array([0, 4], np.uint8), 5), np.array([0, 4])),
        (lambda: checks.as_ids([], 5), np.array([], np.int64)),
        (lambda: checks.as_flags([0, 1.0], "x", (2,)), np.array([False, True])),
        (lambda: checks.as_flags(REAL, "x", (2, 2)), REAL),
        (lambda: checks.as_real_positions(None, (1, 2)), np.ones((1, 2), bool)),
        (lambda: checks.as_real_positions(REAL[:, None, None], (2, 2)), REAL),
        (lambda: checks.as_real_positions(REAL.astype(np.int8), (2, 2)), REAL),
        (lambda: checks.as_real_positions(torch.tensor(REAL).bfloat16(), (2, 2)), REAL),
        (lambda: checks.as_labels([[-100, 0], [4, -100]], REAL, 5), np.array([[-100, 0], [4, -100]])),
        (lambda: checks.as_labels(np.zeros((2, 2), np.int8), REAL | True, 1), np.zeros((2, 2), np.int64)),
        (lambda: checks.as_device_ids(torch.tensor([1]), "x", 2), np.array([1])),
    ],
)
def test_what_is_taken(call, value):
    assert same(call(), value)


def test_an_array_that_fits_is_not_copied():
    assert checks.as_ids(IDS, 5) is IDS and checks.as_flags(REAL, "x", (2, 2)) is REAL
    assert checks.as_array(IDS.T, "x").flags.c_contiguous


def test_masking_arguments_come_back_in_their_forms():
    ids, special, *numbers = checks.as_masking_arguments(
        [[0]], [[1]], np.int64(0), np.int64(1), 1, PCG32(1), [1, 0, 0]
    )
    assert same(ids, np.zeros((1, 1), np.int64)) and same(special, np.ones((1, 1), bool))
    assert numbers == [0, 1, 1.0, (1.0, 0.0, 0.0)]
    assert checks.as_masking_arguments([1], [0], 1, 2**32 - 1, 0, PCG32(1), [1, 0, 0])[3] == 2**32 - 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: checks.as_index(True, "n", 0, 4), TypeError, "n: expected an integer, got True"),
        (lambda: checks.as_index(np.True_, "n", 0, 4), TypeError, "of type bool"),
        (lambda: checks.as_index(2.0, "n", 0, 4), TypeError, "got 2.0 of type float"),
        (lambda: checks.as_index(IDS, "n", 0, 4), TypeError, "of type ndarray"),
        (lambda: checks.as_index(4, "n", 0, 4), ValueError, "n: expected an integer from 0 to 3, got 4"),
        (lambda: checks.as_index(-1, "n", 0, 4), ValueError, "got -1"),
        (lambda: checks.as_bool(1, "x"), TypeError, "x: expected True or False, got 1"),
        (lambda: checks.as_bool(None, "x"), TypeError, "got None"),
        (lambda: checks.as_real(True, "x"), TypeError, "x: expected a number, got True of type bool"),
        (lambda: checks.as_real("1", "x"), TypeError, "got '1' of type str"),
        (lambda: checks.as_real(1j, "x"), TypeError, "of type complex"),
        (lambda: checks.as_real(float("nan"), "x"), ValueError, "x: expected a number, got nan"),
        (lambda: checks.as_unit(1, "x"), ValueError, "x: expected a number in [0, 1), got 1.0"),
        (lambda: checks.as_unit(-1e-9, "x"), ValueError, "got -1e-09"),
        (lambda: checks.as_probability(1.1, "x"), ValueError, "expected a probability from 0 to 1, got 1.1"),
        (lambda: checks.as_probability(-0.1, "x"), ValueError, "got -0.1"),
        (lambda: checks.as_split("abc"), TypeError, "split: expected three numbers, got 'abc'"),
        (lambda: checks.as_split(1), TypeError, "got 1"),
        (lambda: checks.as_split({0.5: 1}), TypeError, "got {0.5: 1}"),
        (lambda: checks.as_split([1, 0]), ValueError, "split: expected three finite numbers >= 0"),
        (lambda: checks.as_split([1.5, -0.5, 0]), ValueError, "that sum to 1, got (1.5, -0.5, 0.0)"),
        (lambda: checks.as_split([float("inf"), 0, 0]), ValueError, "got (inf, 0.0, 0.0)"),
        (lambda: checks.as_split([0.5, 0.5, 2e-9]), ValueError, "got (0.5, 0.5, 2e-09)"),
        (lambda: checks.as_array(torch.ones(2, device="meta"), "x"), TypeError, "got one on meta"),
        (lambda: checks.as_array("ab", "x"), TypeError, "a list, NumPy array or CPU tensor, got str"),
        (lambda: checks.as_array([[1], [1, 2]], "x"), ValueError, "x: expected rows of one length"),
        (lambda: checks.as_ids([1.0], 5), TypeError, "ids: expected integers, got float64"),
        (lambda: checks.as_ids([[1, True]], 5), TypeError, "ids: expected integers, got the boolean True"),
        (lambda: checks.as_ids([1, np.True_], 5), TypeError, "got the boolean True"),
        (lambda: checks.as_ids([1, torch.tensor(True).numpy()], 5), TypeError, "got the boolean True"),
        (lambda: checks.as_ids([[1, 5]], 5), ValueError, "ids: expected ids from 0 to 4, got 5"),
        (lambda: checks.as_ids([-1], 5), ValueError, "got -1"),
        (lambda: checks.as_ids(IDS, 4), ValueError, "ids: expected ids from 0 to 3, got 4 at ids[0][1]"),
        (lambda: checks.as_ids(-IDS, 4), ValueError, "got -4 at ids[0][1]"),
        (lambda: checks.as_flags(["a"], "x", (1,)), TypeError, "x: expected booleans or 0/1, got <U1"),
        (lambda: checks.as_flags([1], "x", (2,)), ValueError, "x: expected the shape of ids, (2,), got (1,)"),
        (lambda: checks.as_flags([0, 2], "x", (2,)), ValueError, "x: expected booleans or 0/1, got 2"),
        (lambda: checks.check_generator(PCG32), TypeError, "got the class PCG32"),
        (lambda: checks.check_generator(1), TypeError, "expected a generator with uniform() and below"),
        (lambda: checks.as_real_positions(REAL[0], (2, 2)), ValueError, "for ids [2, 2], got [2]"),
        (lambda: checks.as_real_positions(REAL[:, None], (2, 2)), ValueError, "got [2, 1, 2]"),
        (lambda: checks.as_real_positions([[1, 2]], (1, 2)), ValueError, "attn_mask: expected booleans"),
        (lambda: checks.as_labels(IDS * 1.0, REAL, 5), TypeError, "labels: expected integers, got float64"),
        (lambda: checks.as_labels(IDS[0], REAL, 5), ValueError, "labels: expected the shape of ids, [2, 2]"),
        (lambda: checks.as_labels(IDS, REAL | True, 4), ValueError, "id from 0 to 3, got 4 at labels[0][1]"),
        (lambda: checks.as_labels(IDS - 1, REAL | True, 5), ValueError, "got -1 at labels[0][0]"),
        (lambda: checks.as_labels(IDS, REAL, 5), ValueError, "-100 at padding, got 2 at labels[1][1]"),
        (lambda: checks.check_config(1, Plan), TypeError, "config: expected a Plan, got int"),
        (lambda: checks.check_config(Plan(), Other), TypeError, "config: expected an Other, got Plan"),
    ],
)  # fmt: skip
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_a_config_of_a_kind_that_derives_is_one():
    checks.check_config(Other(), Plan)


def test_paths():
    assert checks.as_path("a/b", "dir") == checks.as_path(Path("a/b"), "dir") == Path("a/b")
    assert checks.as_path(b"a", "dir") == Path("a")
    with pytest.raises(ValueError, match=r"^dir: expected a path, got an empty string$"):
        checks.as_path("", "dir")
    with pytest.raises(TypeError, match=r"^dir: expected a path, got int$"):
        checks.as_path(3, "dir")
