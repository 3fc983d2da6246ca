"""Masked examples for any training loop: a torch dataset and its collator.

Each example is masked by a generator of its own, `example_stream(seed, epoch, index)`. So its mask does not
depend on the batch size, on the order, or on the number of workers and ranks. A resumed run has the same
masks. Each epoch has new masks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np
import torch
from torch.utils.data import Dataset

from ..batches import as_room, encode_rows
from ..checks import as_array, as_bool, as_ids, as_index, as_probability, as_split
from ..masking import BERT_SPLIT, IGNORE, mlm_mask
from ..rng import example_stream
from ..wordpiece import WordPieceTokenizer, check_text, special_ids, split_pairs
from .wholeword import mask_whole_words

_CHUNK = 2048  # texts tokenized at a time: the tokenizer's own objects take far more room than the ids


class MLMDataset(Dataset):
    """Texts or rows of ids, each masked when it is asked for.

    `dataset[i]` is a dict of int64 arrays [T], T <= max_len: input_ids (what the model sees), token_type_ids,
    and labels (the original id where something is to be predicted, -100 elsewhere). A negative i counts from
    the end, and gives the same example with the same mask.

    Call `set_epoch` before each epoch: masks change with it (dynamic masking), also in worker processes that
    run already. Datasets that wrap this one, such as torch's `Subset`, keep each example's mask; call
    `set_epoch` on this one.

    Args:
        texts_or_ids: strings or pairs of strings, tokenized here once and cut to max_len as `mlm_batch` does;
            or rows of ids (lists, arrays, CPU tensors [T]) that hold their [CLS] and [SEP] already, get token
            type 0, and must fit into max_len.
        tok: the tokenizer.
        p, split: as in `mlm_mask`.
        seed: of all masks; 0 <= seed < 2^64.
        whole_word: pick words rather than pieces, as `mask_whole_words` does. A piece that begins with ##
            continues the word before it.
        fixed: always the masks of epoch 0, as evaluation wants them; `set_epoch` then changes nothing.
        max_len: the longest row, special tokens included.

    Raises:
        TypeError, ValueError: as `mlm_batch` and `mlm_mask` do; no examples; a row of ids that is empty or
            too long.

    Source: dynamic masking, Liu et al. 2019 (RoBERTa), section 4.1; the masking contract, section 5.
    """

    def __init__(
        self,
        texts_or_ids: Iterable,
        tok: WordPieceTokenizer,
        p: float = 0.15,
        seed: int = 0,
        split: Sequence[float] = BERT_SPLIT,
        whole_word: bool = False,
        fixed: bool = False,
        *,
        max_len: int = 512,
    ):
        specials = special_ids(tok)
        self.p, self.split = as_probability(p, "p"), as_split(split)
        self.seed = as_index(seed, "seed", 0, 2**64)
        self.whole_word, self.fixed = as_bool(whole_word, "whole_word"), as_bool(fixed, "fixed")
        self._mask_id, self._vocab = tok.mask_id, tok.vocab_size
        self._is_special = np.isin(np.arange(tok.vocab_size), specials)  # [V]
        self._continues = np.array([piece.startswith("##") for piece in tok.vocab])  # [V]
        self._ids, lengths, firsts = _flatten(_as_list(texts_or_ids), tok, max_len)
        self._ends = np.cumsum(lengths)
        self._starts = self._ends - lengths
        self._second = self._starts + firsts  # where token type 1 begins
        # In shared memory: workers see a new epoch without a restart.
        self._epoch = torch.zeros((), dtype=torch.int64, device="cpu").share_memory_()

    @property
    def epoch(self) -> int:
        """The epoch whose masks the dataset gives; always 0 if fixed."""
        return self._epoch.item()

    def set_epoch(self, epoch: int) -> None:
        """Switch to the masks of an epoch, 0 <= epoch < 2^63, in this process and in its workers.

        Call it between epochs: a worker may have prepared examples of the current one already.
        """
        epoch = as_index(epoch, "epoch", 0, 2**63)
        if not self.fixed:
            self._epoch.fill_(epoch)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        if isinstance(index, slice):
            raise TypeError(
                f"index: expected an integer, got {index}; torch.utils.data.Subset gives a part of a dataset"
            )
        number = as_index(index, "index", -(2**63), 2**63)
        if not -len(self) <= number < len(self):
            raise IndexError(f"index: expected an integer from {-len(self)} to {len(self) - 1}, got {number}")
        number %= len(self)
        start, end = self._starts[number], self._ends[number]
        ids = self._ids[start:end].astype(np.int64)
        special = self._is_special[ids]
        rng = example_stream(self.seed, self.epoch, number)
        known = (self._mask_id, self._vocab, self.p, rng)
        if self.whole_word:
            inputs, labels = mask_whole_words(ids, special, self._continues[ids], *known, split=self.split)
        else:
            inputs, labels = mlm_mask(ids, special, *known, split=self.split)
        token_types = (np.arange(start, end) >= self._second[number]).astype(np.int64)
        return {"input_ids": inputs, "token_type_ids": token_types, "labels": labels}

    def __setstate__(self, state: dict) -> None:
        # A worker's copy is in shared memory already. Any other copy gets shared memory of its own.
        self.__dict__.update(state)
        self._epoch.share_memory_()


class MLMCollator:
    """Makes one padded batch of items of an `MLMDataset`, for a torch DataLoader or `transformers.Trainer`.

    `collator(items)` is a dict of int64 tensors [B, T]: input_ids (padded with [PAD]), token_type_ids (0),
    attention_mask (1 at the positions of an item, 0 at padding) and labels (-100). T is the longest item's
    length, or the next multiple of `pad_to_multiple_of`. It draws nothing: the items are masked already.
    Items without token_type_ids or labels, as `Trainer` makes them for models that take none, give a batch
    without.

    Raises:
        TypeError: tok is no tokenizer, pad_to_multiple_of no integer; items that are no dicts of integers.
        ValueError: pad_to_multiple_of below 1; no items, or items that do not belong together.
    """

    def __init__(self, tok: WordPieceTokenizer, pad_to_multiple_of: int | None = None):
        special_ids(tok)
        self.pad_id = tok.pad_id
        self.pad_to_multiple_of = 1
        if pad_to_multiple_of is not None:
            self.pad_to_multiple_of = as_index(pad_to_multiple_of, "pad_to_multiple_of", 1, 2**31)

    def __call__(self, items: Sequence[Mapping]) -> dict[str, torch.Tensor]:
        fills = {"input_ids": self.pad_id, "token_type_ids": 0, "labels": IGNORE}
        names = _names(items, fills)
        lengths = np.array([len(item["input_ids"]) for item in items])
        width = -(-lengths.max() // self.pad_to_multiple_of) * self.pad_to_multiple_of
        real = np.arange(width) < lengths[:, None]  # [B, T]
        batch = {}
        for name in names:
            padded = np.full(real.shape, fills[name], np.int64)  # [B, T]
            padded[real] = np.concatenate([_row(items, i, name) for i in range(len(items))])
            batch[name] = torch.from_numpy(padded)
        return {**batch, "attention_mask": torch.from_numpy(real.astype(np.int64))}


def _as_list(examples) -> list:
    wanted = "expected a list of strings, pairs of strings or rows of ids"
    if isinstance(examples, (str, bytes, Mapping, Set)) or not isinstance(examples, Iterable):
        raise TypeError(f"texts_or_ids: {wanted}, got {type(examples).__name__}")
    examples = list(examples)
    if not examples:
        raise ValueError(f"texts_or_ids: {wanted}, got none")
    if not isinstance(examples[0], (str, list, tuple, np.ndarray, torch.Tensor)):
        raise TypeError(f"texts_or_ids: {wanted}, got {examples[0]!r} at texts_or_ids[0]")
    return examples


def _flatten(examples: list, tok, max_len) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ids of all rows end to end, int32 [N]; each row's length; and where its first text ends."""
    first = examples[0]
    is_pair = isinstance(first, (list, tuple)) and any(isinstance(part, str) for part in first)
    if not (is_pair or isinstance(first, str)):
        rows = _rows_of_ids(examples, tok.vocab_size, as_index(max_len, "max_len", 1, 2**63))
        lengths = np.array([len(row) for row in rows])
        return np.concatenate(rows), lengths, lengths
    rows = split_pairs(examples)
    max_len = as_room(max_len, rows)
    for i, row in enumerate(rows):
        for text in row:
            check_text(f"texts[{i}]", text)
    parts, firsts, lengths = [], [], []
    for start in range(0, len(rows), _CHUNK):
        flat, some_firsts, some_lengths = encode_rows(tok, rows[start : start + _CHUNK], max_len)
        parts.append(np.array(flat, np.int32))
        firsts += some_firsts
        lengths += some_lengths
    return np.concatenate(parts), np.array(lengths), np.array(firsts)


def _rows_of_ids(examples: list, vocab: int, max_len: int) -> list[np.ndarray]:
    rows = []
    for i, example in enumerate(examples):
        row = as_ids(example, vocab, f"ids[{i}]")
        if row.ndim != 1 or not 1 <= row.size <= max_len:
            raise ValueError(
                f"ids[{i}]: expected one row of 1 to {max_len} ids (max_len), got the shape {row.shape}"
            )
        rows.append(row.astype(np.int32))
    return rows


def _names(items, known: Mapping) -> list[str]:
    """The names in these items, in the order of a batch. Raises an error if the items do not fit together."""
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, Mapping) for item in items):
        raise TypeError("items: expected a list of dicts, as MLMDataset gives them")
    if not items:
        raise ValueError("items: expected at least one item, got none")
    names = items[0].keys()
    if "input_ids" not in names or not names <= known.keys():
        raise ValueError(
            f"items: expected {', '.join(known)}, got {', '.join(names) or 'an empty dict'}. Trainer drops "
            "what a model's forward does not name; remove_unused_columns=False keeps it"
        )
    for i, item in enumerate(items):
        if item.keys() != names:
            raise ValueError(f"items[{i}]: expected {', '.join(names)} as in items[0], got {', '.join(item)}")
    return [name for name in known if name in names]


def _row(items, i: int, name: str) -> np.ndarray:
    row = as_array(items[i][name], f"items[{i}][{name!r}]")
    if row.dtype.kind not in "iu":
        raise TypeError(f"items[{i}][{name!r}]: expected integers, got {row.dtype}")
    if row.shape != (len(items[i]["input_ids"]),):
        raise ValueError(
            f"items[{i}][{name!r}]: expected one row as long as input_ids, got the shape {row.shape}"
        )
    return row
