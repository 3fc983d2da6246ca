"""Remake `ladder.npz`: `python tests/assets/make_ladder.py TWIN_DIR OUT.npz`.

TWIN_DIR is a finished run of `bert-lab pretrain --left-only` on the Python manual, and this Python's manual
must be the one that it was trained on. `assets/README.md` has the command.
"""

import sys
from pathlib import Path

from bert_lab.data.corpus import manual_corpus
from bert_lab.training.pretrain import load_run
from bert_lab.training.readers import store_guesses


def main(arguments: list[str]) -> None:
    """Write the held-out passages and the guesses of all models but BERT."""
    if len(arguments) != 2:
        raise SystemExit("usage: python tests/assets/make_ladder.py TWIN_DIR OUT.npz")
    twin_dir, out = arguments
    corpus = manual_corpus()
    store_guesses(Path(out), corpus, load_run(twin_dir, corpus, left_only=True))
    print(f"{len(corpus.held_out)} passages -> {out}")


if __name__ == "__main__":
    main(sys.argv[1:])
