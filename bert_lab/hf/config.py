"""Reading a config.json: its fields, and all that is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping

from ..checks import as_bool, as_index, as_real
from .weights import Problem

# The sizes that every family's config has, ours to theirs.
SIZES = {
    "vocab": "vocab_size",
    "max_len": "max_position_embeddings",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "d_ff": "intermediate_size",
}


class Fields:
    """The fields of a config.json: reads them, and keeps all that is wrong in `problems`."""

    def __init__(self, content: Mapping):
        self.content = content
        self.problems: list[Problem] = []

    def wrong(self, name: str, text: str) -> None:
        """Note that a field cannot be used."""
        self.problems.append(Problem("config", name, text))

    def size(self, name: str, default: int | None = None) -> int | None:
        """A whole number from 1 on; None where it is wrong, or absent without a default."""
        return self._read(name, default, as_index, 1, 2**31)

    def sizes(self, table: Mapping[str, str]) -> dict[str, int | None]:
        """The sizes in a table such as `SIZES`, by our names; the heads must share the width evenly."""
        sizes = {ours: self.size(theirs) for ours, theirs in table.items()}
        d_model, n_heads = sizes["d_model"], sizes["n_heads"]
        if d_model and n_heads and d_model % n_heads:
            self.wrong(
                table["n_heads"], f"expected a divisor of {table['d_model']}, {d_model}, got {n_heads}"
            )
        return sizes

    def real(self, name: str, default: float | None = None) -> float | None:
        """A number."""
        return self._read(name, default, as_real)

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        """True or false."""
        return self._read(name, default, as_bool)

    def _read(self, name: str, default, read, *limits):
        if name not in self.content and default is None:
            self.wrong(name, "expected a value, got no such field")
            return None
        try:
            return read(self.content.get(name, default), name, *limits)
        except (TypeError, ValueError) as error:
            self.wrong(name, str(error).removeprefix(f"{name}: "))
            return None

    def fixed(self, name: str, usual: tuple, meaning: str = "", *, required: bool = False) -> None:
        """Refuse a value that is not one of `usual`; an absent field is the first, unless it is required."""
        got = self.content.get(name, None if required else usual[0])
        if got not in usual:
            self.wrong(name, f"expected {usual[0]!r}{meaning}, got {got!r}")
