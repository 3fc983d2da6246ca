"""The colours of every figure and lab: the Okabe-Ito palette, and the letter that goes with each colour.

Nothing in the book is told by colour alone: a letter says the same.
"""

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#BBBBBB"

# What can happen to a position: letter -> (colour of its background, meaning in a few words).
FATES = {
    "S": (GREY, "special: never picked"),
    "-": ("#FFFFFF", "not picked"),
    "M": (ORANGE, "picked, shown as [MASK]"),
    "R": (SKY, "picked, shown as a random token"),
    "K": (YELLOW, "picked, kept as it is"),
}
