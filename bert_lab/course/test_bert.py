"""The course tests: what any implementation of the contract must do.

Each test takes the implementation as its argument: any namespace with the contract's names, such as the
package `bert_lab` itself, a learner's module, or what `bert_lab.course.mutants.load_mutant` returns. Run one
by hand with `test_hand_example_mlm_mask(bert_lab)`: silence means that it passed.

Source: the course text, section 4; the names of the tests are its names.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bert_lab.rng import PCG32, ScriptedDraws, normal_init, sample_categorical
from bert_lab.wordpiece import WordPieceTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "##s", "ran", "."]


def small_tokenizer() -> WordPieceTokenizer:
    """[PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, and a few words from 5 on."""
    return WordPieceTokenizer(SPECIALS + WORDS)


def random_batch(seed: int, shape: tuple[int, int], vocab: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids [B, T], rows of [CLS] words [SEP] and padding; and the mask of their specials."""
    rng = PCG32(seed)
    ids = 5 + rng.block(math.prod(shape)).reshape(shape).astype(np.int64) % (vocab - 5)
    ids[:, 0] = 2
    for row in ids:
        length = shape[1] - rng.below(shape[1] // 2)
        row[length - 1] = 3
        row[length:] = 0
    return ids, ids < 5


def test_hand_example_mlm_mask(bert):
    """Agree on the order of draws: a generator that fails on any extra draw replays the worked example.

    Why: with another order of draws the same seed gives another batch, and no two implementations can be
    compared.
    """
    rng = ScriptedDraws(uniforms=[0.05, 0.50, 0.90, 0.10, 0.85], belows=[9])
    ids = np.array([2, 5, 6, 7, 3, 0])  # [CLS] the cat sat [SEP] [PAD]
    special = np.array([True, False, False, False, True, True])
    inputs, labels = bert.mlm_mask(ids, special, 4, 40, 0.15, rng)
    assert np.asarray(inputs).tolist() == [2, 4, 6, 9, 3, 0], "shown: [CLS] [MASK] cat 9 [SEP] [PAD]"
    assert np.asarray(labels).tolist() == [-100, 5, -100, 7, -100, -100], "predicted: the and sat, no more"
    assert rng.calls[-1] == ("below", 40, 9), "the random id is below(vocab), drawn last"
    rng.finish()


def test_keep_action_still_predicts(bert):
    """A picked token that is shown as it is still has its label.

    Why: the kept tenth teaches the model that a visible token may be right, which it learns only if it is
    asked.
    """
    rng = ScriptedDraws(uniforms=[0.05, 0.95])
    inputs, labels = bert.mlm_mask(np.array([7]), np.array([False]), 4, 40, 0.15, rng)
    assert np.asarray(inputs).tolist() == [7], "0.95 is the third action: the token is shown as it is"
    assert np.asarray(labels).tolist() == [7], "a kept token is predicted too"
    rng.finish()


def test_mask_follows_the_op_order(bert):
    """A batch [4, 32] equals the order of draws replayed on a second generator from the same seed.

    Why: it fixes every draw of a real batch, so that the same seed gives the same batch in every language.
    The vocabulary is larger than the ids of the batch: a random token need not be one of its words. [MASK]
    has another id than usual, and some [PAD] are no padding: the arguments say so, and no id does.
    """
    ids, special = random_batch(1, (4, 32), 40)
    special[:, -4:] = False
    rng, replay = PCG32(2026), PCG32(2026)
    want_inputs, want_labels = ids.copy(), np.full_like(ids, -100)
    for place in np.ndindex(ids.shape):
        if special[place] or replay.uniform() >= 0.5:
            continue
        want_labels[place] = ids[place]
        action = sample_categorical([0.8, 0.1, 0.1], replay.uniform())
        if action == 0:
            want_inputs[place] = 60
        elif action == 1:
            want_inputs[place] = replay.below(90)
    inputs, labels = bert.mlm_mask(ids, special, 60, 90, 0.5, rng)
    np.testing.assert_array_equal(inputs, want_inputs, "inputs: got x, the replay shows y")
    np.testing.assert_array_equal(labels, want_labels, "labels: got x, the replay has y")
    assert rng == replay, "the generator must have made exactly the draws of the replay"
    edge = bert.mlm_mask(np.array([7]), np.array([False]), 4, 40, 0.15, ScriptedDraws(uniforms=[0.15]))
    assert np.asarray(edge[1]).tolist() == [-100], "a draw that equals p picks nothing"


def test_mask_rates(bert):
    """The share of picks lies within 4 standard deviations of p; what is shown passes a chi-square test.

    Why: wrong proportions train a different model, and no single example shows them. At p = 1 there are
    enough picks to tell 81/10/9 from 80/10/10; the third case has a split of its own. The seed is fixed: a
    right implementation gives the same counts each time. A free seed would give a false alarm about once in
    2,000 runs.
    """
    vocab, n = 1000, 40_000
    ids = 5 + PCG32(3).block(n).astype(np.int64) % (vocab - 5)
    for p, options in ((0.15, {}), (1.0, {}), (0.5, {"split": (0.2, 0.4, 0.4)})):
        case = f"at p = {p} {options or ''}"
        inputs, labels = bert.mlm_mask(ids, np.zeros(n, bool), 4, vocab, p, PCG32(4), **options)
        picked = np.asarray(labels) != -100
        assert abs(picked.sum() - n * p) <= 4 * math.sqrt(n * p * (1 - p)), f"{picked.sum()} picks {case}"
        shown, original = np.asarray(inputs)[picked], ids[picked]
        counts = [(shown == 4).sum(), ((shown != 4) & (shown != original)).sum(), (shown == original).sum()]
        mask, random, keep = options.get("split", (0.8, 0.1, 0.1))
        shares = [mask + random / vocab, random * (vocab - 2) / vocab, keep + random / vocab]
        chance = stats.chisquare(counts, np.array(shares) * picked.sum()).pvalue
        assert chance > 1e-4, f"shown as [MASK], another token and itself: {counts} {case}"


def small_model(bert, **changes):
    """A BertForMLM of 2 layers x 12 in float64 and eval mode, its weights large enough for all to matter."""
    sizes = {"max_len": 16, "d_model": 12, "n_heads": 3, "n_layers": 2, "d_ff": 20, "dropout": 0.0}
    model = bert.BertForMLM(bert.BertConfig(40, **{**sizes, **changes}))
    rng = PCG32(7)
    for _, parameter in sorted(model.named_parameters()):
        values = normal_init(tuple(parameter.shape), 0.4, rng)
        parameter.data.copy_(parameter.new_tensor(values))
    return model.double().eval()


def sentences():
    """Ids, token types and attention mask, each [2, 6]: one full row and one of four positions."""
    import torch

    ids = torch.tensor([[2, 5, 9, 7, 11, 3], [2, 8, 6, 3, 0, 0]])
    types = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 0]])
    return ids, types, torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])


def test_golden_hf_bert(bert):
    """Logits, loss and every gradient equal those of a random tiny Hugging Face model, through the loader.

    Why: it is what makes real BERT checkpoints load, and mean the same here as there.
    """
    import torch
    from transformers import BertConfig, BertForMaskedLM

    sizes = {"hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 20}
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = BertConfig(vocab_size=40, max_position_embeddings=16, **sizes, **no_dropout)
    theirs = BertForMaskedLM(config).double().eval()
    rng = PCG32(11)
    for _, parameter in sorted(theirs.named_parameters()):
        parameter.data.copy_(torch.from_numpy(normal_init(tuple(parameter.shape), 0.4, rng)))
    ours = small_model(bert)
    bert.load_hf_bert(ours, theirs.state_dict())
    ids, types, mask = sentences()
    labels = torch.tensor([[-100, 5, -100, 7, -100, -100], [-100, -100, 6, -100, -100, -100]])
    want = theirs(input_ids=ids, token_type_ids=types, attention_mask=mask, labels=labels)
    logits, loss = ours(ids, types, mask, labels)
    assert ((logits - want.logits)[mask == 1]).abs().max() < 1e-10, "the logits differ from Hugging Face's"
    assert abs(loss.item() - want.loss.item()) < 1e-10, "the loss differs from Hugging Face's"
    loss.backward()
    want.loss.backward()
    # Their parameters, given to a model of ours as weights, are in our order: so are their gradients.
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    expected = small_model(bert)
    bert.load_hf_bert(expected, gradients)
    for (name, parameter), (_, gradient) in zip(
        ours.named_parameters(), expected.named_parameters(), strict=True
    ):
        rows = slice(1, None) if name == "encoder.word.weight" else slice(None)  # theirs zeroes [PAD]'s
        assert (parameter.grad - gradient)[rows].abs().max() < 1e-10, f"the gradient of {name} differs"


def test_layer_matches_the_formula(bert):
    """One layer, written in float64 NumPy with the exact GELU and post-LN, gives the encoder's output.

    Why: it fixes the activation and the place of the norms, which shapes and names do not show.
    """
    encoder = small_model(bert, n_layers=1).encoder
    w = {name: value.detach().numpy() for name, value in encoder.named_parameters()}

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x, name):
        centered = x - x.mean(-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    ids, types = np.array([2, 5, 9, 7, 3]), np.array([0, 0, 1, 1, 1])
    h = norm(w["word.weight"][ids] + w["position.weight"][:5] + w["token_type.weight"][types], "norm")
    heads = [linear(h, f"layers.0.attention.{part}").reshape(5, 3, 4) for part in ("query", "key", "value")]
    scores = np.exp(np.einsum("ihk,jhk->hij", heads[0], heads[1]) / math.sqrt(4))
    mixed = np.einsum("hij,jhk->ihk", scores / scores.sum(-1, keepdims=True), heads[2]).reshape(5, 12)
    h = norm(h + linear(mixed, "layers.0.attention.output"), "layers.0.attention_norm")
    inner = linear(h, "layers.0.ff_in")
    gelu = inner * np.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))))(inner)
    h = norm(h + linear(gelu, "layers.0.ff_out"), "layers.0.ff_norm")
    out = encoder(ids[None], types[None]).detach().numpy()[0]
    np.testing.assert_allclose(out, h, atol=1e-10)


def test_padding_is_never_read(bert):
    """Neither the ids on padding nor how much padding there is change a real output.

    Why: rows of different lengths share a batch, and a sentence must not depend on its neighbors.
    """
    model = small_model(bert)
    ids, types, mask = sentences()
    out = model.encoder(ids, types, mask)
    other, other_types = ids.clone(), types.clone()
    other[1, 4:], other_types[1, 4:] = 13, 1
    moved = (model.encoder(other, other_types, mask) - out)[mask == 1].abs().max()
    assert moved < 1e-10, "other ids on padding changed a real output"
    alone = model.encoder(ids[1:, :4], types[1:, :4])
    assert (alone - out[1:, :4]).abs().max() < 1e-10, "without padding the sentence has another output"


def test_reads_both_directions(bert):
    """Changing the last token changes the first position's output.

    Why: it is what BERT has and GPT cannot have: every word sees every other, on both sides.
    """
    model = small_model(bert)
    ids = sentences()[0][:1]
    other = ids.clone()
    other[0, -1] = 12
    moved = (model.encoder(other) - model.encoder(ids))[0].abs().amax(-1)
    assert (moved > 1e-6).all(), (
        f"positions that did not see the last token: {(moved <= 1e-6).nonzero().tolist()}"
    )


def test_token_types_are_added(bert):
    """Segment B changes the output, and no token types means segment A.

    Why: in a pair of sentences nothing else says which sentence a token belongs to.
    """
    model = small_model(bert)
    ids, types, mask = sentences()
    plain = model.encoder(ids, None, mask)
    assert (model.encoder(ids, types * 0, mask) - plain).abs().max() == 0, (
        "without types all are of segment A"
    )
    assert (model.encoder(ids, types, mask) - plain).abs().max() > 1e-3, "segment B changed no output"


def test_loss_only_at_labelled_positions(bert):
    """The loss is the mean cross-entropy at the labelled positions; with none labelled it is exactly 0.

    Why: a loss from visible tokens would be mostly the reward for copying.
    """
    import torch

    model = small_model(bert)
    ids, types, mask = sentences()
    labels = torch.full_like(ids, -100)
    labels[0, 1], labels[1, 2] = 5, 17
    logits, loss = model(ids, types, mask, labels)
    chances = logits.log_softmax(-1)
    mean = -(chances[0, 1, 5] + chances[1, 2, 17]).item() / 2
    assert abs(loss.item() - mean) < 1e-10, f"expected the mean of two positions, {mean}, got {loss.item()}"
    nothing = model(ids, types, mask, torch.full_like(ids, -100))[1]
    assert nothing.item() == 0.0, "with no label the loss is exactly 0"
    nothing.backward()


def test_decoder_is_tied_and_has_a_bias(bert):
    """The parameters have their names, in their order; there is no decoder weight, and the bias is added.

    Why: a checkpoint is a list of names, and a second decoder table would be 23 million numbers too many. The
    one table learns from both of its uses.
    """
    model = small_model(bert)
    layer = ["attention.query", "attention.key", "attention.value", "attention.output", "attention_norm"]
    layer += ["ff_in", "ff_out", "ff_norm"]
    parts = ["encoder.norm", *(f"encoder.layers.{i}.{part}" for i in range(2) for part in layer)]
    names = [f"encoder.{table}.weight" for table in ("word", "position", "token_type")]
    names += [
        f"{part}.{leaf}" for part in [*parts, "transform", "transform_norm"] for leaf in ("weight", "bias")
    ]
    assert [name for name, _ in model.named_parameters()] == [*names, "decoder_bias"], "names or their order"
    ids, table = sentences()[0], model.encoder.word.weight
    before = model(ids)[0]
    model.decoder_bias.data[20] += 3.0
    table.data[30] *= 2.0  # an id that no sentence holds: only the decoder reads its row
    after = model(ids)[0]
    moved = after - before
    assert (moved[..., 20] - 3.0).abs().max() < 1e-10, "the bias of an id is to be added to its logit, once"
    assert moved[..., 30].abs().max() > 1e-3, "the decoder does not read the word table"
    assert moved[..., 21:30].abs().max() == 0, "the bias or the row of one id changed the logits of others"
    after[..., 30].sum().backward()
    assert table.grad[30].abs().max() > 0, "the word table gets no gradient through the decoder"


def test_mlm_batch_from_text(bert):
    """Text to WordPiece ids, padding, token types and attention mask; at p = 1 no special token is picked.

    Why: batches come straight from text, and a picked [PAD] or [CLS] would teach the model to predict
    padding. A batch is masked by mlm_mask with the caller's generator, or no seed would fix it.
    """
    tok = small_tokenizer()
    assert list(bert.special_ids(tok)) == [0, 1, 2, 3, 4], "[PAD] [UNK] [CLS] [SEP] [MASK]"
    texts = ["The cat sat", "a dog", ("the cat sat", "dogs ran.")]
    plain = bert.mlm_batch(tok, texts, 12, 0.0, PCG32(5))
    assert {name: np.asarray(rows).tolist() for name, rows in plain.items()} == {
        "input_ids": [
            [2, 5, 6, 7, 3, 0, 0, 0, 0, 0],
            [2, 9, 11, 3, 0, 0, 0, 0, 0, 0],
            [2, 5, 6, 7, 3, 11, 12, 13, 14, 3],
        ],
        "token_type_ids": [[0] * 10, [0] * 10, [0] * 5 + [1] * 5],
        "attention_mask": [[1] * 5 + [0] * 5, [1] * 4 + [0] * 6, [1] * 10],
        "labels": [[-100] * 10] * 3,
    }, "the batch at p = 0, where nothing is picked"
    ids = np.asarray(plain["input_ids"])
    masked = bert.mlm_batch(tok, texts, 12, 1.0, PCG32(5))
    np.testing.assert_array_equal(masked["labels"], np.where(ids > 4, ids, -100), "labels at p = 1")
    np.testing.assert_array_equal(np.asarray(masked["input_ids"])[ids < 5], ids[ids < 5], "specials stay")
    np.testing.assert_array_equal(
        masked["attention_mask"], plain["attention_mask"], "masking hides no position"
    )
    rng, replay = PCG32(5), PCG32(5)
    batch = bert.mlm_batch(tok, texts, 12, 0.5, rng)
    inputs, labels = bert.mlm_mask(ids, ids < 5, tok.mask_id, tok.vocab_size, 0.5, replay)
    np.testing.assert_array_equal(batch["input_ids"], inputs, "inputs: got x, mlm_mask gives y")
    np.testing.assert_array_equal(batch["labels"], labels, "labels: got x, mlm_mask gives y")
    assert rng == replay, "the caller's generator must have made the draws of mlm_mask"


def test_load_encoder_alone_and_roundtrip(bert):
    """A bare encoder loads from the checkpoint of a BertForMLM; a model directory gives the same model back.

    Why: classifiers start from a pretrained encoder, and a model that cannot be stored is lost. The first
    checkpoints call the weight and bias of a norm gamma and beta, and have to load as well.
    """
    from safetensors.torch import load_file

    model = small_model(bert).float()
    ids, types, mask = sentences()
    with tempfile.TemporaryDirectory() as folder:
        bert.save_bert(model, folder)
        again = bert.load_bert(folder)
        (weights,) = Path(folder).glob("*.safetensors")
        stored = load_file(weights)
    assert not again.training, "load_bert gives a model in eval mode, without dropout"
    logits, hidden = model(ids, types, mask)[0], model.encoder(ids, types, mask)
    assert (again(ids, types, mask)[0] - logits).abs().max() == 0, "stored and loaded, it is another model"
    encoder = bert.BertEncoder(again.config).eval()
    bert.load_hf_bert(encoder, stored)
    assert (encoder(ids, types, mask) - hidden).abs().max() == 0, "the bare encoder's output is another one"
    old_names = (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"))
    for new, old in old_names:
        stored = {name.replace(new, old): value for name, value in stored.items()}
    fresh = bert.BertForMLM(again.config).eval()
    bert.load_hf_bert(fresh, stored)
    assert (fresh(ids, types, mask)[0] - logits).abs().max() == 0, (
        "gamma and beta of the norms were not loaded"
    )


def test_validation(bert):
    """Bad ids, shapes, rates, splits and mask ids are errors, and no draw is made.

    Why: an error in the first minute is cheaper than a model trained for a day on silent garbage.
    """
    ids, special = np.array([2, 5, 6, 3]), np.array([True, False, False, True])
    good = {"ids": ids, "special_mask": special, "mask_id": 4, "vocab": 40, "p": 0.15}
    bad = [
        {"ids": np.array([2, 5, 40, 3])},
        {"ids": np.array([2, 5, -1, 3])},
        {"ids": np.array([2.0, 5.0, 6.0, 3.0])},
        {"special_mask": special[:3]},
        {"special_mask": np.array([2, 0, 0, 1])},
        {"mask_id": 40},
        {"mask_id": -1},
        {"vocab": 0},
        {"p": 1.5},
        {"p": -0.1},
        {"p": math.nan},
    ]
    for change in bad:
        rng = PCG32(6)
        with pytest.raises((TypeError, ValueError)):
            bert.mlm_mask(*{**good, **change}.values(), rng)
        assert rng == PCG32(6), f"a draw was made before {change} was refused"
    tok = small_tokenizer()
    model, words = small_model(bert), np.array([[2, 5, 3]])
    for call in (
        lambda: bert.BertConfig(40, d_model=10, n_heads=3),
        lambda: bert.BertConfig(40, n_heads=0),
        lambda: model(np.array([[2, 40, 3]])),
        lambda: model(np.array([2, 5, 3])),
        lambda: model(words, attn_mask=np.ones((1, 4))),
        lambda: model(words, token_type_ids=np.array([[0, 2, 0]])),
        lambda: model(words, labels=np.array([[-100, -1, -100]])),
        lambda: bert.load_hf_bert(model.encoder.word, {}),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()
    for texts, max_len in (([], 8), ("the cat", 8), ([None], 8), (["the cat"], 1)):
        with pytest.raises((TypeError, ValueError)):
            bert.mlm_batch(tok, texts, max_len, 0.15, PCG32(6))
