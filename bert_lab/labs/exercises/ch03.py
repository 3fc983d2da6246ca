"""Exercises of chapter 03, From text to batches."""

from bert_lab.labs.exercise import Exercise, function, value

_PADDED = [[[2, 5, 6, 3], [2, 5, 3, 0]], [[1, 1, 1, 1], [1, 1, 1, 0]]]
_ZEROS = [[[2, 0, 3], [2, 3, 0]], [[1, 1, 1], [1, 1, 0]]]
_NINES = [[[2, 3, 9], [2, 9, 3]], [[1, 1, 0], [1, 1, 1]]]

EXERCISES = {
    "3.1": Exercise(
        value(
            ["seas", "##id", "##es"],
            hints=[
                (
                    ["sea", "##side", "##s"],
                    "The rule does not look ahead: is there a longer piece at the start?",
                ),
                (["seas", "id", "es"], "A piece inside a word is written with ##."),
                (["seasides"], "That word is not in the list as a whole."),
                (["[UNK]"], "It can be put together from the list, in one way that follows the rule."),
            ],
            otherwise="At each place, take the longest piece of the list that fits there.",
        ),
        right="seas is longer than sea, and then ##side no longer fits.",
    ),
    "3.2": Exercise(
        value(
            [0, 0, 0, 0, 0, 1, 1, 1],
            hints=[
                ([0, 0, 0, 1, 1, 1, 1, 1], "A [SEP] written out in a text does not begin the second one."),
                ([0, 0, 0, 0, 1, 1, 1, 1], "The first text's own [SEP] is of type 0."),
                ([0, 0, 0, 0, 0, 1, 1, 0], "The [SEP] that closes the second text belongs to it."),
                ([0, 0, 0, 1, 1, 2, 2, 2], "There are two types, for the two texts of the pair."),
            ],
            otherwise="Write the row down first: [CLS], the first text, [SEP], the second text, [SEP].",
        ),
        right="Five positions up to the first text's own [SEP], three for the second text and its [SEP].",
    ),
    "3.3": Exercise(
        value(
            [5, 4],
            hints=[
                ([6, 6], "The special tokens of a pair take three of the twelve."),
                ([8, 4], "That is twelve pieces, and the three special tokens need room too."),
                ([5, 5], "The second text has only four pieces."),
                ([9, 0], "The longer text loses pieces, and the second keeps what it has."),
                ([4, 5], "First the first text, then the second."),
            ],
            otherwise="How many places are left for pieces? Take one piece at a time from the longer text.",
        ),
        right="Twelve less three special tokens leaves nine; the longer text loses five of its ten.",
    ),
    "3.4": Exercise(
        function(
            [
                ("rows of 4 and 3 ids", lambda: ([[2, 5, 6, 3], [2, 5, 3]], 0), _PADDED),
                ("a [PAD] inside a text", lambda: ([[2, 0, 3], [2, 3]], 0), _ZEROS),
                ("9 as the id of [PAD]", lambda: ([[2, 3], [2, 9, 3]], 9), _NINES),
            ],
            otherwise="The mask says how long a row was, not what its ids are.",
        ),
        right="The mask comes from the lengths, so that a [PAD] inside a text stays a real position.",
    ),
    "3.5": Exercise(
        value(
            10,
            hints=[
                (20, "At p = 0 nothing is picked, so that no second uniform is drawn."),
                (14, "[CLS] and [SEP] draw nothing."),
                (18, "Padding draws nothing, and neither do [CLS] and [SEP]."),
            ],
            otherwise="Special positions, padding among them, draw nothing.",
        ),
        right="Seven words and three, one uniform each. Padding, [CLS] and [SEP] draw nothing.",
    ),
}
