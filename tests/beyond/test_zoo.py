"""One call loads what a directory holds, and one writes it so that `transformers` reads it too."""

import json
import logging
import warnings

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from theirs import noisy
from torch import nn

from bert_lab import BertConfig, BertEncoder, BertForMLM
from bert_lab.beyond import zoo
from bert_lab.beyond.electra import ElectraConfig, ElectraDiscriminator
from bert_lab.beyond.heads import BertForSequenceClassification, BertForTokenClassification
from bert_lab.beyond.modern import ModernForMLM, modern_config
from bert_lab.hf.report import CheckpointError
from bert_lab.rng import PCG32

SIZES = BertConfig(40, max_len=12, d_model=8, n_heads=2, n_layers=3, d_ff=16)
IDS = torch.tensor([[2, 5, 9, 7, 3], [2, 11, 3, 0, 0]])
REAL = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
HF = {
    "vocab_size": 40,
    "hidden_size": 8,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 12,
    "num_labels": 3,
}
THEIRS = {
    "BertForMaskedLM": (transformers.BertConfig, {}, BertForMLM),
    "BertForPreTraining": (transformers.BertConfig, {}, BertForMLM),
    "BertModel": (transformers.BertConfig, {}, BertEncoder),
    "BertForSequenceClassification": (transformers.BertConfig, {}, BertForSequenceClassification),
    "BertForTokenClassification": (transformers.BertConfig, {}, BertForTokenClassification),
    "ElectraForPreTraining": (transformers.ElectraConfig, {"embedding_size": 6}, ElectraDiscriminator),
    "ModernBertForMaskedLM": (
        transformers.ModernBertConfig,
        {
            "local_attention": 4,
            **dict.fromkeys(
                ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 1
            ),
        },
        ModernForMLM,
    ),
}
OURS = {
    "mlm": lambda rng: BertForMLM(SIZES, rng),
    "sequence": lambda rng: BertForSequenceClassification(SIZES, 3, rng),
    "token": lambda rng: BertForTokenClassification(SIZES, 4, rng),
    "electra": lambda rng: ElectraDiscriminator(SIZES, rng),
    "electra, narrow tables": lambda rng: ElectraDiscriminator(
        ElectraConfig(**vars(SIZES), d_embedding=6), rng
    ),
    "modern": lambda rng: ModernForMLM(
        modern_config(SIZES, "rope", "geglu", "pre_norm", "no_biases", "local", local_window=4), rng
    ),
    "modern, all global, with biases": lambda rng: ModernForMLM(
        modern_config(SIZES, "rope", "geglu", "pre_norm", type_vocab=0), rng
    ),
}


def made(name: str, folder) -> nn.Module:
    """A random model of transformers, in a directory."""
    config, more, _ = THEIRS[name]
    model = noisy(getattr(transformers, name)(config(**HF | more, attn_implementation="eager")), 0).eval()
    model.save_pretrained(folder)
    return model


def theirs_says(model: nn.Module) -> torch.Tensor:
    with torch.no_grad():
        output = model(IDS, attention_mask=REAL)
    return output[0] if not hasattr(output, "prediction_logits") else output.prediction_logits


def ours_says(model: nn.Module) -> torch.Tensor:
    with torch.no_grad():
        output = model(IDS, attn_mask=REAL)
    return output[0] if isinstance(output, tuple) else output


def agree(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    if ours.shape[:2] == REAL.shape:
        ours, theirs = ours[REAL.bool()], theirs[REAL.bool()]
    return torch.allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("name", THEIRS)
def test_a_directory_of_theirs_gives_our_model(name, tmp_path):
    theirs = made(name, tmp_path)
    ours = zoo.load(tmp_path)
    assert type(ours) is THEIRS[name][2] and not ours.training
    assert {p.dtype for p in ours.parameters()} == {torch.float32}
    assert agree(ours_says(ours), theirs_says(theirs))


@pytest.mark.parametrize("name", [name for name in THEIRS if name != "BertForPreTraining"])
def test_a_config_that_does_not_name_the_model_is_understood(name, tmp_path):
    theirs = made(name, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["architectures"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    ours = zoo.load(str(tmp_path))
    assert type(ours) is THEIRS[name][2] and agree(ours_says(ours), theirs_says(theirs))


@pytest.mark.parametrize("name", OURS)
def test_what_is_saved_comes_back_bit_for_bit_and_transformers_reads_it(name, tmp_path, caplog):
    model = noisy(OURS[name](PCG32(1)), 0).eval()
    zoo.save(model, tmp_path / "saved")
    again = zoo.load(tmp_path / "saved")
    assert type(again) is type(model)
    ours = dict(model.named_parameters())
    assert ours.keys() == dict(again.named_parameters()).keys()
    assert all(torch.equal(p, ours[name]) for name, p in again.named_parameters())
    (architecture,) = json.loads((tmp_path / "saved" / "config.json").read_text())["architectures"]
    with warnings.catch_warnings(), caplog.at_level(logging.INFO):
        warnings.simplefilter("error")
        theirs, info = getattr(transformers, architecture).from_pretrained(
            tmp_path / "saved", output_loading_info=True, attn_implementation="eager"
        )
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert agree(ours_says(again), theirs_says(theirs.eval()))


def test_a_save_replaces_an_older_one_and_leaves_other_files(tmp_path):
    zoo.save(OURS["sequence"](PCG32(1)), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    zoo.save(OURS["modern"](PCG32(2)), tmp_path)
    assert isinstance(zoo.load(tmp_path), ModernForMLM)
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "gpt2"}, "expected a model of bert, electra or modernbert, got model_type 'gpt2'"),
        (
            {"model_type": ["bert"]},
            r"expected a model of bert, electra or modernbert, got model_type \['bert'\]",
        ),
        ({}, "expected a model of bert, electra or modernbert, got a config.json without model_type"),
        (
            {"model_type": "bert", "architectures": ["BertForQuestionAnswering"]},
            r"of model_type 'bert' expected BertForMaskedLM, .* or BertForTokenClassification, got "
            r"\['BertForQuestionAnswering'\]",
        ),
        (
            {"model_type": "electra", "architectures": ["ElectraForMaskedLM"]},
            r"of model_type 'electra' expected ElectraForPreTraining, got \['ElectraForMaskedLM'\]",
        ),
    ],
)
def test_what_it_cannot_load_is_said_in_a_sentence(config, said, tmp_path):
    zoo.save(OURS["electra"](PCG32(1)), tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=said) as caught:
        zoo.load(tmp_path)
    assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("name", ["token", "electra", "modern"])
def test_all_that_is_wrong_is_in_one_error(name, tmp_path):
    zoo.save(OURS[name](PCG32(1)), tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    lost = sorted(weights)[-1]
    weights["odd"] = weights.pop(lost)
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError) as caught:
        zoo.load(tmp_path)
    assert f"missing: {lost}: " in str(caught.value) and "unexpected: odd: " in str(caught.value)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"num_attention_heads": 3, "hidden_act": "relu", "hidden_activation": "relu"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError) as caught:
        zoo.load(tmp_path)
    assert all(word in str(caught.value) for word in ("num_attention_heads", "'relu'", "an empty file"))


def test_more_layers_than_the_weights_can_hold_are_refused_before_they_are_made(tmp_path):
    zoo.save(OURS["electra"](PCG32(1)), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | {"num_hidden_layers": 2**30}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="num_hidden_layers: expected at most"):
        zoo.load(tmp_path)


def test_files_that_are_not_there_or_not_what_they_say(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a directory with a checkpoint"):
        zoo.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match=r"refused for a model of the zoo(?s:.*)config.json"):
        zoo.load(tmp_path)
    (tmp_path / "config.json").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(CheckpointError, match="a Git LFS pointer"):
        zoo.load(tmp_path)
    with pytest.raises(TypeError, match="dir: expected a path, got NoneType"):
        zoo.load(None)


@pytest.mark.parametrize("name", OURS)
def test_the_dropout_can_be_chosen(name, tmp_path):
    zoo.save(OURS[name](PCG32(1)), tmp_path)
    model = zoo.load(tmp_path, dropout=0.25)
    assert model.config.dropout == 0.25
    assert {m.p for m in model.modules() if isinstance(m, nn.Dropout)} == {0.25}
    with pytest.raises(ValueError, match="dropout"):
        zoo.load(tmp_path, dropout=1.5)


@pytest.mark.parametrize("model", [BertEncoder(SIZES), nn.Linear(2, 2), None])
def test_what_cannot_be_saved(model, tmp_path):
    with pytest.raises(TypeError, match=r"model: expected a BertForMLM, .* or ModernForMLM, got"):
        zoo.save(model, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_modern_model_that_is_no_modernbert_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="expected rope, geglu and pre_norm"):
        zoo.save(ModernForMLM(modern_config(SIZES, "rope")), tmp_path / "new")
    with pytest.raises(ValueError, match="dir: expected a directory, got a file"):
        (tmp_path / "file").write_text("x")
        zoo.save(OURS["modern"](PCG32(0)), tmp_path / "file")
    assert not (tmp_path / "new").exists()
