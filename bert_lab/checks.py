"""Checks of arguments: each returns the value in the one form that the code behind it works with, or raises.

A wrong type raises TypeError, a wrong value or shape ValueError. The message begins with the argument's
name and says what was expected and what came. Nothing here needs torch.
"""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

IGNORE = -100  # the label of a position where nothing is predicted


def as_index(value, name: str, low: int, high: int) -> int:
    """`value` as a Python int in low..high-1; TypeError unless an integer, ValueError out of range."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(type(value), "__index__"):
        raise TypeError(f"{name}: expected an integer, got {value!r} of type {type(value).__name__}")
    try:
        number = operator.index(value)
    except TypeError:  # arrays and tensors have __index__ too, but only single integers can use it
        raise TypeError(
            f"{name}: expected an integer, got {value!r} of type {type(value).__name__}"
        ) from None
    if not low <= number < high:
        raise ValueError(f"{name}: expected an integer from {low} to {high - 1}, got {number}")
    return number


def as_bool(value, name: str) -> bool:
    """`value` as a Python bool; TypeError for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def as_real(value, name: str) -> float:
    """`value` as a float; TypeError for anything but a real number (a bool is none), ValueError for NaN."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: expected a number, got {value!r} of type {type(value).__name__}")
    number = float(value)
    if math.isnan(number):
        raise ValueError(f"{name}: expected a number, got nan")
    return number


def as_unit(value, name: str) -> float:
    """`value` as a float in [0, 1)."""
    number = as_real(value, name)
    if not 0 <= number < 1:
        raise ValueError(f"{name}: expected a number in [0, 1), got {number!r}")
    return number


def as_probability(value, name: str) -> float:
    """`value` as a float in 0..1."""
    number = as_real(value, name)
    if not 0 <= number <= 1:
        raise ValueError(f"{name}: expected a probability from 0 to 1, got {number!r}")
    return number


def as_split(split) -> tuple[float, float, float]:
    """Three finite shares >= 0 that sum to 1 within 1e-9."""
    if isinstance(split, (str, bytes, dict, set)) or not hasattr(split, "__iter__"):
        raise TypeError(f"split: expected three numbers, got {split!r}")
    shares = tuple(as_real(share, "split") for share in split)
    if len(shares) != 3 or not all(0 <= s < math.inf for s in shares) or abs(math.fsum(shares) - 1) > 1e-9:
        raise ValueError(f"split: expected three finite numbers >= 0 that sum to 1, got {shares}")
    return shares


def as_array(value, name: str) -> np.ndarray:
    """A list, NumPy array or CPU tensor as a NumPy array in C order."""
    if hasattr(value, "detach"):  # a tensor: torch itself is not needed to see that
        if value.device.type != "cpu":
            raise TypeError(f"{name}: expected a tensor on the CPU, got one on {value.device}")
        value = value.detach().numpy()
    if not isinstance(value, (np.ndarray, list, tuple)):
        raise TypeError(f"{name}: expected a list, NumPy array or CPU tensor, got {type(value).__name__}")
    try:
        array = np.asarray(value, order="C")
    except ValueError:
        raise ValueError(f"{name}: expected rows of one length, got a ragged list") from None
    if array.size == 0 and not isinstance(value, np.ndarray):
        return array.astype(np.int64)  # an empty list has no type of its own
    return array


def as_ids(ids: ArrayLike, vocab: int, name: str = "ids") -> NDArray[np.int64]:
    """`ids` as an int64 array, itself where it is one.

    Raises TypeError for anything but integers, ValueError for an id that is not in 0..vocab-1.
    """
    array = as_array(ids, name)
    if isinstance(ids, (list, tuple)):
        _check_leaves(ids, vocab, name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integers, got {array.dtype}")
    # Seen as unsigned, a negative id is a huge one: one comparison finds both.
    converted = array.astype(np.int64, copy=False)
    if converted.size and converted.view(np.uint64).max() >= vocab:
        place = np.unravel_index(np.argmax((array < 0) | (array >= vocab)), array.shape)
        where = "".join(f"[{i}]" for i in place)
        raise ValueError(f"{name}: expected ids from 0 to {vocab - 1}, got {array[place]} at {name}{where}")
    return converted


def _check_leaves(values, vocab: int, name: str) -> None:
    """Refuse what NumPy would turn into other numbers: booleans among integers, and integers too large."""
    for value in values:
        if isinstance(value, (list, tuple)):
            _check_leaves(value, vocab, name)
        elif isinstance(value, (bool, np.bool_)) or getattr(value, "dtype", None) == np.bool_:
            raise TypeError(f"{name}: expected integers, got the boolean {value}")
        elif isinstance(value, int) and not 0 <= value < vocab:
            raise ValueError(f"{name}: expected ids from 0 to {vocab - 1}, got {value}")


def as_flags(flags: ArrayLike, name: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """`flags` as a boolean array of exactly this shape; from booleans, or from zeros and ones of any type."""
    array = as_array(flags, name)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected booleans or 0/1, got {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name}: expected the shape of ids, {shape}, got {array.shape}")
    if array.dtype == bool:
        return array
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        raise ValueError(f"{name}: expected booleans or 0/1, got {array[wrong][0]}")
    return array == 1


def check_generator(rng) -> None:
    """TypeError unless it has `uniform()` and `below(n)`."""
    if isinstance(rng, type):
        raise TypeError(f"rng: expected a generator such as PCG32(42), got the class {rng.__name__}")
    if not (callable(getattr(rng, "uniform", None)) and callable(getattr(rng, "below", None))):
        raise TypeError(
            "rng: expected a generator with uniform() and below(n), such as PCG32(42), "
            f"got {type(rng).__name__}"
        )


def as_masking_arguments(
    ids: ArrayLike, special_mask: ArrayLike, mask_id: int, vocab: int, p: float, rng, split: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], int, int, float, tuple[float, float, float]]:
    """The arguments of `mlm_mask`, less the generator: ids int64 and special_mask bool, of one shape."""
    vocab = as_index(vocab, "vocab", 1, 2**32)
    mask_id = as_index(mask_id, "mask_id", 0, vocab)
    p = as_probability(p, "p")
    split = as_split(split)
    ids = as_ids(ids, vocab)
    special = as_flags(special_mask, "special_mask", ids.shape)
    check_generator(rng)
    return ids, special, mask_id, vocab, p, split


def as_real_positions(attn_mask: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """An attention mask for ids of this shape as bool [B, T]; all true where none is given."""
    if attn_mask is None:
        return np.ones(shape, bool)
    mask = as_array(_on_cpu(attn_mask), "attn_mask")
    if mask.shape not in (shape, (shape[0], 1, 1, shape[1])):
        raise ValueError(
            f"attn_mask: expected [B, T] or [B, 1, 1, T] for ids {list(shape)}, got {list(mask.shape)}"
        )
    return as_flags(mask.reshape(shape), "attn_mask", shape)


def as_labels(labels: ArrayLike | None, real: NDArray[np.bool_], n_classes: int) -> NDArray[np.int64]:
    """Labels as int64 [B, T]: -100, or a class from 0 to n_classes-1 where `real`, bool [B, T], is true."""
    array = as_array(_on_cpu(labels), "labels")
    if array.dtype.kind not in "iu":
        raise TypeError(f"labels: expected integers, got {array.dtype}")
    if array.shape != real.shape:
        raise ValueError(f"labels: expected the shape of ids, {list(real.shape)}, got {list(array.shape)}")
    array = array.astype(np.int64)
    asked = array != IGNORE
    for what, wrong in (
        (f"-100 or an id from 0 to {n_classes - 1}", asked & ((array < 0) | (array >= n_classes))),
        ("-100 at padding", asked & ~real),
    ):
        if wrong.any():
            b, t = np.argwhere(wrong)[0]
            raise ValueError(f"labels: expected {what}, got {array[b, t]} at labels[{b}][{t}]")
    return array


def as_device_ids(values: ArrayLike, name: str, limit: int) -> NDArray[np.int64]:
    """As `as_ids`, and from a tensor on any device."""
    return as_ids(_on_cpu(values), limit, name)


def _on_cpu(value):
    """A tensor of any device as one that NumPy takes; anything else as it is."""
    if not hasattr(value, "detach"):
        return value
    value = value.detach().cpu()
    return value.float() if str(value.dtype) == "torch.bfloat16" else value  # NumPy has no such type


def check_config(config, kind: type) -> None:
    """TypeError for a config that is not of this kind."""
    if not isinstance(config, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(f"config: expected {article} {kind.__name__}, got {type(config).__name__}")


def as_path(value, name: str) -> Path:
    """A path; TypeError or ValueError, with the name, for what is none."""
    try:
        text = os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name}: expected a path, got {type(value).__name__}") from None
    if not text:
        raise ValueError(f"{name}: expected a path, got an empty string")
    return Path(text)
