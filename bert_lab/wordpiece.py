"""Text to ids: BERT's WordPiece tokenizer, with the ids that `transformers` gives on the same vocabulary.

The splitting itself is the `tokenizers` library's. Here stand what a teacher and a careful engineer miss
there: errors that name the fault of a vocabulary, a directory that is read with the casing it was written
with, and one place that knows the five special tokens.
"""

import functools
import json
import os
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

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

from .files import write_files
from .hf.tokenizer_files import (
    CONFIG_NAMES,
    MAX_WORD_CHARS,
    SPECIAL_TOKENS,
    describe,
    naming,
    read_tokenizer,
    read_vocab_txt,
)


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
        path = Path(path)
        pieces = read_vocab_txt(path)
        with naming(path):
            return cls(pieces, lowercase)

    @classmethod
    def from_dir(cls, dir: str | os.PathLike) -> "WordPieceTokenizer":
        """Return the tokenizer of a Hugging Face directory: its `tokenizer.json`, or else its `vocab.txt`.

        The casing is what `tokenizer_config.json` states, as in `transformers`; what it leaves open is what
        `tokenizer.json` states, or else BERT's default, lower case. Whatever is not BERT's WordPiece (another
        model type, further added tokens, another normalizer) raises ValueError.
        """
        path, pieces, settings = read_tokenizer(Path(dir))
        with naming(path):
            return cls(pieces, **settings)

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
        characters: dict[str, Any] = {}
        if alphabet is not None:
            characters = {"initial_alphabet": list(alphabet), "limit_alphabet": len(set(alphabet))}
        # The library numbers the pieces of one character by chance, and breaks ties by number: it gets them
        # in a fixed order, so that the same texts always give the same vocabulary.
        inner = [f"##{c}" for c in _inner_characters(backend, lines) if alphabet is None or c in alphabet]
        trainer = trainers.WordPieceTrainer(
            vocab_size=max(size, 0),
            special_tokens=[*SPECIAL_TOKENS, *inner],
            show_progress=False,
            **characters,
        )
        backend.train_from_iterator(lines, trainer)
        ids = backend.get_vocab()
        if len(ids) > size:
            raise ValueError(
                f"expected a vocab_size of at least {len(ids)}, for the special tokens and the characters of "
                f"these texts, got {size}"
            )
        return cls(sorted(ids, key=ids.__getitem__), lowercase)

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
                raise TypeError(f"expected a string, got {describe(text)} at texts[{i}]")
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
        settings = {name: getattr(self, ours) for ours, name in CONFIG_NAMES.items()}
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
    rows: list[tuple[str, ...]] = []
    for i, text in enumerate(_check_texts(texts)):
        if isinstance(text, str):
            rows.append((text,))
        elif (
            isinstance(text, tuple | list) and len(text) == 2 and all(isinstance(part, str) for part in text)
        ):
            rows.append(tuple(text))
        else:
            raise TypeError(f"expected a string or a pair of strings, got {describe(text)} at texts[{i}]")
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
        raise TypeError(f"expected {name} to be True or False, got {describe(value)}")


def _check_size(name: str, value) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"expected {name} to be an integer, got {describe(value)}")
    return int(value)


def _check_texts(texts) -> list:
    # A set has no order of its own, and a dict or a file name would be read letter by letter or key by key.
    if isinstance(texts, str | bytes | bytearray | Mapping | Set) or not isinstance(texts, Iterable):
        raise TypeError(f"expected a list of texts, got {describe(texts)}")
    return list(texts)


def check_text(name: str, text) -> None:
    """Raise TypeError for anything but a string, ValueError for one with a lone surrogate."""
    if not isinstance(text, str):
        raise TypeError(f"expected {name} to be a string, got {describe(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        wrong = f"the lone surrogate U+{ord(text[problem.start]):04X} at {problem.start} of {name}"
        raise ValueError(f"expected Unicode text, got {wrong}") from None


def _check_pieces(vocab) -> list[str]:
    if not isinstance(vocab, list | tuple):
        raise TypeError(f"expected a list of pieces, got {describe(vocab)}")
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
