"""The masking of `masking.py` for a PCG32, in NumPy blocks.

The arrays and the final state of the generator are those of the readable loop, bit for bit. Arguments come
checked.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .checks import IGNORE
from .rng import cumulative_weights

_SPARE = 64  # raw words asked for beyond the expected number
_ROUNDS = 24  # of settling all chains of hits at once, before walking along them
_MOST = 1 << 16  # raw words expected to be used at a time: the arrays of a block stay in the cache


def mask_in_blocks(ids, special, mask_id, vocab, p, rng, split):
    """What `masking._mask_one_by_one` does, for a PCG32: raw words come in blocks, each decided at once.

    ids: int64 [N]. special: bool [N]. Returns inputs and labels, int64 [N].
    """
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
