"""What the attention lab shows of a sentence, how it is rounded, and what is stored for the pages."""

import base64
import json

import make_attention
import numpy as np
import pytest
import torch

from bert_lab import attention_maps, influence, manual_bert
from bert_lab.labs import js_lab
from bert_lab.labs.attention_data import BOTH, CAUSAL, MAX_TOKENS, as_json, attention_data, levels


@pytest.fixture(scope="module")
def book():
    return manual_bert()


def maps_of(shown):
    """The levels of the maps, int [L, H, T, T]."""
    size = len(shown["tokens"])
    flat = np.frombuffer(base64.b64decode(shown["maps"]), np.uint8).astype(int)
    return flat.reshape(shown["layers"], shown["heads"], size, size)


def test_a_level_is_zero_for_zero_and_else_one_more_than_the_hundredths():
    values = [[0.0, 1e-9, 0.004], [0.006, 0.5, 1.0], [1.0000001, 12.346, 700.0]]
    assert levels(values).tolist() == [[0, 1, 1], [2, 51, 101], [101, 1236, 70001]]
    assert levels(np.float32([0.125])).tolist() == [13], "half a hundredth goes to the even one"


@pytest.mark.parametrize("value", [-0.001, float("nan"), float("inf")])
def test_a_level_of_what_is_no_amount_is_refused(value):
    with pytest.raises(ValueError, match="expected finite numbers of at least 0"):
        levels([0.5, value])


def test_what_is_shown_are_the_models_values_within_rounding(book):
    model, tok = book
    looked = attention_data(model, tok, "not bad", "at all", reads=CAUSAL, padding=2)
    ids, types = [[*tok.encode("not bad", "at all"), 0, 0]], [[0, 0, 0, 0, 1, 1, 1, 0, 0]]
    real, allowed = [[1] * 7 + [0] * 2], torch.ones(9, 9, dtype=torch.bool).tril()
    np.testing.assert_array_equal(looked.maps, attention_maps(model, ids, types, real, allowed=allowed)[:, 0])
    np.testing.assert_array_equal(looked.influence, influence(model, ids, types, real, allowed=allowed))
    shown = json.loads(json.dumps(as_json(looked)))
    assert shown["tokens"] == tok.tokens(ids[0]) and (shown["layers"], shown["heads"]) == (4, 4)
    for level, value in ((maps_of(shown), looked.maps), (np.array(shown["influence"]), looked.influence)):
        assert level.shape == value.shape
        assert ((level == 0) == (value == 0)).all() and (level == 0).any() and (level > 0).any()
        assert (abs((level - 1) / 100 - value)[level > 0] <= 0.005 + 1e-9).all()


def test_long_texts_are_cut_so_that_padding_has_room(book):
    assert len(attention_data(*book, "bad " * 60).tokens) == MAX_TOKENS
    tokens = attention_data(*book, "bad " * 60, padding=3).tokens
    assert len(tokens) == MAX_TOKENS and tokens[-4:] == ["[SEP]", "[PAD]", "[PAD]", "[PAD]"]


def test_the_stored_sentences_are_what_the_shipped_model_gives(book):
    stored = js_lab.sentences()
    assert [(entry["text"], entry["pair"]) for entry in stored] == list(make_attention.SENTENCES)
    assert len(stored) == 12 and ("not bad at all", "") in make_attention.SENTENCES
    for entry in stored:
        for reads in (BOTH, CAUSAL):
            was, now = entry[reads], as_json(attention_data(*book, entry["text"], entry["pair"], reads=reads))
            assert {**was, "maps": 0, "influence": 0} == {**now, "maps": 0, "influence": 0}
            for a, b in (
                (maps_of(was), maps_of(now)),
                (np.array(was["influence"]), np.array(now["influence"])),
            ):
                assert ((a == 0) == (b == 0)).all(), "what is exactly zero is so everywhere"
                assert abs(a - b).max() <= 1, "machines may round the last digit otherwise"


def test_padding_adds_zeros_and_nothing_else(book):
    """The page computes it so."""
    bare, padded = attention_data(*book, "not bad at all"), attention_data(*book, "not bad at all", padding=3)
    for name in ("maps", "influence"):
        a, b = levels(getattr(bare, name)), levels(getattr(padded, name))
        assert abs(b[..., :6, :6] - a).max() <= 1 and not b[..., 6:, :].any() and not b[..., 6:].any()


def test_the_asset_is_small_and_its_maker_writes_it(book, monkeypatch, tmp_path):
    assert (js_lab.ASSETS / "attention.json").stat().st_size < 100_000
    monkeypatch.setattr(make_attention, "manual_bert", lambda: book)
    monkeypatch.setattr(make_attention, "SENTENCES", make_attention.SENTENCES[:3])
    make_attention.main([str(tmp_path / "attention.json")])
    text = (tmp_path / "attention.json").read_text(encoding="utf-8")
    assert text.count("\n") == 5 and [e["text"] for e in json.loads(text)] == [
        text for text, _ in make_attention.SENTENCES
    ]
