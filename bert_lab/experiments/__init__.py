"""The comparisons of the book: models trained side by side, several seeds each, by `bert-lab compare`.

One experiment a file; each has `DEFAULTS` and `compare(seeds, steps, ...)`, which returns a `Comparison`.
The figures that the chapters quote are stored in `assets`, one file a comparison.
"""

NAMES = ("heads", "electra", "modern", "masking")
