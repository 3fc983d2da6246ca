"""The data of the attention lab: the attention maps and the influence matrix of a sentence, rounded.

The lab sends them to its view. `tests/assets/make_attention.py` stores them for pages without a model.
"""

import base64
from typing import NamedTuple

import numpy as np
import torch

from ..batches import mlm_batch
from ..model import attention_maps, influence
from ..rng import PCG32

BOTH, CAUSAL = "both ways", "causal"
MAX_TOKENS = 48  # tokens, padding included


class AttentionData(NamedTuple):
    """The T pieces of a text, their maps [L, H, T, T], and their influence matrix [T, T]."""

    tokens: list[str]
    maps: np.ndarray
    influence: np.ndarray


def attention_data(
    model, tok, text: str, pair: str = "", *, reads: str = BOTH, padding: int = 0
) -> AttentionData:
    """The maps and the influence matrix of a text, or of two, with `padding` [PAD] at the end.

    A blank `pair` means a single text. Texts are truncated to 48 tokens, or to the model's maximum length.
    The errors are those of `mlm_batch` and of `attention_maps`.
    """
    room = min(MAX_TOKENS, model.config.max_len) - padding
    row = (text, pair) if pair.strip() else text
    batch = mlm_batch(tok, [row], room, 0.0, PCG32(0))  # at p = 0 nothing is masked
    ids, types, real = (
        np.pad(batch[name], ((0, 0), (0, padding)), constant_values=fill)
        for name, fill in (("input_ids", tok.pad_id), ("token_type_ids", 0), ("attention_mask", 0))
    )
    size = ids.shape[1]
    allowed = torch.ones(size, size, dtype=torch.bool).tril() if reads == CAUSAL else None
    maps = attention_maps(model, ids, types, real, allowed=allowed)[:, 0]
    effects = influence(model, ids, types, real, allowed=allowed)
    return AttentionData(tok.tokens(ids[0].tolist()), maps.numpy(), effects.numpy())


def levels(values) -> np.ndarray:
    """Numbers rounded to hundredths, as int64: 0 for exactly zero, else 1 + hundredths.

    Raises ValueError for a number that is negative or not finite.
    """
    values = np.asarray(values, np.float64)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("expected finite numbers of at least 0, got others: are the model's weights finite?")
    return np.where(values == 0, 0, 1 + np.rint(100 * values)).astype(np.int64)


def as_json(data: AttentionData) -> dict:
    """The data as JSON: the levels of the maps in C order as base64 bytes, and those of the influence."""
    n_layers, n_heads = data.maps.shape[:2]
    return {
        "tokens": data.tokens,
        "layers": n_layers,
        "heads": n_heads,
        "maps": base64.b64encode(levels(data.maps).astype(np.uint8).tobytes()).decode("ascii"),
        "influence": levels(data.influence).tolist(),
    }
