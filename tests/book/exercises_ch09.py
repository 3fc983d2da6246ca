"""The exercises of chapter 09: right answers, and mistakes with a part of what is said of each."""

import numpy as np

LABELS = np.array([[-100, 7, -100]])


def small_encoder(bert):
    return bert.BertEncoder(bert.BertConfig(40, d_model=12, n_heads=3, n_layers=1, d_ff=20)).eval()


def neighbor_is_not_read(bert):
    encoder = small_encoder(bert)
    both = encoder([[2, 5, 3, 0], [2, 5, 6, 3]], attn_mask=[[1, 1, 1, 0], [1, 1, 1, 1]])
    assert (both[:1, :3] - encoder([[2, 5, 3]])).abs().max() < 1e-5


def padding_is_not_read(bert):
    encoder = small_encoder(bert)
    padded = encoder([[2, 5, 3, 0]], attn_mask=[[1, 1, 1, 0]])
    assert (padded[:, :3] - encoder([[2, 5, 3]])).abs().max() < 1e-5


def every_row_learns(bert):
    model = bert.BertForMLM(bert.BertConfig(40, d_model=12, n_heads=3, n_layers=1, d_ff=20))
    model([[2, 4, 3]], labels=LABELS)[1].backward()
    assert model.encoder.word.weight.grad.any(1).all()


def some_row_learns(bert):
    model = bert.BertForMLM(bert.BertConfig(40, d_model=12, n_heads=3, n_layers=1, d_ff=20))
    model([[2, 4, 3]], labels=LABELS)[1].backward()
    assert model.encoder.word.weight.grad.any()


def claims_too_much(bert):
    raise AssertionError("nothing is right")


ANSWERS = {
    "9.1": ("S04", "s08", " s02", "s11", "s09"),
    "9.2": " test_D",
    "9.3": neighbor_is_not_read,
    "9.4": every_row_learns,
}
MISTAKES = {
    "9.1": [
        ("s04", "a list of five"),
        (["s04"] * 5, "1 of 5"),
        (["s04", "s08", "s02", "s09", "s11"], "3 of 5"),
    ],
    "9.2": [
        ("test_a", "who kills m2"),
        ("test_b", "who kills m3"),
        ("test_c", "who kills m6"),
        ("test_e", "one of the four"),
    ],
    "9.3": [
        ("padding", "Expected a function test"),
        (claims_too_much, "fails on the reference, which is right: AssertionError: nothing is right"),
        (padding_is_not_read, "Is there a longer sentence"),
    ],
    "9.4": [
        (14, "Expected a function test"),
        (claims_too_much, "fails on the reference"),
        (some_row_learns, "in the word table?"),
    ],
}
