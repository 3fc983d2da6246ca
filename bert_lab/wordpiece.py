"""Text to ids: BERT's WordPiece tokenizer, with the ids that `transformers` gives on the same vocabulary.

The splitting itself is the `tokenizers` library's. Here stand what a teacher and a careful engineer miss
there: errors that name the fault of a vocabulary, a directory that is read with the casing it was written
with, and one place that knows the five special tokens.
"""

import contextlib
import functools
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

import numpy as np
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# A longer word becomes [UNK]. It is counted after splitting at spaces, punctuation and CJK characters.
MAX_WORD_CHARS = 100

# How `tokenizer_config.json` and the normalizer of `tokenizer.json` name our three settings.
_CONFIG_NAMES = {
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "split_cjk": "tokenize_chinese_chars",
}
_NORMALIZER_NAMES = {
    "lowercase": "lowercase",
    "strip_accents": "strip_accents",
    "split_cjk": "handle_chinese_chars",
}


class WordPieceTokenizer:
    """BERT's tokenizer for one list of pieces; piece number i has id i.

    `vocab` is a list of distinct strings that holds [PAD], [UNK], [CLS], [SEP] and [MASK], anywhere.
    `lowercase` says whether text is lower-cased first; accents are stripped together with that, unless
    `strip_accents` decides. `split_cjk` puts each Chinese character apart. Wrong types raise TypeError, a
    vocabulary that is not one raises ValueError. A special token written out in a text is that token. Source:
    Devlin et al. 2019, section 3, and the text normalization of BERT's first release.
    """

    def __init__(
        self,
        vocab: list[str],
        lowercase: bool = True,
        *,
        strip_accents: bool | None = None,
        split_cjk: bool = True,
    ):
        _check_flag("lowercase", lowercase)
        _check_flag("strip_accents", strip_accents, or_none=True)
        _check_flag("split_cjk", split_cjk)
        pieces = _check_pieces(vocab)
        ids = {piece: i for i, piece in enumerate(pieces)}
        self._pieces = tuple(pieces)
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.split_cjk = split_cjk
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
            ids[token] for token in SPECIAL_TOKENS
        )
        model = models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=MAX_WORD_CHARS)
        self._backend = _backend(model, lowercase, strip_accents, split_cjk)
        self._backend.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", self.cls_id), ("[SEP]", self.sep_id)],
        )
        self._backend.add_special_tokens(
            [AddedToken(t, special=True, normalized=False) for t in SPECIAL_TOKENS]
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike, lowercase: bool = True) -> "WordPieceTokenizer":
        """Return the tokenizer of a `vocab.txt`: one piece a line, in the order of the ids, in UTF-8.

        A missing file raises FileNotFoundError; a file that is no vocabulary raises ValueError and names the
        file.
        """
        _check_flag("lowercase", lowercase)
        return cls._read_vocab_txt(Path(path), lowercase=lowercase)

    @classmethod
    def from_dir(cls, dir: str | os.PathLike) -> "WordPieceTokenizer":
        """Return the tokenizer of a Hugging Face directory: its `tokenizer.json`, or else its `vocab.txt`.

        The casing is what `tokenizer_config.json` states, as in `transformers`; what it leaves open is what
        `tokenizer.json` states, or else BERT's default, lower case. Whatever is not BERT's WordPiece (another
        model type, further added tokens, another normalizer) raises ValueError.
        """
        folder = Path(dir)
        if not folder.exists():
            raise FileNotFoundError(f"expected a directory with a tokenizer, but there is no {folder}")
        config = _read_config(folder / "tokenizer_config.json")
        if (folder / "added_tokens.json").is_file():
            added = _read_json(folder / "added_tokens.json")
            with _naming(folder / "added_tokens.json"):
                _check_added(added)
        if (folder / "tokenizer.json").is_file():
            return cls._read_tokenizer_json(folder / "tokenizer.json", config)
        if (folder / "vocab.txt").is_file():
            return cls._read_vocab_txt(folder / "vocab.txt", **config)
        names = (
            ", ".join(sorted(entry.name for entry in folder.iterdir()))
            if folder.is_dir()
            else "not a directory"
        )
        raise ValueError(f"expected tokenizer.json or vocab.txt in {folder}, got: {names or 'nothing'}")

    @classmethod
    def train(
        cls, texts: Iterable[str], vocab_size: int, lowercase: bool = True, *, alphabet: str | None = None
    ) -> "WordPieceTokenizer":
        """Learn a vocabulary of at most `vocab_size` pieces from texts; the special tokens get ids 0 to 4.

        With an `alphabet`, only its characters become pieces, and each of them does. The same texts give the
        same vocabulary. One too small for the characters of the texts raises ValueError.
        """
        _check_flag("lowercase", lowercase)
        size = _check_size("vocab_size", vocab_size)
        lines = _check_texts(texts)
        for i, line in enumerate(lines):
            check_text(f"texts[{i}]", line)
        if not lines:
            raise ValueError("expected texts to learn from, got none")
        backend = _backend(models.WordPiece(unk_token="[UNK]"), lowercase, None, True)
        limits = (
            {}
            if alphabet is None
            else {"initial_alphabet": list(alphabet), "limit_alphabet": len(set(alphabet))}
        )
        # The library numbers the pieces of one character by chance, and breaks ties by number: it gets them
        # in a fixed order, so that the same texts always give the same vocabulary.
        inner = [f"##{c}" for c in _inner_characters(backend, lines) if alphabet is None or c in alphabet]
        trainer = trainers.WordPieceTrainer(
            vocab_size=max(size, 0), special_tokens=[*SPECIAL_TOKENS, *inner], show_progress=False, **limits
        )
        backend.train_from_iterator(lines, trainer)
        ids = backend.get_vocab()
        if len(ids) > size:
            raise ValueError(
                f"expected a vocab_size of at least {len(ids)}, for the special tokens and the characters of "
                f"these texts, got {size}"
            )
        return cls(sorted(ids, key=ids.__getitem__), lowercase)

    @classmethod
    def _read_vocab_txt(cls, path: Path, **settings) -> "WordPieceTokenizer":
        # Only line feeds end a piece: some vocabularies hold U+2028 or U+0085, where splitlines cuts too.
        lines = _read_text(path).removesuffix("\n").split("\n")
        if lines == [""]:
            raise ValueError(f"expected one piece a line in {path}, got an empty file")
        with _naming(path):
            return cls([line.rstrip(" \t") for line in lines], **settings)

    @classmethod
    def _read_tokenizer_json(cls, path: Path, config: dict) -> "WordPieceTokenizer":
        content = _read_json(path)
        with _naming(path):
            return cls(_pieces_of(content), **{**_settings_of(content), **config})

    @property
    def vocab(self) -> list[str]:
        """The pieces in the order of their ids, as a new list."""
        return list(self._pieces)

    @property
    def vocab_size(self) -> int:
        """V, the number of pieces; ids are 0 to V - 1."""
        return len(self._pieces)

    def encode(self, text: str, pair: str | None = None) -> list[int]:
        """Return the ids of [CLS] text [SEP], or of [CLS] text [SEP] pair [SEP]; nothing is cut off.

        An empty pair is a pair too, and has a [SEP] of its own.
        Anything but strings raises TypeError; a lone surrogate, which is not a character, raises ValueError.
        """
        check_text("text", text)
        if pair is None:
            return self.encode_batch([text])[0]
        check_text("pair", pair)
        return self.encode_batch([(text, pair)])[0]

    def encode_batch(self, texts: Iterable[str | tuple[str, str]]) -> list[list[int]]:
        """Return the ids of each text, as `encode` does; a text may be a pair: two strings in a tuple."""
        rows = split_pairs(texts)
        segments = iter(self.encode_plain([segment for row in rows for segment in row]))
        out = []
        for row in rows:
            ids = [self.cls_id]
            for _ in row:
                ids += next(segments)
                ids.append(self.sep_id)
            out.append(ids)
        return out

    def encode_plain(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the ids of each string without [CLS] and [SEP] around them.

        Errors as in `encode`.
        """
        texts = _check_texts(texts)
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"expected a string, got {_describe(text)} at texts[{i}]")
        try:
            encodings = self._backend.encode_batch_fast(texts, add_special_tokens=False)
        except TypeError:  # what the library says of a string that is not Unicode text
            for i, text in enumerate(texts):
                check_text(f"texts[{i}]", text)
            raise
        return [encoding.ids for encoding in encodings]

    def decode(self, ids, skip_special: bool = False) -> str:
        """Return the text of a row of ids: pieces joined to words, spaces before punctuation taken out.

        It is not always the text that was encoded: case, accents and spacing are lost, and [UNK] stands for
        anything. `skip_special` leaves the five special tokens out. Errors as in `tokens`.
        """
        return self._backend.decode(self._check_ids(ids), skip_special_tokens=skip_special)

    def tokens(self, ids) -> list[str]:
        """Return the piece of each id of one row: a list, NumPy array or CPU tensor of integers.

        Floats and booleans raise TypeError; another shape or an id outside 0 to V - 1 raises ValueError.
        """
        return [self._pieces[i] for i in self._check_ids(ids)]

    def save(self, dir: str | os.PathLike) -> None:
        """Write `vocab.txt`, `tokenizer.json` and `tokenizer_config.json` into `dir`.

        `from_dir` reads an equal tokenizer back, and so do `AutoTokenizer` and `BertTokenizer` of
        `transformers`. The directory is made if need be; other files in it are left alone, and a failure
        leaves everything as it was.
        """
        settings = {name: getattr(self, ours) for ours, name in _CONFIG_NAMES.items()}
        names = {f"{token[1:-1].lower()}_token": token for token in SPECIAL_TOKENS}
        config = {"tokenizer_class": "BertTokenizer", **settings, **names}
        write_files(
            Path(dir),
            {
                "vocab.txt": "".join(f"{piece}\n" for piece in self._pieces),
                "tokenizer.json": self._backend.to_str(pretty=True),
                "tokenizer_config.json": json.dumps(config, indent=2) + "\n",
            },
        )

    def __eq__(self, other) -> bool:
        if not isinstance(other, WordPieceTokenizer):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"WordPieceTokenizer({self.vocab_size} pieces, {'uncased' if self.lowercase else 'cased'})"

    def _identity(self) -> tuple:
        # Without a word of its own, strip_accents follows lowercase.
        strips = self.lowercase if self.strip_accents is None else self.strip_accents
        return self._pieces, self.lowercase, strips, self.split_cjk

    def _check_ids(self, ids) -> list[int]:
        array = np.asarray(ids)
        if array.ndim != 1:
            raise ValueError(f"expected one row of ids, got an array of shape {array.shape}")
        if array.size == 0:
            return []
        if array.dtype.kind not in "iu":
            raise TypeError(f"expected integer ids, got {array.dtype}")
        wrong = (array < 0) | (array >= self.vocab_size)
        if wrong.any():
            raise ValueError(f"expected ids from 0 to {self.vocab_size - 1}, got {array[wrong][0]}")
        return array.tolist()


def special_ids(tok: WordPieceTokenizer) -> list[int]:
    """Return the ids of [PAD], [UNK], [CLS], [SEP] and [MASK] in ascending order (course text, section 4).

    Anything without these five ids raises TypeError.
    """
    try:
        return sorted([tok.pad_id, tok.unk_id, tok.cls_id, tok.sep_id, tok.mask_id])
    except AttributeError:
        raise TypeError(f"expected a WordPieceTokenizer, got {type(tok).__name__}") from None


@functools.cache
def book_tokenizer() -> WordPieceTokenizer:
    """Return the tokenizer of the book's vocabulary: 4,000 uncased pieces, frozen in `bert_lab/assets/`."""
    return WordPieceTokenizer.from_file(Path(__file__).parent / "assets" / "vocab.txt")


def split_pairs(texts: Iterable[str | tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return each text as a tuple of one string, or of two if it is a pair.

    A pair is a tuple or a list of two strings. Anything else raises TypeError and says where it stood.
    """
    rows = []
    for i, text in enumerate(_check_texts(texts)):
        if isinstance(text, str):
            rows.append((text,))
        elif (
            isinstance(text, tuple | list) and len(text) == 2 and all(isinstance(part, str) for part in text)
        ):
            rows.append(tuple(text))
        else:
            raise TypeError(f"expected a string or a pair of strings, got {_describe(text)} at texts[{i}]")
    return rows


def _backend(model, lowercase: bool, strip_accents: bool | None, split_cjk: bool) -> Tokenizer:
    backend = Tokenizer(model)
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=split_cjk, strip_accents=strip_accents, lowercase=lowercase
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    return backend


def _inner_characters(backend: Tokenizer, texts: list[str]) -> list[str]:
    """The characters that stand inside a word, sorted."""
    found: set[str] = set()
    for text in texts:
        words = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
        found.update(*(word[1:] for word, _ in words))
    return sorted(found)


def _check_flag(name: str, value, or_none: bool = False) -> None:
    if not (isinstance(value, bool) or (or_none and value is None)):
        raise TypeError(f"expected {name} to be True or False, got {_describe(value)}")


def _check_size(name: str, value) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"expected {name} to be an integer, got {_describe(value)}")
    return int(value)


def _check_texts(texts) -> list:
    # A set has no order of its own, and a dict or a file name would be read letter by letter or key by key.
    if isinstance(texts, str | bytes | bytearray | Mapping | Set) or not isinstance(texts, Iterable):
        raise TypeError(f"expected a list of texts, got {_describe(texts)}")
    return list(texts)


def check_text(name: str, text) -> None:
    """Raise TypeError for anything but a string, ValueError for one with a lone surrogate."""
    if not isinstance(text, str):
        raise TypeError(f"expected {name} to be a string, got {_describe(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        wrong = f"the lone surrogate U+{ord(text[problem.start]):04X} at {problem.start} of {name}"
        raise ValueError(f"expected Unicode text, got {wrong}") from None


def _check_pieces(vocab) -> list[str]:
    if not isinstance(vocab, list | tuple):
        raise TypeError(f"expected a list of pieces, got {_describe(vocab)}")
    seen: dict[str, int] = {}
    for i, piece in enumerate(vocab):
        check_text(f"piece {i}", piece)
        if not piece or any(char in piece for char in " \t\r\n"):
            raise ValueError(f"expected pieces without spaces and line ends, got {piece!r} as piece {i}")
        if piece in seen:
            raise ValueError(
                f"expected distinct pieces, got {piece!r} as piece {seen[piece]} and as piece {i}"
            )
        seen[piece] = i
    missing = [token for token in SPECIAL_TOKENS if token not in seen]
    if missing:
        start = f", the first is {vocab[0][:40]!r}" if vocab else ""
        raise ValueError(
            f"expected a vocabulary with {' '.join(missing)} in it, got {len(vocab)} pieces{start}"
        )
    return list(seen)


def _check_added(tokens: Iterable[str]) -> None:
    extra = [token for token in tokens if token not in SPECIAL_TOKENS]
    if extra:
        raise ValueError(f"expected no added tokens but the five special ones, got {extra}")


def _describe(value) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


@contextlib.contextmanager
def _naming(path: Path):
    # Says of an error in what a file holds which file that is.
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
        raise ValueError(f"expected a JSON object in {path}, got {_describe(content)}")
    return content


def _read_config(path: Path) -> dict:
    """Return what a `tokenizer_config.json` states of our settings; what it leaves open is not in it."""
    content = _read_json(path) if path.is_file() else {}
    with _naming(path):
        return _settings(content, _CONFIG_NAMES)


def _settings(content: Mapping, names: Mapping[str, str]) -> dict:
    found = {ours: content[theirs] for ours, theirs in names.items() if content.get(theirs) is not None}
    for ours, value in found.items():
        if not isinstance(value, bool):  # "false" in quotes would count as true
            raise ValueError(f"expected {names[ours]} to be true or false, got {_describe(value)}")
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
        raise ValueError(f"expected a model in it, got {_describe(model)}")
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
        raise ValueError(f"expected a vocab that maps pieces to ids, got {_describe(ids)}")
    entries = content.get("added_tokens") or []
    if not (isinstance(entries, list) and all(_is_added_token(entry) for entry in entries)):
        raise ValueError(f"expected added_tokens with an id and a content each, got {_describe(entries)}")
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


def write_files(folder: Path, texts: dict[str, str]) -> None:
    """Write files into a folder, all or none: they are written next to it first, and then moved."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        stage = Path(scratch) / "stage"  # made by mkdir, so that it has the usual permissions
        stage.mkdir()
        for name, text in texts.items():
            (stage / name).write_text(text, encoding="utf-8", newline="\n")
        if folder.exists():
            for name in texts:
                os.replace(stage / name, folder / name)
        else:
            os.replace(stage, folder)
