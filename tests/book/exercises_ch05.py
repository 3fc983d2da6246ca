"""The exercises of chapter 05: right answers, and mistakes with a part of what is said of each."""

import math

import numpy as np


def prefix_mask(size, n):
    return [[j <= i or j < n for j in range(size)] for i in range(size)]


ANSWERS = {
    "5.1": np.array([2, 2, 4, 0]) / 8,
    "5.2": 64 - sum(range(1, 6)),
    "5.3": prefix_mask,
    "5.4": np.arange(4),
    "5.5": math.log(42) / 4,
    "5.6": ["leak", "padding", "causal", "types"],
}
MISTAKES = {
    "5.1": [
        ([0.05, 0.05, 0.1, 0.8], "Those are the weights both ways"),
        ([0.05, 0.05, 0.1, 0], "weights sum to 1"),
        ([0.5, 0.5, 0, 0], "look at itself as well"),
        ([0.25, 0.25, 0.5], "Four weights were asked for"),
        ([2, 2, 4, 0], "Those are the exponentials"),
        ([0.25, 0.25, 0.25, 0.25], "At index 2: 0.25 is too small"),
    ],
    "5.2": [
        (28, "a causal mask over eight real tokens"),
        (39, "the padding alone"),
        (10, "the zeros among the real tokens"),
        (15, "the entries that are not zero"),
        (54, "the diagonal is not zero"),
        (1, "1 is too small"),
    ],
    "5.3": [
        (lambda size, n: prefix_mask(size, 0), "With T = 4, n = 2: At index 0: at index 1: it is the other"),
        (lambda size, n: prefix_mask(size, max(n, 1))[::-1], "With T = 4, n = 2: At index 0: at index 2"),
        (lambda size, n: prefix_mask(size, n or size), "With T = 3, n = 0"),
        (
            lambda size, n: [
                [(j <= i and i >= n) or j < n for j in range(size)] for i in range(size - (n == 3))
            ],
            "With T = 3, n = 3: Expected 3 values, got 2",
        ),
        (lambda size, n: prefix_mask(size, n if n != 1 else 2), "With T = 5, n = 1"),
    ],
    "5.4": [
        ([0, 1], "That is one layer"),
        ([1, 2, 3], "looks at itself as well"),
        ([0, 1, 2], "as far as two layers reach"),
        (list(range(10)), "one position further, and no more"),
        ([0, 1, 2, 3, 4], "one too far"),
        ([3, 2, 1, 0], "At index 0: 3 is too large"),
    ],
    "5.5": [
        (math.log(42) / 5, "the floor for five words"),
        (math.log(42), "That is the sum"),
        (math.log(7), "Only the first word costs"),
        (math.log(7) / 2, "six are left, not seven"),
        (0, "0 is too small"),
    ],
    "5.6": [
        (["leak", "padding", "types", "causal"], "At index 2: 'types' is not it."),
        (["leak"], "Expected 4 values, got 1"),
    ],
}
