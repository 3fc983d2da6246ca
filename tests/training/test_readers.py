"""BERT and its baselines: the same blanks for each, and what each of them may see."""

import json
from pathlib import Path

import make_ladder
import numpy as np
import pytest
import torch

from bert_lab import PCG32, BertConfig, BertForMLM
from bert_lab.data.corpus import Corpus, corpus_of, manual_corpus
from bert_lab.training import readers as module
from bert_lab.training.pretrain import held_out_masks
from bert_lab.training.readers import (
    Blanks,
    Counts,
    ReaderScore,
    bert_guesses,
    blanks_of,
    count_guesses,
    left_only_guesses,
    score_readers,
    shipped_ladder,
)
from bert_lab.training.shipped import MANUAL_BERT, manual_bert
from bert_lab.wordpiece import book_tokenizer

ROOT = Path(__file__).resolve().parents[2]
TOK = book_tokenizer()
CLS, SEP = TOK.cls_id, TOK.sep_id


def corpus(train: list[list[int]], held_out: list[list[int]] = ()) -> Corpus:
    return Corpus(TOK, [[CLS, *row, SEP] for row in train], [[CLS, *row, SEP] for row in held_out])


TEXT = corpus([[10, 11, 12]] * 3, [list(range(10, 60)), list(range(30, 50)), list(range(20, 99))])
MODEL = BertForMLM(BertConfig(TOK.vocab_size, 128, 32, 2, 2, 64), PCG32(1)).eval()
for parameter in MODEL.parameters():
    parameter.data *= 64 if parameter.dim() == 2 else 1  # so that what stands around a blank matters


def test_the_blanks_are_those_of_the_held_out_masks():
    blanks = blanks_of(TEXT)
    wanted = [
        (row, place, label)
        for row, item in enumerate(held_out_masks(TEXT))
        for place, label in enumerate(item["labels"].tolist())
        if label >= 0
    ]
    assert list(zip(blanks.row, blanks.place, blanks.answers, strict=True)) == wanted and len(wanted) > 10
    assert (blanks.near(-1) == [TEXT.held_out[r][p - 1] for r, p, _ in wanted]).all()
    assert (blanks.near(1) == [TEXT.held_out[r][p + 1] for r, p, _ in wanted]).all()


def test_counts_choose_what_was_seen_most_often():
    counts = Counts(
        corpus([[10, 11, 12], [10, 13, 12], [10, 13, 12], [20, 21], [20, 21], [30, 21, 40], [21]])
    )
    assert counts.most_common() == 21
    assert counts.between(10, 12) == 13  # seen between the two twice, 11 once
    assert counts.between(20, 40) == 21  # after the one and before the other, but never between both
    assert counts.between(20, 99) == 21  # after the one
    assert counts.between(99, 40) == 21  # before the other
    assert counts.between(98, 99) == 21  # the most common of all
    assert counts.between(CLS, 13) == 10 and counts.between(13, SEP) == 12
    tie = Counts(corpus([[10, 12, 11], [10, 9, 11]]))
    assert tie.between(10, 11) == 9  # of equal ones the lowest id


def test_among_pieces_never_seen_between_the_likeliest_one_is_chosen():
    # After 50: 60 three times, 61 once. Before 70: 60 once in ten, 61 always. 3 * 1/13 < 1 * 4/5.
    rows = [[50, 60]] * 3 + [[60, 1000 + i] for i in range(9)] + [[60, 70], [50, 61]] + [[61, 70]] * 4
    assert Counts(corpus(rows)).between(50, 70) == 61


def test_special_pieces_are_no_guess():
    counts = Counts(corpus([[10, TOK.mask_id, 12]] * 5 + [[10, 11, 12]]))
    assert counts.between(10, 12) == 11 and TOK.mask_id not in counts.single


def test_count_guesses_take_the_true_neighbors():
    text = corpus([[i, i + 1, i + 2] for i in range(9, 97)], TEXT.held_out and [list(range(10, 60))])
    blanks = blanks_of(text)
    guesses = count_guesses(text, blanks)
    inner = (blanks.place > 1) & (blanks.place < 50)
    assert inner.any() and (guesses["neighbors"][inner] == blanks.answers[inner]).all()
    assert set(guesses["unigram"].tolist()) == {Counts(text).most_common()}


def test_bert_sees_mask_at_one_blank_and_all_else():
    blanks = blanks_of(TEXT)
    guesses = bert_guesses(MODEL, blanks, TOK.mask_id)
    for k, (row, place) in enumerate(zip(blanks.row, blanks.place, strict=True)):
        ids = np.array(TEXT.held_out[row])
        ids[place] = TOK.mask_id
        assert MODEL(ids[None])[0][0, place].argmax() == guesses[k]
    k = 3  # another answer at a blank changes nothing there, but other blanks of the passage see it
    other = [list(passage) for passage in TEXT.held_out]
    other[blanks.row[k]][blanks.place[k]] = 77
    changed = bert_guesses(MODEL, Blanks(other, blanks.row, blanks.place), TOK.mask_id)
    assert changed[k] == guesses[k] and (changed != guesses).any()


def test_the_twin_sees_what_comes_before_a_blank_and_nothing_else():
    blanks = blanks_of(TEXT)
    guesses = left_only_guesses(MODEL, blanks)
    for k in (3, 9):
        row, place = blanks.row[k], blanks.place[k]
        left = torch.tensor([TEXT.held_out[row][:place]])
        causal = torch.ones(place, place, dtype=torch.bool).tril()
        labels = torch.full_like(left, -100)
        labels[0, -1] = 0
        logits, _ = MODEL.masked_logits(left, labels=labels, allowed=causal)
        assert logits.argmax().item() == guesses[k]


def test_rungs_count_hits():
    blanks = blanks_of(TEXT)
    some = blanks.answers.copy()
    some[:3] += 1
    rungs = score_readers(TEXT, MODEL, {"unigram": some})
    m = len(some)
    assert rungs[0] == ReaderScore("a blind guess", m / 4000, m) and rungs[0].accuracy == pytest.approx(
        1 / 4000
    )
    assert rungs[1] == ReaderScore("the most common piece", m - 3, m)
    right = (bert_guesses(MODEL, blanks, TOK.mask_id) == blanks.answers).sum()
    assert rungs[2] == ReaderScore("this BERT", right, m) and len(rungs) == 3


def test_a_ladder_needs_blanks_and_a_model_of_the_same_vocabulary():
    other = BertForMLM(BertConfig(50, 128, 32, 2, 1, 64))
    with pytest.raises(ValueError, match="model: expected one of 4000 pieces, got 50"):
        score_readers(TEXT, other, {})
    with pytest.raises(ValueError, match="expected blanks in the held-out passages, got none"):
        score_readers(corpus([[10]], [[]]), MODEL, {})


# The shipped model.


@pytest.fixture(scope="module")
def shipped() -> list[ReaderScore]:
    return shipped_ladder()


@pytest.mark.slow
def test_the_shipped_model_is_small_and_beats_the_others_by_five_points(shipped):
    assert sum(p.stat().st_size for p in MANUAL_BERT.iterdir()) <= 6_000_000
    assert [rung.name for rung in shipped] == list(module.READERS.values())
    assert shipped[-1].accuracy > max(rung.accuracy for rung in shipped[:-1]) + 0.05
    assert all(rung.blanks == shipped[0].blanks > 5000 for rung in shipped)


@pytest.mark.slow
def test_the_chapter_states_what_the_command_prints(shipped):
    cells = json.loads((ROOT / "notebooks" / "08_train_your_own_bert.ipynb").read_text("utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for rung in shipped:
        hits = f"{rung.hits:,.1f}" if rung.hits < 10 else f"{rung.hits:,.0f}"
        assert f"| {rung.name} | {hits} | {rung.accuracy:.1%} |" in text
    assert f"{shipped[0].blanks:,} blanks" in text


def test_the_ladder_of_some_passages_is_that_of_the_first_ones():
    some = shipped_ladder(20)
    assert 0 < some[0].blanks < 400 and [rung.name for rung in some] == list(module.READERS.values())
    assert some[3].accuracy > some[1].accuracy


def test_a_shipped_model_is_a_fresh_copy():
    one, two = manual_bert()[0], manual_bert()[0]
    one.decoder_bias.data += 1
    assert not torch.equal(one.decoder_bias, two.decoder_bias) and not two.training


def test_stored_guesses_are_those_that_the_command_makes(tmp_path, monkeypatch, capsys):
    text = corpus_of(["\n\n".join(f"the cat {i} sat on the mat by the sea " * 6 for i in range(99))], TOK)
    monkeypatch.setattr(make_ladder, "manual_corpus", lambda: text)
    monkeypatch.setattr(make_ladder, "load_run", lambda folder, corpus, left_only: MODEL)
    make_ladder.main(["twin", str(tmp_path / "ladder.npz")])
    assert capsys.readouterr().out == f"{len(text.held_out)} passages -> {tmp_path / 'ladder.npz'}\n"
    blanks = blanks_of(text)
    guesses = count_guesses(text, blanks) | {"left_only": left_only_guesses(MODEL, blanks)}
    monkeypatch.setattr(module, "STORED", tmp_path / "ladder.npz")
    monkeypatch.setattr(module, "manual_bert", lambda: (MODEL, TOK))
    assert shipped_ladder() == score_readers(text, MODEL, guesses)
    with pytest.raises(SystemExit, match="usage"):
        make_ladder.main([])


@pytest.mark.slow
def test_the_count_models_are_recounted_where_the_manual_is_the_same():
    text = manual_corpus()
    with np.load(module.STORED) as stored:
        held_out = [row.tolist() for row in np.split(stored["ids"], np.cumsum(stored["lengths"])[:-1])]
        if text.held_out == held_out:  # another Python has another manual
            for key, guesses in count_guesses(text, blanks_of(text)).items():
                assert (stored[key] == guesses).all()
