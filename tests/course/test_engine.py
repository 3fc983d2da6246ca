"""The processes of the engine: what runs in them, what ends them, and what they leave behind."""

import os
import time
from pathlib import Path

import pytest
from course_helpers import HAND, HEAD, measured, write  # noqa: F401 (a fixture)

from bert_lab.course import engine as engine_module
from bert_lab.course import run_job, worker
from bert_lab.course.engine import CAN_FORK, Engine
from bert_lab.course.grading import outcome
from bert_lab.course.mutants import mutant, mutated_source

WAYS = [pytest.param(True, marks=pytest.mark.skipif(not CAN_FORK, reason="no fork here")), False]


@pytest.fixture(scope="module", autouse=True)
def shared():
    """One engine for the runs that ask for no other."""
    with Engine() as engine:
        run.engine = engine
        yield


def run(
    tests, tmp_path, *, changed=None, control=False, seconds=30.0, fork=None, libraries=(), stamp=None, **more
):
    """One run of a test file; what it came to."""
    folder = write(tmp_path / "given", test_it=tests, **more)
    if stamp:
        os.utime(folder / "test_it.py", stamp)
    changed = {
        stem: mutated_source(mutant(text)) if len(text) == 3 else text
        for stem, text in (changed or {}).items()
    }
    job = {"kind": "own", "folder": str(folder), "changed": changed, "control": control, "seconds": seconds}
    if fork is None and not libraries:
        [(job, result)] = run.engine.run([job])
    else:
        with Engine(libraries, fork=fork) as engine:
            [(job, result)] = engine.run([job])
    return outcome(job, result)


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("fork", WAYS)
def test_a_fault_turns_a_test_red_and_the_reference_does_not(tmp_path, fork):
    right = run(HAND, tmp_path / "right", fork=fork, libraries=["json"])
    assert (right.passed, right.failed, right.trouble) == (("test_hand",), {}, "")
    wrong = run(HAND, tmp_path / "wrong", fork=fork, changed={"masking": "s03"})
    assert wrong.trouble == "" and wrong.failed["test_hand"].claim.startswith("assert inputs.tolist() ==")
    assert "IndexError" in wrong.failed["test_hand"].message or "assert" in wrong.failed["test_hand"].message


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("fork", WAYS)
def test_the_control_fails_every_call_and_has_every_name(tmp_path, fork):
    tests = HEAD + (
        "from bert import mlm_mask, BertForMLM\n"
        "def test_call(): mlm_mask()\n"
        "def test_other(): bert.no_such_name\n"
        "def test_nothing(): pass\n"
    )
    control = run(tests, tmp_path, fork=fork, control=True)
    assert control.passed == ("test_nothing",)
    assert control.failed["test_call"].message == "RuntimeError: nothing works here"
    assert control.failed["test_other"].message.startswith("AttributeError: module 'bert' has no attribute")


@pytest.mark.usefixtures("measured")
def test_faults_of_the_model_come_with_torch_imported_before(tmp_path):
    tests = HEAD + (
        "def test_left():\n"
        "    model = bert.BertForMLM(bert.BertConfig(40, 16, 12, 3, 2, 20)).eval()\n"
        "    moved = model.encoder([[2, 5, 6, 3]]) - model.encoder([[2, 5, 6, 7]])\n"
        "    assert moved[0, 0].abs().max() > 1e-6\n"
    )
    libraries = ["torch._dynamo", "safetensors.torch", "bert_lab.checkpoint"]
    assert run(tests, tmp_path / "1", libraries=libraries).passed == ("test_left",)
    assert list(run(tests, tmp_path / "2", libraries=libraries, changed={"model": "s11"}).failed) == [
        "test_left"
    ]


def test_the_reference_is_no_oracle_where_a_fault_is(tmp_path):
    tests = HEAD + (
        "import bert_lab, bert_lab.masking\n"
        "def mask(module):\n"
        "    return module.mlm_mask([5, 6, 7], [0, 0, 0], 4, 40, 1.0, PCG32(1))[1].tolist()\n"
        "def test_same(bert):\n"
        "    assert mask(bert) == mask(bert_lab) == mask(bert_lab.masking)\n"
        "    assert bert.mlm_mask is bert_lab.mlm_mask\n"
        "def test_right(): assert mask(bert) == [5, 6, 7]\n"
    )
    run_ = run(tests, tmp_path, changed={"masking": "s04"})
    assert run_.passed == ("test_same",) and list(run_.failed) == ["test_right"]


@pytest.mark.usefixtures("measured")
def test_the_course_is_not_there_to_be_copied(tmp_path):
    run_ = run("import bert_lab.course.test_bert\n", tmp_path, libraries=["json"])
    assert "bert_lab.course cannot be imported by tests that are graded" in run_.trouble


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("fork", WAYS)
def test_what_does_not_even_import_is_seen(tmp_path, fork):
    """The positive control: the changed text is what runs, and no file that was compiled before."""
    changed = {"masking": "raise RuntimeError('at import')\n"}
    used = run(HAND, tmp_path / "1", fork=fork, changed=changed)
    assert used.failed["test_hand"].message == "RuntimeError: at import"
    imported = run("from bert import mlm_mask\n" + HAND, tmp_path / "2", fork=fork, changed=changed)
    assert imported.trouble == "test_it.py: RuntimeError: at import"
    assert used.notes["broken"] == imported.notes["broken"] == "RuntimeError: at import"


def test_equal_length_and_time_stamp_bring_no_stale_code(tmp_path):
    """Two test files of one size and one time stamp, at one path: each has its own outcome."""
    one, two = "def test_it(): assert 1 == 1\n", "def test_it(): assert 1 == 2\n"
    for text, passed in ((one, True), (two, False), (one, True)):
        assert bool(run(text, tmp_path, stamp=(1e9, 1e9)).passed) is passed
        assert not list(tmp_path.rglob("__pycache__"))


def test_a_run_has_a_home_of_its_own_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "abc")
    tests = (
        "import os, tempfile\nfrom pathlib import Path\n"
        "def test_it():\n"
        "    Path.home().joinpath('x').write_text('x')\n"
        "    Path(tempfile.gettempdir(), 'y').write_text('y')\n"
        "    assert 'SECRET_TOKEN' not in os.environ\n"
        "    raise ValueError(f'{Path.home()}|{tempfile.gettempdir()}|{os.getcwd()}')\n"
    )
    message = run(tests, tmp_path).failed["test_it"].message
    places = message.removeprefix("ValueError: ").split("|")
    assert len(places) == 3 and len({Path(place).parent for place in places}) == 1
    assert not any(Path(place).exists() for place in places)
    assert Path(places[0]) != Path.home()


@pytest.mark.parametrize("fork", WAYS)
def test_a_test_that_never_ends_is_ended_with_all_that_it_started(tmp_path, fork):
    mark = f"sleep {1000 + os.getpid() % 1000}.25"
    tests = (
        f"import subprocess\ndef test_ok(): pass\ndef test_it():\n    subprocess.Popen({mark.split()!r})\n"
    )
    run_ = run(tests + "    while True: pass\n", tmp_path, seconds=3.0, fork=fork)
    assert run_.timeout and run_.trouble == "timeout: test_it did not end within 3 s"
    assert run_.passed == ("test_ok",)
    time.sleep(0.2)
    listing = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert mark.replace(" ", "\0").encode() + b"\0" not in listing


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import os; os._exit(1)", "test_it ended the process: exit code 1"),
        ("import os; os._exit(0)", "test_it ended the process: exit code 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "test_it ended the process: signal 9"),
        ("raise KeyboardInterrupt", "it was interrupted"),
        ("import pytest; pytest.exit('enough', 1)", "pytest ended with exit code 1, and 0 tests failed"),
        ("pass\nimport os; os._exit(1)", "the run ended the process: exit code 1"),
        ("pass\nwhile True: pass", "timeout: the run did not end within 3 s"),
        ("pass\n1 / 0", "test_it.py: ZeroDivisionError: division by zero"),
        ("pass\nimport no_such_module", "test_it.py: ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_what_ends_otherwise_has_no_verdict(tmp_path, body, words):
    run_ = run(f"def test_it(): {body}\n", tmp_path, seconds=3.0)
    assert run_.trouble == words


@pytest.mark.usefixtures("measured")
def test_too_much_output_ends_a_run(tmp_path):
    tests = (
        "import pytest\n"
        "@pytest.mark.parametrize('i', range(3000), ids=[f'{i}' + 'x' * 2000 for i in range(3000)])\n"
        "def test_it(i): pass\n"
    )
    assert "was ended: too much output" in run(tests, tmp_path, seconds=60.0, libraries=["json"]).trouble


@pytest.mark.skipif(not CAN_FORK, reason="limits of memory are those of Linux")
def test_memory_and_file_size_have_limits(tmp_path):
    tests = (
        "def test_memory(): bytearray(8 * 2**30)\n"
        "def test_file():\n"
        "    with open('big', 'wb') as file: file.write(bytes(65 * 2**20))\n"
        "def test_less():\n"
        "    with open('small', 'wb') as file: file.write(bytes(2**20))\n"
    )
    run_ = run(tests, tmp_path)
    assert run_.passed == ("test_less",)
    assert run_.failed["test_memory"].message == "MemoryError"
    assert "File too large" in run_.failed["test_file"].message


def test_events_that_a_test_writes_itself_do_no_harm(tmp_path):
    tests = "import os\ndef test_it():\n    os.write(3, b'nonsense\\n[1]\\n')\n"
    assert run(tests, tmp_path).passed == ("test_it",)


def test_several_files_keep_their_names_apart(tmp_path):
    same = "def test_it(): pass\n"
    run_ = run(same, tmp_path, test_more=same)
    assert sorted(run_.passed) == ["test_it.py::test_it", "test_more.py::test_it"]


@pytest.mark.skipif(not CAN_FORK, reason="the server is for forking")
def test_a_dead_server_is_told_and_replaced(tmp_path):
    dead = write(tmp_path / "1", test_it="import os\ndef test_it(): os.kill(os.getppid(), 9)\n")
    fine = write(tmp_path / "2", test_it="def test_it(): pass\n")
    job = {"kind": "own", "changed": {}, "control": False, "seconds": 30.0}
    with Engine() as engine:
        with pytest.raises(ChildProcessError, match="the server of the runs ended with exit code -9"):
            list(engine.run([{**job, "folder": str(dead)}]))
        [(job, result)] = engine.run([{**job, "folder": str(fine)}])
    assert outcome(job, result).passed == ("test_it",)


@pytest.mark.usefixtures("measured")
@pytest.mark.skipif(not CAN_FORK, reason="the server is for forking")
def test_leaving_ends_what_still_runs(tmp_path):
    folder = write(tmp_path, test_it="import time\ndef test_it(): time.sleep(600)\n")
    job = {"kind": "own", "folder": str(folder), "changed": {}, "control": False, "seconds": 900.0}
    quick = write(tmp_path / "quick", test_it="def test_it(): pass\n")
    began = time.monotonic()
    with Engine(workers=2) as engine:
        results = engine.run([job, {**job, "folder": str(quick)}])
        next(results)
        server = engine._server
    assert server.poll() is not None and time.monotonic() - began < 60


@pytest.mark.skipif(not CAN_FORK, reason="the server is for forking")
def test_a_server_that_does_not_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_module, "_GRACE", 0)
    folder = write(tmp_path, test_it="def test_it(): pass\n")
    with Engine() as engine:
        list(
            engine.run(
                [{"kind": "own", "folder": str(folder), "changed": {}, "control": False, "seconds": 30.0}]
            )
        )
        server = engine._server
    assert server.returncode == -9


@pytest.mark.usefixtures("measured")
def test_skips_and_expected_failures_are_told(tmp_path):
    tests = (
        "import pytest\n"
        "def test_skipped(): pytest.skip('not now')\n"
        "@pytest.mark.xfail(reason='known')\ndef test_known(): assert 1 == 2\n"
        "@pytest.mark.xfail(strict=True)\ndef test_mended(): pass\n"
    )
    run_ = run(tests, tmp_path, libraries=["json"])
    assert run_.skipped == {"test_skipped": "not now", "test_known": "known"}
    assert run_.failed["test_mended"].message == "[XPASS(strict)] "


def test_systems_without_limits_and_groups_are_served_too(monkeypatch):
    monkeypatch.setattr(run_job, "resource", None)
    assert run_job._limit() is None
    monkeypatch.delattr(os, "killpg", raising=False)
    killed = []
    worker.kill(type("Process", (), {"kill": lambda self: killed.append(True)})())
    assert killed == [True]
