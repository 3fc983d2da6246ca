"""The shares that a masking routine must show, and how much data a test of them needs.

A picked position shows one of three things, always listed in this order: [MASK], another token, the token
itself. Their exact shares follow from the split and the vocabulary size (course text, section 2.2). The rest
of this module compares counts with shares, and computes how often such a comparison is wrong.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ..checks import as_index, as_real
from ..masking import BERT_SPLIT

SHOWN = ("[MASK]", "another token", "the token itself")


def _real(name: str, value, low: float, high: float, strict: bool = False) -> float:
    """`value` as a float between `low` and `high`; with `strict`, the ends are not allowed."""
    value = as_real(value, name)
    if not (low < value < high if strict else low <= value <= high):
        ends = "strictly between" if strict else "between"
        raise ValueError(f"{name}: expected a number {ends} {low:g} and {high:g}, got {value}")
    return value


def _count(name: str, value, least: int) -> int:
    """`value` as a Python integer of at least `least`."""
    value = as_index(value, name, -(2**63), 2**63)
    if value < least:
        raise ValueError(f"{name}: expected at least {least}, got {value}")
    return value


def _shares(name: str, values, cells: int | None = None) -> np.ndarray:
    """`values` as float64 weights that are finite, not negative and sum to 1 within 1e-9."""
    weights = np.asarray(values)
    if weights.dtype.kind not in "iuf":
        raise TypeError(f"{name}: expected numbers, got {values!r}")
    weights = weights.astype(np.float64)
    if weights.ndim != 1 or len(weights) < 2 or (cells is not None and len(weights) != cells):
        raise ValueError(f"{name}: expected {cells or 'two or more'} numbers, got shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any() or abs(weights.sum() - 1) > 1e-9:
        raise ValueError(f"{name}: expected finite numbers >= 0 that sum to 1, got {weights.tolist()}")
    return weights


def exact_shares(vocab: int, split=BERT_SPLIT) -> np.ndarray:
    """The exact shares of what a picked position shows: [MASK], another token, the token itself.

    A random token is uniform over all `vocab` ids, so it is [MASK] with chance 1/V and the original with
    chance 1/V; the two differ, since a special token is never picked. With the split (m, r, k) the shares are
    m + r/V, r (V - 2)/V and k + r/V (course text, section 2.2). `vocab` must be at least 2. Returns float64
    `[3]`.
    """
    V = _count("vocab", vocab, 2)
    m, r, k = _shares("split", split, 3)
    return np.array([m + r / V, r * (V - 2) / V, k + r / V])


def count_shown(inputs, labels, mask_id: int) -> np.ndarray:
    """How often the picked positions show [MASK], another token, the token itself: int64 `[3]`.

    `inputs` and `labels` are what a masking routine returned, of one shape; a position is picked where its
    label is not -100.
    """
    inputs, labels = np.asarray(inputs), np.asarray(labels)
    if inputs.shape != labels.shape:
        raise ValueError(f"inputs and labels: expected one shape, got {inputs.shape} and {labels.shape}")
    picked = labels != -100
    masked = picked & (inputs == mask_id)
    kept = picked & ~masked & (inputs == labels)
    return np.array([masked.sum(), (picked & ~masked & ~kept).sum(), kept.sum()], dtype=np.int64)


def pick_pmf(n: int, p: float) -> np.ndarray:
    """The chance of 0, 1, ..., n picks among n candidates of probability p each: float64 `[n + 1]`."""
    n, p = _count("n", n, 0), _real("p", p, 0, 1)
    return stats.binom.pmf(np.arange(n + 1), n, p)


def pick_band(n: int, p: float, sds: float = 4.0) -> tuple[float, float]:
    """The mean number of picks among n candidates, minus and plus `sds` standard deviations: (low, high).

    The standard deviation of a binomial count is sqrt(n p (1 - p)).
    """
    n, p, sds = _count("n", n, 0), _real("p", p, 0, 1), _real("sds", sds, 0, math.inf)
    sd = math.sqrt(n * p * (1 - p))
    return n * p - sds * sd, n * p + sds * sd


def outside_band(n: int, p: float, sds: float = 4.0) -> float:
    """The exact chance that correct code falls outside the band of `pick_band`: its false-alarm rate."""
    low, high = pick_band(n, p, sds)
    inside = [k for k in range(max(0, math.floor(low)), min(n, math.ceil(high)) + 1) if low <= k <= high]
    # At p = 0 or 1 the band has width zero and holds the only possible count.
    return max(0.0, 1.0 - float(stats.binom.pmf(inside, n, p).sum())) if 0 < p < 1 else 0.0


def no_pick_chance(n: int, p: float) -> float:
    """The chance that a row of n candidates has no pick at all: (1 - p)^n."""
    return (1.0 - _real("p", p, 0, 1)) ** _count("n", n, 0)


@dataclass(frozen=True)
class ChiSquare:
    """The result of a chi-square test: the statistic, its degrees of freedom, and the p value."""

    statistic: float
    dof: int
    p_value: float


def chi_square(counts, shares) -> ChiSquare:
    """Pearson's chi-square test of counts against exact shares.

    `counts` are integers `[k]`, not negative and not all zero; `shares` are `[k]` weights that sum to 1. The
    statistic is the sum of (count - expected)^2 / expected, with one degree of freedom less than there are
    cells. A cell whose share is zero is left out when its count is zero; any count in it gives p value 0. The
    p value uses the limit for many counts. It is rough if a cell has fewer than about five expected counts.
    """
    counts = np.asarray(counts)
    shares = _shares("shares", shares)
    if counts.dtype.kind not in "iu":
        raise TypeError(f"counts: expected integers, got {counts.dtype}")
    if counts.shape != shares.shape:
        raise ValueError(f"counts and shares: expected one shape, got {counts.shape} and {shares.shape}")
    if (counts < 0).any() or counts.sum() == 0:
        raise ValueError(f"counts: expected numbers >= 0, not all zero, got {counts.tolist()}")
    possible = shares > 0
    dof = int(possible.sum()) - 1
    if counts[~possible].any():
        return ChiSquare(math.inf, dof, 0.0)
    expected = counts.sum() * shares[possible]
    statistic = float(((counts[possible] - expected) ** 2 / expected).sum())
    return ChiSquare(statistic, dof, float(stats.chi2.sf(statistic, dof)) if dof else 1.0)


def power(picks: int, shares, wrong, alpha: float = 0.001) -> float:
    """The power of the chi-square test: its chance to reject a routine of shares `wrong` after `picks` picks.

    `alpha` is the false-alarm rate: the test rejects when its p value is below it. The statistic of a wrong
    routine follows the noncentral chi-square distribution with noncentrality picks * sum((wrong - share)^2 /
    share); this is the limit for many picks. One count in a cell that must stay empty is enough to reject.
    """
    picks, alpha = _count("picks", picks, 1), _real("alpha", alpha, 0, 1, strict=True)
    shares = _shares("shares", shares)
    wrong = _shares("wrong", wrong, len(shares))
    possible = shares > 0
    stays_hidden = (1.0 - wrong[~possible].sum()) ** picks  # no count falls into a cell that must stay empty
    dof = int(possible.sum()) - 1
    if dof == 0 or stays_hidden == 0.0:
        return float(1.0 - stays_hidden)
    seen, s = wrong[possible] / wrong[possible].sum(), shares[possible]
    noncentrality = picks * float(((seen - s) ** 2 / s).sum())
    critical = stats.chi2.isf(alpha, dof)
    rejected = alpha if noncentrality == 0 else float(stats.ncx2.sf(critical, dof, noncentrality))
    return float(1.0 - stays_hidden * (1.0 - rejected))


def required_picks(shares, wrong, alpha: float = 0.001, target: float = 0.95) -> int:
    """The smallest number of picks with which the chi-square test finds a wrong routine with power `target`.

    Raises ValueError for equal `shares` and `wrong`: no amount of data can distinguish them.
    """
    target = _real("target", target, 0, 1, strict=True)
    if np.allclose(_shares("shares", shares), _shares("wrong", wrong, len(shares)), rtol=0, atol=1e-12):
        raise ValueError("shares and wrong are equal: no amount of data tells them apart")
    high = 1
    while power(high, shares, wrong, alpha) < target:
        high *= 2
    low = high // 2  # not enough, or zero
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle, shares, wrong, alpha) >= target else (middle, high)
    return high


def tokens_for(picks: int, p: float) -> int:
    """How many candidate tokens are needed, on average, for so many picks at picking probability p."""
    picks, p = _count("picks", picks, 0), _real("p", p, 0, 1)
    if p == 0:
        raise ValueError("p: expected more than 0, since no number of tokens gives a pick at 0")
    return math.ceil(picks / p - 1e-9)  # 21 picks at 0.35 are 60 tokens, in floating point too


def power_curve(shares, wrong, picks, alpha: float = 0.001) -> np.ndarray:
    """`power` at each of the numbers of picks in `picks`: float64 of the same length."""
    return np.array([power(int(n), shares, wrong, alpha) for n in picks])


def tolerance_miss(picks: int, share: float, tolerance: float) -> float:
    """The chance that correct code misses its share by more than an absolute `tolerance`, over `picks` picks.

    Exact, from the binomial distribution. With few picks, a fixed tolerance often fails correct code. With
    many picks, it lets wrong code pass. A band in standard deviations avoids both.
    """
    n, share = _count("picks", picks, 1), _real("share", share, 0, 1)
    tolerance = _real("tolerance", tolerance, 0, 1)
    # The edges are part of the tolerance; 1e-9 keeps them so when n * share is not exact in floating point.
    low, high = math.ceil(n * (share - tolerance) - 1e-9), math.floor(n * (share + tolerance) + 1e-9)
    return float(stats.binom.cdf(low - 1, n, share) + stats.binom.sf(high, n, share))
