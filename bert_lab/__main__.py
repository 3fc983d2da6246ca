"""`python -m bert_lab`: the same as the command `bert-lab`."""

import sys

from .cli.app import main

if __name__ == "__main__":
    sys.exit(main())
