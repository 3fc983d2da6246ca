"""Exercises of chapter 10, Beyond BERT."""

import math

from bert_lab.labs.exercise import Exercise, function, value


def _by_angle(x, t, theta):
    """What exercise 10.4 asks for, with each pair as one complex number"""
    half = len(x) // 2
    pairs = [complex(a, b) for a, b in zip(x[:half], x[half:], strict=True)]
    angles = [t * theta ** (-2 * i / len(x)) for i in range(half)]
    done = [z * complex(math.cos(angle), math.sin(angle)) for z, angle in zip(pairs, angles, strict=True)]
    return [z.real for z in done] + [z.imag for z in done]


_FOUR = [1.0, -2.0, 0.5, 3.0]

EXERCISES = {
    "10.1": Exercise(
        value(
            [30, 200, 18],
            hints=[
                ([30, 200, 30], "A blank that got the text's own piece is not replaced."),
                ([30, 200, 12], "These 12 are the text's again. The others are replaced."),
                ([30, 30, 18], "The discriminator is asked at every real position."),
                ([200, 200, 18], "BERT is asked at the blanks alone."),
                ([18, 200, 18], "BERT never sees what is drawn: it is asked at all of the blanks."),
            ],
            otherwise="Blanks; then real positions; then blanks with another piece than the text's.",
        ),
        right="And 182 of the discriminator's labels are 0.",
    ),
    "10.2": Exercise(
        value(
            [0.15**4, 0.15],
            hints=[
                ([0.15**4, 0.15**4], "Of a word, only the first piece draws. The others follow."),
                ([0.15, 0.15**4], "That is the other way round: first piece by piece."),
                ([0.6, 0.15], "That adds the four. All four must be picked: multiply."),
                ([1 - 0.85**4, 0.15], "That is the chance that one of the four is picked at least."),
                ([0.15, 0.15], "Piece by piece, four draws have to succeed."),
            ],
            otherwise="How many draws have to succeed?",
            tol=1e-6,
        ),
        right="0.0005 and 0.15: hidden piece by piece, a long word is nearly never hidden as a whole.",
    ),
    "10.3": Exercise(
        function(
            [
                ("T = 5, window 2", lambda: (5, 2), 13),
                ("T = 10, window 4", lambda: (10, 4), 44),
                ("T = 3, window 128, which covers all", lambda: (3, 128), 9),
                ("T = 6, window 1, which is itself alone", lambda: (6, 1), 6),
                ("T = 7, window 5, an odd one", lambda: (7, 5), 29),
                ("T = 1", lambda: (1, 4), 1),
            ],
            otherwise="Near the ends a position sees fewer to one side.",
        ),
        right="About T (window + 1) of T squared: it grows with the text, and not with its square.",
    ),
    "10.4": Exercise(
        function(
            [
                ("two numbers at position 0", lambda: ([1.0, 2.0], 0, 10_000.0), [1.0, 2.0]),
                ("[1, 0] at position 1", lambda: ([1.0, 0.0], 1, 10_000.0), [math.cos(1), math.sin(1)]),
                ("[0, 1] at position 1", lambda: ([0.0, 1.0], 1, 10_000.0), [-math.sin(1), math.cos(1)]),
                ("four numbers at position 3", lambda: (list(_FOUR), 3, 100.0), _by_angle(_FOUR, 3, 100.0)),
                ("another theta", lambda: (list(_FOUR), 3, 16.0), _by_angle(_FOUR, 3, 16.0)),
            ],
            otherwise="Pair i is number i and number i + k/2, and its angle is t theta^(-2i/k).",
            tol=1e-9,
        ),
        right="A turn changes no length: only the angle between a query and a key.",
    ),
}
