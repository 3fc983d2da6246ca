"""Whole-word masking: all pieces of a word are picked together, so that none of them reveals the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import as_flags, as_masking_arguments
from ..masking import BERT_SPLIT, IGNORE
from ..rng import UniformDraws, sample_categorical


def mask_whole_words(
    ids: ArrayLike,
    special_mask: ArrayLike,
    continues: ArrayLike,
    mask_id: int,
    vocab: int,
    p: float,
    rng: UniformDraws,
    *,
    split: Sequence[float] = BERT_SPLIT,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pick words with probability p and hide each of their pieces: `(inputs, labels)`.

    Positions are visited in C order. A special one draws nothing and ends a word. A piece that starts a word
    draws one uniform u, and its whole word is picked when u < p; a piece that continues a word draws none.
    Each piece of a picked word is labelled with its original id and, when its turn comes, draws an action of
    its own as in `mlm_mask`: one uniform, and one `rng.below(vocab)` for a random id.

    A piece starts a word when it does not continue one, when it is the first of its row (the last axis), or
    when the position before it is special. Where nothing continues, this is `mlm_mask`, draw for draw.

    Args:
        ids, special_mask, mask_id, vocab, p, rng, split: as in `mlm_mask`.
        continues: boolean or 0/1, the shape of ids; true where a piece continues the word of the position
            before it, as the pieces with ## do.

    Returns:
        inputs, labels: as `mlm_mask` returns them.

    Raises:
        TypeError, ValueError: as `mlm_mask` does; also for continues. The generator has not moved then.

    Source: the whole-word checkpoints of Devlin et al., released in May 2019; the masking contract, section
    6.
    """
    ids, special, mask_id, vocab, p, split = as_masking_arguments(
        ids, special_mask, mask_id, vocab, p, rng, split
    )
    continues = as_flags(continues, "continues", ids.shape)
    inputs, labels = ids.copy(), np.full_like(ids, IGNORE)
    in_word = picked = False  # can the next piece continue a word, and is that word picked?
    for place in np.ndindex(ids.shape):
        if special[place]:
            in_word = False
            continue
        starts_row = not place or place[-1] == 0
        if starts_row or not in_word or not continues[place]:
            in_word, picked = True, rng.uniform() < p
        if not picked:
            continue
        labels[place] = ids[place]
        action = sample_categorical(split, rng.uniform())
        if action == 0:
            inputs[place] = mask_id
        elif action == 1:
            inputs[place] = rng.below(vocab)
    return inputs, labels
