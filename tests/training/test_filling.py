"""Blanks filled one by one, against a small random model that is asked by hand."""

import pytest
import torch
from small_reader import MODEL, SENTENCE, TOK, make_model

from bert_lab import BertForMLM
from bert_lab.training.filling import ORDERS, fill_one_by_one
from bert_lab.wordpiece import special_ids


def ask(ids, place):
    """The probabilities of the pieces at one place, those of special tokens set to 0."""
    with torch.no_grad():
        chances = MODEL([ids])[0][0, place].softmax(-1)
    return [0.0 if i in special_ids(TOK) else float(chance) for i, chance in enumerate(chances)]


def by_hand(ids, order):
    """Slowly: ask for each blank by itself, fill one, and begin again."""
    ids, taken = list(ids), []
    while TOK.mask_id in ids:
        blanks = [t for t, i in enumerate(ids) if i == TOK.mask_id]
        said = {t: max((chance, -i) for i, chance in enumerate(ask(ids, t))) for t in blanks}
        place = blanks[0] if order == "left to right" else max(blanks, key=lambda t: said[t][0])
        chance, negative = said[place]
        ids[place] = -negative
        taken.append((place, TOK.vocab[-negative], chance))
    return ids, taken


@pytest.mark.parametrize("order", ORDERS[1:])
def test_one_by_one_is_what_asking_again_and_again_gives(order):
    rows = [[2, 4, 4, 4, 4, 4, 3], [2, 5, 4, 11, 6, 4, 11, 9, 12, 3], [2, 4, 3]]
    for row in rows:
        before = list(row)
        filled = fill_one_by_one(MODEL, TOK, row, order)
        ids, taken = by_hand(row, order)
        assert filled.ids == ids and row == before
        assert [(s.place, s.piece) for s in filled.steps] == [(place, piece) for place, piece, _ in taken]
        assert [s.probability for s in filled.steps] == pytest.approx([chance for *_, chance in taken])
        assert filled.text == TOK.decode(ids, skip_special=True)


def test_the_orders_differ_somewhere():
    row = [2, 4, 4, 4, 4, 4, 3]
    places = {order: [s.place for s in fill_one_by_one(MODEL, TOK, row, order).steps] for order in ORDERS}
    assert places["all at once"] == places["left to right"] == [1, 2, 3, 4, 5]
    assert places["most certain first"] != [1, 2, 3, 4, 5] and set(places["most certain first"]) == {
        *range(1, 6)
    }
    assert len({tuple(fill_one_by_one(MODEL, TOK, row, order).ids) for order in ORDERS}) > 1


def test_all_at_once_looks_a_single_time(monkeypatch):
    ids = TOK.encode(SENTENCE)
    looks = []
    forward = BertForMLM.forward
    monkeypatch.setattr(BertForMLM, "forward", lambda self, x: looks.append(x) or forward(self, x))
    filled = fill_one_by_one(MODEL, TOK, SENTENCE, "all at once")
    assert len(looks) == 1
    for step in filled.steps:
        chances = ask(ids, step.place)
        assert step.probability == pytest.approx(max(chances))
        assert filled.ids[step.place] == chances.index(max(chances))
    assert [step.place for step in filled.steps] == [2, 5]


def test_no_special_token_is_filled_in_and_none_beyond_the_vocabulary():
    model = make_model(TOK.vocab_size + 3)
    with torch.no_grad():
        model.decoder_bias[special_ids(TOK)] += 50
        model.decoder_bias[-3:] += 60
    for order in ORDERS:
        filled = fill_one_by_one(model, TOK, "[MASK] [MASK]", order)
        assert all(len(special_ids(TOK)) <= i < TOK.vocab_size for i in filled.ids[1:3])
        assert "[" not in filled.text


def test_a_model_in_training_fills_without_dropout_and_stays_in_training():
    model = make_model().train()
    assert fill_one_by_one(model, TOK, SENTENCE) == fill_one_by_one(MODEL, TOK, SENTENCE)
    assert model.training


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ((MODEL.encoder, TOK, SENTENCE), TypeError, "expected a BertForMLM, got BertEncoder"),
        (
            (MODEL, TOK, SENTENCE, "backwards"),
            ValueError,
            "one of all at once, left to right, most certain first, got 'backwards'",
        ),
        ((MODEL, TOK, "red wine"), ValueError, r"at least one \[MASK\], got 'red wine'"),
        ((MODEL, TOK, [2, 3]), ValueError, r"at least one \[MASK\], got \[2, 3\]"),
        ((MODEL, TOK, "[MASK] " * 20), ValueError, "T <= 12"),
    ],
)
def test_what_it_refuses(arguments, error, said):
    with pytest.raises(error, match=said):
        fill_one_by_one(*arguments)
