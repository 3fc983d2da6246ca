"""Processes that start warm: forks of one that has imported the libraries, and nothing of bert_lab.

So a chapter runs under strict nbval with another copy of bert_lab than the one that runs the tests, for half
the work. Where nothing can be forked, all starts afresh.
"""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import pytest
from ipykernel.kernelapp import IPKernelApp
from jupyter_client.provisioning import local_provisioner

ROOT = Path(__file__).resolve().parents[2]
# Neither pyplot nor an IPython shell: the kernel chooses the backend when they are first used.
LIBRARIES = [
    "pytest",
    "_pytest.assertion.rewrite",
    "nbval.plugin",
    "xdist.plugin",
    "pytest_cov.plugin",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipywidgets",
    "anywidget",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "scipy.stats",
    "safetensors.torch",
    "tokenizers",
    "transformers.models.bert.modeling_bert",
]
CAN_FORK = sys.platform.startswith("linux")


def warm_processes() -> multiprocessing.context.BaseContext:
    """What makes such processes."""
    context = multiprocessing.get_context("forkserver" if CAN_FORK else "spawn")
    context.set_forkserver_preload(LIBRARIES)
    return context


def run_chapter(chapter: str, package_parent: Path, *options: str) -> subprocess.CompletedProcess:
    """Run one chapter with the bert_lab in this folder: the exit code, and what pytest printed."""
    arguments = ["--nbval", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *options]
    # What is imported before pytest starts cannot be rewritten, and need not be.
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    arguments += [str(ROOT / "notebooks" / f"{chapter}.ipynb")]
    settings = {"PYTHONPATH": str(package_parent), "PYTHONDONTWRITEBYTECODE": "1"}
    if not CAN_FORK:
        command = [sys.executable, "-m", "pytest", *arguments]
        environment = {**os.environ, **settings}
        return subprocess.run(
            command, env=environment, cwd=package_parent, capture_output=True, text=True, timeout=300
        )
    with tempfile.NamedTemporaryFile("r") as output:
        child = warm_processes().Process(target=_pytest, args=(arguments, settings, output.name))
        child.start()
        child.join(300)
        if child.is_alive():
            child.kill()
            raise subprocess.TimeoutExpired(arguments, 300)
        return subprocess.CompletedProcess(arguments, child.exitcode, output.read())


def _pytest(arguments: list[str], settings: dict[str, str], output: str) -> None:
    """In a fork: pytest, whose kernels are forks of it."""
    _enter(settings, settings["PYTHONPATH"], os.open(output, os.O_WRONLY))
    local_provisioner.launch_kernel = _Kernel
    sys.exit(pytest.main(arguments))


def _enter(settings: dict[str, str], folder: str, descriptor: int) -> None:
    os.environ.update(settings)
    os.chdir(folder)
    sys.path.insert(0, settings["PYTHONPATH"])
    sys.dont_write_bytecode = True
    for number in (1, 2):
        os.dup2(descriptor, number)


class _Kernel:
    """A forked kernel, with what jupyter_client asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, command: list[str], *, env: dict[str, str], cwd: str | None, stderr, **_options):
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                _enter(env, cwd or ".", stderr.fileno())
                os.setpgid(0, 0)
                asyncio.set_event_loop(asyncio.new_event_loop())  # the other one runs
                matplotlib.use("module://matplotlib_inline.backend_inline")  # it is imported already
                IPKernelApp.launch_instance(argv=command[-2:])
                code = 0
            finally:
                os._exit(code)
        # In both, whichever comes first: signals for the kernel go to its group.
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)
        stderr.close()

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    terminate = kill
