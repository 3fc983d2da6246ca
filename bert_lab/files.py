"""Writing files: a reader finds the old content or the new, and never a part of either.

Every file is written aside first, in a hidden directory whose name ends in ".partial", flushed to the disk
and then renamed. A process that is killed may leave such a directory, which can be deleted.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

Content = str | bytes | Callable[[Path], None]


def write_files(folder: Path, files: Mapping[str, Content], guard: str | None = None) -> None:
    """Write files into a folder; other files in it stay.

    Where the folder is not there, it appears with all files in it at once. Else the files are renamed into it
    one after another, in their order. An error while they are written leaves everything as it was.

    Args:
        folder: it and those above it are made where they are not there.
        files: names to what they hold: a text (written as UTF-8), bytes, or a function that writes the file
            at the path that it is given.
        guard: the last of `files`, without which the others are of no use. If its content changes, the old
            one is taken away before the first file is renamed. So old and new files are never read as one
            set: a kill between two renamings leaves a folder without the guard.

    Raises OSError where something cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = folder if folder.is_dir() else folder.parent
    work = place / f".{next(iter(files))}-{secrets.token_hex(8)}.partial"
    work.mkdir()
    try:
        for name, content in files.items():
            _write(work / name, content)
        if not folder.exists():
            os.rename(work, folder)
            return
        if guard and (folder / guard).exists() and _differ(folder / guard, work / guard):
            _replace_guarded(work, folder, files, guard)
        else:
            _replace(work, folder, files)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _differ(a: Path, b: Path) -> bool:
    return a.read_bytes() != b.read_bytes()


def _replace(work: Path, folder: Path, names: Iterable[str]) -> None:
    for name in names:
        os.replace(work / name, folder / name)


def _replace_guarded(work: Path, folder: Path, names: Iterable[str], guard: str) -> None:
    aside = work / f"{guard}.old"
    os.replace(folder / guard, aside)
    try:
        first, *others = names
        os.replace(work / first, folder / first)
    except OSError:
        os.replace(aside, folder / guard)  # nothing else has changed yet
        raise
    _replace(work, folder, others)


def _write(path: Path, content: Content) -> None:
    """Write one file with the usual permissions, and wait until it is on the disk."""
    if callable(content):
        path.touch()
        mode = path.stat().st_mode
        content(path)
        path.chmod(mode)  # some writers make files for the owner alone
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with path.open("r+b") as file:
        os.fsync(file.fileno())
