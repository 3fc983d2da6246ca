"""The comparisons of the book: models trained side by side, several seeds each, by `bert-lab compare`.

One experiment a file; each has `DEFAULTS` and `run(seeds, steps, ...)`, which returns a `Comparison`.
The numbers that the chapters quote are stored in `assets`, one file for each comparison.
May be imported: by `cli`. Imports: every room but `labs` and `course`.
"""

NAMES = ("heads", "electra", "modern", "masking")
