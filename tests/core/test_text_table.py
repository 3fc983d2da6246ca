"""Tables in plain text: widths, alignment, and what is refused."""

import pytest

from bert_lab.text_table import text_table

ROWS = [("", "score", "n"), ("our BERT", "0.5", "1,000"), ("  x", "10.25", "-")]


def test_columns_are_as_wide_as_their_longest_cell():
    assert text_table(ROWS) == "          score  n\nour BERT  0.5    1,000\n  x       10.25  -"


def test_numbers_can_stand_to_the_right():
    right = "          score      n\nour BERT    0.5  1,000\n  x       10.25      -"
    assert text_table(iter(ROWS), right=True) == right


def test_lines_end_without_spaces():
    assert text_table([("a", "b "), ("cc", "")]) == "a   b\ncc"


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="zip"):
        text_table([("a", "b"), ("a",)])
