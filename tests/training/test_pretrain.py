"""Pretraining: the plan, the masks of a step, a run that is stopped and goes on, and its directory."""

import dataclasses
import json
import random
import shutil
import signal
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from warm import warm_processes

from bert_lab import PCG32, BertConfig, BertForMLM, load_bert, mlm_mask, save_bert, special_ids
from bert_lab.data.corpus import MAX_LEN, corpus_of
from bert_lab.data.datasets import MLMCollator
from bert_lab.hf import weights as weightfiles
from bert_lab.masking import IGNORE
from bert_lab.rng import example_stream
from bert_lab.training import fitting
from bert_lab.training import pretrain as module
from bert_lab.training.pretrain import (
    Plan,
    config_of,
    held_out_batches,
    held_out_masks,
    held_out_score,
    load_run,
    logits_and_labels,
    next_piece,
    pretrain,
    steps_of,
)
from bert_lab.wordpiece import WordPieceTokenizer, book_tokenizer

TOK = book_tokenizer()
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "dog", "ran", "to", "old", "house", "by", "sea"]


def text(paragraphs: int) -> str:
    draws = PCG32(3)
    return "\n\n".join(" ".join(WORDS[draws.below(len(WORDS))] for _ in range(60)) for _ in range(paragraphs))


CORPUS = corpus_of([text(60)], TOK)
PLAN = Plan(steps=12, batch=2)


def weights(folder) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def equal(one: dict, two: dict) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[key], two[key]) for key in one)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "unbroken"
    return folder, pretrain(PLAN, CORPUS, folder)


# The plan.


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("steps", 0, ValueError),
        ("steps", 2.0, TypeError),
        ("config", "huge", ValueError),
        ("seed", -1, ValueError),
        ("p", 1.5, ValueError),
        ("split", (0.5, 0.5), ValueError),
        ("batch", 0, ValueError),
        ("peak", 0.0, ValueError),
        ("peak", float("inf"), ValueError),
        ("left_only", 1, TypeError),
        ("float16", "yes", TypeError),
        ("start", 5, TypeError),
    ],
)
def test_a_plan_that_cannot_work_names_its_field(field, value, error):
    with pytest.raises(error, match=f"{field}: expected"):
        dataclasses.replace(PLAN, **{field: value})


def test_the_rate_warms_up_and_falls_in_straight_lines():
    plan = Plan(steps=1000, peak=1e-3)
    rates = np.array([plan.rate(step) for step in range(1000)])
    top = int(rates.argmax())
    assert top == pytest.approx(fitting.WARM_UP * 1000, abs=1) and rates[top] == pytest.approx(1e-3, rel=0.01)
    assert np.allclose(np.diff(rates[:top]), 1e-3 / (fitting.WARM_UP * 1000))
    assert np.allclose(np.diff(rates[top + 1 :]), -1e-3 / ((1 - fitting.WARM_UP) * 1000))
    assert 0 < rates[-1] < 2e-6


def test_minutes_always_plan_the_same_steps():
    assert steps_of(2, "tiny") == 2 * module.STEPS_A_MINUTE["tiny"]
    assert steps_of(0.5, "small") == module.STEPS_A_MINUTE["small"] / 2
    assert steps_of(1e-9, "small") == 1
    for minutes in (0, -1, float("inf")):
        with pytest.raises(ValueError, match="minutes: expected a number above 0"):
            steps_of(minutes, "tiny")
    with pytest.raises(ValueError, match="config: expected tiny or small, got 'huge'"):
        steps_of(1, "huge")


def test_a_plan_and_a_corpus_are_needed(tmp_path):
    with pytest.raises(TypeError, match="expected a Plan and a Corpus, got dict and Corpus"):
        pretrain({}, CORPUS, tmp_path)


# What a step sees.


def test_each_epoch_has_every_passage_once_in_an_order_and_with_masks_of_its_own():
    n, batch = len(CORPUS.train), 4
    batches = module.batches_of(Plan(steps=1000, batch=batch, seed=5, p=0.3), CORPUS)
    rows = [
        (ids[real].tolist(), labels[real].tolist())
        for k in range(-(-2 * n // batch))
        for ids, labels, real in zip(
            *(batches[k][key].numpy() for key in ("input_ids", "labels", "attention_mask")), strict=True
        )
        for real in [real == 1]
    ]
    order = {}
    for epoch in (0, 1):
        seen = rows[epoch * n : (epoch + 1) * n]
        order[epoch] = np.argsort(example_stream(5, epoch, 2**62).block(n), kind="stable").tolist()
        for (inputs, labels), index in zip(seen, order[epoch], strict=True):
            ids = np.array(CORPUS.train[index])
            wanted = mlm_mask(
                ids,
                np.isin(ids, special_ids(TOK)),
                TOK.mask_id,
                TOK.vocab_size,
                0.3,
                example_stream(5, epoch, index),
            )
            assert (inputs, labels) == tuple(part.tolist() for part in wanted)
    assert order[0] != order[1] and sorted(order[0]) == sorted(order[1]) == list(range(n))


def test_a_left_to_right_reader_is_asked_for_the_next_piece():
    item = next_piece([2, 10, 11, 4, 12, 3], [0, 1, 2, 3, 4])
    assert item["input_ids"].tolist() == [2, 10, 11, 4, 12, 3]
    assert item["labels"].tolist() == [10, 11, IGNORE, 12, IGNORE, IGNORE]
    batch = module.batches_of(Plan(steps=9, left_only=True), CORPUS)[0]
    assert (batch["labels"][:, :-1] == batch["input_ids"][:, 1:])[batch["labels"][:, :-1] != IGNORE].all()


def test_a_left_only_model_does_not_see_what_comes():
    model = module._Training(Plan(steps=9, left_only=True), CORPUS).model
    batch = MLMCollator(TOK)([next_piece(CORPUS.train[0], special_ids(TOK))])
    changed = {**batch, "input_ids": batch["input_ids"].clone()}
    changed["input_ids"][0, 40:] = 99
    with torch.no_grad():
        one, two = (logits_and_labels(model, b, True)[0] for b in (batch, changed))
        assert torch.equal(one[:40], two[:40]) and not torch.equal(one[40:], two[40:])
        one, two = (logits_and_labels(model, b, False)[0] for b in (batch, changed))
        assert not torch.equal(one[:40], two[:40])


def test_every_model_is_asked_for_the_same_blanks():
    for row, passage in zip(held_out_masks(CORPUS), CORPUS.held_out, strict=True):
        asked = row["labels"] != IGNORE
        assert (row["labels"][asked] == np.array(passage)[asked]).all() and asked.any()
    ours = [b["labels"] for b in held_out_batches(CORPUS)]
    theirs = [b["labels"] for b in held_out_batches(CORPUS, left_only=True)]
    for one, two in zip(ours, theirs, strict=True):
        assert torch.equal(one[:, 1:], two[:, :-1]) and (two[:, -1] == IGNORE).all()


@torch.no_grad()
def test_the_held_out_score_counts_hits():
    model = module._Training(PLAN, CORPUS).model
    found = right = 0
    logs = []
    for batch in held_out_batches(CORPUS):
        logits, _ = model(*(batch[key] for key in ("input_ids", "token_type_ids", "attention_mask")))
        asked = batch["labels"] != IGNORE
        logits, labels = logits[asked], batch["labels"][asked]
        found += len(labels)
        right += int((logits.argmax(-1) == labels).sum())
        logs.append(logits.log_softmax(-1).gather(1, labels[:, None]))
    hits, blanks, loss = held_out_score(model, CORPUS)
    assert (hits, blanks) == (right, found) and blanks > 20
    assert loss == pytest.approx(-float(torch.cat(logs).mean()), rel=1e-5)


def test_a_step_uses_the_learning_rate_of_its_number():
    training = module._Training(PLAN, CORPUS)
    for step in range(3):
        training.take_step()
        assert {group["lr"] for group in training.optimizer.param_groups} == {PLAN.rate(step)}


# A run.


def test_a_run_learns_and_leaves_a_directory_that_others_load(unbroken):
    folder, run = unbroken
    assert run.done and run.step == 12 and not run.model.training
    assert [entry["step"] for entry in run.history] == list(range(1, 13))
    assert run.history[-1]["held_out_loss"] < run.history[0]["held_out_loss"]
    assert run.history[-1]["loss"] < run.history[0]["loss"]
    assert all(0 <= entry["accuracy"] <= 1 for entry in run.history)
    assert sorted(p.name for p in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "training.json",
        "vocab.txt",
    ]
    ours = load_bert(folder)
    assert equal(ours.state_dict(), run.model.state_dict())
    assert WordPieceTokenizer.from_dir(folder) == TOK
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theirs = transformers.BertForMaskedLM.from_pretrained(folder)
    ids = torch.tensor([CORPUS.train[0]])
    assert (theirs(ids).logits - ours(ids)[0]).abs().max() < 1e-4


def test_the_history_has_means_since_the_last_entry(unbroken, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "HISTORY_ENTRIES", 4)
    monkeypatch.setattr(module, "EVALUATIONS", 2)
    run = pretrain(PLAN, CORPUS, tmp_path / "run")
    assert [entry["step"] for entry in run.history] == [3, 6, 9, 12]
    assert ["held_out_loss" in entry for entry in run.history] == [False, True, False, True]
    each = [entry["loss"] for entry in unbroken[1].history]
    assert [entry["loss"] for entry in run.history] == pytest.approx(np.reshape(each, (4, 3)).mean(axis=1))


def test_the_first_batch_of_a_run_has_the_loss_that_its_history_says(unbroken):
    training = module._Training(PLAN, CORPUS)
    batch = training.batches[0]
    names = ("input_ids", "token_type_ids", "attention_mask", "labels")
    loss = training.model.mlm_loss(*(batch[name] for name in names))
    assert unbroken[1].history[0]["loss"] == pytest.approx(loss.item(), rel=1e-6)


def test_the_same_plan_gives_the_same_weights_and_another_seed_others(unbroken, tmp_path):
    folder, _ = unbroken
    torch.manual_seed(7)
    np.random.seed(7)
    pretrain(PLAN, CORPUS, tmp_path / "again")
    assert equal(weights(tmp_path / "again"), weights(folder))
    pretrain(dataclasses.replace(PLAN, seed=1), CORPUS, tmp_path / "other")
    assert not equal(weights(tmp_path / "other"), weights(folder))


def test_a_run_that_is_stopped_after_each_step_ends_with_the_same_weights_and_history(unbroken, tmp_path):
    folder, whole = unbroken
    for step in range(1, 13):
        asked = iter([False, True])
        run = pretrain(PLAN, CORPUS, tmp_path / "run", stop=lambda asked=asked: next(asked))
        assert run.step == step and run.done == (step == 12)
        assert (tmp_path / "run" / "training.safetensors").exists() == (step < 12)
    assert equal(weights(tmp_path / "run"), weights(folder))
    assert run.history == whole.history


def test_the_state_is_saved_while_a_run_goes_on(tmp_path):
    saved = []
    pretrain(PLAN, CORPUS, tmp_path, save_seconds=0, stop=lambda: saved.append(_saved(tmp_path)))
    assert saved == list(range(12))


def test_a_finished_run_is_not_run_again(unbroken, monkeypatch):
    folder, whole = unbroken
    monkeypatch.setattr(module._Training, "take_step", None)
    run = pretrain(PLAN, CORPUS, folder)
    assert (
        run.done and run.history == whole.history and equal(run.model.state_dict(), whole.model.state_dict())
    )


LONG = Plan(steps=60, batch=2)


def train(folder) -> None:
    """In a process of its own, until it is killed: each step is saved."""
    torch.set_num_threads(1)
    pretrain(LONG, CORPUS, folder, save_seconds=0)


@pytest.mark.slow
def test_a_run_that_is_killed_ten_times_ends_with_the_weights_of_one_that_was_not(tmp_path):
    assert torch.get_num_threads() == 1
    pretrain(LONG, CORPUS, tmp_path / "whole")
    folder = tmp_path / "killed"
    pause = random.Random(0)
    kills = steps = 0
    while kills < 10:
        child = warm_processes().Process(target=train, args=(folder,))
        child.start()
        # After a few more saves, at a moment that may well be in the middle of the next one.
        deadline = time.monotonic() + 60
        while _saved(folder) < steps + 2 and child.is_alive() and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(pause.random() * 0.05)
        child.kill()
        child.join()
        steps, kills = _saved(folder), kills + (child.exitcode == -signal.SIGKILL)
        assert steps < 60
    train(folder)
    assert equal(weights(folder), weights(tmp_path / "whole"))
    records = [json.loads((tmp_path / name / "training.json").read_text()) for name in ("killed", "whole")]
    assert records[0] == records[1]


def _saved(folder) -> int:
    """The step of the state that is saved; 0 where there is none yet."""
    path = folder / "training.safetensors"
    return module.read_words(path)["step"] if path.exists() else 0


def test_a_kill_between_the_files_of_the_end_does_no_harm(unbroken, tmp_path, monkeypatch):
    folder, _ = unbroken
    for name in ("write_files", "save_bert"):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                pretrain(PLAN, CORPUS, tmp_path / name)
        assert not (tmp_path / name / "training.json").exists()
        assert pretrain(PLAN, CORPUS, tmp_path / name).done
        assert equal(weights(tmp_path / name), weights(folder))
        assert not (tmp_path / name / "training.safetensors").exists()


def test_a_full_disk_leaves_the_state_that_was_saved_before(unbroken, tmp_path, monkeypatch):
    asked = iter([False] * 5 + [True])
    pretrain(PLAN, CORPUS, tmp_path / "run", stop=lambda: next(asked))
    before = (tmp_path / "run" / "training.safetensors").read_bytes()

    def full(tensors, path, metadata):
        path.write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("bert_lab.hf.weights.save_file", full)
        with pytest.raises(OSError, match="No space left"):
            pretrain(PLAN, CORPUS, tmp_path / "run", save_seconds=0)
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["training.safetensors"]
    assert (tmp_path / "run" / "training.safetensors").read_bytes() == before
    pretrain(PLAN, CORPUS, tmp_path / "run")
    assert equal(weights(tmp_path / "run"), weights(unbroken[0]))


def test_what_a_killed_save_left_is_cleared_away(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".training.safetensors-00.partial").mkdir()
    pretrain(PLAN, CORPUS, folder)
    assert not list(folder.glob(".*"))


def test_a_directory_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match=r"expected an empty directory, or one of a run, got letter\.txt"):
        pretrain(PLAN, CORPUS, tmp_path)
    with pytest.raises(ValueError, match=r"letter.txt: expected a directory, got a file"):
        pretrain(PLAN, CORPUS, tmp_path / "letter.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("stop_at", [3, 99])
def test_a_run_of_another_plan_text_or_thread_count_is_not_gone_on_with(tmp_path, stop_at):
    asked = iter([False] * stop_at + [True])
    pretrain(PLAN, CORPUS, tmp_path, stop=lambda: next(asked))
    kept = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="expected a run of this plan and text, got one with seed 0, not 1"):
        pretrain(dataclasses.replace(PLAN, seed=1), CORPUS, tmp_path)
    with pytest.raises(ValueError, match=r"got one with text '\w{16}', not '\w{16}'"):
        pretrain(PLAN, corpus_of([text(61)], TOK), tmp_path)
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        with pytest.raises(ValueError, match=f"got one with threads {threads}, not {threads + 1}"):
            pretrain(PLAN, CORPUS, tmp_path)
    finally:
        torch.set_num_threads(threads)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == kept


def test_a_damaged_state_is_named(tmp_path):
    asked = iter([False] * 3 + [True])
    pretrain(PLAN, CORPUS, tmp_path, stop=lambda: next(asked))
    path = tmp_path / "training.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(ValueError, match=r"training.safetensors: expected the state .*cut off, by 100"):
        pretrain(PLAN, CORPUS, tmp_path)
    shutil.copy(_some_weights(tmp_path), path)
    with pytest.raises(ValueError, match="got a safetensors file without words"):
        pretrain(PLAN, CORPUS, tmp_path)


def _some_weights(folder):
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(3)}, folder / "other.safetensors")
    return folder / "other.safetensors"


def test_float16_saves_the_same_weights_in_half_the_room(unbroken, tmp_path):
    folder, _ = unbroken
    run = pretrain(dataclasses.replace(PLAN, float16=True), CORPUS, tmp_path / "half")
    small, large = weights(tmp_path / "half"), weights(folder)
    assert all(torch.equal(small[key], large[key].half()) for key in large)
    assert next(load_bert(tmp_path / "half").parameters()).dtype == torch.float32
    assert next(run.model.parameters()).dtype == torch.float32


def test_a_left_only_run_learns_the_next_piece(tmp_path):
    plan = dataclasses.replace(PLAN, left_only=True)
    run = pretrain(plan, CORPUS, tmp_path / "twin")
    assert run.history[-1]["held_out_loss"] < run.history[0]["held_out_loss"]
    assert equal(load_run(tmp_path / "twin", CORPUS, left_only=True).state_dict(), run.model.state_dict())
    with pytest.raises(ValueError, match="got one with left_only True, not False"):
        load_run(tmp_path / "twin", CORPUS)
    with pytest.raises(ValueError, match="expected a directory of a finished run, got one without training"):
        load_run(tmp_path, CORPUS)


def test_a_run_can_start_from_the_weights_of_another(unbroken, tmp_path):
    folder, before = unbroken
    plan = dataclasses.replace(PLAN, start=str(folder), seed=1)
    run = pretrain(plan, CORPUS, tmp_path / "more")
    assert run.history[0]["held_out_loss"] < before.history[3]["held_out_loss"]
    first = module._Training(plan, CORPUS).model
    assert equal(first.state_dict(), load_bert(folder).state_dict())
    assert run.history[-1]["held_out_loss"] < before.history[-1]["held_out_loss"]
    with pytest.raises(ValueError, match="start: expected a small model, got one with d_model 128, not 192"):
        module._Training(dataclasses.replace(plan, config="small"), CORPUS)
    with pytest.raises(ValueError, match="start: expected a tiny model, got one with vocab 4000, not 3999"):
        module._Training(plan, dataclasses.replace(CORPUS, tok=WordPieceTokenizer(TOK.vocab[:-1])))


def test_the_size_of_a_model_is_recognized(unbroken, tmp_path):
    assert config_of(unbroken[0]) == "tiny"
    save_bert(BertForMLM(BertConfig(9, 8, 16, 2, 1, 32)), tmp_path)
    with pytest.raises(ValueError, match="size tiny or small, got one with d_model 16"):
        config_of(tmp_path)


def test_a_run_that_starts_from_others_weights_is_known_by_them(unbroken, tmp_path):
    shutil.copytree(unbroken[0], tmp_path / "start")
    plan = dataclasses.replace(PLAN, start=str(tmp_path / "start"))
    asked = iter([False, True])
    pretrain(plan, CORPUS, tmp_path / "more", stop=lambda: next(asked))
    (tmp_path / "start").rename(tmp_path / "moved")
    moved = dataclasses.replace(plan, start=str(tmp_path / "moved"))
    assert pretrain(moved, CORPUS, tmp_path / "more").done
    with pytest.raises(ValueError, match="got one with start '"):
        pretrain(PLAN, CORPUS, tmp_path / "more")


def test_the_bar_shows_the_figures_and_nothing_is_shown_without_it(tmp_path, capsys):
    pretrain(PLAN, CORPUS, tmp_path / "a", progress=True)
    out, shown = capsys.readouterr()
    assert out == "" and "12/12" in shown
    assert all(word in shown for word in ("loss=", "accuracy=", "held out=", "tokens/s=", "<"))
    pretrain(PLAN, CORPUS, tmp_path / "b")
    assert capsys.readouterr() == ("", "")


def test_passages_are_as_long_as_the_model_allows():
    assert module._Training(PLAN, CORPUS).model.config.max_len == MAX_LEN


def test_a_state_that_is_replaced_while_it_is_read_is_whole(tmp_path, monkeypatch):
    """A reader has the old file or the new one, and not the length of one with the words of the other."""
    state, longer = tmp_path / "state", tmp_path / "longer"
    weightfiles.write_state(state, {"a": torch.zeros(3)}, {"step": 1})
    weightfiles.write_state(longer, {"a": torch.zeros(300)}, {"step": 2})
    opened = Path.open

    def replace_and_open(path, *arguments, **more):
        if longer.exists():
            longer.replace(path)
        return opened(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", replace_and_open)
    assert weightfiles.read_words(state)["step"] == 2
