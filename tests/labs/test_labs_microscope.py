"""The draw microscope: its trace is the masking, and the lab shows it step by step."""

import json
import random

import pytest
import traitlets

from bert_lab import PCG32, masking, mlm_mask
from bert_lab.labs import DrawMicroscope
from bert_lab.labs.microscope import Recorder, trace
from bert_lab.wordpiece import book_tokenizer


def names(ids):
    return [f"t{i}" for i in ids]


def test_trace_is_the_masking_for_random_rows():
    rnd = random.Random(1)
    for seed in range(150):
        size, vocab = rnd.randrange(0, 30), rnd.choice([5, 40, 30522, 2**31 + 1])
        ids = [rnd.randrange(vocab) for _ in range(size)]
        special = [rnd.random() < 0.3 for _ in ids]
        p = rnd.choice([0.0, 0.15, 0.5, 1.0])
        mine, theirs = PCG32(seed), PCG32(seed)
        steps, inputs, labels = trace(names(ids), ids, special, 4, vocab, p, mine)
        expected = mlm_mask(ids, special, 4, vocab, p, theirs)
        assert (inputs, labels) == (expected[0].tolist(), expected[1].tolist())
        assert mine == theirs
        words = PCG32(seed)
        assert all(words.next_u32() == raw for step in steps for raw in step.raws)
        assert words == theirs  # every raw word is shown, the rejected ones too
        if steps:
            assert list(steps[-1].shown) == inputs
        assert all(step.fates[t] == "S" for step in steps for t, s in enumerate(special) if s)


class Raws(PCG32):
    """A PCG32 whose raw words are listed; a copy goes on with the same list."""

    def __init__(self, raws, at=0):
        super().__init__(0)
        self.raws, self.at = raws, at

    def next_u32(self):
        self.at += 1
        return self.raws[self.at - 1]

    def copy(self):
        return Raws(self.raws, self.at)

    def __eq__(self, other):
        return self.at == other.at


def word(u):
    return round(u * 2**32)


def test_the_hand_example_step_by_step():
    raws = [word(0.05), word(0.50), word(0.90), word(0.10), word(0.85), 15, 40 + 9]
    steps, inputs, labels = trace(
        ["[CLS]", "the", "cat", "sat", "[SEP]", "[PAD]"],
        [2, 5, 6, 7, 3, 0],
        [1, 0, 0, 0, 1, 1],
        4,
        40,
        0.15,
        Raws(raws),
        name=lambda i: f"<{i}>",
    )
    assert inputs == [2, 4, 6, 9, 3, 0] and labels == [-100, 5, -100, 7, -100, -100]
    assert [(s.position, s.kind) for s in steps] == [
        (1, "pick"),
        (1, "action"),
        (2, "pick"),
        (3, "pick"),
        (3, "action"),
        (3, "below"),
    ]
    assert ["".join(s.fates) for s in steps] == ["S?..SS", "SM..SS", "SM-.SS", "SM-?SS", "SM-RSS", "SM-RSS"]
    assert [s.shown[3] for s in steps] == [7, 7, 7, 7, None, 9]
    assert [s.says for s in steps] == [
        "0.0500 < 0.15: picked, and the label is `the`.",
        "0.5000 < 0.8: show `[MASK]`.",
        "0.9000 >= 0.15: not picked.",
        "0.1000 < 0.15: picked, and the label is `sat`.",
        "0.8 <= 0.8500 < 0.9: show a random token; the next draw says which.",
        "0x0000000f rejected, being below 2^32 mod 40 = 16; 0x00000031 mod 40 = 9: show `<9>`.",
    ]
    assert steps[-1].raws == (15, 49) and steps[-1].value == 9


def test_keep_is_said():
    steps, inputs, labels = trace(["cat"], [6], [0], 4, 40, 1.0, Raws([word(0.3), word(0.95)]))
    assert steps[-1].says == "0.9500 >= 0.9: keep `cat`."
    assert (steps[-1].fates, inputs, labels) == (("K",), [6], [6])


def test_trace_wants_one_token_an_id():
    with pytest.raises(ValueError, match="got 1 tokens, 2 ids and 2 special flags"):
        trace(["a"], [5, 6], [0, 0], 4, 40, 0.15, PCG32(1))


def test_recorder_keeps_the_words_of_every_draw():
    rng, twin = PCG32(42), PCG32(42)
    recorder = Recorder(rng)
    u, b = recorder.uniform(), recorder.below(40)
    first, second = twin.next_u32(), twin.next_u32()
    assert recorder.draws == [("uniform", None, (first,), u), ("below", 40, (second,), b)]


def sent(lab, **state):
    """What the view does when the reader changes something: one message with all that changed."""
    lab.set_state(state)


def test_moving_steps_through_the_draws():
    lab = DrawMicroscope("the cat sat", seed=42, p=0.5)
    count = len(lab.steps)
    assert lab.step == 0 and count > 3
    assert "none yet" in lab.picture()
    lab.move(-1)
    assert lab.step == 0
    lab.move(+1)
    assert lab.step == 1
    assert "0xa15c02b7" in lab.picture()  # the reference generator's first word
    assert lab.steps[0].says.split(":")[0].replace(">=", "&gt;=") in lab.picture()
    lab.move(+1)
    lab.move(-1)
    assert lab.step == 1
    sent(lab, step=count)
    lab.move(+1)
    assert lab.step == count
    assert str(lab.inputs) in lab.picture() and str(lab.labels) in lab.picture()
    assert f"{count} of {count}" in lab.picture()


def test_what_the_reader_changes_is_what_is_traced():
    lab = DrawMicroscope("the cat sat", seed=1, p=0.15)
    before = list(lab.steps)
    sent(lab, seed="2")
    assert lab.seed == 2 and lab.steps != before
    sent(lab, p="1")
    assert lab.p == 1 and all(label != -100 for label in lab.labels[1:-1])
    sent(lab, text="a dog ran home")
    assert lab.tokens[1:3] == ["a", "dog"]
    assert lab.row == {"text": "a dog ran home", "ids": [2, *lab.row["ids"][1:-1], 3]}


def test_values_can_be_set_from_the_next_cell():
    lab = DrawMicroscope("the cat sat", seed=1, p=0.15)
    lab.seed, lab.p, lab.text, lab.step = 2**64 - 1, 1.0, "a dog ran", 3
    assert lab.error == "" and lab.labels[1:-1] == lab.row["ids"][1:-1]
    ids, special = lab.row["ids"], [1, 0, 0, 0, 1]
    expected = mlm_mask(ids, special, 4, 4000, 1.0, PCG32(2**64 - 1))
    assert (lab.inputs, lab.labels) == (expected[0].tolist(), expected[1].tolist())
    with pytest.raises(traitlets.TraitError, match="step"):
        lab.step = -1
    assert lab.step == 3


def test_a_seed_of_64_bits_is_a_text_for_the_view():
    lab = DrawMicroscope("the cat", seed=2**64 - 1, p=1e-05)
    assert (lab.state()["seed"], lab.state()["p"]) == ("18446744073709551615", "1e-05")
    assert lab.get_state()["seed"] == "18446744073709551615"
    sent(lab, seed="18446744073709551614", p=" 2.5E-1 ")
    assert (lab.seed, lab.p) == (2**64 - 2, 0.25)


def test_a_shorter_row_brings_the_slider_back():
    lab = DrawMicroscope("the cat sat on the mat", seed=42, p=1.0)
    lab.step = len(lab.steps)
    sent(lab, p="0")
    assert lab.step == len(lab.steps) == 6
    assert "6 of 6" in lab.picture() and not lab.error


def test_a_step_and_a_sentence_that_come_together():
    lab = DrawMicroscope("the cat", seed=42, p=0)
    sent(lab, step=5, text="the cat sat on the mat")
    assert lab.step == 5
    sent(lab, step=99)
    assert lab.step == len(lab.steps) == 6


def test_a_sentence_of_special_tokens_draws_nothing():
    lab = DrawMicroscope("[SEP] [MASK]")
    assert lab.steps == []
    lab.move(+1)
    assert lab.step == 0
    assert "none yet, of 0" in lab.picture() and "-100, -100" in lab.picture()
    lab.text = "the cat"
    assert len(lab.steps) >= 2


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("seed", "x", "seed: expected a whole number, got"),
        ("seed", "", "seed: expected a whole number, got"),
        ("seed", "1.5", "seed: expected a whole number, got"),
        ("seed", "-1", "seed"),
        ("seed", str(2**64), "seed"),
        ("p", "lots", "p: expected a number, got"),
        ("p", "1.5", "p:"),
        ("p", "-0.1", "p:"),
        ("p", "nan", "p:"),
        ("text", "", "expected at least one word"),
        ("text", "  ", "expected at least one word"),
    ],
)
@pytest.mark.parametrize("way", ["sent", "set"])
def test_a_bad_value_is_named_inside_the_lab_which_stays_usable(way, field, value, message):
    lab = DrawMicroscope("the cat sat", seed=42, p=0.5, step=2)
    shown, good = lab.picture(), getattr(lab, field)
    if way == "sent":
        sent(lab, **{field: value})
    else:
        setattr(lab, field, value)
    assert message in lab.error
    assert lab.picture() == "" and lab.steps == [] and lab.inputs == []
    lab.move(+1)  # does nothing harmful
    assert message in lab.error
    assert "draw" in lab.as_text()
    lab.move(-1)
    setattr(lab, field, good)
    assert lab.error == "" and lab.picture() == shown


@pytest.mark.parametrize(
    ("field", "value"), [("seed", 1.5), ("seed", True), ("p", None), ("p", float("nan"))]
)
def test_what_is_no_such_number_is_named_too(field, value):
    lab = DrawMicroscope("the cat sat")
    setattr(lab, field, value)
    assert f"{field}: expected" in lab.error and lab.inputs == []
    json.dumps(lab.state(), allow_nan=False)


def test_an_error_of_the_masking_is_shown_inside_the_lab(monkeypatch):
    lab = DrawMicroscope("the cat sat", seed=42, p=0.5)

    def fails(*args, **kwargs):
        raise RuntimeError("masking fell over")

    with monkeypatch.context() as patch:
        patch.setattr(masking, "mlm_mask", fails)
        sent(lab, seed="43")
        assert lab.error == "RuntimeError: masking fell over"
        assert lab.picture() == ""
    sent(lab, seed="44", step=2)
    assert lab.error == "" and "2 of" in lab.picture()


def test_what_a_notebook_stores_is_what_is_shown():
    lab, again = DrawMicroscope("the cat", p=0.5, step=1), DrawMicroscope("the cat", p=0.5, step=1)
    bundle, metadata = lab._repr_mimebundle_()
    assert metadata == {}
    for kind in ("text/plain", "text/html"):
        assert "0xa15c02b7" in bundle[kind]
        assert bundle[kind] == again._repr_mimebundle_()[0][kind]
    assert "fate   S" in bundle["text/plain"]


def test_a_page_gets_all_that_the_view_needs_but_for_the_shared_words():
    lab = DrawMicroscope("the cat", seed=7, p=0.5, step=1)
    assert lab.state() == {
        "header": ("Draw microscope", lab.how_to),
        "text": "the cat",
        "seed": "7",
        "p": "0.5",
        "step": 1,
        "row": {"text": "the cat", "ids": [2, 117, 528, 3]},
    }
    assert lab.words == tuple(book_tokenizer().tokens(range(4000)))
