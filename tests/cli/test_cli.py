"""The commands of the terminal."""

import contextlib
import importlib.metadata
import json
import re
import signal
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file

from bert_lab import __main__ as as_module
from bert_lab import load_bert
from bert_lab.cli import app as cli
from bert_lab.experiments import modern
from bert_lab.experiments.base import Comparison, stored
from bert_lab.hf.weights import read_words
from bert_lab.training import readers as ladder
from bert_lab.training.readers import ReaderScore
from bert_lab.wordpiece import WordPieceTokenizer


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "letters.txt"
    lines = (f"letter {i} says that the cat number {i * 7 % 50} sat on mat {i % 9}. " * 4 for i in range(120))
    path.write_text("\n\n".join(lines))
    return path


def call(*arguments) -> int:
    return cli.main([str(argument) for argument in arguments])


def test_pretrain_trains_on_files_and_says_where_the_model_is(letters, tmp_path, capsys):
    out = tmp_path / "mine"
    assert call("pretrain", "--out", out, "--steps", 3, "--threads", 1, letters) == 0
    told = capsys.readouterr()
    assert re.search(r"\d+ passages \(\S+ pieces\) to train on, \d+ held out; \d+ pieces in the vo", told.out)
    assert re.search(r"Held-out masked accuracy: 0\.\d{3}\. The model is in .*mine\.", told.out)
    assert "3/3" in told.err
    assert load_bert(out).config.vocab == WordPieceTokenizer.from_dir(out).vocab_size
    # The same again: nothing is left to do.
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    assert call("pretrain", "--out", out, "--steps", 3, "--threads", 1, "--quiet", letters) == 0
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    assert capsys.readouterr().err == ""


def test_options_reach_the_plan(letters, tmp_path):
    out = tmp_path / "mine"
    given = "--config small --seed 4 --p 0.3 --split 100/0/0 --peak 0.002 --float16 --vocab 150 --steps 1"
    assert call("pretrain", "--out", out, *given.split(), "--threads", 1, "--quiet", letters) == 0
    identity = json.loads((out / "training.json").read_text())["identity"]
    wanted = {"config": "small", "seed": 4, "p": 0.3, "split": [1.0, 0.0, 0.0], "peak": 0.002, "steps": 1}
    assert {key: identity[key] for key in wanted} == wanted
    assert identity["float16"] and not identity["left_only"] and identity["start"] is None
    assert identity["threads"] == 1 and WordPieceTokenizer.from_dir(out).vocab_size == 150


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--minutes", "-1"], "minutes: expected a number above 0"),
        (["--steps", "0"], "steps: expected an integer from 1"),
        (["--p", "2"], "p: expected a probability"),
        (["--split", "80/10"], "split: expected three finite numbers"),
        (["--seed", "-1"], "seed: expected an integer from 0"),
        (["--threads", "0"], "--threads: expected at least 1, got 0"),
        (["--vocab", "9"], "--vocab: expected FILES and no other model"),
        (["none.txt"], "none.txt: expected a text file, but there is none"),
        (["--save-seconds", "-1", "FILE"], "save_seconds: expected a number >= 0, got -1.0"),
        (["--vocab", "4001", "FILE"], "vocab_size: expected at most"),
    ],
)
def test_what_cannot_work_is_one_line_and_leaves_nothing(letters, tmp_path, capsys, arguments, told):
    arguments = [letters if part == "FILE" else part for part in arguments]
    assert call("pretrain", "--out", tmp_path / "mine", "--quiet", *arguments) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("bert-lab pretrain: ") and told in shown and shown.count("\n") == 1
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("content", [b"", b"\0\1\2", b"word"], ids=["empty", "binary", "one word"])
def test_text_that_is_none_is_one_line(tmp_path, capsys, content):
    (tmp_path / "a.txt").write_bytes(content)
    assert call("pretrain", "--out", tmp_path / "mine", tmp_path / "a.txt") == 1
    assert re.fullmatch(r"bert-lab pretrain: .*expected text.*\n", capsys.readouterr().err)


@pytest.mark.parametrize("arguments", [[], ["train"], ["pretrain", "--steps", "1", "--minutes", "1"]])
def test_a_wrong_call_shows_the_usage(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        call(*arguments)
    assert ended.value.code == 2 and "usage: bert-lab" in capsys.readouterr().err


@pytest.mark.parametrize("split", ["a/b/c", "80-10-10"])
def test_a_split_that_is_no_numbers_shows_the_usage(capsys, split):
    with pytest.raises(SystemExit):
        call("pretrain", "--split", split)
    assert f"--split: expected three shares such as 80/10/10, got '{split}'" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_and_a_polite_kill_save_and_the_same_command_goes_on(letters, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "mine"
    options = ["--steps", 60, "--threads", 1, "--quiet", letters]
    assert call("pretrain", "--out", whole, *options) == 0
    command = [sys.executable, "-m", "bert_lab", "pretrain", "--out", out, "--save-seconds", "0.2", *options]
    for number in (signal.SIGINT, signal.SIGTERM):
        step = _step(out)
        child = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while _step(out) <= step and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        child.send_signal(number)
        told, _ = child.communicate()
        assert child.returncode == cli.STOPPED
        stopped = re.search(r"Stopped after (\d+) of 60 steps. The same command goes on from there.", told)
        assert int(stopped.group(1)) == _step(out) > step
    assert call("pretrain", "--out", out, *options) == 0
    one, two = (load_file(folder / "model.safetensors") for folder in (whole, out))
    assert all(torch.equal(one[key], two[key]) for key in one)


def _step(out) -> int:
    path = out / "training.safetensors"
    return read_words(path)["step"] if path.exists() else 0


def test_a_run_that_was_stop_signal_says_how_far_it_came(letters, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        cli, "_stop_signal", lambda: contextlib.nullcontext(iter([False, False, True]).__next__)
    )
    assert call("pretrain", "--out", tmp_path, "--steps", 9, "--quiet", letters) == cli.STOPPED
    assert "Stopped after 2 of 9 steps." in capsys.readouterr().out and _step(tmp_path) == 2


def test_a_second_ctrl_c_ends_at_once():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt), cli._stop_signal() as stop:
        assert not stop()
        signal.raise_signal(signal.SIGINT)
        assert stop()
        signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_ctrl_c_before_the_training_says_nothing(monkeypatch, capsys):
    def stopped(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run_ladder", stopped)
    assert call("ladder") == cli.STOPPED
    assert capsys.readouterr() == ("", "")


def test_the_ladder_is_a_table_of_hits(monkeypatch, capsys):
    rungs = [ReaderScore("a blind guess", 1.59575, 6383), ReaderScore("this BERT", 3000, 6383)]
    monkeypatch.setattr(ladder, "shipped_ladder", lambda: rungs)
    assert call("ladder") == 0
    assert capsys.readouterr().out.splitlines() == [
        "a blind guess      1.6 of 6,383 blanks    0.0%",
        "this BERT        3,000 of 6,383 blanks   47.0%",
    ]


def test_the_ladder_of_ones_own_model(letters, tmp_path, capsys):
    for name, more in (("both", []), ("left", ["--left-only"])):
        assert call("pretrain", "--out", tmp_path / name, "--steps", 5, "--quiet", *more, letters) == 0
    capsys.readouterr()
    assert call("ladder", "--model", tmp_path / "both", letters) == 0
    assert "twin" not in capsys.readouterr().out
    assert call("ladder", "--model", tmp_path / "both", "--twin", tmp_path / "left", letters) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert call("ladder", "--model", tmp_path / "left", letters) == 1
    assert "got one with left_only True, not False" in capsys.readouterr().err
    assert call("ladder", letters) == 1
    assert "--model: expected a directory" in capsys.readouterr().err


def test_training_goes_on_from_a_model_with_its_vocabulary(letters, tmp_path, capsys):
    more = tmp_path / "more.txt"
    more.write_text(letters.read_text().replace("sat on mat", "saw the mat"))
    options = ["--steps", 3, "--threads", 1, "--quiet"]
    assert call("pretrain", "--out", tmp_path / "one", "--config", "small", *options, letters) == 0
    assert call("pretrain", "--out", tmp_path / "two", "--start", tmp_path / "one", *options, more) == 0
    one, two = (WordPieceTokenizer.from_dir(tmp_path / name) for name in ("one", "two"))
    assert one == two
    assert (
        call("pretrain", "--out", tmp_path / "three", "--start", tmp_path / "one", "--vocab", 99, more) == 1
    )
    assert "--vocab: expected FILES and no other model" in capsys.readouterr().err


def test_what_the_chapter_quotes_is_shown_at_once(capsys):
    assert call("compare", "heads", "--stored") == 0
    assert capsys.readouterr().out == f"{stored('heads')}\n"


def test_a_comparison_is_made_shown_and_written(tmp_path, monkeypatch, capsys):
    asked = []

    def run(seeds, steps, *, say):
        asked.append((seeds, steps, torch.get_num_threads()))
        say("half done")
        return stored("heads")

    monkeypatch.setattr(modern, "run", run)
    out = tmp_path / "mine.json"
    assert call("compare", "modern", "--seeds", 2, "--threads", 1, "--out", out) == 0
    told = capsys.readouterr()
    assert told.err == "half done\n" and told.out == f"{stored('heads')}\nmade {out}\n"
    assert Comparison.read(out) == stored("heads")
    assert call("compare", "modern", "--steps", 7, "--threads", 1) == 0
    assert asked == [(2, modern.DEFAULTS["steps"], 1), (3, 7, 1)]
    capsys.readouterr()
    assert call("compare", "modern", "--out", out) == 1
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith(
        "bert-lab compare: --out: expected the name of a new file, but"
    )
    assert len(asked) == 2


def test_both_ways_of_calling_are_there():
    (command,) = importlib.metadata.entry_points(group="console_scripts", name="bert-lab")
    assert command.load() is cli.main is as_module.main
    shown = subprocess.run([sys.executable, "-m", "bert_lab", "--help"], capture_output=True, text=True)
    assert shown.returncode == 0 and "pretrain" in shown.stdout and "ladder" in shown.stdout
