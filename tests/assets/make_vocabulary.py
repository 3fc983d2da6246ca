"""How the book's vocabulary was made: `python tests/assets/make_vocabulary.py OUT.txt`.

Trains an uncased WordPiece vocabulary on the Python manual (`pydoc_data.topics`), on the docstrings of the
standard library, and on a page of everyday words that manuals hardly use. Another Python has another manual,
and so a slightly different vocabulary: the committed `vocab.txt` is the one of the book.
"""

import string
import sys
import sysconfig
from pathlib import Path
from pydoc_data.topics import topics

from bert_lab.data.corpus import docstrings_of, documents_of, sources
from bert_lab.wordpiece import WordPieceTokenizer

VOCAB_SIZE = 4000

# Python's manual has no cats. Each of these words is counted this often, so that it becomes a piece.
EVERYDAY_COUNT = 300
EVERYDAY = """
cat cats dog dogs mat sat sit bird birds fish tree trees garden house door window room table chair bed book
books letter story song city street road river sea water rain snow sun moon star sky day night morning evening
week month year today yesterday hour king queen girl boy man men woman women child children friend friends
mother father sister brother family teacher student school doctor farmer baker people food bread milk tea
coffee cake apple fruit dinner breakfast paper pen box car train bus boat ship money market shop hand hands
head eye eyes heart good bad new old big small long short young happy sad hot cold warm red green blue black
white full empty loud quiet fast slow rich poor hungry tired clean dirty sweet go goes went gone come came run
runs ran walk walked play played playing eat ate drink drank sleep slept see saw hear heard say said says tell
told ask asked think thought know knew love loved like liked want wanted give gave take took make made buy
bought sell sold open opened close closed read write wrote sing sang live lived work worked learn learned
teach taught look looked find found lost fell stood stopped began waited he she they we you his her their our
my your him them me us who where when why how every many much few some very well mask masks masked token
tokens sentence sentences word words blank blanks hidden fill filled guess hide always never often again
together home away near under over behind between after before while because until
"""

# One character a piece, so that plain English never needs [UNK]. Anything else than ASCII here is common
# typography.
ALPHABET = (
    string.ascii_lowercase + string.digits + string.punctuation + "\u2013\u2014\u2018\u2019\u201c\u201d\u2026"
)


def make(texts: list[str], vocab_size: int) -> list[str]:
    """Return the pieces of a vocabulary trained on `texts` and the everyday words, special tokens first."""
    everyday = [EVERYDAY] * EVERYDAY_COUNT
    tok = WordPieceTokenizer.train([*texts, *everyday], vocab_size, alphabet=ALPHABET)
    return tok.vocab


def main(arguments: list[str]) -> None:
    """Make the vocabulary and write it to the file named by the one argument."""
    if len(arguments) != 1:
        raise SystemExit("usage: python tests/assets/make_vocabulary.py OUT.txt")
    (out,) = arguments
    library = Path(sysconfig.get_paths()["stdlib"])
    texts = [*topics.values(), *documents_of(sources(library), docstrings_of)]
    pieces = make(texts, VOCAB_SIZE)
    Path(out).write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8", newline="\n")
    print(f"{len(pieces)} pieces -> {out}")


if __name__ == "__main__":
    main(sys.argv[1:])
