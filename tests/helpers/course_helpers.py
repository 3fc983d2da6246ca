"""Submissions for the tests of the course: small test files, and folders to put them into."""

from __future__ import annotations

from pathlib import Path

import pytest

HEAD = "import bert\nimport numpy as np\nfrom bert_lab import PCG32, ScriptedDraws\n\n"
HAND = (
    HEAD
    + """
def test_hand():
    rng = ScriptedDraws([0.05, 0.50, 0.90, 0.10, 0.85], [9])
    inputs, labels = bert.mlm_mask([2, 5, 6, 7, 3, 0], [1, 0, 0, 0, 1, 1], 4, 40, 0.15, rng)
    assert inputs.tolist() == [2, 4, 6, 9, 3, 0]
    assert labels.tolist() == [-100, 5, -100, 7, -100, -100]
    rng.finish()
"""
)


def write(folder: Path, **files: str) -> Path:
    """Write {stem: text} as stem.py into a new folder; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for stem, text in files.items():
        (folder / f"{stem}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def measured(monkeypatch, tmp_path, pytestconfig):
    """Coverage sees what runs in the processes of the engine, where the tests themselves are measured."""
    if pytestconfig.pluginmanager.hasplugin("_cov") and pytestconfig.getoption("cov_source"):
        settings = tmp_path / "coverage.ini"
        data = Path(__file__).parents[2] / ".coverage"
        settings.write_text(
            f"[run]\nsource = bert_lab\ndata_file = {data}\nparallel = true\npatch = _exit, fork\n",
            encoding="utf-8",
        )
        monkeypatch.setenv("COVERAGE_PROCESS_START", str(settings))
