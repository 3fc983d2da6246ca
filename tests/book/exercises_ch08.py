"""The exercises of chapter 08: right answers, and mistakes with a part of what is said of each."""

import numpy as np


def rate(step, steps, warm_up, peak):
    return peak * min(step / warm_up, (steps - step) / (steps - warm_up))


def between(rows, left, right):
    seen = [
        row[i] for row in rows for i in range(1, len(row) - 1) if (row[i - 1], row[i + 1]) == (left, right)
    ]
    return max(sorted(set(seen)), key=seen.count, default=-1)


def first_seen(rows, left, right):
    seen = [
        row[i] for row in rows for i in range(1, len(row) - 1) if (row[i - 1], row[i + 1]) == (left, right)
    ]
    return max(dict.fromkeys(seen), key=seen.count, default=-1)


ANSWERS = {
    "8.1": 0.15 * 126 * 24 * 600,
    "8.2": rate,
    "8.3": between,
    "8.4": np.float64(0.25) / 0.005**2,
    "8.5": (0.2, 0.3),
}
MISTAKES = {
    "8.1": [
        (600 * 24 * 126, "Only the picked ones"),
        (0.8 * 272_160, "are predicted too"),
        (600 * 126 * 0.15, "without the 24 passages"),
        (24 * 126 * 0.15, "That is one step"),
        (1, "1 is too small"),
    ],
    "8.2": [
        (lambda step, steps, warm_up, peak: peak, "With step 1 of 100"),
        (
            lambda step, steps, warm_up, peak: peak * step / steps,
            "With step 1 of 100, 10 to warm up, peak 1: 0.01",
        ),
        (lambda step, steps, warm_up, peak: peak * min(1, step / warm_up), "With step 55 of 100"),
        (
            lambda step, steps, warm_up, peak: peak * min(step / warm_up, 1 - step / steps),
            "With step 10 of 100",
        ),
        (lambda step, steps, warm_up, peak: rate(step, steps, warm_up, 1), "With another peak"),
    ],
    "8.3": [
        (lambda rows, left, right: 5, "With 7 on the left and 8 on the right: 5"),
        (
            lambda rows, left, right: between([r[::-1] for r in rows], left, right),
            "With 7 on the left and 8 on the right: 9",
        ),
        (lambda rows, left, right: between(rows, left, right) if right != 9 else 7, "With 2 and 9"),
        (first_seen, "With two candidates that stand there once"),
        (lambda rows, left, right: max(between(rows, left, right), 0), "With two pieces that never stand so"),
    ],
    "8.4": [
        (100, "Divide by the square of 0.005"),
        (50, "square both sides first"),
        (20_000, "one of the two halves"),
        (40_000, "of hits and of misses"),
        (2_500, "That is for 0.01"),
        (7, "7 is too small"),
    ],
    "8.5": [
        ([0.3, 0.2], "the other way round"),
        ([0.4, 0.6], "How likely is the sentence"),
        ([0.24, 0.24], "it is not 0.6 any more"),
        ([0.3, 0.3], "begins with the likeliest first word"),
        ([0.2, 0.2], "Which blank is the most certain one"),
        ([0.2], "Expected 2 values, got 1"),
    ],
}
