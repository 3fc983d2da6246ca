"""`make mutate`: one wrong edit at a time in the figures and the core; a test must turn red.

    python tests/repo/mutate.py [--count 300] [--seed 0] [--jobs 2] [--only figures/]

All single edits of `MODULES` are listed and a sample of them is drawn by the seed. Each is made in a copy of
the package, in which the module's own tests run until the first fails. An edit that no test sees, a
survivor, is printed with its file, its line, and both texts. Tests that take far longer than they should
count as red. The exit status is 1 when less than 95% of the sample die.

mutmut 3 and cosmic-ray 8 do not draw a sample by a seed, and their edits cannot be left out by the rule
below. Here the libraries are imported once and each edit is a fork of that process.

Cosmetic edits are left out. The rule, as `cosmetic`, `parts` and `sites` apply it:

- imports, those for types too, annotations, decorators, docstrings, `__repr__`, and all that stands
  inside a `raise`;
- statements that make the words of an alternative text or of an error: those that set or append to a name
  of `TEXTS`;
- the constants of `SETTINGS`: the book's matplotlib style, sizes of figures, and sizes of blocks, which
  change speed alone, and numbers that only have to differ from each other;
- arguments and keys of `LOOKS`: sizes, widths, paddings, alignment; and the height given to `canvas`;
- numbers inside a call of `text`: how far a text stands from its mark;
- strings handed to a check, `as_...`: the name of an argument, for the error;
- numbers below a thousandth: tolerances for rounding; and the dtype of `asarray`, for a figure's numbers;
- `strict=` of `zip`, which nothing here sets off, `device=`, which tells nothing where there is one device,
  and the order of arguments of `min`, `max`, `transpose` and `array_equal`.
"""

import argparse
import ast
import gc
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 4  # times what the tests take without an edit, and ten seconds
ENOUGH = 0.95

FIGURES = "tests/figures/test_figures"
MASKING, MODEL = "tests/core/test_masking.py", "tests/core/test_model.py"
PLAIN = "tests/course/test_plain.py"
# Module -> its tests, the likeliest to see an edit first.
MODULES = {
    "figures/base.py": [f"{FIGURES}.py", f"{FIGURES}_predict.py", f"{FIGURES}_encoder.py"],
    "figures/palette.py": [f"{FIGURES}.py", f"{FIGURES}_course.py", f"{FIGURES}_encoder.py"],
    "figures/masking.py": [f"{FIGURES}.py"],
    "figures/encoder.py": [f"{FIGURES}_encoder.py", f"{FIGURES}_parity.py"],
    "figures/prediction.py": [f"{FIGURES}_predict.py"],
    "figures/attention.py": [f"{FIGURES}_attention.py"],
    "figures/training.py": [f"{FIGURES}_training.py"],
    "figures/course.py": [f"{FIGURES}_course.py"],
    "figures/beyond.py": [f"{FIGURES}_beyond.py"],
    "rng.py": ["tests/core/test_rng.py", PLAIN],
    "masking.py": [MASKING, PLAIN],
    "fast_masking.py": [MASKING, PLAIN],
    "padding.py": [MODEL, "tests/core/test_parity.py", PLAIN, "tests/beyond/test_modern.py"],
    "model.py": [MODEL, "tests/core/test_parity.py", PLAIN],
    "batches.py": ["tests/core/test_batches.py", PLAIN],
    "checks.py": ["tests/core/test_checks.py", MASKING, MODEL],
    "checkpoint.py": ["tests/hf/test_checkpoint.py", "tests/hf/test_checkpoint_dirs.py"],
    "wordpiece.py": ["tests/core/test_wordpiece.py"],
}
LIBRARIES = (
    "numpy torch matplotlib.pyplot scipy.stats IPython.core.interactiveshell PIL.Image nbval.plugin tqdm"
    " matplotlib_inline.backend_inline safetensors.torch tokenizers transformers.models.bert.modeling_bert"
)

OPTIONS = "-x -q --tb=short -p no:cacheprovider -o addopts= -W ignore::pytest.PytestAssertRewriteWarning"

TEXTS = {"alt", "said", "verdict", "article"}
SETTINGS = {
    "_STYLE",
    "WIDTH",
    "DPI",
    "FONT",
    "_BLOCK",
    "_SPARE",
    "_ROUNDS",
    "_MOST",
    "_ROWS",
    "_AXES",
    "draws_each",
    "spare",
    "side",
}
LOOKS = {
    "alpha", "bbox", "bbox_to_anchor", "capsize", "device", "dpi", "elinewidth", "family", "figsize",
    "fontsize", "ha", "handlelength", "height", "indent", "length", "linewidth", "loc", "markersize", "ncols",
    "nbins", "optimize", "pad", "rotation", "rounding_size", "shrink", "strict", "va", "weight",
    "width",
}  # fmt: skip
# Edit -> why no test can see it: the outcome is the same.
EQUIVALENT = {
    "rng.py PCG32.copy: 0 -> 1": "the state is overwritten",
    "fast_masking.py _add_rejections: 3 -> 4": "an upper limit: another lag finds nothing",
    "fast_masking.py mask_in_blocks: left * draws_each + 4 * math.sqrt(left)"
    " -> left * draws_each - 4 * math.sqrt(left)": "a smaller block",
    "padding.py Unpadded.__init__: True -> False": "rows of one length may come in any order",
    "padding.py Unpadded.__init__: ends.argsort(stable=True) -> ends.argsort()": "the same",
}

COLORS = ("BLACK", "GREY", "BLUE", "VERMILLION", "GREEN", "PURPLE", "SKY", "ORANGE", "YELLOW")
PAIRS = (
    "min max, any all, floor ceil, argmin argmax, sin cos, zeros ones, zeros_like ones_like, triu tril,"
    " axhline axvline, bar barh, xaxis yaxis, set_xlabel set_ylabel, set_xticks set_yticks,"
    " set_xlim set_ylim, left right"
)
SWAPS = dict(zip(COLORS, COLORS[1:] + COLORS[:1], strict=True))
for _pair in PAIRS.split(","):
    _one, _other = _pair.split()
    SWAPS |= {_one: _other, _other: _one}
LETTERS = {"M": "R", "R": "K", "K": "M", "S": "-", "MRK": "RMK"}
OPERATORS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr, ast.MatMult: ast.Mult,
}  # fmt: skip
# Calls whose numbers are turned upside down.
DRAWN = ("plot", "bar", "barh", "hist", "errorbar", "axhline", "axvline", "axvspan")


def cosmetic(node: ast.AST) -> bool:
    """Whether nothing inside this node is edited: see the rule above."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Raise() | ast.FunctionDef(name="__repr__"):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"))):
            return name in TEXTS
        case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
            names = {getattr(part, "attr", getattr(part, "id", None)) for part in ast.walk(target)}
            return not names.isdisjoint(TEXTS | SETTINGS)
        case ast.keyword(arg=name):
            return name in LOOKS
    return False


def parts(node: ast.AST) -> Iterator[tuple]:
    """(node inside, what holds it, its key there), without those that are cosmetic."""
    skipped = {"annotation", "returns", "decorator_list", "ctx", "op", "ops", "bases"}
    for name, value in ast.iter_fields(node):
        if name in skipped:
            continue
        for key, part in enumerate(value) if isinstance(value, list) else [(name, value)]:
            holder = value if isinstance(value, list) else node.__dict__
            if not isinstance(part, ast.AST) or cosmetic(part):
                continue
            match node:
                case ast.Dict(keys=keys):
                    if isinstance(keys[key], ast.Constant) and keys[key].value in LOOKS:
                        continue
                case ast.Call(func=ast.Name(id="canvas")) if name == "args" and key == 0:
                    continue
            yield part, holder, key


def edits(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in place of this node."""

    def but(**fields) -> ast.AST:
        return type(node)(**{**dict(ast.iter_fields(node)), **fields})

    match node:
        case ast.Constant(value=bool(value)):
            yield but(value=not value)
        case ast.Constant(value=int(value)):
            yield but(value=value + 1)
        case ast.Constant(value=float(value)) if not 0 < value < 1e-3:
            yield but(value=value * 2 or 1.0)
        case ast.Constant(value=str(value)) if value in LETTERS:
            yield but(value=LETTERS[value])
        case ast.Constant(value=str(value)) if re.fullmatch(r",?\.\d[efg]", value):
            yield but(value=f"{value[:-2]}{(int(value[-2]) + 1) % 10}{value[-1]}")
        case ast.Constant(value=str(value)) if value:
            yield but(value="")
        case ast.Name(id=name) if name in SWAPS:
            yield but(id=SWAPS[name])
        case ast.Attribute(attr=name) if name in SWAPS:
            yield but(attr=SWAPS[name])
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield but(ops=[*ops[:i], OPERATORS[type(op)](), *ops[i + 1 :]])
        case ast.BinOp(op=op) | ast.BoolOp(op=op):
            yield but(op=OPERATORS[type(op)]())
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield but(test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.AST()):
            yield but(value=ast.Constant(None))
        case ast.AugAssign(op=op):
            yield but(op=OPERATORS[type(op)]())
            yield ast.Pass()
        case ast.Expr() | ast.Continue() | ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.Call(func=func, args=args, keywords=keywords):
            name = getattr(func, "attr", getattr(func, "id", ""))
            for i, keyword in enumerate(keywords):
                made_numbers = name == "asarray" and keyword.arg == "dtype"
                if keyword.arg and not cosmetic(keyword) and not made_numbers:
                    yield but(keywords=keywords[:i] + keywords[i + 1 :])
            if (
                len(args) > 1
                and name not in ("min", "max", "transpose", "array_equal")
                and not isinstance(args[0], ast.Starred)
            ):
                yield but(args=[args[1], args[0], *args[2:]])
            if name == "imshow":
                yield but(args=[ast.Attribute(args[0], "T"), *args[1:]])
            if name in DRAWN:
                for i, arg in enumerate(args):
                    if not isinstance(arg, ast.Constant | ast.Starred):
                        yield but(args=[*args[:i], ast.UnaryOp(ast.USub(), arg), *args[i + 1 :]])
            if name in ("set_xticks", "set_yticks") and len(args) > 1:
                yield but(args=[args[0], ast.Subscript(args[1], ast.Slice(step=ast.Constant(-1)))])


def sites(node: ast.AST, inside: str = "", quiet: bool = False) -> Iterator[tuple]:
    """(line, function, holder, key, node, what may stand in its place) for each edit, in order."""
    for part, holder, key in parts(node):
        name = (
            f"{inside}.{part.name}".lstrip(".")
            if isinstance(part, ast.FunctionDef | ast.ClassDef)
            else inside
        )
        called = re.sub(r"^.*\.", "", ast.unparse(node.func)) if isinstance(node, ast.Call) else ""
        below = quiet or called == "text"
        value = getattr(part, "value", None) if isinstance(part, ast.Constant) else None
        place = below and isinstance(value, int | float)
        name_of_argument = called.startswith("as_") and isinstance(value, str)
        if not place and not name_of_argument:
            for new in edits(part):
                if ast.dump(new) == ast.dump(part):
                    continue
                yield getattr(part, "lineno", 0), name, holder, key, part, new
        yield from sites(part, name, below)


def texts_of(old: ast.AST, new: ast.AST) -> tuple[str, str]:
    """Both as one line each, less what they share at their ends."""
    return tuple(" ".join(ast.unparse(ast.fix_missing_locations(node)).split()) for node in (old, new))


def listed(module: str, whole: bool = False) -> list[tuple[str, int, int, str]]:
    """(module, number, line, words) for each edit of a module that can be seen; `whole`: for all."""
    found = []
    tree = ast.parse((ROOT / "bert_lab" / module).read_text(encoding="utf-8"))
    for number, (line, inside, _, _, old, new) in enumerate(sites(tree)):
        before, after = texts_of(old, new)
        words = f"{inside}: {before[:90]} -> {after[:90]}"
        if whole or f"{module} {words}" not in EQUIVALENT:
            found.append((module, number, line, words))
    return found


def edited(module: str, number: int) -> str:
    """The source of a module with one of its edits; number -1 is none."""
    tree = ast.parse((ROOT / "bert_lab" / module).read_text(encoding="utf-8"))
    if number >= 0:
        _, _, holder, key, _, new = list(sites(tree))[number]
        holder[key] = new
    return ast.unparse(ast.fix_missing_locations(tree))


def copied(module: str, number: int, folder: Path) -> None:
    """The package in `folder`, links but for the module that is edited and the folders it stands in."""
    package, target = ROOT / "bert_lab", folder / "bert_lab"
    for path in [package, *(package / parent for parent in Path(module).parents[:-1])]:
        here = target / path.relative_to(package)
        here.unlink(missing_ok=True)
        here.mkdir(parents=True)
        for entry in path.iterdir():
            (here / entry.name).symlink_to(entry)
    (target / module).unlink()
    (target / module).write_text(edited(module, number), encoding="utf-8")


class Plugin:
    """The quickest tests come first, and Hypothesis does not look for the smallest example that fails."""

    def __init__(self, took: dict[str, float]):
        self.took = took  # test -> seconds

    def pytest_collection_modifyitems(self, items: list) -> None:
        items.sort(key=lambda item: self.took.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report) -> None:
        self.took[report.nodeid] = self.took.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionstart(self) -> None:
        usual = settings.get_profile("bert_lab")
        settings.register_profile("mutate", usual, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutate")


def start(tests: list[str], module: str, number: int, folder: Path, took: dict[str, float]) -> int:
    """Run tests in a fork, against an edit or, for number -1, none; returns the process's id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        if number >= 0:  # else the package itself
            copied(module, number, folder)
            sys.dont_write_bytecode = True
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(folder)  # what a wrong path writes goes with it
        os.environ["PYTHONPATH"] = str(folder if number >= 0 else ROOT)
        sys.path.insert(0, str(folder if number >= 0 else ROOT))
        for path in tests:
            here = [f"--rootdir={ROOT}", f"-c={ROOT / 'pyproject.toml'}", str(ROOT / path)]
            if status := pytest.main([*OPTIONS.split(), *here], [Plugin(took)]):
                os._exit(status)
        (folder / "took").write_text(json.dumps(took))
        os._exit(0)
    except BaseException as problem:
        print(f"{type(problem).__name__}: {problem}", file=sys.stderr, flush=True)
    finally:
        os._exit(70)


def tried(
    tasks: list[tuple[list[str], str, int]], jobs: int, limits: dict[str, float], took: dict[str, float]
) -> Iterator[tuple[int, int, float, str]]:
    """(which task, exit status or -9 for too slow, seconds, end of the log) of each, as they end."""
    waiting, running = list(enumerate(tasks))[::-1], {}
    while waiting or running:
        while waiting and len(running) < jobs:
            which, task = waiting.pop()
            folder = Path(tempfile.mkdtemp(prefix="mutate-"))
            running[start(*task, folder, took)] = which, time.monotonic(), folder
        time.sleep(0.02)
        for pid, (which, began, folder) in list(running.items()):
            seconds = time.monotonic() - began
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended and seconds < sum(limits.get(path, 900) for path in tasks[which][0]):
                continue
            if not ended:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            tail = (folder / "log").read_text(errors="replace")[-2000:] if (folder / "log").exists() else ""
            if ended and status == 0:
                took |= json.loads((folder / "took").read_text())
            shutil.rmtree(folder)
            del running[pid]
            yield which, os.waitstatus_to_exitcode(status) if ended else -9, seconds, tail


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300, help="how many edits")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--only", default="", help="modules whose path begins so, comma-separated")
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ |= {
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    for name in LIBRARIES.split():
        __import__(name)

    gc.freeze()  # so that forks share what was imported

    modules = [name for name in MODULES if name.startswith(tuple(options.only.split(",")))]
    every = [edit for module in modules for edit in listed(module)]
    sample = random.Random(options.seed).sample(every, min(options.count, len(every)))
    limits: dict[str, float] = {}  # of each file of tests, in seconds
    took: dict[str, float] = {}  # by each test
    files = sorted({path for module in modules for path in MODULES[module]})
    for which, status, seconds, tail in tried([([path], "", -1) for path in files], options.jobs, {}, took):
        if status:
            print(f"{files[which]}: red without an edit, status {status}\n{tail}")
            return 1
        limits[files[which]] = TIMEOUT * seconds + 10
    print(f"{len(sample)} of {len(every)} edits, seed {options.seed}", flush=True)
    died = 0
    tasks = [(MODULES[module], module, number) for module, number, *_ in sample]
    for done, (which, status, _, tail) in enumerate(tried(tasks, options.jobs, limits, took), 1):
        module, _, line, words = sample[which]
        if status == 0:
            print(f"survived: bert_lab/{module}:{line} {words}", flush=True)
        elif status in (1, 2, -9) or status < 0:  # red, not importable, too slow, or the process fell
            died += 1
        else:
            print(f"bert_lab/{module}:{line} {words}: pytest ended with {status}\n{tail}")
            return 1
        if done % 10 == 0:
            print(f"{done} tried, {died} died", flush=True)
    print(f"{died} of {len(sample)} died, {died / len(sample):.1%}; {ENOUGH:.0%} are wanted")
    return int(died < ENOUGH * len(sample))


if __name__ == "__main__":
    sys.exit(main())
