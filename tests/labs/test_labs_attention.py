"""The attention lab: its values against the model's, what each setting does, what it stores and refuses."""

import html
import json
import re

import numpy as np
import pytest
import torch

from bert_lab import PCG32, BertConfig, BertForMLM, WordPieceTokenizer, attention_maps, influence
from bert_lab.labs import attention_lab as module
from bert_lab.labs.attention_data import BOTH, CAUSAL, as_json, attention_data
from bert_lab.labs.attention_lab import AttentionLab
from bert_lab.training import shipped

WORDS = ["not", "bad", "at", "all", "first", "<", "x"]
TOK = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
CONFIG = BertConfig(vocab=12, max_len=32, d_model=16, n_heads=2, n_layers=3, d_ff=32, dropout=0.5)


@pytest.fixture(scope="module")
def model():
    model = BertForMLM(CONFIG, PCG32(5))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 10 if parameter.dim() == 2 else 1
    return model  # in training mode, with dropout: the lab looks without


@pytest.fixture
def lab(model):
    lab = AttentionLab(model, TOK)
    yield lab
    assert lab.error == ""


def test_it_has_the_models_own_maps_and_influence(lab, model):
    ids = [TOK.encode("not bad at all")]
    np.testing.assert_array_equal(lab.maps, attention_maps(model, ids)[:, 0])
    np.testing.assert_array_equal(lab.influence, influence(model, ids))
    assert lab.tokens == ["[CLS]", "not", "bad", "at", "all", "[SEP]"]
    assert (lab.text, lab.pair, lab.reads, lab.padding) == ("not bad at all", "", BOTH, 0)
    for layer, head, token in np.ndindex(3, 2, 6):
        lab.layer, lab.head, lab.token = layer, head, token
        np.testing.assert_array_equal(lab.weights, lab.maps[layer, head, token])


def test_the_view_gets_what_is_computed(lab, model):
    assert lab.shown == as_json(attention_data(model, TOK, "not bad at all"))
    lab.text, lab.pair, lab.reads, lab.padding = "bad", "at first", CAUSAL, 2
    assert lab.shown == as_json(attention_data(model, TOK, "bad", "at first", reads=CAUSAL, padding=2))
    assert (
        lab.shown["tokens"]
        == lab.tokens
        == ["[CLS]", "bad", "[SEP]", "at", "first", "[SEP]", "[PAD]", "[PAD]"]
    )


def test_what_the_view_sends_arrives_together(lab, model, monkeypatch):
    asked = []
    monkeypatch.setattr(
        module, "attention_data", lambda *args, **more: asked.append(args) or attention_data(*args, **more)
    )
    lab.set_state({"text": "bad", "pair": "at all"})
    assert [args[2:] for args in asked] == [("bad", "at all")] and lab.tokens[1] == "bad"
    lab.set_state({"layer": 2, "head": 1, "token": 3})
    assert (lab.layer, lab.head, lab.token) == (2, 1, 3) and len(asked) == 1
    lab.set_state({"head": 2})
    assert lab.error == "ValueError: head: expected an integer from 0 to 1, got 2" and lab.head == 1
    lab.set_state({"head": 0})
    assert lab.error == "" and lab.head == 0


def test_causal_maps_have_no_weight_to_the_right(lab, model):
    lab.reads = CAUSAL
    assert (lab.maps == np.tril(lab.maps)).all()
    allowed = torch.ones(6, 6, dtype=torch.bool).tril()
    ids = [TOK.encode("not bad at all")]
    np.testing.assert_array_equal(lab.maps, attention_maps(model, ids, allowed=allowed)[:, 0])
    assert "looks at positions: 0 1" in lab.as_text() and "causal" in lab.as_html()
    np.testing.assert_array_equal(lab.influence, influence(model, ids, allowed=allowed))
    assert (lab.influence == np.tril(lab.influence)).all()
    lab.token = 0
    assert lab.weights.tolist() == [1, 0, 0, 0, 0, 0]


def test_padding_is_not_looked_at_and_does_not_look(lab):
    before = lab.maps
    lab.padding = 2
    assert lab.tokens[-2:] == ["[PAD]", "[PAD]"] and lab.maps.shape == (3, 2, 8, 8)
    np.testing.assert_allclose(lab.maps[..., :6, :6], before, atol=1e-6)
    assert not lab.maps[..., 6:].any() and not lab.maps[..., 6:, :].any()
    lab.token = 7
    assert not lab.influence[6:].any() and not lab.influence[:, 6:].any()
    assert "looks at positions: none" in lab.as_text()
    lab.padding = 0
    assert lab.token == 5, "the token that went is replaced by the last"


def test_a_pair_has_two_token_types(lab, model):
    lab.pair = "at first"
    ids, types = [TOK.encode("not bad at all", "at first")], [[0] * 6 + [1] * 3]
    np.testing.assert_array_equal(lab.maps, attention_maps(model, ids, types)[:, 0])
    assert lab.pair == "at first" and "'not bad at all' and 'at first'" in lab.as_text()


def test_a_shorter_text_moves_the_token_to_its_end(lab):
    lab.token = 4
    lab.text = "bad"
    assert lab.token == 2 and lab.tokens == ["[CLS]", "bad", "[SEP]"]
    with pytest.raises(ValueError, match="token: expected an integer from 0 to 2, got 3"):
        lab.token = 3


def test_a_setting_can_be_given(model):
    lab = AttentionLab(model, TOK, "x", "not bad", layer=1, head=1, reads=CAUSAL, padding=1, token=3)
    assert (lab.layer, lab.head, lab.reads, lab.padding, lab.token) == (1, 1, CAUSAL, 1, 3)
    assert lab.tokens == ["[CLS]", "x", "[SEP]", "not", "bad", "[SEP]", "[PAD]"]
    assert lab.as_text() == (
        "Attention lab: 'x' and 'not bad', causal, padding 1, layer 1, head 1\n"
        "position 3, not, looks at positions: 0 1 2 3"
    )


def test_the_shipped_model_is_taken_when_none_is_given(model, monkeypatch):
    monkeypatch.setattr(shipped, "manual_bert", lambda: (model, TOK))
    assert AttentionLab().model is model


def test_long_texts_are_cut(lab):
    lab.padding = 3
    lab.text = "bad " * 60
    assert len(lab.tokens) == 32, "as many as the model admits"
    assert lab.tokens[-4:] == ["[SEP]", "[PAD]", "[PAD]", "[PAD]"]


def test_markup_in_a_text_is_shown_as_written(lab):
    lab.text = "x<"
    assert lab.tokens == ["[CLS]", "x", "<", "[SEP]"]
    lab.token = 2
    assert "position 2, &lt;, looks" in lab.as_html() and "'x<', both" in lab.as_text()
    assert "x<" not in lab.as_html()


def test_what_a_notebook_stores_has_no_weights(lab, model):
    bundle, other = lab._repr_mimebundle_()[0], AttentionLab(model, TOK)._repr_mimebundle_()[0]
    for kind in ("text/plain", "text/html"):
        assert bundle[kind] == other[kind] and not re.search(r"\d\.\d", bundle[kind])
    assert "position 1, not, looks at positions: 0 1 2 3 4 5" in bundle["text/html"]
    (state,) = re.findall("data-lab=\"attention_lab\" data-state='([^']*)'", bundle["text/html"])
    assert json.loads(html.unescape(state)) == {
        "header": ["Attention lab", module.AttentionLab.how_to],
        **{"text": "not bad at all", "pair": "", "reads": BOTH},
        **{"padding": 0, "layer": 0, "head": 0, "token": 1},
    }


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    monkeypatch.setattr(module, "attention_data", lambda *args, **more: 1 / 0)
    lab.text = "bad"
    assert lab.error == "ZeroDivisionError: division by zero"
    assert lab.tokens is lab.maps is lab.weights is lab.influence is None and lab.shown == {}
    lab.token = 2
    assert "no tokens" in lab.as_text() and lab.error
    monkeypatch.undo()
    lab.text = "not bad"
    assert lab.error == "" and lab.tokens == ["[CLS]", "not", "bad", "[SEP]"] and lab.token == 2


def test_a_text_that_cannot_be_read_at_first(model):
    lab = AttentionLab(model, TOK, "\ud800")
    assert "surrogate" in lab.error and lab.tokens is None


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"tok": None}, ValueError, "model and tok: expected both or neither"),
        ({"reads": "left"}, ValueError, "reads: expected 'both ways' or 'causal', got 'left'"),
        ({"layer": 3}, ValueError, "layer: expected an integer from 0 to 2, got 3"),
        ({"head": -1}, ValueError, "head: expected an integer from 0 to 1"),
        ({"padding": 9}, ValueError, "padding: expected an integer from 0 to 8"),
        ({"token": 6}, ValueError, "token: expected an integer from 0 to 5"),
        ({"layer": 1.5}, TypeError, "layer: expected an integer"),
        ({"text": 3}, TypeError, "text: expected a str, got 3 of type int"),
    ],
)
def test_what_it_refuses(model, arguments, error, said):
    with pytest.raises(error, match=said):
        AttentionLab(**{"model": model, "tok": TOK} | arguments)
