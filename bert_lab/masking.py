"""BERT's masking: which positions are hidden, what is shown there, and what is to be predicted.

`mlm_mask` follows one fixed order of draws (the course text, section 2.2). The loop below is that order,
readable, for any generator. For a `PCG32`, `fast_masking.py` computes the same arrays and the same final
state of the generator in NumPy blocks, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import IGNORE, as_masking_arguments
from .fast_masking import mask_in_blocks
from .rng import PCG32, UniformDraws, sample_categorical

BERT_SPLIT = (0.8, 0.1, 0.1)  # of the picked positions: shown as [MASK], as a random token, as they are


def mlm_mask(
    ids: ArrayLike,
    special_mask: ArrayLike,
    mask_id: int,
    vocab: int,
    p: float,
    rng: UniformDraws,
    *,
    split: Sequence[float] = BERT_SPLIT,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    ids, special, mask_id, vocab, p, split = as_masking_arguments(
        ids, special_mask, mask_id, vocab, p, rng, split
    )
    # A subclass may have changed its draws: it gets the loop, which asks for them one by one.
    mask = mask_in_blocks if type(rng) is PCG32 else _mask_one_by_one
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
