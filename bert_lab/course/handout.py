"""What a learner is handed: a module to write, the start of tests of one's own, and a page that says how.

The module is cut from `plain.py`, so that signatures and words stand in one place.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from .contract import first_line, plain_definitions

_MASKING = ("mlm_mask", "special_ids", "mlm_batch")
_MODEL = ("BertConfig", "BertLayer", "BertEncoder", "BertForMLM")
_FILES = ("hf_bert_encoder_sd", "load_hf_bert", "save_bert", "load_bert")
PARTS: dict[str, tuple[str, ...]] = {"whole": (*_MASKING, *_MODEL, *_FILES), "masking": _MASKING}

# The order to work in: what to write, the chapters that explain it, the course tests that then turn green.
STEPS: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (
        ("mlm_mask",),
        "01, 02",
        (
            "test_hand_example_mlm_mask",
            "test_keep_action_still_predicts",
            "test_mask_follows_the_op_order",
            "test_mask_rates",
        ),
    ),
    (("special_ids", "mlm_batch"), "03", ("test_mlm_batch_from_text",)),
    (
        _MODEL,
        "04, 05, 06",
        (
            "test_layer_matches_the_formula",
            "test_reads_both_directions",
            "test_padding_is_never_read",
            "test_token_types_are_added",
            "test_loss_only_at_labelled_positions",
            "test_decoder_is_tied_and_has_a_bias",
        ),
    ),
    (("load_hf_bert",), "07", ("test_golden_hf_bert", "test_validation")),
    (("hf_bert_encoder_sd", "save_bert", "load_bert"), "07", ("test_load_encoder_alone_and_roundtrip",)),
)


def course_tests(part: str = "whole") -> tuple[str, ...]:
    """The names of the course tests that a part of the contract can pass, in the order of the work."""
    return tuple(test for _, _, tests in _steps(part) for test in tests)


def _steps(part: str):
    names = _names(part)
    return [step for step in STEPS if set(step[0]) <= set(names)]


def _names(part: str) -> tuple[str, ...]:
    if part not in PARTS:
        raise ValueError(f"part: expected {' or '.join(PARTS)}, got {part!r}")
    return PARTS[part]


# ---- bert.py


_METHODS = ("__init__", "__post_init__", "named_parameters", "forward")  # those of the contract


def stub(part: str = "whole") -> str:
    """The text of a learner's bert.py: signatures and docstrings, bodies that raise NotImplementedError.

    part: "whole" or "masking", see `PARTS`; anything else is a ValueError.
    """
    names = _names(part)
    pieces = [_HEADS[part].strip()]
    pieces += [_stub_of(name) for name in names]
    return "\n\n\n".join(pieces) + "\n"


def _stub_of(name: str) -> str:
    lines, nodes = plain_definitions()
    node = nodes[name]
    if isinstance(node, ast.FunctionDef):
        return "\n".join(_function(lines, node, name))
    out = [*_opening(lines, node)]
    fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
    if fields:
        out += ["", *lines[fields[0].lineno - 1 : fields[-1].end_lineno]]
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name in _METHODS:
            out += ["", *_function(lines, method, f"{name}.{method.name}")]
    return "\n".join(out)


def _function(lines: list[str], node: ast.FunctionDef, name: str) -> Iterator[str]:
    yield from _opening(lines, node)
    yield f'{" " * (node.col_offset + 4)}raise NotImplementedError("to do: {name}")'


def _opening(lines: list[str], node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """A definition's decorators, its signature, and its docstring if it has one, line by line."""
    last = node.body[0].end_lineno if ast.get_docstring(node) else node.body[0].lineno - 1
    return lines[first_line(node) - 1 : last]


# ---- the folder


def start(folder: str | os.PathLike, part: str = "whole") -> list[Path]:
    """Make a learner's folder with bert.py, test_bert.py and README.md; return their paths.

    The folder, and those above it, are made where they are not there; other files in it stay. It is all or
    nothing: after an error, or Ctrl-C, nothing is there that was not there before.

    Raises:
        ValueError: a part that is not in `PARTS`, or an empty path. TypeError: folder is no path.
        FileExistsError: one of the three is there already; nothing is ever overwritten.
        NotADirectoryError: folder, or what should be above it, is a file.
        OSError: the folder cannot be written, for another reason.
    """
    texts = {"bert.py": stub(part), "test_bert.py": _tests(part), "README.md": _readme(part)}
    path = Path(folder)
    if not os.fspath(folder):
        raise ValueError("folder: expected the path of a folder, got an empty one")
    there = [name for name in texts if os.path.lexists(path / name)]
    if there:
        raise FileExistsError(f"{path} holds {', '.join(there)} already: nothing was written")
    made: list[Path] = []
    try:
        _make_folder(path, made)
        for name, text in texts.items():
            with open(path / name, "x", encoding="utf-8", newline="\n") as file:
                made.append(path / name)
                file.write(text)
    except BaseException as error:
        _take_back(made)
        if not isinstance(error, OSError):
            raise
        reason = (error.strerror or str(error)).lower()
        raise type(error)(f"{error.filename or path}: {reason}; nothing was written") from None
    return [path / name for name in texts]


def _make_folder(path: Path, made: list[Path]) -> None:
    """Make the folder and those above it; note in `made` which of them are new."""
    if path.is_dir():
        return
    if os.path.lexists(path):
        raise NotADirectoryError(errno.ENOTDIR, "expected a folder, got a file", os.fspath(path))
    _make_folder(path.parent, made)
    path.mkdir()
    made.append(path)


def _take_back(made: list[Path]) -> None:
    for path in reversed(made):
        with contextlib.suppress(OSError):  # what cannot be removed must not hide what went wrong
            path.rmdir() if path.is_dir() else path.unlink()


def _tests(part: str) -> str:
    texts = _TESTS if part == "whole" else _TESTS[:2]
    return "\n\n\n".join(text.strip() for text in texts) + "\n"


def _readme(part: str) -> str:
    only = "" if part == "whole" else f" --only {part}"
    commands = [(command.format(only=only), meaning) for command, meaning in _COMMANDS]
    width = max(len(command) for command, _ in commands)
    rows = []
    for names, chapters, tests in _steps(part):
        tests = [test.removeprefix("test_") for test in tests]
        rows.append(f"| {_list(names)} | {chapters} | {_list(tests)} |")
    return (
        _README.strip().format(
            commands="\n".join(f"{command.ljust(width)}    # {meaning}" for command, meaning in commands),
            steps="\n".join(rows),
            count=len(course_tests(part)),
            **_READMES[part],
        )
        + "\n"
    )


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# ---- the texts


_HEADS = {
    "whole": '''
# ruff: noqa: F401 (what is given is imported before it is used)
"""BERT's masking, its encoder, its head, and the files of its weights: written by me.

Each docstring says what is wanted, README.md in which order. Replace each `raise NotImplementedError`.

Shapes: B batch, T positions, d model width, H heads, V vocabulary.

The parameters of a BertForMLM have these names, in this order; those of a bare encoder lack "encoder.":

    encoder.word, encoder.position, encoder.token_type          (.weight)
    encoder.norm                                                (.weight, .bias)
    for each layer i, after encoder.layers.i. in each name:     (.weight, .bias)
        attention.query, attention.key, attention.value, attention.output, attention_norm,
        ff_in, ff_out, ff_norm
    transform, transform_norm                                   (.weight, .bias)
    decoder_bias

First weights of tables and linear layers: normal_init(shape, 0.02, rng), in that order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from bert_lab import PCG32, WordPieceTokenizer, normal_init, sample_categorical
from torch import Tensor, nn
from torch.nn import functional as F

BERT_SPLIT = (0.8, 0.1, 0.1)  # of the picked positions: shown as [MASK], as a random token, as they are
''',
    "masking": '''
# ruff: noqa: F401 (what is given is imported before it is used)
"""BERT's masking, from text to batches: written by me.

Each docstring says what is wanted, README.md in which order. Replace each `raise NotImplementedError`.

Shapes: B batch, T positions.
"""

import numpy as np
from bert_lab import PCG32, WordPieceTokenizer, sample_categorical

BERT_SPLIT = (0.8, 0.1, 0.1)  # of the picked positions: shown as [MASK], as a random token, as they are
''',
}

# The first two are for the masking part, all of them for the whole.
_TESTS = (
    '''
"""My tests of bert.py: each passes on correct code, and fails where something is wrong.

`bert-lab check .` runs them on the reference, and then on versions of it with one fault each. There, `bert`
and `bert_lab` both have the fault: what is right is written down here, and not asked from them.
"""

import numpy as np
import pytest
from bert_lab import PCG32, ScriptedDraws, sample_categorical  # noqa: F401 (you will need them)

import bert


def test_hand_example():
    """One sentence masked by hand: ScriptedDraws fails on a draw too many, finish() on one left."""
    rng = ScriptedDraws(uniforms=[0.05, 0.50, 0.90, 0.10, 0.85], belows=[9])
    ids = np.array([2, 5, 6, 7, 3, 0])  # [CLS] the cat sat [SEP] [PAD]
    special = np.array([True, False, False, False, True, True])
    inputs, labels = bert.mlm_mask(ids, special, 4, 40, 0.15, rng)
    assert inputs.tolist() == [2, 4, 6, 9, 3, 0]
    assert labels.tolist() == [-100, 5, -100, 7, -100, -100]
    rng.finish()
''',
    '''
def replay_mask(ids, special, mask_id, vocab, p, rng):
    """The first oracle: the order of draws as a plain loop over the positions. Returns (inputs, labels)."""
    inputs, labels = ids.copy(), np.full_like(ids, -100)
    for place in np.ndindex(ids.shape):
        inputs[place] = ids[place]  # to do: which draws are made here, and what do they decide?
    return inputs, labels


def test_masking_is_the_replay():
    pytest.skip(
        "to do: finish replay_mask; mask some rows with PCG32(1), and replay them with another PCG32(1):"
        " inputs, labels, and where the two generators stand afterwards, must be exactly the same"
    )
''',
    """
def test_layer_and_head_in_numpy():
    pytest.skip(
        "to do: the second oracle: one layer and the head in float64 NumPy, with math.erf, from the model's"
        " own weights; give all of them, norms and biases too, values that matter, and compare to 1e-10"
    )


def test_loader():
    pytest.skip(
        "to do: write a state dict under Hugging Face's names by hand, each array with values of its own;"
        " load it with load_hf_bert, and look where each of them went"
    )
""",
)

_COMMANDS = (
    ("bert-lab tests .{only}", 'the course tests on bert.py; what is not written yet is "to do"'),
    ("bert-lab tests .{only} -k hand", "those with hand in their name"),
    ("bert-lab check .{only}", "the course tests, then the grade of your own tests"),
    ("bert-lab diff .{only}", "when all pass: your code beside the reference"),
)
_README = """
# {title}

Write `bert.py` from its docstrings, and tests of your own in `test_bert.py`. The course tests judge the
first. Real bugs, one at a time, judge the second. In this folder:

```sh
{commands}
```

`python -m bert_lab` is the same as `bert-lab`. Your own tests run with `pytest` too.

## The order

| write | chapters | then these course tests turn green |
|:--|:--|:--|
{steps}

{order}

Write your own tests meanwhile, not afterwards: a test that is written from the docstring, before the code,
cannot repeat the code's mistakes.

## What is given

{given}

## What passes

- `bert.py`: all {count} course tests are green. They do not test all that the docstrings say.
- `test_bert.py`: no test fails on the reference. Together the tests catch every fault from s01 on to s12
  that this part has, and at least 0.80 of all faults. One test may take 20 seconds.

A test that fails on correct code is named, and there is no grade until it is mended. For each fault that got
away `check` has hints.
"""
_READMES = {
    "whole": {
        "title": "BERT's masking and encoder",
        "order": "The six tests of the third row need all four classes: try the layer and the encoder by "
        "hand before.\nNo course test calls `hf_bert_encoder_sd`: write one of your own.",
        "given": "`PCG32`, `sample_categorical`, `normal_init`, `WordPieceTokenizer`, and "
        "`ScriptedDraws` for tests,\nfrom `bert_lab`; NumPy, torch and safetensors.",
    },
    "masking": {
        "title": "BERT's masking",
        "order": "Of `mlm_mask`, first write the loop, then the checks of its arguments.",
        "given": "`PCG32`, `sample_categorical`, `WordPieceTokenizer`, and `ScriptedDraws` for tests, from "
        "`bert_lab`; NumPy.",
    },
}
