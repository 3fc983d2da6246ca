"""bert_lab: how BERT is trained to fill in blanks, exact enough to be trusted as software.

The names of the contract stand in the stub beside this file. Each is loaded on first use, so that `import
bert_lab` loads neither torch nor matplotlib nor transformers.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
