"""The exercises of chapter 04: right answers, and mistakes with a part of what is said of each."""

import math

import numpy as np
import torch

from bert_lab import BertConfig, BertLayer

ROW = np.array([1.0, 1, 1, 1, 6])
SCORES, VALUES = math.log(2) * np.array([2, 0, 0, 1]), np.array([10, 8, 0, 4])


def join_heads(x):
    heads, positions, k = x.shape
    return x.transpose(1, 0, 2).reshape(positions, heads * k)


def base_layer() -> list[tuple[str, int]]:
    with torch.device("meta"):
        return [(name, p.numel()) for name, p in BertLayer(BertConfig(vocab=30522)).named_parameters()]


def count(*left_out: str) -> int:
    return sum(n for name, n in base_layer() if not any(part in name for part in left_out))


def biases_of_matrices() -> int:
    return sum(n for name, n in base_layer() if "bias" in name and "norm" not in name)


def tanh_gelu(x):
    return x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


ANSWERS = {
    "4.1": torch.nn.functional.layer_norm(torch.tensor(ROW), [5], eps=1e-12),
    "4.2": torch.softmax(torch.tensor(SCORES), 0).numpy() @ VALUES,
    "4.3": join_heads,
    "4.4": count(),
    "4.5": lambda x: torch.nn.functional.gelu(torch.tensor(x, dtype=torch.float64)).item(),
    "4.6": ["positions", "tanh", "pre", "types"],
}
MISTAKES = {
    "4.1": [
        (ROW - 2, "These are the deviations"),
        ((ROW - 2) / 4, "not by the variance"),
        ((ROW - 2) / ROW.std(ddof=1), "LayerNorm divides by d"),
        ([0, 0, 0, 0, 1], "At index 0"),
    ],
    "4.2": [
        (np.exp(SCORES) @ VALUES, "Divide by the sum"),
        (SCORES @ VALUES / SCORES.sum(), "scores in place of the weights"),
        (VALUES.mean(), "plain mean"),
        (VALUES[SCORES.argmax()], "not the one with the largest weight"),
        (0, "The exponentials are"),
    ],
    "4.3": [(lambda x: x.reshape(x.shape[1], -1), "those of head 0, then of head 1")],
    "4.4": [
        (count("norm", "bias"), "The matrices alone"),
        (count("norm"), "a weight and a bias each"),
        (count("ff_norm"), "there are two norms"),
        (count() - biases_of_matrices(), "the biases of the six matrices"),
        (12 * count(), "all twelve layers"),
        (1, "The number of heads changes nothing"),
    ],
    "4.5": [
        (
            tanh_gelu,
            "With x = 1.0: 0.841192 is too small. An error near 0.0002 at x = 1 is the mark of the tanh",
        )
    ],
    "4.6": [(["tanh", "positions", "pre", "types"], "At index 0"), ("tanh", "Expected a list of 4")],
}
