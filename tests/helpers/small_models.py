"""Shared by the tests of models: a small model with large weights, and a batch for it."""

import math

import numpy as np
import torch

from bert_lab import PCG32, BertConfig, BertForMLM, normal_init

TINY = BertConfig(40, max_len=16, d_model=12, n_heads=3, n_layers=2, d_ff=20, dropout=0.0)


def lively(module, seed=1, std=0.5):
    """Weights large enough for every part of the model to matter."""
    rng = PCG32(seed)
    for parameter in module.parameters():
        parameter.data.copy_(torch.from_numpy(normal_init(tuple(parameter.shape), std, rng)))
    return module


def model_of(config=TINY, dtype=torch.float64):
    return lively(BertForMLM(config)).to(dtype).eval()


def batch_of(lengths, seed=2, vocab=40):
    """ids, token types, mask and labels, each [B, T]; every third real position is labelled."""
    shape = len(lengths), max(lengths)
    raws = PCG32(seed).block(3 * math.prod(shape)).reshape(3, *shape).astype(np.int64)
    mask = (np.arange(shape[1]) < np.array(lengths)[:, None]).astype(np.int64)
    labels = np.where((raws[2] % 3 == 0) & (mask == 1), raws[0] % vocab, -100)
    return [torch.from_numpy(array) for array in (raws[0] % vocab, raws[1] % 2, mask, labels)]
