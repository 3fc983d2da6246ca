"""Checkpoints on disk: there and back, shards, configs of other models, files that are not what they seem."""

import errno
import json
import logging
import os
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from bert_lab.checkpoint import checkpoint_report, load_bert, load_hf_bert, save_bert
from bert_lab.hf import weights as weightfiles
from bert_lab.hf.report import CheckpointError
from bert_lab.model import BertConfig, BertEncoder, BertForMLM
from bert_lab.rng import PCG32

transformers.utils.logging.disable_progress_bar()

CONFIG = BertConfig(40, max_len=12, d_model=8, n_heads=2, n_layers=2, d_ff=16, dropout=0.25, ln_eps=1e-12)
IDS = [[2, 5, 6, 7, 3]]
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


def a_model(seed: int = 1, config: BertConfig = CONFIG) -> BertForMLM:
    """A model in which no weight is a constant."""
    model = BertForMLM(config, PCG32(seed))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p += 0.3 * torch.randn(p.shape, generator=generator)
    return model.eval()


def their_config(**more) -> transformers.BertConfig:
    sizes = {"vocab_size": 40, "max_position_embeddings": 12, "hidden_size": 8, "num_hidden_layers": 2}
    return transformers.BertConfig(**sizes | {"num_attention_heads": 2, "intermediate_size": 16} | more)


def same(a, b) -> bool:
    a, b = dict(a.named_parameters()), dict(b.named_parameters())
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture
def saved(tmp_path) -> Path:
    save_bert(a_model(), tmp_path / "bert")
    return tmp_path / "bert"


def change_config(folder: Path, **fields) -> None:
    """Write fields into config.json; those that are ... are taken out."""
    config = json.loads((folder / "config.json").read_text()) | fields
    text = json.dumps({name: value for name, value in config.items() if value is not ...})
    (folder / "config.json").write_text(text)


def change_weights(folder: Path, change) -> None:
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)


def refused(folder: Path, error=CheckpointError) -> str:
    """The one error, which names the directory; the report says the same without naming a place."""
    with pytest.raises(error) as caught:
        load_bert(folder)
    assert isinstance(caught.value, ValueError) and str(caught.value).startswith(f"{folder}: refused")
    report = checkpoint_report(folder)
    assert not report.ok and str(folder) not in str(report) and str(folder) not in repr(report)
    assert f"path: {folder}" in report.text(paths=True)
    assert all(
        str(problem) in str(caught.value) and str(problem) in str(report) for problem in report.problems
    )
    return str(caught.value)


# ---- there and back


def test_a_saved_model_comes_back_in_eval_mode(saved):
    model = load_bert(saved)
    assert same(model, a_model()) and model.config == CONFIG
    assert not any(module.training for module in model.modules())
    assert torch.equal(model(IDS)[0], model(IDS)[0]) and torch.equal(model(IDS)[0], a_model()(IDS)[0])
    assert all(p.requires_grad and p.is_leaf for p in model.parameters())
    assert not torch.equal(model.train()(IDS)[0], model(IDS)[0])  # its dropout is there in training
    assert same(load_bert(str(saved)), model) and same(load_bert(os.fsencode(saved)), model)
    report = checkpoint_report(saved)
    assert str(report).splitlines() == [
        "fits BertForMLM",
        "read: model.safetensors",
        "keys: 42, of which 42 loaded",
    ]
    assert report.config == CONFIG


def test_after_a_round_trip_the_decoder_is_still_the_word_table(saved):
    model = load_bert(saved)
    before = model(IDS)[0]
    with torch.no_grad():
        model.encoder.word.weight[9] += 1
    assert (model(IDS)[0] != before).any(dim=1)[0].nonzero().flatten().tolist() == [9]


def test_what_a_save_writes(saved):
    assert sorted(path.name for path in saved.iterdir()) == ["config.json", WEIGHTS]
    with safe_open(saved / WEIGHTS, "pt") as file:
        keys = set(file.keys())
        assert file.metadata() == {"format": "pt"}
    model = transformers.BertForMaskedLM(their_config())
    assert keys == model.state_dict().keys() - {
        "cls.predictions.decoder.weight",
        "cls.predictions.decoder.bias",
    }
    assert json.loads((saved / "config.json").read_text()) == {
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": 40,
        "max_position_embeddings": 12,
        "hidden_size": 8,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "intermediate_size": 16,
        "type_vocab_size": 2,
        "hidden_dropout_prob": 0.25,
        "attention_probs_dropout_prob": 0.25,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
        "initializer_range": 0.02,
        "pad_token_id": None,
        "dtype": "float32",
    }
    modes = {(saved / name).stat().st_mode for name in ("config.json", WEIGHTS)}
    (saved / "new").touch()
    assert modes == {(saved / "new").stat().st_mode}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64], ids=str)
def test_transformers_loads_a_saved_model_without_a_word(tmp_path, caplog, capfd, recwarn, dtype):
    model = a_model().to(dtype)
    save_bert(model, tmp_path)
    logging.getLogger("transformers").addHandler(caplog.handler)
    try:
        theirs, info = transformers.BertForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    finally:
        logging.getLogger("transformers").removeHandler(caplog.handler)
    assert not caplog.records and not recwarn.list and capfd.readouterr() == ("", "")
    assert not any(info.values()), info
    assert theirs.dtype == dtype and type(theirs.config) is transformers.BertConfig
    stored, own = load_file(tmp_path / WEIGHTS), theirs.state_dict()
    assert all(torch.equal(own[name], value) and value.dtype == dtype for name, value in stored.items())
    mine = BertForMLM(CONFIG).to(dtype)
    load_hf_bert(mine, theirs.state_dict())
    assert same(mine, model)
    if dtype in (torch.float32, torch.float64):
        mask = torch.tensor([[1, 1, 1, 1, 0]])
        expected = theirs(torch.tensor(IDS), attention_mask=mask).logits[0, :4]
        assert (model(IDS, attn_mask=mask)[0][0, :4] - expected).abs().max() < 1e-5
    loaded = load_bert(tmp_path)
    assert {p.dtype for p in loaded.parameters()} == {torch.float32} and same(loaded, model.float())


def test_what_transformers_saves_loads_whole_and_in_shards(tmp_path):
    config = their_config(num_attention_heads=4)
    theirs = transformers.BertForMaskedLM(config).eval()
    for name, size in (("whole", "1GB"), ("shards", "2KB")):
        theirs.save_pretrained(tmp_path / name, max_shard_size=size)
        model = load_bert(tmp_path / name)
        assert model.config.n_heads == 4 and model.config.dropout == 0.1
        assert (model(IDS)[0] - theirs(torch.tensor(IDS)).logits).abs().max() < 1e-5
    assert len(checkpoint_report(tmp_path / "shards").files) > 3
    theirs.half().save_pretrained(tmp_path / "half")
    assert len(checkpoint_report(tmp_path / "half").cast) == 42
    assert load_bert(tmp_path / "half").decoder_bias.dtype == torch.float32


def test_an_encoder_of_theirs_has_no_head_to_load(tmp_path):
    config = their_config()
    theirs = transformers.BertModel(config)
    theirs.save_pretrained(tmp_path)
    text = refused(tmp_path)
    assert text.count("missing: cls.predictions.") == 5 and "a bare BertEncoder" in text
    encoder = BertEncoder(BertConfig(40, 12, 8, 2, 2, 16))
    assert checkpoint_report(tmp_path, encoder).ok
    load_hf_bert(encoder, theirs.state_dict())
    load_hf_bert(encoder, transformers.BertForPreTraining(config).state_dict())
    load_hf_bert(BertForMLM(encoder.config), transformers.BertForPreTraining(config).state_dict())


# ---- the config


def test_the_number_of_heads_comes_from_the_config(saved):
    change_config(saved, num_attention_heads=4)
    model = load_bert(saved)
    assert model.config.n_heads == 4 and not torch.allclose(model(IDS)[0], a_model()(IDS)[0])
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), a_model().parameters(), strict=True))
    change_config(saved, layer_norm_eps=0.5)
    assert load_bert(saved).config.ln_eps == 0.5
    change_config(saved, layer_norm_eps=...)
    assert load_bert(saved).config.ln_eps == 1e-12


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"hidden_act": "gelu_new"}, "hidden_act: expected 'gelu', the exact one, got 'gelu_new'"),
        ({"hidden_act": "relu"}, "hidden_act: expected 'gelu', the exact one, got 'relu'"),
        ({"hidden_act": "tanh"}, "hidden_act: expected 'gelu', the exact one, got 'tanh'"),
        ({"hidden_act": ...}, "hidden_act: expected 'gelu', the exact one, got None"),
        ({"position_embedding_type": "relative_key"}, "expected 'absolute', got 'relative_key'"),
        ({"is_decoder": True}, "is_decoder: expected False, an encoder, got True"),
        ({"is_encoder_decoder": True}, "is_encoder_decoder: expected False, an encoder, got True"),
        ({"add_cross_attention": True}, "add_cross_attention: expected False, an encoder, got True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings: expected True"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads: expected {}, all heads, got {'0': [1]}"),
        ({"quantization_config": {"bits": 4}}, "quantization_config: expected None, plain weights"),
        ({"model_type": "roberta"}, "model_type: expected 'bert', got 'roberta'"),
        ({"model_type": ...}, "model_type: expected 'bert', got None"),
        ({"model_type": ["bert"]}, "model_type: expected 'bert', got ['bert']"),
        ({"num_attention_heads": 3}, "num_attention_heads: expected a divisor of hidden_size, 8, got 3"),
        ({"num_attention_heads": 0}, "num_attention_heads: expected an integer from 1 to "),
        ({"num_attention_heads": -1}, "num_attention_heads: expected an integer from 1 to "),
        ({"num_attention_heads": 2.0}, "num_attention_heads: expected an integer, got 2.0 of type float"),
        ({"num_attention_heads": True}, "num_attention_heads: expected an integer, got True of type bool"),
        ({"num_attention_heads": ...}, "num_attention_heads: expected a value, got no such field"),
        ({"hidden_size": ...}, "hidden_size: expected a value, got no such field"),
        ({"vocab_size": "40"}, "vocab_size: expected an integer, got '40' of type str"),
        ({"type_vocab_size": None}, "type_vocab_size: expected an integer, got None of type NoneType"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers: expected at most 42, the number of keys"),
        ({"layer_norm_eps": 0}, "layer_norm_eps: expected a finite number > 0, got 0.0"),
        ({"layer_norm_eps": float("inf")}, "layer_norm_eps: expected a finite number > 0, got inf"),
        ({"layer_norm_eps": float("nan")}, "layer_norm_eps: expected a number, got nan"),
        ({"layer_norm_eps": "1e-12"}, "layer_norm_eps: expected a number, got '1e-12' of type str"),
        ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob: expected a probability in [0, 1), got 1.0"),
        ({"hidden_dropout_prob": ...}, "hidden_dropout_prob: expected a value, got no such field"),
        ({"attention_probs_dropout_prob": None}, "attention_probs_dropout_prob: expected a number, got None"),
    ],
    ids=str,
)  # fmt: skip
def test_the_config_of_another_model_is_refused_in_words(saved, fields, text):
    change_config(saved, **fields)
    message = refused(saved)
    assert f"\n  config: {next(iter(fields))}: expected " in message and text in message


@pytest.mark.parametrize("name", ["vocab_size", "max_position_embeddings", "hidden_size", "num_hidden_layers",
                                  "num_attention_heads", "intermediate_size", "type_vocab_size"])  # fmt: skip
def test_every_size_must_be_there_and_be_that_of_the_weights(saved, name):
    size = json.loads((saved / "config.json").read_text())[name]
    change_config(saved, **{name: size * 2})
    if name == "num_attention_heads":
        assert load_bert(saved).config.n_heads == 4
    else:
        assert ("missing: " if name == "num_hidden_layers" else "shape: ") in refused(saved)
    change_config(saved, **{name: ...})
    assert f"config: {name}: expected a value, got no such field" in refused(saved)


def test_all_that_is_wrong_stands_in_one_error(saved):
    change_config(saved, hidden_act="relu", is_decoder=True, num_attention_heads=3)
    change_weights(saved, lambda tensors: tensors.pop("bert.encoder.layer.1.output.dense.bias"))
    text = refused(saved)
    for part in ("hidden_act", "is_decoder", "num_attention_heads", "layer.1.output.dense.bias"):
        assert part in text
    assert text.splitlines()[0].endswith("refused for BertForMLM: 3 config, 1 missing")


def test_two_dropouts_that_differ_need_a_decision(saved):
    change_config(saved, attention_probs_dropout_prob=0.0)
    text = refused(saved)
    assert "expected hidden_dropout_prob, 0.25, since this model has one dropout, got 0.0" in text
    assert "load_bert(dir, dropout=...)" in text
    assert load_bert(saved, dropout=0.5).config.dropout == 0.5
    assert load_bert(saved, dropout=0).config.dropout == 0.0
    for change in ({"hidden_dropout_prob": ...}, {"hidden_dropout_prob": "much"}):
        change_config(saved, **change)
        assert load_bert(saved, dropout=0.5).config.dropout == 0.5
    for wrong, error in (
        (1.0, ValueError),
        (-0.1, ValueError),
        (float("nan"), ValueError),
        ("0.1", TypeError),
    ):
        with pytest.raises(error, match="dropout: expected a"):
            load_bert(saved, dropout=wrong)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "expected JSON, got an empty file"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "expected JSON, got a Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "expected JSON, got a web page"),
        (b'{"model_type": "bert", ', "expected JSON, got damaged or cut off: "),
        (b"Entry not found", "expected JSON, got a text: 'Entry not found'"),
        (b"[1, 2]", "expected a JSON object, got list"),
        (b"3", "expected a JSON object, got int"),
        (b"[" * 100_000, "expected JSON, got damaged or cut off: "),
        (b'{"a": "\xff"}', "expected JSON, got damaged or cut off: "),
        (None, "expected this file in the directory, and it is not there"),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_a_config_that_is_none(saved, content, text):
    (saved / "config.json").unlink()
    if content is not None:
        (saved / "config.json").write_bytes(content)
    assert f"config.json: {text}" in refused(saved, FileNotFoundError if content is None else ValueError)


# ---- the weights


CUT, PICKLE = "a file that is cut off", "a pickle or a zip file of torch.save under this name"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda raw: b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n", "a Git LFS pointer"),
        (lambda raw: b"\n<html><body>Log in</body></html>", "a web page"),
        (lambda raw: b"Entry not found\n", "a text: 'Entry not found'"),
        (lambda raw: b'{"error": "Not found"}', "a text: '{\"error\": \"Not found\"}'"),
        (lambda raw: b'{"errs":{"code": 404}}', "a text: '{\"errs\":{"),
        (lambda raw: b"", "an empty file"),
        (lambda raw: b"\n" * 5, "a text: ''"),
        (lambda raw: b"\0" * 8, "zeros: space that was set aside"),
        (lambda raw: b"\0" * len(raw), "zeros: space that was set aside"),
        (lambda raw: b"PK\x03\x04" + b"\0" * 100, PICKLE),
        (lambda raw: b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01K\x01u.", PICKLE),
        (lambda raw: b"\x89HDF\r\n\x1a\n" + b"\xff" * 100, "another kind of file, which begins with b'\\x89"),
        (lambda raw: raw[:5], "another kind of file, which begins with"),
        (lambda raw: raw[:20], f"{CUT}: its header alone has"),
        (lambda raw: raw[:-100], f"{CUT}, by 100 of "),
        (lambda raw: raw + b"x", "1 bytes too many after its end"),
        (lambda raw: raw + raw[:50], "50 bytes too many after its end"),
        (lambda raw: raw[:9] + b"'" + raw[10:], "a damaged header (JSONDecodeError"),
        (lambda raw: (20).to_bytes(8, "little") + b'{"a": {"shape": []}}', "a damaged header (KeyError"),
        (lambda raw: (8).to_bytes(8, "little") + b'{"a": 1}', "a damaged header (TypeError"),
        (lambda raw: raw.replace(b'"dtype":"F32"', b'"dtype":"F99"', 1), "a damaged file: "),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_weights_is_named_with_the_likely_cause(saved, change, text):
    raw = (saved / WEIGHTS).read_bytes()
    (saved / WEIGHTS).write_bytes(change(raw))
    message = refused(saved)
    assert f"file: {WEIGHTS}: expected safetensors, got {text}" in message
    assert "missing:" not in message
    report = checkpoint_report(saved / WEIGHTS)
    assert not report.ok and text in str(report) and str(saved) not in str(report)


def test_a_pickle_is_never_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "load", None)
    save_bert(a_model(), tmp_path)
    (tmp_path / WEIGHTS).unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(b"<html>")
    text = refused(tmp_path, FileNotFoundError)
    assert f"no file: {WEIGHTS}: expected this file, or {INDEX}" in text
    assert "got config.json, pytorch_model.bin" in text
    assert "hint: pytorch_model.bin is a pickle" in text and "never loaded" in text
    assert checkpoint_report(tmp_path).unread == ("pytorch_model.bin",)
    assert "not read: pytorch_model.bin" in str(checkpoint_report(tmp_path))
    save_bert(a_model(), tmp_path)
    assert same(load_bert(tmp_path), a_model()) and checkpoint_report(tmp_path).unread == (
        "pytorch_model.bin",
    )


def test_a_directory_without_anything_or_none_at_all(tmp_path):
    (tmp_path / "empty").mkdir()
    text = refused(tmp_path / "empty", FileNotFoundError)
    assert "config.json: expected this file" in text and "got nothing" in text
    (tmp_path / "file").write_text("")
    with pytest.raises(
        FileNotFoundError, match="dir: expected a directory with a checkpoint, but there is no "
    ):
        load_bert(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="source: expected a directory or a safetensors file, but"):
        checkpoint_report(tmp_path / "none")
    with pytest.raises(ValueError, match=r"dir: expected a directory with config.json"):
        load_bert(tmp_path / "file")
    for call in (load_bert, lambda dir: save_bert(a_model(), dir), checkpoint_report):
        with pytest.raises(ValueError, match="expected a path, got an empty string"):
            call("")
        with pytest.raises(TypeError, match=r"(dir|source): expected .*a path, got int"):
            call(3)


def test_keys_of_a_directory_are_judged_as_those_of_a_state_dict(saved):
    def harm(tensors):
        del tensors["cls.predictions.bias"]
        tensors["bert.encoder.layer.0.attention.self.distance_embedding.weight"] = torch.ones(23, 4)
        tensors["cls.predictions.transform.dense.bias"] = torch.ones(8, dtype=torch.int32)

    change_weights(saved, harm)
    text = refused(saved, TypeError)
    assert "missing: cls.predictions.bias" in text and "distance_embedding" in text and "int32" in text


def test_one_file_has_a_report_too(saved):
    report = checkpoint_report(saved / WEIGHTS)
    assert report.ok and str(report).splitlines()[1:] == [
        "read: model.safetensors",
        "keys: 42, of which 42 loaded",
    ]
    assert checkpoint_report(saved / WEIGHTS, BertEncoder(CONFIG)).target == "BertEncoder"
    assert "path: " in report.text(paths=True) and "path: " not in report.text()


# ---- shards


def shards(folder: Path, change=lambda parts: None, **index) -> None:
    """Take the weights apart into two shards with an index; `change` gets the index's map and the shards."""
    tensors = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    names = sorted(tensors)
    parts = {"a.safetensors": names[:20], "b.safetensors": names[20:]}
    parts = {shard: {name: tensors[name] for name in names} for shard, names in parts.items()}
    weight_map = {name: shard for shard, part in parts.items() for name in part}
    change((weight_map, parts))
    for shard, part in parts.items():
        save_file(part, folder / shard)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map} | index))


def test_shards_are_read_through_their_index(saved):
    shards(saved)
    assert same(load_bert(saved), a_model())
    assert checkpoint_report(saved).files == (INDEX, "a.safetensors", "b.safetensors")
    (saved / "a.safetensors").rename(saved / "blob")
    (saved / "a.safetensors").symlink_to("blob")  # as in the cache of huggingface_hub
    assert same(load_bert(saved), a_model())
    save_bert(a_model(2), saved)
    assert same(load_bert(saved), a_model(2))  # as in transformers, the one file wins
    assert checkpoint_report(saved).unread == ("a.safetensors", "b.safetensors", INDEX)


def test_a_shard_that_is_not_there_or_damaged_is_named(saved):
    shards(saved)
    (saved / "a.safetensors").write_bytes((saved / "a.safetensors").read_bytes()[:-1])
    (saved / "b.safetensors").unlink()
    text = refused(saved, FileNotFoundError)
    assert f"file: a.safetensors: expected safetensors, got {CUT}, by 1 of " in text
    assert "no file: b.safetensors: expected this file" in text and "missing" not in text
    (saved / "b.safetensors").mkdir()
    assert "no file: b.safetensors" in refused(saved)


OUTSIDE = ["../a.safetensors", "/a.safetensors", "x/a.safetensors", "..\\a.safetensors", "C:a.safetensors"]


@pytest.mark.parametrize("name", [*OUTSIDE, "pytorch_model.bin", "", ".."])
def test_an_index_must_not_lead_elsewhere(saved, name):
    def lead(both):
        both[0]["bert.embeddings.LayerNorm.bias"] = name

    shards(saved, lead)
    shutil.copy(saved / "a.safetensors", saved.parent)
    text = refused(saved)
    assert f"{INDEX}: expected names of safetensors files in the same directory, got {name!r}" in text


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ({"weight_map": None}, "expected a weight_map from keys to the names of files, got none"),
        ({"weight_map": {"a": 1}}, "expected a weight_map from keys to the names of files, got none"),
        ({"weight_map": ["a"]}, "expected a weight_map from keys to the names of files, got none"),
        ({"weight_map": {}}, "missing: embeddings.word_embeddings.weight"),
    ],
)  # fmt: skip
def test_an_index_without_a_map_is_refused(saved, index, text):
    shards(saved, **index)
    assert text in refused(saved)
    (saved / INDEX).write_text("<html>")
    assert f"file: {INDEX}: expected JSON, got a web page" in refused(saved)


def test_index_and_shards_must_agree(saved):
    def harm(both):
        weight_map, parts = both
        parts["b.safetensors"]["bert.embeddings.LayerNorm.bias"] = torch.ones(8)  # a second copy
        parts["b.safetensors"]["stray"] = torch.ones(8)
        weight_map["ghost"] = "a.safetensors"

    shards(saved, harm)
    text = refused(saved)
    assert (
        f"conflict: bert.embeddings.LayerNorm.bias: b.safetensors holds it, but {INDEX} has it in a.saf"
        in text
    )
    assert f"conflict: stray: b.safetensors holds it, but {INDEX} does not name it" in text
    assert f"missing: ghost: {INDEX} has it in a.safetensors, which does not hold it" in text


# ---- a save


def test_a_save_refuses_what_could_not_be_loaded(tmp_path):
    for model in (None, BertEncoder(CONFIG), BertForMLM):
        with pytest.raises(TypeError, match="model: expected a BertForMLM, got "):
            save_bert(model, tmp_path / "bert")
    model = a_model()
    with torch.no_grad():
        model.decoder_bias[3] = float("nan")
    with pytest.raises(ValueError, match=r"value: cls.predictions.bias: expected finite values"):
        save_bert(model, tmp_path / "bert")
    with pytest.raises(ValueError, match="meta device"):
        save_bert(BertForMLM(CONFIG).to("meta"), tmp_path / "bert")
    model = BertForMLM(BertConfig(40, 12, 8, 2, 2, 16))
    model.config.n_layers = 3
    with pytest.raises(ValueError, match="not those of its config"):
        save_bert(model, tmp_path / "bert")
    model.config.n_layers, model.config.n_heads = 2, 3
    with pytest.raises(ValueError, match="d_model: expected a multiple of n_heads"):
        save_bert(model, tmp_path / "bert")
    (tmp_path / "file").write_text("text")
    for dir in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises((ValueError, OSError)):
            save_bert(a_model(), dir)
    assert [path.name for path in tmp_path.iterdir()] == ["file"] and (
        tmp_path / "file"
    ).read_text() == "text"


def test_a_save_makes_the_directories_and_follows_links(tmp_path, monkeypatch):
    save_bert(a_model(), tmp_path / "a" / "b" / "c")
    (tmp_path / "link").symlink_to("a/b/c")
    for config in (CONFIG, BertConfig(40, 12, 8, 4, 2, 16)):
        save_bert(a_model(2, config), tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert same(load_bert(tmp_path / "a" / "b" / "c"), a_model(2, config))
    monkeypatch.chdir(tmp_path / "a" / "b" / "c")
    for n_heads in (2, 4, 4):
        save_bert(a_model(n_heads, BertConfig(40, 12, 8, n_heads, 2, 16)), ".")
        assert load_bert(".").config.n_heads == n_heads and Path.cwd() == tmp_path / "a" / "b" / "c"
    (tmp_path / "empty").mkdir()
    save_bert(a_model(), tmp_path / "empty")
    assert same(load_bert(tmp_path / "empty"), a_model())


def test_a_save_copies_values_that_are_views(tmp_path):
    model = a_model()
    whole = torch.randn(16, 8)
    attention = model.encoder.layers[0].attention
    attention.query.weight = torch.nn.Parameter(whole[:8])
    attention.key.weight = torch.nn.Parameter(whole[4:12])
    attention.output.weight = torch.nn.Parameter(whole[:8].T)
    save_bert(model, tmp_path)
    mine, loaded = model.state_dict(), load_bert(tmp_path).state_dict()
    assert mine.keys() == loaded.keys() and all(torch.equal(mine[name], loaded[name]) for name in mine)


OTHER = BertConfig(40, max_len=12, d_model=8, n_heads=4, n_layers=1, d_ff=24)


def tokenizer_beside(folder: Path) -> None:
    """Files that are not ours: a text, one in a directory, a link, a hidden one."""
    (folder / "vocab.txt").write_text("[PAD]\n")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text("{}")
    (folder / "1_Pooling" / "up").symlink_to("..")
    (folder / "pooling").symlink_to("1_Pooling")
    (folder / "latest").symlink_to("vocab.txt")
    (folder / "broken").symlink_to("nowhere")
    (folder / ".hidden").write_text("x")


def still_beside(folder: Path) -> bool:
    texts = {"vocab.txt": "[PAD]\n", "1_Pooling/config.json": "{}", "latest": "[PAD]\n", ".hidden": "x"}
    links = all((folder / name).is_symlink() for name in ("latest", "broken", "pooling", "1_Pooling/up"))
    names = {path.name for path in folder.iterdir() if not path.name.endswith(".partial")}
    expected = {"vocab.txt", "1_Pooling", "pooling", "latest", "broken", ".hidden", "config.json", WEIGHTS}
    return links and names == expected and all((folder / n).read_text() == text for n, text in texts.items())


@pytest.mark.parametrize("config", [CONFIG, OTHER], ids=["same config", "another"])
def test_other_files_stay_where_they_are(saved, config):
    tokenizer_beside(saved)
    saved.chmod(0o750)
    beside = (saved, saved / "vocab.txt", saved / "1_Pooling" / "config.json")
    before = [path.stat().st_ino for path in beside]
    save_bert(a_model(2, config), saved)
    assert before == [path.stat().st_ino for path in beside]  # the files themselves, no copies
    assert same(load_bert(saved), a_model(2, config)) and still_beside(saved)
    assert saved.stat().st_mode & 0o777 == 0o750
    assert list(saved.parent.iterdir()) == [saved]
    assert not [path for path in saved.iterdir() if path.name.endswith(".partial")]


class Cut(BaseException):
    """The power is gone."""


STEPS = [(os, "replace"), (os, "rename"), (os, "fsync"), (weightfiles, "save_file"),
         (Path, "mkdir"), (Path, "touch"), (Path, "chmod"), (Path, "write_bytes")]  # fmt: skip


def cut_at(step: int, monkeypatch) -> list[str]:
    """From now on, the given step and all after it are not done; the names of the steps that were begun."""
    begun = []

    def counted(name, function):
        def call(*args, **kwargs):
            begun.append(name)
            if len(begun) > step:
                raise Cut
            return function(*args, **kwargs)

        return call

    for place, name in STEPS:
        monkeypatch.setattr(place, name, counted(name, getattr(place, name)))
    return begun


@pytest.mark.parametrize("config", [CONFIG, OTHER], ids=["same config", "another"])
def test_a_save_that_is_cut_off_leaves_the_old_the_new_or_what_is_refused(saved, config, monkeypatch):
    """Every step is the last one once: as when the process is killed there, since nothing is cleaned up."""
    tokenizer_beside(saved)
    outcomes = []
    for step in range(100):
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "rmtree", lambda *_args, **_kwargs: None)
            begun = cut_at(step, patch)
            try:
                save_bert(a_model(2, config), saved)
            except Cut:
                pass
            else:
                break
        if not (saved / "config.json").exists():
            assert config == OTHER and "no file: config.json" in refused(saved, FileNotFoundError)
            outcomes.append("refused")
            (saved / "config.json").touch()
        else:
            loaded = load_bert(saved)
            new = loaded.config == config and same(loaded, a_model(2, config))
            assert new or same(loaded, a_model()), (step, begun)
            outcomes.append("new" if new else "old")
        assert still_beside(saved), (step, begun)
        save_bert(a_model(), saved)
    assert outcomes[:5] == ["old"] * 5
    if config == CONFIG:  # the weights are renamed, and then the config, which is as it was
        assert outcomes[-2:] == ["old", "new"] and "refused" not in outcomes
    else:  # the config goes out, the weights come in, the config comes in
        assert outcomes[-3:] == ["old", "refused", "refused"] and outcomes.count("refused") == 2


def test_a_save_that_is_cut_off_gives_old_weights_no_new_config(saved, monkeypatch):
    (saved / "config.json").unlink()
    for step in range(100):
        with monkeypatch.context() as patch:
            cut_at(step, patch)
            try:
                save_bert(a_model(2, OTHER), saved)
            except Cut:
                pass
            else:
                break
        assert not (saved / "config.json").exists()
    assert step > 6 and same(load_bert(saved), a_model(2, OTHER))


@pytest.mark.parametrize("config", [CONFIG, OTHER], ids=["same config", "another"])
def test_both_files_are_on_the_disk_before_they_take_their_place(saved, config, monkeypatch):
    begun = cut_at(100, monkeypatch)
    save_bert(a_model(2, config), saved)
    place = begun.index("replace")
    assert begun[:place].count("fsync") == 2 and begun.index("save_file") < begun.index("fsync")


def test_where_the_weights_cannot_be_renamed_the_old_config_is_put_back(saved, monkeypatch):
    replace = os.replace

    def in_use(source, target):
        if target == saved / WEIGHTS:
            raise OSError(errno.EACCES, "in use")
        replace(source, target)

    monkeypatch.setattr(os, "replace", in_use)
    with pytest.raises(OSError, match="in use"):
        save_bert(a_model(2, OTHER), saved)
    assert same(load_bert(saved), a_model()) and len(list(saved.iterdir())) == 2


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space left"), SafetensorError("no space left")])
def test_a_full_disk_leaves_the_old_one_and_no_debris(saved, monkeypatch, error):
    def full(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(weightfiles, "save_file", full)
    for config in (CONFIG, OTHER):
        with pytest.raises(OSError, match="no space left"):
            save_bert(a_model(2, config), saved)
        with pytest.raises(OSError, match="no space left"):
            save_bert(a_model(2, config), saved.parent / "new")
        assert list(saved.parent.iterdir()) == [saved] and len(list(saved.iterdir())) == 2
    assert same(load_bert(saved), a_model())


def test_a_model_is_loaded_in_float32_whatever_the_default(tmp_path):
    model = BertForMLM(BertConfig(40, max_len=8, d_model=12, n_heads=3, n_layers=1, d_ff=20))
    save_bert(model, tmp_path)
    torch.set_default_dtype(torch.float64)
    try:
        again = load_bert(tmp_path)
    finally:
        torch.set_default_dtype(torch.float32)
    assert {parameter.dtype for parameter in again.parameters()} == {torch.float32}
    assert {parameter.device.type for parameter in again.parameters()} == {"cpu"}


def test_of_a_config_that_cannot_be_read_the_target_is_still_the_whole_model(saved):
    content = json.loads((saved / "config.json").read_text(encoding="utf-8"))
    (saved / "config.json").write_text(json.dumps(content | {"hidden_act": "relu"}), encoding="utf-8")
    tensors = load_file(saved / "model.safetensors")
    encoder = {key: value for key, value in tensors.items() if not key.startswith("cls.")}
    save_file(encoder, saved / "model.safetensors", metadata={"format": "pt"})
    report = checkpoint_report(saved)
    assert report.target == "BertForMLM" and "cls.predictions.bias" in report.missing
