"""Execute the book's chapters and store each in its one normal form.

    python notebooks/_execute.py                                   every chapter, in order
    python notebooks/_execute.py notebooks/01_mask_by_hand.ipynb   only these

A chapter is written only when all of it ran and what it would store keeps the rules of `problems`. Nothing is
written when nothing changed, so that a second run leaves no difference behind.
"""

import argparse
import base64
import binascii
import copy
import io
import json
import os
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

HERE = Path(__file__).resolve().parent
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE_INFO = {"name": "python"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# What an author may say of a cell. Everything else (time stamps, scroll positions) comes from an editor.
CELL_METADATA = ("jupyter", "slideshow", "tags")
MAX_BYTES = 300_000
CELL_TIMEOUT = 600  # seconds
MACHINE_PATH = re.compile(r"(?<![\w.:/~])/(?:home|root|tmp|work|Users|opt|var|usr)/|\b[A-Za-z]:\\+Users\b")
# Marks with which nbval would leave an output uncompared, or an error unseen.
NBVAL_MARK = re.compile(r"^\s*#+\s*(?:NBVAL_\w+|PYTEST_VALIDATE_IGNORE_OUTPUT)\s*$", re.MULTILINE)
DRAWN_ID = re.compile(r"[0-9a-f]{8}(-.*)?")  # what an editor gives a new cell
STABLE_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
NBVAL_TAG = re.compile(r"nbval-.*|raises-exception|skip-execution")


def main(argv: list[str] | None = None) -> int:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("notebooks", nargs="*", type=Path, help="chapters to execute (all, if none is named)")
    paths = parser.parse_args(argv).notebooks or sorted(HERE.glob("*.ipynb"))
    failed = 0
    for path in paths:
        start = time.perf_counter()
        try:
            changed = refresh(path)
        except (OSError, ValueError) as problem:
            failed += 1
            print(f"{path.name}: not stored: {problem}", file=sys.stderr, flush=True)
        else:
            seconds = time.perf_counter() - start
            print(f"{path.name}: {'written' if changed else 'unchanged'} ({seconds:.1f} s)", flush=True)
    return 1 if failed else 0


def refresh(path: Path) -> bool:
    """Execute one notebook and store it; True if the file changed.

    ValueError names the cell and what is wrong with it; the file is then as it was.
    """
    before = path.read_text(encoding="utf-8")
    old = read(before)
    new = keep_pictures(old, normal_form(execute(normal_form(old), path.resolve().parent)))
    found = problems(new)
    if found:
        raise ValueError("; ".join(found))
    after = text_of(new)
    if after == before:
        return False
    write(path, after)
    return True


def read(text: str) -> nbformat.NotebookNode:
    """A notebook from its text. ValueError if it is not of format 4.5, where each cell has an id."""
    raw = json.loads(text)
    if (raw.get("nbformat"), raw.get("nbformat_minor")) != (4, 5):
        have = f"{raw.get('nbformat')}.{raw.get('nbformat_minor')}"
        raise ValueError(f"expected a notebook of format 4.5, whose cells have ids, got format {have}")
    nb = nbformat.v4.reads(text)
    for number, cell in enumerate(nb.cells, 1):
        if "id" not in cell:
            raise ValueError(f"expected an id in every cell, got none in cell {number} from the top")
    return nb


def text_of(nb: nbformat.NotebookNode) -> str:
    """The file's text for a notebook: the same for the same notebook, with a newline at the end."""
    return nbformat.v4.writes(nb).rstrip("\n") + "\n"


def write(path: Path, text: str) -> None:
    """Replace a file in one step: a reader finds the old text or the new, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(name, path.stat().st_mode & 0o777)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def execute(nb: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Run a copy of the notebook from top to bottom in a fresh kernel. ValueError names a cell that fails."""
    nb = copy.deepcopy(nb)
    for cell in code_cells(nb):
        cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        nb,
        kernel_name=KERNELSPEC["name"],
        timeout=CELL_TIMEOUT,
        extra_arguments=["--log-level=ERROR"],
        record_timing=False,
        force_raise_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    with tempfile.TemporaryDirectory() as ipython_dir:
        try:
            client.execute(env=kernel_environment(ipython_dir))
        except CellExecutionError as problem:
            raise ValueError(f"cell {running_cell(nb)}: {problem.ename}: {problem.evalue}") from None
        except (CellTimeoutError, DeadKernelError) as problem:
            raise ValueError(f"cell {running_cell(nb)}: {str(problem).strip().splitlines()[0]}") from None
    return nb


def kernel_environment(ipython_dir: str) -> dict[str, str]:
    """One thread, fixed hashes, no network, and none of the user's own start-up files or kernels."""
    os.environ.pop("JUPYTER_PATH", None)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # the kernel python3 is this Python's own
    env = {name: value for name, value in os.environ.items() if name not in ("MPLBACKEND", "PYTHONSTARTUP")}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        env[name] = "1"
    settings = {"PYTHONHASHSEED": "0", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    return env | settings | {"IPYTHONDIR": ipython_dir}


def running_cell(nb: nbformat.NotebookNode) -> str:
    """The id of the cell that an execution stopped in: the last one that was given a count or an output."""
    started = [cell.id for cell in code_cells(nb) if cell.execution_count or cell.outputs]
    return started[-1] if started else "(none started)"


def normal_form(nb: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The same notebook without what differs between runs, editors and machines."""
    nb = copy.deepcopy(nb)
    nb.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO})
    nb.cells = [cell for cell in nb.cells if cell.source.strip()]
    for cell in nb.cells:
        cell.metadata = nbformat.from_dict({k: cell.metadata[k] for k in CELL_METADATA if k in cell.metadata})
    for cell in code_cells(nb):
        cell.outputs = normal_outputs(cell.outputs)
    return nb


def normal_outputs(outputs: list) -> list:
    """Neighboring pieces of one stream joined; live widgets, which no stored notebook can show, left out."""
    kept = []
    for output in outputs:
        if "data" in output:
            output.data.pop(WIDGET_VIEW, None)
            output.metadata = {k: v for k, v in output.metadata.items() if k in output.data}
            if not output.data:
                continue
        if kept and output.output_type == "stream" and kept[-1].get("name") == output.name:
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def keep_pictures(old: nbformat.NotebookNode, new: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Put the old bytes of a picture back if its pixels did not change: machines pack PNG differently."""
    new = copy.deepcopy(new)
    before = {cell.id: pictures(cell) for cell in code_cells(old)}
    for cell in code_cells(new):
        for was, now in zip(before.get(cell.id, []), pictures(cell), strict=False):
            if same_pixels(was.data["image/png"], now.data["image/png"]):
                now.data["image/png"] = was.data["image/png"]
    return new


def pictures(cell: nbformat.NotebookNode) -> list:
    return [output for output in cell.outputs if "image/png" in output.get("data", {})]


def same_pixels(a: str, b: str, tolerance: int = 8) -> bool:
    """Whether two PNG pictures in base64 have one size and no pixel's channel differs by more than that."""
    import numpy as np
    from PIL import Image, UnidentifiedImageError

    if a == b:
        return True
    try:
        files = [io.BytesIO(base64.b64decode(text)) for text in (a, b)]
        one, two = (np.asarray(Image.open(file).convert("RGBA"), int) for file in files)
    except (binascii.Error, UnidentifiedImageError):
        return False
    return one.shape == two.shape and bool((abs(one - two) <= tolerance).all())


def code_cells(nb: nbformat.NotebookNode) -> list:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def problems(nb: nbformat.NotebookNode) -> list[str]:
    """What keeps a notebook from being stored, a sentence each; an empty list if nothing does."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            nbformat.validate(copy.deepcopy(nb))  # a copy: validating mends what it warns of
        except (nbformat.ValidationError, Warning) as problem:
            found.append(f"not a valid notebook: {str(problem).splitlines()[0]}")
    if nb.metadata.get("kernelspec") != KERNELSPEC:
        found.append(f"expected the kernelspec {KERNELSPEC}, got {nb.metadata.get('kernelspec')}")
    if nb.metadata.get("language_info") != LANGUAGE_INFO:
        found.append(f"expected the language_info {LANGUAGE_INFO}, got {nb.metadata.get('language_info')}")
    size = len(text_of(nb).encode())
    if size > MAX_BYTES:
        found.append(f"expected at most {MAX_BYTES} bytes, got {size}")
    counts = [cell.execution_count for cell in code_cells(nb)]
    if counts != list(range(1, len(counts) + 1)):
        found.append(f"expected execution counts 1 to {len(counts)} from top to bottom, got {counts}")
    seen = set()
    for cell in nb.cells:
        name = f"cell {cell.id}"
        if cell.id in seen:
            found.append(f"{name}: another cell has this id")
        seen.add(cell.id)
        if not STABLE_ID.fullmatch(cell.id) or DRAWN_ID.fullmatch(cell.id):
            found.append(f"{name}: expected an id of lower case words and dashes, not one drawn by an editor")
        if MACHINE_PATH.search(cell.source):
            found.append(f"{name}: holds a path of one machine: {MACHINE_PATH.search(cell.source)[0]}")
        if cell.cell_type == "code":
            found += [f"{name}: {text}" for text in code_problems(cell)]
    return found


def code_problems(cell: nbformat.NotebookNode) -> list[str]:
    """What is wrong with a code cell and its outputs."""
    found = []
    tags = cell.metadata.get("tags", [])
    if NBVAL_MARK.search(cell.source) or any(NBVAL_TAG.fullmatch(tag) for tag in tags):
        found.append("turns the comparison of its outputs off")
    for output in cell.outputs:
        if output.output_type == "error":
            found.append(f"stopped with {output.ename}: {output.evalue}")
        if output.output_type == "stream" and output.name == "stderr":
            found.append(f"wrote to stderr: {output.text.strip()[:200]!r}")
        if output.output_type == "execute_result" and output.execution_count != cell.execution_count:
            found.append(f"the result is numbered {output.execution_count}, the cell {cell.execution_count}")
        data = output.get("data", {})
        if "image/svg+xml" in data or "<svg" in str(data.get("text/html", "")):
            found.append("shows an SVG picture, which differs from run to run; PNG is not compared")
        if WIDGET_VIEW in data:
            found.append("stores a live widget, which cannot be shown again")
        texts = [output.get("text", ""), *(v for k, v in data.items() if not k.startswith("image/"))]
        path = MACHINE_PATH.search("\n".join(str(text) for text in texts))
        if path:
            found.append(f"prints a path of one machine: {path[0]}")
    return found


if __name__ == "__main__":
    sys.exit(main())
