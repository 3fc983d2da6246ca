"""The files of a checkpoint: reading them, and telling what a file is that is not what its name says.

A checkpoint is a directory with config.json and model.safetensors, or with shards and an index of them. The
readers raise nothing for a bad file: they return what is wrong with it and the likely cause, for the one
error or report of `checkpoint`. Nothing here knows what the keys mean. No pickle is ever opened.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..files import write_files

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"


@dataclass(frozen=True)
class Problem:
    """One reason to refuse a checkpoint.

    kind: "missing", "unexpected", "shape", "conflict", "type", "value", "config", "file" or "no file". where:
    the key, the field of the config or the file. text: what was expected and what came.
    """

    kind: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.text}"


# ---- files


def read_json(path: Path) -> tuple[dict | None, Problem | None]:
    if not path.is_file():
        return None, Problem("no file", path.name, "expected this file in the directory, and it is not there")
    raw = path.read_bytes()
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        text = _disguise(raw) if not raw.lstrip().startswith((b"{", b"[")) else f"damaged or cut off: {error}"
        return None, Problem("file", path.name, f"expected JSON, got {text}")
    if not isinstance(content, dict):
        return None, Problem("file", path.name, f"expected a JSON object, got {type(content).__name__}")
    return content, None


def read_weights(folder: Path) -> tuple[dict[str, Tensor], list[str], list[Problem]]:
    """All keys of the directory's weights, the names of the files read, and what is wrong with these."""
    if (folder / WEIGHTS).exists() or not (folder / INDEX).exists():
        sd, problem = read_file(folder / WEIGHTS)
        return sd, [WEIGHTS] * (folder / WEIGHTS).exists(), [problem] * bool(problem)
    index, problem = read_json(folder / INDEX)
    if problem:
        return {}, [INDEX], [problem]
    shard_of = index.get("weight_map")
    if not isinstance(shard_of, dict) or not all(isinstance(name, str) for name in shard_of.values()):
        text = "expected a weight_map from keys to the names of files, got none"
        return {}, [INDEX], [Problem("file", INDEX, text)]
    shards, sd, problems = sorted(set(shard_of.values())), {}, []
    outside = [name for name in shards if not re.fullmatch(r"[^/\\:\0]+\.safetensors", name)]
    if outside:
        text = (
            f"expected names of safetensors files in the same directory, got {', '.join(map(repr, outside))}"
        )
        return {}, [INDEX], [Problem("file", INDEX, text)]
    for shard in shards:
        part, problem = read_file(folder / shard)
        problems += [problem] * bool(problem)
        for key in part:
            if shard_of.get(key) != shard:
                says = f"has it in {shard_of[key]}" if key in shard_of else "does not name it"
                problems.append(Problem("conflict", key, f"{shard} holds it, but {INDEX} {says}"))
        if not problem:
            absent = sorted(key for key, name in shard_of.items() if name == shard and key not in part)
            text = f"{INDEX} has it in {shard}, which does not hold it"
            problems += [Problem("missing", key, text) for key in absent]
        sd |= part
    return sd, [INDEX, *(shard for shard in shards if (folder / shard).exists())], problems


def read_file(path: Path) -> tuple[dict[str, Tensor], Problem | None]:
    """The tensors of one safetensors file, or what is wrong with the file and the likely cause."""
    if not path.is_file():
        text = "expected this file, and it is not there"
        if path.name == WEIGHTS:
            names = ", ".join(sorted(other.name for other in path.parent.iterdir())) or "nothing"
            text = f"expected this file, or {INDEX} and the files it names, and got {names}"
        return {}, Problem("no file", path.name, text)
    if fault := _fault(path):
        return {}, Problem("file", path.name, f"expected safetensors, got {fault}")
    try:
        return load_file(path), None
    except SafetensorError as error:
        return {}, Problem("file", path.name, f"expected safetensors, got a damaged file: {error}")


def _fault(path: Path) -> str | None:
    """What a file is instead of safetensors, as far as its length and its header tell."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size  # of this file, whatever takes its name meanwhile
        start = file.read(1024)
        length = int.from_bytes(start[:8], "little")  # of the JSON header, which begins at byte 8
        if start[8:9] != b"{" or length > 100_000_000:
            return _disguise(start)
        if 8 + length > size:
            return f"a file that is cut off: its header alone has {8 + length} bytes, the file {size}"
        file.seek(8)
        header = file.read(length)
    try:
        tensors = [value for key, value in json.loads(header).items() if key != "__metadata__"]
        end = 8 + length + max((value["data_offsets"][1] for value in tensors), default=0)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        return f"a damaged header ({type(error).__name__}: {error})"
    if end > size:
        return f"a file that is cut off, by {end - size} of {end} bytes: a download or a copy that stopped?"
    if end < size:
        return f"{size - end} bytes too many after its end: something was added to it"
    return None


def _disguise(start: bytes) -> str:
    """What a file is, by how it begins."""
    if not start:
        return "an empty file: a download or a save that stopped, or a full disk?"
    if start.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer, a text in place of the file: fetch the file itself with `git lfs pull`"
    if start.lstrip().startswith(b"<"):
        return "a web page: a download that needs a login, or from a wrong address?"
    if start.startswith((b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")):
        return "a pickle or a zip file of torch.save under this name; no pickle is ever loaded"
    if not start.strip(b"\0"):
        return "zeros: space that was set aside and never written?"
    try:
        line = start[:60].decode().splitlines()[0]
    except (UnicodeDecodeError, IndexError):
        return f"another kind of file, which begins with {start[:8]!r}"
    return f"a text: {line!r}"


# ---- directories


@dataclass(frozen=True)
class Directory:
    """What the files of a checkpoint hold.

    config: the content of config.json, or None. sd: the weights. problems: what is wrong with the files.
    whole: whether all weights could be read. about: what a `CheckpointReport` tells of files.
    """

    config: dict | None
    sd: dict[str, Tensor]
    problems: tuple[Problem, ...]
    whole: bool
    about: Mapping[str, object]


_PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl"}


def read_directory(folder: Path) -> Directory:
    """Read config.json and the weights; nothing is raised for a bad file."""
    content, problem = read_json(folder / CONFIG)
    sd, files, problems = read_weights(folder)
    hints = []
    pickles = [path.name for path in folder.iterdir() if path.suffix in _PICKLES]
    if pickles and any(p.kind == "no file" and p.where == WEIGHTS for p in problems):
        hints.append(
            f"{min(pickles)} is a pickle, which can run code when it is opened and is never loaded here; "
            "where you trust it, load it with transformers and save it again: model.save_pretrained(dir)"
        )
    others = _PICKLES | {".safetensors", ".h5", ".msgpack"}
    names = {path.name for path in folder.iterdir() if path.suffix in others or path.name == INDEX}
    about = {
        "files": tuple(files),
        "unread": tuple(sorted(names - set(files))),
        "path": str(folder),
        "hints": tuple(hints),
    }
    return Directory(content, sd, (*[problem] * bool(problem), *problems), not problems, about)


# ---- the state of a training: one file


def write_state(path: Path, tensors: Mapping[str, Tensor], words: Mapping) -> None:
    """Write tensors, and words that JSON can hold, as one file; the old one stays whole until then.

    OSError where it cannot be written.
    """
    for left in path.parent.glob(f".{path.name}-*.partial"):  # what a killed process left
        shutil.rmtree(left)
    content = weights_content(tensors, {"words": json.dumps(words)}, f"{path}: the state of the training")
    write_files(path.parent, {path.name: content})


def weights_content(
    tensors: Mapping[str, Tensor], metadata: dict[str, str], what: str
) -> Callable[[Path], None]:
    """What a safetensors file holds, for `write_files`; an error says what could not be written."""

    def write(path: Path) -> None:
        try:
            save_file(tensors, path, metadata=metadata)
        except SafetensorError as error:  # which is no OSError
            raise OSError(f"{what} could not be written: {error}") from None

    return write


def read_state(path: Path) -> tuple[dict[str, Tensor], dict]:
    """What `write_state` wrote; ValueError for a damaged file."""
    words = read_words(path)  # which looks at the file first
    return load_file(path), words


def read_words(path: Path) -> dict:
    """The words of `write_state` alone; ValueError for a damaged file."""
    if fault := _fault(path):
        raise ValueError(f"{path}: expected the state of a training, got {fault}")
    with safe_open(path, framework="pt") as file:
        words = (file.metadata() or {}).get("words")
    if words is None:
        raise ValueError(f"{path}: expected the state of a training, got a safetensors file without words")
    return json.loads(words)
