"""Labs, predictions and exercises: what a chapter puts on the page for a reader to play with.

What may be imported: the names in the stub beside this file. May import every room but
`experiments` and `cli`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
