"""How attention.json was made: `python tests/assets/make_attention.py OUT.json`.

What the attention lab shows of some sentences on a page of the book, where there is no model to ask.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import torch

from bert_lab.labs.attention_data import BOTH, CAUSAL, as_json, attention_data
from bert_lab.training.shipped import manual_bert

SENTENCES = (
    ("not bad at all", ""),
    ("the value is not bad at all", ""),
    ("not bad", "at all"),
    ("the list is empty, so the loop ends at once", ""),
    ("the function returns the value of its argument", ""),
    ("if the key is not found, an error is raised", ""),
    ("this [MASK] returns the length of the list", ""),
    ("what does it return?", "it returns a new list"),
    ("the first argument is a string and the second is a number", ""),
    ("the cat sat by the door and waited for the rain to stop", ""),
    ("read the file line by line and close it", ""),
    ("one two three two one", ""),
)


def stored(model, tok) -> list[dict]:
    """What the JSON file holds: each sentence read both ways and causally, without padding: it adds zeros."""
    return [
        {"text": text, "pair": pair}
        | {reads: as_json(attention_data(model, tok, text, pair, reads=reads)) for reads in (BOTH, CAUSAL)}
        for text, pair in SENTENCES
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Ask the shipped model and write the file, a line for each sentence."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the JSON file")
    out = parser.parse_args(argv).out
    torch.set_num_threads(1)
    lines = [json.dumps(entry, separators=(",", ":")) for entry in stored(*manual_bert())]
    out.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
