"""The model: its properties, and what it refuses. `test_plain` compares it with the plain reference."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import TINY, batch_of, lively, model_of

from bert_lab import (
    PCG32,
    BertConfig,
    BertEncoder,
    BertForMLM,
    BertLayer,
    WordPieceTokenizer,
    attention_maps,
    fill_mask,
    influence,
    mlm_batch,
    normal_init,
)

# --- configuration


def test_the_defaults_are_those_of_bert_base():
    config = BertConfig(30522)
    assert (config.max_len, config.d_model, config.n_heads, config.n_layers) == (512, 768, 12, 12)
    assert (config.d_ff, config.type_vocab, config.dropout, config.ln_eps) == (3072, 2, 0.1, 1e-12)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"d_model": 10, "n_heads": 3}, ValueError, "d_model: expected a multiple of n_heads, 3, got 10"),
        ({"n_heads": 0}, ValueError, "n_heads: .* got 0"),
        ({"n_heads": -1}, ValueError, "n_heads: .* got -1"),
        ({"vocab": 0}, ValueError, "vocab"),
        ({"n_layers": 0}, ValueError, "n_layers"),
        ({"max_len": -5}, ValueError, "max_len"),
        ({"type_vocab": 0}, ValueError, "type_vocab"),
        ({"vocab": 2**31}, ValueError, "vocab: .* got 2147483648"),
        ({"d_ff": 1.5}, TypeError, "d_ff: expected an integer, got 1.5"),
        ({"d_model": True}, TypeError, "d_model"),
        ({"vocab": "40"}, TypeError, "vocab"),
        ({"dropout": 1.0}, ValueError, "dropout: .* got 1.0"),
        ({"dropout": -0.1}, ValueError, "dropout"),
        ({"dropout": math.nan}, ValueError, "dropout"),
        ({"dropout": None}, TypeError, "dropout"),
        ({"ln_eps": 0.0}, ValueError, "ln_eps"),
        ({"ln_eps": math.inf}, ValueError, "ln_eps"),
    ],
)
def test_a_config_refuses_what_cannot_work(change, error, message):
    with pytest.raises(error, match=message):
        BertConfig(**{"vocab": 40, **change})


@pytest.mark.parametrize("kind", [BertLayer, BertEncoder, BertForMLM])
def test_a_model_needs_a_config(kind):
    with pytest.raises(TypeError, match="config: expected a BertConfig, got dict"):
        kind({"vocab": 40})


# --- the formula


def test_every_norm_uses_the_small_epsilon():
    norms = [module for module in model_of().modules() if isinstance(module, torch.nn.LayerNorm)]
    assert len(norms) == 2 + 2 * TINY.n_layers
    row = torch.tensor([1e-3, -1e-3, 0, 0], dtype=torch.float64).repeat(3)
    for norm in norms:
        torch.nn.init.ones_(norm.weight)
        torch.nn.init.zeros_(norm.bias)
        assert norm(row)[0].item() == pytest.approx(math.sqrt(2), abs=1e-5)  # 0.309 with 1e-5


# --- padding


@settings(max_examples=20)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_a_padded_row_equals_the_row_alone(lengths):
    model = model_of()
    ids, types, mask, _ = batch_of(lengths)
    logits, _ = model(ids, types, mask)
    for b, n in enumerate(lengths):
        alone, _ = model(ids[b : b + 1, :n], types[b : b + 1, :n])
        torch.testing.assert_close(logits[b, :n], alone[0], atol=1e-10, rtol=0)
        assert (logits[b, n:] == 0).all()


def test_the_bare_encoder_returns_what_the_head_reads():
    model = model_of()
    ids, types, mask, _ = batch_of([4, 2])
    h = model.encoder(ids, types, mask)
    assert h.shape == (2, 4, 12)
    assert (h[1, 2:] == 0).all()
    torch.testing.assert_close(model.head(h)[mask == 1], model(ids, types, mask)[0][mask == 1])


def test_padding_anywhere_in_a_row_and_any_kind_of_mask():
    model = model_of()
    ids, types, _, _ = batch_of([6, 6])
    mask = torch.tensor([[0, 1, 1, 0, 1, 1], [1, 1, 1, 1, 1, 0]])
    want = model(ids, types, mask)[0]
    kinds = [
        mask.bool(),
        mask.float(),
        mask.to(torch.bfloat16),
        mask.to(torch.uint8),
        mask.numpy(),
        mask.tolist(),
    ]
    for kind in [*kinds, mask[:, None, None, :]]:
        torch.testing.assert_close(model(ids, types, kind)[0], want, atol=0, rtol=0)
    assert (want[mask == 0] == 0).all()


def test_what_stands_on_padding_is_never_read():
    model = model_of()
    with torch.no_grad():
        model.encoder.word.weight[7] = math.nan  # nothing that touches it stays finite
    ids, types, mask, _ = batch_of([5, 3])
    ids[ids == 7] = 8
    clean = model(ids, types, mask)[0]
    ids[1, 3:], types[1, 3:] = 7, 1
    dirty, _ = model(ids, types, mask)
    torch.testing.assert_close(dirty[:, :, :7], clean[:, :, :7], atol=0, rtol=0)


def test_rows_without_a_real_position_are_zero_with_finite_gradients():
    model = lively(BertForMLM(TINY)).double()
    ids, types, mask, labels = batch_of([4, 4])
    mask[1], labels[1] = 0, -100
    logits, loss = model(ids, types, mask, labels)
    assert (logits[1] == 0).all()
    loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    nothing, loss = model(ids, types, torch.zeros_like(mask), torch.full_like(labels, -100))
    assert (nothing == 0).all()
    assert loss.item() == 0.0


@pytest.mark.parametrize("shape", [(0, 5), (2, 0)])
def test_empty_batches(shape):
    model = model_of()
    logits, loss = model(torch.zeros(shape, dtype=torch.long), labels=torch.zeros(shape, dtype=torch.long))
    assert logits.shape == (*shape, 40)
    assert loss.item() == 0.0


# --- the loss


@pytest.mark.parametrize("lengths", [[6, 6], [7, 2, 4]])
def test_mlm_loss_has_the_loss_and_gradients_of_forward(lengths):
    model = model_of()
    ids, types, mask, labels = batch_of(lengths)
    loss = model(ids, types, mask, labels)[1]
    loss.backward()
    want = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    other = model.mlm_loss(ids, types, mask, labels)
    other.backward()
    assert other.item() == pytest.approx(loss.item(), abs=1e-13)
    for parameter, gradient in zip(model.parameters(), want, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, atol=1e-12, rtol=1e-9)


def test_the_loss_is_a_mean_over_labelled_positions():
    model = model_of()
    ids, _, _, _ = batch_of([3])
    each = [
        model(ids, labels=torch.tensor([[9 if t == place else -100 for t in range(3)]]))[1]
        for place in (0, 1)
    ]
    both = model(ids, labels=torch.tensor([[9, 9, -100]]))[1]
    assert both.item() == pytest.approx((each[0] + each[1]).item() / 2)


@pytest.mark.parametrize("way", ["forward", "mlm_loss"])
def test_nothing_labelled_is_exactly_zero_with_zero_gradients(way):
    model = lively(BertForMLM(TINY))
    ids, types, mask, labels = batch_of([5, 2])
    labels[:] = -100
    out = getattr(model, way)(ids, types, mask, labels)
    loss = out[1] if way == "forward" else out
    assert loss.item() == 0.0
    loss.backward()
    assert all((p.grad == 0).all() for p in model.parameters())


def test_a_batch_from_text_without_picks():
    tok = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat"])
    batch = mlm_batch(tok, ["the cat", "the"], 8, 0.0, PCG32(1))
    loss = model_of().mlm_loss(
        batch["input_ids"], batch["token_type_ids"], batch["attention_mask"], batch["labels"]
    )
    assert loss.item() == 0.0


# --- both directions, types, dropout, types of numbers


def test_every_position_reads_every_other():
    moved = influence(model_of(), torch.arange(5, 11)[None])
    assert (moved > 1e-6).all()


def test_token_types_are_added_and_default_to_the_first():
    model = model_of()
    ids = torch.arange(5, 9)[None]
    plain = model(ids)[0]
    torch.testing.assert_close(model(ids, torch.zeros_like(ids))[0], plain, atol=0, rtol=0)
    assert (model(ids, torch.ones_like(ids))[0] - plain).abs().max() > 1e-3


def test_dropout_is_for_training_alone():
    config = BertConfig(40, 16, 12, 3, 2, 20, dropout=0.5)
    model = lively(BertForMLM(config))
    ids = torch.arange(5, 9)[None]
    assert not torch.equal(model(ids)[0], model(ids)[0])
    model.eval()
    assert torch.equal(model(ids)[0], model(ids)[0])


def test_bfloat16_runs_and_is_near():
    ids, types, mask, labels = batch_of([6, 3])
    loss = model_of(dtype=torch.float64).mlm_loss(ids, types, mask, labels)
    near = model_of(dtype=torch.bfloat16).mlm_loss(ids, types, mask, labels)
    near.backward()
    assert near.dtype == torch.bfloat16
    assert near.item() == pytest.approx(loss.item(), rel=0.05)


# --- parameters


def test_parameter_names_and_order():
    layer = ["attention.query", "attention.key", "attention.value", "attention.output", "attention_norm"]
    layer += ["ff_in", "ff_out", "ff_norm"]
    want = [f"encoder.{table}.weight" for table in ("word", "position", "token_type")]
    parts = ["encoder.norm", *(f"encoder.layers.{i}.{part}" for i in range(2) for part in layer)]
    want += [
        f"{part}.{leaf}" for part in [*parts, "transform", "transform_norm"] for leaf in ("weight", "bias")
    ]
    assert [name for name, _ in BertForMLM(TINY).named_parameters()] == [*want, "decoder_bias"]
    assert set(BertForMLM(TINY).state_dict()) == {*want, "decoder_bias"}
    bare = [name.removeprefix("encoder.") for name in want if name.startswith("encoder.")]
    assert [name for name, _ in BertEncoder(TINY).named_parameters()] == bare


def test_first_weights_come_from_one_stream_in_parameter_order():
    model, rng = BertForMLM(TINY, PCG32(9)), PCG32(9)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert (parameter == 0).all()
        elif "norm" in name:
            assert (parameter == 1).all()
        else:
            want = normal_init(tuple(parameter.shape), 0.02, rng)
            np.testing.assert_array_equal(parameter.detach().numpy(), want)
    first = BertForMLM(TINY).encoder.word.weight[0, :3].tolist()
    assert first == pytest.approx([-0.0050207055, -0.031500369, 0.022197152], rel=1e-6)


def test_the_decoder_is_the_word_table():
    model = model_of()
    ids = torch.tensor([[5, 6]])
    before = model(ids)[0]
    with torch.no_grad():
        model.encoder.word.weight[30] += 1  # no input id: only the decoder reads this row
    changed = (model(ids)[0] - before).abs().amax(dim=(0, 1))
    assert changed[30] > 0.1
    assert (changed[:30] == 0).all()


def test_bert_base_is_made():
    model = BertEncoder(BertConfig(30522, n_layers=1))
    assert model.word.weight.std().item() == pytest.approx(0.02, rel=0.01)


# --- what can be looked at


def test_attention_maps_reproduce_what_forward_computes():
    model = model_of()
    ids, types, mask, _ = batch_of([6, 3])
    maps = attention_maps(model, ids, types, mask)
    assert maps.shape == (2, 2, 3, 6, 6)
    real = mask[:, None, :].double()
    torch.testing.assert_close(maps.sum(-1), real.expand(2, 2, 3, 6))
    assert (maps[:, 1, :, 3:] == 0).all()
    assert (maps[:, 1, :, :, 3:] == 0).all()
    # weights @ values is what attention returns in the first layer
    attention = model.encoder.layers[0].attention
    batch = model.encoder.batch_of(ids, types, mask)
    h = model.encoder.embed(batch)
    _, _, values = batch.heads(attention.project(h))
    context = (maps[0] @ values).transpose(1, 2).flatten(-2)
    torch.testing.assert_close(batch.take(context), attention(h, batch))


def test_looking_changes_nothing_and_uses_no_dropout():
    model = BertForMLM(BertConfig(40, 16, 12, 3, 2, 20, dropout=0.5))
    model.transform.eval()
    ids = torch.arange(5, 9)[None]
    assert torch.equal(attention_maps(model, ids), attention_maps(model, ids))
    assert torch.equal(influence(model, ids), influence(model, ids))
    assert model.training
    assert not model.transform.training
    assert not attention_maps(model.encoder, ids).requires_grad


def test_influence_is_triangular_under_a_causal_mask_and_zero_at_padding():
    model = model_of(dtype=torch.float32)
    ids, _, mask, _ = batch_of([8])
    causal = torch.ones(8, 8, dtype=torch.bool).tril()
    moved = influence(model, ids, allowed=causal)
    assert (moved.triu(1) == 0).all()
    assert (moved.tril()[causal] > 0).all()
    torch.testing.assert_close(influence(model, ids, allowed=causal.numpy()), moved)
    mask[0, 5:] = 0
    moved = influence(model, ids, attn_mask=mask)
    assert (moved[:, 5:] == 0).all()
    assert (moved[5:] == 0).all()
    assert (moved[:5, :5] > 0).all()
    both = influence(model, ids, attn_mask=mask, allowed=causal)
    assert (both.triu(1) == 0).all()


def test_influence_of_the_last_id_wraps_around():
    assert (influence(model_of(), torch.tensor([[39, 5]]))[:, 0] > 0).all()


def test_a_layer_under_an_allowed_array():
    layer = lively(BertLayer(TINY))
    h = torch.from_numpy(normal_init((1, 4, 12), 1.0, PCG32(3)))
    own = layer(h, torch.eye(4, dtype=torch.bool))
    alone = torch.cat([layer(h[:, t : t + 1]) for t in range(4)], dim=1)
    torch.testing.assert_close(own, alone)


def test_fill_mask():
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat"]
    tok, model = WordPieceTokenizer(pieces), model_of()
    with torch.no_grad():
        model.decoder_bias[:] = -5.0
        model.decoder_bias[7], model.decoder_bias[39] = 500.0, 400.0  # 39 is no piece of the tokenizer's
    first, second = fill_mask(model, tok, "the [MASK] [MASK]", top_k=3)
    assert len(first) == len(second) == 3
    assert first[0] == ("sat", pytest.approx(1.0))
    assert all(piece in pieces for piece, _ in first)
    assert [p for _, p in first] == sorted((p for _, p in first), reverse=True)
    for top_k in (1, 8):  # as many as there are pieces
        assert [len(best) for best in fill_mask(model, tok, "[MASK]", top_k)] == [top_k]
    for text, top_k, message in (
        ("the cat", 3, r"expected at least one \[MASK\]"),
        ("[MASK]", 0, "top_k: .* got 0"),
        ("[MASK]", 9, "top_k: .* got 9"),
        ("[MASK] " + "the " * 20, 3, r"T <= 16, got \[1, 23\]"),
    ):
        with pytest.raises(ValueError, match=message):
            fill_mask(model, tok, text, top_k)
    with pytest.raises(ValueError, match="expected at most 40 pieces, got 41"):
        fill_mask(model, WordPieceTokenizer([*pieces, *(f"w{i}" for i in range(33))]), "[MASK]")


# --- bad input

IDS = torch.tensor([[2, 5, 6, 3]])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"ids": torch.tensor([[2, 40]])},
            ValueError,
            r"ids: expected ids from 0 to 39, got 40 at ids\[0\]\[1\]",
        ),
        ({"ids": torch.tensor([[2, -1]])}, ValueError, "ids: .* got -1"),
        ({"ids": torch.tensor([[2.0, 5.0]])}, TypeError, "ids: expected integers, got float32"),
        ({"ids": torch.tensor([[True]])}, TypeError, "ids: expected integers, got bool"),
        ({"ids": "the cat"}, TypeError, "ids: expected a list"),
        ({"ids": torch.tensor([2, 5])}, ValueError, r"ids: expected \[B, T\] with T <= 16, got \[2\]"),
        ({"ids": torch.zeros(1, 17, dtype=torch.long)}, ValueError, r"T <= 16, got \[1, 17\]"),
        (
            {"token_type_ids": torch.full((1, 4), 2)},
            ValueError,
            "token_type_ids: expected ids from 0 to 1, got 2",
        ),
        (
            {"token_type_ids": torch.zeros(1, 3, dtype=torch.long)},
            ValueError,
            r"token_type_ids: expected the shape of ids, \[1, 4\], got \[1, 3\]",
        ),
        (
            {"attn_mask": torch.ones(4)},
            ValueError,
            r"attn_mask: expected \[B, T\] or \[B, 1, 1, T\] .* got \[4\]",
        ),
        ({"attn_mask": torch.ones(1, 5)}, ValueError, r"for ids \[1, 4\], got \[1, 5\]"),
        ({"attn_mask": torch.ones(1, 4, 4)}, ValueError, r"got \[1, 4, 4\]"),
        ({"attn_mask": torch.ones(1, 1, 4, 4)}, ValueError, r"got \[1, 1, 4, 4\]"),
        (
            {"ids": IDS.repeat(2, 1), "attn_mask": torch.ones(1, 4)},
            ValueError,
            r"for ids \[2, 4\], got \[1, 4\]",
        ),
        (
            {"attn_mask": torch.tensor([[1, 2, 1, 1]])},
            ValueError,
            "attn_mask: expected booleans or 0/1, got 2",
        ),
        (
            {"attn_mask": torch.tensor([[0.0, -1e9, 0.0, 0.0]])},
            ValueError,
            "attn_mask: expected booleans or 0/1",
        ),
        ({"attn_mask": torch.ones(1, 4, dtype=torch.complex64)}, TypeError, "attn_mask: .* got complex64"),
        (
            {"labels": torch.tensor([[-100, 40, -100, -100]])},
            ValueError,
            r"labels: .* got 40 at labels\[0\]\[1\]",
        ),
        (
            {"labels": torch.tensor([[-1, 5, -100, -100]])},
            ValueError,
            "labels: expected -100 or an id from 0 to 39, got -1",
        ),
        (
            {"labels": torch.tensor([[5, 5]])},
            ValueError,
            r"labels: expected the shape of ids, \[1, 4\], got \[1, 2\]",
        ),
        ({"labels": torch.tensor([[5.0] * 4])}, TypeError, "labels: expected integers, got float32"),
        (
            {"labels": IDS, "attn_mask": torch.tensor([[1, 1, 0, 1]])},
            ValueError,
            "expected -100 at padding, got 6",
        ),
    ],
)
def test_bad_input_is_named(arguments, error, message):
    model = model_of()
    with pytest.raises(error, match=message):
        model(**{"ids": IDS, **arguments})


def test_labels_are_needed_for_mlm_loss():
    with pytest.raises(TypeError, match="labels: expected a list, NumPy array or CPU tensor, got NoneType"):
        model_of().mlm_loss(IDS)


def test_bad_allowed_and_sentences_are_named():
    model, layer, h = model_of(), lively(BertLayer(TINY)), torch.zeros(1, 4, 12)
    with pytest.raises(TypeError, match=r"allowed: expected booleans, got torch\.float32"):
        layer(h, torch.ones(4, 4))
    with pytest.raises(ValueError, match="allowed: expected at least one position"):
        layer(h, torch.zeros(4, 4, dtype=torch.bool))
    with pytest.raises(TypeError, match="allowed"):
        attention_maps(model, IDS, allowed=torch.ones(4, 4))
    with pytest.raises(TypeError, match="model: expected a BertEncoder or a BertForMLM, got BertLayer"):
        influence(layer, IDS)
    with pytest.raises(TypeError, match="model: expected a BertForMLM, got BertEncoder"):
        fill_mask(model.encoder, None, "[MASK]")
    with pytest.raises(ValueError, match=r"expected one sentence, \[1, T\], got \[2, 4\]"):
        influence(model, IDS.repeat(2, 1))


def test_inputs_of_every_integer_type_are_left_alone():
    model = model_of()
    want = model(IDS)[0]
    for ids in (
        IDS.to(torch.uint8),
        IDS.to(torch.int16),
        IDS.numpy(),
        IDS.numpy().astype(">u4"),
        IDS.tolist(),
    ):
        torch.testing.assert_close(model(ids)[0], want, atol=0, rtol=0)
    frozen = IDS.numpy().copy()
    frozen.flags.writeable = False
    model(frozen, labels=frozen)
    assert IDS.tolist() == [[2, 5, 6, 3]]


def test_many_rows_are_attended_in_parts_of_like_length():
    model = model_of()
    lengths = [3, 9, 1, 7, 7, 2, 8, 5, 4, 6, 9, 2]
    ids, types, mask, _ = batch_of(lengths)
    mask[1, 0] = 0  # padding in front
    mask[5] = 0  # and a row of padding alone
    groups = model.encoder.batch_of(ids, types, mask).groups
    assert [group.shape[1] for group in groups] == [3, 7, 9]
    more = model.encoder.batch_of(*(part.repeat(2, 1) for part in (ids, types, mask))).groups
    assert [group.shape[0] for group in more] == [6, 6, 6, 6]
    odd = model.encoder.batch_of(*(part.repeat(2, 1)[1:] for part in (ids, types, mask))).groups
    assert [group.shape[0] for group in odd] == [6, 6, 6, 5]
    logits, _ = model(ids, types, mask)
    for b in range(len(lengths)):
        alone, _ = model(ids[b : b + 1], types[b : b + 1], mask[b : b + 1])
        torch.testing.assert_close(logits[b], alone[0], atol=1e-10, rtol=0)
    causal = torch.ones(9, 9, dtype=torch.bool).tril()
    maps = attention_maps(model, ids, types, mask, allowed=causal)
    assert (maps.triu(1) == 0).all()


@pytest.mark.parametrize("kind", [BertLayer, BertEncoder, BertForMLM])
def test_weights_come_from_seed_0_where_no_generator_is_given(kind):
    first, second = kind(TINY).state_dict(), kind(TINY, PCG32(0)).state_dict()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
