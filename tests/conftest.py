"""Settings that every test runs under: one thread, no display, no network, the same examples each time."""

import os

# Before NumPy, torch and tokenizers are imported: they read these once. Kernels of chapters inherit them.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
# A backend named here would reach the chapters' kernels too and replace the one that stores pictures.
os.environ.pop("MPLBACKEND", None)

import matplotlib
import nbval.plugin
import pytest
from chromium import find_chromium, left_out
from hypothesis import settings

matplotlib.use("Agg")


# Slow machines must not turn a test red, and the examples must not depend on what ran before.
settings.register_profile("bert_lab", deadline=None, derandomize=True, database=None)
settings.load_profile("bert_lab")


def _no_coverage(*_args, **_kwargs) -> None:
    """Chapters do not count for coverage: a line that only they run has no test of its own."""


nbval.plugin.setup_coverage = _no_coverage
nbval.plugin.teardown_coverage = _no_coverage


def pytest_terminal_summary(terminalreporter, config) -> None:
    """After a run of the whole suite, say what no part of it has looked at."""
    if config.args_source == pytest.Config.ArgsSource.TESTPATHS:
        terminalreporter.write_line(left_out(find_chromium()))
