"""The batch lab, the tables and the picture of a batch: what they show is what `mlm_batch` returned."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bert_lab import PCG32, mlm_batch
from bert_lab.labs import BatchLab, BatchTable, batch_map
from bert_lab.labs.batch_lab import MAX_ROWS, TEXTS
from bert_lab.labs.exercise import RIGHT, WRONG, verdict
from bert_lab.wordpiece import book_tokenizer

TOK = book_tokenizer()
TEXT = "the cat & dog"


def table(seed=0, p=1.0, split=(0.0, 0.0, 1.0), texts=(TEXT,)):
    return BatchTable(TOK, mlm_batch(TOK, texts, 16, p, PCG32(seed), split=split))


def test_a_table_names_pieces_fates_what_is_shown_and_every_array():
    batch = mlm_batch(TOK, ["the cat", ("it", "sat")], 16, 1.0, PCG32(0), split=(1.0, 0.0, 0.0))
    the, cat, sat = TOK.encode("the cat sat")[1:-1]
    assert BatchTable(TOK, batch, [0]).lines(0) == [
        ("row 0", ["[CLS]", "the", "cat", "[SEP]", "[PAD]"]),
        ("fate", ["S", "M", "M", "S", "S"]),
        ("shown", ["[CLS]", "[MASK]", "[MASK]", "[SEP]", "[PAD]"]),
        ("input_ids", ["2", "4", "4", "3", "0"]),
        ("token_type_ids", ["0", "0", "0", "0", "0"]),
        ("attention_mask", ["1", "1", "1", "1", "0"]),
        ("labels", ["-100", str(the), str(cat), "-100", "-100"]),
    ]
    second = dict(BatchTable(TOK, batch).lines(1))
    assert second["row 1"] == ["[CLS]", "it", "[SEP]", "sat", "[SEP]"]
    assert second["token_type_ids"] == ["0", "0", "0", "1", "1"]
    assert second["labels"][3] == str(sat)


def test_a_table_shows_kept_and_random_tokens():
    assert dict(table().lines(0))["fate"] == ["S", "K", "K", "K", "K", "S"]
    random = dict(table(split=(0.0, 1.0, 0.0)).lines(0))
    assert random["fate"] == ["S", "R", "R", "R", "R", "S"]
    assert random["row 0"] == ["[CLS]", "the", "cat", "&", "dog", "[SEP]"]
    assert random["shown"] != random["row 0"]
    assert dict(table(p=0.0).lines(0))["fate"] == ["S", "-", "-", "-", "-", "S"]


def test_a_table_in_plain_text_is_aligned():
    lines = repr(table(texts=("the", TEXT))).split("\n")
    assert lines[7] == ""  # seven lines a row, and one between rows
    assert len(lines) == 15
    assert {len(line) for line in lines[:7]} == {len(lines[0])}
    assert not any(line.endswith(" ") for line in lines)  # numbers and pieces are flush right
    assert lines[8].split() == ["row", "1", "[CLS]", "the", "cat", "&", "dog", "[SEP]"]
    assert [line.split()[0] for line in lines[8:]][1:3] == ["fate", "shown"]


def test_a_table_in_html_is_escaped_colored_and_lettered():
    page = table()._repr_html_()
    assert page.count("<table") == 1
    assert "&amp;" in page
    assert '<th scope="row"' in page
    cells = re.findall(r"<td( style=[^>]*)?>([^<]*)</td>", page)
    assert [text for style, text in cells if style][:6] == ["S", "K", "K", "K", "K", "S"]
    assert page.count("background-color") == 3 * 6  # the pieces, the fate and what is shown; not the arrays
    assert table(texts=["the", "cat"])._repr_html_().count("<table") == 2


def test_a_table_of_some_rows():
    batch = mlm_batch(TOK, ["the", "cat", "sat"], 8, 0.0, PCG32(0))
    assert repr(BatchTable(TOK, batch, [2])).startswith("row 2")
    assert repr(BatchTable(TOK, batch, [])) == ""


def test_the_picture_shows_text_padding_and_picks():
    batch = mlm_batch(TOK, ["the cat [PAD] on the mat", "the"], 16, 1.0, PCG32(0))  # a [PAD] that is text
    fig = batch_map(batch)
    (ax,) = fig.axes
    np.testing.assert_array_equal(ax.images[0].get_array(), batch["attention_mask"] == 1)
    x, y = ax.lines[0].get_data()
    assert sorted(zip(y.tolist(), x.tolist(), strict=True)) == [*((0, t) for t in (1, 2, 4, 5, 6)), (1, 1)]
    assert fig.alt.startswith("A batch of 2 rows and 8 positions.")
    assert ax.get_xlabel() == "position"
    plt.close(fig)


# The lab.


def test_the_lab_shows_the_batch_of_its_controls():
    lab = BatchLab()
    assert lab.error.value == ""
    assert lab.texts == [
        "My friend sold the old boat.",
        ("Who opened the window?", "It was the teacher."),
        "Hello!",
    ]
    expected = mlm_batch(TOK, lab.texts, 12, 0.15, PCG32(8))
    for name, array in expected.items():
        np.testing.assert_array_equal(lab.batch[name], array)
    assert "B = 3, T = 12, labels: " in lab.tables.value
    assert BatchTable(TOK, expected)._repr_html_() in lab.tables.value
    assert "special: never picked" in lab.tables.value


@pytest.mark.parametrize(
    ("control", "value"),
    [("box", "the dog ran home"), ("max_len_slider", 5), ("p_slider", 1.0), ("seed_slider", 3)],
)
def test_each_control_makes_a_new_batch(control, value):
    lab = BatchLab(p=0.5)
    before = lab.batch
    getattr(lab, control).value = value
    assert lab.batch is not before
    rng = PCG32(lab.seed_slider.value)
    expected = mlm_batch(TOK, lab.texts, lab.max_len_slider.value, lab.p_slider.value, rng)
    for name, array in expected.items():
        np.testing.assert_array_equal(lab.batch[name], array)
    assert BatchTable(TOK, expected)._repr_html_() in lab.tables.value


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("", [""]),
        ("a\n\nb", ["a", "", "b"]),
        ("a || b", [("a", "b")]),
        ("||", [("", "")]),
        ("  a  ", ["a"]),
        ("a [SEP] <b>", ["a [SEP] <b>"]),
    ],
)
def test_a_line_is_a_text_or_a_pair(text, texts):
    lab = BatchLab(text)
    assert lab.texts == texts
    assert lab.error.value == ""
    assert "<b>" not in repr(lab.batch) and f"B = {len(texts)}," in lab.tables.value


def test_an_error_shows_in_the_lab_which_stays_usable():
    lab = BatchLab()
    lab.max_len_slider.value = 2
    assert "ValueError: max_len: expected at least 3" in lab.error.value
    assert lab.batch is None
    assert lab.tables.value == ""
    assert lab.as_text().startswith("Batch lab: ")
    assert "B = " not in lab.as_text() + lab.as_html()
    lab.max_len_slider.value = 3
    assert lab.error.value == ""
    assert lab.batch["input_ids"].shape == (3, 3)
    lab.box.value = "a || b || c"
    assert "expected a string or a pair of strings" in lab.error.value
    lab.box.value = TEXTS
    assert lab.error.value == ""


def test_a_long_batch_shows_its_first_rows():
    lab = BatchLab("\n".join(["the cat"] * (MAX_ROWS + 1)))
    assert f"B = {MAX_ROWS + 1}, T = 4, labels: " in lab.tables.value
    assert f"The first {MAX_ROWS} rows are shown." in lab.tables.value
    assert lab.tables.value.count("<table") == MAX_ROWS
    assert "are shown" not in BatchLab("\n".join(["the cat"] * MAX_ROWS)).tables.value


def test_what_a_notebook_stores_is_what_the_lab_shows():
    lab = BatchLab("the cat", p=1.0)
    text, page = lab.as_text(), lab.as_html()
    assert "B = 1, T = 4, labels: 2." in text
    assert repr(BatchTable(TOK, lab.batch)) in text
    assert "B = 1, T = 4, labels: 2." in page
    assert "<table" in page
    assert text == BatchLab("the cat", p=1.0).as_text()


# Chapter 03's exercises.


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("3.1", ["seas", "##id", "##es"]),
        ("3.2", np.array([0, 0, 0, 0, 0, 1, 1, 1])),
        ("3.3", (5, 4)),
        ("3.4", lambda rows, pad: padded(rows, pad, lambda row, t: t < len(row))),
        ("3.5", 10),
    ],
)
def test_right_answers_are_accepted(name, answer):
    assert verdict(name, answer)[0] == RIGHT


@pytest.mark.parametrize(
    ("name", "answer", "hint"),
    [
        ("3.1", ["sea", "##side", "##s"], "does not look ahead"),
        ("3.2", [0, 0, 0, 1, 1, 1, 1, 1], "written out in a text"),
        ("3.2", [0, 0, 0, 0, 0, 1, 1, 0], "belongs to it"),
        ("3.3", [6, 6], "take three"),
        ("3.3", [4, 5], "First the first text"),
        (
            "3.4",
            lambda rows, pad: padded(rows, pad, lambda row, t: (row + [pad] * 9)[t] != pad),
            "a [PAD] inside a text",
        ),
        ("3.4", lambda rows, pad: padded(rows, 0, lambda row, t: t < len(row)), "9 as the id of [PAD]"),
        ("3.5", 18, "Padding draws nothing"),
        ("3.5", 14, "[CLS] and [SEP] draw nothing"),
    ],
)
def test_wrong_answers_get_the_hint_that_fits(name, answer, hint):
    status, sentence = verdict(name, answer)
    assert status == WRONG
    assert hint in sentence


def padded(rows, pad, real):
    width = max(map(len, rows))
    filled = [row + [pad] * (width - len(row)) for row in rows]
    return filled, [[int(real(row, t)) for t in range(width)] for row in rows]
