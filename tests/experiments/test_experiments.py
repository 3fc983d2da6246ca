"""What a comparison says, and how it is stored."""

import json
import platform
from dataclasses import replace

import pytest

from bert_lab.experiments import NAMES, base
from bert_lab.experiments.base import Comparison, as_seeds, environment


def comparison() -> Comparison:
    return Comparison(
        "heads",
        "share of the blanks that are filled",
        {"steps": 10, **environment()},
        {"this one": [0.5, 0.25, 0.75], "that one": [0.125, 0.125, 0.125]},
        {"this one": {"parameters": 1234567, "work": 0.5}},
    )


def test_the_numbers_of_a_row():
    one = comparison()
    assert one.mean("this one") == 0.5 and one.spread("this one") == (0.25, 0.75)
    assert one.margin("this one", "that one") == 0.125 and one.margin("that one", "this one") == -0.625


def test_the_table():
    measure, settings, *lines = str(comparison()).splitlines()
    assert measure == "share of the blanks that are filled"
    assert settings == f"steps 10, python {platform.python_version()}"
    assert [line.split() for line in lines] == [
        ["mean", "lowest", "highest", "parameters", "work"],
        ["this", "one", "0.5000", "0.2500", "0.7500", "1,234,567", "0.5000"],
        ["that", "one", "0.1250", "0.1250", "0.1250", "-", "-"],
    ]
    assert len({len(line) for line in lines}) == 1


def test_long_settings_take_several_lines():
    long = replace(comparison(), settings={f"setting number {i}": i for i in range(20)})
    lines = str(long).splitlines()
    assert len(lines) > 6 and max(map(len, lines)) <= base.WIDTH
    assert "setting number 19 19" in lines[-4]


def test_it_comes_back_from_its_file(tmp_path):
    comparison().write(tmp_path / "a.json")
    assert Comparison.read(tmp_path / "a.json") == comparison()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_ones_have_three_seeds_and_say_where_they_were_made(name):
    one = base.stored(name)
    steps = {one.settings.get("steps"), *(facts.get("steps") for facts in one.facts.values())}
    assert one.name == name and one.settings["python"] and steps - {None}
    counts = [len(scores) for scores in one.scores.values()]
    assert max(counts) >= 3 and set(counts) <= {1, max(counts)}
    assert all(0 <= score <= 1 for scores in one.scores.values() for score in scores)
    assert json.loads((base.ASSETS / f"{name}_compared.json").read_text())["measure"] == one.measure


def test_seeds_are_counted_from_0():
    assert list(as_seeds(3)) == [0, 1, 2]
    with pytest.raises(ValueError, match=r"seeds: expected .*, got 0"):
        as_seeds(0)
