"""Exercises of chapter 04, Build the encoder."""

import math

import numpy as np

from bert_lab.labs.exercise import Exercise, function, value


def _join(x) -> np.ndarray:
    return np.concatenate(list(np.asarray(x)), axis=-1)


def _gelu(x: float) -> float:
    return x * 0.5 * math.erfc(-x / math.sqrt(2))


def _numbers(*shape: int) -> np.ndarray:
    return np.arange(math.prod(shape)).reshape(shape)


EXERCISES = {
    "4.1": Exercise(
        value(
            [-0.5, -0.5, -0.5, -0.5, 2],
            hints=[
                ([-1, -1, -1, -1, 4], "These are the deviations. Divide them by the root of the variance."),
                ([-0.25, -0.25, -0.25, -0.25, 1], "Divide by the root of the variance, not by the variance."),
                (
                    [-(0.2**0.5)] * 4 + [4 * 0.2**0.5],
                    "Your variance divides by d - 1. LayerNorm divides by d.",
                ),
            ],
            otherwise="Take the mean off each entry, and divide by the root of the mean squared deviation.",
            tol=1e-4,
        ),
        right="The variance is (1 + 1 + 1 + 1 + 16) / 5 = 4, and its root 2.",
    ),
    "4.2": Exercise(
        value(
            7,
            hints=[
                (56, "Divide by the sum of the exponentials."),
                (8, "Those are the scores in place of the weights. Take their exponentials first."),
                (5.5, "That is the plain mean. Weigh each value first."),
                (10, "The word takes a mean over all four values, not the one with the largest weight."),
            ],
            otherwise="The exponentials are 4, 1, 1 and 2.",
            tol=1e-4,
        ),
        right="The weights are 0.5, 0.125, 0.125 and 0.25: 5 + 1 + 0 + 1.",
    ),
    "4.3": Exercise(
        function(
            [
                ("H = 2, T = 3, k = 2", lambda: (_numbers(2, 3, 2),), _join(_numbers(2, 3, 2))),
                ("H = 1, T = 2, k = 3", lambda: (_numbers(1, 2, 3),), _numbers(2, 3)),
                ("H = 4, T = 1, k = 2", lambda: (_numbers(4, 1, 2),), _numbers(1, 8)),
            ],
            otherwise="A row of the result holds the numbers of one word: those of head 0, then of head 1.",
        ),
        right="The words come to the front, and each word's heads stand side by side.",
    ),
    "4.4": Exercise(
        value(
            7_087_872,
            hints=[
                (7_077_888, "The matrices alone. Count the biases and the norms as well."),
                (7_084_800, "Nearly: the two norms have a weight and a bias each."),
                (7_086_336, "Nearly: there are two norms."),
                (85_054_464, "That is all twelve layers. One was asked for."),
                (7_080_960, "The norms are there, but the biases of the six matrices are not."),
            ],
            otherwise="Put d and d_ff into the formula. The number of heads changes nothing.",
        ),
        right="Twelve of them are 85 million, and the word table alone is another 23 million.",
    ),
    "4.5": Exercise(
        function(
            [(f"x = {x}", lambda x=x: (x,), _gelu(x)) for x in (0.0, 1.0, -1.0, 2.7, -2.7, 6.0)],
            otherwise="An error near 0.0002 at x = 1 is the mark of the tanh formula.",
            tol=1e-9,
        ),
        right="Within 1e-9 of x times the normal distribution function.",
    ),
    "4.6": Exercise(
        value(
            ["positions", "tanh", "pre", "types"],
            otherwise="Ask of each fault what the encoder can no longer see, and how large it is.",
        ),
        right="Each fault leaves a mark of its own, and none of them raises an error.",
    ),
}
