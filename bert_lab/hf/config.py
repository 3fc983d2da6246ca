"""Reading a config.json: its fields, and all that is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..checks import as_bool, as_index, as_real
from .weights import Problem

# The sizes that every family's config has, ours to theirs.
SIZES = {
    "vocab": "vocab_size",
    "max_len": "max_position_embeddings",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "d_ff": "intermediate_size",
}


class Fields:
    """The fields of a config.json: reads them, and keeps all that is wrong in `problems`."""

    def __init__(self, content: Mapping):
        self.content = content
        self.problems: list[Problem] = []

    def wrong(self, name: str, text: str) -> None:
        """Note that a field cannot be used."""
        self.problems.append(Problem("config", name, text))

    def size(self, name: str, default: int | None = None) -> int | None:
        """A whole number from 1 on; None where it is wrong, or absent without a default."""
        return self._read(name, default, as_index, 1, 2**31)

    def sizes(self, table: Mapping[str, str]) -> dict[str, int | None]:
        """The sizes in a table such as `SIZES`, by our names; the heads must share the width evenly."""
        sizes = {ours: self.size(theirs) for ours, theirs in table.items()}
        d_model, n_heads = sizes["d_model"], sizes["n_heads"]
        if d_model and n_heads and d_model % n_heads:
            self.wrong(
                table["n_heads"], f"expected a divisor of {table['d_model']}, {d_model}, got {n_heads}"
            )
        return sizes

    def real(self, name: str, default: float | None = None) -> float | None:
        """A number."""
        return self._read(name, default, as_real)

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        """True or false."""
        return self._read(name, default, as_bool)

    def _read(self, name: str, default, read, *limits):
        if name not in self.content and default is None:
            self.wrong(name, "expected a value, got no such field")
            return None
        try:
            return read(self.content.get(name, default), name, *limits)
        except (TypeError, ValueError) as error:
            self.wrong(name, str(error).removeprefix(f"{name}: "))
            return None

    def fixed(self, name: str, usual: tuple, meaning: str = "", *, required: bool = False) -> None:
        """Refuse a value that is not one of `usual`; an absent field is the first, unless it is required."""
        got = self.content.get(name, None if required else usual[0])
        if got not in usual:
            self.wrong(name, f"expected {usual[0]!r}{meaning}, got {got!r}")


# ---- BERT's config.json, and that of the models with the same encoder


# The sizes of BERT's config, ours to theirs.
BERT_SIZES = {**SIZES, "type_vocab": "type_vocab_size"}
_DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")
# What the config of this model says, or may leave out, and why.
_FIXED = {
    "position_embedding_type": (("absolute", None), ""),
    "is_decoder": ((False, None), ", an encoder"),
    "is_encoder_decoder": ((False, None), ", an encoder"),
    "add_cross_attention": ((False, None), ", an encoder"),
    "tie_word_embeddings": ((True, None), ", the word table as decoder"),
    "pruned_heads": (({}, None), ", all heads"),
    "quantization_config": ((None,), ", plain weights"),
}


def read_bert_config(
    content: Mapping, dropout: float | None = None, model_type: str = "bert"
) -> tuple[dict[str, Any], list[Problem]]:
    """What a `BertConfig` is made with, by our names, and all in the content that is not ours.

    dropout: instead of the config's two, which must agree. model_type: "bert", or that of a relative whose
    encoder is the same.
    """
    fields = Fields(content)
    fields.fixed("model_type", (model_type,), required=True)
    fields.fixed("hidden_act", ("gelu",), ", the exact one", required=True)
    for name, (usual, meaning) in _FIXED.items():
        fields.fixed(name, usual, meaning)
    sizes = fields.sizes(BERT_SIZES)
    # Google's first configs have no such field: their code had the number in it.
    ln_eps = fields.real("layer_norm_eps", 1e-12)
    if ln_eps is not None and not 0 < ln_eps < float("inf"):
        fields.wrong("layer_norm_eps", f"expected a finite number > 0, got {ln_eps}")
    if dropout is None:
        dropout = _one_dropout(fields)
    return {**sizes, "dropout": dropout, "ln_eps": ln_eps}, fields.problems


def _one_dropout(fields: Fields) -> float | None:
    dropouts = [fields.real(name) for name in _DROPOUTS]
    for name, value in zip(_DROPOUTS, dropouts, strict=True):
        if value is not None and not 0 <= value < 1:
            fields.wrong(name, f"expected a probability in [0, 1), got {value}")
    if None not in dropouts and dropouts[0] != dropouts[1]:
        text = (
            f"expected {_DROPOUTS[0]}, {dropouts[0]}, since this model has one dropout, got "
            f"{dropouts[1]}; load_bert(dir, dropout=...) decides"
        )
        fields.wrong(_DROPOUTS[1], text)
    return dropouts[0]


def bert_config_content(config, architecture: str, model_type: str, dtype: str) -> dict:
    """The content of a config.json for `transformers`, for a config with BERT's fields."""
    return {
        "architectures": [architecture],
        "model_type": model_type,
        **{hf: getattr(config, ours) for ours, hf in BERT_SIZES.items()},
        **dict.fromkeys(_DROPOUTS, config.dropout),
        "layer_norm_eps": config.ln_eps,
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
        "initializer_range": 0.02,
        # Theirs never trains the row of the padding id. Ours trains every row, and which id a tokenizer pads
        # with is not known here, so there is none.
        "pad_token_id": None,
        "dtype": dtype,
    }
