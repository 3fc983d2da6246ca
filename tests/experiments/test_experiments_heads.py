"""Heads on pretrained and on random weights: what is trained, what is compared, and what is stored."""

import pytest
import torch

from bert_lab import PCG32, BertConfig, BertEncoder, BertForMLM, manual_bert
from bert_lab.beyond.heads import BertForSequenceClassification, BertForTokenClassification
from bert_lab.data.tasks import Task
from bert_lab.experiments import heads as experiment
from bert_lab.experiments.base import Comparison, stored
from bert_lab.experiments.heads import BATCH_SIZE, DEFAULTS, PEAK, PEAK_OF_HEAD, run, train_on

CONFIG = BertConfig(20, 8, 32, 2, 1, 32, dropout=0.0)


def rows(count: int) -> list[list[int]]:
    rng = PCG32(9)
    return [[2, *(5 + rng.below(15) for _ in range(2 + rng.below(4))), 3] for _ in range(count)]


# Is the second piece above 12? Is this piece one below 9?
SEQUENCES = [(ids, [int(ids[1] > 12)]) for ids in rows(300)]
TOKENS = [(ids, [-100, *(int(i < 9) for i in ids[1:-1]), -100]) for ids in rows(300)]
ROWS = Task("rows", "?", False, ("no", "yes"), SEQUENCES[:250], SEQUENCES[250:])
PIECES = Task("pieces", "?", True, ("no", "yes"), TOKENS[:250], TOKENS[250:])


@pytest.mark.parametrize("task", [ROWS, PIECES], ids=lambda task: task.name)
def test_a_head_learns_a_task_and_leaves_the_encoder_it_was_given(monkeypatch, task):
    monkeypatch.setattr(experiment, "PEAK", 1e-2)
    for source in (BertForMLM(CONFIG, PCG32(1)).eval(), BertEncoder(CONFIG, PCG32(1)).eval()):
        before = {name: p.clone() for name, p in source.named_parameters()}
        score = train_on(task, source, 0, 60)
        assert score > 0.9
        assert all(torch.equal(p, before[name]) for name, p in source.named_parameters())
        assert all(p.requires_grad for p in source.parameters()) and not source.training
        assert train_on(task, source, 0, 1) < score


@pytest.fixture
def trained(monkeypatch) -> list[tuple]:
    """The models that are trained, and how; each is trained for two steps at most."""
    calls = []

    def fit(model, steps, loss_of, *, peak):
        before = {name: p.clone() for name, p in model.named_parameters()}
        losses = real(model, min(2, steps), loss_of, peak=peak)
        changed = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
        calls.append((model, steps, peak, before, changed, losses))
        return losses

    real = experiment.fit
    monkeypatch.setattr(experiment, "fit", fit)
    return calls


def test_what_is_trained(trained):
    encoder = BertEncoder(CONFIG, PCG32(1))
    scores = [train_on(ROWS, encoder, 3, 2), train_on(PIECES, encoder, 3, 2, frozen=True)]
    (rows_model, steps, peak, before, changed, losses), (pieces_model, _, frozen_peak, _, head, _) = trained
    assert type(rows_model) is BertForSequenceClassification and (steps, peak) == (2, PEAK)
    assert type(pieces_model) is BertForTokenClassification and frozen_peak == PEAK_OF_HEAD
    assert {"encoder.word.weight", "pooler.weight", "classifier.bias"} <= changed
    assert head == {"classifier.weight", "classifier.bias"}
    # It starts with the encoder's weights, the head of a new model of that seed, and that seed's first batch.
    fresh = BertForSequenceClassification(CONFIG, 2, PCG32(3))
    fresh.encoder.load_state_dict(encoder.state_dict())
    assert all(torch.equal(p, before[name]) for name, p in fresh.named_parameters())
    assert fresh(**ROWS.batch(0, 3, BATCH_SIZE))[1].item() == pytest.approx(losses[0], abs=1e-6)
    # What is scored are the answers of the model that was trained.
    for task, model, score in zip((ROWS, PIECES), (rows_model, pieces_model), scores, strict=True):
        answers = [model(batch["ids"], attn_mask=batch["attn_mask"])[0] for batch in task.held_out_batches()]
        assert score == task.score([logits.argmax(-1) for logits in answers])


def test_the_comparison(trained):
    said = []
    found = run(2, 7, tasks={"rows": ROWS, "pieces": PIECES}, say=said.append)
    names = ("shipped weights", "random weights", "shipped, head alone", "one answer always")
    assert list(found.scores) == [f"{task}: {row}" for task in ("rows", "pieces") for row in names]
    assert [len(scores) for scores in found.scores.values()] == [2, 2, 2, 1] * 2
    assert found.scores["rows: one answer always"] == found.scores["pieces: one answer always"] == [0.5]
    few = sum(label == 1 for _, labels in TOKENS[250:] for label in labels)
    many = sum(label == 0 for _, labels in TOKENS[250:] for label in labels)
    assert many > few
    assert found.facts["pieces: one answer always"] == {"accuracy": pytest.approx(many / (many + few))}
    assert found.settings["steps"] == 7 and found.settings["seeds"] == 2
    assert len(said) == 12 and said[0].startswith("rows: shipped weights, seed 0: 0.")

    shipped = manual_bert()[0].encoder
    starts = [before for _, _, _, before, _, _ in trained]
    frozen = [
        changed <= {f"{part}.{end}" for part in ("pooler", "classifier") for end in ("weight", "bias")}
        for _, _, _, _, changed, _ in trained
    ]
    assert frozen == [False, False, True] * 4 and {steps for _, steps, *_ in trained} == {7}
    for at, before in enumerate(starts):
        seed = at // 3 % 2
        encoder = BertEncoder(shipped.config, PCG32(seed)) if at % 3 == 1 else shipped
        assert all(torch.equal(p, before[f"encoder.{name}"]) for name, p in encoder.named_parameters())
    heads = [before["classifier.weight"] for before in starts]
    assert torch.equal(heads[0], heads[1]) and torch.equal(heads[0], heads[2])
    assert not torch.equal(heads[0], heads[3])


def test_the_tasks_are_those_of_the_manual_by_default(trained, monkeypatch):
    monkeypatch.setattr(experiment, "manual_tasks", lambda: {"mine": ROWS})
    found = run(1, 1, say=lambda _: None)
    assert len(found.scores) == 4 and "mine: random weights" in found.scores


@pytest.mark.parametrize("arguments, match", [((0, 1), "seeds"), ((1, 0), "steps"), ((1, 1.5), "steps")])
def test_numbers_that_do_not_fit(arguments, match):
    with pytest.raises((TypeError, ValueError), match=match):
        run(*arguments, tasks={"rows": ROWS})


def test_the_stored_comparison():
    found = stored("heads")
    assert isinstance(found, Comparison) and found.name == "heads"
    assert found.settings["steps"] == DEFAULTS["steps"] and found.settings["seeds"] >= 3
    for task in ("order", "capitals"):
        assert len(found.scores[f"{task}: shipped weights"]) == found.settings["seeds"]
        assert found.margin(f"{task}: shipped weights", f"{task}: random weights") > 0.1
        assert found.margin(f"{task}: shipped weights", f"{task}: shipped, head alone") > 0
        assert found.margin(f"{task}: shipped, head alone", f"{task}: one answer always") > 0
