"""What the attention lab shows of a sentence: its maps and its influence matrix, rounded to what is written.

The lab sends these to its view; `tests/assets/make_attention.py` stores them for pages without a model.
"""

import base64
from typing import NamedTuple

import numpy as np
import torch

from ..batches import mlm_batch
from ..model import attention_maps, influence
from ..rng import PCG32

BOTH, CAUSAL = "both ways", "causal"
MOST = 48  # tokens, padding included


class Looked(NamedTuple):
    """The T pieces of a text, their maps [L, H, T, T], and their influence matrix [T, T]."""

    tokens: list[str]
    maps: np.ndarray
    influence: np.ndarray


def look(model, tok, text: str, pair: str = "", *, reads: str = BOTH, padding: int = 0) -> Looked:
    """The maps and the influence matrix of a text, or of two, with `padding` [PAD] at the end.

    A blank `pair` is none. What is longer than 48 tokens, or than the model admits, is cut. The errors are
    those of `mlm_batch` and of `attention_maps`.
    """
    room = min(MOST, model.config.max_len) - padding
    row = (text, pair) if pair.strip() else text
    batch = mlm_batch(tok, [row], room, 0.0, PCG32(0))  # picking nothing: ids, token types and the mask
    ids, types, real = (
        np.pad(batch[name], ((0, 0), (0, padding)), constant_values=fill)
        for name, fill in (("input_ids", tok.pad_id), ("token_type_ids", 0), ("attention_mask", 0))
    )
    size = ids.shape[1]
    allowed = torch.ones(size, size, dtype=torch.bool).tril() if reads == CAUSAL else None
    maps = attention_maps(model, ids, types, real, allowed=allowed)[:, 0]
    moved = influence(model, ids, types, real, allowed=allowed)
    return Looked(tok.tokens(ids[0].tolist()), maps.numpy(), moved.numpy())


def levels(values) -> np.ndarray:
    """Numbers as they are shown, int64: 0 for exactly zero, else 1 + hundredths.

    Raises ValueError for a number that is negative or not finite.
    """
    values = np.asarray(values, np.float64)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("expected finite numbers of at least 0, got others: are the model's weights finite?")
    return np.where(values == 0, 0, 1 + np.rint(100 * values)).astype(np.int64)


def as_shown(looked: Looked) -> dict:
    """The JSON form: the levels of the maps as bytes in base64, in C order, and those of the influence."""
    n_layers, n_heads = looked.maps.shape[:2]
    return {
        "tokens": looked.tokens,
        "layers": n_layers,
        "heads": n_heads,
        "maps": base64.b64encode(levels(looked.maps).astype(np.uint8).tobytes()).decode("ascii"),
        "influence": levels(looked.influence).tolist(),
    }
