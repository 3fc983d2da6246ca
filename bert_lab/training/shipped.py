"""The model that the book ships: trained by `bert-lab pretrain` on the Python manual."""

from pathlib import Path

from ..checkpoint import load_bert
from ..model import BertForMLM
from ..wordpiece import WordPieceTokenizer

MANUAL_BERT = Path(__file__).parents[1] / "assets" / "manual-bert"


def manual_bert() -> tuple[BertForMLM, WordPieceTokenizer]:
    """A fresh copy of the shipped model, in eval mode and float32, and its tokenizer.

    4 layers of width 192 with 4 heads, V = 4000, at most 128 positions. `assets/README.md` says how it was
    made, and `bert-lab ladder` how good it is.
    """
    return load_bert(MANUAL_BERT), WordPieceTokenizer.from_dir(MANUAL_BERT)
