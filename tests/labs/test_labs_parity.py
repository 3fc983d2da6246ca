"""The parity ladder: names found by loading, rungs that break where a fault sits, and the lab's menus."""

import math
import types

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from transformers import BertConfig as HFConfig
from transformers import BertForMaskedLM

import bert_lab
from bert_lab.labs import parity
from bert_lab.labs.parity import Climb, LadderLab, build, climb, name_table
from bert_lab.model import BertConfig, BertForMLM

SIZES = BertConfig(vocab=40, max_len=12, d_model=16, n_heads=2, n_layers=2, d_ff=24)
BATCH = {
    "input_ids": np.array([[2, 5, 6, 3, 7, 3], [2, 8, 9, 3, 0, 0]]),
    "token_type_ids": np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0]]),
    "attention_mask": np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]]),
    "labels": np.array([[-100, 5, -100, -100, 9, -100], [-100, -100, 7, -100, -100, -100]]),
}


def outsider(noise: float) -> BertForMaskedLM:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 24}
    model = BertForMaskedLM(HFConfig(vocab_size=40, max_position_embeddings=12, **sizes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(noise * torch.randn_like(parameter))
    return model


THEIRS = outsider(0.1)


def spoiled(name: str, change) -> types.SimpleNamespace:
    """bert_lab, whose loader changes one parameter of the model after loading."""

    def load(model, sd):
        bert_lab.load_hf_bert(model, sd)
        if float(sd["cls.predictions.bias"].std()) > 0:  # not the numbers by which names are found
            with torch.no_grad():
                change(model.get_parameter(name))

    return types.SimpleNamespace(BertConfig=BertConfig, BertForMLM=BertForMLM, load_hf_bert=load)


def more(parameter):
    parameter.add_(1e-2)


def test_the_names_are_found_by_loading():
    ours = BertForMLM(SIZES)
    before = [parameter.clone() for parameter in ours.parameters()]
    names = name_table(THEIRS, ours, bert_lab.load_hf_bert)
    assert all(map(torch.equal, before, ours.parameters())), "the model itself is left alone"
    assert sorted(names.values()) == sorted(name for name, _ in ours.named_parameters())
    assert len(names) == 42
    assert names["bert.encoder.layer.1.output.dense.bias"] == "encoder.layers.1.ff_out.bias"
    assert names["cls.predictions.transform.LayerNorm.weight"] == "transform_norm.weight"


def test_a_loader_that_leaves_a_parameter_alone_is_noticed():
    with pytest.raises((KeyError, ValueError)):
        name_table(THEIRS, BertForMLM(SIZES), lambda model, sd: None)


def test_ours_has_their_weights_and_is_in_eval_mode():
    ours = build(THEIRS, bert_lab, SIZES)
    assert not ours.training and ours.config == SIZES
    assert torch.equal(ours.transform.weight, THEIRS.cls.predictions.transform.dense.weight)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_all_rungs_are_below(noise):
    climbed = climb(outsider(noise), bert_lab, SIZES, BATCH)
    assert climbed.first_broken is None
    assert 0 < max(climbed.rungs.values()) < 1e-5
    assert len(climbed.gradients) == 42 and max(climbed.gradients.values()) < 1e-5
    assert list(climbed.rungs) == [
        "embeddings",
        *(
            f"layer {i} {part}"
            for i in (0, 1)
            for part in (
                "attention.query",
                "attention.key",
                "attention.value",
                "attention.output",
                "attention_norm",
                "ff_in",
                "ff_out",
                "ff_norm",
            )
        ),
        "transform",
        "transform_norm",
        "logits",
        "loss",
        "every gradient",
    ]


@pytest.mark.parametrize(
    ("name", "rung"),
    [
        ("encoder.token_type.weight", "embeddings"),
        ("encoder.layers.0.attention.value.weight", "layer 0 attention.value"),
        ("encoder.layers.1.ff_norm.bias", "layer 1 ff_norm"),
        ("transform.bias", "transform"),
        ("decoder_bias", "logits"),
    ],
)
def test_the_first_broken_rung_is_where_the_fault_is(name, rung):
    climbed = climb(THEIRS, spoiled(name, lambda p: p[..., :4].add_(1e-2)), SIZES, BATCH)
    assert climbed.first_broken == rung


def test_a_fault_in_a_gradient_alone_breaks_the_last_rung():
    bert = spoiled("decoder_bias", lambda parameter: parameter.requires_grad_(False))
    climbed = climb(THEIRS, bert, SIZES, BATCH)
    assert climbed.first_broken == "every gradient"
    assert climbed.gradients["decoder_bias"] == math.inf
    assert max(size for name, size in climbed.gradients.items() if name != "decoder_bias") < 1e-5


def test_padding_is_not_compared():
    moved = {**BATCH, "input_ids": np.where(BATCH["attention_mask"] == 1, BATCH["input_ids"], 33)}
    assert climb(THEIRS, bert_lab, SIZES, moved).first_broken is None


def test_no_hook_stays_behind():
    climb(THEIRS, bert_lab, SIZES, BATCH)
    with pytest.raises(IndexError):  # theirs stops in the middle
        climb(THEIRS, bert_lab, SIZES, {**BATCH, "token_type_ids": np.where(BATCH["labels"] > 0, -1, 0)})
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in THEIRS.modules())


def test_distances():
    one = torch.tensor([1.0, -2.0])
    assert parity._distance(one, torch.tensor([1.5, -1.0])) == 1.0
    assert (
        parity._distance(one, one[:1])
        == parity._distance(one, None)
        == parity._distance(None, one)
        == math.inf
    )
    assert parity._distance(one, one * math.nan) == math.inf


def test_nan_is_no_success():
    assert Climb({"a": 0.0, "b": math.nan}, {"w": 0.0}).first_broken == "b"


@pytest.fixture
def lab():
    faults = {"none": bert_lab, "a <bias>": spoiled("encoder.layers.0.ff_out.bias", more)}
    full = {name: array[:1] for name, array in BATCH.items()}
    lab = LadderLab(
        faults, {"padded": BATCH, "full": full}, {"shaken": THEIRS, "fresh": outsider(0.0)}, SIZES
    )
    yield lab
    assert lab.error.value == ""
    assert plt.get_fignums() == []


def test_what_the_lab_starts_with(lab):
    assert (lab.fault, lab.batch, lab.weights) == ("none", "padded", "shaken")
    assert lab.as_text() == (
        "Ladder lab. fault: none; batch: padded; weights: shaken\nall 22 rungs are below 1e-05."
    )
    assert "Whole" in lab.answer.value
    assert (
        'alt="Parity ladder of 22 rungs' in lab.figure.value and "all rungs lie below it." in lab.figure.value
    )


def test_the_labs_menus(lab):
    lab.fault_menu.value = "a <bias>"
    assert lab.climbed.first_broken == "layer 0 ff_out"
    assert lab.summary() == "the first rung that is not below 1e-05 is number 8 of 22, layer 0 ff_out."
    assert "Broken" in lab.answer.value and "rung 8, layer 0 ff_out" in lab.figure.value
    assert "a &lt;bias&gt;" in lab.as_html() and "number 8 of 22" in lab.as_html()
    padded = lab.climbed
    lab.batch_menu.value = "full"
    assert lab.climbed != padded and lab.climbed.first_broken == "layer 0 ff_out"
    shaken = lab.climbed
    lab.weights_menu.value = "fresh"
    assert lab.climbed.rungs["logits"] != shaken.rungs["logits"]


def test_what_a_notebook_stores_has_no_sizes_and_no_picture(lab):
    bundle = lab._repr_mimebundle_()
    assert bundle["text/plain"] == lab.as_text() and "<img" not in bundle["text/html"]
    assert "e-0" not in lab.as_text().replace("1e-05", "")


def test_an_error_shows_inside_and_the_lab_goes_on(lab, monkeypatch):
    monkeypatch.setattr(parity, "climb", lambda *arguments: 1 / 0)
    lab.batch_menu.value = "full"
    assert "ZeroDivisionError" in lab.error.value
    assert "no answer" in lab.as_text() and lab.figure.value == lab.answer.value == ""
    monkeypatch.undo()
    lab.batch_menu.value = "padded"
    assert "all 22 rungs" in lab.as_text()


def test_the_lab_can_be_used_from_the_keyboard(lab):
    menus = (lab.fault_menu, lab.batch_menu, lab.weights_menu)
    assert all(menu.description and menu.tabbable is not False for menu in menus)
