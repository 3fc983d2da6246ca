"""The course: the tests that an implementation must pass, and the faults that a good test catches.

May be imported: by `labs` and `cli`. Imports: the core; `plain.py` is the contract, written to be read.
"""
