"""The exercises of chapter 07: right answers, and mistakes with a part of what is said of each."""

import numpy as np

from bert_lab.model import BertConfig, BertForMLM


def layer_name(name):
    ours = name.replace("self.", "").replace("intermediate.dense", "ff_in")
    ours = ours.replace("attention.output.LayerNorm", "attention_norm").replace("output.LayerNorm", "ff_norm")
    return "ff_out" if ours == "output.dense" else ours.removesuffix(".dense")


def bert_base_numbers():
    """From two models with the sizes of BERT-base that differ in one layer, without their values."""

    def count(n_layers):
        model = BertForMLM(BertConfig(vocab=4, d_model=8, n_heads=1, n_layers=n_layers, d_ff=4))
        return [tuple({4: "F", 8: "d"}.get(n, n) for n in p.shape) for p in model.parameters()]

    sizes = {"F": 3072, "d": 768}
    total = [
        sum(int(np.prod([sizes.get(n, n) for n in shape])) for shape in count(n_layers))
        for n_layers in (1, 2)
    ]
    layer = total[1] - total[0]
    # The small model has V = 4 as well, which reads as a feed-forward width: set its two uses right.
    return total[0] + 11 * layer - 3072 * 768 - 3072 + 30522 * 768 + 30522


ANSWERS = {
    "7.1": "encoder.layers.3.attention_norm.weight",
    "7.2": layer_name,
    "7.3": bert_base_numbers(),
    "7.4": lambda theirs, ours, real: np.abs(theirs - ours)[real].max(),
    "7.5": "layer 0 attention.output",
}
MISTAKES = {
    "7.1": [
        ("layers.3.attention_norm.weight", "its name in a bare encoder"),
        ("encoder.layer.3.attention_norm.weight", "We write `layers`"),
        ("encoder.layers.3.ff_norm.weight", "the norm at the end of the layer"),
        ("encoder.layers.3.attention.output.weight", "the linear layer before this norm"),
        ("encoder.layers.3.attention.norm.weight", "The norm is no part of our attention"),
        ("no such name", "'no such name' is not it"),
    ],
    "7.2": [
        (
            lambda name: name.replace("output.dense", "ff_out").replace("self.", ""),
            "With attention.output.dense: 'attention.ff_out' is not it",
        ),
        (
            lambda name: layer_name(name) + ".weight",
            "With attention.self.query: 'attention.query.weight' is not it",
        ),
    ],
    "7.3": [
        (132_955_194, "The decoder weight is the word table"),
        (109_483_776, "The decoder has a bias of its own"),
        (108_891_648, "the encoder without its head"),
        (109_482_240, "the encoder with a pooler"),
        (1, "1 is too small"),
    ],
    "7.4": [
        (
            lambda theirs, ours, real: np.abs(theirs - ours).max(),
            "With the second position padding: 9 is too large",
        ),
        (
            lambda theirs, ours, real: (theirs - ours)[real].max() if real[0, 1] else 3.0,
            "With the second position padding: 3 is too large",
        ),
        (
            lambda theirs, ours, real: np.abs(theirs - ours)[real].sum(),
            "With both positions real: 12.5 is too large",
        ),
    ],
    "7.5": [
        ("layer 0 attention.query", "The query is computed before there are scores"),
        ("layer 0 attention.key", "The key is computed before there are scores"),
        ("layer 0 attention.value", "The value is computed without the scores"),
        ("layer 0 attention_norm", "one rung below it breaks first"),
        ("attention.output", "In which layer?"),
        ("logits", "'logits' is not it"),
    ],
}
