"""Run the JavaScript modules in Node."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

DRIVER = Path(__file__).parent / "js_driver.mjs"


def find_node() -> str | None:
    """The path of Playwright's own Node, whose version is pinned, or else of the system's."""
    spec = importlib.util.find_spec("playwright")
    if spec is not None:
        for name in ("node", "node.exe"):
            node = Path(spec.origin).parent / "driver" / name
            if node.is_file():
                return str(node)
    return shutil.which("node")


NODE = find_node()


def run(task: str, items: list, shared: dict | None = None) -> list:
    """The results of one task of `js_driver.mjs`, one for each item. shared: arguments for all items."""
    text = json.dumps({"task": task, "items": items, "shared": shared or {}}, allow_nan=False)
    run = subprocess.run(
        [NODE, str(DRIVER)], input=text, capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
