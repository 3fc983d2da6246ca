"""Training loops, pretraining that can be resumed, filling blanks, and the baselines beside BERT.

May be imported: by `experiments`, `labs`, `cli`. Imports: `data` and the core.
"""
