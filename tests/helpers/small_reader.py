"""A small random model with a vocabulary of a few words, for the tests of filling in blanks."""

import torch

from bert_lab import PCG32, BertConfig, BertForMLM
from bert_lab.wordpiece import WordPieceTokenizer

WORDS = ["red", "white", "wine", "ink", "bread", "##s", "and", ".", "<"]
TOK = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
SENTENCE = "Red [MASK] and white [MASK] and bread."


def make_model(vocab=TOK.vocab_size, seed=3):
    model = BertForMLM(BertConfig(vocab, 12, 16, 2, 1, 32, dropout=0.5), PCG32(seed))
    with torch.no_grad():
        for weights in model.parameters():
            weights *= 25 if weights.dim() == 2 else 1
    return model.eval()


MODEL = make_model()
