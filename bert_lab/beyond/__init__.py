"""Models that build on BERT: heads, ELECTRA, ModernBERT, and one call to load or save any of them.

May be imported: by `experiments`, `labs`, `cli`. Imports: the core, to whose loader each family is added.
"""
