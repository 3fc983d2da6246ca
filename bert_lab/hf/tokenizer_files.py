"""The files of a tokenizer: vocab.txt, tokenizer.json and tokenizer_config.json, in Hugging Face's layout.

They are read to a list of pieces and the settings for text. Whatever is not BERT's WordPiece is refused, with
the file's name in the error. Source: the files that `transformers` writes.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# A longer word becomes [UNK]. It is counted after splitting at spaces, punctuation and CJK characters.
MAX_WORD_CHARS = 100

# How `tokenizer_config.json` and the normalizer of `tokenizer.json` name our three settings.
CONFIG_NAMES = {
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "split_cjk": "tokenize_chinese_chars",
}
_NORMALIZER_NAMES = {
    "lowercase": "lowercase",
    "strip_accents": "strip_accents",
    "split_cjk": "handle_chinese_chars",
}


def read_tokenizer(folder: Path) -> tuple[Path, list[str], dict[str, bool]]:
    """`(file, pieces, settings)` of a directory: the file that was read, and what the tokenizer is made with.

    It is the tokenizer.json, or else the vocab.txt. Settings in tokenizer_config.json come first.

    Raises FileNotFoundError for no directory, ValueError for files that are not of BERT's WordPiece.
    """
    if not folder.exists():
        raise FileNotFoundError(f"expected a directory with a tokenizer, but there is no {folder}")
    config = _read_config(folder / "tokenizer_config.json")
    added = folder / "added_tokens.json"
    if added.is_file():
        tokens = _read_json(added)
        with naming(added):
            _check_added(tokens)
    path = folder / "tokenizer.json"
    if path.is_file():
        content = _read_json(path)
        with naming(path):
            return path, _pieces_of(content), {**_settings_of(content), **config}
    path = folder / "vocab.txt"
    if path.is_file():
        return path, read_vocab_txt(path), config
    names = "not a directory"
    if folder.is_dir():
        names = ", ".join(sorted(entry.name for entry in folder.iterdir())) or "nothing"
    raise ValueError(f"expected tokenizer.json or vocab.txt in {folder}, got: {names}")


def read_vocab_txt(path: Path) -> list[str]:
    """The lines of a vocab.txt without spaces at their ends; ValueError for an empty file or no UTF-8."""
    # Only line feeds end a piece: some vocabularies hold U+2028 or U+0085, where splitlines cuts too.
    lines = _read_text(path).removesuffix("\n").split("\n")
    if lines == [""]:
        raise ValueError(f"expected one piece a line in {path}, got an empty file")
    return [line.rstrip(" \t") for line in lines]


def _check_added(tokens: Iterable[str]) -> None:
    extra = [token for token in tokens if token not in SPECIAL_TOKENS]
    if extra:
        raise ValueError(f"expected no added tokens but the five special ones, got {extra}")


def describe(value) -> str:
    """Type and value, cut to 60 characters, for an error."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


@contextlib.contextmanager
def naming(path: Path):
    """Add the file's name to a ValueError about what the file holds."""
    try:
        yield
    except ValueError as problem:
        raise ValueError(f"{path} is not a BERT tokenizer's: {problem}") from None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(
            f"expected UTF-8 text in {path}, got byte {problem.object[problem.start]:#04x}"
        ) from None


def _read_json(path: Path) -> dict:
    try:
        content = json.loads(_read_text(path))
    except json.JSONDecodeError as problem:
        raise ValueError(f"expected JSON in {path}, but: {problem}") from None
    if not isinstance(content, dict):
        raise ValueError(f"expected a JSON object in {path}, got {describe(content)}")
    return content


def _read_config(path: Path) -> dict:
    """Return what a `tokenizer_config.json` states of our settings; what it leaves open is not in it."""
    content = _read_json(path) if path.is_file() else {}
    with naming(path):
        return _settings(content, CONFIG_NAMES)


def _settings(content: Mapping, names: Mapping[str, str]) -> dict:
    found = {ours: content[theirs] for ours, theirs in names.items() if content.get(theirs) is not None}
    for ours, value in found.items():
        if not isinstance(value, bool):  # "false" in quotes would count as true
            raise ValueError(f"expected {names[ours]} to be true or false, got {describe(value)}")
    return found


def _settings_of(content: dict) -> dict:
    """Return the settings of a `tokenizer.json`, after checking that all it does is what BERT does."""
    for name, expected in [("normalizer", "BertNormalizer"), ("pre_tokenizer", "BertPreTokenizer")]:
        part = content.get(name)
        kind = part.get("type") if isinstance(part, dict) else part
        if kind != expected:
            raise ValueError(f"expected the {name} {expected}, got {kind}")
    normalizer = content["normalizer"]
    if normalizer.get("clean_text") is False:
        raise ValueError("expected a normalizer with clean_text true, got false")
    return _settings(normalizer, _NORMALIZER_NAMES)


def _pieces_of(content: dict) -> list[str]:
    """Return the pieces of a `tokenizer.json` in the order of their ids."""
    model = content.get("model")
    if not isinstance(model, dict):
        raise ValueError(f"expected a model in it, got {describe(model)}")
    # Files of 2020 do not name the type; the word limit is WordPiece's alone.
    kind = model.get("type") or ("WordPiece" if "max_input_chars_per_word" in model else None)
    if kind != "WordPiece":
        raise ValueError(f"expected a model of type WordPiece, got {kind}")
    for name, expected in [
        ("unk_token", "[UNK]"),
        ("continuing_subword_prefix", "##"),
        ("max_input_chars_per_word", MAX_WORD_CHARS),
    ]:
        if model.get(name, expected) != expected:
            raise ValueError(f"expected {name} {expected!r}, got {model[name]!r}")
    ids = model.get("vocab")
    if not isinstance(ids, dict):
        raise ValueError(f"expected a vocab that maps pieces to ids, got {describe(ids)}")
    entries = content.get("added_tokens") or []
    if not (isinstance(entries, list) and all(_is_added_token(entry) for entry in entries)):
        raise ValueError(f"expected added_tokens with an id and a content each, got {describe(entries)}")
    added = {entry["content"]: entry["id"] for entry in entries}
    _check_added(added)
    ids = {**ids, **added}
    pieces = {i: piece for piece, i in ids.items() if isinstance(i, int)}
    if sorted(pieces) != list(range(len(ids))):
        raise ValueError(f"expected the ids 0 to {len(ids) - 1}, each once, in vocab")
    return [pieces[i] for i in range(len(pieces))]


def _is_added_token(entry) -> bool:
    return (
        isinstance(entry, dict) and isinstance(entry.get("content"), str) and isinstance(entry.get("id"), int)
    )
