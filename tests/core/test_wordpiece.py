"""The tokenizer: the ids that `transformers` gives, and a clear error for what is no vocabulary of BERT's."""

import copy
import json
import os
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer, BertTokenizer

from bert_lab import WordPieceTokenizer, special_ids
from bert_lab.wordpiece import SPECIAL_TOKENS, book_tokenizer, split_pairs

WORDS = """
    the cat caf cafe sat ##s ##e a b c d e x i u + = $ 5 . , ! ' [ ] mask sep # ##a ##b ##h ##l ##o
    this is sequence
    Café Caf ##é É İ ß straße strass ##ß 我 爱 日 本 のネコ 고 ##양 ##이 hello Hello ##hello ##Hello This
    filipovic istanbul ##stanbul naive NAÏVE \u1112 ##\u1161 ##\u1175
"""
PIECES = [*SPECIAL_TOKENS, *WORDS.split(), "a\u2028b"]
V = len(PIECES)


@pytest.fixture
def tok():
    return WordPieceTokenizer(PIECES)


def tokens(tok, text, pair=None):
    return tok.tokens(tok.encode(text, pair))


def inner(tok, text):
    """The pieces of a text without [CLS] and [SEP]."""
    return tokens(tok, text)[1:-1]


# The same ids as transformers, on anything that is text.


@cache
def both(lowercase):
    """Our tokenizer and that of transformers on the same pieces."""
    theirs = BertTokenizer(vocab={piece: i for i, piece in enumerate(PIECES)}, do_lower_case=lowercase)
    return WordPieceTokenizer(PIECES, lowercase), theirs


NASTY = st.one_of(
    st.sampled_from(
        [*SPECIAL_TOKENS, "[mask]", "[ MASK ]", "[MASK", "##s", "Café", "é", "İ", "ß", "ﬁ", "Ǆ", "ẞ"]
    ),
    st.sampled_from(
        ["\x00", "\ufffd", "\u00ad", "\u200b", "\u200d", "\u2028", "\x85", "\ufeff", "\u3000", "\r\n", "\t"]
    ),
    st.sampled_from(
        [
            "한국어",
            "日本",
            "のネコ",
            "𠀀",
            "\u0301",
            "\u0345",
            "\U000e0041",
            "👩\u200d🔬",
            "\U0010ffff",
            "\ue000",
        ]
    ),
    st.sampled_from(["hello" * 20, "x" * 101, " ", "  ", "cat", "CATS", "$5", "a+b=c", "don't", "١٢", "!?"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
TEXTS = st.lists(NASTY, max_size=8).map("".join)


@given(TEXTS, TEXTS, st.booleans())
@example("İstanbul STRASSE Straße", "\u0130\u0307 ǅ", True)
@example("[CLS] [SEP] [PAD] [UNK] [MASK]", "a[MASK]b [mask]", True)
def test_ids_and_text_are_those_of_transformers(text, pair, lowercase):
    ours, theirs = both(lowercase)
    assert ours.encode(text) == theirs(text)["input_ids"]
    assert [ours.encode(text, pair)] == theirs([(text, pair)])["input_ids"]
    assert (
        ours.encode_batch([text, (text, pair)])
        == theirs([text])["input_ids"] + theirs([(text, pair)])["input_ids"]
    )
    assert ours.decode(ours.encode(text, pair)) == theirs.decode(ours.encode(text, pair))


# Cases 52 to 58 of text to tokens, each the smallest of its kind.


def test_special_tokens_written_out_are_those_tokens(tok):
    assert inner(tok, "this is a [MASK] sequence [SEP]") == ["this", "is", "a", "[MASK]", "sequence", "[SEP]"]
    assert inner(tok, "a[MASK]b[PAD][UNK]") == ["a", "[MASK]", "b", "[PAD]", "[UNK]"]
    assert inner(tok, "[mask]") == ["[", "mask", "]"]  # only as it is spelled
    assert inner(WordPieceTokenizer(PIECES, lowercase=False), "[MASK] [SEP]") == ["[MASK]", "[SEP]"]


@pytest.mark.parametrize(
    ("lowercase", "text", "expected"),
    [
        (True, "Café NAÏVE", ["cafe", "naive"]),
        (False, "Café NAÏVE", ["Café", "NAÏVE"]),
        (True, "Filipović", ["filipovic"]),
        (True, "İstanbul", ["istanbul"]),
        (True, "Straße", ["straße"]),
        (True, "a+b=c $5 ©", ["a", "+", "b", "=", "c", "$", "5", "[UNK]"]),
        (True, "我爱cat", ["我", "爱", "cat"]),
        (True, "日本のネコ", ["日", "本", "のネコ"]),
        (False, "고양이", ["고", "##양", "##이"]),
        (
            True,
            "하히",
            ["[UNK]"],
        ),  # four jamo, and no piece begins inside the word with the second syllable's
        (
            True,
            "하",
            ["\u1112", "##\u1161"],
        ),  # one syllable becomes two jamo, which are not put together again
        (True, "cafes", ["cafe", "##s"]),
        (True, "the\u00a0cat\u200bs", ["the", "cats"[:3], "##s"]),
    ],
)
def test_normalization_is_berts(lowercase, text, expected):
    assert inner(WordPieceTokenizer(PIECES, lowercase), text) == expected


def test_a_word_longer_than_100_characters_is_unknown(tok):
    assert inner(tok, "hello" * 20) == ["hello"] + ["##hello"] * 19
    assert inner(tok, "hello" * 20 + "s") == ["[UNK]"]
    assert inner(tok, "日" * 101) == ["日"] * 101  # split into single characters before it is counted
    assert inner(tok, "a" * 100 + "." + "a" * 100) == [*["a"], *["##a"] * 99, ".", *["a"], *["##a"] * 99]


@pytest.mark.parametrize("blank", ["", " ", "\n", "\u200b", "\t\r\n ", "\x00"])
def test_a_blank_text_is_cls_and_sep(tok, blank):
    assert tokens(tok, blank) == ["[CLS]", "[SEP]"]
    assert tokens(tok, blank, blank) == ["[CLS]", "[SEP]", "[SEP]"]


# Ids, names and the way back.


def test_special_ids_are_found_by_name_wherever_they_stand():
    tok = WordPieceTokenizer(["a", "[MASK]", "b", "[SEP]", "[UNK]", "c", "[CLS]", "d", "[PAD]"])
    assert (tok.pad_id, tok.unk_id, tok.cls_id, tok.sep_id, tok.mask_id) == (8, 4, 6, 3, 1)
    assert special_ids(tok) == [1, 3, 4, 6, 8]
    assert tok.encode("a [MASK] zebra", "d") == [6, 0, 1, 4, 3, 7, 3]
    assert tok.vocab_size == 9


def test_special_ids_of_anything_else_is_a_type_error():
    with pytest.raises(TypeError, match="expected a WordPieceTokenizer, got BertTokenizer"):
        special_ids(both(True)[1])


def test_tokens_and_decode_read_rows_of_any_integer_type(tok):
    ids = tok.encode("the cats sat.")
    assert tok.tokens(ids) == ["[CLS]", "the", "cat", "##s", "sat", ".", "[SEP]"]
    for row in (tuple(ids), np.array(ids, np.int16), np.array(ids, np.uint64), torch.tensor(ids)):
        assert tok.tokens(row) == tok.tokens(ids)
        assert tok.decode(row) == "[CLS] the cats sat. [SEP]"
    assert tok.decode(ids, skip_special=True) == "the cats sat."
    assert tok.decode([]) == ""
    assert tok.tokens(np.array([], np.int64)) == []


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([1.0], TypeError, "integer ids, got float64"),
        ([True], TypeError, "integer ids, got bool"),
        (["a"], TypeError, "integer ids"),
        ([None], TypeError, "integer ids, got object"),
        ([[1, 2]], ValueError, r"one row of ids, got an array of shape \(1, 2\)"),
        (3, ValueError, "one row of ids"),
        ([5, -100], ValueError, f"ids from 0 to {V - 1}, got -100"),
        ([5, V], ValueError, f"ids from 0 to {V - 1}, got {V}"),
    ],
)
def test_ids_that_are_none_are_refused(tok, ids, error, message):
    for read in (tok.tokens, tok.decode):
        with pytest.raises(error, match=message):
            read(ids)


def test_the_vocabulary_cannot_be_changed_from_outside(tok):
    tok.vocab.append("more")
    assert tok.vocab == PIECES
    assert tok.vocab_size == len(PIECES)


def test_equality_hash_repr_and_copies(tok):
    same = WordPieceTokenizer(tuple(PIECES), strip_accents=True)  # what lower-casing brings along
    assert tok == same
    assert hash(tok) == hash(same)
    assert tok != WordPieceTokenizer(PIECES, lowercase=False)
    assert tok != WordPieceTokenizer(PIECES, strip_accents=False)
    assert tok != WordPieceTokenizer(PIECES, split_cjk=False)
    assert tok != WordPieceTokenizer(PIECES[::-1])
    assert tok != "a tokenizer"
    assert repr(tok) == f"WordPieceTokenizer({V} pieces, uncased)"
    assert repr(WordPieceTokenizer(PIECES, False)) == f"WordPieceTokenizer({V} pieces, cased)"
    for twin in (copy.deepcopy(tok), pickle.loads(pickle.dumps(tok))):
        assert twin == tok
        assert twin.encode("the cats") == tok.encode("the cats")


# Texts that are none.


@pytest.mark.parametrize("text", [None, 3, b"the cat", ["the", "cat"], ("the", "cat"), np.array("the")])
def test_encode_takes_strings_only(tok, text):
    with pytest.raises(TypeError, match="expected text to be a string, got"):
        tok.encode(text)
    with (
        pytest.raises(TypeError, match="expected pair to be a string, got")
        if text is not None
        else pytest.raises(TypeError, match="text")
    ):
        tok.encode(text if text is None else "the", text)


@pytest.mark.parametrize(
    "texts", ["the cat", b"the", None, 3, {"the": 1}, {"the"}, frozenset({"the"}), "x" * 99]
)
def test_a_batch_is_an_ordered_collection_of_texts(tok, texts):
    with pytest.raises(TypeError, match="expected a list of texts, got "):
        tok.encode_batch(texts)


@pytest.mark.parametrize(
    "text", [None, 3, b"the", ("the",), ("the", "cat", "sat"), ("the", None), [], {"the", "cat"}]
)
def test_a_text_is_a_string_or_a_pair(tok, text):
    with pytest.raises(TypeError, match=r"expected a string or a pair of strings, got .* at texts\[1\]"):
        tok.encode_batch(["the", text])


def test_encode_plain_names_what_is_no_string(tok):
    assert tok.encode_plain(["the cats", ""]) == [tok.encode("the cats")[1:-1], []]
    with pytest.raises(TypeError, match=r"expected a string, got int 3 at texts\[1\]"):
        tok.encode_plain(["the", 3])
    with pytest.raises(TypeError, match="expected a list of texts, got str 'the cats'"):
        tok.encode_plain("the cats")


def test_pairs_come_as_tuples_or_lists_and_batches_as_anything_in_order(tok):
    expected = [tok.encode("the cat"), tok.encode("the", "cat")]
    for batch in (
        ["the cat", ("the", "cat")],
        ("the cat", ["the", "cat"]),
        iter(["the cat", ("the", "cat")]),
    ):
        assert tok.encode_batch(batch) == expected
    assert tok.encode_batch(np.array(["the", "cat"])) == [tok.encode("the"), tok.encode("cat")]
    assert tok.encode_batch([]) == []
    assert split_pairs(["a", ["b", "c"]]) == [("a",), ("b", "c")]


@pytest.mark.parametrize("bad", ["\ud800", "the \udfff cat", "\ud83d \ude00"])
def test_a_lone_surrogate_is_no_text(tok, bad):
    for call in (
        lambda: tok.encode(bad),
        lambda: tok.encode("the", bad),
        lambda: tok.encode_batch(["the", bad]),
        lambda: tok.encode_plain(["the", bad]),
        lambda: WordPieceTokenizer.train(["the", bad], 50),
    ):
        with pytest.raises(ValueError, match=r"lone surrogate U\+D[0-9A-F]{3} at \d"):
            call()


def test_other_type_errors_of_the_library_are_not_hidden(tok, monkeypatch):
    class Backend:
        def encode_batch_fast(self, *_args, **_kwargs):
            raise TypeError("something else")

    monkeypatch.setattr(tok, "_backend", Backend())
    with pytest.raises(TypeError, match="something else"):
        tok.encode_plain(["the"])


# Vocabularies that are none.


@pytest.mark.parametrize(
    ("vocab", "error", "message"),
    [
        ([*SPECIAL_TOKENS, "a", "b", "a"], ValueError, "distinct pieces, got 'a' as piece 5 and as piece 7"),
        (
            [*SPECIAL_TOKENS, "[MASK]"],
            ValueError,
            r"distinct pieces, got '\[MASK\]' as piece 4 and as piece 5",
        ),
        (
            ["[PAD]", "[UNK]", "[CLS]", "a"],
            ValueError,
            r"with \[SEP\] \[MASK\] in it, got 4 pieces, the first is",
        ),
        (
            ["the", "cat"],
            ValueError,
            r"with \[PAD\] \[UNK\] \[CLS\] \[SEP\] \[MASK\] in it, got 2 pieces, the first is 'the'",
        ),
        ([], ValueError, r"with \[PAD\] .* in it, got 0 pieces$"),
        ([*SPECIAL_TOKENS, 7], TypeError, "piece 5 to be a string, got int 7"),
        ([*SPECIAL_TOKENS, None], TypeError, "piece 5 to be a string, got NoneType"),
        ([*SPECIAL_TOKENS, b"a"], TypeError, "piece 5 to be a string, got bytes"),
        ([*SPECIAL_TOKENS, ""], ValueError, "without spaces and line ends, got '' as piece 5"),
        ([*SPECIAL_TOKENS, "a\nb"], ValueError, r"without spaces and line ends, got 'a\\nb' as piece 5"),
        ([*SPECIAL_TOKENS, "a\r"], ValueError, "without spaces and line ends"),
        ([*SPECIAL_TOKENS, "a b"], ValueError, "without spaces and line ends"),
        ([*SPECIAL_TOKENS, "\ud800"], ValueError, r"lone surrogate U\+D800 at 0 of piece 5"),
        ("[PAD] [UNK] [CLS] [SEP] [MASK]", TypeError, "a list of pieces, got str"),
        ({token: i for i, token in enumerate(SPECIAL_TOKENS)}, TypeError, "a list of pieces, got dict"),
        (set(SPECIAL_TOKENS), TypeError, "a list of pieces, got set"),
        (None, TypeError, "a list of pieces, got NoneType"),
    ],
)
def test_a_bad_vocabulary_is_named(vocab, error, message):
    with pytest.raises(error, match=message):
        WordPieceTokenizer(vocab)


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_settings_are_booleans(value):
    with pytest.raises(TypeError, match="expected lowercase to be True or False, got"):
        WordPieceTokenizer(PIECES, value)
    with pytest.raises(TypeError, match="expected split_cjk to be True or False, got"):
        WordPieceTokenizer(PIECES, split_cjk=value)
    if value is not None:
        with pytest.raises(TypeError, match="expected strip_accents to be True or False, got"):
            WordPieceTokenizer(PIECES, strip_accents=value)


# Files.


def write(path, content):
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(
            content if isinstance(content, str) else json.dumps(content), encoding="utf-8", newline=""
        )
    return path


LINES = "".join(f"{piece}\n" for piece in PIECES)


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        LINES.removesuffix("\n"),
        LINES.replace("\n", "\r\n"),
        LINES.replace("cat\n", "cat \t\n"),
        "\ufeff" + LINES,
    ],
    ids=["usual", "no last line end", "Windows line ends", "blanks at a line's end", "byte order mark"],
)
def test_from_file_reads_a_piece_a_line(tmp_path, content):
    path = write(tmp_path / "vocab.txt", content)
    assert WordPieceTokenizer.from_file(path) == WordPieceTokenizer(PIECES)
    assert WordPieceTokenizer.from_file(str(path), lowercase=False) == WordPieceTokenizer(PIECES, False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "one piece a line in .*vocab.txt, got an empty file"),
        ("\n", "one piece a line in .*vocab.txt, got an empty file"),
        ("\n\n", "got '' as piece 0"),
        (LINES + "\n", f"got '' as piece {V}"),
        (LINES + "cat\n", f"got 'cat' as piece 6 and as piece {V}"),
        ("<!doctype html>\n<html>\n", "got '<!doctype html>' as piece 0"),
        ("version\nhttps://git-lfs.github.com\n", r"with \[PAD\] .* got 2 pieces, the first is 'version'"),
        (b"\x80\x04pickle", "expected UTF-8 text in .*vocab.txt, got byte 0x80"),
        (LINES.encode("utf-16"), "expected UTF-8 text in .*vocab.txt, got byte 0xff"),
    ],
)
def test_a_file_that_is_no_vocabulary_is_named(tmp_path, content, message):
    path = write(tmp_path / "vocab.txt", content)
    with pytest.raises(ValueError, match=f"vocab.txt.*{message}|{message}") as caught:
        WordPieceTokenizer.from_file(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        WordPieceTokenizer.from_file(tmp_path / "none.txt")
    with pytest.raises(TypeError):
        WordPieceTokenizer.from_file(None)


# Directories.


SETTINGS = [
    {},
    {"lowercase": False},
    {"strip_accents": False},
    {"lowercase": False, "strip_accents": True},
    {"split_cjk": False},
]


def test_the_files_say_what_they_are_to_other_libraries(tmp_path):
    tok = WordPieceTokenizer(PIECES)
    tok.save(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["tokenizer_class"] == "BertTokenizer"
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    assert special.items() <= config.items()
    alone = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert alone.encode("the cat").ids == tok.encode("the cat")
    pair = alone.encode("the cat", "the")
    assert pair.ids == tok.encode("the cat", "the")
    first = len(tok.encode("the cat"))
    assert pair.type_ids == [0] * first + [1] * (len(pair.ids) - first)


def test_training_numbers_the_inner_characters_in_their_order():
    tok = WordPieceTokenizer.train(["zebra cab dad zebra"], 40)
    assert tok.vocab[5:11] == ["##a", "##b", "##d", "##e", "##r", *tok.vocab[10:11]]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_save_is_read_back_here_and_by_transformers(tmp_path, settings, recwarn, caplog):
    tok = WordPieceTokenizer(PIECES, **settings)
    folder = tmp_path / "new" / "model"
    tok.save(folder)
    assert sorted(os.listdir(folder)) == ["tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    assert os.listdir(folder.parent) == ["model"]
    assert WordPieceTokenizer.from_dir(folder) == tok
    text, pair = "Café NAÏVE [MASK] 我爱cats İstanbul", "the Cat"
    for loader in (AutoTokenizer, BertTokenizer):
        theirs = loader.from_pretrained(folder)
        assert theirs(text, pair)["input_ids"] == tok.encode(text, pair)
        assert len(theirs) == tok.vocab_size
        assert (theirs.pad_token_id, theirs.mask_token_id) == (tok.pad_id, tok.mask_id)
    (folder / "tokenizer.json").unlink()  # the older format is enough, here and there
    assert WordPieceTokenizer.from_dir(str(folder)) == tok
    assert BertTokenizer.from_pretrained(folder)(text, pair)["input_ids"] == tok.encode(text, pair)
    assert not recwarn.list
    assert not caplog.records


@pytest.mark.parametrize("lowercase", [True, False])
def test_from_dir_reads_what_transformers_saved(tmp_path, lowercase):
    both(lowercase)[1].save_pretrained(tmp_path)
    assert WordPieceTokenizer.from_dir(tmp_path) == WordPieceTokenizer(PIECES, lowercase)


def saved(folder, **settings):
    WordPieceTokenizer(PIECES, **settings).save(folder)
    return folder


def test_the_casing_is_what_the_directory_says(tmp_path):
    cased = saved(tmp_path / "cased", lowercase=False)
    config = cased / "tokenizer_config.json"
    for stated in ({}, {"do_lower_case": None}, None):  # the config is silent: tokenizer.json's word counts
        config.unlink() if stated is None else write(config, stated)
        assert not WordPieceTokenizer.from_dir(cased).lowercase
    write(config, {"do_lower_case": True})  # in conflict the config wins, as in transformers
    assert WordPieceTokenizer.from_dir(cased).lowercase
    assert inner(WordPieceTokenizer.from_dir(cased), "Café") == BertTokenizer.from_pretrained(cased).tokenize(
        "Café"
    )
    (cased / "tokenizer.json").unlink()
    config.unlink()  # nothing is said: BERT's default
    assert WordPieceTokenizer.from_dir(cased) == WordPieceTokenizer(PIECES)


def test_an_older_tokenizer_json_is_read(tmp_path):
    folder = saved(tmp_path / "old")
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    del content["model"]["type"]
    ids = content["model"]["vocab"]
    del ids["[PAD]"], ids["[MASK]"]  # among the added tokens they still are
    content["truncation"] = {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    write(folder / "tokenizer.json", content)
    assert WordPieceTokenizer.from_dir(folder) == WordPieceTokenizer(PIECES)


def edit(path, value):
    """A change to `tokenizer.json`: set the item at a path of keys."""

    def change(content):
        *keys, last = path
        for key in keys:
            content = content[key]
        content[last] = value

    return change


def drop(*path):
    def change(content):
        *keys, last = path
        for key in keys:
            content = content[key]
        del content[last]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit(["model", "type"], "BPE"), "a model of type WordPiece, got BPE"),
        (edit(["model"], {"vocab": {"a": 0}, "merges": []}), "a model of type WordPiece, got None"),
        (edit(["model"], None), "expected a model in it, got NoneType"),
        (drop("model"), "expected a model in it"),
        (edit(["model", "vocab"], ["a"]), "a vocab that maps pieces to ids, got list"),
        (edit(["model", "vocab", "cat"], 900), f"the ids 0 to {V - 1}, each once"),
        (edit(["model", "vocab", "cat"], 7), f"the ids 0 to {V - 1}, each once"),
        (edit(["model", "vocab", "cat"], "6"), f"the ids 0 to {V - 1}, each once"),
        (drop("model", "vocab", "cat"), f"the ids 0 to {V - 2}, each once"),
        (edit(["model", "unk_token"], "<unk>"), r"unk_token '\[UNK\]', got '<unk>'"),
        (edit(["model", "continuing_subword_prefix"], "@@"), "continuing_subword_prefix '##', got '@@'"),
        (edit(["model", "max_input_chars_per_word"], 50), "max_input_chars_per_word 100, got 50"),
        (edit(["normalizer"], {"type": "NFKC"}), "the normalizer BertNormalizer, got NFKC"),
        (edit(["normalizer"], None), "the normalizer BertNormalizer, got None"),
        (edit(["normalizer", "clean_text"], False), "clean_text true, got false"),
        (edit(["normalizer", "lowercase"], "no"), "lowercase to be true or false, got str 'no'"),
        (
            edit(["pre_tokenizer"], {"type": "Whitespace"}),
            "the pre_tokenizer BertPreTokenizer, got Whitespace",
        ),
        (edit(["pre_tokenizer"], []), r"the pre_tokenizer BertPreTokenizer, got \[\]"),
        (edit(["added_tokens"], [{"id": V, "content": "<new>"}]), r"no added tokens .* got \['<new>'\]"),
        (edit(["normalizer"], "BertNormaliser"), "the normalizer BertNormalizer, got BertNormaliser"),
        (edit(["normalizer"], [1]), r"the normalizer BertNormalizer, got \[1\]"),
        (edit(["model", "vocab", "cat"], [6]), f"the ids 0 to {V - 1}, each once"),
        (edit(["model", "vocab", "cat"], None), f"the ids 0 to {V - 1}, each once"),
        (edit(["added_tokens"], 5), "added_tokens with an id and a content each, got int 5"),
        (edit(["added_tokens"], {"a": 1}), "added_tokens with an id and a content each, got dict"),
        (edit(["added_tokens"], [{"id": 4}]), "added_tokens with an id and a content each, got list"),
        (edit(["added_tokens"], [{"content": "[MASK]"}]), "added_tokens with an id and a content each"),
        (edit(["added_tokens"], [{"id": 4, "content": [1]}]), "added_tokens with an id and a content each"),
        (edit(["added_tokens"], [3]), "added_tokens with an id and a content each, got list"),
    ],
)
def test_a_tokenizer_json_that_is_not_berts_is_named(tmp_path, change, message):
    path = saved(tmp_path / "x") / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    write(path, content)
    with pytest.raises(ValueError, match=message) as caught:
        WordPieceTokenizer.from_dir(path.parent)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer.json", "not JSON", r"expected JSON in .*tokenizer\.json, but: "),
        ("tokenizer.json", "[1, 2]", "expected a JSON object in .*tokenizer.json, got list"),
        ("tokenizer.json", "", "expected JSON in .*tokenizer.json"),
        ("tokenizer.json", b"\xff\xfe", "expected UTF-8 text in .*tokenizer.json"),
        ("tokenizer_config.json", "{", "expected JSON in .*tokenizer_config.json"),
        (
            "tokenizer_config.json",
            {"do_lower_case": "false"},
            "do_lower_case to be true or false, got str 'false'",
        ),
        ("tokenizer_config.json", {"strip_accents": 1}, "strip_accents to be true or false, got int 1"),
        ("added_tokens.json", {"<new>": V}, r"no added tokens .* got \['<new>'\]"),
    ],
)
def test_a_broken_file_of_a_directory_is_named(tmp_path, name, content, message):
    folder = saved(tmp_path / "x")
    write(folder / name, content)
    with pytest.raises(ValueError, match=message) as caught:
        WordPieceTokenizer.from_dir(folder)
    assert str(folder / name) in str(caught.value)


def test_a_directory_without_a_tokenizer_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"expected tokenizer.json or vocab.txt in .*, got: nothing"):
        WordPieceTokenizer.from_dir(tmp_path)
    write(tmp_path / "config.json", {})
    write(tmp_path / "added_tokens.json", {"[MASK]": 4})
    with pytest.raises(ValueError, match=r"got: added_tokens.json, config.json"):
        WordPieceTokenizer.from_dir(tmp_path)
    with pytest.raises(ValueError, match="got: not a directory"):
        WordPieceTokenizer.from_dir(tmp_path / "config.json")
    with pytest.raises(FileNotFoundError, match=r"there is no .*nowhere"):
        WordPieceTokenizer.from_dir(tmp_path / "nowhere")


# Saving is all or nothing.


def test_save_into_a_directory_leaves_other_files_alone(tmp_path, tok):
    write(tmp_path / "model.safetensors", "weights")
    saved(tmp_path, lowercase=False)
    tok.save(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    ]
    assert WordPieceTokenizer.from_dir(tmp_path) == tok


def test_a_failed_save_changes_nothing(tmp_path, tok, monkeypatch):
    old = saved(tmp_path / "old", lowercase=False)
    before = {path.name: path.read_bytes() for path in old.iterdir()}

    def full(*_args, **_kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", full)
    for folder in (old, tmp_path / "new"):
        with pytest.raises(OSError, match="no space left"):
            tok.save(folder)
    assert os.listdir(tmp_path) == ["old"]
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before


def test_save_over_a_file_is_refused(tmp_path, tok):
    write(tmp_path / "taken", "something else")
    with pytest.raises(OSError, match="taken"):
        tok.save(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "something else"
    assert os.listdir(tmp_path) == ["taken"]


def test_saved_files_have_the_usual_permissions(tmp_path, tok):
    tok.save(tmp_path / "model")
    (tmp_path / "plain").mkdir()
    write(tmp_path / "plain" / "file", "")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "model" / "vocab.txt").stat().st_mode == (tmp_path / "plain" / "file").stat().st_mode


# Training.


def test_train_learns_frequent_words_and_puts_special_tokens_first():
    tok = WordPieceTokenizer.train(["the cat sat on the mat"] * 5, 26)
    assert tok.vocab[:5] == list(SPECIAL_TOKENS)
    assert inner(tok, "The cat") == ["the", "cat"]
    assert "[UNK]" not in inner(tok, "sea tent")
    cased = WordPieceTokenizer.train(iter(["The Cat"] * 5), 40, lowercase=False)
    assert inner(cased, "The Cat") == ["The", "Cat"]
    assert not cased.lowercase


def test_an_alphabet_decides_which_characters_are_pieces():
    tok = WordPieceTokenizer.train(["a cat \u2603"], 40, alphabet="actz")
    assert inner(tok, "z cat \u2603") == ["z", "cat", "[UNK]"]


@pytest.mark.parametrize(
    ("texts", "size", "error", "message"),
    [
        (["the cat"], 5, ValueError, "vocab_size of at least 14, .* got 5"),
        (["the cat"], 0, ValueError, "vocab_size of at least 14, .* got 0"),
        (["the cat"], -1, ValueError, "vocab_size of at least 14, .* got -1"),
        (["the cat"], 10.0, TypeError, "vocab_size to be an integer, got float"),
        (["the cat"], True, TypeError, "vocab_size to be an integer, got bool"),
        ([], 40, ValueError, "texts to learn from, got none"),
        ("the cat", 40, TypeError, "a list of texts, got str"),
        (["the", None], 40, TypeError, r"texts\[1\] to be a string, got NoneType"),
        ([("the", "cat")], 40, TypeError, r"texts\[0\] to be a string, got tuple"),
    ],
)
def test_train_refuses(texts, size, error, message):
    with pytest.raises(error, match=message):
        WordPieceTokenizer.train(texts, size)


def test_train_checks_lowercase():
    with pytest.raises(TypeError, match="lowercase"):
        WordPieceTokenizer.train(["the cat"], 40, lowercase=None)


def test_the_books_tokenizer_is_made_once():
    assert book_tokenizer() is book_tokenizer()
    assert repr(book_tokenizer()) == "WordPieceTokenizer(4000 pieces, uncased)"
