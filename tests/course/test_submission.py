"""What is taken from a learner's folder or notebook, and what is left there."""

import os
import sys
from types import ModuleType

import pytest
from course_helpers import write

from bert_lab.course import submission
from bert_lab.course.submission import gather, source_of, syntax_error


def names(folder) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_regular_files_are_copied_and_the_rest_stays(tmp_path):
    folder = write(tmp_path / "my", bert="x = 1\n", test_bert="y = 2\n")
    write(folder / "data" / "deep", helper="z = 3\n")
    for left_out in ("__pycache__", ".git", "venv", "other"):
        write(folder / left_out, module="")
    (folder / "other" / "pyvenv.cfg").touch()
    (folder / ".hidden.py").touch()
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "linked").symlink_to(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe")
    gather(folder, tmp_path / "copy")
    assert names(tmp_path / "copy") == ["bert.py", "data/deep/helper.py", "test_bert.py"]
    assert (tmp_path / "copy" / "bert.py").read_text(encoding="utf-8") == "x = 1\n"


def test_a_folder_that_is_none_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing: expected a folder made by bert-lab start"):
        gather(tmp_path / "nothing", tmp_path / "copy")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"file: expected a folder, found a file"):
        gather(tmp_path / "file", tmp_path / "copy")


def test_a_folder_that_is_too_large_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(submission, "MOST_BYTES", 10)
    folder = write(tmp_path / "my", bert="x = 1\n", test_bert="y = 2\n")
    with pytest.raises(ValueError, match="expected at most 0 MB of files, found more"):
        gather(folder, tmp_path / "copy")


def test_syntax_errors_are_found_without_running(tmp_path):
    write(tmp_path, fine="raise SystemExit\n", wrong="a = 1\nb = (\n", null="")
    (tmp_path / "null.py").write_bytes(b"a = 1\0")
    assert syntax_error(tmp_path / "fine.py") == ""
    assert syntax_error(tmp_path / "wrong.py") == "wrong.py, line 2: syntax error: '(' was never closed"
    assert "syntax error" in syntax_error(tmp_path / "null.py")


# ---- functions of a notebook


@pytest.fixture
def notebook(monkeypatch, tmp_path):
    """A stand-in for a kernel's `__main__`: `run` executes a cell in it, and its source can be found."""
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    cells = iter(range(100))

    def run(text: str):
        path = tmp_path / f"cell{next(cells)}.py"
        path.write_text(text, encoding="utf-8")
        exec(compile(text, str(path), "exec"), vars(main))
        return main

    return run


def test_a_test_comes_with_all_that_it_uses(notebook):
    main = notebook(
        "import math\nimport numpy as np\nfrom bert_lab import PCG32, mlm_mask\nROW = [2, 5, 3]\n"
        "def twice(x): return helper(x) * SCALE\n"
        "def helper(x): return x if x < 1 else twice(x - 1)\n"
        "SCALE = 2\n"
        "def test_it(bert): assert math.pi and np.pi and PCG32(1) and ROW and twice(0.5) == 1 and len(ROW)\n"
    )
    text = source_of([main.test_it])
    space = {}
    exec(text, space)
    space["test_it"](None)
    assert "import numpy as np" in text and "import math as math" in text
    assert "from bert_lab.rng import PCG32 as PCG32" in text and "ROW = [2, 5, 3]" in text
    assert "mlm_mask" not in text, "what a test does not use is left out"
    assert text.index("def helper") < text.index("def twice") < text.index("def test_it")


def test_what_cannot_be_taken_along_is_an_error(notebook):
    main = notebook("import numpy as np\nW = np.zeros(3)\ndef test_it(bert): assert W.sum() == 0\n")
    with pytest.raises(
        TypeError, match="W: expected a module, a function, a class or a plain value, got ndarray"
    ):
        source_of([main.test_it])
    main = notebook("K = object()\ndef test_it(bert): assert K\n")
    with pytest.raises(TypeError, match=r"K: .* got object; make it inside the test"):
        source_of([main.test_it])
    main = notebook("class Box: size = 3\ndef test_it(bert): assert Box.size\n")
    with pytest.raises(TypeError, match=r"Box: expected a module, .* got type"):
        source_of([main.test_it])
    exec("def test_none(bert): pass", vars(main))
    with pytest.raises(ValueError, match="test_none: its source cannot be found"):
        source_of([main.test_none])


def test_only_functions_with_names_of_tests_are_taken(notebook):
    main = notebook("def test_it(bert): pass\ndef other(bert): pass\n")
    with pytest.raises(TypeError, match="expected functions, got str"):
        source_of(["test_it"])
    with pytest.raises(ValueError, match="expected names that begin with test_, got other"):
        source_of([main.other])
    with pytest.raises(ValueError, match="a name of its own"):
        source_of([main.test_it, main.test_it])


def test_a_function_of_a_module_is_imported(notebook):
    main = notebook(
        "from math import sqrt\nfrom os.path import join as j\ndef test_it(bert): assert sqrt(4) and j('a')\n"
    )
    text = source_of([main.test_it])
    assert "from math import sqrt as sqrt" in text and "import join as j" in text
