"""ModernBERT's options: all off is BERT, all on is theirs; what each does and costs, what is refused."""

import itertools
import math

import pytest
import torch
import transformers
from small_models import TINY, batch_of, lively
from theirs import hf_sizes, noisy
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bert_lab import (
    PCG32,
    BertConfig,
    BertForMLM,
    WordPieceTokenizer,
    attention_maps,
    fill_mask,
    influence,
    save_bert,
)
from bert_lab.beyond.modern import (
    CHANGES,
    ModernConfig,
    ModernEncoder,
    ModernForMLM,
    allowed,
    as_modern,
    config_from_hf,
    hf_names,
    load_hf_modernbert,
    modern_config,
    parameters_of,
    rotate,
    work,
    work_of,
)
from bert_lab.hf.plan import plan
from bert_lab.hf.report import CheckpointError

OPTIONS = {"rope": True, "geglu": True, "pre_norm": True, "biases": False, "local_window": 4, "type_vocab": 0}


def modern(*changes, sizes=TINY, dtype=torch.float64, **options):
    if "local" in changes:
        options = {"local_window": 4, "global_every": 2, **options}
    return lively(ModernForMLM(modern_config(sizes, *changes, **options))).to(dtype).eval()


# --- configuration


def test_the_defaults_are_those_of_bert_base_with_every_option_off():
    config, bert = ModernConfig(30522), BertConfig(30522)
    assert {name: value for name, value in vars(config).items() if name in vars(bert)} == vars(bert)
    assert not (config.rope or config.geglu or config.pre_norm or config.local_window) and config.biases
    assert (config.global_every, config.global_theta, config.local_theta) == (3, 160_000.0, 10_000.0)
    assert ModernConfig(9, type_vocab=0).type_vocab == 0


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"vocab": 0}, ValueError, "vocab: expected an integer from 1"),
        ({"type_vocab": -1}, ValueError, "type_vocab: expected an integer from 0"),
        ({"type_vocab": None}, TypeError, "type_vocab: expected an integer"),
        ({"d_model": 13}, ValueError, "d_model: expected a multiple of n_heads"),
        ({"dropout": 1}, ValueError, "dropout: expected a probability"),
        ({"ln_eps": 0}, ValueError, "ln_eps: expected a finite number"),
        ({"rope": 1}, TypeError, "rope: expected True or False, got 1"),
        ({"geglu": None}, TypeError, "geglu: expected True or False"),
        ({"pre_norm": "yes"}, TypeError, "pre_norm: expected True or False"),
        ({"biases": 0}, TypeError, "biases: expected True or False"),
        ({"local_window": 0}, ValueError, "local_window: expected an integer from 1"),
        ({"local_window": 2.0}, TypeError, "local_window: expected an integer"),
        ({"global_every": 0}, ValueError, "global_every: expected an integer from 1"),
        ({"global_theta": 0}, ValueError, "global_theta: expected a finite number > 0, got 0.0"),
        ({"local_theta": float("inf")}, ValueError, "local_theta: expected a finite number > 0, got inf"),
        ({"local_theta": "10"}, TypeError, "local_theta: expected a number"),
        (
            {"rope": True, "n_heads": 4},
            ValueError,
            "n_heads: expected heads of an even width",
        ),
    ],
)
def test_what_a_config_refuses(changes, error, said):
    with pytest.raises(error, match=said):
        ModernConfig(**{"vocab": 40, "d_model": 12, "n_heads": 3} | changes)


def test_changes_by_name():
    plain = modern_config(TINY)
    assert {name: value for name, value in vars(plain).items() if name in vars(TINY)} == vars(TINY)
    assert plain == ModernConfig(**vars(TINY))
    everything = modern_config(TINY, *CHANGES)
    assert everything == ModernConfig(
        **vars(TINY) | OPTIONS | {"d_ff": 13, "local_window": 128}  # 20 * 2/3 = 13.33
    )
    assert modern_config(TINY, "geglu", d_ff=20).d_ff == 20
    assert modern_config(TINY, "local", local_window=6).local_window == 6
    with pytest.raises(ValueError, match=r"changes: expected some of rope, geglu, .*, got 'alibi'"):
        modern_config(TINY, "alibi")
    with pytest.raises(TypeError, match="sizes: expected a BertConfig, got ModernConfig"):
        modern_config(plain)


@pytest.mark.parametrize("kind", [ModernForMLM, ModernEncoder])
def test_a_model_wants_its_own_config(kind):
    with pytest.raises(TypeError, match="config: expected a ModernConfig, got BertConfig"):
        kind(TINY)
    with pytest.raises(TypeError, match="config: expected a BertConfig, got ModernConfig"):
        BertForMLM(modern_config(TINY))


# --- every option off


def test_all_off_is_bert_from_the_first_weights_on():
    bert, twin = BertForMLM(TINY, PCG32(7)).eval(), ModernForMLM(modern_config(TINY), PCG32(7)).eval()
    ids, types, mask, labels = batch_of([9, 4, 1])
    for ours, theirs in zip(twin(ids, types, mask, labels), bert(ids, types, mask, labels), strict=True):
        assert torch.equal(ours, theirs)
    assert sum(p.numel() for p in twin.parameters()) == sum(p.numel() for p in bert.parameters())


def test_a_bert_becomes_a_modern_one_with_every_option_off():
    bert = lively(BertForMLM(TINY)).double().eval()
    twin = as_modern(bert)
    assert not twin.training and as_modern(bert.train()).training
    ids, types, mask, labels = batch_of([9, 4, 1])
    bert.eval()
    logits, loss = twin(ids, types, mask, labels)
    expected, their_loss = bert(ids, types, mask, labels)
    assert logits.dtype == torch.float64 and expected.std() > 0.5
    assert (logits - expected).abs().max() < 1e-6 and (loss - their_loss).abs() < 1e-6
    assert (
        attention_maps(twin, ids, types, mask) - attention_maps(bert, ids, types, mask)
    ).abs().max() < 1e-6
    count = sum(p.numel() for p in bert.parameters())
    assert sum(p.numel() for p in twin.parameters()) == sum(parameters_of(twin.config).values()) == count
    with torch.no_grad():
        twin.encoder.word.weight.zero_()
    assert bert.encoder.word.weight.abs().max() > 0
    for other in (twin, bert.encoder, None):
        with pytest.raises(TypeError, match="bert: expected a BertForMLM, got"):
            as_modern(other)


# --- RoPE


def test_a_layer_runs_on_full_rows_as_berts_does():
    bert = lively(BertForMLM(TINY)).double().eval()
    h = torch.linspace(-2, 2, 2 * 5 * TINY.d_model, dtype=torch.float64).view(2, 5, -1)
    for mask in (None, torch.ones(5, 5, dtype=torch.bool).tril()):
        ours, berts = (model.encoder.layers[0](h, mask) for model in (as_modern(bert), bert))
        torch.testing.assert_close(ours, berts, rtol=0, atol=1e-12)


def test_dot_products_of_turned_vectors_depend_on_the_distance_alone():
    generator = torch.Generator().manual_seed(3)
    q, k = torch.randn(2, 8, generator=generator, dtype=torch.float64)
    for theta in (10_000.0, 160_000.0):
        q_at, k_at = (rotate(x.expand(300, 8), torch.arange(300), theta) for x in (q, k))
        scores = q_at @ k_at.T  # [T, T]
        for distance in (-40, -1, 0, 1, 7):
            diagonal = scores.diagonal(distance)
            assert diagonal.max() - diagonal.min() < 1e-10
        assert scores[0].std() > 0.1
        assert (q_at.norm(dim=-1) - q.norm()).abs().max() < 1e-12


def test_a_turn_by_hand():
    x = torch.tensor([[1.0, 0.0, 0.0, 2.0]]).expand(2, 4)  # pairs (1, 0) and (0, 2)
    first, second = rotate(x, torch.tensor([0, 1]), 100.0)
    assert torch.equal(first, x[0])
    one, tenth = 1.0, 100.0**-0.5  # the angles of the two pairs at position 1
    turned = [math.cos(one), -2 * math.sin(tenth), math.sin(one), 2 * math.cos(tenth)]
    assert second.tolist() == pytest.approx(turned)


def test_with_rope_only_distances_matter():
    """The same word three times, then another: rolled along, the maps roll along."""
    model = modern("rope", type_vocab=0)
    assert not any("position" in name for name, _ in model.named_parameters())
    short, long = torch.tensor([[7, 9, 7, 3]]), torch.tensor([[0, 0, 0, 7, 9, 7, 3]])
    mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1]])
    assert (model(long, None, mask)[0][0, 3:] - model(short)[0][0]).abs().max() < 1e-10
    bert = modern()
    assert (bert(long, None, mask)[0][0, 3:] - bert(short)[0][0]).abs().max() > 0.01
    assert (model(short)[0][0, 0] - model(short)[0][0, 2]).abs().max() > 0.01  # it knows where they stand


# --- local attention


def test_who_may_look_at_whom():
    config = modern_config(TINY, "local", local_window=5, global_every=2, n_layers=4)
    assert [config.radius(layer) for layer in range(4)] == [None, 2, None, 2]
    assert allowed(config, 0, 6).all() and allowed(config, 2, 6).all()
    assert allowed(config, 1, 5).int().tolist() == [
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1],
        [0, 1, 1, 1, 1],
        [0, 0, 1, 1, 1],
    ]
    assert torch.equal(allowed(config, 3, 7), allowed(config, 1, 7))
    assert allowed(modern_config(TINY), 1, 6).all()
    every_third = modern_config(TINY, "local", n_layers=7)
    assert [every_third.radius(layer) for layer in range(7)] == [None, 64, 64, None, 64, 64, None]
    with pytest.raises(ValueError, match="layer: expected an integer from 0 to 3, got 4"):
        allowed(config, 4, 5)
    with pytest.raises(ValueError, match="length: expected an integer from 1"):
        allowed(config, 0, 0)
    with pytest.raises(TypeError, match="config: expected a ModernConfig"):
        allowed(TINY, 0, 5)


@pytest.mark.parametrize("lengths", [[9, 9], [9, 4, 1]])
def test_maps_are_zero_out_of_sight(lengths):
    model = modern("local", "rope", n_layers=4)
    ids, types, mask, _ = batch_of(lengths)
    maps = attention_maps(model, ids, types, mask)  # [L, B, H, T, T]
    both = (mask[:, :, None] & mask[:, None, :]).bool()
    for layer in range(4):
        seen = allowed(model.config, layer, 9) & both[:, None]
        assert torch.equal(maps[layer] > 0, seen.expand_as(maps[layer]))
        assert torch.allclose(maps[layer].sum(-1), mask[:, None].expand(-1, 3, -1).double())


def test_what_is_far_arrives_through_the_global_layers_alone():
    model = modern("local", n_layers=3, global_every=3)
    ids = batch_of([16])[0]
    assert (influence(model, ids) > 0).all()  # the first layer is global
    model.encoder.layers[0].attention.radius = 2
    distances = (torch.arange(16)[:, None] - torch.arange(16)).abs()
    assert torch.equal(influence(model, ids) > 0, distances <= 3 * 2)


def test_a_window_and_an_allowed_that_leave_nothing_are_refused():
    model = modern("local")
    ids = batch_of([9])[0]
    first = torch.zeros(9, 9, dtype=torch.bool)
    first[:, 0] = True
    with pytest.raises(ValueError, match="allowed: expected at least one position for each to look at"):
        attention_maps(model, ids, allowed=first)
    causal = torch.ones(9, 9, dtype=torch.bool).tril()
    maps = attention_maps(model, ids, allowed=causal)
    assert torch.equal(maps[1, 0, 0] > 0, causal & allowed(model.config, 1, 9))


# --- every combination


@pytest.mark.parametrize("changes", list(itertools.product([False, True], repeat=len(CHANGES))))
def test_every_combination_reads_real_positions_alone_and_every_parameter_learns(changes):
    chosen = [name for name, on in zip(CHANGES, changes, strict=True) if on]
    model = modern(*chosen)
    ids, _, mask, labels = batch_of([9, 4, 1])
    logits, loss = model(ids, None, mask, labels)
    assert (logits[mask == 0] == 0).all() and (logits[mask == 1].abs().amax(-1) > 0).all()
    changed = torch.where(mask == 1, ids, (ids + 1) % 40)
    assert torch.equal(model(changed, None, mask)[0], logits)
    alone = torch.cat([model(ids[i : i + 1, :n])[0][0] for i, n in enumerate([9, 4, 1])])
    assert (alone - logits[mask == 1]).abs().max() < 1e-9
    assert (model.mlm_loss(ids, None, mask, labels) - loss).abs() < 1e-12
    loss.backward()
    for name, p in model.named_parameters():
        assert p.grad.abs().max() > 0, name
    names = {name for name, p in model.named_parameters() if p.dim() == 1 and name.endswith("bias")}
    assert ("no_biases" not in chosen) or names == {"decoder_bias"}
    assert sum(parameters_of(model.config).values()) == sum(p.numel() for p in model.parameters())
    assert list(dict(model.named_parameters()))[-1] == "decoder_bias"


def test_without_token_types_only_type_0_is_taken():
    model = modern(type_vocab=0)
    ids, types, *_ = batch_of([9])
    assert torch.equal(model(ids, torch.zeros_like(ids))[0], model(ids)[0])
    with pytest.raises(ValueError, match="token_type_ids: expected ids from 0 to 0, got 1"):
        model(ids, types)


def test_it_is_drawn_from_one_stream_and_fills_blanks():
    tok = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"])
    config = modern_config(BertConfig(tok.vocab_size, 16, 12, 3, 2, 18), *CHANGES)
    one, two = ModernForMLM(config), ModernForMLM(config, PCG32(0))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert len(fill_mask(one, tok, "a [MASK] b", top_k=2)[0]) == 2


@pytest.mark.parametrize("changes", [(), tuple(CHANGES)])
def test_dropout_acts_in_training_alone(changes):
    model, calls = modern(*changes, dropout=0.5), []
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.register_forward_hook(lambda *_: calls.append(None))
    ids = batch_of([9])[0]
    assert torch.equal(model(ids)[0], model(ids)[0])
    assert len(calls) == 2 * (1 + 2 * 2)  # of the embeddings, and of both parts of a layer
    model.train()
    assert not torch.equal(model(ids)[0], model(ids)[0])


# --- what a model costs


def test_a_narrowed_geglu_has_as_many_parameters():
    sizes = BertConfig(30522)
    bert, geglu, wide = (
        parameters_of(modern_config(sizes, *some, **more))
        for some, more in [((), {}), (("geglu",), {}), (("geglu",), {"d_ff": 3072})]
    )
    assert bert["feed-forward"] == geglu["feed-forward"] == 12 * 2 * 768 * 3072
    assert wide["feed-forward"] == 12 * 3 * 768 * 3072
    assert sum(bert.values()) == 109_514_298  # of BERT-base with its MLM head, and without a pooler
    modern = parameters_of(modern_config(sizes, *CHANGES))
    assert modern["positions and types"] == 0 and bert["positions and types"] == 514 * 768
    # a norm's weight for each layer's two norms less the first, the embeddings, the end and the head
    assert modern["norms and biases"] == (2 * 12 - 1 + 3) * 768 + 30522


@pytest.mark.parametrize("changes", [(), ("geglu",), ("rope", "geglu", "pre_norm", "no_biases")])
@pytest.mark.parametrize("lengths", [[9, 9], [9, 4, 1]])
def test_work_is_what_torch_counts(changes, lengths):
    """At padding, torch's own attention still computes: it is counted for each row alone."""
    model = modern(*changes)
    counted = 0
    for length in lengths:
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, torch.no_grad():
            model(batch_of([length])[0])
        counted += counter.get_total_flops()
    parts = work_of(model.config, lengths)
    assert 2 * work(model.config, lengths) == 2 * sum(parts.values()) == counted
    ids, _, mask, _ = batch_of(lengths)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, torch.no_grad():
        model(ids, None, mask)
    linear = counter.get_total_flops() - counter.get_flop_counts()["Global"].get(torch.ops.aten.bmm, 0)
    assert linear == 2 * (parts["linear"] + parts["head"])  # in one go too: padding is left out


def test_local_layers_count_the_pairs_that_they_allow():
    config = modern_config(TINY, "local", local_window=5, global_every=2, n_layers=4, max_len=64)
    for length in (0, 1, 2, 3, 4, 17):
        pairs = sum(int(allowed(config, layer, length).sum()) for layer in range(4)) if length else 0
        assert work_of(config, [length])["attention"] == 2 * 12 * pairs
    everywhere = modern_config(TINY, n_layers=4, max_len=64)
    assert work_of(everywhere, [17])["attention"] == 2 * 12 * 4 * 17**2
    assert work_of(everywhere, [17])["linear"] == work_of(config, [17])["linear"]
    for lengths, error in (([65], ValueError), ([-1], ValueError), ([1.5], TypeError)):
        with pytest.raises(error, match=r"lengths\[0\]: expected an integer"):
            work(config, lengths)
    with pytest.raises(TypeError, match="config: expected a ModernConfig"):
        work(TINY, [3])


# --- parity with Hugging Face

# vocab, max_len, d_model, n_heads, n_layers, d_ff, local_attention, every, biases, attention
SHAPES = {
    "two heads, every third": (40, 12, 8, 2, 4, 16, 4, 3, False, "eager"),
    "three heads, every second": (101, 15, 24, 3, 5, 7, 5, 2, False, "sdpa"),
    "a window wider than the text": (64, 20, 16, 1, 3, 20, 128, 3, False, "sdpa"),
    "a window of one": (33, 9, 12, 6, 7, 9, 1, 3, False, "eager"),
    "biases and no local layer": (33, 9, 12, 3, 2, 9, 2, 1, True, "sdpa"),
}


def pair(shape: str):
    """Their model with random values everywhere, and ours of their config with the same."""
    *sizes, window, every, biases, attention = SHAPES[shape]
    theirs = transformers.ModernBertForMaskedLM(
        transformers.ModernBertConfig(
            **hf_sizes(*sizes),
            local_attention=window,
            global_attn_every_n_layers=every,
            **dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"), biases),
            **dict.fromkeys((f"{name}_token_id" for name in ("pad", "bos", "eos", "cls", "sep")), None),
            attn_implementation=attention,
        )
    )
    noisy(theirs, len(shape))
    config, problems = config_from_hf(theirs.config.to_dict())
    assert problems == []
    ours = ModernForMLM(config)
    load_hf_modernbert(ours, theirs.state_dict())
    return theirs.eval(), ours.eval()


def batch(shape: str):
    """Rows of every length down to one, one of them padded on the left, one with a hole; and labels."""
    vocab, max_len, *_ = SHAPES[shape]
    generator = torch.Generator().manual_seed(1)
    mask = (torch.arange(max_len) < torch.tensor([max_len, max_len - 2, max_len, 3, 1])[:, None]).long()
    mask[1] = mask[1].flip(0)
    mask[2, max_len // 2] = 0
    ids, labels = torch.randint(vocab, (2, *mask.shape), generator=generator)
    picked = (torch.rand(mask.shape, generator=generator) < 0.5) & (mask == 1)
    return ids, mask, torch.where(picked, labels, -100)


@pytest.mark.parametrize("shape", SHAPES)
def test_parity_of_logits_loss_and_every_gradient(shape):
    theirs, ours = pair(shape)
    ids, mask, labels = batch(shape)
    expected = theirs(input_ids=ids, attention_mask=mask, labels=labels)
    expected.loss.backward()
    logits, loss = ours(ids, None, mask, labels)
    assert expected.logits.std() > 0.3  # not a comparison of zeros
    assert (logits - expected.logits)[mask.bool()].abs().max() < 1e-5
    assert (loss - expected.loss).abs() < 1e-5
    their_gradients = {name: p.grad for name, p in theirs.named_parameters()}
    wants = hf_names(ours).expected
    assert {want.key for want in wants.values()} == their_gradients.keys()
    for run in (lambda: ours(ids, None, mask, labels)[1], lambda: ours.mlm_loss(ids, None, mask, labels)):
        ours.zero_grad()
        run().backward()
        for name, p in ours.named_parameters():
            gradient = their_gradients[wants[name].key]
            assert (p.grad - gradient).abs().max() < 1e-5, name
            assert gradient.abs().max() > 1e-6, name


def test_parity_of_the_hidden_states_of_each_layer():
    theirs, ours = pair("two heads, every third")
    ids, mask, _ = batch("two heads, every third")
    states = theirs.model(ids, mask, output_hidden_states=True).hidden_states
    tokens = ours.encoder.batch_of(ids, None, mask)
    h = ours.encoder.embed(tokens)
    for layer, state in zip(ours.encoder.layers, states, strict=False):
        assert (h - tokens.take(state)).abs().max() < 1e-5
        h = layer.unpadded(h, tokens)
    assert (ours.encoder(ids, None, mask) - states[-1])[mask.bool()].abs().max() < 1e-5


def test_their_maps_are_ours():
    theirs, ours = pair("two heads, every third")
    ids, mask, _ = batch("two heads, every third")
    real = mask[:, None, :, None].bool() & mask[:, None, None, :].bool()
    maps = attention_maps(ours, ids, None, mask)
    expected = theirs(ids, mask, output_attentions=True).attentions
    for ours_of_layer, theirs_of_layer in zip(maps, expected, strict=True):
        assert ((ours_of_layer - theirs_of_layer) * real).abs().max() < 1e-5


def test_loading_is_all_or_nothing():
    theirs, ours = pair("two heads, every third")
    sd = theirs.state_dict()
    report = plan(sd, hf_names(ours))
    assert report.ok and report.target == "ModernForMLM"
    assert {entry.key for entry in report.entries if entry.how == "repeated"} == {"decoder.weight"}
    report = plan({key: value for key, value in sd.items() if key != "decoder.weight"}, hf_names(ours))
    assert report.ok
    fresh = ModernForMLM(ours.config)
    before = [p.clone() for p in fresh.parameters()]
    broken = {
        **sd,
        "decoder.weight": sd["decoder.weight"] + 1,
        "model.layers.0.attn_norm.weight": torch.ones(8),  # the first layer has none
        "model.layers.1.mlp.Wi.weight": sd["model.layers.1.mlp.Wi.weight"][:16],
    }
    del broken["model.layers.3.attn.Wqkv.weight"], broken["decoder.bias"]
    with pytest.raises(CheckpointError) as error:
        load_hf_modernbert(fresh, broken)
    for said in (
        "missing: model.layers.3.attn.Wqkv.weight: expected a value of shape [24, 8]",
        "missing: decoder.bias",
        "shape: model.layers.1.mlp.Wi.weight: expected [32, 8], got [16, 8]",
        "unexpected: model.layers.0.attn_norm.weight",
        "conflict: decoder.weight",
    ):
        assert said in str(error.value)
    assert all(torch.equal(a, b) for a, b in zip(before, fresh.parameters(), strict=True))
    load_hf_modernbert(fresh, {key: value.half() for key, value in sd.items()})
    assert fresh.transform.weight.dtype == torch.float32
    assert torch.equal(fresh.transform.weight, sd["head.dense.weight"].half().float())


def test_which_models_have_their_names():
    for model in (BertForMLM(TINY), ModernEncoder(modern_config(TINY, *CHANGES))):
        with pytest.raises(TypeError, match="model: expected a ModernForMLM, got"):
            load_hf_modernbert(model, {})
    for changes, said in (
        (("rope", "pre_norm"), "got one without geglu"),
        ((), "got one without rope, geglu, pre_norm"),
        (("rope", "geglu", "pre_norm"), "got one of 2 token types"),
    ):
        with pytest.raises(ValueError, match=said):
            hf_names(ModernForMLM(modern_config(TINY, *changes)))
    with pytest.raises(TypeError, match="sd: expected a mapping"):
        load_hf_modernbert(modern(*CHANGES), None)


@pytest.mark.parametrize("changes", [(), ("local",), tuple(CHANGES)])
def test_it_is_not_saved_as_a_bert(changes, tmp_path):
    with pytest.raises(ValueError, match="model: its parameters are not those of its config"):
        save_bert(modern(*changes), tmp_path)
    assert not any(tmp_path.iterdir())


# --- config.json

BASE = {  # what ModernBERT-base says of itself, in the fields of its time
    "model_type": "modernbert",
    "vocab_size": 50368,
    "max_position_embeddings": 8192,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "num_hidden_layers": 22,
    "intermediate_size": 1152,
    "norm_eps": 1e-05,
    "local_attention": 128,
    "global_attn_every_n_layers": 3,
    "global_rope_theta": 160000.0,
    "local_rope_theta": 10000.0,
    "hidden_activation": "gelu",
    "position_embedding_type": "absolute",
}
TODAYS = {
    "layer_types": ["full_attention", "sliding_attention", "sliding_attention"] * 7 + ["full_attention"],
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    },
}
OLD = ("global_attn_every_n_layers", "global_rope_theta", "local_rope_theta")


def test_old_and_new_configs_say_the_same():
    wanted = ModernConfig(
        50368, 8192, 768, 12, 22, 1152, 0, 0.0, 1e-5, True, True, True, False, 128, 3, 160_000.0, 10_000.0
    )
    new = {name: value for name, value in BASE.items() if name not in OLD} | TODAYS
    for content in (BASE, new, {name: value for name, value in BASE.items() if name not in OLD}):
        assert config_from_hf(content) == (wanted, [])
    assert config_from_hf(transformers.ModernBertConfig().to_dict()) == (wanted, [])
    assert sum(parameters_of(wanted).values()) == 149_655_232  # 149 million, as the paper says


@pytest.mark.parametrize(
    ("changes", "where", "said"),
    [
        ({"model_type": "bert"}, "model_type", "expected 'modernbert', got 'bert'"),
        ({"vocab_size": "many"}, "vocab_size", "expected an integer"),
        ({"hidden_activation": "silu"}, "hidden_activation", "expected 'gelu', the exact one, got 'silu'"),
        ({"classifier_activation": "relu"}, "classifier_activation", "expected 'gelu'"),
        ({"decoder_bias": False}, "decoder_bias", "expected True, a decoder with a bias"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings", "expected True, the word table as decoder"),
        ({"rope_scaling": {"factor": 2}}, "rope_scaling", "expected None, positions as they are"),
        ({"mlp_dropout": 0.1}, "mlp_dropout", "expected 0.0, since dropout stands at other places here"),
        ({"mlp_bias": True}, "mlp_bias", "expected False as attention_bias, all biases or none, got True"),
        ({"norm_bias": 1}, "norm_bias", "expected True or False, got 1"),
        ({"attention_bias": None}, "attention_bias", "expected True or False, got None"),
        ({"local_attention": -1}, "local_attention", "expected an integer from 1"),
        ({"local_rope_theta": None}, "local_rope_theta", "expected a number, got None"),
        ({"global_rope_theta": 0}, "global_theta", "expected a finite number > 0"),
        ({"hidden_size": 770}, "num_attention_heads", "expected a divisor of hidden_size, 770, got 12"),
        ({"num_attention_heads": 256}, "num_attention_heads", "expected heads of an even width for rope"),
        ({"norm_eps": 0}, "ln_eps", "expected a finite number > 0"),
        ({"layer_types": ["full_attention"] * 21}, "layer_types", "expected num_hidden_layers of them"),
        ({"layer_types": ["sliding_attention"] * 22}, "layer_types", "full_attention from the first on"),
        ({"layer_types": "full_attention"}, "layer_types", "got 'full_attention'"),
        ({"layer_types": [*TODAYS["layer_types"][::-1][1:], "full_attention"]}, "layer_types", "at equal st"),
        ({"rope_parameters": {"rope_theta": 1e4}}, "rope_parameters", "expected fields for full_attention"),
        ({"rope_parameters": {"default": {}}}, "rope_parameters", "got {'default': {}}"),
        ({"rope_parameters": {"full_attention": 3}}, "rope_parameters", "got {'full_attention': 3}"),
        ({"rope_parameters": [1]}, "rope_parameters", r"got \[1\]"),
        (
            {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}},
            "rope_parameters.full_attention.rope_type",
            "expected 'default', got 'yarn'",
        ),
        (
            {"rope_parameters": {"sliding_attention": {"rope_theta": "x"}}},
            "rope_parameters.sliding_attention.rope_theta",
            "expected a number",
        ),
    ],
)
def test_what_of_a_config_is_not_ours(changes, where, said):
    config, problems = config_from_hf(BASE | changes)
    assert config is None
    assert [problem.kind for problem in problems] == ["config"] and problems[0].where == where
    with pytest.raises(ValueError, match=said):
        raise ValueError(problems[0].text)


def test_all_that_is_wrong_with_a_config_is_told():
    config, problems = config_from_hf({})
    assert config is None
    assert {p.where for p in problems} == {"model_type", *hf_sizes(*range(6))}
    config, problems = config_from_hf(BASE | TODAYS | {"num_hidden_layers": None})
    assert config is None and {p.where for p in problems} == {"num_hidden_layers", "layer_types"}


@pytest.mark.parametrize(
    ("kinds", "every"), [("f", 1), ("ff", 1), ("fs", 2), ("fss", 3), ("fsf", 2), ("fsfs", 2), ("fssfs", 3)]
)
def test_which_layers_are_global(kinds, every):
    names = {"f": "full_attention", "s": "sliding_attention"}
    content = BASE | {"num_hidden_layers": len(kinds), "layer_types": [names[kind] for kind in kinds]}
    config, problems = config_from_hf(content)
    assert not problems and config.global_every == every
    assert [config.radius(layer) is None for layer in range(len(kinds))] == [kind == "f" for kind in kinds]
