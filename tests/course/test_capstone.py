"""The capstone: faults that the hand example does not show, one for each number, and a judge of them."""

import inspect
import traceback

import numpy as np
import pytest

import bert_lab
from bert_lab.course import capstone, plain, test_bert
from bert_lab.course.capstone import _FAULTS, Capstone, failure
from bert_lab.course.mutants import MUTANTS, changed_lines
from bert_lab.rng import PCG32, ScriptedDraws

LINES = 14


def case_of(fault) -> Capstone:
    """The case of the smallest number that has this fault."""
    return next(case for case in map(Capstone, range(200)) if case._fault is fault)


def right_line(case: Capstone) -> int:
    return case._lines.index(case._fault.old) + 1


# A test for each fault: it passes on the reference, and fails on that fault and on no other.


def keeps_the_form(bert):
    inputs, labels = bert.mlm_mask([[7], [8]], [[0], [0]], 4, 40, 0.0, PCG32(1))
    assert inputs.tolist() == [[7], [8]] and labels.tolist() == [[-100], [-100]]


def masks_a_long_row(bert):
    labels = bert.mlm_mask([7] * 600, [0] * 600, 4, 40, 1.0, PCG32(1))[1]
    assert (labels == 7).all()


def asks_for_a_written_mask(bert):
    labels = bert.mlm_mask([4], [0], 4, 40, 1.0, ScriptedDraws([0.1, 0.2]))[1]
    assert labels.tolist() == [4]


def stops_at_p(bert):
    labels = bert.mlm_mask([7], [0], 4, 40, 0.5, ScriptedDraws([0.5, 0.2]))[1]
    assert labels.tolist() == [-100]


def asks_for_id_0(bert):
    labels = bert.mlm_mask([0], [0], 4, 40, 1.0, ScriptedDraws([0.1, 0.2]))[1]
    assert labels.tolist() == [0]


def shows_the_mask_it_is_given(bert):
    inputs = bert.mlm_mask([7], [0], 30, 40, 1.0, ScriptedDraws([0.1, 0.2]))[0]
    assert inputs.tolist() == [30]


def keeps_a_word(bert):
    inputs = bert.mlm_mask([7], [0], 4, 40, 1.0, ScriptedDraws([0.1, 0.95], [9]))[0]
    assert inputs.tolist() == [7]


def draws_below_v(bert):
    rng = ScriptedDraws([0.1, 0.85], [9])
    bert.mlm_mask([7], [0], 4, 40, 1.0, rng)
    assert rng.calls[-1] == ("below", 40, 9)


KILLERS = {
    "return inputs.ravel(), labels.ravel()": keeps_the_form,
    "for t in np.ndindex(ids[:512].shape):": masks_a_long_row,
    "if special[t] or ids[t] == mask_id or rng.uniform() >= p:": asks_for_a_written_mask,
    "if special[t] or rng.uniform() > p:": stops_at_p,
    "labels[t] = ids[t] or IGNORE": asks_for_id_0,
    "inputs[t] = 4": shows_the_mask_it_is_given,
    "else:": keeps_a_word,
    "inputs[t] = rng.below(vocab - 1)": draws_below_v,
}


@pytest.mark.parametrize("fault", _FAULTS, ids=lambda fault: fault.new)
def test_each_fault_is_told_from_the_reference_and_from_the_others(fault):
    case = case_of(fault)
    killed = [new for new, killer in KILLERS.items() if failure(killer, case.bert)]
    assert killed == [fault.new]
    assert all(not failure(killer, bert_lab) for killer in KILLERS.values())


@pytest.mark.parametrize("fault", _FAULTS, ids=lambda fault: fault.new)
def test_each_fault_passes_the_example_worked_by_hand(fault):
    rng = ScriptedDraws([0.05, 0.50, 0.90, 0.10, 0.85], [9])
    args = [2, 5, 6, 7, 3, 0], [1, 0, 0, 0, 1, 1], 4, 40, 0.15, rng
    inputs, labels = case_of(fault).bert.mlm_mask(*args)
    assert inputs.tolist() == [2, 4, 6, 9, 3, 0]
    assert labels.tolist() == [-100, 5, -100, 7, -100, -100]
    rng.finish()


def test_the_faults_are_new_ones_with_a_line_each_and_three_hints():
    museum = {line.strip() for row in MUTANTS.values() for line in changed_lines(row)[1]}
    assert not {fault.new for fault in _FAULTS} & museum
    assert len({fault.new for fault in _FAULTS}) == len(_FAULTS) == len(KILLERS)
    for fault in _FAULTS:
        assert fault.belief.endswith(".") and len(set(fault.hints)) == 3
        assert all(hint[-1] in ".?" for hint in fault.hints)
        assert fault.new not in " ".join(fault.hints)


def test_every_fault_comes_up_and_a_number_is_one_case():
    found = [Capstone(number)._fault for number in range(30)]
    assert set(found) == set(_FAULTS)
    assert found == [Capstone(number)._fault for number in range(30)]
    assert repr(Capstone(7)) == "Capstone(7)" and Capstone(7).number == 7


@pytest.mark.parametrize("number", [-1, 2**64])
def test_a_number_out_of_range(number):
    with pytest.raises(ValueError, match="number: expected an integer from 0"):
        Capstone(number)
    with pytest.raises(TypeError, match="number: expected an integer"):
        Capstone("9")


def test_the_source_is_the_reference_with_numbers_and_tells_nothing():
    sources = {Capstone(number).source for number in range(30)}
    (source,) = sources
    lines = source.splitlines()
    assert len(lines) == LINES and lines[0].startswith(" 1  def mlm_mask(ids, special_mask, ")
    assert lines[-1] == "14      return inputs, labels"
    reference = inspect.getsource(plain.mlm_mask)
    assert all(line[4:] in reference for line in lines) and '"""' not in source


def test_the_routine_is_the_package_but_for_its_fault():
    case = Capstone(3)
    assert case.bert.PCG32 is PCG32 and case.bert.mlm_mask is not bert_lab.mlm_mask
    assert case.bert.mlm_mask is not plain.mlm_mask and not failure(shows_the_mask_it_is_given, plain)
    with pytest.raises(ValueError, match="p: expected 0 to 1"):
        case.bert.mlm_mask([7], [0], 4, 40, 2.0, PCG32(1))


def test_neither_tracebacks_nor_inspect_show_the_faulty_line():
    case = case_of(next(fault for fault in _FAULTS if fault.new == "else:"))
    with pytest.raises(OSError):
        inspect.getsource(case.bert.mlm_mask)
    with pytest.raises(AssertionError) as caught:
        case.bert.mlm_mask([7], [0], 4, 40, 1.0, ScriptedDraws([0.1, 0.95]))
    shown = "".join(traceback.format_exception(caught.value))
    assert "a masking routine with a fault" in shown and "else" not in shown


def test_a_change_of_the_reference_is_noticed():
    fault = capstone._Fault("no such line", "x", "", ("", "", ""))
    with pytest.raises(ValueError, match="expected the line 'no such line' once"):
        capstone._faulty_routine(fault)


def test_hints_come_in_three_steps():
    case = Capstone(9)
    assert tuple(case.hint(step) for step in (1, 2, 3)) == case._fault.hints
    with pytest.raises(ValueError, match="step: expected an integer from 1 to 3"):
        case.hint(0)
    with pytest.raises(ValueError, match="step: expected an integer from 1 to 3"):
        case.hint(4)


# ---- what is handed in


@pytest.fixture
def case():
    return Capstone(3)


NOT_SOLVED = "Capstone 3\n  test: not tried yet\n  line: not tried yet\n"


def test_nothing_is_handed_in(case, capsys):
    case.hand_in(None, None)
    assert capsys.readouterr().out == NOT_SOLVED


def test_both_are_right(case, capsys):
    case.hand_in(shows_the_mask_it_is_given, 11)
    assert capsys.readouterr().out == (
        "Capstone 3\n"
        "  test: right: it passes on the reference and fails on this routine\n"
        "  line: right: it is in line 11\n"
        "  Solved. Its author believed: The id of [MASK] is 4; it was 4 in every example.\n"
    )


@pytest.mark.parametrize("fault", _FAULTS, ids=lambda fault: fault.new)
def test_every_case_can_be_solved(fault):
    case = case_of(fault)
    for line in (right_line(case), np.int64(right_line(case)), f"  {fault.old} "):
        assert case.verdict(KILLERS[fault.new], line)[-1] == f"  Solved. Its author believed: {fault.belief}"


def claims_too_much(bert):
    raise AssertionError("all is\nwrong")


def raises_what_pytest_raises(bert):
    pytest.fail("no")


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("x", "expected a function test(bert), got str"),
        (claims_too_much, "not yet: it fails on the reference, which is right. AssertionError: all is"),
        (raises_what_pytest_raises, "not yet: it fails on the reference, which is right. Failed: no"),
        (lambda: None, "not yet: it fails on the reference, which is right. TypeError: "),
        (lambda bert: exec("assert False"), "which is right. AssertionError"),
        (lambda bert: None, "not yet: it passes on the reference, and on this routine as well"),
        (keeps_a_word, "not yet: it passes on the reference, and on this routine as well"),
    ],
)
def test_what_is_said_of_a_wrong_test(case, test, said):
    head, mine, line = case.verdict(test, 11)
    assert (head, line) == ("Capstone 3", "  line: right: it is in line 11")
    assert mine.startswith("  test: ") and said in mine and "\n" not in mine


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (10, "not yet: line 10 is as it should be"),
        ("if action == 0:", "not yet: line 10 is as it should be"),
        ("x", "that text is on 0 of the lines. Give the line's number"),
        ("inputs[t] = 4", "that text is on 0 of the lines. Give the line's number"),
        (0, "expected the number of a line, 1 to 14, or its text"),
        (15, "expected the number of a line, 1 to 14, or its text"),
        (12.0, "expected the number of a line, 1 to 14, or its text"),
        (True, "expected the number of a line, 1 to 14, or its text"),
    ],
)
def test_what_is_said_of_a_wrong_line(case, line, said):
    said_test, said_line = case.verdict(shows_the_mask_it_is_given, line)[1:]
    assert said_line == f"  line: {said}" and said_test.startswith("  test: right")


def test_a_reader_can_stop_a_test():
    def stopped(bert):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failure(stopped, bert_lab)


def test_failure_names_what_failed():
    assert failure(test_bert.test_hand_example_mlm_mask, bert_lab) == ""
    assert failure(claims_too_much, bert_lab) == "AssertionError: all is"
    assert failure(lambda bert: exec("raise ValueError"), bert_lab) == "ValueError"
