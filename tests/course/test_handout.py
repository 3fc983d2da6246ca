"""What a learner is handed: the stubs say what the reference says, and the folder can be worked through."""

import ast
import errno
import inspect
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from course_filling import filled, filled_folder, imported

import bert_lab
from bert_lab.course import handout, plain, test_bert
from bert_lab.course.handout import PARTS, STEPS, course_tests, start, stub
from bert_lab.course.mutants import load_mutant

COURSE_TESTS = [name for name in vars(test_bert) if name.startswith("test_")]
ROOT = Path(__file__).parents[2]
NAMES = ["bert.py", "test_bert.py", "README.md"]
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
METHODS = {
    "BertConfig": ["__post_init__"],
    "BertLayer": ["__init__", "forward"],
    "BertEncoder": ["__init__", "forward"],
    "BertForMLM": ["__init__", "named_parameters", "forward"],
}


def results(bert) -> dict[str, str]:
    """Each course test on this module: "green", "to do", or "red" """
    out = {}
    for name in COURSE_TESTS:
        try:
            getattr(test_bert, name)(bert)
            out[name] = "green"
        except NotImplementedError as error:
            assert re.fullmatch(r"to do: [\w.]+", str(error))
            out[name] = "to do"
        except (Exception, pytest.fail.Exception):
            out[name] = "red"
    return out


def listing(folder: Path) -> dict[str, str | None]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") if path.is_file() else None
        for path in folder.rglob("*")
    }


# ---- the stubs


def signatures(source: str) -> dict[str, str]:
    """Every function and method, by name, with its arguments and what it returns."""
    found = {}
    for node in ast.parse(textwrap.dedent(source)).body:
        kind = isinstance(node, ast.ClassDef)
        if kind:
            found[node.name] = ast.unparse([*node.decorator_list, *node.bases])
            found |= {f"{node.name}.{f.target.id}": ast.unparse(f) for f in node.body if hasattr(f, "target")}
        for function in node.body if kind else [node]:
            if isinstance(function, ast.FunctionDef):
                name = f"{node.name}.{function.name}" if kind else function.name
                found[name] = ast.unparse([function.args, function.returns or ast.Name("nothing")])
    return found


@pytest.mark.parametrize("part", PARTS)
def test_the_stub_has_every_name_with_the_reference_s_signature_and_words(part, tmp_path):
    start(tmp_path, part)
    bert = imported(tmp_path / "bert.py")
    defined = [node.name for node in ast.parse(stub(part)).body if isinstance(node, DEFINITIONS)]
    assert defined == list(PARTS[part])
    made = signatures(stub(part))
    for name in PARTS[part]:
        ours, theirs = getattr(bert, name), getattr(plain, name)
        right = signatures(inspect.getsource(theirs))
        wanted = [name, *(f"{name}.{method}" for method in METHODS.get(name, []))]
        wanted += [key for key in right if key.startswith("BertConfig.")]
        assert {key: made[key] for key in made if key.split(".")[0] == name} == {k: right[k] for k in wanted}
        assert ours.__doc__ == theirs.__doc__
        assert all(getattr(ours, m).__doc__ == getattr(theirs, m).__doc__ for m in METHODS.get(name, []))
    assert "named_parameters" not in stub("masking") and "torch" not in stub("masking")


def test_a_stub_says_what_is_to_do(tmp_path):
    start(tmp_path)
    bert = imported(tmp_path / "bert.py")
    for name, call in {
        "mlm_mask": lambda: bert.mlm_mask([5], [0], 4, 40, 0.15, bert_lab.PCG32(1)),
        "special_ids": lambda: bert.special_ids(None),
        "BertConfig.__post_init__": lambda: bert.BertConfig(40),
        "BertEncoder.__init__": lambda: bert.BertEncoder(None),
        "BertForMLM.forward": lambda: bert.BertForMLM.forward(None, None),
        "load_bert": lambda: bert.load_bert("x"),
    }.items():
        with pytest.raises(NotImplementedError, match=f"^to do: {re.escape(name)}$"):
            call()
    assert set(results(bert).values()) == {"to do"}


def test_a_stub_speaks_of_nothing_that_a_learner_does_not_have():
    whole = stub()
    known = {*PARTS["whole"], "PCG32", *ARGUMENTS}
    for word in re.findall(r"`(\w[^`\s]*)`", "\n".join(docstrings(whole))):
        name = word.split(".")[0].split("(")[0]
        assert name in known, word
    for private in ("CheckpointError", "course text", "Rows", "Problem", "_wants", " too where"):
        assert private not in whole
    assert "The names: chapter 07 of the book." in whole
    chapter = (ROOT / "notebooks" / "07_load_a_real_bert.ipynb").read_text(encoding="utf-8")
    assert "## Which name is which" in chapter


ARGUMENTS = {
    "sd",
    "tok",
    "unk_id",
    "cls_id",
    "sep_id",
    "mask_id",
    "rng",
    "uniform",
    "below",
    "split",
    "allowed",
    "position_ids",
    "bert",
    "cls",
    "transformers",
}


def docstrings(source: str) -> list[str]:
    return [ast.get_docstring(n) or "" for n in ast.walk(ast.parse(source)) if isinstance(n, DEFINITIONS)]


@pytest.mark.parametrize("name", PARTS["whole"])
def test_the_package_takes_the_arguments_that_the_stub_names(name):
    def arguments(bert):
        given = inspect.signature(getattr(bert, name)).parameters.values()
        return [(each.name, each.kind, each.default) for each in given]

    assert arguments(plain) == arguments(bert_lab)


def test_a_stub_says_how_to_get_each_special_id():
    for text in (stub(), stub("masking")):
        assert "`tok.pad_id`, `unk_id`, `cls_id`, `sep_id` and `mask_id`" in text


def test_the_stub_names_the_parameters_in_their_order():
    config = bert_lab.BertConfig(40, max_len=8, d_model=4, n_heads=2, n_layers=1, d_ff=8)
    names = [name for name, _ in bert_lab.BertForMLM(config).named_parameters()]
    parts = list(dict.fromkeys(re.sub(r"\.(weight|bias)$", "", name) for name in names))
    (block,) = re.findall(r'lack "encoder\.":\n\n(.*?)\n\n', stub(), re.DOTALL)
    block = re.sub(r"\(.*?\)|for each layer.*", "", block)
    told = re.findall(r"[\w.]+", block)
    assert told == [part.removeprefix("encoder.layers.0.") for part in parts]


@pytest.mark.parametrize("part", PARTS)
def test_what_is_made_lints(part, tmp_path):
    start(tmp_path, part)
    options = ["--isolated", "--no-cache", "--line-length", "110", "--target-version", "py311"]
    rules = ["--select", "E,F,W,I,B,UP,C4,SIM,RUF"]
    for command in (["check", *options, *rules], ["format", *options, "--check"]):
        run = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."], cwd=tmp_path, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stdout


# ---- the order of the work


def test_the_whole_filled_in_passes_all_course_tests(tmp_path):
    bert = imported(filled_folder(tmp_path) / "bert.py")
    assert bert.BertForMLM.__module__ != "bert_lab.model", "it is the learner's own"
    assert results(bert) == dict.fromkeys(COURSE_TESTS, "green")
    assert sorted(course_tests()) == sorted(COURSE_TESTS)


def test_masking_filled_in_passes_the_tests_of_its_part(tmp_path):
    bert = imported(filled_folder(tmp_path, part="masking") / "bert.py")
    found = results(bert)
    assert [name for name in found if found[name] == "green"] == [
        name for name in COURSE_TESTS if name in course_tests("masking")
    ]
    assert len(course_tests("masking")) == 5


@pytest.mark.parametrize("done", range(len(STEPS)))
def test_each_step_turns_its_tests_green(done, tmp_path):
    names = [name for step in STEPS[: done + 1] for name in step[0]]
    bert = imported(filled_folder(tmp_path, names) / "bert.py")
    found = results(bert)
    green = {name for step in STEPS[: done + 1] for name in step[2]}
    assert {name for name in found if found[name] == "green"} == green
    assert all(found[name] == "to do" for name in COURSE_TESTS if name not in green)


def test_the_steps_are_the_contract():
    assert tuple(name for step in STEPS for name in step[0] if name in PARTS["masking"]) == PARTS["masking"]
    assert sorted(name for step in STEPS for name in step[0]) == sorted(PARTS["whole"])
    assert PARTS["whole"][:3] == PARTS["masking"]


def test_the_readme_has_the_steps_and_the_commands(tmp_path):
    start(tmp_path / "whole")
    start(tmp_path / "masking", "masking")
    whole, masking = ((tmp_path / part / "README.md").read_text(encoding="utf-8") for part in PARTS)
    for names, chapters, tests in STEPS:
        cells = [", ".join(f"`{x.removeprefix('test_')}`" for x in part) for part in (names, tests)]
        row = f"| {cells[0]} | {chapters} | {cells[1]} |"
        assert row in whole.split("\n")
        assert (row in masking.split("\n")) == (set(names) <= set(PARTS["masking"]))
    for command in ("tests .", "tests . -k hand", "check .", "diff ."):
        assert f"\nbert-lab {command} " in whole
    for command in ("tests . --only masking", "tests . --only masking -k hand", "diff . --only masking"):
        assert f"\nbert-lab {command} " in masking
    assert "all 14 course tests" in whole and "all 5 course tests" in masking
    assert "torch" not in masking


# ---- the start of the tests


@pytest.mark.parametrize("part", PARTS)
def test_the_started_tests_pass_or_skip_on_the_reference(part, tmp_path):
    filled_folder(tmp_path, part=part)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(rf"1 passed, {3 if part == 'whole' else 1} skipped", run.stdout)
    assert run.stdout.count(": to do: ") == (3 if part == "whole" else 1)


def test_the_started_test_is_worth_something():
    def run(bert):
        namespace = {"bert": bert}
        exec(handout._tests("whole").replace("\nimport bert\n", ""), namespace)
        namespace["test_hand_example"]()

    run(bert_lab)
    for fault in ("s01", "s02", "s03", "s04", "s05"):
        with pytest.raises(AssertionError):
            run(load_mutant(fault))


# ---- the folder


def test_start_makes_the_folder_and_those_above_it(tmp_path):
    folder = tmp_path / "class" / "ada"
    assert start(folder) == [folder / name for name in NAMES]
    assert sorted(listing(tmp_path)) == sorted(["class", "class/ada", *(f"class/ada/{n}" for n in NAMES)])
    for name in NAMES:
        raw = (folder / name).read_bytes()
        assert raw.endswith(b"\n") and not raw.endswith(b"\n\n") and b"\r" not in raw


def test_other_files_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    start(str(tmp_path), "masking")
    assert listing(tmp_path)["notes.txt"] == "mine" and len(listing(tmp_path)) == 4


@pytest.mark.parametrize("there", [["bert.py"], ["README.md"], ["bert.py", "test_bert.py"]])
def test_nothing_is_overwritten(there, tmp_path):
    for name in there:
        (tmp_path / name).write_text("my work", encoding="utf-8")
    with pytest.raises(FileExistsError, match=f"holds {', '.join(there)} already: nothing was written"):
        start(tmp_path)
    assert listing(tmp_path) == dict.fromkeys(there, "my work")


def test_a_link_to_nothing_counts_as_a_file(tmp_path):
    try:
        (tmp_path / "bert.py").symlink_to(tmp_path / "nowhere")
    except OSError:
        pytest.skip("links cannot be made here")
    with pytest.raises(FileExistsError, match=r"holds bert\.py already"):
        start(tmp_path)
    assert os.listdir(tmp_path) == ["bert.py"]


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "ada").write_text("a file", encoding="utf-8")
    for folder in (tmp_path / "ada", tmp_path / "ada" / "deep" / "deeper"):
        with pytest.raises(
            NotADirectoryError, match="ada: expected a folder, got a file; nothing was written"
        ):
            start(folder)
    assert listing(tmp_path) == {"ada": "a file"}


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EACCES, "Permission denied", "test_bert.py"),
        OSError(errno.ENOSPC, "No space left on device"),
        FileExistsError(errno.EEXIST, "File exists", "README.md"),
        KeyboardInterrupt(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_nothing_is_left_after_an_error(error, tmp_path, monkeypatch):
    count = 0

    def failing_open(*args, **options):
        nonlocal count
        count += 1
        file = open(*args, **options)  # noqa: SIM115
        if count == 2:
            file.close()
            os.unlink(args[0])
            raise error
        return file

    monkeypatch.setattr(handout, "open", failing_open, raising=False)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    sentence = r": .*; nothing was written$" if isinstance(error, OSError) else None
    for folder in (tmp_path, tmp_path / "class" / "ada"):
        count = 0
        with pytest.raises(type(error), match=sentence):
            start(folder)
        assert listing(tmp_path) == {"notes.txt": "mine"}


def test_nothing_is_left_when_a_file_is_cut_short(tmp_path, monkeypatch):
    class Full:
        def __init__(self, *args, **options):
            self.file = open(*args, **options)  # noqa: SIM115

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, text):
            self.file.write(text[:100])
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(handout, "open", Full, raising=False)
    with pytest.raises(OSError, match="ada: no space left on device; nothing was written"):
        start(tmp_path / "ada")
    assert listing(tmp_path) == {}


def test_what_cannot_be_taken_back_does_not_hide_the_error(tmp_path, monkeypatch):
    def failing_open(path, *args, **options):
        (path.parent / "from_another_program").touch()
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(handout, "open", failing_open, raising=False)
    with pytest.raises(PermissionError, match="permission denied; nothing was written"):
        start(tmp_path / "ada")


@pytest.mark.parametrize(
    ("folder", "part", "error", "words"),
    [
        ("x", "model", ValueError, "part: expected whole or masking, got 'model'"),
        ("", "whole", ValueError, "expected the path of a folder, got an empty one"),
        (None, "whole", TypeError, "NoneType"),
        (7, "whole", TypeError, "int"),
    ],
)
def test_arguments_are_checked(folder, part, error, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        start(folder, part)
    assert listing(tmp_path) == {}
    if part != "whole":
        for function in (stub, course_tests, filled):
            with pytest.raises((ValueError, KeyError)):
                function(part=part)
