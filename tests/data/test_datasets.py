"""The dataset against the slow specification, read in every way; the collator against its own; bad input."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import slow_example_stream, slow_mask_words
from torch.utils.data import DataLoader, DistributedSampler, Subset

from bert_lab import PCG32, WordPieceTokenizer, mlm_batch
from bert_lab.course.plain import mlm_mask as plain_mask
from bert_lab.data.datasets import _CHUNK, MLMCollator, MLMDataset
from bert_lab.wordpiece import SPECIAL_TOKENS

WORDS = ["the", "cat", "sat", "on", "a", "mat", "play", "##ful", "##ly", "b", "c"]
TOK = WordPieceTokenizer([*SPECIAL_TOKENS, *WORDS])
PAD, UNK, CLS, SEP, MASK = range(5)
V = TOK.vocab_size
TEXTS = [
    "the cat sat on a mat",
    "playfully",
    ("a playful cat", "the mat"),
    "",
    "zebra on [MASK] ##ful",
    "b c",
]
ROWS = [[CLS, *[5 + (i * j) % 11 for j in range(1, 2 + i % 9)], SEP] for i in range(23)]
# With Python 3.12 a fork beside other threads warns; a worker here needs none of them.
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def listed(item):
    return {name: values.tolist() for name, values in item.items()}


def specification(ids, types, seed, epoch, index, p=0.15, split=(0.8, 0.1, 0.1), whole_word=False):
    """One example as the contract says it, with the slow generator."""
    special = [x in (PAD, UNK, CLS, SEP, MASK) for x in ids]
    rng = slow_example_stream(seed, epoch, index)
    if whole_word:
        continues = [TOK.vocab[x].startswith("##") for x in ids]
        (inputs,), (labels,) = slow_mask_words([ids], [special], [continues], MASK, V, p, rng, split)
    else:
        inputs, labels = (a.tolist() for a in plain_mask(ids, special, MASK, V, p, rng, split=split))
    return {"input_ids": inputs, "token_type_ids": types, "labels": labels}


def rows_of(batch):
    """The items of a batch, without their padding; padding is checked."""
    items = []
    for b, length in enumerate(batch["attention_mask"].sum(1).tolist()):
        assert batch["attention_mask"][b, :length].all()
        padding = {name: set(values[b, length:].tolist()) for name, values in batch.items()}
        fills = {"input_ids": PAD, "token_type_ids": 0, "labels": -100, "attention_mask": 0}
        assert all(found <= {fills[name]} for name, found in padding.items())
        items.append(
            {name: batch[name][b, :length].tolist() for name in ("input_ids", "token_type_ids", "labels")}
        )
    return items


# --- one example


@settings(max_examples=40)
@given(
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**63 - 1),
    st.sampled_from([0.0, 0.15, 0.5, 1.0]),
    st.sampled_from([(0.8, 0.1, 0.1), (0.2, 0.6, 0.2)]),
    st.booleans(),
)
def test_each_example_follows_the_specification(seed, epoch, p, split, whole_word):
    dataset = MLMDataset(TEXTS, TOK, p, seed, split, whole_word)
    dataset.set_epoch(epoch)
    assert dataset.epoch == epoch
    for i, text in enumerate(TEXTS):
        plain = mlm_batch(TOK, [text], 512, 0.0, PCG32(0))
        ids, types = (plain[name][0].tolist() for name in ("input_ids", "token_type_ids"))
        want = specification(ids, types, seed, epoch, i, p, split, whole_word)
        assert listed(dataset[i]) == want


def test_items_are_int64_arrays_of_their_own():
    dataset = MLMDataset(ROWS, TOK, 1.0)
    item = dataset[3]
    assert list(item) == ["input_ids", "token_type_ids", "labels"]
    assert all(isinstance(v, np.ndarray) and v.dtype == np.int64 for v in item.values())
    want = listed(item)
    for values in item.values():
        values[:] = 7
    assert listed(dataset[3]) == want


def test_the_index_is_that_of_the_dataset_whatever_stands_there():
    same = MLMDataset([ROWS[8]] * 40, TOK, 0.5)
    assert len({tuple(same[i]["input_ids"]) for i in range(40)}) > 20
    swapped = MLMDataset([ROWS[8], ROWS[7]], TOK, 0.5)
    assert listed(swapped[0]) == listed(same[0])


def test_epochs_differ_and_come_back():
    dataset = MLMDataset(ROWS, TOK, 0.5)
    epochs = []
    for epoch in (0, 1, 2, 1):
        dataset.set_epoch(epoch)
        epochs.append([listed(item) for item in dataset])
    assert epochs[1] == epochs[3]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]


def test_fixed_masks_are_those_of_epoch_0():
    dataset, fixed = MLMDataset(ROWS, TOK), MLMDataset(ROWS, TOK, fixed=True)
    fixed.set_epoch(np.int64(5))
    assert fixed.epoch == 0
    assert [listed(item) for item in fixed] == [listed(item) for item in dataset]
    with pytest.raises(ValueError, match="epoch"):
        fixed.set_epoch(-1)


def test_whole_words_are_picked_as_one():
    dataset = MLMDataset(["playfully playful cat"] * 50, TOK, 0.5, whole_word=True)
    picked = (
        np.array([item["labels"] for item in dataset]) != -100
    )  # [CLS] play ##ful ##ly play ##ful cat [SEP]
    for word in (slice(1, 4), slice(4, 6), slice(6, 7)):
        assert (picked[:, word].all(1) == picked[:, word].any(1)).all()
        assert 0 < picked[:, word].any(1).sum() < 50


def test_texts_are_cut_as_in_a_batch_and_tokenized_in_parts():
    pairs = [("a a a a a", "b b b"), ("a", "b b b b b"), ("", "")]
    dataset = MLMDataset(pairs, TOK, 0.0, max_len=6)
    batch = mlm_batch(TOK, pairs, 6, 0.0, PCG32(0))
    assert rows_of(MLMCollator(TOK)(list(dataset))) == rows_of(
        {name: torch.from_numpy(values) for name, values in batch.items()}
    )
    many = MLMDataset((f"the {'cat ' * (i % 3)}" for i in range(_CHUNK + 5)), TOK, 0.0)
    assert len(many) == _CHUNK + 5
    assert many[_CHUNK + 1]["input_ids"].tolist() == [CLS, 5, *[6] * ((_CHUNK + 1) % 3), SEP]


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[2, 5, 6, 3], [2, 7, 8, 3]], np.uint16),
        torch.tensor([[2, 5, 6, 3], [2, 7, 8, 3]]),
        [torch.tensor([2, 5, 6, 3]), (2, 7, 8, 3)],
        ([2, 5, 6, 3], np.array([2, 7, 8, 3])),
    ],
)
def test_rows_of_ids_may_come_in_any_form(rows):
    dataset = MLMDataset(rows, TOK, 0.0, max_len=4)
    assert [item["input_ids"].tolist() for item in dataset] == [[2, 5, 6, 3], [2, 7, 8, 3]]
    assert [item["token_type_ids"].tolist() for item in dataset] == [[0] * 4] * 2


def test_indices_count_from_the_end_and_stop_at_both():
    dataset = MLMDataset(ROWS, TOK, 0.5)
    assert len(dataset) == len(ROWS) == len(list(dataset))
    assert listed(dataset[-1]) == listed(dataset[len(ROWS) - 1])
    assert listed(dataset[np.int8(-23)]) == listed(dataset[0]) == listed(dataset[torch.tensor(0)])
    for wrong in (23, -24, 2**40):
        with pytest.raises(IndexError, match=f"from -23 to 22, got {wrong}"):
            dataset[wrong]
    with pytest.raises(TypeError, match=r"expected an integer, got slice\(None, 2, None\).*Subset"):
        dataset[:2]
    for wrong in (1.0, "1", None, True, [1, 2]):
        with pytest.raises(TypeError, match="index: expected an integer, got"):
            dataset[wrong]


# --- read in every way


def read(loader, orders):
    """{(epoch, index): item} of epochs that are read one after the other."""
    found = {}
    for epoch, order in enumerate(orders):
        loader.dataset.set_epoch(epoch)
        loader.sampler[:] = order
        items = [item for batch in loader for item in rows_of(batch)]
        found |= {(epoch, i): item for i, item in zip(order, items, strict=True)}
    return found


WANTED = {
    (epoch, i): specification(row, [0] * len(row), 11, epoch, i, 0.4)
    for epoch in range(2)
    for i, row in enumerate(ROWS)
}


@forks
@pytest.mark.filterwarnings("ignore:This DataLoader will create 4 worker processes:UserWarning")
@pytest.mark.parametrize(
    ("workers", "batch_size", "persistent"),
    [(0, 1, False), (0, 5, False), (2, 4, False), (2, 7, True), (4, 3, True), (4, 23, False)],
)
def test_masks_do_not_depend_on_workers_order_and_batches(workers, batch_size, persistent):
    dataset = MLMDataset(ROWS, TOK, 0.4, 11)
    loader = DataLoader(
        dataset,
        batch_size,
        sampler=list(range(len(ROWS))),
        num_workers=workers,
        collate_fn=MLMCollator(TOK),
        persistent_workers=persistent,
    )
    forward = list(range(len(ROWS)))
    shuffled = np.random.default_rng(workers).permutation(len(ROWS)).tolist()
    assert read(loader, [forward, shuffled]) == WANTED


def test_workers_that_are_spawned_see_the_epoch_too():
    dataset = MLMDataset(ROWS, TOK, 0.4, 11)
    loader = DataLoader(
        dataset,
        6,
        sampler=list(range(len(ROWS))),
        num_workers=1,
        collate_fn=MLMCollator(TOK),
        persistent_workers=True,
        multiprocessing_context=multiprocessing.get_context("spawn"),
    )
    assert read(loader, [range(len(ROWS)), range(len(ROWS))[::-1]]) == WANTED


def test_ranks_share_the_masks_of_one_process():
    dataset = MLMDataset(ROWS, TOK, 0.4, 11)
    dataset.set_epoch(1)
    for rank in range(3):
        sampler = DistributedSampler(dataset, 3, rank, seed=4)
        sampler.set_epoch(1)
        loader = DataLoader(dataset, 4, sampler=sampler, collate_fn=MLMCollator(TOK))
        items = [item for batch in loader for item in rows_of(batch)]
        assert items == [WANTED[1, i] for i in sampler]


def test_a_part_of_a_dataset_keeps_its_masks():
    dataset = MLMDataset(ROWS, TOK, 0.4, 11)
    part = Subset(dataset, [9, 4])
    assert [listed(item) for item in part] == [WANTED[0, 9], WANTED[0, 4]]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@forks
def test_copies_give_the_same_masks_and_share_with_their_workers(way):
    dataset = MLMDataset(ROWS, TOK, 0.4, 11)
    dataset.set_epoch(1)
    twin = way(dataset)
    assert twin.epoch == 1
    assert twin._epoch.is_shared()
    loader = DataLoader(
        twin, 8, sampler=list(range(23)), num_workers=1, collate_fn=MLMCollator(TOK), persistent_workers=True
    )
    assert read(loader, [range(23), range(23)]) == WANTED


def test_global_random_states_and_defaults_of_torch_have_no_effect():
    torch.manual_seed(1)
    np.random.seed(1)
    torch.set_default_device("meta")
    try:
        dataset = MLMDataset(ROWS, TOK, 0.4, 11)
        assert listed(dataset[5]) == WANTED[0, 5]
    finally:
        torch.set_default_device(None)


# --- the collator


def test_a_batch_of_items():
    items = [
        {"input_ids": np.array([CLS, 5, SEP]), "token_type_ids": [0, 0, 0], "labels": [-100, 6, -100]},
        {"input_ids": [CLS, SEP], "token_type_ids": torch.tensor([0, 1]), "labels": np.array([-100, -100])},
    ]
    batch = MLMCollator(TOK)(items)
    assert {name: values.tolist() for name, values in batch.items()} == {
        "input_ids": [[CLS, 5, SEP], [CLS, SEP, PAD]],
        "token_type_ids": [[0, 0, 0], [0, 1, 0]],
        "attention_mask": [[1, 1, 1], [1, 1, 0]],
        "labels": [[-100, 6, -100], [-100, -100, -100]],
    }
    assert all(values.dtype == torch.int64 for values in batch.values())


def test_the_padding_is_the_tokenizers():
    shuffled = WordPieceTokenizer(["a", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "[CLS]"])
    batch = MLMCollator(shuffled)([{"input_ids": [5, 0, 1]}, {"input_ids": [5, 1]}])
    assert batch["input_ids"].tolist() == [[5, 0, 1], [5, 1, 4]]


@pytest.mark.parametrize(("multiple", "width"), [(None, 5), (1, 5), (5, 5), (np.int64(4), 8), (64, 64)])
def test_a_batch_may_be_padded_to_a_multiple(multiple, width):
    items = [{"input_ids": [CLS, 5, 6, 7, SEP]}, {"input_ids": [CLS, SEP]}]
    batch = MLMCollator(TOK, multiple)(items)
    assert batch["input_ids"].shape == batch["attention_mask"].shape == (2, width)
    assert batch["attention_mask"].sum(1).tolist() == [5, 2]


def test_what_the_items_lack_the_batch_lacks():
    batch = MLMCollator(TOK)([{"input_ids": [CLS, 5, SEP], "labels": [-100, 5, -100]}])
    assert set(batch) == {"input_ids", "attention_mask", "labels"}


ITEM = {"input_ids": [CLS, SEP], "token_type_ids": [0, 0], "labels": [-100, -100]}


@pytest.mark.parametrize(
    ("items", "error", "message"),
    [
        ([], ValueError, "items: expected at least one item, got none"),
        (None, TypeError, "items: expected a list of dicts"),
        (ITEM, TypeError, "items: expected a list of dicts"),
        ([[CLS, SEP]], TypeError, "items: expected a list of dicts"),
        ([{"labels": [-100]}], ValueError, "got labels. Trainer drops .* remove_unused_columns=False"),
        ([{}], ValueError, "got an empty dict"),
        ([{**ITEM, "special_tokens_mask": [1, 1]}], ValueError, "got input_ids, .* special_tokens_mask"),
        ([ITEM, {"input_ids": [CLS]}], ValueError, r"items\[1\]: expected .*labels as in items\[0\]"),
        ([{**ITEM, "labels": [-100]}], ValueError, r"items\[0\]\['labels'\]: expected one row as long as"),
        ([{**ITEM, "labels": [[-100, 5]]}], ValueError, r"got the shape \(1, 2\)"),
        ([{**ITEM, "labels": [0.5, 1.0]}], TypeError, r"items\[0\]\['labels'\]: expected integers"),
        ([{**ITEM, "labels": None}], TypeError, r"items\[0\]\['labels'\]: expected a list"),
    ],
)
def test_the_collator_refuses(items, error, message):
    with pytest.raises(error, match=message):
        MLMCollator(TOK)(items)


@pytest.mark.parametrize(
    ("multiple", "error"), [(0, ValueError), (-8, ValueError), (8.0, TypeError), (True, TypeError)]
)
def test_the_collator_refuses_a_multiple(multiple, error):
    with pytest.raises(error, match="pad_to_multiple_of: expected an integer"):
        MLMCollator(TOK, multiple)


# --- what the dataset refuses


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"texts_or_ids": []}, ValueError, "texts_or_ids: expected a list of strings, .* got none"),
        ({"texts_or_ids": "the cat"}, TypeError, "texts_or_ids: expected a list of .* got str"),
        ({"texts_or_ids": {"the": 1}}, TypeError, "texts_or_ids: expected a list of .* got dict"),
        ({"texts_or_ids": {"the"}}, TypeError, "texts_or_ids: expected a list of .* got set"),
        ({"texts_or_ids": None}, TypeError, "texts_or_ids: expected a list of .* got NoneType"),
        ({"texts_or_ids": [2, 5, 3]}, TypeError, r"got 2 at texts_or_ids\[0\]"),
        ({"texts_or_ids": [None]}, TypeError, r"got None at texts_or_ids\[0\]"),
        ({"texts_or_ids": ["the", [2, 3]]}, TypeError, r"got list \[2, 3\] at texts\[1\]"),
        ({"texts_or_ids": [("a", 3)]}, TypeError, r"got tuple \('a', 3\) at texts\[0\]"),
        ({"texts_or_ids": ["a"] * 3000 + ["\ud800"]}, ValueError, r"lone surrogate .* of texts\[3000\]"),
        ({"texts_or_ids": [[2, 3], "the"]}, TypeError, r"ids\[1\]: expected a list"),
        ({"texts_or_ids": [[2, 3], [2, 16]]}, ValueError, r"ids\[1\]: expected ids from 0 to 15, got 16"),
        ({"texts_or_ids": [[2, 3], [2.0, 3.0]]}, TypeError, r"ids\[1\]: expected integers, got float64"),
        ({"texts_or_ids": [[2, 3], []]}, ValueError, r"ids\[1\]: expected one row of 1 to 8 ids"),
        ({"texts_or_ids": [[2, *[5] * 7, 3]]}, ValueError, r"ids\[0\]: .* 1 to 8 ids \(max_len\).*\(9,\)"),
        ({"texts_or_ids": [[[2, 3]]]}, ValueError, r"got the shape \(1, 2\)"),
        ({"max_len": 1}, ValueError, "max_len: expected at least 2"),
        ({"max_len": 8.0}, TypeError, "max_len: expected an integer"),
        ({"texts_or_ids": [[2, 3]], "max_len": 0}, ValueError, "max_len: expected an integer from 1"),
        ({"tok": None}, TypeError, "expected a WordPieceTokenizer, got NoneType"),
        ({"p": 15}, ValueError, "p: expected a probability"),
        ({"split": (0.8, 0.1)}, ValueError, "split: expected three"),
        ({"seed": -1}, ValueError, "seed: expected an integer from 0"),
        ({"seed": None}, TypeError, "seed: expected an integer"),
        ({"whole_word": 1}, TypeError, "whole_word: expected True or False, got 1"),
        ({"fixed": None}, TypeError, "fixed: expected True or False, got None"),
    ],
)
def test_the_dataset_refuses(change, error, message):
    arguments = {"texts_or_ids": ["the cat"], "tok": TOK, "max_len": 8, **change}
    with pytest.raises(error, match=message):
        MLMDataset(**arguments)


@pytest.mark.parametrize(("epoch", "error"), [(-1, ValueError), (2**63, ValueError), (1.0, TypeError)])
def test_an_epoch_is_a_number(epoch, error):
    dataset = MLMDataset(ROWS, TOK)
    with pytest.raises(error, match="epoch: expected an integer"):
        dataset.set_epoch(epoch)
    dataset.set_epoch(2**63 - 1)
    assert dataset.epoch == 2**63 - 1
