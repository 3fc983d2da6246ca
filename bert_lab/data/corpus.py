"""Text to train on: the manual, docstrings and comments that came with Python, or the reader's own files.

Documents are cut into passages that fit the model, and some of them are held out: they are never trained on.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..checks import as_index
from ..rng import PCG32
from ..wordpiece import WordPieceTokenizer, book_tokenizer

MAX_LEN = 128  # positions of a passage, [CLS] and [SEP] included
HELD_OUT = 0.06  # share of the passages
MIN_PASSAGES = 4  # of a corpus
MIN_COMMENT = 60  # characters: shorter comments are left out
MAX_VOCABULARY = 4000  # pieces, where no size is given

# Folders of the standard library that are left out: not written for readers, or not in every installation.
SKIPPED = {"site-packages", "dist-packages", "test", "tests", "idlelib", "pydoc_data"}


@dataclass(frozen=True)
class Corpus:
    """Passages of one tokenizer: rows of ids, [CLS] and [SEP] included, each at most `MAX_LEN` long."""

    tok: WordPieceTokenizer
    train: list[list[int]]
    held_out: list[list[int]]

    @property
    def fingerprint(self) -> str:
        """A digest of the vocabulary and of all passages, 16 hexadecimal digits."""
        digest = hashlib.sha256("\n".join(self.tok.vocab).encode())
        for passages in (self.train, self.held_out):
            digest.update(np.array([len(passages), *map(len, passages)], np.int64).tobytes())
            for passage in passages:
                digest.update(np.array(passage, np.int64).tobytes())
        return digest.hexdigest()[:16]


def manual_corpus() -> Corpus:
    """The Python manual and the standard library's docstrings and comments, with the book's vocabulary.

    The text differs between versions of Python: these are the passages of the version that runs.
    """
    return corpus_of(manual_documents(), book_tokenizer())


def corpus_of_files(paths: Iterable[str | os.PathLike], vocab_size: int | None = None) -> Corpus:
    """The reader's own text files, with an uncased vocabulary that is trained on them.

    Args:
        paths: text files in UTF-8; blank lines end paragraphs.
        vocab_size: how many pieces; by default as many as the text gives, up to `MAX_VOCABULARY`.

    Raises:
        FileNotFoundError: a file does not exist.
        ValueError: a file is a directory, is empty, or is not text; vocab_size is more than the text gives,
            or less than its characters need; the text is too short to hold a part of it out.
    """
    documents = [read_document(Path(path)) for path in paths]
    size = MAX_VOCABULARY if vocab_size is None else as_index(vocab_size, "vocab_size", 1, 2**31)
    tok = WordPieceTokenizer.train(documents, size)
    if vocab_size is not None and tok.vocab_size < size:
        raise ValueError(
            f"vocab_size: expected at most {tok.vocab_size}, which is all that this text gives, got {size}"
        )
    return corpus_of(documents, tok)


def corpus_of(documents: list[str], tok: WordPieceTokenizer) -> Corpus:
    """The corpus of these documents. Raises ValueError for too little text."""
    rows = passages(documents, tok)
    held_out = held_out_of(rows)
    return Corpus(
        tok,
        train=[row for i, row in enumerate(rows) if i not in held_out],
        held_out=[row for i, row in enumerate(rows) if i in held_out],
    )


def held_out_of(rows: list[list[int]]) -> set[int]:
    """The numbers of the passages that are held out. Raises ValueError for too few passages."""
    if len(rows) < MIN_PASSAGES:
        words = MIN_PASSAGES * MAX_LEN // 2
        raise ValueError(
            f"expected text for at least {MIN_PASSAGES} passages, some {words} words, "
            f"got {sum(map(len, rows))} pieces, which make {len(rows)} (a paragraph that comes again is "
            "counted once)"
        )
    return set(_shuffled(len(rows))[: max(1, round(HELD_OUT * len(rows)))])


# ---- documents


def manual_documents() -> list[str]:
    """The manual's topics, sorted by name; then the docstrings, and the comments, of each module."""
    # Imported here: the topics are half a megabyte, and not every user of this module needs them.
    from pydoc_data.topics import topics

    files = list(sources(Path(sysconfig.get_paths()["stdlib"])))
    return [
        *(topics[name] for name in sorted(topics)),
        *documents_of(files, docstrings_of),
        *documents_of(files, comments_of),
        *documents_of(sorted(sys.builtin_module_names), builtin_docstrings_of),
    ]


def sources(root: Path) -> Iterator[bytes]:
    """The Python files under `root`, sorted by path, without those in `SKIPPED` folders."""
    for path in sorted(root.rglob("*.py")):
        if SKIPPED.isdisjoint(path.relative_to(root).parts):
            yield path.read_bytes()


def documents_of(sources: Iterable, texts_of: Callable) -> Iterator[str]:
    """A document for each source: the texts that `texts_of` finds in it, joined by blank lines.

    A source without texts gives no document.
    """
    for source in sources:
        found = list(texts_of(source))
        if found:
            yield "\n\n".join(found)


def docstrings_of(source: bytes) -> Iterator[str]:
    """The docstrings in one file's source, in order. Source that cannot be parsed has none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # ValueError: null bytes, in older Pythons
        return
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text
        waiting += reversed(list(ast.iter_child_nodes(node)))


def comments_of(source: bytes) -> Iterator[str]:
    """The comments in one file's source that have at least `MIN_COMMENT` characters.

    Consecutive lines of comment are one comment.
    """
    block: list[str] = []
    for line in [*source.decode("utf-8", errors="ignore").splitlines(), ""]:
        mark, _, text = line.strip().partition("#")
        if not mark and re.search("[a-z]{3}", text):
            block.append(text.strip())
        else:
            whole = "\n".join(block)
            block = []
            if len(whole) >= MIN_COMMENT:
                yield whole


def builtin_docstrings_of(name: str) -> Iterator[str]:
    """The docstrings of a module that is built into the interpreter."""
    for text in _docs_inside(importlib.import_module(name)):
        yield inspect.cleandoc(text)


def _docs_inside(module) -> Iterator[str]:
    objects = [module]
    for _, member in sorted(vars(module).items()):
        if callable(member) and getattr(member, "__module__", None) == module.__name__:
            objects.append(member)
            if isinstance(member, type):
                objects += [part for key, part in sorted(vars(member).items()) if not key.startswith("__")]
    for thing in objects:
        text = getattr(thing, "__doc__", None)
        if isinstance(text, str) and text.strip():
            yield text


def read_document(path: Path) -> str:
    """The text of a UTF-8 file.

    Raises FileNotFoundError for a missing file, and ValueError for one that is not text or is blank.
    """
    if path.is_dir():
        raise ValueError(f"{path}: expected a text file, got a directory")
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: expected a text file, but there is none") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: expected text in UTF-8, got a binary file: byte {error.start} is {raw[error.start]}"
        ) from None
    if "\0" in text:
        raise ValueError(f"{path}: expected text, got a binary file: byte {raw.index(0)} is 0")
    if not text.strip():
        raise ValueError(f"{path}: expected text, got {'only blanks' if raw else 'an empty file'}")
    return text


# ---- passages


def _shuffled(n: int) -> list[int]:
    """0..n-1 in a fixed random order. Nothing else draws from this stream."""
    return np.argsort(PCG32(0, stream=1).block(n), kind="stable").tolist()


def passages(documents: Iterable[str], tok: WordPieceTokenizer) -> list[list[int]]:
    """Consecutive paragraphs of a document, packed into rows [CLS] ... [SEP] of at most `MAX_LEN` ids.

    A paragraph that occurs again, in any document, is left out. It could else be trained on and held out.
    """
    return [
        [tok.cls_id, *row, tok.sep_id]
        for texts in paragraphs(documents)
        for row in _pack(tok.encode_plain(texts), MAX_LEN - 2)
    ]


def paragraphs(documents: Iterable[str]) -> Iterator[list[str]]:
    """The paragraphs of each document, without those that occurred before, in any document."""
    seen: set[str] = set()
    for document in documents:
        yield [text for text in re.split(r"\n\s*\n", document) if text.strip() and _is_new(text, seen)]


def _is_new(text: str, seen: set[str]) -> bool:
    words = " ".join(text.split())
    if words in seen:
        return False
    seen.add(words)
    return True


def _pack(paragraphs: list[list[int]], room: int) -> Iterator[list[int]]:
    """Pack paragraphs into passages of at most `room` ids.

    A paragraph is split only if the passage that it does not fit into is at most half full.
    """
    row: list[int] = []
    for ids in paragraphs:
        while len(row) + len(ids) > room:
            if 2 * len(row) <= room:
                cut = room - len(row)
                row, ids = row + ids[:cut], ids[cut:]
            yield row
            row = []
        row = row + ids
    if row:
        yield row
