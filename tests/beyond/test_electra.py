"""ELECTRA: parity with transformers, pieces drawn draw for draw, shared tables, who learns where."""

import math
import warnings

import numpy as np
import pytest
import torch
import transformers
from theirs import BOUNDS, hf_sizes, noisy

from bert_lab.beyond.electra import (
    BATCH,
    Electra,
    ElectraConfig,
    ElectraDiscriminator,
    ElectraEncoder,
    config_from_hf,
    generator_config,
    hf_names,
    load_hf_electra,
    sample_replacements,
    trained_positions,
)
from bert_lab.hf.report import CheckpointError
from bert_lab.masking import IGNORE, mlm_mask
from bert_lab.model import BertConfig, BertEncoder, BertForMLM
from bert_lab.rng import PCG32, ScriptedDraws, sample_categorical
from bert_lab.training.fitting import fit

CONFIG = BertConfig(50, 16, 8, 2, 4, 16, dropout=0.0)
MASK_ID, SPECIALS = 4, 5  # ids below 5 are special


def masked(p=0.3, seed=1, lengths=(16, 9, 4), split=(1, 0, 0)):
    """A batch of rows of different lengths as `mlm_mask` makes it, and the text."""
    rng = PCG32(seed)
    real = np.arange(max(lengths)) < np.array(lengths)[:, None]
    text = np.array([[SPECIALS + rng.below(45) for _ in row] for row in real])
    text[:, 0] = 2
    text[~real] = 0
    inputs, labels = mlm_mask(text, text < SPECIALS, MASK_ID, 50, p, rng, split=split)
    types = np.where(real & (np.arange(max(lengths)) > 2), 1, 0)
    return dict(zip(BATCH, (inputs, types, real.astype(int), labels), strict=True)), text


# ---- parity with transformers


# vocab, max_len, d_model, n_heads, n_layers, d_ff, type_vocab, d_embedding; the id whose row stays as it is
SHAPES = {
    "tables as wide as the layers": (40, 12, 8, 2, 2, 16, 2, 8, 0),
    "narrower tables": (101, 9, 24, 3, 1, 7, 1, 6, None),
    "wider tables": (33, 10, 12, 4, 2, 48, 3, 20, 5),
    "a table of one number": (64, 11, 20, 1, 3, 80, 2, 1, None),
}
BINARY = torch.nn.functional.binary_cross_entropy_with_logits


def pair(shape: str, dtype: torch.dtype):
    """Their discriminator with random values everywhere, and ours with the same."""
    *sizes, d_embedding, pad = SHAPES[shape]
    theirs = transformers.ElectraForPreTraining(
        transformers.ElectraConfig(
            **hf_sizes(*sizes),
            embedding_size=d_embedding,
            pad_token_id=pad,
        )
    ).to(dtype)
    noisy(theirs, len(shape))
    ours = ElectraDiscriminator(ElectraConfig(*sizes, d_embedding=d_embedding)).to(dtype)
    load_hf_electra(ours, theirs.state_dict())
    return theirs.eval(), ours.eval()


def judged(shape: str) -> dict[str, torch.Tensor]:
    """Rows of every length down to one, with token types, and a 0 or 1 at each real position."""
    vocab, max_len, *_, type_vocab, _, _ = SHAPES[shape]
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([max_len, max_len - 2, 3, 1])
    size = (len(lengths), max_len)
    mask = (torch.arange(max_len) < lengths[:, None]).long()
    return {
        "input_ids": torch.randint(vocab, size, generator=generator),
        "token_type_ids": torch.randint(type_vocab, size, generator=generator),
        "attention_mask": mask,
        "labels": torch.randint(2, size, generator=generator).masked_fill(mask == 0, IGNORE),
    }


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_logits_loss_and_gradients_are_those_of_transformers(shape, dtype):
    theirs, ours = pair(shape, dtype)
    batch = judged(shape)
    want = theirs(**batch)
    logits, loss = ours(*(batch[name] for name in BATCH))
    real = batch["attention_mask"] == 1
    assert (logits - want.logits)[real].abs().max() < BOUNDS[dtype]
    assert (logits[~real] == 0).all() and logits.dtype == dtype
    # Theirs turns labels into float32, and with them the loss; the same mean without that has all its digits.
    want_loss = BINARY(want.logits[real], batch["labels"][real].to(dtype))
    assert abs(loss - want.loss) < 1e-6 and abs(loss - want_loss) < BOUNDS[dtype]

    want_loss.backward()
    loss.backward()
    gradients = {name: p.grad for name, p in theirs.named_parameters()}
    pad = SHAPES[shape][-1]
    for name, p in ours.named_parameters():
        ids = torch.arange(len(p)) != pad if name == "encoder.word.weight" else slice(None)
        difference = (p.grad - gradients.pop(hf_names(ours).expected[name].key))[ids]
        assert difference.abs().max() < BOUNDS[dtype], name
    assert not gradients


@pytest.mark.parametrize("shape", SHAPES)
def test_without_a_mask_too(shape):
    theirs, ours = pair(shape, torch.float64)
    batch = judged(shape)
    some = {"input_ids": batch["input_ids"][:2], "labels": (batch["labels"][:2] == 1).long()}
    want = theirs(**some)
    logits, loss = ours(some["input_ids"], labels=some["labels"])
    assert (logits - want.logits).abs().max() < 1e-10 and abs(loss - want.loss) < 1e-6
    assert abs(loss - BINARY(want.logits, some["labels"].double())) < 1e-10
    assert ours(some["input_ids"])[1] is None


# ---- loading


def test_a_load_is_all_or_nothing():
    theirs, ours = pair("narrower tables", torch.float32)
    before = {name: p.clone() for name, p in ours.named_parameters()}
    sd = {name: value + 1 for name, value in theirs.state_dict().items()}
    del sd["electra.embeddings_project.bias"]
    sd["discriminator_predictions.dense_prediction.weight"] = torch.zeros(24, 1)
    sd["generator_predictions.dense.weight"] = torch.zeros(2, 2)
    with pytest.raises(CheckpointError) as error:
        load_hf_electra(ours, sd)
    wrong = [line.strip() for line in str(error.value).splitlines()]
    assert wrong[0] == "refused for ElectraDiscriminator: 1 missing, 1 shape, 1 unexpected"
    assert wrong[1].startswith("missing: electra.embeddings_project.bias")
    assert wrong[2].startswith("shape: discriminator_predictions.dense_prediction.weight: expected [1, 24], ")
    assert wrong[3].startswith("unexpected: generator_predictions.dense.weight")
    for name, p in ours.named_parameters():
        assert torch.equal(p, before[name])


def test_values_are_cast_and_buffers_ignored():
    theirs, _ = pair("narrower tables", torch.float64)
    vocab, max_len, d_model, n_heads, n_layers, d_ff, types, e, _ = SHAPES["narrower tables"]
    ours = ElectraDiscriminator(
        ElectraConfig(vocab, max_len, d_model, n_heads, n_layers, d_ff, types, d_embedding=e)
    )
    sd = {**theirs.state_dict(), "electra.embeddings.position_ids": torch.arange(max_len)[None]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_hf_electra(ours, sd)
    assert torch.equal(ours.encoder.project.weight, theirs.electra.embeddings_project.weight.float())
    sd["electra.embeddings.position_ids"] = torch.arange(max_len)[None] + 2
    with pytest.warns(UserWarning, match="position_ids is not a buffer of 0, 1, 2") as told:
        load_hf_electra(ours, sd)
    assert told[0].filename == __file__


def test_what_cannot_be_loaded_into():
    with pytest.raises(TypeError, match="model: expected an ElectraDiscriminator, got BertForMLM"):
        load_hf_electra(BertForMLM(CONFIG), {})
    with pytest.raises(TypeError, match="sd: expected a mapping from names to tensors, got list"):
        load_hf_electra(ElectraDiscriminator(CONFIG), [])


@pytest.mark.parametrize("shape", SHAPES)
def test_their_config_is_read(shape):
    theirs, ours = pair(shape, torch.float32)
    config, problems = config_from_hf({**theirs.config.to_dict(), "architectures": ["ElectraForPreTraining"]})
    assert problems == [] and config == ours.config
    assert config_from_hf(theirs.config.to_dict(), 0.3)[0].dropout == 0.3


def test_configs_of_other_models_are_refused_with_all_that_is_wrong():
    content = transformers.ElectraConfig().to_dict()
    config, problems = config_from_hf({**content, "architectures": ["ElectraForMaskedLM"]})
    assert config is None
    assert [str(p) for p in problems] == [
        "config: architectures: expected ['ElectraForPreTraining'], the discriminator: a generator has done "
        "its work when the pair is trained, and is not loaded, got ['ElectraForMaskedLM']"
    ]
    del content["embedding_size"]
    config, problems = config_from_hf({**content, "model_type": "bert", "hidden_act": "relu"})
    assert config is None and [p.where for p in problems] == ["model_type", "hidden_act", "embedding_size"]


# ---- the discriminator


def test_a_bert_config_makes_a_bert_encoder():
    plain = ElectraDiscriminator(CONFIG, PCG32(3))
    assert type(plain.encoder) is BertEncoder
    names = list(dict(ElectraDiscriminator(CONFIG).named_parameters()))
    assert names[:3] == ["encoder.word.weight", "encoder.position.weight", "encoder.token_type.weight"]
    assert names[-4:] == ["transform.weight", "transform.bias", "prediction.weight", "prediction.bias"]
    same = ElectraDiscriminator(ElectraConfig(**vars(CONFIG)), PCG32(3))  # e = d: no projection
    assert type(same.encoder) is ElectraEncoder and same.config.d_embedding == 8
    for (name, a), (other, b) in zip(plain.named_parameters(), same.named_parameters(), strict=True):
        assert name == other and torch.equal(a, b)
    first = dict(BertForMLM(CONFIG, PCG32(3)).named_parameters())
    for name, p in plain.encoder.named_parameters():
        assert torch.equal(p, first[f"encoder.{name}"])


def test_the_projection_comes_after_the_norm_in_name_and_in_draws():
    encoder = ElectraEncoder(ElectraConfig(**vars(CONFIG), d_embedding=3), PCG32(3))
    names = list(dict(encoder.named_parameters()))
    assert names[3:8] == [
        "norm.weight", "norm.bias", "project.weight", "project.bias", "layers.0.attention.query.weight",
    ]  # fmt: skip
    assert encoder.project.weight.shape == (8, 3) and encoder.word.weight.shape == (50, 3)
    assert not encoder.project.bias.any()
    values = torch.cat([p.flatten() for n, p in encoder.named_parameters() if p.dim() == 2])
    assert abs(values.std() - 0.02) < 0.001


def test_padding_is_never_read_nor_judged():
    model = ElectraDiscriminator(ElectraConfig(**vars(CONFIG), d_embedding=3)).eval()
    batch, _ = masked()
    labels = np.where(batch["attention_mask"] == 1, batch["input_ids"] % 2, IGNORE)
    first = model(*list(batch.values())[:3], labels)
    batch["input_ids"][batch["attention_mask"] == 0] = 49
    second = model(*list(batch.values())[:3], labels)
    assert torch.equal(first[0], second[0]) and torch.equal(first[1], second[1])
    assert (first[0][batch["attention_mask"] == 0] == 0).all()


def test_nothing_asked_is_a_loss_of_zero_with_zero_gradients():
    model = ElectraDiscriminator(CONFIG)
    _, loss = model([[5, 6]], labels=[[IGNORE, IGNORE]])
    loss.backward()
    assert loss.item() == 0.0
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())


@pytest.mark.parametrize(
    ("labels", "kind", "text"),
    [
        ([[2, 0]], ValueError, r"labels: expected -100 or an id from 0 to 1, got 2 at labels\[0\]\[0\]"),
        ([[0, 0]], ValueError, r"labels: expected -100 at padding, got 0 at labels\[0\]\[1\]"),
        ([[0]], ValueError, r"labels: expected the shape of ids, \[1, 2\], got \[1, 1\]"),
        ([[0.5, 0.5]], TypeError, "labels: expected integers, got float64"),
    ],
)
def test_labels_that_do_not_fit(labels, kind, text):
    with pytest.raises(kind, match=text):
        ElectraDiscriminator(CONFIG)([[5, 6]], attn_mask=[[1, 0]], labels=labels)


def test_configs_that_do_not_fit():
    with pytest.raises(ValueError, match="d_embedding: expected an integer from 1 to 2147483647, got 0"):
        ElectraConfig(50, d_embedding=0)
    with pytest.raises(TypeError, match="d_embedding: expected an integer, got "):
        ElectraConfig(50, d_embedding=8.0)
    with pytest.raises(ValueError, match="n_layers: expected an integer from 1"):
        ElectraConfig(50, n_layers=0)
    with pytest.raises(TypeError, match="config: expected an ElectraConfig, got BertConfig"):
        ElectraEncoder(CONFIG)
    with pytest.raises(TypeError, match="config: expected a BertConfig, got dict"):
        ElectraDiscriminator({})


# ---- drawing


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
def test_pieces_are_drawn_as_by_sample_categorical_in_a_loop(dtype):
    noise = torch.randn(300, 40, generator=torch.Generator().manual_seed(0))
    logits = (5 * noise).to(dtype)
    logits[:, 7] = -math.inf
    rng, twin = PCG32(9), PCG32(9)
    drawn = sample_replacements(logits, rng)
    rows = logits.double().softmax(-1).tolist()
    assert drawn.tolist() == [sample_categorical(row, twin.uniform()) for row in rows]
    assert rng == twin and drawn.dtype == torch.int64
    assert len(set(drawn.tolist())) > 20 and 7 not in drawn


def test_pieces_come_as_often_as_the_softmax_says():
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0])
    counts = np.bincount(sample_replacements(logits.expand(20_000, 4), PCG32(5)), minlength=4)
    p = logits.double().softmax(-1).numpy()
    assert (abs(counts - 20_000 * p) < 4 * np.sqrt(20_000 * p * (1 - p))).all()


def test_a_uniform_a_row_and_the_sum_must_exceed_it():
    rng = ScriptedDraws(uniforms=[0.0, 0.25, 0.5, 0.75, np.nextafter(0.25, 0)])
    assert sample_replacements(torch.zeros(5, 4), rng).tolist() == [0, 1, 2, 3, 0]
    rng.finish()


def test_the_sums_are_of_float64():
    logits = torch.randn(1, 40, generator=torch.Generator().manual_seed(2))
    sums = logits.double().softmax(-1).numpy().cumsum()[:-1]
    u = [*sums, *np.nextafter(sums, 0)]
    drawn = sample_replacements(logits.expand(len(u), 40), ScriptedDraws(u))
    assert drawn.tolist() == [*range(1, 40), *range(39)]


def test_no_draw_goes_past_the_last_piece_that_has_a_chance():
    logits = torch.linspace(0, 3, 1000).repeat(1, 1)
    logits[:, 990:] = -math.inf
    sums = logits.double().softmax(-1).numpy().cumsum()
    u = np.nextafter(1.0, 0)
    assert sums[-1] <= u  # rounding leaves a gap
    assert sample_replacements(logits, ScriptedDraws([u])).tolist() == [989]


def test_a_generator_that_changes_its_draws_is_asked_for_them():
    class Low(PCG32):
        def uniform(self):
            return 0.0

    assert sample_replacements(torch.zeros(3, 4), Low(1)).tolist() == [0, 0, 0]
    assert sample_replacements(torch.zeros(0, 4), PCG32(1)).shape == (0,)


@pytest.mark.parametrize(
    ("logits", "kind", "text"),
    [
        ([[0.0]], TypeError, "logits: expected a tensor of floating-point numbers, got list"),
        (torch.zeros(1, 2).long(), TypeError, "logits: .*, got torch.int64"),
        (torch.zeros(2), ValueError, r"logits: expected \[M, V\] with V >= 1, got \[2\]"),
        (torch.zeros(2, 0), ValueError, r"got \[2, 0\]"),
        (torch.tensor([[0.0, math.nan]]), ValueError, "logits: expected numbers with a softmax"),
        (torch.tensor([[0.0, math.inf]]), ValueError, "logits: expected numbers with a softmax"),
        (torch.full((1, 2), -math.inf), ValueError, "logits: expected numbers with a softmax"),
    ],
)
def test_logits_that_do_not_fit_draw_nothing(logits, kind, text):
    rng = PCG32(1)
    with pytest.raises(kind, match=text):
        sample_replacements(logits, rng)
    assert rng == PCG32(1)


@pytest.mark.parametrize("rng", [None, 5, PCG32, np.random.default_rng(0).random])
def test_what_is_no_generator(rng):
    with pytest.raises(TypeError, match=r"rng: expected a generator with uniform\(\)"):
        sample_replacements(torch.zeros(1, 2), rng)


# ---- the pair


def slow_corruption(model: Electra, batch, text, rng):
    """Position by position: what is drawn, what is shown then, and which pieces are not the text's."""
    logits, _ = model.generator(*list(batch.values())[:3])
    ids, replaced, sampled = text.copy(), np.full(text.shape, IGNORE), []
    for b, t in np.ndindex(text.shape):
        if batch["attention_mask"][b, t]:
            if batch["labels"][b, t] != IGNORE:
                ids[b, t] = sample_categorical(logits[b, t].double().softmax(-1).tolist(), rng.uniform())
                sampled.append(ids[b, t])
            replaced[b, t] = ids[b, t] != text[b, t]
    return sampled, ids, replaced


@pytest.mark.parametrize("lengths", [(16, 9, 4), (9, 16, 4, 16, 2), (7, 7)], ids=str)
@pytest.mark.parametrize("p", [0.3, 1.0])
def test_corruption_is_that_of_a_loop(p, lengths):
    model = Electra(CONFIG, rng=PCG32(4)).double()
    with torch.no_grad():
        model.generator.decoder_bias[10:12] += 6  # so that some draws meet the text
    batch, text = masked(p, lengths=lengths)
    text[text >= 40] = 10
    batch["labels"][batch["labels"] >= 40] = 10
    batch["input_ids"][batch["input_ids"] >= 40] = 10
    before = {name: values.copy() for name, values in batch.items()}
    rng, twin = PCG32(8), PCG32(8)
    got = model.corrupt(batch, rng)
    sampled, ids, replaced = slow_corruption(model, batch, text, twin)
    assert got.sampled.tolist() == sampled and rng == twin
    assert got.ids.tolist() == ids.tolist() and got.replaced.tolist() == replaced.tolist()
    assert got.inputs.tolist() == batch["input_ids"].tolist()
    assert got.blanks.tolist() == (batch["labels"] != IGNORE).tolist()
    assert all(np.array_equal(batch[name], before[name]) for name in batch)
    at_blanks = got.replaced[got.blanks]
    assert at_blanks.any()
    assert p < 1 or not at_blanks.all()  # some are filled with the text's own piece, and count as the text's
    assert not got.replaced[~got.blanks].eq(1).any()
    loss = model.generator(*batch.values())[1]
    assert abs(got.generator_loss - loss) < 1e-12


def test_special_pieces_are_never_replaced():
    model = Electra(CONFIG)
    batch, text = masked(1.0)
    got = model.corrupt({name: torch.tensor(values) for name, values in batch.items()}, PCG32(8))
    special = torch.tensor(text < SPECIALS)
    assert torch.equal(got.ids[special], torch.tensor(text)[special])
    assert not got.replaced[special].eq(1).any() and not got.blanks[special].any()


def test_a_batch_that_is_masked_otherwise_has_the_same_text():
    model = Electra(CONFIG)
    batch, text = masked(0.9, split=(0.2, 0.4, 0.4))
    got = model.corrupt(batch, PCG32(8))
    assert got.ids[~got.blanks].tolist() == text[~got.blanks.numpy()].tolist()
    real = batch["attention_mask"] == 1
    assert got.replaced.numpy()[real].tolist() == (got.ids.numpy() != text)[real].tolist()


def test_the_losses_are_weighted_by_fifty():
    batch, _ = masked()
    for weight, model in ((50, Electra(CONFIG)), (3, Electra(CONFIG, weight=3))):
        losses = model.step(batch, PCG32(8))
        got = model.corrupt(batch, PCG32(8))
        judged = model.discriminator(got.ids, batch["token_type_ids"], batch["attention_mask"], got.replaced)
        assert torch.equal(losses.discriminator, judged[1])
        assert torch.equal(losses.generator, got.generator_loss)
        assert torch.equal(losses.total, got.generator_loss + weight * judged[1])


def test_a_batch_may_be_without_types_and_mask():
    batch, _ = masked(lengths=(7, 7))
    bare = {name: batch[name] for name in ("input_ids", "labels")}
    full = {**bare, "token_type_ids": np.zeros((2, 7), int), "attention_mask": np.ones((2, 7), int)}
    model = Electra(CONFIG)
    assert model.step(bare, PCG32(8)) == model.step(full, PCG32(8))


def test_without_blanks_the_generator_has_nothing_to_do():
    batch, text = masked(0.0)
    model, rng = Electra(CONFIG), PCG32(8)
    losses = model.step(batch, rng)
    assert losses.generator.item() == 0.0 and rng == PCG32(8)
    assert model.corrupt(batch, rng).ids.tolist() == text.tolist()
    losses.total.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_the_tables_are_shared_and_nothing_else():
    model = Electra(CONFIG)
    mine, theirs = model.discriminator.encoder, model.generator.encoder
    shared = {id(p) for p in mine.parameters()} & {id(p) for p in theirs.parameters()}
    assert shared == {id(table.weight) for table in (mine.word, mine.position, mine.token_type)}
    names = list(dict(model.named_parameters()))
    assert len(names) == len(dict(model.discriminator.named_parameters())) + (
        len(dict(model.generator.named_parameters())) - 3
    )
    assert names[0] == "discriminator.encoder.word.weight"


def test_both_losses_reach_the_tables_and_each_its_own_model():
    batch, _ = masked()
    model = Electra(CONFIG)
    parts = {}
    for name in ("generator", "discriminator"):
        model.zero_grad()
        getattr(model.step(batch, PCG32(8)), name).backward()
        parts[name] = {n: p.grad for n, p in model.named_parameters()}
    tables = [f"discriminator.encoder.{table}.weight" for table in ("word", "position", "token_type")]
    for name, gradients in parts.items():
        for parameter, gradient in gradients.items():
            own = parameter in tables or parameter.startswith(name)
            assert (gradient is not None and bool(gradient.any())) == own or "key.bias" in parameter, (
                parameter
            )
            assert own or gradient is None
    model.zero_grad()
    model.step(batch, PCG32(8)).total.backward()
    for table in tables:
        both = parts["generator"][table] + 50 * parts["discriminator"][table]
        assert torch.allclose(model.get_parameter(table).grad, both, rtol=1e-4, atol=1e-7)


def test_weights_are_drawn_for_the_discriminator_first():
    model = Electra(CONFIG, rng=PCG32(6))
    for name, p in ElectraDiscriminator(CONFIG, PCG32(6)).named_parameters():
        assert torch.equal(p, model.discriminator.get_parameter(name))
    rng = PCG32(6)
    ElectraDiscriminator(CONFIG, rng)
    assert torch.equal(
        BertForMLM(generator_config(CONFIG), rng).transform.weight, model.generator.transform.weight
    )


def test_the_generator_is_smaller_and_as_wide_as_the_tables():
    assert generator_config(CONFIG) == BertConfig(50, 16, 8, 2, 2, 4, dropout=0.0)
    assert generator_config(BertConfig(50, 16, 8, 2, 1, 1)) == BertConfig(50, 16, 8, 2, 1, 1)
    narrow = ElectraConfig(50, 16, 12, 6, 4, 16, 1, 0.0, 1e-5, d_embedding=8)
    assert generator_config(narrow) == BertConfig(50, 16, 8, 2, 2, 4, 1, 0.0, 1e-5)
    model = Electra(narrow)
    assert model.generator.encoder.word is model.discriminator.encoder.word
    batch, _ = masked()
    model.step({**batch, "token_type_ids": None}, PCG32(8)).total.backward()
    assert model.discriminator.encoder.project.weight.grad.any()


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"vocab": 51}, "generator: expected vocab 50, that of the tables, got 51"),
        ({"max_len": 17}, "generator: expected max_len 16"),
        ({"type_vocab": 3}, "generator: expected type_vocab 2"),
        ({"d_model": 4}, "generator: expected d_model 8, that of the tables, got 4"),
    ],
)
def test_a_generator_that_cannot_share_the_tables(sizes, text):
    with pytest.raises(ValueError, match=text):
        Electra(CONFIG, BertConfig(**{**vars(CONFIG), **sizes}))
    with pytest.raises(ValueError, match="generator: expected d_embedding 8, that of the tables, got 4"):
        Electra(CONFIG, ElectraConfig(**vars(CONFIG), d_embedding=4))


def test_what_makes_no_pair():
    with pytest.raises(TypeError, match="config: expected a BertConfig, got NoneType"):
        Electra(None)
    with pytest.raises(TypeError, match="config: expected a BertConfig, got NoneType"):
        generator_config(None)
    with pytest.raises(TypeError, match="config: expected a BertConfig, got int"):
        Electra(CONFIG, 3)
    for weight in (-1, math.inf):
        with pytest.raises(ValueError, match="weight: expected a finite number >= 0, got"):
            Electra(CONFIG, weight=weight)
    with pytest.raises(TypeError, match="weight: expected a number"):
        Electra(CONFIG, weight="50")


def test_batches_that_do_not_fit():
    model, rng = Electra(CONFIG), PCG32(1)
    batch, _ = masked()
    with pytest.raises(TypeError, match="batch: expected a mapping from names to arrays, got list"):
        model.step(list(batch.values()), rng)
    with pytest.raises(ValueError, match="batch: expected input_ids and labels, got none called labels"):
        model.corrupt({"input_ids": batch["input_ids"]}, rng)
    with pytest.raises(ValueError, match="labels: expected -100 at padding"):
        model.step({**batch, "labels": np.full((3, 16), 5)}, rng)
    with pytest.raises(ValueError, match="ids: expected ids from 0 to 49, got 50"):
        model.step({**batch, "input_ids": np.full((3, 16), 50)}, rng)
    with pytest.raises(TypeError, match="rng: expected a generator"):
        model.step(batch, None)
    assert rng == PCG32(1)


def test_every_real_position_teaches_the_discriminator_and_the_blanks_alone_the_other():
    batch, _ = masked()
    values = list(batch.values())
    real, blanks = int(batch["attention_mask"].sum()), int((batch["labels"] != IGNORE).sum())
    assert trained_positions(BertForMLM(CONFIG), *values) == (blanks, real)
    model = Electra(CONFIG)
    got = model.corrupt(batch, PCG32(8))
    with torch.no_grad():
        assert trained_positions(model.discriminator, got.ids, *values[1:3], got.replaced) == (real, real)
    assert all(p.grad is None for p in model.parameters())
    assert 0 < blanks < real / 2
    with pytest.raises(TypeError, match="expected a BertForMLM or an ElectraDiscriminator, got Electra"):
        trained_positions(model, *values)
    with pytest.raises(ValueError, match=r"labels: expected integers \[B, T\], got none"):
        trained_positions(model.discriminator, *values[:3])


def test_the_pair_learns():
    """Four rows: the generator comes to know what can stand where, the discriminator what fits the others."""
    text = np.array([[5], [9], [13], [17]]) + np.arange(12)
    model, draws = Electra(BertConfig(50, 12, 32, 2, 2, 64, dropout=0.0)), PCG32(1)
    history = []

    def loss_of(step):
        rng = PCG32(step)
        rows = text[[rng.below(4) for _ in range(8)]]
        inputs, labels = mlm_mask(rows, rows < SPECIALS, MASK_ID, 50, 0.15, rng, split=(1, 0, 0))
        losses = model.step({"input_ids": inputs, "labels": labels}, draws)
        history.append([loss.item() for loss in losses])
        return losses.total

    fit(model, 200, loss_of, peak=3e-3)
    first, last = np.array(history[:5]).mean(0)[1:], np.array(history[-30:]).mean(0)[1:]
    assert first[0] > 3.7 and last[0] < 2.6  # nats; a blind guess has 3.9
    assert first[1] > 0.6 and last[1] < 0.3
    for place, piece in ((5, 48), (7, 14)):
        broken = text[:1].copy()
        broken[0, place] = piece
        logits, _ = model.discriminator(broken)
        assert (logits[0] > 0).nonzero().tolist() == [[place]]
