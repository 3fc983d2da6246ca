"""Shared by the tests of figures: texts that are hard to draw, and checks of pictures and open figures."""

import io
import warnings

import matplotlib.pyplot as plt
import pytest
from PIL import Image

from bert_lab import figures

# Mathematics, other scripts, combining and invisible characters, markup. Tests check the first five one by
# one, and the last one, which is too long and is shortened.
HARD = [
    "$",
    "$x$",
    "a_b",
    "$\\frac$",
    "我",
    "日本",
    "고",
    "😀",
    "é",
    "e\u0301",
    "\t",
    "",
    "\u200b",
    "##ing",
    "<b>&",
    "x" * 50,
]


@pytest.fixture(autouse=True)
def nothing_left_open():
    """For each test of a module that imports this: warnings are errors, and every figure must be closed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    left = plt.get_fignums()
    plt.close("all")
    assert left == [], f"figures left open: {left}"


def check_picture(fig) -> None:
    """Draw and close `fig`: it must have alternative text, 900 pixels of width, and below 30,000 bytes."""
    assert isinstance(fig, figures.BookFigure), type(fig)
    assert len(fig.alt) > 30 and "\n" not in fig.alt, fig.alt
    size = tuple(round(inches * figures.DPI) for inches in fig.get_size_inches())
    data = figures.png(fig)
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.size == size and size[0] == 900, (picture.size, size)
    assert len(data) < 30_000, len(data)
