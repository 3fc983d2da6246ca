"""The Node that tests of the JavaScript modules run in, and how to ask it."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

DRIVER = Path(__file__).parent / "js_driver.mjs"


def find_node() -> str | None:
    """Playwright's own Node, whose release is pinned, or else the system's."""
    spec = importlib.util.find_spec("playwright")
    if spec is not None:
        for name in ("node", "node.exe"):
            node = Path(spec.origin).parent / "driver" / name
            if node.is_file():
                return str(node)
    return shutil.which("node")


NODE = find_node()


def run(task: str, items: list, shared: dict | None = None) -> list:
    """The results of one task of `js_driver.mjs` for each of the items; `shared` goes into all of them."""
    text = json.dumps({"task": task, "items": items, "shared": shared or {}}, allow_nan=False)
    run = subprocess.run(
        [NODE, str(DRIVER)], input=text, capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
