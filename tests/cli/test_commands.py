"""The course at a terminal: what is printed, written, and returned."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from course_filling import filled
from course_helpers import HAND, HEAD, write

from bert_lab.cli import app as cli
from bert_lab.cli import course as commands
from bert_lab.course import handout, report, submission
from bert_lab.course.grading import rows_of
from bert_lab.course.handout import course_tests
from bert_lab.course.mutants import MUTANTS, table

SAMPLE = (Path(__file__).parents[1] / "course" / "course_sample" / "test_bert.py").read_text(encoding="utf-8")
MASKING = ("--only", "masking")


def call(*arguments) -> int:
    return cli.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder of the masking part that passes everything."""
    folder = tmp_path_factory.mktemp("good") / "anna"
    handout.start(folder, "masking")
    (folder / "bert.py").write_text(filled(part="masking"), encoding="utf-8")
    (folder / "test_bert.py").write_text(SAMPLE, encoding="utf-8")
    return folder


def test_start_makes_a_folder_once(tmp_path, capsys):
    assert call("start", tmp_path / "my") == 0
    told = capsys.readouterr().out
    assert all(f"made {tmp_path / 'my' / name}" in told for name in ("bert.py", "test_bert.py", "README.md"))
    before = {path: path.read_bytes() for path in (tmp_path / "my").iterdir()}
    assert call("start", tmp_path / "my") == 1
    assert capsys.readouterr().err.startswith("bert-lab start: ")
    assert {path: path.read_bytes() for path in (tmp_path / "my").iterdir()} == before


def test_tests_on_a_starter_are_to_do(tmp_path, capsys):
    call("start", tmp_path / "my", *MASKING)
    capsys.readouterr()
    assert call("tests", tmp_path / "my", *MASKING) == commands.NOT_PASSED == 3
    told = capsys.readouterr().out
    for name in course_tests("masking"):
        assert f"to do   {name}: " in told
    assert "mlm_mask is not written yet" in told and "Traceback" not in told
    assert told.endswith(f"\n0 of {len(course_tests('masking'))} pass\n")


def test_tests_pass_and_can_be_chosen(good, capsys):
    assert call("tests", good, *MASKING) == 0
    told = capsys.readouterr().out
    assert told.count("passed  test_") == len(course_tests("masking")) and "\x1b" not in told
    assert call("tests", good, *MASKING, "-k", "RATES") == 0
    assert capsys.readouterr().out == "passed  test_mask_rates\n\n1 of 1 pass\n"
    assert call("tests", good, *MASKING, "-k", "nothing_like_it") == 1
    assert "-k: expected a part of one of test_hand_example_mlm_mask, " in capsys.readouterr().err


def test_the_whole_of_the_reference_passes(tmp_path, capsys):
    folder = write(tmp_path / "my", bert=filled())
    assert call("tests", folder) == 0
    assert capsys.readouterr().out.endswith("\n14 of 14 pass\n")


def test_a_failure_says_what_was_claimed_and_why_it_matters(tmp_path, capsys):
    text = filled(part="masking") + (
        "\nright = mlm_mask\n"
        "def mlm_mask(*arguments, **more):\n"
        "    inputs, labels = right(*arguments, **more)\n"
        "    print('first', arguments[0])\n"
        "    if len(inputs) == 6: raise ValueError('six of them')\n"
        "    return inputs, inputs + 1\n"
    )
    assert call("tests", write(tmp_path / "my", bert=text), *MASKING, "-k", "keep") == 3
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "failed  test_keep_action_still_predicts"
    assert "claims: assert np.asarray(labels).tolist() == [7]" in told[1]
    assert told[-3].startswith("        Why it matters: the kept tenth teaches the model")
    assert told[-1] == "0 of 1 pass"
    assert call("tests", tmp_path / "my", *MASKING, "-k", "hand") == 3
    told = [line.strip() for line in capsys.readouterr().out.splitlines()]
    line = text[: text.index("six of them")].count("\n") + 1
    assert told[2:6] == [
        "ValueError: six of them",
        f"It comes from bert.py, line {line}.",
        "It printed:",
        "first [2 5 6 7 3 0]",
    ]


def test_names_that_are_missing_or_borrowed_are_told(tmp_path, capsys):
    text = filled(part="masking").replace("def special_ids(", "def other_ids(")
    text = text.replace("def mlm_batch(", "from bert_lab import mlm_batch\n\n\ndef own_batch(")
    assert call("tests", write(tmp_path / "my", bert=text)) == 3
    told = capsys.readouterr().out
    assert "to do   test_mlm_batch_from_text: special_ids is not written yet" in told
    assert "note    bert_lab's own, not written in bert.py: mlm_batch" in told
    assert "for the masking part alone, add --only masking" in told


@pytest.mark.parametrize("command", ["tests", "check", "diff"])
def test_folders_that_are_none_are_errors(tmp_path, capsys, command):
    assert call(command, tmp_path / "nothing") == 1
    assert f"bert-lab {command}: " in capsys.readouterr().err
    assert call(command, tmp_path, "--seconds", "0") == 1
    assert "--seconds: expected a time above 0, got 0" in capsys.readouterr().err
    if command != "check":
        assert call(command, tmp_path) == 1
        assert "expected bert.py in it, found none" in capsys.readouterr().err


def test_check_passes_a_good_folder_and_writes_what_gradescope_reads(good, tmp_path, capsys):
    file = tmp_path / "results.json"
    assert call("check", good, *MASKING, "--json", file) == 0
    told = capsys.readouterr().out
    assert "passed, 100.0 of 100 points" in told and "Hints" not in told and "caught by any" in told
    results = json.loads(file.read_text(encoding="utf-8"))
    assert results["score"] == 100.0
    names = [test["name"] for test in results["tests"]]
    rows = rows_of("masking")
    assert names == [f"course: {n}" for n in course_tests("masking")] + [f"mutant {row.id}" for row in rows]
    assert {test["status"] for test in results["tests"]} == {"passed"}
    assert abs(sum(test["score"] for test in results["tests"]) - 100) < 0.01
    assert abs(sum(test["max_score"] for test in results["tests"]) - 100) < 0.01
    assert results["extra_data"]["passed"] is True and results["extra_data"]["part"] == "masking"
    assert results["extra_data"]["killed"] == [row.id for row in rows]
    assert "passed, 100.0 of 100 points" in results["output"]
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_check_gives_hints_for_what_survives_and_never_the_answer(tmp_path, capsys):
    folder = write(tmp_path / "my", bert=filled(part="masking"), test_bert=HAND)
    assert call("check", folder, *MASKING) == 3
    told = capsys.readouterr().out
    assert "not passed, " in told and "s12, in batches" in told
    assert all(hint in told for hint in MUTANTS["s12"].hints)
    assert all(row.pitfall not in told for row in rows_of("masking"))
    file = tmp_path / "results.json"
    assert call("check", folder, *MASKING, "--hints", 1, "--json", file) == 3
    for told in (capsys.readouterr().out, json.loads(file.read_text(encoding="utf-8"))["output"]):
        assert MUTANTS["s12"].hints[0] in told and MUTANTS["s12"].hints[1] not in told


# What is handed in, and the words that it gets in the table.
DEAD = "the run ended the process: exit code 1"
ODD = {
    "no_tests": ({"bert": "", "test_bert": ""}, "no tests: the files hold no function test_..."),
    "no_file": ({"bert": ""}, "no tests: expected test_bert.py, or another"),
    "syntax_tests": ({"test_bert": "def test_it(:\n"}, "test_bert.py, line 1: syntax error: invalid"),
    "syntax_bert": ({"bert": "def f(:\n", "test_bert": HAND}, "bert.py, line 1: syntax error: invalid"),
    "no_bert": ({"bert": None, "test_bert": HAND}, "bert.py: no such file"),
    "wrong_claim": (
        {"test_bert": HAND.replace("9, 3, 0]", "9, 3, 1]")},
        "1 test fails on correct code: test_hand",
    ),
    "hangs": ({"test_bert": "def test_it():\n    while True: pass\n"}, "on correct code: timeout: test_it"),
    "dies": ({"test_bert": "import os\nos._exit(1)\n"}, f"on correct code: {DEAD}"),
    "imports": ({"test_bert": "import nothing_like_it\n"}, "on correct code: test_bert.py: ModuleNotFou"),
    "idle": ({"test_bert": "def test_it(): pass\n"}, "no test calls bert: all pass where every"),
    "kills_server": (
        {"test_bert": "import os\ndef test_it(): os.kill(os.getppid(), 9)\n"},
        "the server of the runs ended with exit code -9",
    ),
    "too_large": ({"test_bert": HAND, "large": "#" * 100_000}, "expected at most 0 MB of files, found more"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="the server that one of them ends is for forking")
def test_thirty_submissions_of_mixed_quality_are_graded_in_one_command(good, tmp_path, capsys, monkeypatch):
    """The odd ones get the right words, and the others are graded as if those were not there."""
    monkeypatch.setattr(submission, "MOST_BYTES", 100_000)
    folders = []
    for name, (files, _) in ODD.items():
        texts = {"bert": filled(part="masking"), **files}
        folders.append(write(tmp_path / name, **{k: v for k, v in texts.items() if v is not None}))
    for number in range(30 - len(folders)):
        tests = HAND if number % 2 else HAND.replace("    assert labels", "    # assert labels")
        folders.append(write(tmp_path / f"s{number:02}", bert=filled(part="masking"), test_bert=tests))
    folders[-1] = good
    file = tmp_path / "all.json"
    assert call("check", *folders, *MASKING, "--json", file, "--seconds", 4) == 3
    told = capsys.readouterr().out
    rows = told[told.index("\nfolder ") :].splitlines()[2:]
    assert len(rows) == 30
    for row, folder in zip(rows, folders, strict=True):
        assert row.startswith(str(folder))
        words = ODD.get(folder.name, ({}, ""))[1]
        assert words in row, row
        assert ("not passed: " in row) == bool(words)
    assert "100.0" in rows[-1] and "not passed" not in rows[-1]
    results = json.loads(file.read_text(encoding="utf-8"))["submissions"]
    assert [each["name"] for each in results] == [str(folder) for folder in folders]
    weak, better = (each["extra_data"] for each in results[-4:-2])
    assert set(weak["killed"]) != set(better["killed"])
    assert results[list(ODD).index("dies")]["extra_data"]["grade_problem"].startswith("on correct code")
    assert all(0 <= each["score"] <= 100 for each in results)
    wrong = results[list(ODD).index("wrong_claim")]["tests"][-1]
    assert wrong["name"] == "your tests" and "claims: assert inputs.tolist()" in wrong["output"]


def test_results_that_cannot_be_written_are_an_error_before_the_work(good, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(commands, "_check_all", lambda *_: pytest.fail("the work began"))
    assert call("check", good, "--json", tmp_path) == 1
    assert "--json: expected a file, got the folder" in capsys.readouterr().err
    assert call("check", good, "--json", tmp_path / "none" / "results.json") == 1
    assert "--json: expected a folder that can be written to" in capsys.readouterr().err


def test_a_write_that_fails_leaves_the_old_results(tmp_path, monkeypatch):
    file = tmp_path / "results.json"
    file.write_text("old", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        commands._write(file, {})
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert file.read_text(encoding="utf-8") == "old"


def test_diff_shows_the_reference_once_all_passes(good, tmp_path, capsys):
    assert call("diff", good, *MASKING) == 0
    told = capsys.readouterr().out
    assert [line for line in told.splitlines() if line.startswith("## ")] == [
        f"## {name}: the same" for name in handout.PARTS["masking"]
    ]
    text = filled(part="masking") + "\nright = special_ids\ndef special_ids(tok):\n    return right(tok)\n"
    assert call("diff", write(tmp_path / "my", bert=text), *MASKING) == 0
    told = capsys.readouterr().out
    assert "## special_ids\n" in told and "\n-    return right(tok)\n" in told
    call("start", tmp_path / "new", *MASKING)
    capsys.readouterr()
    assert call("diff", tmp_path / "new", *MASKING) == 3
    told = capsys.readouterr()
    assert told.out == "" and "0 of 5 course tests pass: the reference is shown once all do" in told.err


def test_worksheets_are_printed_or_written_once(tmp_path, capsys):
    assert call("worksheet", "--seed", 7) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!DOCTYPE html>") and "Worksheet 7" in page
    file = tmp_path / "class.html"
    assert call("worksheet", "--seed", 7, "--count", 3, "--key", "--out", file) == 0
    assert "Worksheet 9" in file.read_text(encoding="utf-8")
    assert call("worksheet", "--seed", 8, "--out", file) == 1
    assert "class.html" in capsys.readouterr().err
    assert call("worksheet", "--seed", -1) == 1
    assert call("worksheet", "--seed", 1, "--count", 0) == 1


def test_mutants_prints_the_table(capsys):
    assert call("mutants") == 0
    assert capsys.readouterr().out == table() + "\n"


def test_help_has_examples_and_wrong_calls_exit_with_two(capsys):
    for command in ("start", "tests", "check", "diff", "worksheet", "mutants"):
        with pytest.raises(SystemExit) as ended:
            call(command, "--help")
        told = capsys.readouterr().out
        assert ended.value.code == 0 and f"examples:\n  bert-lab {command}" in told
        assert max(map(len, told.splitlines())) <= 110
    for wrong in (("check",), ("start", "a", "--only", "model"), ("check", "a", "--hints", "4")):
        with pytest.raises(SystemExit) as ended:
            call(*wrong)
        assert ended.value.code == 2
    assert "usage: bert-lab check" in capsys.readouterr().err


def test_colors_are_for_terminals_that_want_them(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert report.painter(Terminal())("passed", "passed") == "\x1b[32mpassed\x1b[0m"
    assert report.painter(io.StringIO())("passed", "passed") == "passed"
    monkeypatch.setenv("NO_COLOR", "1")
    assert report.painter(Terminal())("passed", "passed") == "passed"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert report.painter(Terminal())("passed", "passed") == "passed"


def test_the_command_itself_returns_the_exit_code(tmp_path):
    folder = write(tmp_path / "my", bert=filled(part="masking"), test_bert=HEAD)
    command = [sys.executable, "-m", "bert_lab", "check", str(folder), *MASKING]
    root = Path(__file__).parents[2]
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 3 and run.stderr == ""
    assert "no grade: no tests: the files hold no function test_..." in run.stdout


def test_a_reader_who_has_enough_is_no_error(tmp_path):
    """`bert-lab mutants | head -1`: no traceback, no message."""
    code = "import sys; from bert_lab.cli.app import main; sys.exit(main(['mutants']))"
    command = [sys.executable, "-c", code]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, text=False
    )
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(60) == 1
    process.stderr.close()


def test_what_is_still_to_be_written_goes_nowhere(monkeypatch):
    seen = []
    monkeypatch.setattr(commands, "run_mutants", lambda options: (_ for _ in ()).throw(BrokenPipeError))
    monkeypatch.setattr(cli.os, "dup2", lambda *descriptors: seen.append(descriptors))
    monkeypatch.setattr(sys, "stdout", open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    with sys.stdout as stream:
        assert call("mutants") == 1
        assert [target for _, target in seen] == [stream.fileno()]
        os.close(seen[0][0])
