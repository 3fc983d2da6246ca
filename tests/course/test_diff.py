"""A learner's code beside the reference: what is equal is silent, a difference stands under its name."""

import re

import pytest
from course_filling import filled, filled_folder

from bert_lab.course.diff import differences
from bert_lab.course.handout import PARTS, start

LAYER = ["BertLayer", "BertLayer.__init__", "BertLayer.forward"]


def compared(tmp_path, text) -> dict[str, str]:
    (tmp_path / "bert.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    return dict(differences(tmp_path / "bert.py"))


def changed(found: dict[str, str]) -> list[str]:
    return [name for name, diff in found.items() if diff]


def edited(old: str, new: str) -> str:
    """The reference filled in, with this one change."""
    text = filled()
    assert text.count(old) == 1
    return text.replace(old, new)


def masking(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def test_the_reference_is_the_reference(tmp_path):
    found = differences(filled_folder(tmp_path))
    assert changed(dict(found)) == []
    names = [name for name, _ in found]
    assert [name for name in names if "." not in name] == list(PARTS["whole"])
    assert [name for name in names if name.startswith("BertLayer")] == LAYER
    assert names == [name for name, _ in differences(str(tmp_path / "bert.py"))]


def test_of_a_part_the_rest_is_missing(tmp_path):
    found = compared(tmp_path, filled(part="masking"))
    assert changed(found) == list(PARTS["whole"][3:])


def test_one_changed_line_stands_under_its_method(tmp_path):
    found = compared(tmp_path, edited("F.gelu(self.ff_in(h))", 'F.gelu(self.ff_in(h), approximate="tanh")'))
    assert changed(found) == ["BertLayer.forward"]
    diff = found["BertLayer.forward"]
    assert diff.startswith("--- your bert.py\n+++ the reference\n@@ ") and diff.endswith("\n")
    assert [line for line in diff.split("\n")[3:] if line.startswith(("+", "-"))] == [
        '-    inner = F.gelu(self.ff_in(h), approximate="tanh")  # [B, T, d_ff]',
        "+    inner = F.gelu(self.ff_in(h))  # [B, T, d_ff]",
    ]


def test_signature_decorator_and_fields_are_compared(tmp_path):
    found = compared(tmp_path, edited("    dropout: float = 0.1 ", "    dropout: float = 0.2 "))
    assert changed(found) == ["BertConfig"]
    text = edited("@dataclass\nclass BertConfig", "@dataclass(slots=True)\nclass BertConfig")
    assert "-@dataclass(slots=True)\n+@dataclass\n" in compared(tmp_path, text)["BertConfig"]
    found = compared(tmp_path, edited("def special_ids(tok:", "def special_ids(t:"))
    assert changed(found) == ["special_ids"]


def test_the_unchanged_stubs_differ_in_their_bodies_alone(tmp_path):
    start(tmp_path)
    found = dict(differences(tmp_path))
    assert found["BertConfig"] == "" and found["BertLayer"] == ""
    assert re.findall(r"^- .*$", found["load_bert"], re.MULTILINE) == [
        '-    raise NotImplementedError("to do: load_bert")'
    ]


def test_docstrings_comments_and_the_ends_of_lines_make_no_difference(tmp_path):
    text = filled()
    looser = [
        text.replace("\n", "\r\n"),
        text.replace("\n", "\r"),
        text.replace("    ", "\t"),
        text.replace("\n", "  \n"),
        "\ufeff" + text,
        "# coding: latin-1\n" + text.replace("written by me", "geschrieben für mich"),
        text.replace("Pick positions with probability p", "Mine, and short.\n\n    With a second part"),
        text.replace("\n    def forward", "\n    # what goes on here\n\n\n    def forward"),
        text.replace("\n\n\ndef special_ids", "\n\n\n# mine\ndef special_ids"),
        text + "\n\ndef helper():\n    pass",
    ]
    for each in looser:
        raw = each.encode("latin-1" if "coding: latin-1" in each[:30] else "utf-8")
        assert changed(compared(tmp_path, raw)) == []


def test_docstrings_that_share_their_line_with_code_are_kept_with_it(tmp_path):
    reference = compared(tmp_path, filled())
    assert reference["special_ids"] == ""
    for body in (
        'def special_ids(tok): "all five"; return sorted(tok.ids)',
        'def special_ids(\n    tok): "all five"\n',
        'def special_ids(tok):\n    "all five"; return sorted(tok.ids)',
    ):
        found = compared(tmp_path, body)["special_ids"]
        assert all(f"-{line}\n" in found for line in body.strip("\n").split("\n")), found
    found = compared(tmp_path, 'def special_ids(tok):\n    "übrigens"  # all five\n    return 1\n')
    assert "-    return 1\n" in found["special_ids"] and "five" not in found["special_ids"]


def test_methods_of_one_side_are_said(tmp_path):
    text = filled()
    forward = text.index("    def forward(self, h:")
    without = text[:forward] + text[text.index("\n\nclass BertEncoder") :]
    found = compared(tmp_path, without)
    assert changed(found) == ["BertLayer.forward"]
    assert found["BertLayer.forward"].startswith(
        "BertLayer.forward is not in your bert.py.\n--- your bert.py\n+++ the reference\n"
    )
    assert "+def forward(self" in found["BertLayer.forward"]
    more = edited(
        "\n\nclass BertEncoder",
        "\n    @property\n    def width(self):\n        return 1\n\n\nclass BertEncoder",
    )
    found = compared(tmp_path, more)
    assert changed(found) == ["BertLayer.width"]
    assert found["BertLayer.width"] == "BertLayer.width is in your bert.py only.\n"
    assert [name for name in found if name.startswith("BertLayer")] == [*LAYER, "BertLayer.width"]


def test_a_property_and_its_setter_are_both_shown(tmp_path):
    text = (
        "class BertLayer:\n    @property\n    def forward(self):\n        return 1\n\n"
        "    @forward.setter\n    def forward(self, value):\n        pass\n"
    )
    diff = compared(tmp_path, text)["BertLayer.forward"]
    assert "-@property\n" in diff and "-@forward.setter\n" in diff


def test_a_name_that_is_missing_is_said(tmp_path):
    found = compared(tmp_path, "x = 1\n")
    assert list(found) == list(PARTS["whole"]), "a missing class is one entry"
    for name, diff in found.items():
        assert diff.startswith(f"{name} is not in your bert.py.\n--- your bert.py\n")
        assert f"{name}(" in diff or f"class {name}:" in diff
    assert changed(compared(tmp_path, "")) == list(PARTS["whole"])


def test_definitions_are_found_where_people_put_them(tmp_path):
    text = masking(
        "from helpers import mlm_batch",
        "import numpy as BertForMLM",
        "try:",
        "    import torch",
        "except ImportError:",
        "    BertLayer = None",
        "else:",
        "    def save_bert(model, dir):",
        "        def inner():",
        "            '''A helper.'''",
        "            return 1",
        "        return inner()",
        "finally:",
        "    other, load_hf_bert = 1, 2",
        "if True:",
        "    async def special_ids(tok): return 1",
        "with open('x'):",
        "    BertConfig: int = 3",
        "match 1:",
        "    case 1:",
        "        def load_bert(dir):",
        "            return 2",
        "def mlm_mask(): return 1",
        "def mlm_mask(): return 2",
    )
    found = compared(tmp_path, text)
    for name, line in {
        "mlm_batch": "from helpers import mlm_batch",
        "BertForMLM": "import numpy as BertForMLM",
        "BertLayer": "BertLayer = None",
        "save_bert": "    def inner():",
        "load_hf_bert": "other, load_hf_bert = 1, 2",
        "special_ids": "async def special_ids(tok): return 1",
        "BertConfig": "BertConfig: int = 3",
        "load_bert": "def load_bert(dir):",
        "mlm_mask": "def mlm_mask(): return 2",
    }.items():
        assert f"-{line}\n" in found[name], name
    assert "A helper" not in found["save_bert"]
    assert "-def mlm_mask(): return 1\n" in found["mlm_mask"], "both are shown"
    assert [name for name in found if "is not in your" in found[name] and "." not in name] == [
        "BertEncoder",
        "hf_bert_encoder_sd",
    ]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"x = 1\ndef mlm_mask(:\n    pass\n", r"bert\.py, line 2: expected valid Python, got an error: "),
        (b"def f():\n\tif 1:\n        return 2\n", r"bert\.py, line 3: expected valid Python.*tabs"),
        (b"x = 1\n\ny = '\xff'\n", r"bert\.py, line 3: expected text in utf-8, got other bytes"),
        (b"# coding: nonsense\n", r"bert\.py: expected valid Python, got an error: unknown encoding"),
        (b"x = 1\0\n", r"bert\.py(, line 1)?: expected valid Python, got an error: .*null bytes"),
        (b"x = " + b"(" * 5000 + b")" * 5000, r"bert\.py(, line 1)?: expected valid Python, got an error"),
        (b"x = " + b"-" * 100_000 + b"1", r"bert\.py(, line 1)?: expected valid Python, got an error"),
    ],
    ids=["syntax", "tabs", "bytes", "encoding", "zero", "brackets", "deep"],
)
def test_what_is_no_python_is_said_with_its_line(raw, words, tmp_path):
    with pytest.raises(ValueError, match=words) as error:
        compared(tmp_path, raw)
    assert "\n" not in str(error.value)


def test_an_escape_that_python_warns_of_is_no_error(tmp_path):
    assert "-def mlm_mask(): return '\\d'" in compared(tmp_path, "def mlm_mask(): return '\\d'\n")["mlm_mask"]


def test_a_file_that_is_not_there(tmp_path):
    for path in (tmp_path, tmp_path / "bert.py", tmp_path / "no" / "bert.py"):
        with pytest.raises(FileNotFoundError, match=r"bert\.py: expected a file with your code, found none"):
            differences(path)
