"""The files of a checkpoint, and which parameter each key belongs to. No model of ours is known here.

May be imported: by the core and above. Imports: `checks`, `files`, `text_table`.
"""
