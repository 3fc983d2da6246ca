"""A learner's tests, as good ones can be: two oracles, a state dict by hand, and a few properties.

Whatever is compared with is worked out here, and not asked from the code under test.
"""

import math

import bert
import numpy as np
import pytest
import torch

from bert_lab import PCG32, ScriptedDraws, WordPieceTokenizer, sample_categorical

BERT = (0.8, 0.1, 0.1)
IDS = np.array([[2, 5, 9, 7, 11, 3], [2, 8, 6, 3, 0, 0]])
TYPES = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 0]])
REAL = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
TOK = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "dog", "##s"])


def replay(ids, special, vocab, p, rng, split=BERT):
    """The first oracle: the order of draws, as a plain loop."""
    inputs, labels = ids.copy(), np.full_like(ids, -100)
    for place in np.ndindex(ids.shape):
        if special[place] or rng.uniform() >= p:
            continue
        labels[place] = ids[place]
        action = sample_categorical(split, rng.uniform())
        if action < 2:
            inputs[place] = 4 if action == 0 else rng.below(vocab)
    return inputs, labels


@pytest.mark.parametrize(("p", "split"), [(0.5, (0.1, 0.6, 0.3)), (1.0, BERT)], ids=["half", "all"])
def test_masking_is_the_replay(p, split):
    ids = 5 + PCG32(1).block(400).astype(np.int64).reshape(4, 100) % 20  # all far below V
    special, rng, again = ids % 7 == 0, PCG32(2), PCG32(2)
    got = bert.mlm_mask(ids, special, 4, 1000, p, rng, split=split)
    np.testing.assert_array_equal(got, replay(ids, special, 1000, p, again, split))
    assert rng == again


def test_hand_example():
    rng = ScriptedDraws(uniforms=[0.05, 0.50, 0.90, 0.10, 0.85], belows=[9])
    inputs, labels = bert.mlm_mask([2, 5, 6, 7, 3, 0], [1, 0, 0, 0, 1, 1], 4, 40, 0.15, rng)
    assert inputs.tolist() == [2, 4, 6, 9, 3, 0]
    assert labels.tolist() == [-100, 5, -100, 7, -100, -100]
    rng.finish()


def test_batch_from_text():
    texts = ["The cats sat", ("the dog", "the cat sat sat")]  # the pair is too long by one
    ids = np.array([[2, 5, 6, 9, 7, 3, 0, 0], [2, 5, 8, 3, 5, 6, 7, 3]])
    assert bert.special_ids(TOK) == [0, 1, 2, 3, 4]
    for p, seed in [(0.0, 4), (1.0, 4), (0.5, 5), (0.5, 6)]:
        batch = bert.mlm_batch(TOK, texts, 8, p, PCG32(seed))
        got = batch["input_ids"], batch["labels"]
        np.testing.assert_array_equal(got, replay(ids, ids < 5, 10, p, PCG32(seed)))
        assert batch["token_type_ids"].tolist() == [[0] * 8, [0] * 4 + [1] * 4]
        assert batch["attention_mask"].tolist() == [[1] * 6 + [0] * 2, [1] * 8]


def model_of(dropout=0.0):
    """Two layers in which every weight, bias and norm has a value that matters."""
    config = bert.BertConfig(40, max_len=8, d_model=6, n_heads=2, n_layers=2, d_ff=10, dropout=dropout)
    model, rng = bert.BertForMLM(config).double().eval(), np.random.default_rng(0)
    for parameter in model.parameters():
        parameter.data = torch.from_numpy(rng.normal(scale=0.5, size=parameter.shape))
    return model


def numpy_logits(model, ids, types):
    """The second oracle: the encoder and the head in float64 NumPy, for one sentence without padding."""
    w = {name: value.detach().numpy() for name, value in model.named_parameters()}

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def gelu(x):
        return x * np.vectorize(lambda u: (1 + math.erf(u / math.sqrt(2))) / 2)(x)

    word, position, kind = (w[f"encoder.{table}.weight"] for table in ("word", "position", "token_type"))
    h = norm(word[ids] + position[: len(ids)] + kind[types], "encoder.norm")
    for at in ("encoder.layers.0.", "encoder.layers.1."):
        q, k, v = (linear(h, f"{at}attention.{x}").reshape(-1, 2, 3) for x in ("query", "key", "value"))
        scores = np.exp(np.einsum("ihk,jhk->hij", q, k) / math.sqrt(3))
        mixed = np.einsum("hij,jhk->ihk", scores / scores.sum(-1, keepdims=True), v).reshape(-1, 6)
        h = norm(h + linear(mixed, f"{at}attention.output"), f"{at}attention_norm")
        h = norm(h + linear(gelu(linear(h, f"{at}ff_in")), f"{at}ff_out"), f"{at}ff_norm")
    return norm(gelu(linear(h, "transform")), "transform_norm") @ word.T + w["decoder_bias"]


def test_logits_loss_and_gradient():
    model, labels, want = model_of(), np.full_like(IDS, -100), 0.0
    labels[0, 1], labels[0, 4], labels[1, 2] = 5, 17, 30
    logits, loss = model(IDS, TYPES, REAL, labels)
    for row, length in enumerate((6, 4)):
        alone = numpy_logits(model, IDS[row, :length], TYPES[row, :length])
        np.testing.assert_allclose(logits[row, :length].detach(), alone, atol=1e-10)
        for t in np.flatnonzero(labels[row] != -100):
            want += (np.log(np.exp(alone[t]).sum()) - alone[t, labels[row, t]]) / 3
    assert abs(loss.item() - want) < 1e-10
    loss.backward()
    word = model.encoder.word.weight  # its row 33 is in no sentence: it learns as a row of the decoder
    with torch.no_grad():
        word[33, 2] += 1e-6
        slope = (model(IDS, TYPES, REAL, labels)[1] - loss) / 1e-6
    assert abs(word.grad[33, 2] - slope) < 1e-5


def test_padding_direction_and_types():
    encoder = model_of().encoder
    out = encoder(IDS, TYPES, REAL)
    torch.testing.assert_close(encoder(IDS[1:, :4], TYPES[1:, :4]), out[1:, :4])
    torch.testing.assert_close(encoder(np.where(REAL, IDS, 13), TYPES, REAL)[1, :4], out[1, :4])
    last = np.where(np.arange(6) == 5, 12, IDS)
    assert (encoder(last, TYPES, REAL) - out)[0, 0].abs().max() > 1e-6
    plain = encoder(IDS, None, REAL)
    assert torch.equal(encoder(IDS, 0 * TYPES, REAL), plain) and not torch.allclose(plain, out)


def names():
    """The model's names and Hugging Face's, in the order of the parameters."""
    tables = [(f"encoder.{x}", f"bert.embeddings.{x}_embeddings") for x in ("word", "position", "token_type")]
    parts = [("encoder.norm", "bert.embeddings.LayerNorm")]
    ours = "attention.query attention.key attention.value attention.output attention_norm "
    ours += "ff_in ff_out ff_norm"
    theirs = "attention.self.query attention.self.key attention.self.value attention.output.dense "
    theirs += "attention.output.LayerNorm intermediate.dense output.dense output.LayerNorm"
    for at in ("0.", "1."):
        both = zip(ours.split(), theirs.split(), strict=True)
        parts += [(f"encoder.layers.{at}{a}", f"bert.encoder.layer.{at}{b}") for a, b in both]
    head = "cls.predictions."
    parts += [("transform", f"{head}transform.dense"), ("transform_norm", f"{head}transform.LayerNorm")]
    out = [(f"{a}.weight", f"{b}.weight") for a, b in tables]
    out += [(f"{a}.{leaf}", f"{b}.{leaf}") for a, b in parts for leaf in ("weight", "bias")]
    return [*out, ("decoder_bias", f"{head}bias")]


@pytest.mark.parametrize("leaf", [("weight", "bias"), ("gamma", "beta")], ids=["today", "of old"])
def test_loader(leaf):
    model, rng = model_of(), np.random.default_rng(1)
    assert [name for name, _ in model.named_parameters()] == [ours for ours, _ in names()]
    values = {ours: rng.normal(size=p.shape) for ours, p in model.named_parameters()}
    sd = {theirs: torch.from_numpy(values[ours]) for ours, theirs in names()}
    for old, new in zip(("Norm.weight", "Norm.bias"), leaf, strict=True):
        sd = {key.replace(old, f"Norm.{new}"): value for key, value in sd.items()}
    encoder = bert.BertEncoder(model.config).double()
    bert.load_hf_bert(model, sd)
    bert.load_hf_bert(encoder, sd)
    for name, parameter in model.named_parameters():
        np.testing.assert_array_equal(parameter.detach(), values[name])
    for name, value in bert.hf_bert_encoder_sd(sd).items():
        np.testing.assert_array_equal(encoder.get_parameter(name).detach(), value)


def test_saved_and_loaded(tmp_path):
    model = model_of(dropout=0.5).float()
    bert.save_bert(model, tmp_path)
    again = bert.load_bert(tmp_path)
    assert torch.equal(again(IDS)[0], again(IDS)[0]), "no dropout after a load"
    assert torch.equal(again(IDS)[0], model(IDS)[0])
