"""`transformers.Trainer` on our dataset: it learns, masks anew in each epoch, goes on where it stopped."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    Trainer,
    TrainingArguments,
)

from bert_lab import WordPieceTokenizer
from bert_lab.data.datasets import MLMCollator, MLMDataset
from bert_lab.data.hf_trainer import SetEpochCallback, mean_over_all_labels
from bert_lab.wordpiece import SPECIAL_TOKENS

TOK = WordPieceTokenizer([*SPECIAL_TOKENS, *(f"w{i}" for i in range(15))])
# The same few words again and again: a blank can be told from its neighbors.
ROWS = [[2, *[5 + i % 4 + 4 * (j % 2) for j in range(6 + i % 3)], 3] for i in range(12)]


class Recording(MLMDataset):
    """Keeps which masks it gave out."""

    def __getitem__(self, index):
        item = super().__getitem__(index)
        self.given.append((self.epoch, index, item["input_ids"].tolist(), item["labels"].tolist()))
        return item


def a_trainer(folder, dataset, *, callbacks=(), model=None, **options) -> Trainer:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=TOK.vocab_size,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
    )
    arguments = {
        "per_device_train_batch_size": 4,
        "learning_rate": 1e-2,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
        **options,
    }
    return Trainer(
        model or BertForMaskedLM(config),
        TrainingArguments(str(folder), **arguments),
        train_dataset=dataset,
        eval_dataset=MLMDataset(ROWS, TOK, 0.3, 1, fixed=True),
        data_collator=MLMCollator(TOK, pad_to_multiple_of=4),
        callbacks=list(callbacks),
        compute_loss_func=mean_over_all_labels,
    )


def trained(folder, *, resume=None, callback=True, **options) -> tuple[list, Trainer]:
    """What a dataset gave out in three epochs of three steps."""
    dataset = Recording(ROWS, TOK, 0.5, 3)
    dataset.given = []
    callbacks = [SetEpochCallback(dataset)] if callback else []
    trainer = a_trainer(folder, dataset, callbacks=callbacks, num_train_epochs=3, **options)
    trainer.train(resume_from_checkpoint=resume)
    return dataset.given, trainer


def test_trainer_masks_anew_in_each_epoch_and_goes_on_where_it_stopped(tmp_path):
    given, trainer = trained(tmp_path, save_strategy="steps", save_steps=4)
    assert [epoch for epoch, *_ in given] == [0] * 12 + [1] * 12 + [2] * 12
    by_epoch = [{i: row for e, i, *row in given if e == epoch} for epoch in range(3)]
    assert all(sorted(rows) == list(range(12)) for rows in by_epoch)
    assert by_epoch[0] != by_epoch[1] != by_epoch[2]

    # From the middle of epoch 1 on: its last two steps, then epoch 2, to the same weights.
    resumed, again = trained(tmp_path / "resumed", resume=str(tmp_path / "checkpoint-4"))
    assert resumed == given[16:]
    weights, same = (t.model.state_dict() for t in (trainer, again))
    assert all(torch.equal(weights[name], same[name]) for name in weights)


def test_the_callback_is_needed_to_go_on(tmp_path):
    trained(tmp_path, save_strategy="steps", save_steps=4, max_steps=4)
    resumed, _ = trained(tmp_path / "without", resume=str(tmp_path / "checkpoint-4"), callback=False)
    assert [epoch for epoch, *_ in resumed] == [0] * 8 + [2] * 12, (
        "Trainer tells the epoch: drop the callback?"
    )


def test_trainer_trains_its_own_bert(tmp_path):
    dataset = MLMDataset(ROWS * 4, TOK, 0.3, whole_word=True)
    trainer = a_trainer(tmp_path, dataset, callbacks=[SetEpochCallback(dataset)], num_train_epochs=5)
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    after = trainer.evaluate()["eval_loss"]
    assert dataset.epoch == 4
    assert after < 0.7 * before


def test_a_model_without_token_types_gets_none(tmp_path):
    config = DistilBertConfig(vocab_size=TOK.vocab_size, dim=16, n_layers=1, n_heads=2, hidden_dim=16)
    trainer = a_trainer(tmp_path, MLMDataset(ROWS, TOK), model=DistilBertForMaskedLM(config))
    batch = next(iter(trainer.get_train_dataloader()))
    assert set(batch) == {"input_ids", "attention_mask", "labels"}
    assert trainer.model(**batch).logits.shape == (*batch["input_ids"].shape, TOK.vocab_size)


def test_the_callback_counts_on_from_the_state():
    told = []
    callback = SetEpochCallback(SimpleNamespace(set_epoch=told.append))
    for start in (None, 0, 1.75, 2.0):
        state = SimpleNamespace(epoch=start)
        callback.on_train_begin(None, state, None)
        callback.on_epoch_begin(None, state, None)
        callback.on_epoch_begin(None, state, None)  # the state may stay behind
    assert told == [0, 1, 0, 1, 1, 2, 2, 3]
    with pytest.raises(TypeError, match="dataset: expected one with set_epoch, got list"):
        SetEpochCallback([])


def test_the_loss_is_the_sum_over_the_labels_divided_by_their_number():
    logits = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([[1, -100, 2], [-100, -100, 6]])
    outputs = SimpleNamespace(logits=logits)
    each = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    assert mean_over_all_labels(outputs, labels).item() == pytest.approx(each.sum().item() / 3)
    for count in (12, torch.tensor(12)):
        assert mean_over_all_labels(outputs, labels, count).item() == pytest.approx(each.sum().item() / 12)
    assert mean_over_all_labels(outputs, torch.full_like(labels, -100)).item() == 0
    assert mean_over_all_labels(outputs, torch.full_like(labels, -100), torch.tensor(0)).item() == 0
