"""BERT's masking: which positions are hidden, what is shown there, and what is to be predicted.

`mlm_mask` follows one fixed order of draws (the course text, section 2.2). The loop below is that order,
readable, for any generator. With a `PCG32` its twin does the same in NumPy blocks: the same arrays and the
same final state of the generator, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .rng import PCG32, as_index, as_real, cumulative_weights, sample_categorical

IGNORE = -100  # the label of a position where nothing is predicted
BERT_SPLIT = (0.8, 0.1, 0.1)  # of the picked positions: shown as [MASK], as a random token, as they are
_SPARE = 64  # raw words asked for beyond the expected number
_ROUNDS = 24  # of settling all chains of hits at once, before walking along them
_MOST = 1 << 16  # raw words expected to be used at a time: the arrays of a block stay in the cache


def mlm_mask(
    ids, special_mask, mask_id: int, vocab: int, p: float, rng, *, split: Sequence[float] = BERT_SPLIT
):
    """Pick positions with probability p and hide what stands there: `(inputs, labels)`.

    Positions are visited in C order. A special one draws nothing. Any other draws one uniform u, and is
    picked when u < p. A picked one is labelled with its original id and draws one more uniform, which chooses
    by `split` to show [MASK], a random id (one `rng.below(vocab)`), or the original.

    Args:
        ids: integer array of any shape (list, NumPy array or CPU tensor), 0 <= id < vocab.
        special_mask: boolean or 0/1, the same shape; true where a token must never be picked.
        mask_id: the id of [MASK].
        vocab: how many ids there are, 1 <= vocab < 2^32.
        p: the picking probability, 0 <= p <= 1.
        rng: a `PCG32`, or anything with `uniform()` and `below(n)`. It moves on by exactly the draws made,
            and not at all when an argument is refused.
        split: shares of [MASK], random and kept; three finite numbers >= 0 that sum to 1 within 1e-9.

    Returns:
        inputs: int64, the shape of ids; what the model sees.
        labels: int64, the shape of ids; the original id at picked positions, -100 elsewhere.

    Raises:
        TypeError: an argument of the wrong type (floats or booleans as ids, a generator without uniform and
            below).
        ValueError: a wrong value or shape.

    Source: Devlin et al. 2019, section 3.1 and appendix A.1; the course text, section 2.2.
    """
    ids, special, mask_id, vocab, p, split = checked(ids, special_mask, mask_id, vocab, p, rng, split)
    # A subclass may have changed its draws: it gets the loop, which asks for them one by one.
    mask = _mask_in_blocks if type(rng) is PCG32 else _mask_one_by_one
    inputs, labels = mask(ids.ravel(), special.ravel(), mask_id, vocab, p, rng, split)
    return inputs.reshape(ids.shape), labels.reshape(ids.shape)


def _mask_one_by_one(ids, special, mask_id, vocab, p, rng, split):
    """The order of draws, position by position; ids int64 [N], special bool [N]."""
    inputs = ids.copy()
    labels = np.full_like(ids, IGNORE)
    for t, original in enumerate(ids):
        if special[t]:
            continue
        if rng.uniform() >= p:
            continue
        labels[t] = original
        action = sample_categorical(split, rng.uniform())
        if action == 0:
            inputs[t] = mask_id
        elif action == 1:
            inputs[t] = rng.below(vocab)
    return inputs, labels


def _mask_in_blocks(ids, special, mask_id, vocab, p, rng, split):
    """The same as `_mask_one_by_one` for a PCG32: raw words come in blocks, each decided at once."""
    inputs = ids.copy()
    labels = np.full_like(ids, IGNORE)
    candidates = np.flatnonzero(~special)
    # Comparing raw words with scaled thresholds is comparing uniforms with the unscaled ones: both are exact.
    pick_below = math.ceil(p * 2**32)
    action_below = [math.ceil(min(c, 1.0) * 2**32) for c in cumulative_weights(split)[:2]]
    draws_each = 1 + p * (1 + split[1])  # expected, but for rejections in below
    done, spare = 0, _SPARE
    while done < candidates.size:
        left = candidates.size - done
        raws = rng.copy().block(min(_MOST, int(left * draws_each + 4 * math.sqrt(left))) + spare)
        picks = _decide(raws, left, vocab, pick_below, action_below)
        where = candidates[done:][picks.order]
        labels[where] = ids[where]
        inputs[where] = mask_id
        inputs[where[picks.random]] = picks.random_ids
        kept = where[picks.kept]
        inputs[kept] = ids[kept]
        rng.advance(picks.draws)
        done += picks.candidates
        if not picks.candidates:
            spare *= 2  # a single pick's rejections went beyond the block
    return inputs, labels


class _Picks(NamedTuple):
    """What a block of raw words decides about the next candidates."""

    order: np.ndarray  # which candidates are picked: 0 is the next one
    random: np.ndarray  # indices into order: those shown as a random id
    random_ids: np.ndarray
    kept: np.ndarray  # indices into order: those shown as they are
    candidates: int  # how many candidates are decided
    draws: int  # how many raw words that takes


def _decide(raws, left, vocab, pick_below, action_below):
    """Decide as many of the `left` next candidates as these raw words suffice for.

    A word below `pick_below` is a hit: a pick, unless it is the action or the random id of an earlier pick.
    So each hit is first followed as if it were a pick; then those inside the draws of another are dropped.
    """
    last = raws.size - 2  # the last two words only serve as the draws that follow a hit
    hits = np.flatnonzero(raws[:last] < pick_below)
    actions = raws[1:][hits]
    random = (actions >= action_below[0]) & (actions < action_below[1])
    draws = random + 2
    longest = _add_rejections(draws, raws, hits, np.flatnonzero(random), 2**32 % vocab)

    real = _outside_others(hits, hits + draws, longest)
    hits, draws, actions = hits[real], draws[real], actions[real]
    total = np.cumsum(draws - 1)  # draws beyond one a candidate
    order = hits - total + (draws - 1)
    ends_at = int(hits[-1] + draws[-1]) if hits.size else 0
    if ends_at > raws.size:  # the last pick's rejections go on beyond the block: it is left for the next one
        candidates = int(order[-1])
    else:
        candidates = max(last, ends_at) - int(total[-1] if hits.size else 0)
    candidates = min(left, candidates)
    picked = int(np.searchsorted(order, candidates))
    used = candidates + int(total[picked - 1] if picked else 0)

    shown = np.flatnonzero(actions[:picked] >= action_below[0])  # as something else than [MASK]
    is_random = actions[shown] < action_below[1]
    random, kept = shown[is_random], shown[~is_random]
    random_ids = raws[hits[random] + draws[random] - 1] % vocab
    return _Picks(order[:picked], random, random_ids, kept, candidates, used)


def _add_rejections(draws, raws, hits, random, threshold):
    """Add to the draws of these hits the words that `below` rejects; return the longest run of draws."""
    starts = hits[random] + 2
    rejected = raws[starts] < threshold
    if not rejected.any():
        return 3
    accepted = np.append(np.flatnonzero(raws >= threshold), raws.size)
    draws[random] += accepted[np.searchsorted(accepted, starts)] - starts
    return int(draws.max())


def _outside_others(hits, ends, longest):
    """Indices of the hits that are picks: the first one, and then always the next outside a pick's draws."""
    inside = [hits[lag:] < ends[:-lag] for lag in range(1, min(longest, hits.size))]
    picks = np.ones(hits.size, bool)
    # Each round settles one more hit of every chain of hits inside each other's draws.
    for _ in range(_ROUNDS):
        outside = np.ones(hits.size, bool)
        for lag, covered in enumerate(inside, 1):
            outside[lag:] &= ~(picks[:-lag] & covered)
        if np.array_equal(outside, picks):
            return np.flatnonzero(picks)
        picks = outside
    # At a large p a chain can be as long as the block: walk it hit by hit.
    following = np.searchsorted(hits, ends).tolist()
    walked, hit = [], 0
    while hit < len(following):
        walked.append(hit)
        hit = following[hit]
    return np.array(walked, np.intp)


def checked(ids, special_mask, mask_id, vocab, p, rng, split):
    """The arguments of `mlm_mask`, checked: ids (int64), special (bool), mask_id, vocab, p, split."""
    vocab = as_index(vocab, "vocab", 1, 2**32)
    mask_id = as_index(mask_id, "mask_id", 0, vocab)
    p = as_probability(p, "p")
    split = as_split(split)
    ids = as_ids(ids, vocab)
    special = as_flags(special_mask, "special_mask", ids.shape)
    _check_generator(rng)
    return ids, special, mask_id, vocab, p, split


def _check_generator(rng) -> None:
    if isinstance(rng, type):
        raise TypeError(f"rng: expected a generator such as PCG32(42), got the class {rng.__name__}")
    if not (callable(getattr(rng, "uniform", None)) and callable(getattr(rng, "below", None))):
        raise TypeError(
            "rng: expected a generator with uniform() and below(n), such as PCG32(42), "
            f"got {type(rng).__name__}"
        )


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


def as_ids(ids, vocab: int, name: str = "ids") -> np.ndarray:
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


def as_flags(flags, name: str, shape: tuple[int, ...]) -> np.ndarray:
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
