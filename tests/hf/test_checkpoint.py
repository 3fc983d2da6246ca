"""State dicts under Hugging Face's names: what loads, what is refused, and what the report says of it."""

import re

import numpy as np
import pytest
import torch
from torch import nn

from bert_lab.checkpoint import checkpoint_report, hf_bert_encoder_sd, load_hf_bert
from bert_lab.hf.report import CheckpointError, CheckpointTypeError
from bert_lab.model import BertConfig, BertEncoder, BertForMLM
from bert_lab.rng import PCG32

CONFIG = BertConfig(40, max_len=12, d_model=8, n_heads=2, n_layers=2, d_ff=16)
HEAD = (
    "cls.predictions.transform.dense.weight",
    "cls.predictions.transform.dense.bias",
    "cls.predictions.transform.LayerNorm.weight",
    "cls.predictions.transform.LayerNorm.bias",
    "cls.predictions.bias",
)


def by_hand(seed: int = 0, dtype=torch.float32) -> dict[str, torch.Tensor]:
    """A checkpoint of CONFIG's sizes, each name and shape written out, without the decoder."""
    shapes = {
        "bert.embeddings.word_embeddings.weight": (40, 8),
        "bert.embeddings.position_embeddings.weight": (12, 8),
        "bert.embeddings.token_type_embeddings.weight": (2, 8),
        "bert.embeddings.LayerNorm.weight": (8,),
        "bert.embeddings.LayerNorm.bias": (8,),
    }
    for i in range(2):
        layer = f"bert.encoder.layer.{i}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{layer}.attention.{part}.weight"] = (8, 8)
            shapes[f"{layer}.attention.{part}.bias"] = (8,)
        shapes[f"{layer}.intermediate.dense.weight"] = (16, 8)
        shapes[f"{layer}.intermediate.dense.bias"] = (16,)
        shapes[f"{layer}.output.dense.weight"] = (8, 16)
        shapes[f"{layer}.output.dense.bias"] = (8,)
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{layer}.{norm}.weight"] = (8,)
            shapes[f"{layer}.{norm}.bias"] = (8,)
    shapes |= dict(zip(HEAD, [(8, 8), (8,), (8,), (8,), (40,)], strict=True))
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=generator).to(dtype) for name, shape in shapes.items()}


def ours(name: str) -> str:
    """Our name for one of theirs, by replacements: a second way to the table."""
    for old, new in {
        r"^bert\.": "",
        r"LayerNorm\.gamma": "LayerNorm.weight",
        r"LayerNorm\.beta": "LayerNorm.bias",
        r"embeddings\.(\w+)_embeddings": r"encoder.\1",
        r"embeddings\.LayerNorm": "encoder.norm",
        r"encoder\.layer\.(\d+)": r"encoder.layers.\1",
        r"attention\.self": "attention",
        r"attention\.output\.dense": "attention.output",
        r"attention\.output\.LayerNorm": "attention_norm",
        r"intermediate\.dense": "ff_in",
        r"(\d+)\.output\.dense": r"\1.ff_out",
        r"(\d+)\.output\.LayerNorm": r"\1.ff_norm",
        r"cls\.predictions\.transform\.dense": "transform",
        r"cls\.predictions\.transform\.LayerNorm": "transform_norm",
        r"cls\.predictions\.bias": "decoder_bias",
    }.items():
        name = re.sub(old, new, name)
    return name


def bare(sd: dict) -> dict:
    return {name.removeprefix("bert."): value for name, value in sd.items()}


def old_norms(sd: dict, which=lambda name: True) -> dict:
    def old(name):
        return re.sub(
            "LayerNorm.weight$", "LayerNorm.gamma", re.sub("LayerNorm.bias$", "LayerNorm.beta", name)
        )

    return {old(name) if which(name) else name: value for name, value in sd.items()}


def values(model) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def refused(sd, model=None, error=CheckpointError) -> str:
    """The message of the error; the model is as it was, and the report has the same verdict."""
    model = BertForMLM(CONFIG) if model is None else model
    before = values(model)
    report = checkpoint_report(sd, model)
    assert not report.ok and report.verdict.startswith("refused")
    with pytest.raises(error) as caught:
        load_hf_bert(model, sd)
    assert same(values(model), before)
    assert isinstance(caught.value, ValueError)
    assert all(str(problem) in str(caught.value) for problem in report.problems)
    return str(caught.value)


def loaded(sd, model=None):
    model = BertForMLM(CONFIG) if model is None else model
    assert checkpoint_report(sd, model).ok
    assert load_hf_bert(model, sd) is None
    return model


# ---- what loads


def test_every_value_comes_to_its_parameter():
    sd = by_hand()
    model = loaded(sd)
    assert {ours(name) for name in sd} == set(values(model))
    for name, value in sd.items():
        assert torch.equal(values(model)[ours(name)], value), name


@pytest.mark.parametrize("change", [lambda sd: sd, bare], ids=["bert.", "bare"])
def test_names_may_begin_with_bert_or_not(change):
    sd = by_hand()
    expected = {ours(name): value for name, value in sd.items()}
    assert same(values(loaded(change(sd))), {name: expected[name] for name in values(BertForMLM(CONFIG))})
    encoder = loaded(change(sd), BertEncoder(CONFIG))
    assert all(torch.equal(p, expected[f"encoder.{name}"]) for name, p in values(encoder).items())
    headless = {name: value for name, value in change(sd).items() if name not in HEAD}
    assert same(values(loaded(headless, BertEncoder(CONFIG))), values(encoder))


def test_the_order_of_the_keys_and_a_prefix_on_some_do_not_matter():
    sd = by_hand()
    mixed = {name.removeprefix("bert.") if i % 2 else name: sd[name] for i, name in enumerate(reversed(sd))}
    assert same(values(loaded(mixed)), values(loaded(sd)))


@pytest.mark.parametrize("which", [lambda name: True, lambda name: "layer.0" in name, lambda n: "bias" in n])
def test_norms_may_have_their_old_names_or_both_mixed(which):
    sd = old_norms(by_hand(), which)
    assert any(name.endswith(("gamma", "beta")) for name in sd)
    assert same(values(loaded(sd)), values(loaded(by_hand())))
    renamed = checkpoint_report(sd).renamed
    assert renamed.keys() == sd.keys() - by_hand().keys()
    assert set(renamed.values()) == by_hand().keys() - sd.keys()


def test_one_parameter_under_two_names_must_have_one_value():
    sd = by_hand()
    both = sd | old_norms(sd)
    assert same(values(loaded(both)), values(loaded(sd)))
    assert [e.how for e in checkpoint_report(both).entries].count("repeated") == len(both) - len(sd)
    twice = sd | bare(sd)
    assert same(values(loaded(twice)), values(loaded(sd)))
    for key in ("bert.embeddings.LayerNorm.gamma", "embeddings.LayerNorm.weight"):
        other = "bert.embeddings.LayerNorm.weight"
        for differ in ({key: sd[other] + 1e-3, **sd}, sd | {key: sd[other] + 1e-3}):
            assert f"conflict: {key}: expected the values of {other}, which is the same par" in refused(
                differ
            )


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("used", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_values_are_cast_to_the_dtype_of_the_model(stored, used):
    sd = by_hand(dtype=stored)
    model = loaded(sd, BertForMLM(CONFIG).to(used))
    assert all(torch.equal(values(model)[ours(name)], value.to(used)) for name, value in sd.items())
    assert {p.dtype for p in model.parameters()} == {used}
    cast = checkpoint_report(sd, model).cast
    names = tuple(str(dtype).removeprefix("torch.") for dtype in (stored, used))
    assert cast == ({} if stored == used else dict.fromkeys(sd, names))


def test_a_model_of_several_dtypes_keeps_each():
    model = BertForMLM(CONFIG).to(torch.bfloat16)
    model.encoder.norm.double()
    loaded(by_hand(), model)
    assert model.encoder.norm.weight.dtype == torch.float64 and model.decoder_bias.dtype == torch.bfloat16


def test_a_decoder_may_repeat_the_word_table_and_the_bias():
    sd = by_hand()
    word, bias = sd["bert.embeddings.word_embeddings.weight"], sd["cls.predictions.bias"]
    expected = values(loaded(sd))
    decoder = {"cls.predictions.decoder.weight": word, "cls.predictions.decoder.bias": bias.clone()}
    assert same(values(loaded(sd | decoder)), expected)
    assert same(values(loaded(sd | {"cls.predictions.decoder.weight": word.double()})), expected)
    del sd["cls.predictions.bias"]
    assert same(values(loaded(sd | decoder)), expected)
    assert checkpoint_report(sd | decoder).renamed == {"cls.predictions.decoder.bias": "cls.predictions.bias"}
    assert "missing: cls.predictions.bias" in refused(sd)


def test_an_untied_decoder_is_refused():
    sd = by_hand()
    weight = {"cls.predictions.decoder.weight": sd["bert.embeddings.word_embeddings.weight"] + 1e-2}
    text = refused(sd | weight)
    assert "conflict: cls.predictions.decoder.weight" in text and "word table" in text
    bias = {"cls.predictions.decoder.bias": sd["cls.predictions.bias"] + 1e-2}
    assert "conflict: cls.predictions.decoder.bias" in refused(sd | bias)
    assert "shape: cls.predictions.decoder.weight" in refused(
        sd | {"cls.predictions.decoder.weight": torch.ones(41, 8)}
    )
    loaded(sd | weight | bias, BertEncoder(CONFIG))
    del sd["bert.embeddings.word_embeddings.weight"]
    assert "missing: bert.embeddings.word_embeddings.weight" in refused(sd | weight)


def test_after_a_load_the_decoder_is_still_the_word_table():
    model = loaded(by_hand()).eval()
    before = model([[2, 5, 3]])[0]
    with torch.no_grad():
        model.encoder.word.weight[9] += 1  # an id that is not read: its logit alone changes
    changed = (model([[2, 5, 3]])[0] != before).any(dim=1)[0]
    assert changed.tolist() == [i == 9 for i in range(40)]


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_known_extras_are_ignored_by_name(prefix):
    extras = {
        f"{prefix}pooler.dense.weight": torch.ones(8, 8),
        f"{prefix}pooler.dense.bias": torch.ones(8, dtype=torch.int64),
        "cls.seq_relationship.weight": torch.ones(2, 8),
        "cls.seq_relationship.bias": torch.ones(2),
        f"{prefix}embeddings.position_ids": torch.arange(512)[None],
        f"{prefix}embeddings.token_type_ids": torch.zeros(1, 512, dtype=torch.int64),
    }
    expected = values(loaded(by_hand()))
    assert same(values(loaded(by_hand() | extras)), expected)
    loaded(by_hand() | extras, BertEncoder(CONFIG))
    report = checkpoint_report(by_hand() | extras)
    assert sorted(report.extra) == sorted(extras) and not report.notes
    for positions in (np.arange(12)[None], torch.arange(12, dtype=torch.bfloat16)):
        assert not checkpoint_report(by_hand() | {f"{prefix}embeddings.position_ids": positions}).notes
    for key in extras:
        assert f"unexpected: {key}s" in refused(by_hand() | {f"{key}s": torch.ones(1)})


@pytest.mark.parametrize(
    "odd",
    [
        torch.arange(1, 13)[None],
        torch.zeros(12),
        torch.arange(12.0) + 0.5,
        None,
        "0 1 2",
        torch.empty(2, device="meta"),
        np.arange(12)[::-1],
        np.array(["0"]),
        torch.zeros(1, dtype=torch.complex64),
    ],
    ids=str,
)
def test_positions_that_are_not_counted_from_zero_are_pointed_out(odd):
    sd = by_hand() | {"bert.embeddings.position_ids": odd}
    (note,) = checkpoint_report(sd).notes
    assert note.startswith("bert.embeddings.position_ids is not a buffer of 0, 1, 2, ...")
    model = BertForMLM(CONFIG)
    with pytest.warns(UserWarning, match=re.escape(note)) as caught:
        load_hf_bert(model, sd)
    assert caught[0].filename == __file__
    assert same(values(model), values(loaded(by_hand())))
    (note,) = checkpoint_report(by_hand() | {"embeddings.token_type_ids": torch.ones(1, 12)}).notes
    assert note.startswith("embeddings.token_type_ids is not a buffer of zeros")


def test_values_may_be_arrays():
    sd = by_hand()
    arrays = {name: value.numpy() for name, value in sd.items()}
    arrays["cls.predictions.bias"] = arrays["cls.predictions.bias"].astype(">f8")
    name = "bert.encoder.layer.0.output.dense.weight"
    arrays[name] = np.asfortranarray(arrays[name])
    arrays["bert.embeddings.LayerNorm.bias"] = sd["bert.embeddings.LayerNorm.bias"].numpy()[::-1].copy()[::-1]
    arrays[name].flags.writeable = False
    assert same(values(loaded(arrays)), values(loaded(sd)))
    assert "expected a tensor of float16" in refused(
        arrays | {name: arrays[name].astype(np.int32)}, error=TypeError
    )
    assert same(hf_bert_encoder_sd(arrays), hf_bert_encoder_sd(sd))


def test_values_may_be_views_shared_parameters_or_made_in_inference_mode():
    sd = by_hand()
    expected = values(loaded(sd))
    name = "bert.encoder.layer.0.output.dense.weight"
    odd = {key: nn.Parameter(value) for key, value in sd.items()}
    odd[name] = sd[name].T.contiguous().T
    assert not odd[name].is_contiguous()
    whole = torch.cat([sd[f"bert.encoder.layer.1.attention.self.{part}.weight"] for part in ("query", "key")])
    for part, view in zip(("query", "key"), whole.split(8), strict=True):
        odd[f"bert.encoder.layer.1.attention.self.{part}.weight"] = view
    with torch.inference_mode():
        odd["cls.predictions.bias"] = sd["cls.predictions.bias"].clone()
    model = loaded(odd)
    assert same(values(model), expected)
    assert all(p.requires_grad and p.is_leaf and not p.is_inference() for p in model.parameters())
    one = torch.randn(8)
    shared = loaded(sd | dict.fromkeys([name for name in sd if name.endswith("LayerNorm.bias")], one))
    with torch.no_grad():
        shared.encoder.norm.bias += 1
    assert torch.equal(shared.transform_norm.bias, one)


def test_a_model_can_be_loaded_from_its_own_parameters_in_other_places():
    model = loaded(by_hand())
    key, query = (f"bert.encoder.layer.0.attention.self.{part}.weight" for part in ("key", "query"))
    attention = model.encoder.layers[0].attention
    before = attention.key.weight.clone(), attention.query.weight.clone()
    load_hf_bert(model, by_hand() | {key: attention.query.weight, query: attention.key.weight})
    assert torch.equal(attention.query.weight, before[0]) and torch.equal(attention.key.weight, before[1])


def test_a_model_can_be_made_and_loaded_in_inference_mode():
    with torch.inference_mode():
        model = BertForMLM(CONFIG)
    assert same(values(loaded(by_hand(), model)), values(loaded(by_hand())))
    other = BertForMLM(CONFIG)
    with torch.inference_mode():
        loaded(by_hand(), other)
    assert other.decoder_bias.requires_grad and same(values(other), values(model))


def test_a_load_changes_values_and_nothing_else():
    model = BertForMLM(CONFIG)
    model.encoder.position.weight.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    before = dict(model.named_parameters())
    for training in (True, False):
        loaded(by_hand(), model.train(training))
        assert all(module.training == training for module in model.modules())
    assert all(p is before[name] for name, p in model.named_parameters())
    assert not model.encoder.position.weight.requires_grad and model.decoder_bias.requires_grad
    model([[2, 5, 3]], labels=[[-100, 6, -100]])[1].backward()
    optimizer.step()
    assert not torch.equal(model.decoder_bias, by_hand()["cls.predictions.bias"])
    assert torch.equal(by_hand()["cls.predictions.bias"], by_hand()["cls.predictions.bias"])


def test_a_load_leaves_the_state_dict_alone():
    sd = by_hand()
    model = loaded(sd)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    assert list(sd) == list(by_hand()) and same(sd, by_hand())


# ---- what is refused


def test_each_key_that_is_missing_is_named():
    sd = by_hand()
    model = BertForMLM(CONFIG)
    for name in sd:
        rest = {key: value for key, value in sd.items() if key != name}
        assert f"missing: {name}: expected a value of shape {list(sd[name].shape)}" in refused(rest, model)
        report = checkpoint_report(rest, model)
        assert report.missing == [name]
        assert checkpoint_report(bare(rest), model).missing == [name.removeprefix("bert.")]


def test_a_checkpoint_without_a_head_is_refused_by_the_whole_model():
    sd = {name: value for name, value in by_hand().items() if name not in HEAD}
    text = refused(sd)
    assert all(f"missing: {name}" in text for name in HEAD)
    assert text.count("missing:") == 5 and "a bare BertEncoder" in text
    assert checkpoint_report(sd).target == "BertEncoder" and checkpoint_report(sd).ok


def test_nothing_that_is_known_is_no_success():
    for sd in ({}, {"a": torch.ones(1)}):
        for model in (BertForMLM(CONFIG), BertEncoder(CONFIG)):
            text = refused(sd, model)
            assert text.count("missing:") == len(list(model.parameters()))
        with pytest.raises(
            CheckpointError, match=r"missing: embeddings.word_embeddings.weight: .* \[\?, \?\]"
        ):
            hf_bert_encoder_sd(sd)
        with pytest.raises(CheckpointError, match=r"missing: encoder.layer.0.attention.self.query.weight"):
            hf_bert_encoder_sd(sd)


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "model.", "module.bert.model."])
def test_a_prefix_that_others_add_is_explained(prefix):
    text = refused({prefix + name: value for name, value in by_hand().items()})
    assert f"unexpected: {prefix}bert.embeddings.word_embeddings.weight" in text
    assert f"42 keys would be known without {prefix!r} in front" in text
    assert "key.removeprefix" in text


def test_relatives_and_other_mistakes_are_explained():
    roberta = {name.replace("bert.", "roberta.", 1): value for name, value in by_hand().items()}
    assert "37 keys begin with 'roberta.': another model" in refused(roberta)
    own = BertForMLM(CONFIG).state_dict()
    assert "model.load_state_dict takes them" in refused(own)
    state = {"epoch": 3, "model": by_hand()}
    assert "sd['model']" in refused(state) and "unexpected: epoch: expected no such key, got int" in refused(
        state
    )
    for name, meaning in {
        "attention.self.distance_embedding.weight": "relative positions",
        "crossattention.self.query.weight": "a decoder",
        "attention.self.query.lora_A.weight": "low-rank",
    }.items():
        key = f"bert.encoder.layer.0.{name}"
        text = refused(by_hand() | {key: torch.ones(23, 4)})
        assert f"unexpected: {key}: expected no such key, got float32 [23, 4]" in text and meaning in text


@pytest.mark.parametrize(
    "key",
    [
        "bert.encoder.layer.2.output.dense.bias",
        "bert.encoder.layer.00.output.dense.bias",
        "bert.bert.x",
        "bert.cls.predictions.bias",
        "cls.predictions.decoder",
        "decoder.weight",
        "bert.embeddings.LayerNorm.gamma.x",
        "",
    ],
)
def test_a_key_that_is_not_known_is_refused(key):
    assert f"unexpected: {key}: expected no such key" in refused(by_hand() | {key: torch.ones(8)})
    encoder = BertEncoder(CONFIG)
    if not key.startswith("cls."):
        refused(by_hand() | {key: torch.ones(8)}, encoder)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("bert.embeddings.word_embeddings.weight", (48, 8)),
        ("bert.embeddings.position_embeddings.weight", (512, 8)),
        ("bert.encoder.layer.0.attention.self.query.weight", (8, 9)),
        ("bert.encoder.layer.0.attention.self.query.bias", (8, 1)),
        ("bert.encoder.layer.1.output.LayerNorm.bias", ()),
        ("bert.encoder.layer.1.output.LayerNorm.weight", (1,)),
        ("cls.predictions.bias", (1, 40)),
    ],
)
def test_a_wrong_shape_is_refused(name, shape):
    expected = list(by_hand()[name].shape)
    text = refused(by_hand() | {name: torch.ones(shape)})
    assert f"shape: {name}: expected {expected}, got {list(shape)}" in text
    assert text.count("\n") == 1


def test_a_transposed_weight_is_explained():
    name = "bert.encoder.layer.0.intermediate.dense.weight"
    sd = by_hand()
    assert "transposed? nn.Linear keeps [out, in]" in refused(sd | {name: sd[name].T})
    assert "transposed" not in refused(sd | {name: torch.ones(8, 8)})
    assert "transposed" not in refused(sd | {"bert.embeddings.position_embeddings.weight": torch.ones(8, 12)})


# Floats that torch does not have; where a long double is a double, integers again.
WIDE = np.ones(8, np.longdouble if np.dtype(np.longdouble).itemsize > 8 else np.int32)


@pytest.mark.parametrize(
    "value",
    [torch.ones(8, dtype=torch.int8), torch.ones(8, dtype=torch.int64), torch.ones(8, dtype=torch.bool),
     torch.ones(8, dtype=torch.complex64), torch.ones(8).to(torch.float8_e4m3fn), np.ones(8, np.int64),
     np.ones(8, object), np.ones(8, np.clongdouble), WIDE, [1.0] * 8, 1.0, None, "weights", {}],
    ids=lambda value: f"{type(value).__name__} {getattr(value, 'dtype', '')}",
)  # fmt: skip
def test_a_value_of_a_wrong_type_is_refused(value):
    name = "bert.encoder.layer.0.output.dense.bias"
    text = refused(by_hand() | {name: value}, error=TypeError)
    assert f"type: {name}: expected a tensor of float16, bfloat16, float32 or float64, got " in text
    with pytest.raises(CheckpointTypeError):
        hf_bert_encoder_sd(by_hand() | {name: value})


def test_a_key_that_is_no_string_is_refused():
    for key in (7, None, b"bert.pooler.dense.bias", ("a", 1)):
        text = refused({key: torch.ones(8), **by_hand()}, error=TypeError)
        assert f"type: {key!r}: expected a string for a key, got {type(key).__name__}" in text


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_is_refused(bad):
    name = "bert.embeddings.word_embeddings.weight"
    sd = by_hand()
    sd[name][3, 2] = bad
    assert f"value: {name}: expected finite values, got NaN or infinity" in refused(sd)


def test_a_value_out_of_the_range_of_the_model_is_refused():
    name = "cls.predictions.bias"
    sd = by_hand()
    sd[name][0] = 70000
    loaded(sd)
    text = refused(sd, BertForMLM(CONFIG).half())
    assert f"value: {name}: expected values in the range of float16, got larger ones" in text


def test_a_value_without_all_its_values_is_refused():
    name = "cls.predictions.transform.dense.weight"
    for value in (torch.empty(8, 8, device="meta"), torch.eye(8).to_sparse()):
        assert f"value: {name}: expected a tensor with all its values" in refused(by_hand() | {name: value})


def test_one_error_lists_all_that_is_wrong():
    sd = by_hand()
    del sd["bert.encoder.layer.1.output.dense.bias"], sd["cls.predictions.bias"]
    sd["bert.embeddings.word_embeddings.weight"] = torch.ones(48, 8)
    sd["bert.embeddings.LayerNorm.gamma"] = torch.zeros(8)
    sd["cls.predictions.transform.dense.bias"] = torch.ones(8, dtype=torch.int64)
    sd["extra"] = torch.ones(2)
    text = refused(sd, error=TypeError)
    first, *rest = text.split("\n  ")
    assert first == "refused for BertForMLM: 1 shape, 1 conflict, 2 missing, 1 type, 1 unexpected"
    assert [line.split(": expected")[0] for line in rest] == [
        "shape: bert.embeddings.word_embeddings.weight",
        "conflict: bert.embeddings.LayerNorm.gamma",
        "missing: bert.encoder.layer.1.output.dense.bias",
        "type: cls.predictions.transform.dense.bias",
        "missing: cls.predictions.bias",
        "unexpected: extra",
    ]


def test_what_is_no_mapping_and_no_model_of_ours_is_a_type_error():
    for sd in (None, [("a", torch.ones(1))], torch.ones(1), "model.safetensors"):
        with pytest.raises(TypeError, match="sd: expected a mapping from names to tensors, got "):
            load_hf_bert(BertForMLM(CONFIG), sd)
        with pytest.raises(TypeError, match="sd: expected a mapping"):
            hf_bert_encoder_sd(sd)
    for model in (None, nn.Linear(2, 2), BertForMLM, BertForMLM(CONFIG).encoder.layers[0]):
        with pytest.raises(TypeError, match="model: expected a BertForMLM or a BertEncoder, got "):
            load_hf_bert(model, by_hand())
    for source in (7, None, torch.ones(1)):
        with pytest.raises(
            TypeError, match="source: expected a mapping from names to tensors, or a path, got "
        ):
            checkpoint_report(source)
    with pytest.raises(TypeError, match="model: expected"):
        checkpoint_report(by_hand(), nn.Linear(2, 2))


def test_a_model_that_is_not_of_its_config_is_refused():
    model = BertForMLM(CONFIG)
    model.encoder.word = nn.Embedding(48, 8)
    with pytest.raises(ValueError, match=r"not those of its config: encoder.word.weight"):
        load_hf_bert(model, by_hand())
    model = BertForMLM(CONFIG)
    model.classifier = nn.Linear(8, 2)
    with pytest.raises(ValueError, match=r"not those of its config: classifier.bias, classifier.weight"):
        load_hf_bert(model, by_hand())
    loaded(by_hand(), model.encoder)
    model = BertForMLM(CONFIG)
    model.encoder.layers[1].ff_norm = model.encoder.layers[0].ff_norm  # two values for one parameter
    with pytest.raises(ValueError, match=r"not those of its config: encoder.layers.1.ff_norm.bias, encoder"):
        load_hf_bert(model, by_hand())
    with pytest.raises(ValueError, match="on the meta device"):
        load_hf_bert(BertForMLM(CONFIG).to("meta"), by_hand())


# ---- the encoder's part


def test_the_encoders_part_has_our_names_and_the_tensors_themselves():
    sd = by_hand(dtype=torch.float16)
    part = hf_bert_encoder_sd(sd)
    assert list(part) == list(values(BertEncoder(CONFIG)))
    for name, value in sd.items():
        if name not in HEAD:
            mine = part[ours(name).removeprefix("encoder.")]
            assert mine.data_ptr() == value.data_ptr() and mine.dtype == torch.float16
    trained = hf_bert_encoder_sd({name: nn.Parameter(value) for name, value in sd.items()})
    assert same(part, trained) and not any(value.requires_grad for value in trained.values())
    assert same(part, hf_bert_encoder_sd(bare(sd))) and same(part, hf_bert_encoder_sd(old_norms(sd)))
    encoder = BertEncoder(CONFIG)
    encoder.load_state_dict(part)
    assert same(values(encoder), values(loaded(sd, BertEncoder(CONFIG))))


def test_the_encoders_part_must_be_whole():
    sd = by_hand()
    for name in sd.keys() - set(HEAD):
        with pytest.raises(CheckpointError, match=f"missing: {re.escape(name)}"):
            hf_bert_encoder_sd({key: value for key, value in sd.items() if key != name})
    gap = {name.replace("layer.1.", "layer.2."): value for name, value in sd.items()}
    with pytest.raises(CheckpointError, match=r"missing: bert.encoder.layer.1.attention.self.query.weight"):
        hf_bert_encoder_sd(gap)
    for number in ("77777", "9" * 5000, "-1", "x", "٣"):
        key = f"bert.encoder.layer.{number}.output.dense.bias"
        with pytest.raises(CheckpointError) as caught:
            hf_bert_encoder_sd(sd | {key: torch.ones(8)})
        assert [line.split(":")[0] for line in str(caught.value).splitlines()[1:]] == ["  unexpected"]
    with pytest.raises(
        CheckpointError, match=r"layer.1.output.dense.weight: expected \[8, 16\], got \[8, 15\]"
    ):
        hf_bert_encoder_sd(sd | {"bert.encoder.layer.1.output.dense.weight": torch.ones(8, 15)})
    del sd["bert.embeddings.word_embeddings.weight"]
    with pytest.raises(CheckpointError, match=r"word_embeddings.weight: .* \[\?, 8\]"):  # as wide as its norm
        hf_bert_encoder_sd(sd)
    sd = by_hand()
    assert len(hf_bert_encoder_sd({k: v for k, v in sd.items() if "layer.1." not in k})) == 5 + 16


# ---- the report


def test_the_report_says_in_words_what_a_load_would_do():
    sd = old_norms(by_hand(dtype=torch.float16), lambda name: name.startswith("bert.embeddings"))
    sd["bert.pooler.dense.bias"] = torch.ones(8)
    sd["bert.embeddings.position_ids"] = torch.ones(1, 12)
    report = checkpoint_report(sd)
    assert report.ok and not report.missing and not report.unexpected
    assert str(report).splitlines() == [
        "fits BertForMLM",
        "keys: 44, of which 42 loaded, 2 ignored",
        "renamed: bert.embeddings.LayerNorm.gamma -> bert.embeddings.LayerNorm.weight",
        "renamed: bert.embeddings.LayerNorm.beta -> bert.embeddings.LayerNorm.bias",
        "cast: 42 float16 -> float32",
        "ignored: bert.embeddings.position_ids, a buffer of 0, 1, 2, ...",
        "ignored: bert.pooler.dense.bias, the pooler",
        "note: bert.embeddings.position_ids is not a buffer of 0, 1, 2, ...: it is not used, so the model "
        "may differ from the one it was of",
    ]
    del sd["cls.predictions.bias"], sd["bert.embeddings.position_ids"]
    sd["module.bert.embeddings.LayerNorm.bias"] = torch.ones(8)
    report = checkpoint_report(sd)
    assert report.verdict == "refused for BertForMLM: 1 missing, 1 unexpected"
    assert report.missing == ["cls.predictions.bias"]
    assert report.unexpected == ["module.bert.embeddings.LayerNorm.bias"]
    assert str(report).splitlines()[2:4] == list(map(str, report.problems))
    assert str(report).splitlines()[-1].startswith("hint: 1 keys would be known without 'module.' in front")


def test_the_table_has_every_key_and_what_it_maps_to():
    sd = by_hand() | {
        "cls.predictions.decoder.weight": by_hand()["bert.embeddings.word_embeddings.weight"],
        "cls.seq_relationship.bias": torch.ones(2),
        "what": 3,
        7: torch.ones(1),
    }
    report = checkpoint_report(sd)
    head, *lines = report.table().splitlines()
    assert head.split("  ")[0] == "key" and len(lines) == len(sd) == len(report.entries)
    rows = [re.split(r"\s{2,}", line) for line in lines]
    assert {row[0]: row[1] for row in rows} == {
        **{name: ours(name) for name in by_hand()},
        "cls.predictions.decoder.weight": "encoder.word.weight",
        "cls.seq_relationship.bias": "-",
        "what": "-",
        "7": "-",
    }
    assert rows[0][2:] == ["[40, 8]", "float32", "loaded"]
    assert rows[-4:] == [
        ["cls.predictions.decoder.weight", "encoder.word.weight", "[40, 8]", "float32", "repeated"],
        ["cls.seq_relationship.bias", "-", "[2]", "float32", "ignored"],
        ["7", "-", "[1]", "float32", "refused"],
        ["what", "-", "-", "int", "refused"],
    ]
    old = checkpoint_report(old_norms(by_hand(dtype=torch.float64))).table().splitlines()[4]
    assert old.endswith("float64  loaded, today bert.embeddings.LayerNorm.weight, cast to float32")


def test_the_report_on_a_bare_encoder_uses_the_encoders_own_names():
    encoder = BertEncoder(CONFIG)
    whole = checkpoint_report(by_hand(), BertForMLM(CONFIG))
    assert [e.ours for e in whole.entries] == list(values(BertForMLM(CONFIG)))
    report = checkpoint_report(by_hand(), encoder)
    assert [e.ours for e in report.entries if e.ours] == list(values(encoder))
    assert sorted(report.extra) == sorted(HEAD) and report.verdict == "fits BertEncoder"
    assert f"ignored: {HEAD[-1]}, the head of the masked language model" in str(report)


def test_a_report_loads_nothing():
    model = BertForMLM(CONFIG, PCG32(3))
    before = values(model)
    assert checkpoint_report(by_hand(), model).ok
    assert same(values(model), before)


def test_a_layer_far_beyond_the_others_is_a_stray_key():
    sd = bare(by_hand())
    last = {key.replace("layer.1.", "layer.5."): value for key, value in sd.items() if "layer.1." in key}
    sd = {key: value for key, value in sd.items() if "layer.1." not in key} | last
    report = checkpoint_report(sd)
    assert report.missing == []  # one layer, and not six
    assert set(report.unexpected) == set(last)


def test_the_width_is_told_by_the_norm_where_there_is_no_word_table():
    sd = bare(by_hand())
    del sd["embeddings.word_embeddings.weight"]
    (problem,) = checkpoint_report(sd).problems
    assert str(problem).endswith("embeddings.word_embeddings.weight: expected a value of shape [?, 8]")
    del sd["encoder.layer.1.attention.output.dense.bias"]
    assert "expected a value of shape [8]" in str(checkpoint_report(sd).problems[1])


def test_a_report_for_a_model_without_values_is_refused():
    with pytest.raises(ValueError, match="on the meta device"):
        checkpoint_report(by_hand(), BertForMLM(CONFIG).to("meta"))


def test_a_report_of_a_file_that_cannot_be_read_names_it(tmp_path):
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"")
    report = checkpoint_report(path)
    assert (report.target, report.files, report.path) == ("BertForMLM", ("w.safetensors",), str(path))
    assert [problem.kind for problem in report.problems] == ["file"]
