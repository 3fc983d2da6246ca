"""What every kind of model shares: its names in checkpoints, one error, and the fields of a config."""

import pytest
import torch
from torch import nn

from bert_lab import BertConfig, BertEncoder
from bert_lab.checkpoint import BertNames, encoder_table
from bert_lab.hf.config import Fields
from bert_lab.hf.plan import (
    Expected,
    Names,
    expected_by,
    load_into,
    plan,
)
from bert_lab.hf.report import CheckpointError, as_checkpoint_dir
from bert_lab.hf.weights import Problem


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = BertEncoder(BertConfig(7, max_len=5, d_model=4, n_heads=2, n_layers=2, d_ff=6))
        self.classifier = nn.Linear(4, 3)


def names() -> Names:
    return BertNames("Small", expected_by(Small(), encoder_table()), extras={"bert.extra": "an extra"})


def state_dict(model: Small) -> dict:
    expected = expected_by(model, encoder_table())
    return {expected[name].key: p.detach().clone() for name, p in model.named_parameters()}


def test_a_table_of_names_gives_each_parameter_its_key():
    expected = expected_by(Small(), encoder_table())
    assert expected["encoder.layers.1.attention.query.weight"] == Expected(
        "bert.encoder.layer.1.attention.self.query.weight", (4, 4), torch.float32
    )
    assert expected["encoder.norm.bias"].key == "bert.embeddings.LayerNorm.bias"
    assert (
        expected["encoder.layers.0.attention_norm.weight"].key
        == "bert.encoder.layer.0.attention.output.LayerNorm.weight"
    )
    assert expected["classifier.bias"] == Expected("classifier.bias", (3,), torch.float32)
    assert list(expected) == [name for name, _ in Small().named_parameters()]


def test_of_two_prefixes_the_longer_counts_and_only_whole_parts_do():
    model = nn.ModuleDict(
        {"a": nn.ModuleDict({"b": nn.Linear(1, 1, bias=False)}), "ab": nn.Linear(1, 1, bias=False)}
    )
    expected = expected_by(model, {"a": "x", "a.b": "y"})
    assert {name: want.key for name, want in expected.items()} == {
        "a.b.weight": "y.weight",
        "ab.weight": "ab.weight",
    }


@pytest.mark.parametrize("change", [str, lambda key: key.removeprefix("bert.")], ids=["prefixed", "bare"])
def test_a_state_dict_goes_in_with_or_without_the_prefix_and_with_old_norms(change):
    theirs, ours = Small(), Small()
    nn.init.normal_(theirs.classifier.weight)
    theirs.encoder.norm.bias.data += 1
    sd = {
        change(key)
        .replace("LayerNorm.weight", "LayerNorm.gamma")
        .replace("LayerNorm.bias", "LayerNorm.beta"): value
        for key, value in state_dict(theirs).items()
    }
    load_into(
        ours,
        sd | {"bert.extra": torch.zeros(1), "bert.embeddings.position_ids": torch.arange(5)[None]},
        names(),
    )
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))


def test_what_does_not_fit_is_one_error_and_the_model_is_as_it_was():
    model = Small()
    before = [p.clone() for p in model.parameters()]
    sd = state_dict(model)
    sd["classifier.weight"] = torch.zeros(2, 4)
    sd["surplus"] = sd.pop("classifier.bias") + 1
    sd["bert.embeddings.word_embeddings.weight"] += 1
    with pytest.raises(CheckpointError) as caught:
        load_into(model, sd, names())
    assert str(caught.value).splitlines() == [
        "refused for Small: 1 shape, 1 missing, 1 unexpected",
        "  shape: classifier.weight: expected [3, 4], got [2, 4]",
        "  missing: classifier.bias: expected a value of shape [3]",
        "  unexpected: surplus: expected no such key, got float32 [3]",
    ]
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), before, strict=True))
    with pytest.raises(TypeError, match="sd: expected a mapping from names to tensors, got list"):
        load_into(model, [], names())
    with pytest.raises(
        ValueError, match="model: expected parameters with values, got some on the meta device"
    ):
        load_into(model.to("meta"), sd, names())


def test_the_report_tells_what_is_ignored_and_an_odd_constant():
    sd = state_dict(Small()) | {
        "bert.extra": torch.zeros(1),
        "bert.embeddings.position_ids": torch.ones(1, 5),
    }
    report = plan(sd, names())
    assert report.ok and "ignored: bert.extra, an extra" in report.text()
    assert report.notes[0].startswith("bert.embeddings.position_ids is not a buffer of 0, 1, 2, ...")


def test_names_without_more_are_plain():
    model = nn.Linear(2, 1)
    load_into(
        model, {"weight": torch.ones(1, 2), "bias": torch.ones(1)}, Names("Linear", expected_by(model, {}))
    )
    assert model.weight.tolist() == [[1, 1]] and model.bias.item() == 1
    assert not plan({"odd": torch.ones(1)}, Names("Linear", expected_by(model, {}))).ok


def test_fields_are_read_and_all_that_is_wrong_is_kept():
    fields = Fields({"a": 3, "b": 0, "c": "x", "d": True, "e": 0.5, "f": "tanh"})
    assert (fields.size("a"), fields.size("b"), fields.size("missing", 7)) == (3, None, 7)
    assert (fields.real("e"), fields.real("c")) == (0.5, None)
    assert (fields.flag("d"), fields.flag("a"), fields.flag("missing", False)) == (True, None, False)
    assert fields.real("missing") is None
    fields.fixed("f", ("gelu",), ", the exact one")
    fields.fixed("g", ("default",))
    fields.fixed("h", ("needed",), required=True)
    assert [(problem.kind, problem.where) for problem in fields.problems] == [
        ("config", name) for name in ("b", "c", "a", "missing", "f", "h")
    ]
    assert (
        fields.problems[0].text.endswith("got 0")
        and fields.problems[3].text == "expected a value, got no such field"
    )
    assert fields.problems[4] == Problem("config", "f", "expected 'gelu', the exact one, got 'tanh'")


def test_a_directory_is_needed(tmp_path):
    assert as_checkpoint_dir(str(tmp_path)) == tmp_path
    (tmp_path / "file").write_text("x")
    with pytest.raises(CheckpointError, match=r"dir: expected a directory with config.json .*, got a file"):
        as_checkpoint_dir(tmp_path / "file")
    with pytest.raises(
        FileNotFoundError, match="dir: expected a directory with a checkpoint, but there is no"
    ):
        as_checkpoint_dir(tmp_path / "nothing")
    with pytest.raises(TypeError, match="dir: expected a path, got int"):
        as_checkpoint_dir(3)


def test_a_kind_without_methods_of_its_own_takes_keys_as_they_are():
    tensor = torch.ones(2)
    kind = Names("Two", {"a": Expected("a", (2,), torch.float32)}, extras={"b": "a buffer"})
    report = plan({"a": tensor, "b": tensor}, kind)
    assert report.ok and report.extra == ["b"] and report.notes == () and report.renamed == {}
    missing = plan({}, kind)
    assert missing.missing == ["a"] and missing.hints == ()
