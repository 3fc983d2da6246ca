"""Heads: parity with Hugging Face in both, what comes in and is refused, and how they start."""

import json

import numpy as np
import pytest
import torch
import transformers
from theirs import BOUNDS, hf_sizes, noisy

from bert_lab import PCG32, BertConfig, BertEncoder, BertForMLM, normal_init
from bert_lab.beyond.heads import (
    BertForSequenceClassification,
    BertForTokenClassification,
    config_from_hf,
    config_to_hf,
    hf_names,
    load_hf_heads,
)
from bert_lab.hf.report import CheckpointError, CheckpointTypeError

transformers.utils.logging.disable_progress_bar()

HEADS = {"sequence": BertForSequenceClassification, "token": BertForTokenClassification}
# vocab, max_len, d_model, n_heads, n_layers, d_ff, type_vocab, labels
SHAPES = {
    "small": (40, 12, 8, 2, 2, 16, 2, 3),
    "odd sizes, one type": (101, 9, 15, 3, 1, 7, 1, 2),
    "a head a number": (33, 10, 24, 24, 2, 48, 3, 9),
    "narrow and deep": (17, 6, 6, 2, 5, 1, 2, 20),
}
SMALL = BertConfig(40, 12, 8, 2, 2, 16, 2, dropout=0.0)

both = pytest.mark.parametrize("kind", HEADS)


def pair(kind: str, shape: str = "small", dtype: torch.dtype = torch.float32):
    """Their model with random values everywhere, and ours with the same."""
    *sizes, n_labels = SHAPES[shape]
    make = getattr(transformers, HEADS[kind].__name__)
    theirs = make(
        transformers.BertConfig(
            **hf_sizes(*sizes),
            pad_token_id=None,  # theirs would not train its row
            num_labels=n_labels,
        )
    ).to(dtype)
    noisy(theirs, len(shape), std=0.3)
    ours = HEADS[kind](BertConfig(*sizes), n_labels).to(dtype)
    load_hf_heads(ours, theirs.state_dict())
    return theirs.eval(), ours.eval()


def batch(kind: str, shape: str = "small") -> dict[str, torch.Tensor]:
    """Rows of every length down to one, with token types and labels."""
    vocab, max_len, *_, type_vocab, n_labels = SHAPES[shape]
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([max_len - 2, max_len, 1, 3])
    size = (len(lengths), max_len)
    mask = (torch.arange(max_len) < lengths[:, None]).long()
    asked = (torch.rand(size, generator=generator) < 0.7) & (mask == 1)
    labels = torch.randint(n_labels, size, generator=generator)
    return {
        "ids": torch.randint(vocab, size, generator=generator),
        "token_type_ids": torch.randint(type_vocab, size, generator=generator),
        "attn_mask": mask,
        "labels": labels[:, 0] if kind == "sequence" else labels.where(asked, -100),
    }


def theirs_takes(batch: dict) -> dict:
    renamed = {"ids": "input_ids", "attn_mask": "attention_mask"}
    return {renamed.get(name, name): value for name, value in batch.items()}


# ---- parity


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
@both
def test_logits_loss_and_every_gradient_agree(kind, shape, dtype):
    theirs, ours = pair(kind, shape, dtype)
    inputs, bound = batch(kind, shape), BOUNDS[dtype]
    expected = theirs(**theirs_takes(inputs))
    logits, loss = ours(**inputs)
    assert logits.dtype == dtype and expected.logits.std() > 0.1  # not a comparison of zeros
    real = inputs["attn_mask"].bool() if kind == "token" else slice(None)
    assert logits.shape == expected.logits.shape
    assert (logits - expected.logits)[real].abs().max() < bound
    assert (loss - expected.loss).abs() < bound
    expected.loss.backward()
    loss.backward()
    parameters = dict(ours.named_parameters())
    wants = hf_names(ours).expected
    theirs_by_name = dict(theirs.named_parameters())
    assert {want.key for want in wants.values()} == theirs_by_name.keys()
    assert [want.key for want in wants.values()] == list(theirs_by_name)
    for name, want in wants.items():
        grad = theirs_by_name[want.key].grad
        assert (parameters[name].grad - grad).abs().max() < bound, name
        assert grad.abs().max() > 1e-6 or name.endswith("key.bias") or shape == "narrow and deep", name


@both
def test_without_a_mask_and_types_too(kind):
    theirs, ours = pair(kind)
    inputs = batch(kind)
    logits, loss = ours(inputs["ids"])
    assert loss is None
    assert (logits - theirs(inputs["ids"]).logits).abs().max() < 1e-5
    again, _ = ours(inputs["ids"].numpy(), labels=None, token_type_ids=np.zeros((4, 12), int))
    assert torch.equal(again, logits)


# ---- the state dicts that come in


def old_names(sd: dict) -> dict:
    """As they were written in 2019: norms with gamma and beta, and a buffer of positions."""
    renamed = {
        key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for key, value in sd.items()
    }
    return {**renamed, "bert.embeddings.position_ids": torch.arange(12)[None]}


def bare(sd: dict) -> dict:
    return {key.removeprefix("bert."): value for key, value in sd.items()}


@both
@pytest.mark.parametrize("written", [old_names, bare], ids=["old names", "no prefix"])
def test_other_ways_to_write_a_state_dict(kind, written):
    theirs, ours = pair(kind)
    other = HEADS[kind](ours.config, 3, PCG32(7)).eval()
    load_hf_heads(other, written(theirs.state_dict()))
    for name, p in other.named_parameters():
        assert torch.equal(p, ours.get_parameter(name)), name


def refusal(model, sd, error=CheckpointError) -> str:
    """The message; the model is as it was."""
    before = {name: p.clone() for name, p in model.named_parameters()}
    with pytest.raises(error) as caught:
        load_hf_heads(model, sd)
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())
    return str(caught.value)


def test_a_head_for_something_else_is_refused():
    sequence, token = (pair(kind)[0].state_dict() for kind in HEADS)
    told = refusal(BertForTokenClassification(SMALL, 3), sequence)
    assert "unexpected: bert.pooler.dense.weight" in told
    assert (
        "these are the weights of a BertForSequenceClassification with 3 labels, and the model is a "
        "BertForTokenClassification with 3 labels"
    ) in told
    told = refusal(BertForSequenceClassification(SMALL, 4), token)
    assert "missing: bert.pooler.dense.weight: expected a value of shape [8, 8]" in told
    assert "shape: classifier.weight: expected [4, 8], got [3, 8]" in told
    assert "of a BertForTokenClassification with 3 labels, and the model is a Bert" in told
    told = refusal(BertForSequenceClassification(SMALL, 2), sequence)
    assert "BertForSequenceClassification with 3 labels, and the model is a BertForSequenceC" in told


def test_other_weights_are_refused():
    theirs = transformers.BertForMaskedLM(pair("token")[0].config)
    told = refusal(BertForTokenClassification(SMALL, 3), theirs.state_dict())
    assert "missing: classifier.weight: expected a value of shape [3, 8]" in told
    assert "hint: the encoder is complete: from_encoder puts a new head on one" in told
    sd = pair("token")[0].state_dict()
    sd["classifier.bias"] = sd["classifier.bias"].int()
    assert "type: classifier.bias" in refusal(BertForTokenClassification(SMALL, 3), sd, CheckpointTypeError)
    sd = pair("token")[0].state_dict()
    del sd["bert.encoder.layer.1.output.dense.bias"]
    told = refusal(BertForTokenClassification(SMALL, 3), {**sd, 5: sd["classifier.bias"]})
    assert "missing: bert.encoder.layer.1.output.dense.bias" in told and "from_encoder" not in told
    assert "weights of a" not in told
    with pytest.raises(TypeError, match="sd: expected a mapping from names to tensors, got list"):
        load_hf_heads(BertForTokenClassification(SMALL, 3), [])
    with pytest.raises(TypeError, match="model: expected one of the models with a head, got BertForMLM"):
        load_hf_heads(BertForMLM(SMALL), sd)


# ---- forward


@both
def test_a_row_does_not_depend_on_its_batch(kind):
    _, ours = pair(kind, dtype=torch.float64)
    inputs = batch(kind)
    logits, _ = ours(**inputs)
    if kind == "token":
        assert not logits[inputs["attn_mask"] == 0].any()
    for b, length in enumerate(inputs["attn_mask"].sum(1).tolist()):
        alone, _ = ours(inputs["ids"][b : b + 1, :length], inputs["token_type_ids"][b : b + 1, :length])
        in_batch = logits[b : b + 1] if kind == "sequence" else logits[b : b + 1, :length]
        assert (alone - in_batch).abs().max() < 1e-12
    other = dict(inputs, ids=inputs["ids"].where(inputs["attn_mask"] == 1, 7))
    assert torch.equal(ours(**other)[0], logits)


def test_a_sequence_needs_its_first_position():
    model = BertForSequenceClassification(SMALL, 3)
    ids, mask = torch.ones(3, 4, dtype=torch.long), torch.tensor([[1, 1, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]])
    with pytest.raises(ValueError, match=r"attn_mask: expected a real first position .*got padding in row 1"):
        model(ids, attn_mask=mask)
    with pytest.raises(ValueError, match=r"attn_mask: .* got padding in row 0"):
        model(torch.ones(2, 0, dtype=torch.long))
    # The first position alone, where others in the middle are padding.
    mask[1] = torch.tensor([1, 0, 0, 1])
    logits, _ = model(ids, attn_mask=mask)
    positions = model(ids[1:2], attn_mask=mask[1:2])[0]
    assert (logits[1:2] - positions).abs().max() < 1e-6


@pytest.mark.parametrize(
    "labels, error, match",
    [
        ([0, 3], ValueError, r"labels: expected ids from 0 to 2, got 3"),
        ([0, -100], ValueError, r"labels: expected ids from 0 to 2, got -100"),
        ([0], ValueError, r"labels: expected the shape \[2\], got \[1\]"),
        ([[0], [1]], ValueError, r"labels: expected the shape \[2\], got \[2, 1\]"),
        ([0.0, 1.0], TypeError, "labels: expected integers, got float64"),
    ],
)
def test_labels_of_sequences_that_do_not_fit(labels, error, match):
    with pytest.raises(error, match=match):
        BertForSequenceClassification(SMALL, 3)([[1, 2], [3, 4]], labels=labels)


@pytest.mark.parametrize(
    "labels, error, match",
    [
        ([[0, 3]], ValueError, r"labels: .* 0 to 2, got 3 at labels\[0\]\[1\]"),
        ([[0, -1]], ValueError, r"labels: .* 0 to 2, got -1 at labels\[0\]\[1\]"),
        ([0, 1], ValueError, r"labels: expected the shape of ids, \[1, 2\], got \[2\]"),
        ([[0.5, 1]], TypeError, "labels: expected integers, got float64"),
    ],
)
def test_labels_of_tokens_that_do_not_fit(labels, error, match):
    model = BertForTokenClassification(SMALL, 3)
    with pytest.raises(error, match=match):
        model([[1, 2]], labels=labels)
    with pytest.raises(ValueError, match=r"labels: expected -100 at padding, got 1 at labels\[0\]\[1\]"):
        model([[1, 2]], attn_mask=[[1, 0]], labels=[[0, 1]])


def test_where_nothing_is_asked_the_loss_is_zero():
    for model, ids, labels in (
        (BertForTokenClassification(SMALL, 3), [[1, 2]], [[-100, -100]]),
        (BertForSequenceClassification(SMALL, 3), np.zeros((0, 2), int), np.zeros(0, int)),
        (BertForSequenceClassification(SMALL, 3), np.zeros((0, 0), int), np.zeros(0, int)),
    ):
        _, loss = model(ids, labels=labels)
        assert loss.item() == 0
        loss.backward()
        assert all(p.grad is not None and not p.grad.any() for p in model.parameters())


# ---- first weights


@both
def test_the_first_weights_are_drawn_in_the_order_of_the_parameters(kind):
    model, rng = HEADS[kind](SMALL, 3, PCG32(5)), PCG32(5)
    encoder = BertEncoder(SMALL, rng)
    head = {name: p for name, p in model.named_parameters() if not name.startswith("encoder.")}
    names = ["pooler.weight", "pooler.bias", "classifier.weight", "classifier.bias"]
    assert list(head) == (names if kind == "sequence" else names[2:])
    assert list(dict(model.named_parameters())) == [
        *(f"encoder.{name}" for name, _ in encoder.named_parameters()),
        *head,
    ]
    assert all(torch.equal(p, model.encoder.get_parameter(name)) for name, p in encoder.named_parameters())
    for name, p in head.items():
        if name.endswith("weight"):
            assert np.array_equal(p.detach().numpy(), normal_init(tuple(p.shape), 0.02, rng))
        else:
            assert not p.any()
    default, zero = HEADS[kind](SMALL, 3), HEADS[kind](SMALL, 3, PCG32(0))
    assert torch.equal(default.classifier.weight, zero.classifier.weight)


@both
def test_the_dropout_before_the_classifier(kind):
    config = BertConfig(40, 12, 8, 2, 2, 16, dropout=0.25)
    assert HEADS[kind](config, 2).drop.p == 0.25
    assert HEADS[kind](config, 2, classifier_dropout=0.5).drop.p == 0.5
    model = HEADS[kind](SMALL, 2, classifier_dropout=0.5)
    torch.manual_seed(0)
    rows = [[1, 2, 3]] * 8
    assert not torch.equal(model(rows)[0], model(rows)[0])
    model.eval()
    assert torch.equal(model(rows)[0], model(rows)[0])


@both
@pytest.mark.parametrize(
    "arguments, error, match",
    [
        ((SMALL, 1), ValueError, "n_labels: expected an integer from 2 to .*, got 1"),
        ((SMALL, 2.0), TypeError, "n_labels: expected an integer, got 2.0"),
        (("small", 2), TypeError, "config: expected a BertConfig, got str"),
        ((SMALL, 2, None, 1.0), ValueError, r"classifier_dropout: expected a probability in \[0, 1\), got 1"),
        ((SMALL, 2, None, "no"), TypeError, "classifier_dropout: expected a number, got 'no'"),
        ((SMALL, 2, 0.5), TypeError, "rng"),
    ],
)
def test_arguments_that_do_not_fit(kind, arguments, error, match):
    with pytest.raises(error, match=match):
        HEADS[kind](*arguments)


@both
@pytest.mark.parametrize("source", ["MLM", "encoder", "head"])
def test_a_new_head_on_a_trained_encoder(kind, source):
    trained = {
        "MLM": BertForMLM,
        "encoder": BertEncoder,
        "head": lambda config, rng: BertForTokenClassification(config, 7, rng),
    }[source](SMALL, PCG32(1))
    trained = trained.double().eval()
    encoder = getattr(trained, "encoder", trained)
    encoder.word.weight.grad = torch.ones_like(encoder.word.weight)
    before = {name: p.clone() for name, p in trained.named_parameters()}
    model = HEADS[kind].from_encoder(trained, 3, PCG32(2), classifier_dropout=0.5)
    assert type(model) is HEADS[kind] and model.drop.p == 0.5
    assert all(module.training for module in model.modules())
    assert all(p.dtype == torch.float64 and p.grad is None for p in model.parameters())
    fresh = HEADS[kind](SMALL, 3, PCG32(2))
    for name, p in model.named_parameters():
        expected = encoder.get_parameter(name.removeprefix("encoder.")) if "encoder." in name else None
        assert torch.equal(p, fresh.get_parameter(name).double() if expected is None else expected), name
    with torch.no_grad():
        for p in model.parameters():
            p.add_(1)
    assert all(torch.equal(p, before[name]) for name, p in trained.named_parameters())
    assert not trained.training and encoder.word.weight.grad.any()


@both
def test_what_has_no_encoder_cannot_have_a_head(kind):
    for source in (torch.nn.Linear(2, 2), transformers.BertModel(pair("token")[0].config), SMALL):
        with pytest.raises(TypeError, match="source: expected a BertEncoder or a model with one, got"):
            HEADS[kind].from_encoder(source, 2)
    with pytest.raises(ValueError, match="n_labels"):
        HEADS[kind].from_encoder(BertEncoder(SMALL), 0)


# ---- configs


def content(**changes) -> dict:
    """What transformers writes into a config.json, and changes to it; None takes a field away."""
    written = json.loads(pair("sequence")[0].config.to_json_string())
    return {key: value for key, value in {**written, **changes}.items() if value is not None}


def test_a_config_says_what_a_model_is_made_with():
    (config, *rest), problems = config_from_hf(content())
    assert not problems and config == BertConfig(40, 12, 8, 2, 2, 16, 2, dropout=0.1)
    assert rest == [3, None, None]
    (config, *rest), problems = config_from_hf(content(classifier_dropout=0.5))
    assert not problems and rest == [3, None, 0.5]
    (config, *rest), problems = config_from_hf(content(classifier_dropout=0.5), 0.2)
    assert not problems and config.dropout == 0.2 and rest == [3, None, None]
    for changes, n_labels in (
        ({"id2label": None}, 2),
        ({"id2label": None, "num_labels": 5}, 5),
        ({"num_labels": 3, "problem_type": "single_label_classification"}, 3),
    ):
        (_, *rest), problems = config_from_hf(content(**changes))
        assert not problems and rest[0] == n_labels


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"problem_type": "regression"}, "problem_type: .*, one label each, got 'regression'"),
        ({"problem_type": "multi_label_classification"}, "problem_type: .*, got 'multi_label"),
        ({"id2label": {"0": "LABEL_0"}}, "id2label: expected at least 2 labels, got 1"),
        ({"id2label": None, "num_labels": 1}, "num_labels: expected at least 2 labels, got 1"),
        ({"id2label": None, "num_labels": 2.5}, "num_labels: expected an integer, got 2.5"),
        ({"id2label": ["a", "b"]}, "id2label: expected labels by number, got list"),
        ({"num_labels": 4}, "num_labels: expected 3, as many as id2label has, got 4"),
        ({"classifier_dropout": 1.5}, r"classifier_dropout: expected a probability in \[0, 1\), got 1.5"),
        ({"classifier_dropout": "no"}, "classifier_dropout: expected a number, got 'no'"),
        ({"hidden_size": None}, "hidden_size: expected a value, got no such field"),
    ],
)
def test_a_config_of_another_model(changes, match):
    _, problems = config_from_hf(content(**changes))
    with pytest.raises(ValueError, match=match):
        raise ValueError("; ".join(map(str, problems)))
    assert len(problems) == 1


@both
def test_a_config_that_is_written_is_read_by_both(kind):
    model = HEADS[kind](SMALL, 5, classifier_dropout=0.25).half()
    written = config_to_hf(model, HEADS[kind].__name__)
    arguments, problems = config_from_hf(json.loads(json.dumps(written)))
    assert not problems and arguments == (SMALL, 5, None, 0.25)
    config = transformers.BertConfig.from_dict(written)
    theirs = getattr(transformers, written["architectures"][0])(config)
    assert theirs.num_labels == 5 and theirs.dropout.p == 0.25
    keys = {want.key for want in hf_names(model).expected.values()}
    assert keys == dict(theirs.named_parameters()).keys()


def test_a_pooler_that_a_token_model_does_not_use_is_known():
    names = hf_names(BertForTokenClassification(SMALL, 2))
    assert names.extra("bert.pooler.dense.weight") == "the pooler"
    assert names.extra("bert.embeddings.position_ids") and names.extra("bert.pooler.x") is None
    assert hf_names(BertForSequenceClassification(SMALL, 2)).extra("bert.pooler.dense.weight") is None
