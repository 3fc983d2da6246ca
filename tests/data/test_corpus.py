"""Text to train on: what is read, how it is cut into passages, and what is refused."""

import subprocess
import sys

import pytest

from bert_lab.data import corpus as module
from bert_lab.data.corpus import (
    MAX_LEN,
    comments_of,
    corpus_of,
    corpus_of_files,
    docstrings_of,
    documents_of,
    manual_documents,
    passages,
    read_document,
    sources,
)
from bert_lab.wordpiece import book_tokenizer

TOK = book_tokenizer()


def story(paragraphs: int, words: int = 40) -> str:
    return "\n\n".join(f"number {i} " + "and the cat sat again " * (words // 5) for i in range(paragraphs))


@pytest.fixture(scope="module")
def manual() -> list[str]:
    return manual_documents()


# Documents.

SOURCE = '''"""A module about masking."""
# one line of a comment that is long enough to be kept, since it says something
X = 1  # a remark at the end of a line is no sentence
# too short
# ----------------------------------------------------------------------------
class Token:
    """A token of a text."""
    # two lines of a comment
    # that belong together as one
    def hide(self):
        """Hide it."""
        def inner(): pass
    async def wait(self):
        """Wait for it."""
def last():
    """The end."""
'''


def test_docstrings_are_those_of_modules_classes_and_functions_from_top_to_bottom():
    found = ["A module about masking.", "A token of a text.", "Hide it.", "Wait for it.", "The end."]
    assert list(docstrings_of(SOURCE.encode())) == found
    assert list(docstrings_of(b"print 'Python 2'")) == []


def test_comments_are_those_that_are_long_and_of_words(monkeypatch):
    monkeypatch.setattr(module, "MIN_COMMENT", 45)
    assert list(comments_of(SOURCE.encode())) == [
        "one line of a comment that is long enough to be kept, since it says something",
        "two lines of a comment\nthat belong together as one",
    ]


def test_documents_come_file_by_file_without_tests_and_installed_packages(tmp_path):
    for name in ("b.py", "a/x.py", "test/t.py", "site-packages/p.py", "a/tests/t.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(f'"""{name}"""\n# {name} {"long " * 20}\n')
    (tmp_path / "empty.py").write_text("X = 1\n")
    files = list(sources(tmp_path))
    assert list(documents_of(files, docstrings_of)) == ["a/x.py", "b.py"]
    assert [text.split()[0] for text in documents_of(files, comments_of)] == ["a/x.py", "b.py"]


def test_the_manual_brings_its_topics_the_library_and_what_is_written_in_c(manual):
    assert any(text.startswith('The "import" statement') for text in manual)
    assert any("Encode the bytes-like object s using Base64" in text for text in manual)  # base64.b64encode
    assert any("Append object to the end of the list." in text for text in manual)  # list.append, in C
    assert sum(map(len, manual)) > 1_500_000


def test_the_manual_is_the_same_in_another_process(manual):
    code = "from bert_lab.data.corpus import manual_corpus; print(manual_corpus().fingerprint)"
    # Other modules are loaded there, and hashes are seeded otherwise.
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == corpus_of(manual, TOK).fingerprint


# Files.


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "got an empty file"),
        (b" \n\n", "got only blanks"),
        (b"abc\0def", "got a binary file: byte 3 is 0"),
        (b"\x89PNG\r\n", "got a binary file: byte 0 is 137"),
        ("caf\u00e9".encode("latin-1"), "got a binary file: byte 3 is 233"),
    ],
)
def test_a_file_that_is_no_text_is_named(tmp_path, content, told):
    path = tmp_path / "my.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"my.txt: expected text.*{told}"):
        read_document(path)


def test_a_missing_file_and_a_directory_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.txt: expected a text file, but there is none"):
        corpus_of_files([tmp_path / "none.txt"])
    with pytest.raises(ValueError, match="expected a text file, got a directory"):
        corpus_of_files([tmp_path])


def test_a_byte_order_mark_is_no_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfhello")
    assert read_document(tmp_path / "a.txt") == "hello"


def test_one_word_is_too_little(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("word")
    with pytest.raises(ValueError, match=r"for at least 4 passages, .* got 3 pieces, which make 1"):
        corpus_of_files([path])


def test_a_vocabulary_too_large_for_the_text_names_what_there_is(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(story(40))
    whole = corpus_of_files([path]).tok.vocab_size
    assert corpus_of_files([path], whole).tok.vocab_size == whole
    with pytest.raises(ValueError, match=f"vocab_size: expected at most {whole}, .* got {whole + 1}"):
        corpus_of_files([path], whole + 1)
    with pytest.raises(ValueError, match="expected a vocab_size of at least"):
        corpus_of_files([path], 6)


def test_the_same_files_give_the_same_vocabulary_in_every_process(tmp_path, manual):
    path = tmp_path / "a.txt"
    path.write_text(max(manual, key=len), encoding="utf-8")
    code = f"from bert_lab.data.corpus import *; print(corpus_of_files([{str(path)!r}], 700).fingerprint)"
    found = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    }
    assert len(found) == 1


# Passages.


def test_passages_hold_neighboring_paragraphs_and_all_of_the_text():
    documents = [story(7, words=50), story(3, words=400).replace("number", "part")]
    rows = passages(documents, TOK)
    assert all(row[0] == TOK.cls_id and row[-1] == TOK.sep_id and len(row) <= MAX_LEN for row in rows)
    inside = [i for row in rows for i in row[1:-1]]
    assert inside == [i for text in documents for ids in TOK.encode_plain(text.split("\n\n")) for i in ids]
    assert all(len(row) > MAX_LEN // 2 for row in rows[:2])
    assert TOK.decode(rows[0]).count("number") > 1  # two paragraphs in one passage
    assert [TOK.decode(row[1:2]) for row in rows[:3]] == ["number"] * 3  # and none of them is cut


def test_a_paragraph_that_comes_again_is_left_out():
    text = story(6)
    assert passages([text, text.replace(" ", "\n").replace("\n\n\n", "\n\n")], TOK) == passages([text], TOK)


def test_some_passages_are_held_out_the_same_ones_every_time():
    one, two = corpus_of([story(300)], TOK), corpus_of([story(300)], TOK)
    assert one == two and one.fingerprint == two.fingerprint
    rows = passages([story(300)], TOK)
    assert sorted(one.train + one.held_out) == sorted(rows)
    assert len(one.held_out) == round(0.06 * len(rows)) > 3
    assert corpus_of([story(301)], TOK).fingerprint != one.fingerprint


def test_a_short_text_still_has_a_passage_held_out():
    small = corpus_of([story(12)], TOK)
    assert len(small.held_out) == 1 and len(small.train) >= 3
