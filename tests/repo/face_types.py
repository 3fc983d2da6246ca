"""What an editor sees of bert_lab's face: mypy reads this file in `make lint`, and nothing runs it."""

from typing import assert_type

import numpy as np
import torch
from numpy.typing import NDArray

import bert_lab

Ints = NDArray[np.int64]


def face(tok: bert_lab.WordPieceTokenizer, config: bert_lab.BertConfig) -> None:
    rng = bert_lab.PCG32(42)
    assert_type(rng.uniform(), float)
    assert_type(rng.block(3), NDArray[np.uint32])
    assert_type(bert_lab.example_stream(42, 0, 0), bert_lab.PCG32)
    assert_type(bert_lab.normal_init((2, 3), 0.02, rng), NDArray[np.float32])
    assert_type(bert_lab.sample_categorical([0.5, 0.5], 0.1), int)

    # Integers may come as a list, a NumPy array or a tensor; any generator with the two draws will do.
    assert_type(bert_lab.mlm_mask([5, 6], [0, 0], 4, 40, 0.15, rng), tuple[Ints, Ints])
    assert_type(bert_lab.mlm_mask(np.ones(2), torch.zeros(2), 4, 40, 0.15, rng), tuple[Ints, Ints])
    assert_type(bert_lab.mask_whole_words([5], [0], [0], 4, 40, 0.15, rng), tuple[Ints, Ints])
    batch = bert_lab.mlm_batch(tok, ["a", ("a", "b")], 8, 0.15, bert_lab.ScriptedDraws())
    assert_type(batch, dict[str, Ints])
    assert_type(bert_lab.special_ids(tok), list[int])
    assert_type(tok.encode("a"), list[int])

    assert_type(bert_lab.load_bert("folder"), bert_lab.BertForMLM)
    assert_type(bert_lab.manual_bert(), tuple[bert_lab.BertForMLM, bert_lab.WordPieceTokenizer])
    assert_type(bert_lab.load("folder"), torch.nn.Module)
    model = bert_lab.BertForMLM(config)
    assert_type(model.encoder, bert_lab.BertEncoder)
    assert_type(model.encoder.layers[0], bert_lab.BertLayer)
    assert_type(model.mlm_loss([[2, 5, 3]], labels=torch.tensor([[-100, 5, -100]])), torch.Tensor)
    assert_type(model.forward(batch["input_ids"]), tuple[torch.Tensor, torch.Tensor | None])
    assert_type(bert_lab.attention_maps(model, batch["input_ids"]), torch.Tensor)
    assert_type(bert_lab.influence(model, [[2, 5, 3]]), torch.Tensor)
    assert_type(bert_lab.fill_mask(model, tok, "a [MASK]"), list[list[tuple[str, float]]])
