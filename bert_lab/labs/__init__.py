"""Labs, predictions and exercises: the interactive parts of the chapters.

What may be imported: the names in the stub beside this file. May import every room but
`experiments` and `cli`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
