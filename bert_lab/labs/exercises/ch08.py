"""Exercises of chapter 08, Train your own BERT."""

from bert_lab.labs.exercise import Exercise, function, value

_ROWS = [[2, 7, 5, 8, 3], [2, 7, 6, 8, 5, 3], [2, 7, 6, 8, 3], [2, 8, 9, 7, 3]]

EXERCISES = {
    "8.1": Exercise(
        value(
            272_160,
            hints=[
                (1_814_400, "That many pieces were seen. Only the picked ones are predicted."),
                (217_728, "The 10% shown as another word and the 10% kept are predicted too."),
                (11_340, "That is without the 24 passages of a step."),
                (453.6, "That is one step."),
            ],
            otherwise="Multiply steps, passages and pieces, and take the share that is picked.",
            tol=0.5,
        ),
        right="600 times 24 times 126 pieces, and 15% of them are picked.",
    ),
    "8.2": Exercise(
        function(
            [
                ("step 1 of 100, 10 to warm up, peak 1", lambda: (1, 100, 10, 1.0), 0.1),
                ("step 10 of 100, 10 to warm up, peak 1", lambda: (10, 100, 10, 1.0), 1.0),
                ("step 55 of 100, 10 to warm up, peak 1", lambda: (55, 100, 10, 1.0), 0.5),
                ("the last step", lambda: (100, 100, 10, 1.0), 0.0),
                ("another peak, step 20 of 50, 40 to warm up", lambda: (20, 50, 40, 0.004), 0.002),
            ],
            otherwise="It rises from 0 to the peak, and falls from there to 0 at the last step.",
            tol=1e-9,
        ),
        right="A triangle, with its top at the end of the warm-up.",
    ),
    "8.3": Exercise(
        function(
            [
                ("7 on the left and 8 on the right", lambda: (_ROWS, 7, 8), 6),
                ("2 and 9", lambda: (_ROWS, 2, 9), 8),
                ("two candidates that stand there once", lambda: ([[1, 9, 2], [1, 4, 2]], 1, 2), 4),
                ("8 and 7, which have one piece between them", lambda: (_ROWS, 8, 7), 9),
                ("two pieces that never stand so", lambda: (_ROWS, 9, 8), -1),
                ("no rows", lambda: ([], 1, 2), -1),
            ],
            otherwise="Look at each three pieces in a row: the left one, the one between, the right one.",
        ),
        right="All that this reader knows of a language are three pieces in a row.",
    ),
    "8.4": Exercise(
        value(
            10_000,
            hints=[
                (100, "Divide by the square of 0.005, not by 0.005 and a half."),
                (50, "The number of blanks stands under the root: square both sides first."),
                (20_000, "That leaves out one of the two halves."),
                (40_000, "That is 1 over the square. The share of hits and of misses are factors too."),
                (2_500, "That is for 0.01."),
            ],
            otherwise="a (1 - a) / n must be the square of 0.005.",
            tol=0.5,
        ),
        right="0.25 / 0.000025. For half of that deviation it takes four times as many.",
    ),
    "8.5": Exercise(
        value(
            [0.2, 0.3],
            hints=[
                ([0.3, 0.2], "That is the other way round: first left to right."),
                (
                    [0.4, 0.6],
                    "That is how sure it is of the first piece it fills. How likely is the sentence?",
                ),
                (
                    [0.24, 0.24],
                    "The second answer is given after the first was put in: it is not 0.6 any more.",
                ),
                ([0.3, 0.3], "Left to right begins with the likeliest first word, which is `a`."),
                ([0.2, 0.2], "Which blank is the most certain one at first? Begin with that."),
            ],
            otherwise="Fill the first piece, leave only the sentences that have it, and fill the other.",
            tol=1e-9,
        ),
        right="The greedy start with `a` leads to a sentence that is not the likeliest.",
    ),
}
