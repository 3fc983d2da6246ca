"""The exercises of chapter 06: right answers, and mistakes with a part of what is said of each."""

import numpy as np


def bias_slope(probabilities, labels):
    probabilities, labels = np.array(probabilities), np.array(labels)
    asked = labels != -100
    wanted = np.eye(probabilities.shape[1])[labels[asked]]
    return (probabilities[asked] - wanted).sum(axis=0) / max(1, asked.sum())


def nan_slope(probabilities, labels):
    slope = bias_slope(probabilities, labels)
    return slope if any(y != -100 for y in labels) else slope + np.nan


ANSWERS = {
    "6.1": np.mean([2, 3]),
    "6.2": 384 * 384 + 384 + 2 * 384 + 30522,
    "6.3": [2, 3, 4, 7],
    "6.4": bias_slope,
    "6.5": 0.25**2,
}
MISTAKES = {
    "6.1": [
        (1.625, "the mean over all four"),
        (1.25, "Divide by the number of labelled positions"),
        (5, "That is the sum"),
        (0.75, "the mean over the positions without a label"),
        (3, "3 is too large"),
    ],
    "6.2": [
        (179_130 + 384 * 30522, "The decoder's weight is the encoder's table"),
        (148_608, "The decoder has a bias of its own"),
        (178_362, "The norm has a scale and a shift"),
        (178_746, "the transform has a bias"),
        (147_456, "the transform's matrix alone"),
        (1, "1 is too small"),
    ],
    "6.3": [
        ([0, 2, 3, 4, 7], "the row of [PAD] gets nothing"),
        ([5, 8], "They reach the table by the decoder"),
        ([2, 4, 7, 4, 3], "Name each once, ascending"),
        ([4], "the words around the blanks too"),
        ([2, 3, 4, 5, 7, 8], "The labels, 5 and 8, are not among the inputs"),
        ([0, 2, 3, 4, 5, 7, 8], "Neither labels nor padding"),
        ([2], "Expected 4 values, got 1"),
    ],
    "6.4": [
        (lambda p, y: np.mean(p, axis=0), "one position, half and half"),
        (lambda p, y: bias_slope(p, y) * np.sum(np.array(y) != -100), "two labelled positions"),
        (lambda p, y: bias_slope(p, y) * np.mean(np.array(y) != -100), "a position without a label"),
        (
            nan_slope,
            "With no label at all: At index 0: nan means 'not a number': look for a division of zero by zero",
        ),
    ],
    "6.5": [
        (0, "without knowing the other's answer"),
        (0.25, "That is one blank"),
        (0.5625, "That is red wine"),
        (0.1875, "white wine, or red ink"),
        (0.3, "0.3 is too large"),
    ],
}
