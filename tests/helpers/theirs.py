"""Shared by the tests of parity: small models of `transformers` with random values."""

import torch
from torch import nn

BOUNDS = {torch.float32: 1e-5, torch.float64: 1e-10}
SIZES = (
    "vocab_size",
    "max_position_embeddings",
    "hidden_size",
    "num_attention_heads",
    "num_hidden_layers",
    "intermediate_size",
    "type_vocab_size",
)


def hf_sizes(*sizes: int) -> dict[str, int]:
    """Our sizes in order, vocab, max_len, d_model and so on, under the names of `transformers`."""
    return dict(zip(SIZES, sizes, strict=False))


def noisy(theirs: nn.Module, seed: int, std: float = 0.2) -> nn.Module:
    """The model with normal noise as its values: around 1 in the norms' weights, around 0 elsewhere."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in theirs.named_parameters():
            noise = torch.randn(p.shape, generator=generator, dtype=torch.float64)
            p.copy_(noise * std + name.endswith(("LayerNorm.weight", "norm.weight")))
    return theirs
