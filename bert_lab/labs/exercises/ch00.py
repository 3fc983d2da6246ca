"""Exercise of chapter 00, Start here."""

from bert_lab.labs.exercise import Exercise, value

EXERCISES = {
    "0.1": Exercise(
        value(
            30,
            hints=[
                (170, "That many are left alone; the question asks for those that are hidden."),
                (0.15, "That is the share; the question asks for a number of words."),
                (15, "15 of every hundred are hidden, and there are two hundred."),
            ],
            otherwise="Multiply the share by the number of words.",
        ),
        right="200 times 0.15. Hints and solutions are folded away below each exercise.",
    ),
}
