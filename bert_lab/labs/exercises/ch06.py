"""Exercises of chapter 06, Predict the blank."""

from bert_lab.labs.exercise import Exercise, function, value

EXERCISES = {
    "6.1": Exercise(
        value(
            2.5,
            hints=[
                (1.625, "That is the mean over all four. Two of them were not asked."),
                (1.25, "Divide by the number of labelled positions, not by all of them."),
                (5, "That is the sum. The loss is a mean."),
                (0.75, "That is the mean over the positions without a label."),
            ],
            otherwise="Take the mean of the losses that stand at a label other than -100.",
            tol=1e-9,
        ),
        right="The losses 2 and 3 count, and their mean is 2.5.",
    ),
    "6.2": Exercise(
        value(
            179_130,
            hints=[
                (147_456 + 384 * 30_522 + 384 + 768 + 30_522, "The decoder's weight is the encoder's table."),
                (148_608, "The decoder has a bias of its own, one number a word."),
                (178_362, "The norm has a scale and a shift, each of width d."),
                (178_746, "Count each vector: the transform has a bias, and the norm a scale and a shift."),
                (147_456, "That is the transform's matrix alone."),
            ],
            otherwise="Add up transform, norm and the decoder's bias; the table belongs to the encoder.",
        ),
        right="147,456 + 384 for the transform, 768 for the norm, 30,522 for the bias.",
    ),
    "6.3": Exercise(
        value(
            [2, 3, 4, 7],
            hints=[
                ([0, 2, 3, 4, 7], "Padding is never read, so the row of [PAD] gets nothing by the lookup."),
                ([5, 8], "Those are the labels. They reach the table by the decoder."),
                ([2, 4, 7, 4, 3], "Those are the right rows. Name each once, ascending."),
                ([4], "Gradients reach the words around the blanks too: the blanks look at them."),
                ([2, 3, 4, 5, 7, 8], "The labels, 5 and 8, are not among the inputs."),
                ([0, 2, 3, 4, 5, 7, 8], "Neither labels nor padding are read."),
            ],
            otherwise="Name the ids that stand at a real position of the inputs.",
        ),
        right="All that stands at a real position is read, by each blank.",
    ),
    "6.4": Exercise(
        function(
            [
                ("one position, half and half, label 0", lambda: ([[0.5, 0.5]], [0]), [-0.5, 0.5]),
                (
                    "two labelled positions",
                    lambda: ([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [2, 2]),
                    [0.4, 0.3, -0.7],
                ),
                (
                    "a position without a label",
                    lambda: ([[0.9, 0.1], [0.25, 0.75]], [-100, 1]),
                    [0.25, -0.25],
                ),
                ("no label at all", lambda: ([[0.9, 0.1]], [-100]), [0.0, 0.0]),
            ],
            otherwise="It is the mean, over the labelled positions, of the probability minus 1 at the label.",
            tol=1e-9,
        ),
        right="What the model says in the mean, minus the share of the labels.",
    ),
    "6.5": Exercise(
        value(
            0.0625,
            hints=[
                (0, "Nobody writes it, but each blank answers without knowing the other's answer."),
                (0.25, "That is one blank. Two of them have to agree on it."),
                (0.5625, "That is red wine: 0.75 times 0.75."),
                (0.1875, "That is white wine, or red ink: 0.25 times 0.75."),
            ],
            otherwise="Multiply the probability of white at the first blank by that of ink at the second.",
            tol=1e-9,
        ),
        right="A quarter of a quarter: two answers that each make sense, and together do not.",
    ),
}
