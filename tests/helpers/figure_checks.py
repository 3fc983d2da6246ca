"""What the tests of figures share: texts that are hard to draw, and what a picture is made of."""

import io
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from PIL import Image

from bert_lab import figures
from bert_lab.figures.base import DPI

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
    size = tuple(round(inches * DPI) for inches in fig.get_size_inches())
    data = figures.png(fig)
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.size == size and size[0] == 900, (picture.size, size)
    assert len(data) < 30_000, len(data)


# What is drawn, as plain values in the order of drawing: a test compares whole lists of them.


def bars(ax, lying: bool = False) -> list[tuple]:
    """(place, start, end, color, color of the edge, pattern) of each bar; a lying one has its place on y."""
    found = []
    for bar in ax.patches:
        (x, y), wide, high = bar.get_xy(), bar.get_width(), bar.get_height()
        ends = (y + high / 2, x, x + wide) if lying else (x + wide / 2, y, y + high)
        colors = (to_hex(color).upper() for color in (bar.get_facecolor(), bar.get_edgecolor()))
        found.append((*(round(float(end), 9) for end in ends), *colors, bar.get_hatch() or ""))
    return found


def lines(ax) -> list[tuple]:
    """(x, y, color, style of the line, marker) of each line."""
    return [
        (
            [round(float(x), 9) for x in line.get_xdata()],
            [round(float(y), 9) for y in line.get_ydata()],
            to_hex(line.get_color()).upper(),
            line.get_linestyle(),
            line.get_marker(),
        )
        for line in ax.lines
        if line.get_marker() not in ("_", "|")  # the caps of error bars
    ]


def whiskers(ax) -> np.ndarray:
    """Lower and upper ends of the error bars, [bars, 2]."""
    segments = np.array(ax.collections[0].get_segments())  # [bars, 2 ends, (x, y)]
    upright = (segments[:, 0, 0] == segments[:, 1, 0]).all()
    return segments[:, :, int(upright)]


def ticks(axis) -> list[tuple[float, str]]:
    """(place, label) of each tick."""
    labels = [label.get_text() for label in axis.get_ticklabels()]
    return list(zip(axis.get_ticklocs().tolist(), labels, strict=True))


def texts(ax) -> list[str]:
    """The texts inside the axes."""
    return [text.get_text() for text in ax.texts]


def legend(ax) -> list[str]:
    """The legend's texts, from the top."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def check_texts_beyond(ax, ends, lying: bool = False) -> None:
    """Text number i stands beside bar number i, beyond `ends[i]` by less than a twelfth of the axis."""
    low, high = ax.get_xlim() if lying else ax.get_ylim()
    for text, end, (place, *_) in zip(ax.texts, ends, bars(ax, lying), strict=True):
        along, across = text.get_position() if lying else text.get_position()[::-1]
        assert across == pytest.approx(place) and 0 < along - end < (high - low) / 12, text
