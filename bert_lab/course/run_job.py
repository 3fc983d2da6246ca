"""What happens inside the process of one run: limits, the module under test, pytest, and a report.

Nothing here is for use by hand: `worker.py` makes the processes, `engine.py` asks for the runs. The code that
runs here is a learner's, so the process gives up what it does not need before it starts.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import bert_lab
from bert_lab.course import test_bert
from bert_lab.course.contract import HOME, source_path

resource = importlib.import_module("resource") if os.name == "posix" else None  # others have no such limits
MEMORY = 4 * 2**30  # bytes of address space beyond those at the start
FILE_SIZE = 64 * 2**20  # bytes of any file that is written
# What the contract is made of, and what of the package stays as it is beside it.
_CHAIN = ("masking", "batches", "padding", "model", "hf.plan", "hf.loading", "checkpoint")
_HF = ("hf", "hf.config", "hf.report", "hf.tokenizer_files", "hf.weights")
_REST = ("checks", "fast_masking", "files", "rng", "text_table", "wordpiece", *_HF)
_KEPT = {"bert_lab", *(f"bert_lab.{name}" for name in _REST)}
_COURSE_TESTS = Path(test_bert.__file__)


def run(job: dict, place: Path, send: Callable[[dict], None]) -> int:
    """Do one job in a folder of its own, `place`; tell its events by `send`; return the exit code of pytest.

    job: "kind" is "course" (the course tests on `place/files/bert.py`, those in "select") or "own" (the tests
    in `place/files`, on the reference with what is "changed" in it, {module: source}, or where "control" is
    true on a module in which every function raises).
    """
    send({"begun": True})
    _settle(place)
    _limit()
    files = place / "files"
    sys.path.insert(0, str(files))
    if job["kind"] == "course":
        bert = _learner_module(files / "bert.py", job["names"], send)
        if bert is None:
            return pytest.ExitCode.INTERRUPTED
        targets = [f"{_COURSE_TESTS}::{name}" for name in job["select"]]
    else:
        bert = _module_under_test(job["changed"], job["control"], send)
        targets = [str(files)]
    sys.modules["bert"] = bert
    config = place / "pytest.ini"
    config.write_text("[pytest]\n", encoding="utf-8")
    left_out = ("cacheprovider", "terminal", "unraisableexception")  # the last collects garbage for long
    options = ["-c", str(config), "--rootdir", str(place), *(f"-pno:{plugin}" for plugin in left_out)]
    code = int(pytest.main([*options, *targets], plugins=[Recorder(bert, files, send)]))
    send({"exit": code})  # the process's own exit code can be that of an os._exit in a test
    return code


def _settle(place: Path) -> None:
    """An own home and temporary folder, a short environment, and nothing compiled to a file."""
    sys.dont_write_bytecode = True
    home, scratch = place / "home", place / "tmp"
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    os.environ.clear()
    os.environ.update(
        kept,
        HOME=str(home),
        TMPDIR=str(scratch),
        PYTHONDONTWRITEBYTECODE="1",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        OMP_NUM_THREADS="1",
        HF_HUB_OFFLINE="1",
    )
    for folder in (home, scratch):
        folder.mkdir()
    tempfile.tempdir = None  # it has found another one before the fork
    os.chdir(place / "files")


def _limit() -> None:
    if resource is None:
        return
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit is then an OSError
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        room = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (room, room))


# ---- the module under test


def _learner_module(path: Path, names: list[str], send) -> ModuleType | None:
    """The learner's bert.py, imported; None after an event that says why it cannot be."""
    send({"start": "bert.py"})
    spec = importlib.util.spec_from_file_location("bert", path)
    bert = importlib.util.module_from_spec(spec)
    sys.modules["bert"] = bert
    try:
        spec.loader.exec_module(bert)
    except SyntaxError as error:
        send({"unusable": f"bert.py, line {error.lineno}: syntax error: {error.msg}"})
        return None
    except BaseException as error:
        line = _line_in(error, path.parent)
        send({"unusable": f"bert.py{line and f', line {line}'}: cannot be imported: {_words(error)}"})
        return None
    have = {name: getattr(bert, name, None) for name in names}
    origin = {name: getattr(value, "__module__", None) or "" for name, value in have.items()}
    send(
        {
            "missing": [name for name, value in have.items() if value is None],
            "borrowed": [name for name in names if origin[name].split(".")[0] == "bert_lab"],
        }
    )
    return bert


def _module_under_test(changed: dict[str, str], control: bool, send) -> ModuleType:
    """The contract's names, made anew from source in memory with these modules changed.

    `bert_lab` itself then holds the changed names too: no second copy is left that a test could ask. Where a
    changed module cannot even be run, each use of a name raises its error.
    """
    made = [stem for stem in _CHAIN if "torch" in sys.modules or stem in ("masking", "batches")]
    sources = {stem: source_path(stem).read_text(encoding="utf-8") for stem in made} | changed
    for name in [name for name in sys.modules if name.split(".")[0] == "bert_lab" and name not in _KEPT]:
        del sys.modules[name]
        parent, _, leaf = name.rpartition(".")
        vars(sys.modules.get(parent, bert_lab)).pop(leaf, None)
    sys.meta_path.insert(0, _NoCourse)
    for name, home in HOME.items():
        if f"bert_lab.{home}" not in _KEPT:
            vars(bert_lab).pop(name, None)
    bert = ModuleType("bert", "The module under test.")
    bert.__all__ = list(HOME)
    bert.__getattr__ = _broken if control else lambda name: getattr(bert_lab, name)
    for stem in made:
        module = ModuleType(f"bert_lab.{stem}")
        parent, _, leaf = module.__name__.rpartition(".")
        module.__package__, module.__file__ = parent, str(source_path(stem))
        sys.modules[module.__name__] = module
        setattr(sys.modules[parent], leaf, module)
        try:
            exec(compile(sources[stem], module.__file__, "exec"), vars(module))
        except Exception as error:
            send({"broken": _words(error)})
            bert.__getattr__ = functools.partial(_raise, error)
            return bert
    return bert


def _raise(error: Exception, name: str):
    raise error


class _NoCourse:
    """What others wrote to grade with is no oracle of one's own."""

    @staticmethod
    def find_spec(name: str, path=None, target=None):
        if name.startswith("bert_lab.course"):
            raise ModuleNotFoundError(f"{name} cannot be imported by tests that are graded", name=name)


def _broken(name: str):
    if name not in HOME:
        raise AttributeError(f"module 'bert' has no attribute {name!r}")

    def fail(*args, **options):
        raise RuntimeError("nothing works here")

    return fail


# ---- the report


def _words(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()[-2000:]


def _line_in(error: BaseException, folder: Path) -> int | str:
    """The last line of a file in the folder that the error passed through; "" where there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).is_relative_to(folder)]
    return lines[-1] if lines else ""


class Recorder:
    """A plugin of pytest: gives tests the module under test, and tells what became of each."""

    def __init__(self, bert: ModuleType, files: Path, send):
        self.module, self.files, self.send, self.single = bert, files, send, True

    @pytest.fixture(name="bert", scope="session")
    def under_test(self):
        return self.module

    def pytest_collectreport(self, report) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            words = crash.message if crash else getattr(report.longrepr, "longrepr", report.longrepr)
            self.send({"uncollected": report.nodeid.rpartition("/")[2], "message": str(words)[-2000:]})

    def pytest_collection_finish(self, session) -> None:
        self.single = len({item.path for item in session.items}) < 2

    def _name(self, nodeid: str) -> str:
        """A test as a reader knows it; with its file where there are several."""
        file, _, name = nodeid.partition("::")
        return name if self.single else f"{file.removeprefix('files/')}::{name}"

    def pytest_runtest_logstart(self, nodeid) -> None:
        self.send({"start": self._name(nodeid)})

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if report.when == "call" or report.outcome != "passed":
            event = {"test": self._name(item.nodeid), "outcome": report.outcome, "message": ""}
            if report.outcome == "skipped":
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
                event["message"] = reason.removeprefix("Skipped: ") or getattr(report, "wasxfail", "")
            elif report.outcome == "failed":
                event.update(self._failure(report, call.excinfo))
            self.send(event)
        return report

    def _failure(self, report, excinfo) -> dict:
        """What the test claimed, where it failed, and what the learner's file had to do with it."""
        if excinfo is None:
            return {"message": str(report.longrepr)[:2000]}
        error = excinfo.value
        frames = [(frame, Path(frame.filename)) for frame in traceback.extract_tb(error.__traceback__)]
        inside = [frame for frame, path in frames if path == self.files / "bert.py"]
        test = [
            frame
            for frame, path in frames
            if path == _COURSE_TESTS or (path.is_relative_to(self.files) and path.name != "bert.py")
        ]
        return {
            "message": _words(error),
            "claim": test[-1].line if test else "",
            "line": test[-1].lineno if test else None,
            "bert_line": inside[-1].lineno if inside else None,
            "todo": _unwritten(error, self.files / "bert.py"),
            "printed": report.capstdout[-1000:],
        }


def _unwritten(error: BaseException, path: Path) -> str:
    """The function of the learner's file whose body is still to be written, where that is what failed."""
    last = error.__traceback__
    while last.tb_next:
        last = last.tb_next
    code = last.tb_frame.f_code
    unwritten = isinstance(error, NotImplementedError) and Path(code.co_filename) == path
    return code.co_qualname if unwritten else ""


def reporter(descriptor: int) -> Callable[[dict], None]:
    """A `send` that writes each event as a line of JSON to this descriptor."""

    def send(event: dict) -> None:
        data = json.dumps(event).encode() + b"\n"
        while data:
            data = data[os.write(descriptor, data) :]

    return send
