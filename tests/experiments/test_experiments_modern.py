"""The comparison of ModernBERT's changes: its rows, that they are trained alike, and what it stores."""

import pytest
import torch

from bert_lab import PCG32, BertConfig
from bert_lab.beyond.modern import CHANGES, ModernForMLM, modern_config, parameters_of, work
from bert_lab.data.corpus import corpus_of
from bert_lab.experiments import modern as module
from bert_lab.experiments.base import stored
from bert_lab.experiments.modern import ROWS, configs, run, train
from bert_lab.training.pretrain import SIZES, Plan, held_out_score, pretrain
from bert_lab.training.readers import bert_guesses, blanks_of
from bert_lab.wordpiece import WordPieceTokenizer

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "dog", "ran", "to", "old", "house", "by", "sea"]


def text(paragraphs: int) -> str:
    draws = PCG32(3)
    return "\n\n".join(" ".join(WORDS[draws.below(len(WORDS))] for _ in range(60)) for _ in range(paragraphs))


TOK = WordPieceTokenizer.train([text(20)], 60)
CORPUS = corpus_of([text(60)], TOK)


def test_each_row_has_one_change_more():
    rows = configs(4000)
    assert tuple(rows) == tuple(ROWS)
    before = set()
    for count, config in enumerate(rows.values()):
        on = {"rope": config.rope, "geglu": config.geglu, "pre-norm": config.pre_norm}
        on |= {"no biases": not config.biases, "no types": config.type_vocab == 0}
        on |= {"local": config.local_window == 32}
        now = {name for name, is_on in on.items() if is_on}
        assert before <= now and len(now) == count
        before = now
    sizes = BertConfig(4000, 128, dropout=0.0, **module.SIZES)
    assert rows["BERT"] == modern_config(sizes)
    assert rows["+ local"] == modern_config(sizes, *CHANGES, local_window=32)
    counts = {row: parameters_of(config) for row, config in rows.items()}
    assert counts["+ GeGLU"]["feed-forward"] == counts["BERT"]["feed-forward"]
    assert [rows["+ local"].radius(layer) for layer in range(4)] == [None, 16, 16, None]


def test_what_it_finds(monkeypatch):
    monkeypatch.setattr(module, "PASSAGES", 1)
    said = []
    found = run(2, 3, corpus=CORPUS, say=said.append)
    assert found.name == "modern" and tuple(found.scores) == tuple(found.facts) == tuple(ROWS)
    assert len(said) == 2 * len(ROWS) and said[len(ROWS)].startswith("BERT, seed 1: ")
    blanks = blanks_of(CORPUS)
    asked = blanks.row < 1
    assert asked.sum() < len(asked)
    assert found.settings["blanks"] == asked.sum() > 0
    assert found.settings["steps"] == 3 and found.settings["seeds"] == 2
    lengths = [len(passage) for passage in CORPUS.held_out]
    for row, config in configs(TOK.vocab_size).items():
        losses = []
        for seed, score in enumerate(found.scores[row]):
            model = train(config, CORPUS, seed, 3)
            right = bert_guesses(model, blanks, TOK.mask_id) == blanks.answers
            assert score == right[asked].mean()
            losses.append(held_out_score(model, CORPUS)[-1])
        facts = found.facts[row]
        assert facts["held-out loss"] == sum(losses) / 2 and losses[0] != losses[1]
        assert facts["parameters"] == sum(parameters_of(config).values())
        assert facts["work a token"] == round(work(config, lengths) / sum(lengths))


def test_the_first_row_is_trained_as_pretraining_does(tmp_path, monkeypatch):
    sizes = {"d_model": 12, "n_heads": 2, "n_layers": 2, "d_ff": 18}
    monkeypatch.setitem(SIZES, "tiny", sizes)
    run = pretrain(Plan(4, "tiny", seed=5, peak=module.PEAK), CORPUS, tmp_path)
    monkeypatch.setattr(module, "SIZES", sizes)
    model = train(configs(TOK.vocab_size)["BERT"], CORPUS, 5, 4)
    assert isinstance(model, ModernForMLM) and not model.training
    ids = torch.tensor([CORPUS.held_out[0]])
    assert (model(ids)[0] - run.model(ids)[0]).abs().max() < 1e-6


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"steps": 0}])
def test_what_it_refuses(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected an integer from 1"):
        run(**{"seeds": 1, "steps": 1, "corpus": CORPUS} | wrong)


def test_what_the_book_quotes():
    found = stored("modern")
    assert found.name == "modern" and tuple(found.scores) == tuple(ROWS)
    assert all(len(scores) == found.settings["seeds"] >= 3 for scores in found.scores.values())
    assert found.settings["steps"] == module.DEFAULTS["steps"]
    for row, config in configs(4000).items():
        assert found.facts[row]["parameters"] == sum(parameters_of(config).values())
    assert found.margin("+ RoPE", "BERT") > 0.05  # the one change that every seed sees
    assert found.facts["+ local"]["work a token"] < found.facts["BERT"]["work a token"]
