"""The plain reference is the specification: the package gives what it gives, and refuses the same."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

import bert_lab
from bert_lab.course import plain, test_bert
from bert_lab.course.handout import PARTS
from bert_lab.fast_masking import mask_in_blocks
from bert_lab.masking import _mask_one_by_one
from bert_lab.wordpiece import SPECIAL_TOKENS

BOTH = pytest.mark.parametrize("bert", [bert_lab, plain], ids=["package", "plain"])
COURSE_TESTS = [test for name, test in vars(test_bert).items() if name.startswith("test_")]
SIZES = {"max_len": 16, "d_model": 12, "n_heads": 3, "n_layers": 2, "d_ff": 20, "dropout": 0.0}

seeds = st.integers(0, 2**64 - 1)
vocabularies = st.sampled_from([1, 2, 5, 40, 30522, 2**31, 2**31 + 1, 3 * 2**30, 2**32 - 1])
probabilities = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.15, 0.4, 2**-32, 1 - 2**-32]))
splits = (
    st.lists(st.integers(0, 10), min_size=3, max_size=3)
    .filter(any)
    .map(lambda parts: tuple(part / sum(parts) for part in parts))
)


@pytest.mark.parametrize("course_test", COURSE_TESTS, ids=lambda test: test.__name__)
def test_it_passes_the_course_tests(course_test):
    course_test(plain)


def test_it_holds_every_name_of_the_contract():
    names = (*PARTS["whole"], "PCG32", "sample_categorical", "normal_init")
    assert [name for name in names if getattr(plain, name).__module__ != plain.__name__] == []


def test_it_can_be_read_at_one_sitting():
    assert len(Path(plain.__file__).read_text(encoding="utf-8").splitlines()) < 450


# --- draws


@given(seeds, st.integers(0, 2**63 - 1), vocabularies)
@example(2**64 - 1, 2**63 - 1, 40)
def test_the_generator(seed, stream, n):
    fast, slow = bert_lab.PCG32(seed, stream), plain.PCG32(seed, stream)
    assert (fast.state, fast.inc) == (slow.state, slow.inc)
    for _ in range(4):
        assert fast.next_u32() == slow.next_u32()
        assert fast.uniform() == slow.uniform()
        assert fast.below(n) == slow.below(n)
    assert (fast.state, fast.inc) == (slow.state, slow.inc)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any), st.integers(0, 2**32 - 1))
@example([7, 1, 2, 0], 2**32 - 1)  # 0.7 + 0.1 + 0.2 rounds to just below 1
@example([1, 1], 2**31)  # a draw that equals a cumulative weight goes on to the next
def test_the_categorical(parts, raw):
    weights = [part / sum(parts) for part in parts]
    u = raw * 2**-32
    assert bert_lab.sample_categorical(weights, u) == plain.sample_categorical(weights, u)


@given(seeds, st.integers(0, 40), st.sampled_from([0.02, 0.5, 3.0]))
def test_the_normals_within_one_float32_ulp(seed, count, std):
    fast, slow = bert_lab.PCG32(seed), plain.PCG32(seed)
    ours, theirs = bert_lab.normal_init(count, std, fast), plain.normal_init((count,), std, slow)
    assert ours.shape == theirs.shape
    assert (np.abs(ours - theirs) <= np.spacing(np.abs(theirs))).all()
    assert fast.state == slow.state  # an odd count uses the whole last pair


# --- masking and batches


@settings(max_examples=300)
@given(st.lists(st.booleans(), max_size=60), vocabularies, probabilities, seeds, splits)
@example([], 40, 0.15, 0, (0.8, 0.1, 0.1))
@example([False], 2**31 + 1, 1.0, 3, (0.0, 1.0, 0.0))
def test_the_masking_bit_for_bit(special, vocab, p, seed, split):
    ids = np.arange(len(special)) % vocab
    slow = plain.PCG32(seed)
    want = plain.mlm_mask(ids, np.array(special, bool), 0, vocab, p, slow, split=split)
    for mask in (mask_in_blocks, _mask_one_by_one):
        fast = bert_lab.PCG32(seed)
        got = mask(ids, np.array(special, bool), 0, vocab, p, fast, split)
        np.testing.assert_array_equal(got, want)
        assert fast.state == slow.state
    rows = bert_lab.PCG32(seed)
    got = bert_lab.mlm_mask(ids[None], np.array(special, bool)[None], 0, vocab, p, rows, split=split)
    np.testing.assert_array_equal(np.concatenate(got), want)
    assert rows.state == slow.state


TOK = bert_lab.WordPieceTokenizer([*SPECIAL_TOKENS, "the", "cat", "sat", "on", "a", "mat", "##s", "b"])
SHUFFLED = bert_lab.WordPieceTokenizer(
    ["a", "[SEP]", "[MASK]", "the", "[UNK]", "mat", "[PAD]", "##s", "[CLS]"]
)
SIDES = st.lists(st.sampled_from(["the", "cats", "mat", "zebra", *SPECIAL_TOKENS]), max_size=9).map(" ".join)
TEXTS = st.lists(st.one_of(SIDES, st.tuples(SIDES, SIDES)), min_size=1, max_size=5)


@given(TEXTS, st.integers(3, 24), st.sampled_from([0.0, 0.15, 0.5, 1.0]), seeds, splits)
def test_the_batches_bit_for_bit(texts, max_len, p, seed, split):
    for tok in (TOK, SHUFFLED):
        fast, slow = bert_lab.PCG32(seed), plain.PCG32(seed)
        got = bert_lab.mlm_batch(tok, texts, max_len, p, fast, split=split)
        want = plain.mlm_batch(tok, texts, max_len, p, slow, split=split)
        assert list(got) == list(want)
        for key, array in want.items():
            assert got[key].dtype == array.dtype == np.int64
            np.testing.assert_array_equal(got[key], array, err_msg=key)
        assert fast.state == slow.state
        assert bert_lab.special_ids(tok) == plain.special_ids(tok)


# --- the model


def twins(dtype=torch.float64, std=0.4):
    """A model of each kind, in eval mode, with the same weights, large enough for all to matter."""
    fast, slow = (bert.BertForMLM(bert.BertConfig(40, **SIZES)) for bert in (bert_lab, plain))
    rng = bert_lab.PCG32(7)
    for (name, ours), (same, theirs) in zip(fast.named_parameters(), slow.named_parameters(), strict=True):
        assert name == same
        ours.data.copy_(torch.from_numpy(bert_lab.normal_init(tuple(ours.shape), std, rng)))
        theirs.data.copy_(ours)
    return fast.to(dtype).eval(), slow.to(dtype).eval()


MASKS = {
    "full": np.ones((3, 6), int),
    "ragged": np.arange(6) < np.array([[6], [2], [4]]),
    "holes": np.array([[0, 1, 1, 0, 1, 1], [1, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 0]]),
    "an empty row": np.array([[1, 1, 1, 0, 0, 0], [0] * 6, [1] * 6]),
    "none real": np.zeros((3, 6), int),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("every", [0, 3], ids=["no labels", "some labels"])
@pytest.mark.parametrize("with_types", [False, True], ids=["one type", "two types"])
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_outputs_loss_and_every_gradient(mask, every, with_types, dtype, atol):
    fast, slow = twins(dtype)
    raws = bert_lab.PCG32(3).block(3 * 18).reshape(3, 3, 6).astype(np.int64)
    ids, types = raws[0] % 40, raws[1] % 2 if with_types else None
    labels = np.where((raws[2] % 3 < every / 3) & (mask == 1), raws[1] % 40, -100)
    got, want = fast(ids, types, mask, labels), slow(ids, types, mask, labels)
    for ours, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(ours, theirs, atol=atol, rtol=0)
    assert (want[0][torch.from_numpy(mask == 0)] == 0).all()
    torch.testing.assert_close(
        fast.encoder(ids, types, mask), slow.encoder(ids, types, mask), atol=atol, rtol=0
    )
    for logits, loss in (got, want):
        (loss + (logits**2).mean() / 10).backward()
    for (name, ours), theirs in zip(fast.named_parameters(), slow.parameters(), strict=True):
        assert theirs.grad.isfinite().all(), name
        torch.testing.assert_close(ours.grad, theirs.grad, atol=atol, rtol=atol, msg=name)


def test_a_layer_and_who_may_look_at_whom():
    fast, slow = (model.encoder.layers[0] for model in twins())
    h = torch.from_numpy(bert_lab.normal_init((2, 5, 12), 1.0, bert_lab.PCG32(4))).double()
    for allowed in (None, torch.ones(5, 5, dtype=torch.bool).tril(), torch.eye(5, dtype=torch.bool)):
        torch.testing.assert_close(fast(h, allowed), slow(h, allowed), atol=1e-10, rtol=0)


@pytest.mark.parametrize("shape", [(0, 5), (2, 0)])
def test_empty_batches(shape):
    for model in twins():
        logits, loss = model(np.zeros(shape, int), labels=np.zeros(shape, int))
        assert logits.shape == (*shape, 40)
        assert loss.item() == 0.0


def test_first_weights_within_one_float32_ulp():
    for seed in (0, 9):
        fast, slow = (
            bert.BertForMLM(bert.BertConfig(40, **SIZES), bert.PCG32(seed)) for bert in (bert_lab, plain)
        )
        for (name, ours), theirs in zip(fast.named_parameters(), slow.parameters(), strict=True):
            ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
            assert (np.abs(ours - theirs) <= np.spacing(np.abs(theirs))).all(), name
    default = plain.BertForMLM(plain.BertConfig(40, **SIZES)).encoder.word.weight[0, :3].tolist()
    assert default == pytest.approx([-0.0050207055, -0.031500369, 0.022197152], rel=1e-6)


# --- its files


@pytest.mark.parametrize(
    ("saver", "loader"), [(bert_lab, plain), (plain, bert_lab)], ids=["to plain", "from plain"]
)
def test_what_one_saves_the_other_loads_bit_for_bit(saver, loader, tmp_path):
    model = twins(torch.float32)[saver is plain]
    saver.save_bert(model, tmp_path / "a" / "b")
    again = loader.load_bert(tmp_path / "a" / "b")
    assert not again.training
    assert vars(again.config) == vars(model.config)
    for (name, ours), (same, theirs) in zip(model.named_parameters(), again.named_parameters(), strict=True):
        assert name == same
        assert torch.equal(ours, theirs), name
    stored = load_file(tmp_path / "a" / "b" / "model.safetensors")
    parts = [bert.hf_bert_encoder_sd(stored) for bert in (saver, loader)]
    assert list(parts[0]) == list(parts[1]) == [name for name, _ in model.encoder.named_parameters()]
    assert all(torch.equal(x, y) for x, y in zip(*map(dict.values, parts), strict=True))


def test_they_write_the_same_keys_and_the_same_config_in_other_words(tmp_path):
    for bert, model in zip((bert_lab, plain), twins(torch.float32), strict=True):
        bert.save_bert(model, tmp_path / bert.__name__)
    configs = [
        json.loads((tmp_path / bert.__name__ / "config.json").read_text()) for bert in (bert_lab, plain)
    ]
    assert configs[0] | {"initializer_range": 0.02} == configs[1] | {"initializer_range": 0.02}
    stored = [load_file(tmp_path / bert.__name__ / "model.safetensors") for bert in (bert_lab, plain)]
    assert set(stored[0]) == set(stored[1])
    assert all(torch.equal(value, stored[1][name]) for name, value in stored[0].items())


# --- what is refused: the same class of error for the same bad arguments

IDS, SPECIAL = [2, 5, 6, 3], [1, 0, 0, 1]
MASKING = {
    "ids": IDS,
    "special_mask": SPECIAL,
    "mask_id": 4,
    "vocab": 40,
    "p": 0.15,
    "split": (0.8, 0.1, 0.1),
}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"ids": [2, 5.0, 6, 3]}, TypeError),
        ({"ids": [2, True, 6, 3]}, TypeError),
        ({"ids": np.array([True] * 4)}, TypeError),
        ({"ids": [2, None, 6, 3]}, TypeError),
        ({"ids": "2563"}, TypeError),
        ({"ids": None}, TypeError),
        ({"ids": {2, 5, 6, 3}}, TypeError),
        ({"ids": [2, 5, 6, 40]}, ValueError),
        ({"ids": np.array([2, 5, -1, 3], np.int8)}, ValueError),
        ({"ids": [2, 5, 2**70, 3]}, ValueError),
        ({"ids": [[2, 5], [6]]}, ValueError),
        ({"special_mask": [1, 0, 0]}, ValueError),
        ({"special_mask": [[1, 0, 0, 1]]}, ValueError),
        ({"special_mask": [1, 0, 2, 1]}, ValueError),
        ({"special_mask": [1, 0, math.nan, 1]}, ValueError),
        ({"special_mask": ["1", "0", "0", "1"]}, TypeError),
        ({"special_mask": None}, TypeError),
        ({"mask_id": 40}, ValueError),
        ({"mask_id": -1}, ValueError),
        ({"mask_id": 4.0}, TypeError),
        ({"mask_id": None}, TypeError),
        ({"vocab": 0}, ValueError),
        ({"vocab": 2**32}, ValueError),
        ({"vocab": True}, TypeError),
        ({"p": 15}, ValueError),
        ({"p": -0.1}, ValueError),
        ({"p": math.nan}, ValueError),
        ({"p": math.inf}, ValueError),
        ({"p": True}, TypeError),
        ({"p": "0.15"}, TypeError),
        ({"split": (0.8, 0.2)}, ValueError),
        ({"split": (0.8, 0.1, 0.2)}, ValueError),
        ({"split": (1.1, -0.1, 0.0)}, ValueError),
        ({"split": (math.inf, 0, 0)}, ValueError),
        ({"split": (math.nan, 0, 1)}, ValueError),
        ({"split": 0.8}, TypeError),
        ({"split": "abc"}, TypeError),
        ({"split": (True, 0, 0)}, TypeError),
    ],
)
@BOTH
def test_masking_refuses(bert, change, error):
    rng = bert.PCG32(1)
    before = rng.state
    with pytest.raises(error):
        bert.mlm_mask(**{**MASKING, **change}, rng=rng)
    assert rng.state == before


@pytest.mark.parametrize("rng", [None, 42, np.random.default_rng(1), bert_lab.PCG32])
@BOTH
def test_masking_needs_a_generator(bert, rng):
    with pytest.raises(TypeError, match="rng: expected a generator"):
        bert.mlm_mask(**MASKING, rng=rng)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"texts": []}, ValueError),
        ({"texts": "the cat"}, TypeError),
        ({"texts": None}, TypeError),
        ({"texts": {"the", "cat"}}, TypeError),
        ({"texts": {"the": "cat"}}, TypeError),
        ({"texts": [None]}, TypeError),
        ({"texts": ["the", b"the"]}, TypeError),
        ({"texts": [("a", "b", "c")]}, TypeError),
        ({"texts": [("a",)]}, TypeError),
        ({"texts": [("a", None)]}, TypeError),
        ({"texts": ["the \ud800"]}, ValueError),
        ({"max_len": 1}, ValueError),
        ({"max_len": 2, "texts": ["a", ("a", "b")]}, ValueError),
        ({"max_len": 8.0}, TypeError),
        ({"max_len": True}, TypeError),
        ({"p": 15}, ValueError),
        ({"tok": None}, TypeError),
    ],
)
@BOTH
def test_batches_refuse(bert, change, error):
    rng = bert.PCG32(5)
    before = rng.state
    with pytest.raises(error):
        bert.mlm_batch(**{"tok": TOK, "texts": ["the cat"], "max_len": 8, "p": 0.15, "rng": rng, **change})
    assert rng.state == before


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda bert: bert.PCG32(-1), ValueError),
        (lambda bert: bert.PCG32(2**64), ValueError),
        (lambda bert: bert.PCG32(0, 2**63), ValueError),
        (lambda bert: bert.PCG32(1.0), TypeError),
        (lambda bert: bert.PCG32(0).below(0), ValueError),
        (lambda bert: bert.PCG32(0).below(2**32), ValueError),
        (lambda bert: bert.PCG32(0).below(2.0), TypeError),
        (lambda bert: bert.sample_categorical((), 0.5), ValueError),
        (lambda bert: bert.sample_categorical((0.0, 0.0), 0.5), ValueError),
        (lambda bert: bert.sample_categorical((0.6, 0.5), 0.5), ValueError),
        (lambda bert: bert.sample_categorical((0.5, "0.5"), 0.5), TypeError),
        (lambda bert: bert.sample_categorical(0.5, 0.5), TypeError),
        (lambda bert: bert.sample_categorical((0.5, 0.5), 1.0), ValueError),
        (lambda bert: bert.normal_init((2, -1), 1.0, bert.PCG32(0)), ValueError),
        (lambda bert: bert.normal_init((2, 3.0), 1.0, bert.PCG32(0)), TypeError),
        (lambda bert: bert.normal_init(2, -1.0, bert.PCG32(0)), ValueError),
        (lambda bert: bert.normal_init(2, math.inf, bert.PCG32(0)), ValueError),
        (lambda bert: bert.normal_init(2, "1", bert.PCG32(0)), TypeError),
        (lambda bert: bert.normal_init(2, 1.0, np.random.default_rng(0)), TypeError),
        (lambda bert: bert.special_ids("tok"), TypeError),
        (lambda bert: bert.BertConfig(40, d_model=10, n_heads=3), ValueError),
        (lambda bert: bert.BertConfig(40, n_heads=0), ValueError),
        (lambda bert: bert.BertConfig("40"), TypeError),
        (lambda bert: bert.BertConfig(40, d_ff=1.5), TypeError),
        (lambda bert: bert.BertConfig(40, dropout=1.0), ValueError),
        (lambda bert: bert.BertConfig(40, dropout=None), TypeError),
        (lambda bert: bert.BertConfig(40, ln_eps=0.0), ValueError),
        (lambda bert: bert.BertConfig(40, ln_eps=math.inf), ValueError),
        (lambda bert: bert.BertLayer({}), TypeError),
        (lambda bert: bert.BertEncoder({}), TypeError),
        (lambda bert: bert.BertForMLM({}), TypeError),
    ],
)
@BOTH
def test_draws_and_sizes_refuse(bert, call, error):
    with pytest.raises(error):
        call(bert)


ROW = np.array([IDS])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"ids": np.array([[2, 40]])}, ValueError),
        ({"ids": np.array([[2, -1]])}, ValueError),
        ({"ids": np.array([[2.0, 5.0]])}, TypeError),
        ({"ids": torch.tensor([[True]])}, TypeError),
        ({"ids": "the cat"}, TypeError),
        ({"ids": np.array(IDS)}, ValueError),
        ({"ids": np.zeros((1, 17), int)}, ValueError),
        ({"token_type_ids": ROW * 0 + 2}, ValueError),
        ({"token_type_ids": ROW[:, :3] * 0}, ValueError),
        ({"attn_mask": np.ones(4)}, ValueError),
        ({"attn_mask": np.ones((1, 5))}, ValueError),
        ({"attn_mask": np.ones((1, 1, 4, 4))}, ValueError),
        ({"attn_mask": torch.tensor([[1, 2, 1, 1]])}, ValueError),
        ({"attn_mask": torch.tensor([[0.0, -1e9, 0.0, 0.0]])}, ValueError),
        ({"attn_mask": torch.ones(1, 4, dtype=torch.complex64)}, TypeError),
        ({"labels": np.array([[-100, 40, -100, -100]])}, ValueError),
        ({"labels": np.array([[-1, 5, -100, -100]])}, ValueError),
        ({"labels": np.array([[5, 5]])}, ValueError),
        ({"labels": np.array([[5.0] * 4])}, TypeError),
        ({"labels": ROW, "attn_mask": np.array([[1, 1, 0, 1]])}, ValueError),
    ],
)
@BOTH
def test_the_model_refuses(bert, change, error):
    model = twins()[bert is plain]
    with pytest.raises(error):
        model(**{"ids": ROW, **change})


@pytest.mark.parametrize(
    ("allowed", "error"), [(torch.ones(4, 4), TypeError), (torch.zeros(4, 4, dtype=torch.bool), ValueError)]
)
@BOTH
def test_a_layer_refuses(bert, allowed, error):
    with pytest.raises(error, match="allowed"):
        bert.BertLayer(bert.BertConfig(40, **SIZES))(torch.zeros(1, 4, 12), allowed)


def without(key):
    return lambda sd: {name: value for name, value in sd.items() if name != key}


WORD, BIAS = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"
DECODER = "cls.predictions.decoder."


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (without(WORD), ValueError),
        (without("bert.encoder.layer.1.output.LayerNorm.bias"), ValueError),
        (lambda sd: sd | {"stranger": torch.zeros(2)}, ValueError),
        (lambda sd: sd | {WORD: sd[WORD][:-1]}, ValueError),
        (lambda sd: sd | {WORD: sd[WORD] * math.nan}, ValueError),
        (lambda sd: sd | {WORD: sd[WORD].long()}, TypeError),
        (lambda sd: sd | {WORD: sd[WORD].tolist()}, TypeError),
        (lambda sd: sd | {3: torch.zeros(2)}, TypeError),
        (lambda sd: list(sd), TypeError),
        (lambda sd: sd | {WORD.removeprefix("bert."): sd[WORD] + 1}, ValueError),
        (lambda sd: sd | {DECODER + "weight": sd[WORD] + 1}, ValueError),
        (lambda sd: sd | {DECODER + "bias": sd[BIAS] + 1}, ValueError),
        (lambda sd: without(WORD)(sd | {DECODER + "weight": sd[WORD]}), ValueError),
        (lambda sd: sd | {DECODER + "weight": sd[WORD], DECODER + "bias": sd[BIAS]}, None),
        (lambda sd: without(BIAS)(sd | {DECODER + "bias": sd[BIAS]}), None),
        (lambda sd: {name.removeprefix("bert."): value.numpy() for name, value in sd.items()}, None),
        (lambda sd: sd | {"bert.embeddings.position_ids": torch.arange(16)[None]}, None),
        (lambda sd: sd | {"bert.pooler.dense.bias": torch.zeros(12)}, None),
        (lambda sd: sd | {"cls.seq_relationship.weight": torch.zeros(2, 12)}, None),
    ],
)
@BOTH
def test_loading_is_all_or_nothing(bert, change, error, tmp_path):
    model = twins(torch.float32)[bert is plain]
    bert.save_bert(model, tmp_path)
    sd = change(load_file(tmp_path / "model.safetensors"))
    fresh = bert.BertForMLM(model.config)
    want = {name: value.clone() for name, value in (fresh if error else model).state_dict().items()}
    if error:
        with pytest.raises(error):
            bert.load_hf_bert(fresh, sd)
    else:
        bert.load_hf_bert(fresh, sd)
        bert.load_hf_bert(fresh.encoder, sd)
    assert all(torch.equal(value, want[name]) for name, value in fresh.state_dict().items())


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (without(WORD), ValueError),
        (without("bert.encoder.layer.0.intermediate.dense.weight"), ValueError),
        (lambda sd: sd | {"bert.encoder.layer.1.output.dense.bias": torch.zeros(13)}, ValueError),
        (lambda sd: sd | {"stranger": torch.zeros(2)}, ValueError),
        (lambda sd: sd | {WORD: [[0.0]]}, TypeError),
        (lambda sd: list(sd), TypeError),
    ],
)
@BOTH
def test_the_encoders_part_refuses(bert, change, error, tmp_path):
    bert.save_bert(twins(torch.float32)[bert is plain], tmp_path)
    sd = load_file(tmp_path / "model.safetensors")
    with pytest.raises(error):
        bert.hf_bert_encoder_sd(change(sd))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"hidden_act": "gelu_new"}, ValueError),
        ({"model_type": None}, ValueError),
        ({"is_decoder": True}, ValueError),
        ({"hidden_size": None}, (TypeError, ValueError)),
        ({"num_attention_heads": 5}, ValueError),
        ({"num_hidden_layers": 3}, ValueError),
        ({"hidden_dropout_prob": 0.25}, ValueError),
        ({"layer_norm_eps": 0.0}, ValueError),
    ],
)
@BOTH
def test_loading_refuses_a_config(bert, change, error, tmp_path):
    bert.save_bert(twins(torch.float32)[bert is plain], tmp_path)
    config = tmp_path / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | change))
    with pytest.raises(error):
        bert.load_bert(tmp_path)
    if change == {"hidden_dropout_prob": 0.25}:
        assert bert.load_bert(tmp_path, dropout=0.5).config.dropout == 0.5


@BOTH
def test_files_refuse(bert, tmp_path):
    model = twins(torch.float32)[bert is plain]
    bert.save_bert(model, tmp_path / "model")
    (tmp_path / "file").write_text("")
    save_file({}, tmp_path / "model.safetensors")
    for call, error in (
        (lambda: bert.save_bert(model.encoder, tmp_path / "x"), TypeError),
        (lambda: bert.save_bert(model, 3), TypeError),
        (lambda: bert.save_bert(model, tmp_path / "file"), ValueError),
        (lambda: bert.load_bert(3), TypeError),
        (lambda: bert.load_bert(tmp_path / "nowhere"), FileNotFoundError),
        (lambda: bert.load_bert(tmp_path), FileNotFoundError),  # without its config
        (lambda: bert.load_bert(tmp_path / "model", dropout=1.0), ValueError),
        (lambda: bert.load_bert(tmp_path / "model", dropout="0"), TypeError),
        (lambda: bert.load_hf_bert(model.encoder.word, {}), TypeError),
    ):
        with pytest.raises(error):
            call()
    model.decoder_bias.data[3] = math.inf
    with pytest.raises(ValueError, match="finite"):
        bert.save_bert(model, tmp_path / "x")
    assert not (tmp_path / "x").exists()
