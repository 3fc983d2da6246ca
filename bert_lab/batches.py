"""Text to masked batches: truncate, pad, mask, and label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from .checks import as_index
from .masking import BERT_SPLIT, mlm_mask
from .rng import UniformDraws
from .wordpiece import WordPieceTokenizer, special_ids, split_pairs


def mlm_batch(
    tok: WordPieceTokenizer,
    texts: Iterable[str | tuple[str, str]],
    max_len: int,
    p: float,
    rng: UniformDraws,
    *,
    split: Sequence[float] = BERT_SPLIT,
) -> dict[str, NDArray[np.int64]]:
    """Turn texts into one masked batch of B rows, as wide as its longest row (T <= max_len).

    A row is [CLS] text [SEP], or [CLS] a [SEP] b [SEP] for a pair, then [PAD]. What is too long loses pieces
    at its end: of a pair the longer side, on a tie the second. [CLS] and the [SEP]s around the texts stay.

    Args:
        tok: the tokenizer.
        texts: strings, or pairs of strings (a tuple or list of two). A bare string or a set is refused.
        max_len: room of a row, special tokens included: at least 2, or 3 when there is a pair.
        p, rng, split: as in `mlm_mask`. The generator does not move on when an argument is refused.

    Returns:
        A dict of four int64 arrays [B, T]:

        - input_ids: what the model sees, some of it hidden.
        - token_type_ids: 1 for the second text and its [SEP]; 0 for all the rest, padding included.
        - attention_mask: 1 at the positions of a row, 0 at padding. It comes from lengths: a [PAD] written
          out in a text, or drawn as a random token, is a real position.
        - labels: the original id where something is to be predicted, -100 elsewhere; never a special token.

    Raises:
        TypeError: texts that are no strings or pairs, or another argument of the wrong type.
        ValueError: no texts, too little room, a lone surrogate in a text, or another wrong value.

    Source: Devlin et al. 2019, section 3.1 and appendix A.2; the course text, section 4.
    """
    specials = special_ids(tok)
    rows = split_pairs(texts)
    max_len = as_room(max_len, rows)
    flat, firsts, lengths = encode_rows(tok, rows, max_len)

    columns = np.arange(max(lengths))  # [T]
    real = columns < np.array(lengths)[:, None]  # [B, T]
    token_types = real & (columns >= np.array(firsts)[:, None])  # [B, T]
    ids = np.full(real.shape, tok.pad_id, np.int64)  # [B, T]
    ids[real] = flat
    special_mask = np.isin(ids, specials)  # [B, T]
    inputs, labels = mlm_mask(ids, special_mask, tok.mask_id, tok.vocab_size, p, rng, split=split)
    return {
        "input_ids": inputs,
        "token_type_ids": token_types.astype(np.int64),
        "attention_mask": real.astype(np.int64),
        "labels": labels,
    }


def as_room(max_len: int, rows: list[tuple[str, ...]]) -> int:
    """`max_len` as an int that leaves room for the special tokens of these rows; ValueError for no rows."""
    if not rows:
        raise ValueError("texts: expected at least one text, got none")
    max_len = as_index(max_len, "max_len", -(2**63), 2**63)
    least = 1 + max(len(row) for row in rows)
    if max_len < least:
        raise ValueError(
            f"max_len: expected at least {least}, for [CLS] and each [SEP] of a row, got {max_len}"
        )
    return max_len


def encode_rows(
    tok: WordPieceTokenizer, rows: list[tuple[str, ...]], max_len: int
) -> tuple[list[int], list[int], list[int]]:
    """Ids of all rows end to end, each cut to `max_len`; where each row's first text ends; and its length."""
    plain = iter(tok.encode_plain(list(chain.from_iterable(rows))))
    flat: list[int] = []
    firsts, lengths = [], []
    for row in rows:
        first, *second = _truncate([next(plain) for _ in row], max_len)
        start = len(flat)
        flat += [tok.cls_id, *first, tok.sep_id]
        firsts.append(len(flat) - start)
        for pieces in second:
            flat += [*pieces, tok.sep_id]
        lengths.append(len(flat) - start)
    return flat, firsts, lengths


def _truncate(sides: list[list[int]], max_len: int) -> list[list[int]]:
    """Cut one text or a pair so that it fits into `max_len` together with its special tokens.

    Of a pair it keeps what remains when single pieces are taken from the longer side, and from the second on
    a tie, until the rest fits; here in one step.
    """
    room = max_len - 1 - len(sides)
    if len(sides) == 1:
        return [sides[0][:room]]
    a, b = sides
    keep_b = min(len(b), max(room // 2, room - len(a)))
    return [a[: room - keep_b], b[:keep_b]]
