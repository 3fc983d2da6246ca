"""Pretraining that can be stopped and resumed, filling in, and the simpler readers beside it.

May be imported: by `experiments`, `labs`, `cli`. Imports: `data` and the core.
"""
