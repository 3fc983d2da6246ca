"""The kill matrix as text, and the tests that would do."""

from bert_lab.course.kill_matrix import WIDTH, kill_matrix, smallest_set


def test_the_matrix_has_a_row_a_test_and_a_column_a_mutant():
    kinds = {"s01": "killed", "s02": "survived", "b10": "timeout", "b11": "no verdict", "b12": "killed"}
    caught = {"test_one": ["s01"], "test_long_name": ["s01", "b12"], "test_idle": []}
    assert kill_matrix(caught, kinds).splitlines() == [
        "                s s b b b",
        "                0 0 1 1 1",
        "                1 2 0 1 2",
        "test_one        X . T ? .   1",
        "test_long_name  X . T ? X   2",
        "test_idle       . . T ? .   0",
        "caught by any   X . T ? X   2",
    ]


def test_a_wide_matrix_is_folded_and_long_names_are_cut():
    kinds = {f"s{i:02}": "killed" for i in range(1, 81)}
    text = kill_matrix({"test_" + "x" * 80: list(kinds)}, kinds)
    assert max(map(len, text.splitlines())) <= WIDTH
    blocks = text.split("\n\n")
    assert len(blocks) == 3 and "x..." in text
    assert [block.splitlines()[0].count("s") for block in blocks] == [27, 27, 26]
    assert sum(int(line.split()[-1]) for line in text.splitlines() if line.startswith("caught")) == 80


def test_the_smallest_set_is_found_greedily_and_in_order():
    caught = {"a": ["1"], "b": ["1", "2", "3"], "c": ["3", "4"], "d": ["4"], "e": []}
    assert smallest_set(caught) == ["b", "c"]
    assert smallest_set({"a": [], "b": []}) == [] and smallest_set({}) == []
