"""Tables in plain text."""

from collections.abc import Iterable, Sequence


def text_table(rows: Iterable[Sequence[str]], *, right: bool = False) -> str:
    """One line for each row. Columns are as wide as their longest cell, with two spaces between them.

    rows: at least one, all with the same number of cells. right: align every column but the first to the
    right. Raises ValueError for rows of different lengths.
    """
    names, *columns = zip(*rows, strict=True)
    padded = [_column(names, str.ljust), *(_column(c, str.rjust if right else str.ljust) for c in columns)]
    return "\n".join("  ".join(row).rstrip() for row in zip(*padded, strict=True))


def _column(cells: Sequence[str], pad) -> list[str]:
    width = max(map(len, cells))
    return [pad(cell, width) for cell in cells]
