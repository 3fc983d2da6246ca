"""The kill matrix: which test catches which fault, as text, and which tests would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

WIDTH = 110  # columns of text
_MARKS = {"timeout": "T", "no verdict": "?"}


def kill_matrix(caught: Mapping[str, Sequence[str]], kinds: Mapping[str, str]) -> str:
    """A row for each test, a column for each mutant: X where the test caught it, . where it did not.

    caught: {test: ids of the mutants that it kills}. kinds: {mutant's id: "killed", "survived", "timeout" or
    "no verdict"}, in the order of the columns. The last row says what all tests together make of each.
    """
    together = "caught by any"
    width = min(max(map(len, [*caught, together])), 48)
    ids = list(kinds)
    number = -(-len(ids) // ((WIDTH - width - 6) // 2))  # of blocks, one below the other
    size = -(-len(ids) // max(1, number))
    blocks = [
        _block(caught, kinds, ids[i : i + size], width, together) for i in range(0, len(ids), size or 1)
    ]
    return "\n\n".join(blocks)


def _block(caught, kinds, ids: list[str], width: int, together: str) -> str:
    # An id stands in its column from top to bottom.
    lines = [" " * width + "  " + " ".join(letters) for letters in zip(*ids, strict=True)]
    for test, killed in caught.items():
        marks = " ".join("X" if id in killed else _MARKS.get(kinds[id], ".") for id in ids)
        lines.append(f"{_short(test, width):{width}}  {marks}  {sum(id in killed for id in ids):2}")
    marks = " ".join("X" if kinds[id] == "killed" else _MARKS.get(kinds[id], ".") for id in ids)
    count = sum(kinds[id] == "killed" for id in ids)
    return "\n".join([*lines, f"{together:{width}}  {marks}  {count:2}"])


def _short(test: str, width: int) -> str:
    return test if len(test) <= width else test[: width - 3] + "..."


def smallest_set(caught: Mapping[str, Sequence[str]]) -> list[str]:
    """Tests that together catch what all do: always the one next that catches most of the rest."""
    left, kept = {id for ids in caught.values() for id in ids}, []
    while left:
        best = max(caught, key=lambda test: len(left.intersection(caught[test])))
        kept.append(best)
        left -= set(caught[best])
    return kept
