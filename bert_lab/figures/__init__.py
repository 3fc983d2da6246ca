"""Data in, picture out: each function makes one matplotlib figure that also says in words what it shows.

What may be imported: the functions named in the stub beside this file. Needs `measuring` alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
