"""ELECTRA against a masked language model: the same text and first weights, counted work, and the record."""

from functools import partial

import pytest
import torch

from bert_lab.data.corpus import corpus_of
from bert_lab.data.tasks import tasks_of
from bert_lab.experiments import electra as experiment
from bert_lab.experiments.base import Comparison, stored
from bert_lab.masking import IGNORE
from bert_lab.model import BertConfig, BertForMLM
from bert_lab.padding import Unpadded
from bert_lab.rng import PCG32
from bert_lab.training.pretrain import Plan, batches_of
from bert_lab.wordpiece import book_tokenizer


@pytest.fixture(scope="module")
def documents():
    from pydoc_data.topics import topics

    return [topics[name] for name in ("class", "function", "import", "with", "try", "lambda")]


@pytest.fixture(scope="module")
def corpus(documents):
    return corpus_of(documents, book_tokenizer())


@pytest.fixture(scope="module")
def start():
    return BertForMLM(
        BertConfig(book_tokenizer().vocab_size, 128, 16, 2, 2, 32, dropout=0.0), PCG32(7)
    ).eval()


@pytest.fixture
def quick(monkeypatch):
    """Two batches are counted, and each head is trained for one step."""
    monkeypatch.setattr(experiment, "COUNTED_STEPS", 2)
    monkeypatch.setattr(experiment, "train_on", partial(experiment.train_on, steps=1))


def test_both_begin_with_the_given_encoder_and_read_the_same_text(start, corpus):
    learners = [kind(start, corpus, 3, 5) for kind in (experiment.masked_lm, experiment.electra)]
    before = {name: p.clone() for name, p in start.encoder.state_dict().items()}
    for learner in learners:
        own = learner.encoder.state_dict()
        assert own.keys() == before.keys() and all(torch.equal(own[name], before[name]) for name in own)
        experiment.fit(learner.model, 2, learner.loss_of)
        assert not torch.equal(own["word.weight"], before["word.weight"])
    assert all(torch.equal(p, before[name]) for name, p in start.encoder.state_dict().items())

    def text(split):
        batch = batches_of(Plan(5, seed=3, batch=16, split=split), corpus)[4]
        labels = batch["labels"]
        return torch.where(labels == IGNORE, batch["input_ids"], labels)

    assert torch.equal(text((0.8, 0.1, 0.1)), text((1, 0, 0)))


def test_each_learner_has_the_loss_of_its_model(start, corpus):
    batch = batches_of(Plan(5, batch=16), corpus)[1]
    mlm = experiment.masked_lm(start, corpus, 0, 5)
    inputs = [batch[name] for name in ("input_ids", "token_type_ids", "attention_mask", "labels")]
    assert torch.equal(mlm.loss_of(1), start.mlm_loss(*inputs))

    hidden = batches_of(Plan(5, batch=16, split=(1, 0, 0)), corpus)[1]
    assert (hidden["input_ids"][hidden["labels"] != IGNORE] == corpus.tok.mask_id).all()
    draws = PCG32(0, stream=1)
    pair = experiment.electra(start, corpus, 0, 5)
    for _ in range(2):  # each step draws on
        assert torch.equal(pair.loss_of(1), pair.model.step(hidden, draws).total)
    assert pair.encoder is pair.model.discriminator.encoder

    alone = experiment.electra(start, corpus, 0, 5, blanks_alone=True)
    got = alone.model.corrupt(hidden, PCG32(0, stream=1))
    labels = got.replaced.masked_fill(hidden["labels"] == IGNORE, IGNORE)
    loss = alone.model.discriminator(got.ids, attn_mask=hidden["attention_mask"], labels=labels)[1]
    assert torch.equal(alone.loss_of(1), got.generator_loss + 50 * loss)


def test_rows_are_as_short_as_those_of_the_tasks(corpus):
    cut = experiment.in_windows(corpus)
    assert cut.held_out == corpus.held_out
    parts = []
    for passage in corpus.train:
        left = passage[1:-1]
        while left:
            part, left = left[:30], left[30:]
            parts += [part] * (len(part) >= 16)
    assert [row[1:-1] for row in cut.train] == parts and {len(part) < 30 for part in parts} == {True, False}
    assert {(row[0], row[-1]) for row in cut.train} == {(corpus.tok.cls_id, corpus.tok.sep_id)}


def multiply_adds(encoder, batch, last, head) -> int:
    """Of a step: forward, and twice as many backward. `last`: at how many places the last layer ends."""
    c, rows = encoder.config, Unpadded(batch["attention_mask"] == 1)
    linear = 4 * c.d_model**2 + 2 * c.d_model * c.d_ff
    projections = 3 * c.d_model**2
    pairs = sum(part.shape[0] * part.shape[1] ** 2 for part in rows.groups)
    layers = (c.n_layers - 1) * rows.count * linear + rows.count * projections + last * (linear - projections)
    return 3 * (layers + 2 * c.n_layers * c.d_model * pairs + head)


def test_the_work_is_that_of_the_matrix_products_and_all_positions_teach_one_side(start, corpus, monkeypatch):
    monkeypatch.setattr(experiment, "COUNTED_STEPS", 1)
    batch = batches_of(Plan(5, batch=16), corpus)[0]
    blanks, real = int((batch["labels"] != IGNORE).sum()), int(batch["attention_mask"].sum())
    mlm = experiment.masked_lm(start, corpus, 0, 5)
    d, v = 16, corpus.tok.vocab_size
    fill = blanks * (d * d + d * v)
    assert experiment.cost(mlm) == (multiply_adds(mlm.encoder, batch, blanks, fill), blanks / real)
    assert 0.1 < blanks / real < 0.2

    pair = experiment.electra(start, corpus, 0, 5)
    hidden = batches_of(Plan(5, batch=16, split=(1, 0, 0)), corpus)[0]
    blanks = int((hidden["labels"] != IGNORE).sum())
    generator = multiply_adds(pair.model.generator.encoder, hidden, blanks, blanks * (d * d + d * v))
    judge = multiply_adds(pair.encoder, hidden, real, real * (d * d + d))
    assert experiment.cost(pair) == (generator + judge, 1.0)
    alone = experiment.electra(start, corpus, 0, 5, blanks_alone=True)
    assert experiment.cost(alone) == (generator + judge, blanks / real)


def test_compare_trains_every_row_and_scores_every_task(start, documents, corpus, quick, tmp_path):
    told = []
    tasks = tasks_of(documents, book_tokenizer())
    found = experiment.run(2, 3, start=start, corpus=corpus, tasks=tasks, say=told.append)
    electra = "then ELECTRA"
    kinds = ("shipped", "then MLM", "then MLM, as much work", electra, f"{electra}, blanks alone")
    rows = [f"{task}: {row}" for task in tasks for row in kinds]
    assert list(found.scores) == rows == list(found.facts)
    for scores in found.scores.values():
        assert len(scores) == 2 and all(0 <= score <= 1 for score in scores)
    assert len(told) == 2 * len(rows)
    facts = [found.facts[row] for row in rows[:5]]
    works, taught = ([f[name] for f in facts] for name in ("work a step", "taught"))
    longer = round(3 * works[3] / works[1])
    assert [f["steps"] for f in facts] == [0, 3, longer, 3, 3] and longer > 3
    assert works[0] == 0 and works[1] == works[2] < works[3] == works[4]
    assert taught[0] == 0.0 and taught[3] == 1.0 and max(taught[1], taught[2], taught[4]) < 0.2
    assert found.settings["rows"] == len(experiment.in_windows(corpus).train)
    assert (found.settings["steps"], found.settings["seeds"]) == (3, 2)
    found.write(tmp_path / "electra_compared.json")
    assert Comparison.read(tmp_path / "electra_compared.json").text() == found.text()


def test_the_shipped_model_and_the_manual_are_taken_unless_others_are_given(
    start, documents, corpus, quick, monkeypatch
):
    monkeypatch.setattr(experiment, "manual_bert", lambda: (start, book_tokenizer()))
    monkeypatch.setattr(experiment, "manual_corpus", lambda: corpus)
    monkeypatch.setattr(experiment, "manual_tasks", lambda: tasks_of(documents, book_tokenizer()))
    monkeypatch.setattr(experiment, "train_on", lambda task, encoder, seed: 0.5)
    found = experiment.run(1, 1, say=lambda line: None)
    assert found.settings["rows"] == len(experiment.in_windows(corpus).train) and len(found.scores) == 10


@pytest.mark.parametrize(
    ("seeds", "steps", "kind"), [(0, 1, ValueError), (1, 0, ValueError), (1, 1.5, TypeError)]
)
def test_seeds_and_steps_that_do_not_fit(start, corpus, quick, seeds, steps, kind):
    with pytest.raises(kind, match=r"seeds|steps"):
        experiment.run(seeds, steps, start=start, corpus=corpus, tasks={})


def test_the_stored_comparison():
    """ELECTRA does not win, and is better with its loss at all positions than at the blanks alone."""
    found = stored("electra")
    assert found.settings["steps"] == experiment.DEFAULTS["steps"] and found.settings["seeds"] == 3
    rows = (experiment.START, experiment.MLM, experiment.LONGER, experiment.ELECTRA, experiment.ALONE)
    assert list(found.scores) == [f"{task}: {row}" for task in ("order", "capitals") for row in rows]
    for task in ("order", "capitals"):
        start, mlm, longer, electra, alone = (found.mean(f"{task}: {row}") for row in rows)
        assert abs(mlm - start) < 0.01 and abs(longer - mlm) < 0.01
        assert alone + 0.03 < electra < longer
        pairs = zip(*(found.scores[f"{task}: {row}"] for row in rows[3:]), strict=True)
        assert all(alone <= electra for electra, alone in pairs)
    assert found.spread("order: then ELECTRA")[0] == 0.5 < 0.89 < found.spread("order: then ELECTRA")[1]
