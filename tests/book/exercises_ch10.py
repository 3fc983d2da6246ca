"""The exercises of chapter 10: right answers, and mistakes with a part of what is said of each."""

import numpy as np
import torch

from bert_lab.beyond.modern import rotate


def pairs(T, window):
    i = np.arange(T)
    return int((abs(i[:, None] - i) <= window // 2).sum())


def turned(x, t, theta):
    return rotate(torch.tensor([x], dtype=torch.float64), torch.tensor([t]), theta)[0]


def neighbors(x, t, theta):
    halves = turned([*x[::2], *x[1::2]], t, theta).tolist()
    return [halves[i // 2 + i % 2 * len(x) // 2] for i in range(len(x))]


ANSWERS = {
    "10.1": (30, 200, 18),
    "10.2": [np.float64(0.15) ** 4, 0.15],
    "10.3": pairs,
    "10.4": turned,
}
MISTAKES = {
    "10.1": [
        ([30, 200, 30], "is not replaced"),
        ([30, 200, 12], "These 12 are the text's again"),
        ([30, 30, 18], "asked at every real position"),
        ([200, 200, 18], "at the blanks alone"),
        ([18, 200, 18], "never sees what is drawn"),
        ([30, 200, 19], "At index 2"),
        ([30, 200], "Expected 3 values, got 2"),
    ],
    "10.2": [
        ([0.15**4, 0.15**4], "only the first piece draws"),
        ([0.15, 0.15**4], "the other way round"),
        ([0.6, 0.15], "That adds the four"),
        ([1 - 0.85**4, 0.15], "one of the four is picked at least"),
        ([0.15, 0.15], "four draws have to succeed"),
        ([0.1, 0.15], "0.1 is too large"),
    ],
    "10.3": [
        (lambda T, window: T * (window + 1), "With T = 5, window 2: 15 is too large"),
        (lambda T, window: T * (2 * (window // 2) + 1) - window // 2, "With T = 5, window 2: 14"),
        (lambda T, window: pairs(T, 2 * window), "With T = 5, window 2: 19"),
        (lambda T, window: pairs(T, window + 1) if window % 2 else pairs(T, window), "With T = 6, window 1"),
        (
            lambda T, window: T * (2 * (window // 2) + 1) - window // 2 * (window // 2 + 1),
            "With T = 3, window 128",
        ),
    ],
    "10.4": [
        (lambda x, t, theta: turned(x, -t, theta), "With [1, 0] at position 1: At index 1"),
        (lambda x, t, theta: [0.0] * len(x), "With two numbers at position 0"),
        (lambda x, t, theta: abs(turned(x, t, theta)), "With [0, 1] at position 1"),
        (neighbors, "With four numbers at position 3"),
        (lambda x, t, theta: turned(x, t, 100.0), "With another theta"),
        (lambda x, t, theta: turned(x, t, theta)[: len(x) // 2], "Expected 2 values, got 1"),
    ],
}
