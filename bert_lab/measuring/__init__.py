"""The shares and rates that a masking routine must show, statistical tests of them, and other recipes.

May be imported: by `figures` and above. Imports: the core.
"""
