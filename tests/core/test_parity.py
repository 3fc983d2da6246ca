"""Parity with Hugging Face: random tiny models, padded batches, token types; logits, loss, every gradient."""

import logging

import pytest
import torch
import transformers
from theirs import BOUNDS, hf_sizes, noisy

from bert_lab.checkpoint import hf_bert_encoder_sd, load_bert, load_hf_bert, save_bert
from bert_lab.model import BertConfig, BertEncoder, BertForMLM

transformers.utils.logging.disable_progress_bar()

# vocab, max_len, d_model, n_heads, n_layers, d_ff, type_vocab; and the id whose row theirs does not train
SHAPES = {
    "small": (40, 12, 8, 2, 2, 16, 2, 0),
    "odd sizes, one type": (101, 9, 15, 3, 1, 7, 1, 0),
    "a head a number": (33, 10, 24, 24, 2, 48, 3, None),
    "one head": (64, 11, 20, 1, 3, 80, 2, 5),
    "narrow and deep": (17, 6, 6, 2, 5, 1, 2, None),
    "as wide as a word": (257, 16, 48, 6, 2, 96, 4, 0),
}


def pair(shape: str, dtype: torch.dtype):
    """Their model with random values everywhere, and ours with the same."""
    *sizes, pad = SHAPES[shape]
    theirs = transformers.BertForMaskedLM(
        transformers.BertConfig(
            **hf_sizes(*sizes),
            pad_token_id=pad,
        )
    ).to(dtype)
    noisy(theirs, len(shape))
    ours = BertForMLM(BertConfig(*sizes)).to(dtype)
    load_hf_bert(ours, theirs.state_dict())
    return theirs.eval(), ours.eval()


def batch(shape: str) -> dict[str, torch.Tensor]:
    """Rows of every length down to one, with token types, and labels at some real positions."""
    vocab, max_len, *_, type_vocab, _pad = SHAPES[shape]
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([max_len, max_len - 2, 3, 1])
    size = (len(lengths), max_len)
    mask = (torch.arange(max_len) < lengths[:, None]).long()
    ids = torch.randint(vocab, size, generator=generator)
    picked = (torch.rand(size, generator=generator) < 0.5) & (mask == 1)
    picked[0, 0] = True
    labels = torch.where(picked, torch.randint(vocab, size, generator=generator), -100)
    types = torch.randint(type_vocab, size, generator=generator)
    return {"ids": ids, "token_type_ids": types, "attn_mask": mask, "labels": labels}


def theirs_takes(batch: dict) -> dict:
    renamed = {"ids": "input_ids", "attn_mask": "attention_mask"}
    return {renamed.get(name, name): value for name, value in batch.items()}


HEAD = ["decoder_bias", "transform.weight", "transform.bias", "transform_norm.weight", "transform_norm.bias"]


def their_gradients(theirs, config: BertConfig) -> dict[str, torch.Tensor]:
    """Under our names: theirs stand in the order of our encoder's, then their head's."""
    names = [f"encoder.{name}" for name, _ in BertEncoder(config).named_parameters()] + HEAD
    return {name: p.grad for name, p in zip(names, theirs.parameters(), strict=True)}


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_logits_loss_and_every_gradient_agree(shape, dtype):
    theirs, ours = pair(shape, dtype)
    inputs, bound = batch(shape), BOUNDS[dtype]
    expected = theirs(**theirs_takes(inputs))
    logits, loss = ours(**inputs)
    assert logits.dtype == dtype and expected.logits.std() > 0.3  # not a comparison of zeros
    real = inputs["attn_mask"].bool()
    assert (logits - expected.logits)[real].abs().max() < bound
    assert (loss - expected.loss).abs() < bound
    expected.loss.backward()
    gradients = their_gradients(theirs, ours.config)
    pad = SHAPES[shape][-1]
    for run in (lambda: ours(**inputs)[1], lambda: ours.mlm_loss(**inputs)):
        ours.zero_grad()
        run().backward()
        parameters = dict(ours.named_parameters())
        assert gradients.keys() == parameters.keys()
        for name, grad in gradients.items():
            difference = (parameters[name].grad - grad).abs()
            if name == "encoder.word.weight" and pad is not None:
                difference[pad] = 0  # the row of the padding id: theirs gets no gradient from the embedding
            assert difference.max() < bound, name
            assert grad.abs().max() > 1e-6 or name.endswith("key.bias"), name


def test_without_mask_and_types_too():
    theirs, ours = pair("small", torch.float32)
    ids = batch("small")["ids"]
    assert (ours(ids)[0] - theirs(ids).logits).abs().max() < 1e-5
    hidden = theirs.bert(ids).last_hidden_state
    encoder = BertEncoder(ours.config).eval()
    load_hf_bert(encoder, theirs.bert.state_dict())
    assert (encoder(ids) - hidden).abs().max() < 1e-5
    encoder = BertEncoder(ours.config).eval()
    encoder.load_state_dict(hf_bert_encoder_sd(theirs.state_dict()))
    assert (encoder(ids) - hidden).abs().max() < 1e-5


@pytest.mark.parametrize("shape", SHAPES)
def test_a_round_trip_through_a_directory_and_back_into_theirs(shape, tmp_path, caplog, capfd, recwarn):
    theirs, ours = pair(shape, torch.float32)
    save_bert(ours, tmp_path)
    logging.getLogger("transformers").addHandler(caplog.handler)
    try:
        again, info = transformers.BertForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    finally:
        logging.getLogger("transformers").removeHandler(caplog.handler)
    assert not any(info.values()) and not caplog.records and not recwarn.list
    assert capfd.readouterr() == ("", "")
    before, after = theirs.state_dict(), again.state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
    inputs = theirs_takes(batch(shape))
    real = inputs["attention_mask"].bool()
    assert (again(**inputs).logits - theirs(**inputs).logits)[real].abs().max() < 1e-5
    assert (load_bert(tmp_path)(**batch(shape))[0] - theirs(**inputs).logits)[real].abs().max() < 1e-5
