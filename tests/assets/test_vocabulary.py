"""The book's vocabulary: frozen, and fit for plain English; and the command that made it still works."""

import hashlib
import runpy
import string
from pathlib import Path

import make_vocabulary
import pytest

import bert_lab
from bert_lab import WordPieceTokenizer, special_ids
from bert_lab.wordpiece import SPECIAL_TOKENS, book_tokenizer

ASSETS = Path(bert_lab.__file__).parent / "assets"
SHA256 = "4f27777910504c94cc3c8dc8c0b030c3b1a877faedcb41ae203a22af8b2eed9e"


def test_the_file_is_the_one_that_was_frozen():
    assert hashlib.sha256((ASSETS / "vocab.txt").read_bytes()).hexdigest() == SHA256
    assert SHA256 in (ASSETS / "README.md").read_text(encoding="utf-8")


def test_its_size_and_its_special_tokens():
    tok = book_tokenizer()
    assert tok.vocab_size == 4000
    assert tok.vocab[:5] == list(SPECIAL_TOKENS)
    assert special_ids(tok) == [0, 1, 2, 3, 4]
    assert tok.lowercase


def test_every_ascii_character_is_a_piece_so_that_plain_english_is_never_unknown():
    pieces = set(book_tokenizer().vocab)
    assert set(string.ascii_lowercase + string.digits + string.punctuation) <= pieces
    assert {f"##{char}" for char in string.ascii_lowercase + string.digits} <= pieces
    # Punctuation always stands alone, so it needs no form inside a word.
    assert not {f"##{char}" for char in string.punctuation} & pieces
    tok = book_tokenizer()
    odd = "Zyzzyva's e-mail: qwrtp_9@x.y ~ {[(<|>)]} `#%^&*+=/\\` “quoted” — it’s “fine”… O’Neill–Smith"
    assert tok.unk_id not in tok.encode(odd)
    assert "[UNK]" in tok.tokens(tok.encode("😀"))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("The cat sat on the mat.", ["the", "cat", "sat", "on", "the", "mat", "."]),
        ("My dog is very hungry.", ["my", "dog", "is", "very", "hungry", "."]),
        ("masking tokens", ["mask", "##ing", "tokens"]),
        ("tokenization", ["token", "##ization"]),
    ],
)
def test_common_words_are_whole_and_others_come_in_sensible_parts(text, pieces):
    tok = book_tokenizer()
    assert tok.tokens(tok.encode(text))[1:-1] == pieces


def test_every_everyday_word_is_a_piece():
    assert set(make_vocabulary.EVERYDAY.split()) <= set(book_tokenizer().vocab)


# The command, on a small library.


def test_the_command_writes_a_vocabulary(tmp_path, monkeypatch, capsys):
    (tmp_path / "m.py").write_text('"""Bidirectional encoders read both ways."""\n')
    monkeypatch.setattr(make_vocabulary, "topics", {"a": "The manual of a language. " * 20})
    monkeypatch.setattr(make_vocabulary, "VOCAB_SIZE", 900)
    monkeypatch.setattr(make_vocabulary.sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    out = tmp_path / "vocab.txt"
    make_vocabulary.main([str(out)])
    tok = WordPieceTokenizer.from_file(out)
    assert capsys.readouterr().out == f"{tok.vocab_size} pieces -> {out}\n"
    assert tok.vocab[:5] == list(SPECIAL_TOKENS)
    assert set(string.ascii_lowercase + string.digits + string.punctuation) <= set(tok.vocab)
    assert tok.tokens(tok.encode("The hungry cat: language"))[1:-1] == [
        "the",
        "hungry",
        "cat",
        ":",
        "language",
    ]
    assert tok.vocab_size <= 900


def test_the_command_needs_the_name_of_a_file(monkeypatch):
    monkeypatch.setattr("sys.argv", ["make_vocabulary"])
    with pytest.raises(SystemExit, match=r"usage: .* OUT\.txt"):
        runpy.run_path(make_vocabulary.__file__, run_name="__main__")
