"""What the tests of figures share: texts that are hard to draw, a small picture, nothing left open."""

import io
import warnings

import matplotlib.pyplot as plt
import pytest
from PIL import Image

from bert_lab import figures

# Mathematics, other scripts, combining and invisible characters, markup. Tests look at the first five one by
# one, and at the last, which is too long and is cut.
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
    """For each test of a module that has this name: a warning is an error, and every figure is closed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    left = plt.get_fignums()
    plt.close("all")
    assert left == [], f"figures left open: {left}"


def check_picture(fig) -> None:
    """Draw and close `fig`: it has words, and is a picture 900 pixels wide of less than 30,000 bytes."""
    assert isinstance(fig, figures.BookFigure), type(fig)
    assert len(fig.alt) > 30 and "\n" not in fig.alt, fig.alt
    size = tuple(round(inches * figures.DPI) for inches in fig.get_size_inches())
    data = figures.png(fig)
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.size == size and size[0] == 900, (picture.size, size)
    assert len(data) < 30_000, len(data)
