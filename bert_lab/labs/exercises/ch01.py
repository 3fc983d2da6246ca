"""Exercises of chapter 01, Mask by hand."""

from bert_lab.labs.exercise import Exercise, function, value

_ROW = [[2, 12, 4, 9, 7, 3], [-100, -100, 6, 9, -100, -100]]

EXERCISES = {
    "1.1": Exercise(
        value(
            14,
            hints=[
                (7, "A picked position draws twice: once to be picked, once for its action."),
                (10, "Special positions draw nothing, and a picked position draws twice."),
                (20, "Special positions draw nothing."),
            ],
            otherwise="Count the positions that are not special, then the uniforms each of them draws.",
        ),
        right="Seven positions, each picked, each with two uniforms. The random ids are drawn with below.",
    ),
    "1.2": Exercise(
        value(
            _ROW,
            hints=[
                ([_ROW[1], _ROW[0]], "The inputs come first, then the labels."),
                ([_ROW[0], [-100, -100, 6, -100, -100, -100]], "A kept position is picked too."),
                ([_ROW[0], [-100, -100, 4, 9, -100, -100]], "The label is the original, not what is shown."),
                ([[2, 12, 4, 20, 7, 3], _ROW[1]], "0.93 is above 0.9: that position is kept."),
                ([_ROW[0], [-100, 12, -100, 9, -100, -100]], "Picked means u < 0.15, and 0.62 is not."),
            ],
            otherwise="Take the draws one by one, and cross out each one you have used.",
        ),
        right="Position 2 shows [MASK], position 3 is kept and labelled, and no random id was needed.",
    ),
    "1.3": Exercise(
        value(
            0.75,
            hints=[
                (0.3, "That is the overall share. By then only 0.4 of the picked positions are left."),
                (0.9, "That is the sum of the first two shares, the threshold for one draw and not for two."),
                (0.12, "Divide by what is left, do not multiply."),
            ],
            otherwise="What share of the remaining 0.4 is 0.3?",
            tol=1e-6,
        ),
        right="0.3 / 0.4, so that 0.4 times 0.75 is 0.3 overall.",
    ),
    "1.4": Exercise(
        function(
            [
                ("losses 1, 1, 4 and labels 5, 6, -100", lambda: ([1.0, 1.0, 4.0], [5, 6, -100]), 1.0),
                ("losses 2, 8 and labels -100, 7", lambda: ([2.0, 8.0], [-100, 7]), 8.0),
                ("one loss of 3 and the label 0", lambda: ([3.0], [0]), 3.0),
                ("losses 1, 2 and no label at all", lambda: ([1.0, 2.0], [-100, -100]), 0.0),
            ],
            tol=1e-9,
        ),
        right="Only labelled positions count, and a row without any has loss 0.",
    ),
    "1.5": Exercise(
        value(
            16,
            hints=[
                (15, "15 is below 2^32 mod 40 = 16, so that word is rejected."),
                (56, "Take the accepted word modulo 40."),
            ],
            otherwise="First find the word that is not rejected, then take it modulo 40.",
        ),
        right="15 is rejected, and 56 mod 40 = 16: two raw words for one integer.",
    ),
}
