"""A working copy of the chapters for a reader, so that the project's folder stays as it is."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

START = "00_start_here.ipynb"
BOOK = Path(__file__).resolve().parents[2] / "notebooks"  # of the folder that the package is installed from


def copy_book(folder: str | os.PathLike, book: Path = BOOK) -> list[Path]:
    """Copy the chapters, the pages that they link to and their pictures into a new folder; return its files.

    The folder is created complete. After an error, or Ctrl-C, it does not exist.

    Raises:
        ValueError: an empty path, or one inside the book. TypeError: folder is no path.
        FileNotFoundError: this installation has no chapters, or the parent folder does not exist.
        FileExistsError: the folder exists already. Nothing is ever overwritten.
        OSError: the folder cannot be written, for another reason.
    """
    if not os.fspath(folder):
        raise ValueError("folder: expected the path of a folder, got an empty one")
    path = Path(folder)
    if not (book / START).is_file():
        raise FileNotFoundError(
            f"expected the book's chapters in {book}, but they are not there: this bert_lab was installed "
            "without them. Get the project's folder, run `make lab` in it, and copy with the bert-lab of its "
            ".venv."
        )
    if os.path.lexists(path):
        raise FileExistsError(f"{path} is there already: name a folder that is not; nothing was written")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: expected a folder to put the copy into, but there is none")
    if book.resolve() in path.resolve().parents:
        raise ValueError(f"{path}: expected a folder outside of the book itself, {book}; nothing was written")
    files = sorted(file for pattern in ("*.ipynb", "*.md", "images/*") for file in book.glob(pattern))
    try:
        # The temporary folder is on the same disk, so that the last step is a rename.
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as place:
            whole = Path(place, "book")
            for file in files:
                target = whole / file.relative_to(book)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
            whole.rename(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise type(error)(f"{path}: {reason}; nothing was written") from None
    return [path / file.relative_to(book) for file in files]
