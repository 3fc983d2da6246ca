"""The masking engine in JavaScript: one seed gives one batch there too, to the generator's last bit."""

import json
import math
import random
from pathlib import Path

import javascript
import numpy as np
import pytest

from bert_lab import PCG32, mlm_mask
from bert_lab.labs.base import digits
from bert_lab.rng import sample_categorical

if javascript.NODE is None:
    pytest.skip("no Node on this machine: the engine in JavaScript was not run", allow_module_level=True)

VECTORS = json.loads(
    (Path(__file__).parents[2] / "bert_lab" / "assets" / "masking_vectors.json").read_text(encoding="utf-8")
)


# ---- the golden cases


def test_every_generator_of_the_vectors():
    for case, found in zip(
        VECTORS["generators"], javascript.run("generator", VECTORS["generators"]), strict=True
    ):
        assert {key: found[key] for key in case if key in found} == {
            key: value for key, value in case.items() if key in found
        }
        assert len(case.keys() & found.keys()) == 6
        assert int(found["inc_hex"], 16) == 2 * int(case["stream_hex"], 16) + 1


def test_every_categorical_of_the_vectors():
    cases = VECTORS["categorical"]
    assert javascript.run("categorical", cases) == [case["index"] for case in cases]


def flat(value) -> list:
    return np.asarray(value, dtype=object).ravel().tolist()


def as_item(case: dict) -> dict:
    """A case of the vectors, flat and with hexadecimal seeds, as the driver takes it."""
    arrays = {name: flat(case[name]) for name in ("ids", "special_mask", "continues") if name in case}
    return {
        **case,
        **arrays,
        "seed_hex": hex(case["seed"]),
        "stream_hex": hex(case["stream"]),
        "seed": None,
        "state": None,
    }


def same_masking(case: dict, found: dict) -> bool:
    return (found["inputs"], found["labels"], found["state_hex"]) == (
        flat(case["inputs"]),
        flat(case["labels"]),
        case["state_hex"],
    )


def test_every_masking_of_the_vectors():
    cases = VECTORS["cases"]
    found = javascript.run("mask", [as_item(case) for case in cases])
    assert [c["name"] for c, f in zip(cases, found, strict=True) if not same_masking(c, f)] == []
    assert all(f["kept"] for f in found)


def test_every_example_stream_of_the_vectors():
    for case, found in zip(
        VECTORS["example_streams"], javascript.run("stream", VECTORS["example_streams"]), strict=True
    ):
        assert (found["first_state_hex"], found["words"]) == (case["first_state_hex"], case["words"])
        assert int(found["inc_hex"], 16) == 2 * int(case["index_hex"], 16) + 1


def test_every_whole_word_of_the_vectors():
    cases = VECTORS["whole_words"]
    items = [{**as_item(case), "width": np.shape(case["ids"])[-1]} for case in cases]
    found = javascript.run("words", items)
    assert [c["name"] for c, f in zip(cases, found, strict=True) if not same_masking(c, f)] == []


# ---- random cases


EDGES = [0, 1, 2, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1]
SEEDS = [*EDGES, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
VOCABS = [1, 2, 5, 40, 1000, 30522, 65537, 2**31 - 1, 2**31, 2**31 + 1, 3221225472, 2**32 - 1]


def random_case(rnd: random.Random) -> dict:
    """Arguments of one masking: everyday ones, and those at every edge."""
    seed = rnd.choice([rnd.choice(SEEDS), rnd.randrange(2**64), rnd.randrange(100)])
    stream = rnd.choice([54, rnd.choice(EDGES), rnd.randrange(2**63)])
    shape = rnd.choice(
        [(), (0,), (1,), (rnd.randrange(40),), (rnd.randrange(5), rnd.randrange(1, 20)), (2, 3, 4)]
    )
    vocab = rnd.choice(VOCABS)
    size = math.prod(shape)
    ids = [rnd.choice([0, vocab - 1, rnd.randrange(vocab)]) for _ in range(size)]
    often = rnd.choice([0.0, 0.2, 0.5, 1.0])
    special = [rnd.random() < often for _ in range(size)]
    # A probability that a draw meets exactly: u < p decides, and nothing else.
    words = PCG32(seed, stream)
    drawn = [words.uniform() for _ in range(4)]
    p = rnd.choice([0.0, 1.0, 0.15, 0.5, 0.999, 5e-324, 1 - 2**-53, rnd.random(), rnd.choice(drawn)])
    cut = rnd.choice([rnd.random(), rnd.choice(drawn)])
    split = rnd.choice(
        [
            (0.8, 0.1, 0.1), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.5, 0.5),
            (0.5, 0.0, 0.5), (0.5, 0.5, 0.0), (1 / 3, 1 / 3, 1 / 3), (0.7, 0.2, 0.1),
            (0.1, 0.2, 0.7 + 9e-10), (0.1, 0.2, 0.7 - 9e-10),
            (cut, 0.0, 1.0 - cut), (cut, 1.0 - cut, 0.0), (cut / 2, cut / 2, 1.0 - cut),
        ]
    )  # fmt: skip
    return {
        "seed_hex": hex(seed), "stream_hex": hex(stream), "shape": shape, "ids": ids, "special_mask": special,
        "mask_id": rnd.randrange(vocab), "vocab": vocab, "p": p, "split": split, "typed": rnd.random() < 0.3,
    }  # fmt: skip


def masked_here(case: dict) -> tuple[list, list, str]:
    """What Python's mlm_mask makes of the case: inputs and labels, flat, and the final state."""
    rng = PCG32(int(case["seed_hex"], 16), int(case["stream_hex"], 16))
    ids = np.array(case["ids"], dtype=np.int64).reshape(case["shape"])
    special = np.array(case["special_mask"], dtype=bool).reshape(case["shape"])
    inputs, labels = mlm_mask(
        ids, special, case["mask_id"], case["vocab"], case["p"], rng, split=case["split"]
    )
    return inputs.ravel().tolist(), labels.ravel().tolist(), f"0x{rng.state:016x}"


def test_ten_thousand_random_cases_are_equal_state_included():
    rnd = random.Random(6)
    cases = [random_case(rnd) for _ in range(10_000)]
    found = javascript.run("mask", cases)
    picks = 0
    for case, there in zip(cases, found, strict=True):
        here = masked_here(case)
        assert (there["inputs"], there["labels"], there["state_hex"]) == here, case
        assert there["kept"], case
        picks += sum(label != -100 for label in here[1])
    assert picks > 20_000
    # The edges came up: each seed, each vocabulary, and draws that equal p.
    assert {int(case["seed_hex"], 16) for case in cases} >= set(SEEDS)
    assert {case["vocab"] for case in cases} == set(VOCABS)
    equal = [c for c in cases if PCG32(int(c["seed_hex"], 16), int(c["stream_hex"], 16)).uniform() == c["p"]]
    assert len(equal) > 100


def test_below_at_its_threshold():
    """A word that equals the threshold is taken, one below it is not: n is chosen after the word."""
    items, expected = [], []
    for seed in range(200):
        word = PCG32(seed).next_u32()
        for n in (2**32 - word, 2**32 - word - 1, 2**32 - word + 1, 1, 2, 2**32 - 1):
            if 1 <= n < 2**32:
                rng = PCG32(seed)
                expected.append([rng.below(n), f"0x{rng.state:016x}"])
                items.append({"seed_hex": hex(seed), "stream_hex": "0x36", "n": n})
    assert javascript.run("below", items) == expected


def test_four_hundred_batches():
    rnd = random.Random(7)
    case = {
        "seed_hex": hex(2**64 - 59), "stream_hex": "0x36", "shape": (400 * 64 * 22,),
        "vocab": 30522, "mask_id": 4,
        "ids": [rnd.randrange(30522) for _ in range(400 * 64 * 22)], "p": 0.15, "split": (0.8, 0.1, 0.1),
        "special_mask": [t % 22 in (0, 21) for t in range(400 * 64 * 22)], "typed": False,
    }  # fmt: skip
    (there,) = javascript.run("mask", [case])
    assert (there["inputs"], there["labels"], there["state_hex"]) == masked_here(case)


def test_a_copy_makes_the_same_draws_and_a_state_can_be_put_back():
    (found,) = javascript.run("copies", [{"seed_hex": hex(2**64 - 1), "stream_hex": hex(2**63 - 1)}])
    rng = PCG32(2**64 - 1, 2**63 - 1)
    words = [rng.next_u32() for _ in range(5)]
    assert found == {"own": words, "same": [True, True], "copied": words, "again": words}


def test_any_generator_will_do():
    """The hand example of chapter 01, with its draws listed."""
    item = {
        "ids": [2, 5, 6, 7, 3, 0],
        "special_mask": [1, 0, 0, 0, 1, 1],
        "mask_id": 4,
        "vocab": 40,
        "p": 0.15,
    }
    (found,) = javascript.run("scripted", [{**item, "uniforms": [0.05, 0.5, 0.9, 0.1, 0.85], "belows": [9]}])
    assert found == {
        "inputs": [2, 4, 6, 9, 3, 0],
        "labels": [-100, 5, -100, 7, -100, -100],
        "asked": [40],
        "left": [],
    }


def test_sample_categorical_is_strict_for_random_weights():
    rnd = random.Random(8)
    items = []
    for _ in range(2000):
        raw = [rnd.choice([0, 0, 1, 2, 5]) for _ in range(rnd.randrange(1, 6))]
        if sum(raw):
            weights = [w / sum(raw) for w in raw]
            cuts = [min(c, 1 - 2**-53) for c in np.cumsum(weights).tolist()]
            items.append({"weights": weights, "u": rnd.choice([0.0, 1 - 2**-53, rnd.random(), *cuts])})
    found = javascript.run("categorical", items)
    assert found == [sample_categorical(item["weights"], item["u"]) for item in items]


# ---- what is refused


MASK = [[5, 6], [0, 0], 4, 40, 0.15, "@rng"]


def mask_with(place: int, value) -> list:
    return [value if i == place else arg for i, arg in enumerate([*MASK, [0.8, 0.1, 0.1]])]


REFUSED = [
    ("PCG32", ["42"], "TypeError", "seed: expected an integer, got '42'"),
    ("PCG32", [1.5], "TypeError", "seed: expected an integer, got 1.5"),
    ("PCG32", [True], "TypeError", "seed: expected an integer, got true"),
    ("PCG32", ["@none"], "TypeError", "seed: expected an integer, got undefined"),
    ("PCG32", [2**53], "TypeError", "seed: expected a BigInt for a number beyond 2^53, got 9007199254740992"),
    ("PCG32", [-1], "ValueError", "seed: expected an integer from 0 to 18446744073709551615, got -1"),
    ("PCG32", [f"@big:{2**64}"], "ValueError", "seed: expected an integer from 0 to"),
    ("PCG32", [1, f"@big:{2**63}"], "ValueError", "stream: expected an integer from 0 to 92233720368547758"),
    ("PCG32", [1, -1], "ValueError", "stream: expected an integer from 0 to"),
    ("state", [f"@big:{2**64}"], "ValueError", "state: expected an integer from 0 to"),
    ("exampleStream", [1, f"@big:{2**63}", 0], "ValueError", "epoch: expected an integer from 0 to"),
    ("exampleStream", [1, 0, 0.5], "TypeError", "index: expected an integer"),
    ("exampleStream", [-1, 0, 0], "ValueError", "seed: expected an integer from 0 to"),
    ("below", [0], "ValueError", "n: expected an integer from 1 to 4294967295, got 0"),
    ("below", [2**32], "ValueError", "n: expected an integer from 1 to 4294967295, got 4294967296"),
    ("below", [1.5], "TypeError", "n: expected an integer, got 1.5"),
    ("sampleCategorical", [[0.5, 0.5], 1], "ValueError", "u: expected a number in [0, 1), got 1"),
    ("sampleCategorical", [[0.5, 0.5], -0.1], "ValueError", "u: expected a number in [0, 1), got -0.1"),
    ("sampleCategorical", [[0.5, 0.5], "0.1"], "TypeError", "u: expected a number, got '0.1'"),
    ("sampleCategorical", [[0.5, 0.6], 0.1], "ValueError", "weights: expected finite weights >= 0 that"),
    ("sampleCategorical", [[0, 0], 0.1], "ValueError", "weights: expected finite weights >= 0 that"),
    ("sampleCategorical", [[], 0.1], "ValueError", "weights: expected finite weights >= 0 that"),
    ("sampleCategorical", [[1.1, -0.1], 0.1], "ValueError", "weights: expected finite weights >= 0"),
    ("sampleCategorical", [["@inf", 0], 0.1], "ValueError", "weights: expected finite weights >= 0"),
    ("sampleCategorical", [0.5, 0.1], "TypeError", "weights: expected an array, got 0.5"),
    ("sampleCategorical", [[True], 0.1], "TypeError", "weights[0]: expected a number, got true"),
    ("mlmMask", mask_with(0, "ab"), "TypeError", "ids: expected an array, got 'ab'"),
    ("mlmMask", mask_with(0, [5, 6.5]), "TypeError", "ids: expected integers, got 6.5 at ids[1]"),
    ("mlmMask", mask_with(0, [True, 6]), "TypeError", "ids: expected integers, got true at ids[0]"),
    ("mlmMask", mask_with(0, [[5], [6]]), "TypeError", "ids: expected integers, got 5 at ids[0]"),
    ("mlmMask", mask_with(0, ["@big:5", 6]), "TypeError", "ids: expected integers, got 5 at ids[0]"),
    ("mlmMask", mask_with(0, [5, -1]), "ValueError", "ids: expected ids from 0 to 39, got -1 at ids[1]"),
    ("mlmMask", mask_with(0, [40, 6]), "ValueError", "ids: expected ids from 0 to 39, got 40 at ids[0]"),
    ("mlmMask", mask_with(1, [0]), "ValueError", "special: expected as many as ids, 2, got 1"),
    ("mlmMask", mask_with(1, "@list:3"), "ValueError", "special: expected as many as ids, 2, got 3"),
    ("mlmMask", mask_with(1, [0, 2]), "ValueError", "special: expected booleans or 0/1, got 2 at special[1]"),
    ("mlmMask", mask_with(1, ["@nan", 0]), "ValueError", "special: expected booleans or 0/1, got NaN at"),
    ("mlmMask", mask_with(1, ["1", 0]), "TypeError", "special: expected booleans or 0/1, got '1' at"),
    ("mlmMask", mask_with(1, "@none"), "TypeError", "special: expected an array, got undefined"),
    ("mlmMask", mask_with(2, 40), "ValueError", "maskId: expected an integer from 0 to 39, got 40"),
    ("mlmMask", mask_with(2, -1), "ValueError", "maskId: expected an integer from 0 to 39, got -1"),
    ("mlmMask", mask_with(2, 4.5), "TypeError", "maskId: expected an integer, got 4.5"),
    ("mlmMask", mask_with(3, 0), "ValueError", "vocab: expected an integer from 1 to 4294967295, got 0"),
    ("mlmMask", mask_with(3, 2**32), "ValueError", "vocab: expected an integer from 1 to 4294967295"),
    ("mlmMask", mask_with(3, "40"), "TypeError", "vocab: expected an integer, got '40'"),
    ("mlmMask", mask_with(4, 15), "ValueError", "p: expected a probability from 0 to 1, got 15"),
    ("mlmMask", mask_with(4, -0.1), "ValueError", "p: expected a probability from 0 to 1, got -0.1"),
    ("mlmMask", mask_with(4, "@nan"), "ValueError", "p: expected a number, got nan"),
    ("mlmMask", mask_with(4, True), "TypeError", "p: expected a number, got true"),
    ("mlmMask", mask_with(4, "0.15"), "TypeError", "p: expected a number, got '0.15'"),
    ("mlmMask", mask_with(5, 42), "TypeError", "rng: expected a generator with uniform() and below(n)"),
    ("mlmMask", mask_with(5, "@none"), "TypeError", "rng: expected a generator with uniform() and below(n)"),
    ("mlmMask", mask_with(6, [0.8, 0.2]), "ValueError", "split: expected three finite numbers >= 0"),
    ("mlmMask", mask_with(6, [0.8, 0.1, 0.2]), "ValueError", "split: expected three finite numbers >= 0"),
    ("mlmMask", mask_with(6, [1.1, -0.1, 0]), "ValueError", "split: expected three finite numbers >= 0"),
    ("mlmMask", mask_with(6, [0.8, 0.1, "@nan"]), "ValueError", "split: expected a number, got nan"),
    ("mlmMask", mask_with(6, [0.8, 0.1, "0.1"]), "TypeError", "split: expected a number, got '0.1'"),
    ("mlmMask", mask_with(6, 0.8), "TypeError", "split: expected an array, got 0.8"),
    ("wholeWordMask", [[5, 6], [0, 0], [0], 2, *MASK[2:]], "ValueError", "continues: expected as many"),
    ("wholeWordMask", [[5, 6], [0, 0], [0, 1], 0, *MASK[2:]], "ValueError", "width: expected an integer"),
]  # fmt: skip


def test_what_is_refused_and_that_nothing_is_drawn_then():
    items = [{"call": call, "args": args} for call, args, _, _ in REFUSED]
    for (call, args, kind, message), found in zip(REFUSED, javascript.run("refusal", items), strict=True):
        assert found is not None, f"{call}{args} was accepted"
        assert found[0] == kind and found[1].startswith(message), (args, found)
        assert found[2:] == [True, True], (args, found)
    accepted = [mask_with(0, "@list:2"), mask_with(1, "@list:2"), mask_with(1, [True, False]), MASK]
    assert javascript.run("refusal", [{"call": "mlmMask", "args": args} for args in accepted]) == [None] * 4
    assert javascript.run("refusal", [{"call": "PCG32", "args": [2**53 - 1]}]) == [None]


# ---- numbers as Python writes them


def numbers() -> list[float]:
    rnd = random.Random(9)
    ties = [n / 32 for n in range(-40, 41)] + [n / 2 for n in range(-9, 10)] + [0.125, 2.675, 1e-9, 0.00005]
    spread = [rnd.uniform(0, 10 ** rnd.randrange(-6, 7)) for _ in range(3000)]
    return [
        *ties,
        *spread,
        *(n / 10_000 + 0.00005 for n in range(300)),
        0.001953125,
        1e-5,
        123456.5,
    ]


def ask(call: str, *arguments: list) -> list:
    items = [{"call": call, "args": list(row)} for row in zip(*arguments, strict=True)]
    return javascript.run("number", items)


@pytest.mark.parametrize("places", [0, 2, 4, 10])
def test_digits_are_those_of_python(places):
    values = numbers()
    assert ask("fixed", values, [places] * len(values)) == [f"{x:.{places}f}" for x in values]
    big = [x * 1000 for x in values]
    assert ask("grouped", big, [places] * len(big)) == [f"{x:,.{places}f}" for x in big]


def test_the_general_form_and_what_is_no_number():
    values = numbers()
    assert ask("general", values) == [f"{x:g}" for x in values]
    assert ask("fixed", ["@inf", "@nan"], [2, 2]) == ["inf", "nan"]
    assert ask("general", ["@inf", 0]) == ["inf", "0"]


def test_a_uniform_stays_on_its_side():
    rnd = random.Random(10)
    near = [t + d * 2**-32 for t in (0.15, 0.8, 0.9) for d in range(-3, 4)]
    values = [*near, 1 - 2**-32, 0.0, 0.14999999, *(rnd.random() for _ in range(500))]
    cuts = [rnd.choice([[0.15], [0.8, 0.9], [1.0], [0.0], [2**-40]]) for _ in values]
    assert ask("digitsOf", values, cuts) == [digits(u, t) for u, t in zip(values, cuts, strict=True)]
