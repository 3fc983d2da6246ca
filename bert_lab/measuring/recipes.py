"""Other masking recipes, with the arguments of `mlm_mask`, to compare it with.

`exact_count` is the recipe of BERT's first script, `four_matrices` that of Hugging Face's collator. Both have
the right shares. They draw in another order, so the same seed gives another batch. `WRONG` has three recipes
from public code whose shares were wrong. All are implemented here with a `PCG32`.
"""

from dataclasses import dataclass

import numpy as np

from ..checks import as_masking_arguments, as_split
from ..masking import BERT_SPLIT, IGNORE, mlm_mask
from ..rng import PCG32, sample_categorical


def _arguments(ids, special_mask, mask_id, vocab, p, rng, split):
    """The arguments, checked as `mlm_mask` checks them. The generator must be a PCG32."""
    if not isinstance(rng, PCG32):
        raise TypeError(f"rng: expected a PCG32, got {type(rng).__name__}")
    return as_masking_arguments(ids, special_mask, mask_id, vocab, p, rng, split)


def exact_count(ids, special_mask, mask_id: int, vocab: int, p: float, rng: PCG32, *, split=BERT_SPLIT):
    """A fixed number of picks in each row: `(inputs, labels)`, as in BERT's first script.

    A row lies along the last axis. Its n candidates are shuffled, and the first max(1, round(n p)) are
    picked. So a row with a candidate always has a pick, even at p = 0. Each pick draws its action by `split`.
    The script itself counts [CLS] and [SEP] in n, and never picks more than `max_predictions_per_seq` (20 by
    default) in a row.

    Arguments, results and errors are those of `mlm_mask`; `rng` must be a `PCG32`.

    Source: google-research/bert, `create_masked_lm_predictions` in create_pretraining_data.py.
    """
    ids, special, mask_id, vocab, p, split = _arguments(ids, special_mask, mask_id, vocab, p, rng, split)
    inputs, labels = ids.copy(), np.full_like(ids, IGNORE)
    width = ids.shape[-1] if ids.ndim else 1
    rows = zip(*(array.reshape(-1, max(width, 1)) for array in (ids, special, inputs, labels)), strict=True)
    for row, row_special, row_inputs, row_labels in rows:
        candidates = np.flatnonzero(~row_special).tolist()
        for last in range(len(candidates) - 1, 0, -1):  # Fisher and Yates
            other = rng.below(last + 1)
            candidates[last], candidates[other] = candidates[other], candidates[last]
        for t in candidates[: max(1, round(len(candidates) * p))]:
            row_labels[t] = row[t]
            action = sample_categorical(split, rng.uniform())
            if action == 0:
                row_inputs[t] = mask_id
            elif action == 1:
                row_inputs[t] = rng.below(vocab)
    return inputs, labels


def four_matrices(ids, special_mask, mask_id: int, vocab: int, p: float, rng: PCG32, *, split=BERT_SPLIT):
    """Four full matrices of draws: `(inputs, labels)`, as in Hugging Face's collator.

    The first matrix decides which candidates are picked. The second decides which picks show [MASK] (chance
    m). The third decides which of the others show a random id (chance r / (1 - m): 0.5 for BERT's split, half
    of the remaining fifth). The fourth gives those ids. The generator always advances by four draws a
    position, used or not.

    Arguments, results and errors are those of `mlm_mask`; `rng` must be a `PCG32`.

    Source: huggingface/transformers, `DataCollatorForLanguageModeling.torch_mask_tokens`.
    """
    ids, special, mask_id, vocab, p, split = _arguments(ids, special_mask, mask_id, vocab, p, rng, split)
    pick, mask, other, words = (rng.block(ids.size).reshape(ids.shape) for _ in range(4))
    m, r, k = split
    picked = (pick * 2.0**-32 < p) & ~special
    masked = picked & (mask * 2.0**-32 < m)
    random = picked & (other * 2.0**-32 < (r / (r + k) if r else 0.0))
    labels = np.where(picked, ids, IGNORE)
    # Unlike `below`, the remainder favors small ids, but by less than vocab / 2^32: too little to measure.
    inputs = np.where(masked, mask_id, np.where(random, words % vocab, ids))
    return inputs.astype(np.int64), labels


@dataclass(frozen=True)
class WrongRecipe:
    """A recipe from public code whose shares are not those that it was asked for.

    `story` says how its shares come about, and `source` where it was seen.
    """

    name: str
    story: str
    source: str

    def shares(self, split=BERT_SPLIT) -> tuple[float, float, float]:
        """The split that this recipe follows when it is asked for `split`."""
        m, r, k = as_split(split)
        if self.name == "80/2/18":
            return m, (1 - m) * r, (1 - m) * (1 - r)
        if self.name == "90/1/9":
            return m + r, k * r, k * (1 - r)
        return (1 - r) * (m + r), r, (1 - r) * k

    def __call__(self, ids, special_mask, mask_id, vocab, p, rng, *, split=BERT_SPLIT):
        """`(inputs, labels)` with the shares of this recipe, drawn in the order of `mlm_mask`."""
        return mlm_mask(ids, special_mask, mask_id, vocab, p, rng, split=self.shares(split))


WRONG = {
    recipe.name: recipe
    for recipe in (
        WrongRecipe(
            "80/2/18",
            "after the 80% for [MASK], a tenth of the remaining fifth becomes random, instead of half of it",
            "Hugging Face's collator for TensorFlow, until February 2023 (huggingface/transformers #21803)",
        ),
        WrongRecipe(
            "90/1/9",
            "the random tokens are written first, and [MASK], drawn at 0.9, overwrites nine in ten of them",
            "lucidrains/mlm-pytorch before 0.1.0, as reported in its issue #6",
        ),
        WrongRecipe(
            "81/10/9",
            "[MASK] is drawn with probability 0.9 where no random token was written: 0.9 of 0.9 is 0.81",
            "lucidrains/mlm-pytorch 0.1.0, as reported in its issue #6",
        ),
    )
}
