"""The grade of a learner's tests: what counts as a kill, what does not, and what is said about it."""

import json
from pathlib import Path

import pytest
from course_filling import filled
from course_helpers import HAND, HEAD, measured, write  # noqa: F401 (a fixture)

from bert_lab.course.engine import Engine
from bert_lab.course.grading import (
    Failure,
    Grade,
    Outcome,
    Verdict,
    grade,
    grade_tests,
    libraries,
    outcome,
    rows_of,
    run_course_tests,
)
from bert_lab.course.handout import course_tests, start
from bert_lab.course.mutants import MUTANTS

SAMPLE = Path(__file__).parent / "course_sample" / "test_bert.py"
MASKING = rows_of("masking")


@pytest.fixture(scope="module")
def engine():
    with Engine() as engine:
        yield engine


def masking_grade(engine, tmp_path, text: str, rows=MASKING[:5], seconds=20.0, **more) -> Grade:
    return grade_tests(engine, write(tmp_path / "given", test_it=text, **more), rows, seconds)


def test_the_sample_gets_full_marks_and_starters_few():
    full = grade(SAMPLE)
    assert full.problem == "" and full.survived == [] and full.share == 1.0 and full.passed
    assert full.catches_nothing == [] and len(full.verdicts) >= 30


@pytest.mark.parametrize("part", ["whole", "masking"])
def test_the_unchanged_starter_gets_a_low_and_honest_grade(tmp_path, part):
    start(tmp_path / "my", part)
    rows = [row.id for row in rows_of(part)]
    low = grade(tmp_path / "my", mutants=rows)
    assert low.problem == "" and low.tests == ("test_hand_example",)
    assert 0 < low.share < 0.8 and not low.passed
    assert {"s01", "s02", "s03", "s04", "s05"} <= set(low.killed)
    assert all(reason and "to do" not in reason for reason in low.todo.values()) and low.todo
    hints = low.hints()
    for id in low.survived:
        assert f"{id}, in {MUTANTS[id].module}" in hints and all(hint in hints for hint in MUTANTS[id].hints)
    assert low.hints(1).count("\n") == 2 * len(low.survived) - 1


def test_tests_of_a_notebook_are_graded_by_the_same_engine():
    def test_labels(bert):
        assert bert.mlm_mask([5, 6], [0, 0], 4, 40, 1.0, PCG32(1))[1].tolist() == [5, 6]  # noqa: F821

    test_labels.__globals__["PCG32"] = __import__("bert_lab").PCG32
    result = grade([test_labels], mutants=["s04", "s03"])
    assert result.killed == ["s04"] and result.verdicts["s03"] == Verdict("survived")
    assert repr(result).splitlines() == [
        "               s s",
        "               0 0",
        "               4 3",
        "test_labels    X .   1",
        "caught by any  X .   1",
        "",
        "killed 1 of 2 mutants: 0.50 (0.80 is wanted)",
        "pitfalls: 1 of 2 (all are wanted)",
    ]


@pytest.mark.usefixtures("measured")
def test_a_single_file_may_have_any_name(tmp_path):
    (tmp_path / "mine.py").write_text(HAND, encoding="utf-8")
    assert grade(tmp_path / "mine.py", mutants=["s01"]).killed == ["s01"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no tests: the files hold no function test_..."),
        (HEAD, "no tests: the files hold no function test_..."),
        ("def test_it(:\n", "test_it.py, line 1: syntax error: invalid syntax"),
        ("x = 1\n\n  y = 2\n", "test_it.py, line 3: syntax error: unexpected indent"),
        (
            "import nothing_like_it\n",
            "on correct code: test_it.py: ModuleNotFoundError: No module named 'nothing",
        ),
        ("from bert import mlm_maks\n", "on correct code: test_it.py: "),
        ("def test_it(): assert 1 == 1\n", "no test calls bert: all pass where every function of it raises"),
        ("import pytest\ndef test_it(): pytest.skip('to do: all')\n", "no tests yet: all 1 are to do"),
        (
            "import os\ndef test_it(): os._exit(1)\n",
            "on correct code: test_it ended the process: exit code 1",
        ),
        (HEAD + "def test_it(): while_ = 1 / 0\n", "1 test fails on correct code: test_it"),
        (
            HEAD + "def test_a(): assert 1 == 2\ndef test_b(nothing): pass\n",
            "2 tests fail on correct code: test_a, test_b",
        ),
    ],
)
def test_what_cannot_be_graded_is_named(engine, tmp_path, text, problem):
    result = masking_grade(engine, tmp_path, text)
    assert result.problem.startswith(problem)
    assert result.verdicts == {} and result.share == 0.0 and not result.passed
    assert repr(result) == f"no grade: {result.problem}"


def test_a_null_byte_is_no_python_either(engine, tmp_path):
    folder = write(tmp_path / "given")
    (folder / "test_it.py").write_bytes(b"x = 1\0\n")
    assert "syntax error: " in grade_tests(engine, folder, MASKING[:1]).problem


def test_a_folder_without_tests_says_what_was_expected(engine, tmp_path):
    folder = write(tmp_path / "given", tests=HAND, helper="x = 1\n")
    assert grade_tests(engine, folder, MASKING[:1]).problem == (
        "no tests: expected test_bert.py, or another file test_*.py"
    )


def test_a_test_that_fails_correct_code_is_named_with_what_it_claimed(engine, tmp_path):
    text = HAND.replace("[2, 4, 6, 9, 3, 0]", "[2, 4, 6, 9, 3, 4]") + "\ndef test_fine(): bert.mlm_mask\n"
    result = masking_grade(engine, tmp_path, text)
    [wrong] = result.wrong
    assert wrong.test == "test_hand" and wrong.claim == "assert inputs.tolist() == [2, 4, 6, 9, 3, 4]"
    assert (
        "At index 5 diff: 0 != 4" in wrong.message and wrong.line == text[: text.index("4]")].count("\n") + 1
    )


def test_a_test_that_is_not_the_same_twice_is_named(engine, tmp_path):
    text = HAND + (
        "import os, pathlib, time\n"
        "def test_chance():\n"
        f"    seen = pathlib.Path({str(tmp_path)!r}, 'seen')\n"
        "    known = seen.exists()\n"
        "    seen.touch()\n"
        "    assert not known\n"
    )
    result = masking_grade(engine, tmp_path, text)
    assert result.problem == "not the same twice on correct code: test_chance"


def test_a_hang_on_a_mutant_is_no_kill(engine, tmp_path):
    text = HAND + "    while labels.tolist() != [-100, 5, -100, 7, -100, -100]: pass\n"
    text = text.replace("    assert labels.tolist() == [-100, 5, -100, 7, -100, -100]\n", "")
    result = masking_grade(engine, tmp_path, text, rows=[MUTANTS["s04"], MUTANTS["s03"]], seconds=3.0)
    assert result.verdicts["s04"] == Verdict("timeout", (), "timeout: test_hand did not end within 3 s")
    assert result.verdicts["s03"].kind == "killed"
    assert result.survived == ["s04"] and not result.passed
    assert "s04: timeout: test_hand did not end within 3 s" in repr(result).splitlines()
    assert "test_hand      T X   1" in repr(result)


def test_a_test_that_dies_on_a_mutant_is_no_kill(engine, tmp_path):
    text = HAND.replace(
        "assert labels", "if labels.tolist() != [-100, 5, -100, 7, -100, -100]: exit_now()\n    assert labels"
    )
    text += "\ndef exit_now():\n    import os\n    os._exit(1)\n"
    result = masking_grade(engine, tmp_path, text, rows=[MUTANTS["s04"]])
    assert result.verdicts["s04"].kind == "no verdict"
    assert "ended the process: exit code 1" in result.verdicts["s04"].why and "?" in result.kill_matrix()


def test_only_tests_that_passed_before_can_kill():
    job, tests = {"seconds": 1.0}, ("test_a",)

    def result(*events, code=1, ended=""):
        return {"events": list(events), "code": code, "ended": ended, "seconds": 0.1}

    from bert_lab.course.grading import _verdict

    red = {"test": "test_b", "outcome": "failed", "message": "no"}
    other = _verdict(outcome(job, result(red, {"exit": 1})), tests)
    assert other.kind == "no verdict" and "test_b" in other.why
    red = {**red, "test": "test_a"}
    assert _verdict(outcome(job, result(red, {"exit": 1})), tests) == Verdict("killed", tests)
    for events, code in (((red,), 1), ((red, {"exit": 1}), 0), ((red, {"exit": 2}), 2), (({"exit": 1},), 1)):
        assert _verdict(outcome(job, result(*events, code=code)), tests).kind == "no verdict"
    assert _verdict(outcome(job, result({"exit": 3}, code=3)), tests).why == "pytest itself failed"
    late = {"exit": 1}
    assert _verdict(outcome(job, result(red, late, ended="timeout")), tests).kind == "timeout"
    broken = result({"broken": "X"}, {"uncollected": "a.py", "message": "E   X"}, {"exit": 2}, code=2)
    assert _verdict(outcome(job, broken), tests) == Verdict("killed", tests)
    unread = result({"uncollected": "", "message": ""}, {"exit": 2}, code=2)
    assert _verdict(outcome(job, unread), tests) == Verdict("no verdict", (), "the tests: it cannot be read")


def test_redundant_tests_and_idle_ones_are_named(engine, tmp_path):
    text = (
        HAND + HAND.replace("test_hand", "test_again").replace(HEAD, "") + "\ndef test_idle(): bert.PCG32\n"
    )
    result = masking_grade(engine, tmp_path, text, rows=MASKING[:2])
    assert result.catches_nothing == ["test_idle"] and result.redundant == ["test_again"]
    assert "catches nothing: test_idle" in repr(result)
    assert "redundant, the others catch the same: test_again" in repr(result)


def test_the_grade_asks_for_eighty_percent_and_every_pitfall():
    ids = list(MUTANTS)
    all_killed = {id: Verdict("killed", ("t",)) for id in ids}
    assert Grade(("t",), verdicts=all_killed).passed
    assert not Grade(("t",), verdicts={**all_killed, "s05": Verdict("survived")}).passed
    extra = [id for id in ids if not MUTANTS[id].required]
    few = int(0.2 * len(ids))
    enough = {**all_killed, **{id: Verdict("survived") for id in extra[:few]}}
    assert Grade(("t",), verdicts=enough).passed
    assert not Grade(("t",), verdicts={**enough, extra[few]: Verdict("survived")}).passed
    assert not Grade(("t",), verdicts=all_killed, problem="x").passed and Grade().share == 0.0


def test_mutants_and_paths_that_do_not_exist_are_errors(tmp_path):
    with pytest.raises(ValueError, match="expected one of s01"):
        grade(SAMPLE, mutants=["s99"])
    with pytest.raises(FileNotFoundError):
        grade(tmp_path / "nothing")


def test_what_is_imported_once_follows_the_files():
    assert "torch._dynamo" not in libraries([HAND])
    assert "torch._dynamo" in libraries(["import torch"]) and "torch._dynamo" in libraries(
        [""], MUTANTS.values()
    )
    assert "torch._dynamo" in libraries(["bert.BertConfig(3)"]) and "torch._dynamo" in libraries(
        ["load_bert"]
    )
    assert any("transformers" in name for name in libraries(["import transformers"]))
    assert not any("transformers" in name for name in libraries(["torch"]))


# ---- the course tests on a learner's module


def test_a_module_filled_in_with_the_reference_passes_the_masking_part(engine, tmp_path):
    folder = write(tmp_path / "given", bert=filled(part="masking"))
    run = run_course_tests(engine, folder, "masking")
    assert run.trouble == "" and run.passed == tuple(course_tests("masking"))
    assert run.notes == {"missing": [], "borrowed": []}


@pytest.mark.usefixtures("measured")
def test_what_is_not_written_is_to_do_and_what_is_borrowed_is_noted(tmp_path):
    start(tmp_path / "my", "masking")
    text = (tmp_path / "my" / "bert.py").read_text(encoding="utf-8")
    (tmp_path / "my" / "bert.py").write_text(text + "\nfrom bert_lab import special_ids\n", encoding="utf-8")
    with Engine() as engine:
        run = run_course_tests(engine, tmp_path / "my", "masking")
    assert run.notes["borrowed"] == ["special_ids"]
    assert {failure.todo for failure in run.failed.values()} == {"mlm_mask", "mlm_batch"}


def test_a_loop_without_end_costs_one_test_and_not_the_others(engine, tmp_path):
    text = filled(part="masking") + (
        "\nright = mlm_mask\n"
        "def mlm_mask(ids, *rest, **more):\n"
        "    while len(ids) == 6: print('round')\n"
        "    return right(ids, *rest, **more)\n"
    )
    run = run_course_tests(engine, write(tmp_path / "given", bert=text), "masking", seconds=3.0)
    assert list(run.failed) == ["test_hand_example_mlm_mask"]
    assert "timeout" in run.failed["test_hand_example_mlm_mask"].message
    assert len(run.passed) == len(course_tests("masking")) - 1 and run.trouble == ""


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("def mlm_mask(:\n", "bert.py, line 1: syntax error: invalid syntax"),
        (
            "x = 1\nimport nothing_like_it\n",
            "bert.py, line 2: cannot be imported: ModuleNotFoundError: No mod",
        ),
        ("raise SystemExit\n", "bert.py, line 1: cannot be imported: SystemExit"),
        ("while True: pass\n", "timeout: bert.py did not end within 3 s"),
    ],
)
def test_a_module_that_cannot_be_used_says_why(tmp_path, text, trouble):
    with Engine() as engine:
        run = run_course_tests(engine, write(tmp_path / "given", bert=text), "masking", seconds=3.0)
    assert run.trouble.startswith(trouble) and run.passed == ()


def test_a_folder_without_bert_says_so(engine, tmp_path):
    assert run_course_tests(engine, tmp_path, "masking") == Outcome(trouble="bert.py: no such file")


def test_a_failure_tells_the_claim_the_line_and_what_was_printed(engine, tmp_path):
    text = filled(part="masking") + (
        "\nright = mlm_mask\n"
        "def mlm_mask(ids, *rest, **more):\n"
        "    print('here')\n"
        "    if len(ids) == 6: raise ValueError('not six')\n"
        "    return right(ids, *rest, **more)\n"
    )
    run = run_course_tests(
        engine, write(tmp_path / "given", bert=text), "masking", ["test_hand_example_mlm_mask"]
    )
    [failure] = run.failed.values()
    assert failure == Failure(
        "test_hand_example_mlm_mask",
        "ValueError: not six",
        "inputs, labels = bert.mlm_mask(ids, special, 4, 40, 0.15, rng)",
        failure.line,
        text[: text.index("raise ValueError('not six')")].count("\n") + 1,
        "",
        "here\n",
    )
    assert json.dumps(failure.printed)
