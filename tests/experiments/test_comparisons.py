"""The comparisons whose counts the package carries: how they are made, on little, and what is stored."""

import json

import make_orders_compared as orders
import make_recipes_compared as recipes
import numpy as np
import pytest
import torch

from bert_lab import PCG32, BertConfig, BertForMLM
from bert_lab.data.corpus import Corpus
from bert_lab.experiments.base import ASSETS
from bert_lab.training.filling import ORDERS
from bert_lab.wordpiece import WordPieceTokenizer, special_ids

TOK = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklm"])
ROWS = [[2, *(5 + (3 * i + j) % 13 for j in range(9 + i % 4)), 3] for i in range(40)]
CORPUS = Corpus(TOK, train=ROWS[:36], held_out=[*ROWS[36:], [2, 3]])


def test_the_views_show_the_same_places_in_three_ways():
    shown = dict(recipes.views(CORPUS))
    hidden, itself, other = (shown[view]["input_ids"].numpy() for view in recipes.VIEWS)
    labels = shown["[MASK]"]["labels"].numpy()
    asked = labels != -100
    assert 1 <= asked.sum() < 20
    for batch in shown.values():
        assert (batch["labels"].numpy() == labels).all() and batch["attention_mask"].sum() == sum(
            map(len, CORPUS.held_out)
        )
    for row, passage in zip(itself, CORPUS.held_out, strict=True):
        assert row[: len(passage)].tolist() == passage
    assert (hidden[asked] == TOK.mask_id).all() and (itself[asked] == labels[asked]).all()
    assert (hidden[~asked] == itself[~asked]).all() and (other[~asked] == itself[~asked]).all()
    assert (other[asked] != labels[asked]).all() and not np.isin(other[asked], special_ids(TOK)).any()


def test_other_words_are_drawn_evenly():
    rows = [[2, *[9] * 20, 3]] * 400
    (other,) = [
        np.concatenate([batch["input_ids"].numpy()[batch["labels"].numpy() != -100] for batch in batches])
        for batches in [[b for v, b in recipes.views(Corpus(TOK, rows, rows)) if v == "another word"]]
    ]
    counts = np.bincount(other, minlength=TOK.vocab_size)
    assert counts[9] == 0 and counts[:5].sum() == 0
    share, sd = 1 / 12, (len(other) * (1 / 12) * (11 / 12)) ** 0.5
    assert np.abs(np.delete(counts[5:], 4) - len(other) * share).max() < 4 * sd


def test_a_reader_that_repeats_what_it_sees_is_right_where_the_word_is_in_view(monkeypatch):
    def repeats(_model, batch, left_only):
        asked = batch["labels"] != -100
        seen = torch.nn.functional.one_hot(batch["input_ids"][asked], TOK.vocab_size)
        return seen.float(), batch["labels"][asked]

    monkeypatch.setattr(recipes, "logits_and_labels", repeats)
    counts = recipes.score(None, CORPUS)
    (blanks,) = {result["blanks"] for result in counts.values()}
    assert [counts[view]["hits"] for view in recipes.VIEWS] == [0, blanks, 0]


def check_counts(results: dict, names) -> int:
    """The number of blanks, the same for all of these names."""
    assert list(results) == list(names)
    assert all(0 <= result["hits"] <= result["blanks"] for result in results.values())
    (blanks,) = {result["blanks"] for result in results.values()}
    return blanks


def test_the_recipes_are_compared(tmp_path, monkeypatch):
    plans = []
    real = recipes.pretrain
    monkeypatch.setattr(recipes, "pretrain", lambda plan, *rest: plans.append(plan) or real(plan, *rest))
    monkeypatch.setattr(recipes, "manual_corpus", lambda: CORPUS)
    threads = torch.get_num_threads()
    out = tmp_path / "out.json"
    try:
        recipes.main([str(out), str(tmp_path / "runs"), "--steps", "2"])
    finally:
        torch.set_num_threads(threads)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert (found["steps"], found["passages"], found["held-out passages"]) == (2, 36, 5)
    assert list(found["counts"]) == list(recipes.RECIPES)
    assert len({check_counts(results, recipes.VIEWS) for results in found["counts"].values()}) == 1
    assert [(plan.p, plan.split) for plan in plans] == [
        (0.15, [0.8, 0.1, 0.1]),
        (0.15, [1.0, 0.0, 0.0]),
        (0.4, [0.8, 0.1, 0.1]),
    ]
    assert {(plan.steps, plan.seed, plan.config) for plan in plans} == {(2, 0, "tiny")}
    before = out.read_bytes()
    recipes.main([str(out), str(tmp_path / "runs"), "--steps", "2"])  # the runs are there: none begins anew
    assert out.read_bytes() == before


def test_spans_lie_apart_between_the_ends():
    for number, passage in enumerate(CORPUS.train):
        places = orders.spans(passage[:-1] + passage[1:], number)
        assert places.shape == (4, 3) and (np.diff(places) == 1).all()
        assert len(set(places.ravel())) == 12 and places.min() >= 1 and places.max() < 2 * len(passage) - 3
    assert len(orders.spans([2] + [5] * 12 + [3], 0)) == 4
    assert len(orders.spans([2] + [5] * 11 + [3], 0)) == 0
    starts = {tuple(orders.spans([2] + [5] * 40 + [3], number)[:, 0]) for number in range(50)}
    assert len(starts) > 40 and {min(s) for s in starts} == set(range(1, 9))


def test_the_orders_are_compared(tmp_path, monkeypatch):
    rows = [[2, *(7 if (i + j) % 3 else 8 for j in range(14 + i)), 3] for i in range(8)] + [[2, 7, 3]]
    model = BertForMLM(BertConfig(TOK.vocab_size, 32, 16, 2, 1, 16, dropout=0.0), PCG32(1)).eval()
    monkeypatch.setattr(orders, "manual_bert", lambda: (model, TOK))
    monkeypatch.setattr(orders, "manual_corpus", lambda: Corpus(TOK, [], rows))
    with torch.no_grad():
        model.transform_norm.weight.zero_()
        model.decoder_bias[7] = 9.0  # the same piece everywhere
    out = tmp_path / "out.json"
    orders.main([str(out)])
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["passages"] == 9
    singles, whole = (found["counts"][what] for what in orders.WHAT)
    assert check_counts(singles, ORDERS) == 3 * check_counts(whole, ORDERS) == 3 * 4 * 8
    right = [np.array(row)[orders.spans(row, n)] == 7 for n, row in enumerate(rows[:-1])]
    assert {result["hits"] for result in singles.values()} == {int(np.sum(right))}
    assert {result["hits"] for result in whole.values()} == {int(np.all(right, axis=2).sum())} == {0}
    assert orders.compare(model, Corpus(TOK, [], rows), passages=1)["counts"]["whole spans"][
        "all at once"
    ] == {
        "hits": 0,
        "blanks": 4,
    }


STORED = [
    ("recipes_compared", recipes, dict.fromkeys(recipes.RECIPES, recipes.VIEWS)),
    ("orders_compared", orders, dict.fromkeys(orders.WHAT, ORDERS)),
]


@pytest.mark.parametrize(("name", "module", "names"), STORED)
def test_what_is_stored(name, module, names):
    found = json.loads((ASSETS / f"{name}.json").read_text(encoding="utf-8"))
    assert list(found["counts"]) == list(names)
    for key, inside in names.items():
        assert check_counts(found["counts"][key], inside) >= 100
    assert f"`python tests/assets/{module.__name__}.py " in module.__doc__
    assert f"## {name}.json" in (ASSETS / "README.md").read_text(encoding="utf-8")
