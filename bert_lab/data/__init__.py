"""Text to train on, and datasets, collators and masks that any training loop takes.

May be imported: by `training` and above. Imports: the core.
"""
