"""Exercises of chapter 07, Load a real BERT."""

import numpy as np

from bert_lab.labs.exercise import Exercise, function, value

_NAMES = {
    "attention.self.query": "attention.query",
    "attention.self.key": "attention.key",
    "attention.self.value": "attention.value",
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "ff_in",
    "output.dense": "ff_out",
    "output.LayerNorm": "ff_norm",
}
_SMALL = np.array([[[0.5, -2.0], [9.0, 1.0]]])  # [1, 2, 2]


def _rung(*real: bool):
    return lambda: (_SMALL.copy(), np.zeros((1, 2, 2)), np.array([real]))


EXERCISES = {
    "7.1": Exercise(
        value(
            "encoder.layers.3.attention_norm.weight",
            hints=[
                (
                    "layers.3.attention_norm.weight",
                    "That is its name in a bare encoder. In BertForMLM, more stands in front.",
                ),
                ("encoder.layer.3.attention_norm.weight", "We write `layers`."),
                ("encoder.layers.3.ff_norm.weight", "That is the norm at the end of the layer."),
                ("encoder.layers.3.attention.output.weight", "That is the linear layer before this norm."),
                (
                    "encoder.layers.3.attention.norm.weight",
                    "The norm is no part of our attention: it comes after it.",
                ),
            ],
            otherwise="Look for the same name with layer 0.",
        ),
        right="The norm after the attention, in the fourth layer.",
    ),
    "7.2": Exercise(
        function(
            [(theirs, lambda theirs=theirs: (theirs,), ours) for theirs, ours in _NAMES.items()],
            otherwise="Does one of your rules also match a part of this name?",
        ),
        right="Eight names, and the one that is a part of another is not mistaken for it.",
    ),
    "7.3": Exercise(
        value(
            109_514_298,
            hints=[
                (132_955_194, "The decoder weight is the word table, and is not stored a second time."),
                (109_483_776, "The decoder has a bias of its own."),
                (108_891_648, "That is the encoder without its head."),
                (
                    109_482_240,
                    "That is the encoder with a pooler. The head has a transform, a norm and a bias.",
                ),
            ],
            otherwise="Do the tables, one layer, the head. Mind the biases, and the two vectors of a norm.",
        ),
        right="110 million, as the paper says, of which the word table is a fifth.",
    ),
    "7.4": Exercise(
        function(
            [
                ("both positions real", _rung(True, True), 9.0),
                ("the second position padding", _rung(True, False), 2.0),
                ("the first position padding", _rung(False, True), 9.0),
            ],
            otherwise="Take the absolute value, at real positions alone, and then the largest.",
            tol=1e-9,
        ),
        right="The largest difference where the text is; padding does not count.",
    ),
    "7.5": Exercise(
        value(
            "layer 0 attention.output",
            hints=[
                ("layer 0 attention.query", "The query is computed before there are scores."),
                ("layer 0 attention.key", "The key is computed before there are scores."),
                ("layer 0 attention.value", "The value is computed without the scores."),
                ("layer 0 attention_norm", "It breaks as well, but one rung below it breaks first."),
                ("attention.output", "In which layer?"),
            ],
            otherwise="Which is the first linear layer or norm after the scores?",
        ),
        right="It is the first that gets a mean taken with the wrong weights.",
    ),
}
