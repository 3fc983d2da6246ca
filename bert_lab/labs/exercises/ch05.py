"""Exercises of chapter 05, Read both ways."""

import numpy as np

from bert_lab.labs.exercise import Exercise, function, value


def _prefix(size: int, n: int) -> np.ndarray:
    allowed = np.tril(np.ones((size, size), dtype=bool))
    allowed[:, :n] = True
    return allowed


EXERCISES = {
    "5.1": Exercise(
        value(
            [0.25, 0.25, 0.5, 0],
            hints=[
                (
                    [0.05, 0.05, 0.1, 0.8],
                    "Those are the weights both ways. The third may not look at the fourth.",
                ),
                ([0.05, 0.05, 0.1, 0], "Divide by the sum of those that are left: weights sum to 1."),
                ([0.5, 0.5, 0, 0], "A word may look at itself as well."),
                ([0.25, 0.25, 0.5], "Four weights were asked for. What is the fourth?"),
                ([2, 2, 4, 0], "Those are the exponentials. Divide them by their sum."),
            ],
            otherwise="The exponentials are 2, 2 and 4, and the fourth is not allowed.",
            tol=1e-4,
        ),
        right="2, 2 and 4 of 8, and nothing for the word to the right.",
    ),
    "5.2": Exercise(
        value(
            49,
            hints=[
                (28, "That is a causal mask over eight real tokens. Three of them are padding."),
                (39, "That is the padding alone. The causal mask takes some of the other 25."),
                (10, "Those are the zeros among the real tokens. Padding has rows and columns of its own."),
                (15, "Those are the entries that are not zero."),
                (54, "A token does move its own output: the diagonal is not zero."),
            ],
            otherwise="Count the pairs of real tokens with j at most i, and take them from 64.",
        ),
        right="15 entries are left: 1 + 2 + 3 + 4 + 5.",
    ),
    "5.3": Exercise(
        function(
            [
                ("T = 4, n = 2", lambda: (4, 2), _prefix(4, 2)),
                ("T = 3, n = 0", lambda: (3, 0), _prefix(3, 0)),
                ("T = 3, n = 3", lambda: (3, 3), _prefix(3, 3)),
                ("T = 5, n = 1", lambda: (5, 1), _prefix(5, 1)),
            ],
            otherwise="Row i says where position i may look. No prefix at all is the causal mask.",
        ),
        right="No prefix is GPT's mask, and nothing but prefix is BERT's.",
    ),
    "5.4": Exercise(
        value(
            [0, 1, 2, 3],
            hints=[
                ([0, 1], "That is one layer. In the next one, position 1 has something new to tell."),
                ([1, 2, 3], "It looks at itself as well."),
                ([0, 1, 2], "That is as far as two layers reach."),
                (list(range(10)), "Each layer carries a word one position further, and no more."),
                ([0, 1, 2, 3, 4], "That is one too far: the first layer reaches position 1."),
            ],
            otherwise="Follow a word backwards, one position a layer.",
        ),
        right="One position further with each layer.",
    ),
    "5.5": Exercise(
        value(
            (np.log(7) + np.log(6)) / 4,
            hints=[
                ((np.log(7) + np.log(6)) / 5, "That is the floor for five words."),
                (np.log(7) + np.log(6), "That is the sum. The loss is a mean over four words."),
                (np.log(7), "Only the first word costs that much."),
                (np.log(7) / 2, "The second day is not the first: six are left, not seven."),
            ],
            otherwise="Two words cost something, and four are asked.",
            tol=1e-4,
        ),
        right="The same cost, shared by fewer words.",
    ),
    "5.6": Exercise(
        value(
            ["leak", "padding", "causal", "types"],
            otherwise="Ask of each fault what the encoder sees that it should not, or does not see.",
        ),
        right="Not one of them raises an error: one has to look.",
    ),
}
