"""The exercises of the book: one table a chapter, in chNN.py."""
