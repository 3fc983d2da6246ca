"""What shares and rates a masking must show, how much data proves them wrong, and other recipes of masking.

May be imported: by `figures` and above. Imports: the core.
"""
