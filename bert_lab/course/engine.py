"""Runs jobs in processes of their own: through a server that forks where the system can, else one by one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from pathlib import Path

from . import worker

# A fork of a process with torch in it is safe on Linux; macOS's own libraries may not bear it.
CAN_FORK = sys.platform == "linux"
_GRACE = 60  # seconds that the server may take to begin and to end


class Engine:
    """A context in which `run` does jobs: dicts as in `run_job.run`, with "folder" and "seconds" besides.

    libraries: what to import once, before the first job: names of modules. workers: processes at a time
    (default: the cores that this process may use). fork: whether to fork (default: where that is safe).
    """

    def __init__(
        self, libraries: Sequence[str] = (), *, workers: int | None = None, fork: bool | None = None
    ):
        self.libraries = list(libraries)
        self.workers = workers or _cores()
        self.fork = CAN_FORK if fork is None else fork

    def __enter__(self) -> Engine:
        self._stack = ExitStack()
        self._server = None
        return self

    def __exit__(self, *error) -> None:
        self._stack.close()

    def _start_server(self) -> None:
        """Start the server, unless it runs: a submission may have ended it."""
        if self._server is not None and self._server.poll() is None:
            return
        # It begins in a folder where nothing can be imported from by accident.
        nowhere = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="bert_lab_"))
        self._said = Path(nowhere, "said")
        command = [sys.executable, "-m", worker.__name__, "serve", json.dumps(self.libraries)]
        with self._said.open("w") as said:
            self._server = subprocess.Popen(
                [*command, str(self.workers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                cwd=nowhere,
                **worker.apart(),
            )
        self._stack.callback(_end, self._server)

    def run(self, jobs: Iterable[dict]) -> Iterator[tuple[dict, dict]]:
        """Do the jobs, several at a time; yield each with its result as it is done.

        A result holds "events", the process's exit "code" (None if there is none, negative for a signal), the
        "seconds" it took, and why it was "ended": "timeout", "too much output", or "" if it ended by itself.

        Raises ChildProcessError when the server itself ends.
        """
        jobs = {uuid.uuid4().hex: {**job, "libraries": self.libraries} for job in jobs}
        results = self._from_server(jobs) if self.fork else self._afresh(jobs)
        for result in results:
            yield jobs[result["id"]], result

    def _from_server(self, jobs: dict) -> Iterator[dict]:
        self._start_server()
        with suppress(BrokenPipeError):  # the first answer that does not come tells more
            for id, job in jobs.items():
                self._server.stdin.write(json.dumps({**job, "id": id}) + "\n")
            self._server.stdin.flush()
        for _ in jobs:
            line = self._server.stdout.readline()
            if not line:
                code = self._server.wait()
                said = self._said.read_text(errors="replace")[-2000:]
                raise ChildProcessError(f"the server of the runs ended with exit code {code}\n{said}")
            yield json.loads(line)

    def _afresh(self, jobs: dict) -> Iterator[dict]:
        with ThreadPoolExecutor(self.workers) as pool:
            futures = [pool.submit(worker.run_afresh, {**job, "id": id}) for id, job in jobs.items()]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)


def _end(server: subprocess.Popen) -> None:
    with suppress(BrokenPipeError):
        server.stdin.close()  # the server then ends all that runs, and itself
    try:
        server.wait(_GRACE)
    except subprocess.TimeoutExpired:
        worker.kill(server)
        server.wait()
    server.stdout.close()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
