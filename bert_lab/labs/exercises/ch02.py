"""Exercises of chapter 02, Mask at the right rate."""

from bert_lab.labs.exercise import Exercise, function, value

EXERCISES = {
    "2.1": Exercise(
        value(
            0.32,
            hints=[
                (0.4, "That is the share of the action. Some random ids are not another word."),
                (0.36, "Leave out two of the ten ids: [MASK], and the word itself."),
                (0.8, "That is the share among the random ids. Only 0.4 of the picks draw one."),
            ],
            otherwise="Multiply the share of the random action by that of the ids that are another word.",
            tol=1e-6,
        ),
        right="The other random ids are [MASK] and the word itself.",
    ),
    "2.2": Exercise(
        value(
            [1358, 1642],
            hints=[
                ([1357, 1643], "Round towards the mean: these two are just outside."),
                ([1357, 1642], "1357 is just outside."),
                ([1358, 1643], "1643 is just outside."),
                ([1465, 1535], "That is one sd to each side. Take four."),
                ([1500, 1500], "That is the mean. Add and subtract four sd."),
            ],
            otherwise="The mean is 1,500, and the sd is the root of 10,000 times 0.15 times 0.85.",
        ),
        right="Four sd to each side of the mean, and then rounded inwards.",
    ),
    "2.3": Exercise(
        function(
            [
                ("counts 78, 12, 10", lambda: ([78, 12, 10], [0.8, 0.1, 0.1]), 0.45),
                ("counts 8, 1, 1", lambda: ([8, 1, 1], [0.8, 0.1, 0.1]), 0.0),
                ("counts 30, 10", lambda: ([30, 10], [0.5, 0.5]), 10.0),
            ],
            otherwise="Divide each squared difference by the expected number, not by its square.",
            tol=1e-9,
        ),
        right="Each squared difference, in units of what is expected.",
    ),
    "2.4": Exercise(
        value(
            43,
            hints=[
                (42, "0.85 to the power 42 is 0.0011, a little too much."),
                (42.5, "Words come in whole numbers."),
                (44, "One less is enough."),
            ],
            otherwise="The chance of no pick among n words is 0.85 to the power n.",
            tol=1e-6,
        ),
        right="With one word fewer, the chance is still a little above.",
    ),
    "2.5": Exercise(
        value(
            3444,
            hints=[
                (3443, "Nearly: take the exact shares at V = 30522, for both sides."),
                (216, "That is the answer for 80/2/18."),
                (292, "That is the answer for 90/1/9."),
                (24483, "That is the answer for 81/10/9."),
            ],
            otherwise="Compute it with `rates.required_picks`; the split is (0.8, 0.12, 0.08).",
        ),
        right="A quarter of the difference takes sixteen times the picks: compare 80/2/18.",
    ),
}
