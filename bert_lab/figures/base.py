"""Data in, matplotlib Figure out: the book's figures.

Each function makes one figure with pyplot, so that `plt.show()` at the end of a cell shows it once and closes
it. The figure carries its alternative text as `fig.alt`: what a reader who cannot see the picture is told,
and what a notebook stores as text beside it. `png(fig)` gives the bytes of the picture and closes the figure,
for labs.

Colors come from the palette, and a letter, a pattern or a marker says the same.
"""

import base64
import functools
import html
import io
from contextlib import contextmanager

import matplotlib.pyplot as plt
import matplotlib.style
import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from .palette import BLACK, BLUE, GREEN, PURPLE, VERMILLION

DPI = 100
WIDTH = 9.0  # inches: 900 pixels, what a notebook cell shows without shrinking
FONT, MONO = (
    "DejaVu Sans",
    "DejaVu Sans Mono",
)  # both come with matplotlib, so a figure is the same everywhere
_STYLE = {
    "font.family": FONT,
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 13,
    "axes.titlelocation": "left",
    "axes.facecolor": "white",
    "figure.facecolor": "white",
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 11,
    "text.usetex": False,
}
PATTERNS = {"M": "///", "R": "...", "K": "xx"}
LINES = (
    (BLUE, "-", "o"),
    (VERMILLION, "--", "s"),
    (GREEN, "-.", "^"),
    (PURPLE, ":", "D"),
    (BLACK, "-", "v"),
)


def _style():
    """matplotlib's default style with the book's changes, whatever style the reader has set."""
    return matplotlib.style.context(["default", _STYLE])


class BookFigure(Figure):
    """A Figure that says in `alt` what it shows, and puts that text beside its picture in a notebook."""

    alt = ""

    def _ipython_display_(self) -> None:
        # plt.show() comes here; matplotlib's own way has no alternative text, and three times the bytes.
        from IPython.display import display

        picture = base64.b64encode(_render(self)).decode("ascii")
        metadata = {"image/png": {"alt": self.alt}}
        display({"image/png": picture, "text/plain": self.alt}, raw=True, metadata=metadata)


def _render(fig: Figure) -> bytes:
    """The figure as PNG bytes of at most 128 colors: a third of the size, and a notebook must stay small."""
    out, canvas = io.BytesIO(), fig.canvas
    try:
        agg = FigureCanvasAgg(fig)
        with _style():  # ticks are made when they are drawn
            agg.draw()
        pixels = Image.fromarray(np.asarray(agg.buffer_rgba())).convert("RGB")
    finally:
        fig.set_canvas(canvas)  # the one that pyplot knows
    pixels.quantize(128).save(out, format="png", optimize=True)
    return out.getvalue()


def png(fig: Figure) -> bytes:
    """The picture as PNG bytes; the figure is closed."""
    try:
        return _render(fig)
    finally:
        plt.close(fig)


def html_image(fig: BookFigure) -> str:
    """An HTML image of the figure with its alternative text; the figure is closed."""
    data = base64.b64encode(png(fig)).decode("ascii")
    return f'<img alt="{html.escape(fig.alt)}" style="max-width:100%" src="data:image/png;base64,{data}">'


@contextmanager
def canvas(height: float, panels: int = 1, **spec):
    """(figure, list of axes) in the book's style; closed again if drawing fails."""
    with _style():
        fig = plt.figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained", FigureClass=BookFigure)
        try:
            yield fig, list(fig.subplots(1, panels, squeeze=False, **spec)[0])
        except BaseException:
            plt.close(fig)
            raise


@functools.cache
def _known(font: str) -> frozenset[int]:
    """The characters that a font has."""
    return frozenset(font_manager.get_font(font_manager.findfont(font)).get_charmap())


def drawable(text: str, font: str = FONT) -> str:
    """The text with a hollow box for each character that cannot be drawn."""
    return "".join(c if c.isprintable() and ord(c) in _known(font) else "\N{WHITE SQUARE}" for c in str(text))


def short(token, most: int = 12) -> str:
    """A token as a label: cut when long, and with a hollow box for what cannot be drawn."""
    token = str(token)
    return drawable(token if len(token) <= most else token[: most - 1] + "\N{HORIZONTAL ELLIPSIS}", MONO)
