"""Make `masking_vectors.json`: golden cases of the masking contract, for an implementation in any language.

    python tests/assets/make_masking_vectors.py

Readable loops make them, never `bert_lab.fast_masking`. The cases are few and small,
and each is there for a reason that its name gives. Running the command again writes the same bytes.
"""

import json
from pathlib import Path

import numpy as np

import bert_lab
from bert_lab.data.wholeword import mask_whole_words
from bert_lab.masking import BERT_SPLIT, _mask_one_by_one
from bert_lab.rng import PCG32, _example_key, example_stream, sample_categorical

PATH = Path(bert_lab.__file__).parent / "assets" / "masking_vectors.json"
HAND = [2, 5, 6, 7, 3, 0]  # [CLS] the cat sat [SEP] [PAD]
ABOUT = (
    "Golden cases of the masking contract, made by python tests/assets/make_masking_vectors.py. The page "
    "notebooks/masking_contract.md says what each field means. Words of 64 bits stand as hexadecimal strings "
    "too."
)


def _words(seed: int, shape: tuple[int, ...], vocab: int, first: int = 5) -> list:
    """Ids from first to vocab-1, drawn from a stream of their own."""
    rng = PCG32(seed, 7)
    count = int(np.prod(shape))
    return (
        np.array([first + rng.below(vocab - first) for _ in range(count)], np.int64).reshape(shape).tolist()
    )


def _padded(seed: int, lengths: list[int], vocab: int) -> list[list[int]]:
    """Rows [CLS] words [SEP] [PAD]... of the given lengths, as wide as the longest."""
    width = max(lengths)
    rows = (_words(seed + i, (n - 2,), vocab) for i, n in enumerate(lengths))
    return [[2, *row, 3] + [0] * (width - n) for row, n in zip(rows, lengths, strict=True)]


def _case(
    name, seed, ids, *, stream=54, special=(0, 1, 2, 3, 4), mask_id=4, vocab=40, p=0.15, split=BERT_SPLIT
):
    array = np.array(ids, np.int64)
    special_mask = np.isin(array, special)
    rng = PCG32(seed, stream)
    inputs, labels = _mask_one_by_one(array.ravel(), special_mask.ravel(), mask_id, vocab, p, rng, split)
    return {
        "name": name,
        "seed": seed,
        "stream": stream,
        "ids": ids,
        "special_mask": special_mask.astype(int).tolist(),
        "mask_id": mask_id,
        "vocab": vocab,
        "p": p,
        "split": list(split),
        "inputs": inputs.reshape(array.shape).tolist(),
        "labels": labels.reshape(array.shape).tolist(),
        "state": rng.state,
        "state_hex": f"{rng.state:#018x}",
    }


def masking_cases() -> list[dict]:
    """The masking cases: mlm_mask's arguments, its results, and the generator's state afterwards."""
    wide = _padded(100, [12, 9, 12, 3], 40)
    bert = _padded(200, [32, 20, 32, 7], 30522)
    return [
        _case("the sentence of the hand example", 0, HAND),
        _case("one pick, shown as [MASK]", 9, HAND),
        _case("a batch of four rows with padding", 42, bert, vocab=30522),
        _case("the same batch from another seed", 43, bert, vocab=30522),
        _case("the same batch from another stream", 42, bert, vocab=30522, stream=0),
        _case(
            "the largest seed and stream that every JSON reader keeps exact",
            2**53 - 1,
            wide,
            stream=2**53 - 1,
        ),
        _case("p = 0: one uniform a candidate and nothing else", 1, wide, p=0.0),
        _case("p = 1: every candidate is picked", 2, wide, p=1.0),
        _case("p = 0.5: many picks stand side by side", 3, wide, p=0.5),
        _case("p = 0.9: nearly all picks are back to back", 4, wide, p=0.9),
        _case("p = 0.4", 5, wide, p=0.4),
        _case("p just below 1", 6, wide, p=1 - 2**-32),
        _case("p so small that only the raw word 0 would pick", 7, wide, p=2**-32),
        _case("no positions at all", 8, []),
        _case("two rows of no positions", 8, [[], []]),
        _case("specials alone: no draw", 9, [[2, 3], [2, 3]], p=1.0),
        _case("one position", 10, [7], p=1.0),
        _case("three axes, visited in C order", 11, _words(300, (2, 3, 4), 40), p=0.5),
        _case(
            "special ids that are neither first nor in a row",
            12,
            _words(301, (3, 8), 40, 0),
            special=(39, 17, 8),
        ),
        _case("nothing is special", 13, _words(302, (16,), 40, 0), special=(), p=0.5),
        _case("always [MASK]", 14, wide, p=0.5, split=(1.0, 0.0, 0.0)),
        _case("always random: every pick is followed by two draws", 15, wide, p=0.5, split=(0.0, 1.0, 0.0)),
        _case("always kept: the inputs are the ids", 16, wide, p=0.5, split=(0.0, 0.0, 1.0)),
        _case("no kept ones", 17, wide, p=0.5, split=(0.8, 0.2, 0.0)),
        _case("no [MASK]: the first weight is zero", 18, wide, p=0.5, split=(0.0, 0.5, 0.5)),
        _case("no random ones: the middle weight is zero", 19, wide, p=0.5, split=(0.9, 0.0, 0.1)),
        _case("thirds, whose running sums round", 20, wide, p=0.7, split=(1 / 3, 1 / 3, 1 / 3)),
        _case("a vocabulary of one", 21, [0, 0, 0, 0], special=(), mask_id=0, vocab=1, p=1.0),
        _case(
            "below rejects a quarter of all words", 22, wide, vocab=3 * 2**30, p=0.5, split=(0.1, 0.8, 0.1)
        ),
        _case(
            "below rejects nearly half of all words", 23, wide, vocab=2**31 + 1, p=1.0, split=(0.0, 1.0, 0.0)
        ),
        _case("below rejects half, and the words after it pick", 24, bert, vocab=2**31 + 1, p=0.9),
        _case("the largest vocabulary", 25, wide, vocab=2**32 - 1, p=0.5, split=(0.2, 0.6, 0.2)),
    ]


def generator_cases() -> list[dict]:
    """Generators with the words, uniforms and bounded integers that they give first."""
    cases = []
    for seed, stream in ((42, 54), (0, 0), (2**64 - 1, 2**63 - 1), (0x0123456789ABCDEF, 1)):
        rng = PCG32(seed, stream)
        cases.append(
            {
                "seed_hex": f"{seed:#018x}",
                "stream_hex": f"{stream:#018x}",
                "first_state_hex": f"{rng.state:#018x}",
                "words": rng.copy().block(6).tolist(),
                "uniforms": [rng.uniform() for _ in range(3)],
                "below_40": [rng.below(40) for _ in range(3)],
                "below_3221225472": [rng.below(3 * 2**30) for _ in range(6)],
                "state_hex": f"{rng.state:#018x}",
            }
        )
    return cases


def categorical_cases() -> list[dict]:
    """Weights and uniforms at and around the edges, with the index that they choose."""
    edges = [
        (
            [0.8, 0.1, 0.1],
            [0.0, 0.5, 0.7999999998137355, 0.8, 0.85, 0.8999999999068677, 0.9, 0.9999999997671694],
        ),
        ([0.0, 0.5, 0.5], [0.0, 0.25, 0.5, 0.75]),
        ([1 / 3, 1 / 3, 1 / 3], [0.0, 1 / 3, 2 / 3, 0.9999999997671694]),
        ([0.7, 0.1, 0.2, 0.0], [0.6999999997206032, 0.7, 0.9999999997671694]),
        ([1.0], [0.0, 0.9999999997671694]),
    ]
    return [{"weights": w, "u": u, "index": sample_categorical(w, u)} for w, us in edges for u in us]


def example_stream_cases() -> list[dict]:
    """Generators of single examples: what they are keyed by, the key, and what they give first."""
    cases = []
    for seed, epoch, index in (
        (0, 0, 0),
        (0, 0, 1),
        (0, 1, 0),
        (1, 0, 0),
        (42, 3, 1000),
        (2**64 - 1, 2**63 - 1, 2**63 - 1),
    ):
        rng = example_stream(seed, epoch, index)
        cases.append(
            {
                "seed_hex": f"{seed:#018x}",
                "epoch_hex": f"{epoch:#018x}",
                "index_hex": f"{index:#018x}",
                "key_hex": f"{_example_key(seed, epoch, index):#018x}",
                "first_state_hex": f"{rng.state:#018x}",
                "words": rng.block(6).tolist(),
            }
        )
    return cases


def _word_case(name, seed, ids, continues, *, vocab=40, p=0.15, split=BERT_SPLIT):
    special_mask = np.isin(ids, (0, 1, 2, 3, 4))
    rng = PCG32(seed)
    inputs, labels = mask_whole_words(ids, special_mask, continues, 4, vocab, p, rng, split=split)
    return {
        "name": name,
        "seed": seed,
        "stream": 54,
        "ids": ids,
        "special_mask": special_mask.astype(int).tolist(),
        "continues": continues,
        "mask_id": 4,
        "vocab": vocab,
        "p": p,
        "split": list(split),
        "inputs": inputs.tolist(),
        "labels": labels.tolist(),
        "state": rng.state,
        "state_hex": f"{rng.state:#018x}",
    }


def whole_word_cases() -> list[dict]:
    """The masking of whole words: mask_whole_words' arguments, its results, and the generator's state."""
    wide = _padded(400, [14, 10, 14, 3], 40)
    flags = PCG32(401, 7)
    continues = [[int(flags.below(5) < 2) for _ in row] for row in wide]
    nothing, everything = ([[flag for _ in row] for row in wide] for flag in (0, 1))
    sentence = [2, 5, 11, 12, 13, 6, 3]  # [CLS] the play ##ful ##ly cat [SEP]
    return [
        _word_case(
            "a picked word of three pieces: [MASK], random, kept", 560, sentence, [0, 0, 0, 1, 1, 0, 0], p=0.5
        ),
        _word_case("a special token inside ends the word", 1, [11, 12, 4, 12, 13], [0, 1, 0, 1, 1], p=0.5),
        _word_case("flags at special tokens are not read", 1, [11, 12, 4, 12, 13], [1, 1, 1, 1, 1], p=0.5),
        _word_case(
            "a row begins with a piece that continues", 0, [[11, 12], [12, 13]], [[0, 1], [1, 1]], p=0.5
        ),
        _word_case("a batch of four rows with padding", 42, wide, continues),
        _word_case("the same batch, p = 0.5", 42, wide, continues, p=0.5),
        _word_case("p = 1: every word is picked", 43, wide, continues, p=1.0),
        _word_case("p = 0: one uniform a word and nothing else", 44, wide, continues, p=0.0),
        _word_case("nothing continues: the same as masking pieces", 45, wide, nothing, p=0.5),
        _word_case("everything continues: a word a row", 46, wide, everything, p=0.5),
        _word_case("always random", 47, wide, continues, p=0.5, split=(0.0, 1.0, 0.0)),
        _word_case(
            "below rejects nearly half of all words",
            48,
            wide,
            continues,
            vocab=2**31 + 1,
            p=0.5,
            split=(0.1, 0.8, 0.1),
        ),
    ]


def vectors_json() -> str:
    """The whole file: one case a line, so that a change shows as the cases that it changes."""
    sections = {
        "generators": generator_cases(),
        "categorical": categorical_cases(),
        "cases": masking_cases(),
        "example_streams": example_stream_cases(),
        "whole_words": whole_word_cases(),
    }
    parts = [f'  "about": {json.dumps(ABOUT)}']
    for name, rows in sections.items():
        lines = ",\n".join("    " + json.dumps(row) for row in rows)
        parts.append(f'  "{name}": [\n{lines}\n  ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    PATH.write_text(vectors_json(), encoding="utf-8")
    print(f"{PATH.name}: {len(masking_cases()) + len(whole_word_cases())} masking cases")
