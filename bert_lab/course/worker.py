"""The processes that run a learner's code: one for each run, forked from a server or made afresh.

The server imports what all runs need and does nothing else with it, so that a forked child starts at once and
finds a torch that has run no operation: a child of one that has can hang. It reads jobs from its standard
input, a line of JSON each, and writes a line for each that is done.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

LONGEST = 10  # a run may take so many times the seconds that one test may take
MOST = 4 * 2**20  # bytes of events
BEGIN = 60.0  # seconds that a process may take to begin
_WAIT = 0.02  # seconds between two looks at the children


class Run:
    """One job on its way: its folder, its events so far, and how long it may be silent."""

    def __init__(self, job: dict):
        self.job, self.events, self.read = job, [], 0
        self.rest = b""
        self.place = Path(tempfile.mkdtemp(prefix="bert_lab_"))
        shutil.copytree(job["folder"], self.place / "files")
        self.began = self.heard = time.monotonic()

    def take(self, data: bytes) -> None:
        """Note the events in what the process wrote."""
        self.heard = time.monotonic()
        self.read += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):  # what is no event was written by the code that runs there
                event = json.loads(line)
                if isinstance(event, dict):
                    self.events.append(event)

    def overdue(self) -> str:
        """Why the process must end now; "" while it need not."""
        now, seconds = time.monotonic(), self.job["seconds"]
        if self.read > MOST:
            return "too much output"
        if not self.read:  # the process has not even begun
            seconds = max(seconds, BEGIN)
        if now - self.heard > seconds or now - self.began > LONGEST * seconds:
            return "timeout"
        return ""

    def result(self, code: int | None, ended: str) -> dict:
        """All that is known about the run; code: of the process, negative for a signal."""
        shutil.rmtree(self.place, ignore_errors=True)
        took = time.monotonic() - self.began
        return {"id": self.job["id"], "events": self.events, "code": code, "ended": ended, "seconds": took}


def serve(libraries: list[str], workers: int) -> None:
    """Fork a child for each job that comes in, so many at a time, until the input ends."""
    for library in libraries:
        importlib.import_module(library)
    from bert_lab.course import run_job

    gc.freeze()  # so that collecting garbage in a child copies none of this memory
    waiting, running, asked = deque(), {}, b""
    try:
        while True:
            while waiting and len(running) < workers:
                pid, descriptor, run = _fork(waiting.popleft(), run_job)
                running[pid] = descriptor, run
            listening = [0, *(descriptor for descriptor, _ in running.values())]
            ready, _, _ = select.select(listening, [], [], _WAIT if running else None)
            if 0 in ready:
                data = os.read(0, 65536)
                if not data:
                    return  # whoever asked is gone, or has all answers
                *lines, asked = (asked + data).split(b"\n")
                waiting.extend(map(json.loads, lines))
            for pid, (descriptor, run) in list(running.items()):
                result = _look(pid, descriptor, run)
                if result is not None:
                    del running[pid]
                    sys.stdout.write(json.dumps(result) + "\n")
                    sys.stdout.flush()
    finally:
        for pid, (_, run) in running.items():
            _kill_group(pid)
            os.waitpid(pid, 0)
            run.result(None, "stopped")


def _look(pid: int, descriptor: int, run: Run) -> dict | None:
    """Hear what the child has to say; its result when it has ended, or has to."""
    _hear(descriptor, run)
    ended = run.overdue()
    if ended:
        _kill_group(pid)
        os.kill(pid, signal.SIGKILL)  # it may not have come to lead a group yet
    done, status = os.waitpid(pid, 0 if ended else os.WNOHANG)
    if not done:
        return None
    _hear(descriptor, run)
    _kill_group(pid)  # what the child has left behind
    os.close(descriptor)
    return run.result(os.waitstatus_to_exitcode(status), ended)


def _fork(job: dict, run_job) -> tuple[int, int, Run]:
    """A child that does the job: its process id, where its events come from, and the run."""
    run = Run(job)
    source, sink = os.pipe()
    pid = os.fork() or _child(run, sink, run_job)
    os.close(sink)
    os.set_blocking(source, False)
    return pid, source, run


def _child(run: Run, sink: int, run_job):
    """What the child does; it never returns."""
    code = 70  # of an error that is ours
    try:
        os.setsid()
        code = run_job.run(run.job, run.place, run_job.reporter(_alone_with(sink)))
    finally:
        os._exit(code)


def _alone_with(sink: int) -> int:
    """Close every other descriptor, put nothing in the place of the first three; return the new number."""
    sink = os.dup2(os.dup(sink), 3) if sink != 3 else sink
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.closerange(4, 256)
    return sink


def _hear(descriptor: int, run: Run) -> None:
    with contextlib.suppress(BlockingIOError):
        while data := os.read(descriptor, 65536):
            run.take(data)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def run_afresh(job: dict) -> dict:
    """Do one job in a new process: for systems that cannot fork. Slower, and the same result."""
    run = Run(job)
    command = [sys.executable, "-m", "bert_lab.course.worker", "one", str(run.place)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **apart()
    )
    process.stdin.write(json.dumps(job).encode())
    process.stdin.close()
    reader = threading.Thread(target=_listen, args=(process.stdout, run), daemon=True)
    reader.start()
    ended = ""
    while process.poll() is None and not ended:
        time.sleep(_WAIT)
        ended = run.overdue()
    kill(process)
    process.wait()
    reader.join(1)
    return run.result(process.returncode, ended)


def _listen(stream, run: Run) -> None:
    with stream:
        while data := os.read(stream.fileno(), 65536):
            run.take(data)


def apart() -> dict:
    """Options of Popen: a process that the terminal's Ctrl-C does not reach, and that finds this package."""
    import bert_lab

    paths = [str(Path(bert_lab.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    settings = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    return {"env": {**os.environ, **settings}, "start_new_session": True}


def kill(process: subprocess.Popen) -> None:
    """End a process that `apart` made, with all that it started."""
    if hasattr(os, "killpg"):
        _kill_group(process.pid)
    else:
        process.kill()


def _do_one(place: Path) -> int:
    """The job on the standard input, here and now."""
    job = json.load(sys.stdin)
    sink = _alone_with(1)
    for library in job["libraries"]:
        importlib.import_module(library)
    from bert_lab.course import run_job

    return run_job.run(job, place, run_job.reporter(sink))


if __name__ == "__main__":
    if sys.argv[1] == "one":
        os._exit(_do_one(Path(sys.argv[2])))
    serve(json.loads(sys.argv[2]), int(sys.argv[3]))
