"""The attention lab: maps against the model's own, what each control does, what it stores and refuses."""

import base64
import io
import re

import numpy as np
import pytest
import torch
from PIL import Image

from bert_lab import PCG32, BertConfig, BertForMLM, WordPieceTokenizer, attention_maps, shipped
from bert_lab.labs import attention_lab as module
from bert_lab.labs.attention_lab import BOTH, CAUSAL, AttentionLab
from bert_lab.palette import VERMILLION

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
    assert lab.error.value == ""


def shown_maps(lab):
    """(alternative text, whether framed, pixels) of each small map."""
    found = re.findall(r'<img alt="([^"]*)".*?border:4px solid ([^"]+)" src="[^,]+,([^"]+)"', lab.grid.value)
    return [
        (alt, edge == VERMILLION, np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))))
        for alt, edge, data in found
    ]


def test_it_shows_the_models_own_maps(lab, model):
    ids = [TOK.encode("not bad at all")]
    np.testing.assert_array_equal(lab.maps, attention_maps(model, ids)[:, 0])
    assert lab.tokens == ["[CLS]", "not", "bad", "at", "all", "[SEP]"]
    assert (lab.text, lab.pair, lab.reads, lab.padding) == ("not bad at all", "", BOTH, 0)
    for layer, head, token in np.ndindex(3, 2, 6):
        lab.layer_slider.value, lab.head_slider.value, lab.token_slider.index = layer, head, token
        assert (lab.layer, lab.head, lab.token) == (layer, head, token)
        np.testing.assert_array_equal(lab.weights, lab.maps[layer, head, token])
        best = lab.weights.argmax()
        said = f"position {token}, {lab.tokens[token]}, looks most at {lab.tokens[best]}"
        assert f"layer {layer}, head {head}: {said} ({lab.weights[best]:.2f})" in lab.strip.value
        assert re.findall(r"<br>(\d\.\d\d)", lab.strip.value) == [f"{w:.2f}" for w in lab.weights]
        assert lab.strip.value.count("<br>looks") == 1


def test_all_heads_are_small_multiples(lab):
    lab.layer_slider.value, lab.head_slider.value, lab.token_slider.index = 2, 1, 3
    maps = shown_maps(lab)
    assert [alt.split(":")[0] for alt, _, _ in maps] == [
        f"layer {layer}, head {head}" for layer in range(3) for head in range(2)
    ]
    assert [framed for _, framed, _ in maps] == [False] * 5 + [True]
    most = lab.maps[2, 1, 3].argmax()
    assert maps[-1][0].endswith(f"looks most at {lab.tokens[most]} ({lab.maps[2, 1, 3, most]:.2f})")
    size = module._SIDE // 6
    for (_, _, pixels), values in zip(maps, lab.maps.reshape(6, 6, 6), strict=True):
        inner = pixels[1 : 1 + 6 * size : size, 6 : 6 + 6 * size : size]
        blue = 255 + values[..., None] / lab.maps.max() * (np.array([0, 0x72, 0xB2]) - 255)
        np.testing.assert_allclose(inner, blue, atol=1)
        marked = np.flatnonzero((pixels[:, 0] == [0xD5, 0x5E, 0]).all(-1))
        assert marked.tolist() == list(range(1 + 3 * size, 1 + 4 * size))


def test_many_heads_have_smaller_maps():
    config = BertConfig(vocab=12, max_len=32, d_model=24, n_heads=12, n_layers=1, d_ff=32)
    maps = shown_maps(AttentionLab(BertForMLM(config), TOK))
    assert {pixels.shape[0] for _, _, pixels in maps} == {module._WIDTH // 12 // 6 * 6 + 2}


def test_causal_maps_have_no_weight_to_the_right(lab, model):
    lab.reads_buttons.value = CAUSAL
    assert lab.reads == CAUSAL and (lab.maps == np.tril(lab.maps)).all()
    allowed = torch.ones(6, 6, dtype=torch.bool).tril()
    ids = [TOK.encode("not bad at all")]
    np.testing.assert_array_equal(lab.maps, attention_maps(model, ids, allowed=allowed)[:, 0])
    assert "looks at positions: 0 1" in lab.as_text() and "causal" in lab.as_html()
    lab.token_slider.index = 0
    assert lab.weights.tolist() == [1, 0, 0, 0, 0, 0]
    assert lab.strip.value.count("looks most at [CLS] (1.00).") == 1


def test_padding_is_not_looked_at_and_does_not_look(lab):
    before = lab.maps
    lab.padding_slider.value = 2
    assert lab.tokens[-2:] == ["[PAD]", "[PAD]"] and lab.maps.shape == (3, 2, 8, 8)
    np.testing.assert_allclose(lab.maps[..., :6, :6], before, atol=1e-6)
    assert not lab.maps[..., 6:].any() and not lab.maps[..., 6:, :].any()
    lab.token_slider.index = 7
    assert "position 7, [PAD], is padding: it is not computed" in lab.strip.value
    assert "looks at positions: none" in lab.as_text()
    assert all(alt.endswith("looks most nowhere") for alt, _, _ in shown_maps(lab))
    lab.padding_slider.value = 0
    assert lab.token == 5, "the token that went is replaced by the last"


def test_a_pair_has_two_token_types(lab, model):
    lab.pair_box.value = "at first"
    ids, types = [TOK.encode("not bad at all", "at first")], [[0] * 6 + [1] * 3]
    np.testing.assert_array_equal(lab.maps, attention_maps(model, ids, types)[:, 0])
    assert lab.pair == "at first" and "'not bad at all' and 'at first'" in lab.as_text()


def test_buttons_and_slider_go_together(lab):
    lab.token_buttons.index = 4
    assert lab.token == lab.token_slider.index == 4 and "position 4, all" in lab.strip.value
    lab.token_slider.index = 2
    assert lab.token_buttons.index == 2 and "position 2, bad" in lab.strip.value
    lab.text_box.value = "bad"
    assert lab.token == lab.token_buttons.index == 2 and "position 2, [SEP]" in lab.strip.value
    names = ("0 [CLS]", "1 bad", "2 [SEP]")
    assert lab.token_slider._options_labels == lab.token_buttons._options_labels == names


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
    lab.padding_slider.value = 3
    lab.text_box.value = "bad " * 60
    assert len(lab.tokens) == 32, "as many as the model admits"
    assert lab.tokens[-4:] == ["[SEP]", "[PAD]", "[PAD]", "[PAD]"]


def test_markup_in_a_text_is_shown_as_written(lab):
    lab.text_box.value = "x<"
    assert lab.tokens == ["[CLS]", "x", "<", "[SEP]"]
    assert "<<" not in lab.strip.value and ">&lt;<" in lab.strip.value


def test_what_a_notebook_stores_has_no_weights(lab, model):
    bundle, other = lab._repr_mimebundle_(), AttentionLab(model, TOK)._repr_mimebundle_()
    for kind in ("text/plain", "text/html"):
        assert bundle[kind] == other[kind] and not re.search(r"\d\.\d", bundle[kind])
    assert "position 1, not, looks at positions: 0 1 2 3 4 5" in bundle["text/html"]


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    monkeypatch.setattr(module, "attention_maps", lambda *args, **more: 1 / 0)
    lab.text_box.value = "bad"
    assert "ZeroDivisionError" in lab.error.value
    assert lab.tokens is lab.maps is lab.weights is None and lab.strip.value == lab.grid.value == ""
    lab.token_slider.index = 2
    assert "no tokens" in lab.as_text() and lab.strip.value == ""
    monkeypatch.undo()
    lab.text_box.value = "not bad"
    assert lab.error.value == "" and lab.tokens == ["[CLS]", "not", "bad", "[SEP]"]


def test_a_text_that_cannot_be_read_at_first(model):
    lab = AttentionLab(model, TOK, "\ud800")
    assert "surrogate" in lab.error.value and lab.tokens is None


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
    ],
)
def test_what_it_refuses(model, arguments, error, said):
    with pytest.raises(error, match=said):
        AttentionLab(**{"model": model, "tok": TOK} | arguments)


def test_it_can_be_used_from_the_keyboard(lab):
    named = [lab.text_box, lab.pair_box, lab.reads_buttons, lab.padding_slider]
    named += [lab.layer_slider, lab.head_slider, lab.token_slider]
    assert all(control.description for control in named)
    assert all(control.tabbable is not False for control in [*named, lab.token_buttons])
    assert 'role="status"' in lab.strip.value
