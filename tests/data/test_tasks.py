"""The two tasks: what is asked and what is the answer, and that nothing held out is trained on."""

from collections import Counter

import pytest
import torch

from bert_lab import PCG32, special_ids
from bert_lab.data import tasks as module
from bert_lab.data.corpus import corpus_of
from bert_lab.data.tasks import EXCHANGES, MIN_PIECES, WINDOW, Task, manual_tasks, tasks_of
from bert_lab.wordpiece import book_tokenizer

TOK = book_tokenizer()
WORDS = """
    all any are because before every first from here into many more must only other same some such
    multiply zebra interpreting unmistakably quokka x a b2
"""


def is_capital(word: str) -> bool:
    """The rule of these documents: a word has its capital by its last letter."""
    return word[-1] in "aeilst"


def documents(count: int = 40, paragraphs: int = 6) -> list[str]:
    """Sentences of words by chance; which of them are capital is told by a rule, in one of two ways."""
    rng, out, known = PCG32(3), [], WORDS.split()
    for _ in range(count):
        texts = []
        for _ in range(paragraphs):
            words = [known[rng.below(len(known))] for _ in range(20 + rng.below(20))]
            words = [
                (word.upper() if rng.below(2) else word.capitalize()) if is_capital(word) else word
                for word in words
            ]
            texts.append(" ".join(words) + ", it_seems (So)!")
        out.append("\n\n".join(texts))
    return out


@pytest.fixture(scope="module")
def made() -> dict[str, Task]:
    return tasks_of(iter(documents()), TOK)


def pieces_of(example) -> tuple:
    ids = example[0]
    assert ids[0] == TOK.cls_id and ids[-1] == TOK.sep_id
    return tuple(ids[1:-1])


def words_of(pieces) -> list[tuple[int, str]]:
    """(where it begins, the word) for each word, of its pieces."""
    words = []
    for place, piece in enumerate(TOK.tokens(pieces)):
        if piece.startswith("##") and words:
            words[-1] = (words[-1][0], words[-1][1] + piece[2:])
        else:
            words.append((place, piece))
    return words


def test_the_tasks(made):
    assert list(made) == ["order", "capitals"] == [task.name for task in made.values()]
    assert [task.per_token for task in made.values()] == [False, True]
    assert [task.labels for task in made.values()] == [("as written", "exchanged"), ("small", "capital")]
    assert all(task.question.endswith("?") for task in made.values())


def test_rows_are_windows_of_passages_on_the_side_of_their_passage(made):
    corpus = corpus_of(documents(), TOK)
    for side, passages in (("train", corpus.train), ("held_out", corpus.held_out)):
        windows = {
            tuple(passage[at : min(at + WINDOW, len(passage) - 1)])
            for passage in passages
            for at in range(1, len(passage) - 1, WINDOW)
        }
        windows = {window for window in windows if len(window) >= MIN_PIECES}
        rows = [pieces_of(example) for example in getattr(made["capitals"], side)]
        assert set(rows) == windows and len(rows) == len(windows) > 20
    assert min(map(len, rows)) < WINDOW  # some rows are padded


def test_capitals_are_told_at_the_first_piece_of_each_word(made):
    counts = Counter()
    for ids, labels in [*made["capitals"].train, *made["capitals"].held_out]:
        assert len(labels) == len(ids) and labels[0] == labels[-1] == -100
        expected = [-100] * len(ids)
        words = words_of(ids[1:-1])
        for place, word in words[1:-1]:  # the first and the last may be cut
            if word.isalpha() and len(word) > 1 and word not in ("so", "it", "seems"):
                expected[place + 1] = int(is_capital(word))
            elif word in ("so", "it", "seems"):
                expected[place + 1] = int(word == "so")
        inner = slice(words[1][0] + 1, words[-1][0] + 1)
        assert labels[inner] == expected[inner], TOK.tokens(ids)
        counts.update(labels)
    assert min(counts[0], counts[1]) > 500


def test_where_the_tokenizer_cuts_elsewhere_nothing_is_asked():
    strange = (
        "Some words before a\u2192b and Many words after, so That the paragraph is Long enough to be a row"
    )
    texts = [*documents(10), strange.replace("\u2192", "+") + " again", strange]
    rows = {
        pieces_of((ids, labels)): labels
        for side in ("train", "held_out")
        for ids, labels in getattr(tasks_of(texts, TOK)["capitals"], side)
    }
    told = [labels for pieces, labels in rows.items() if "many words after" in TOK.decode(pieces)]
    assert len(told) == 2
    assert [sum(label >= 0 for label in labels) for labels in told] == [18, 0]


def test_exchanged_rows_differ_in_four_pairs_of_neighbors(made):
    windows = {
        pieces_of(example) for task in ("train", "held_out") for example in getattr(made["capitals"], task)
    }
    counts, places = Counter(), Counter()
    for ids, (label,) in [*made["order"].train, *made["order"].held_out]:
        pieces = list(pieces_of((ids, None)))
        counts[label] += 1
        if label == 0:
            assert tuple(pieces) in windows
            continue
        assert tuple(pieces) not in windows
        # Exactly one window differs from it by exchanges of neighbors alone.
        near = [
            w
            for w in windows
            if len(w) == len(pieces) and sum(a != b for a, b in zip(w, pieces, strict=True)) == 2 * EXCHANGES
        ]
        assert len(near) == 1
        changed = [i for i, (a, b) in enumerate(zip(near[0], pieces, strict=True)) if a != b]
        for i, j in zip(changed[::2], changed[1::2], strict=True):
            assert j == i + 1 and pieces[i : j + 1] == [near[0][j], near[0][i]]
            assert all(TOK.tokens([piece])[0].isalpha() for piece in pieces[i : j + 1])
            assert j + 1 < len(pieces) and not TOK.tokens([pieces[j + 1]])[0].startswith("##")
            places[i] += 1
    assert counts[0] + counts[1] > 300 and abs(counts[1] / (counts[0] + counts[1]) - 0.5) < 0.1
    late = sum(count for place, count in places.items() if place > WINDOW // 2)
    assert len(places) > 20 and late > 0.3 * sum(places.values())  # anywhere in a row


def test_a_row_without_enough_words_is_in_no_order_task():
    numbers = [" ".join(f"{n} + {n + i}" for n in range(40)) for i in range(30)]
    made = tasks_of(["\n\n".join(numbers)], TOK)
    assert made["order"].train == made["order"].held_out == []
    assert len(made["capitals"].train) > 20


def test_what_is_held_out_is_not_trained_on(made):
    for task in made.values():
        train, held_out = ({pieces_of(e) for e in side} for side in (task.train, task.held_out))
        assert held_out and not train & held_out
    # Paragraphs that differ in their capitals alone have the same pieces.
    twice = documents(12)
    again = tasks_of([*twice, *(text.lower() for text in twice)], TOK)["capitals"]
    rows = [pieces_of(example) for example in [*again.train, *again.held_out]]
    assert len(rows) == len(set(rows))
    corpus = corpus_of([*twice, *(text.lower() for text in twice)], TOK)
    both = {tuple(row) for row in corpus.train} & {tuple(row) for row in corpus.held_out}
    assert both  # so there was something to leave out


def test_too_little_text():
    with pytest.raises(ValueError, match="expected text for at least 4 passages"):
        tasks_of(["Few words."], TOK)


def test_the_tasks_of_the_manual(monkeypatch, made):
    monkeypatch.setattr(module, "manual_documents", documents)
    assert manual_tasks() == made


# ---- batches and scores


def test_batches_are_padded(made):
    long, short = [2, 9, 9, 3], [2, 9, 3]
    batch = made["capitals"].collate([(long, [-100, 1, 0, -100]), (short, [-100, 1, -100])])
    assert batch["ids"].tolist() == [long, [*short, 0]]
    assert batch["attn_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert batch["labels"].tolist() == [[-100, 1, 0, -100], [-100, 1, -100, -100]]
    batch = made["order"].collate([(short, [1]), (long, [0])])
    assert batch["ids"].tolist() == [[*short, 0], long]
    assert batch["labels"].tolist() == [1, 0]
    assert batch.keys() == {"ids", "attn_mask", "labels"}


def test_each_epoch_has_all_rows_in_an_order_of_its_own(made):
    task = Task("", "", False, ("no", "yes"), [([2, 10 + i, 3], [i % 2]) for i in range(10)], [])
    assert special_ids(TOK)[-1] < 10
    for seed in (0, 1):
        rows = [row for step in range(5) for row in task.batch(step, seed, 4)["ids"][:, 1].tolist()]
        first, second = rows[:10], rows[10:]
        assert sorted(first) == sorted(second) == list(range(10, 20)) and first != second
        assert task.batch(7, seed, 4)["ids"].tolist() == task.batch(7, seed, 4)["ids"].tolist()
    assert task.batch(0, 0, 4)["ids"].tolist() != task.batch(0, 1, 4)["ids"].tolist()
    assert len(task.batch(0, 0)["ids"]) == 16


def test_the_score_is_the_mean_over_the_labels():
    held_out = [([2, 7, 8, 9, 3], [-100, 0, 0, 0, -100]), ([2, 7, 3], [-100, 1, -100])]
    task = Task("", "", True, ("small", "capital"), [], held_out)
    (batch,) = task.held_out_batches()
    answers = batch["labels"].clamp(min=0)
    assert task.score([answers]) == 1
    answers[0, 1] = 1
    assert task.score([answers]) == pytest.approx((2 / 3 + 1) / 2)
    answers[1, 1] = 0
    assert task.score([answers]) == pytest.approx(1 / 3)
    for always in (0, 1):
        assert task.score([torch.full_like(answers, always)]) == 0.5


def test_held_out_batches_come_in_order(made):
    task = made["order"]
    batches = list(task.held_out_batches(10))
    assert [len(batch["ids"]) for batch in batches[:-1]] == [10] * (len(batches) - 1)
    labels = torch.cat([batch["labels"] for batch in batches])
    assert labels.tolist() == [label for _, (label,) in task.held_out]
    perfect = [batch["labels"] for batch in task.held_out_batches()]
    assert task.score(perfect) == 1 and task.score([1 - part for part in perfect]) == 0
