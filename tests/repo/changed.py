"""Print what `make check` runs: the tests of the files that changed since the last commit, else in it.

A test or a chapter that changed is run itself. For a module, and for what else lies in a room of the package,
these are the tests in the room's folder that name it; where none does, the whole folder.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
HOUSE = "tests/repo/test_house.py"


def git(*arguments: str) -> set[str]:
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(run.stdout.splitlines())


def changed() -> set[str]:
    now = git("diff", "--name-only", "HEAD") | git("ls-files", "--others", "--exclude-standard")
    return now or git("diff", "--name-only", "HEAD~1", "HEAD")


def covering(name: str) -> set[str]:
    """The tests to run when the file of this name, relative to the project, has changed."""
    path = PurePosixPath(name)
    if path.match("tests/*/test_*.py") or path.match("notebooks/*.ipynb"):
        return {name} if (ROOT / name).exists() else set()
    if path.parts[0] == "bert_lab":
        folder = path.parts[1] if len(path.parts) > 2 else "core"
    elif path.match("tests/*/*.*"):
        folder = "" if path.parts[1] in ("assets", "helpers") else path.parts[1]
    else:
        return {HOUSE}
    tests = [
        test
        for test in (ROOT / "tests" / folder).rglob("test_*.py")
        if not {"browser", "course_sample"} & {*test.parts}
    ]
    word = re.compile(rf"\b{re.escape(path.stem)}\b")
    naming = [test for test in tests if word.search(test.read_text(encoding="utf-8"))]
    return {test.relative_to(ROOT).as_posix() for test in naming or tests}


if __name__ == "__main__":
    print(*sorted({test for name in changed() for test in covering(name)} or {HOUSE}))
