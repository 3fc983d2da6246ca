"""The files of a checkpoint and what becomes of each key in them; it knows no model of ours.

May be imported: by anything above. Imports: `checks`, `files`.
"""
