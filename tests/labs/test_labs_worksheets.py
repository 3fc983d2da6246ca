"""Worksheets: every seed gives a sentence that can be masked by hand, and the key is what the hand finds."""

import html
import html.parser
import re

import numpy as np
import pytest

from bert_lab import PCG32, ScriptedDraws, mlm_mask
from bert_lab.course.capstone import masking_routine
from bert_lab.labs import worksheet, worksheets
from bert_lab.labs.worksheets import MASK_ID, MAX_SHEETS, TINY_VOCAB, P, V, worksheet_page


def test_the_vocabulary_is_that_of_the_hand_example():
    assert V == len(set(TINY_VOCAB)) == 40
    assert [TINY_VOCAB[i] for i in (2, 5, 6, 7, 3, 0, 4)] == [
        "[CLS]",
        "the",
        "cat",
        "sat",
        "[SEP]",
        "[PAD]",
        "[MASK]",
    ]


@pytest.mark.parametrize("seeds", [range(150), [2**32, 2**63, 2**64 - 1]])
def test_the_printed_draws_give_the_key(seeds):
    for seed in seeds:
        sheet = worksheet(seed)
        arguments = (sheet.ids, sheet.special_mask, MASK_ID, V, P)
        printed = ScriptedDraws(sheet.uniforms, sheet.belows)  # what a student has: two digits
        exact = PCG32(seed, sheet.stream)
        for rng in (printed, exact):
            inputs, labels = mlm_mask(*arguments, rng)
            assert (sheet.inputs, sheet.labels) == (inputs.tolist(), labels.tolist())
        assert 6 <= len(sheet.ids) <= 7
        assert sum(label != -100 for label in sheet.labels) >= 2
        assert not set(sheet.uniforms) & {0.15, 0.8, 0.9}
        uniforms = sum(call[0] == "uniform" for call in printed.calls)
        belows = len(printed.calls) - uniforms
        assert f"{uniforms} uniforms and {belows} below(40) are used." in repr(sheet)
        words = sum(not special for special in sheet.special_mask)
        assert (len(sheet.uniforms), len(sheet.belows)) == (2 * words, 2)  # the count gives nothing away


def test_seeds_give_different_sheets_and_one_seed_the_same():
    sheets = [repr(worksheet(seed, key=False)) for seed in range(40)]
    assert len({sheet.split("\n", 1)[1] for sheet in sheets}) >= 39
    assert repr(worksheet(3)) == repr(worksheet(3))
    assert worksheet(3)._repr_html_() == worksheet(3)._repr_html_()


def test_all_three_actions_come_up():
    fates = {fate for seed in range(40) for fate in worksheet(seed).fates}
    assert fates == set("S-MRK")


def test_the_key_can_be_left_out():
    for seed in range(20):
        blank, full = worksheet(seed, key=False), worksheet(seed)
        for text in (repr(blank), blank._repr_html_()):
            assert "label" in text and "key" not in text.lower() and "-100" not in text and "used" not in text
            assert f"uniforms, in order: {blank.uniforms[0]:.2f}" in text
        for text in (repr(full), full._repr_html_()):
            assert "Answer key" in text and f"inputs {full.inputs}" in text and "-100" in text
        assert repr(full).startswith(repr(blank))  # the sheet to fill in comes first, then the key
        sheet, _, key = full._repr_html_().partition("<details>")
        assert "-100" not in sheet and "-100" in key and key.endswith("</details></div>")


def test_the_key_reads_like_the_hand_example():
    rows = worksheet(7).rows(key=True)
    assert rows == [
        ("0", "[CLS]", "2", "yes", "none", "", "", "2", "-100"),
        ("1", "our", "12", "no", "0.07, 0.96", "yes", "keep", "12", "12"),
        ("2", "cat", "6", "no", "0.14, 0.38", "yes", "[MASK]", "4", "6"),
        ("3", "waited", "34", "no", "0.61", "no", "", "34", "-100"),
        ("4", "[SEP]", "3", "yes", "none", "", "", "3", "-100"),
        ("5", "[PAD]", "0", "yes", "none", "", "", "0", "-100"),
    ]


@pytest.mark.parametrize(
    ("seed", "key", "error"),
    [
        ("7", True, TypeError),
        (1.0, True, TypeError),
        (True, True, TypeError),
        (None, True, TypeError),
        (-1, True, ValueError),
        (2**64, True, ValueError),
        (7, "yes", TypeError),
        (7, 0, TypeError),
    ],
)
def test_arguments_are_checked(seed, key, error):
    with pytest.raises(error):
        worksheet(seed, key=key)


# ---- sheets to print


class Page(html.parser.HTMLParser):
    """The sections of a document: the heading of each, its tables' rows, and all its text. Tags must nest."""

    def __init__(self, text: str):
        super().__init__()
        self.open, self.sections, self.title = [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag == "section":
            assert self.open == ["html", "body"]
            self.sections.append({"h1": "", "rows": [], "text": ""})
        elif tag == "tr":
            self.sections[-1]["rows"].append([])
        elif tag in ("td", "th"):
            self.sections[-1]["rows"][-1].append("")
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "title":
            self.title += data
        if "section" in self.open:
            section = self.sections[-1]
            section["text"] += data
            if self.open[-1] == "h1":
                section["h1"] += data
            if self.open[-1] in ("td", "th"):
                section["rows"][-1][-1] += data


def test_each_sheet_has_a_page_and_the_keys_follow():
    sheets, both = Page(worksheet_page(7, 3)), Page(worksheet_page(7, 3, key=True))
    assert sheets.title == both.title == "Worksheets 7 to 9: mask by hand"
    assert [s["h1"] for s in sheets.sections] == [f"Worksheet {seed}" for seed in (7, 8, 9)]
    assert both.sections[:3] == sheets.sections
    assert [s["h1"] for s in both.sections[3:]] == [f"Key to worksheet {seed}" for seed in (7, 8, 9)]
    for seed, blank, key in zip((7, 8, 9), both.sections[:3], both.sections[3:], strict=True):
        sheet = worksheet(seed)
        assert blank["rows"][1:] == [list(row) for row in sheet.rows(False)]
        assert key["rows"][1:] == [list(row) for row in sheet.rows(True)]
        assert blank["rows"][0] == key["rows"][0] and blank["rows"][0][-1] == "label"
        assert all(line in blank["text"] for line in sheet.task())
        assert all(line in key["text"] for line in sheet.answer())
        assert not any(line in blank["text"] for line in sheet.answer())


def test_a_page_is_a_whole_document_that_prints_one_sheet_to_a_page():
    text = worksheet_page(7)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    assert text.endswith("</html>\n")
    assert Page(text).title == "Worksheet 7: mask by hand"
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (paper,) = re.findall(r"@media print \{(.*)\}", style, re.DOTALL)
    assert "break-after: page; break-inside: avoid" in paper
    assert "section:last-child { break-after: auto }" in paper  # or an empty page would follow
    assert not re.search("http|src=|@import|<script", text), "it needs no network"
    assert text == worksheet_page(7) and text.count('<th scope="col"') == 9


def test_what_a_sheet_says_is_escaped(monkeypatch):
    monkeypatch.setattr("bert_lab.labs.worksheets.Worksheet.task", lambda self: ["p < 1 & <b>q</b>"])
    page = worksheet_page(7)
    assert "<p>p &lt; 1 &amp; &lt;b&gt;q&lt;/b&gt;</p>" in page
    assert "p < 1 & <b>q</b>" in Page(page).sections[0]["text"]


def test_the_steps_on_the_sheet_are_those_of_the_masking():
    text = Page(worksheet_page(7)).sections[0]["text"]
    assert f"below {P}" in text and f"below({V})" in text
    assert "below 0.8 it shows [MASK], below 0.9 a random id, else itself" in text
    # A student who does what the sheet says, with what is printed on it, finds the key.
    for seed in range(60):
        sheet = worksheet(seed)
        uniforms, belows = iter(sheet.uniforms), iter(sheet.belows)
        inputs, labels = list(sheet.ids), [-100] * len(sheet.ids)
        for t, special in enumerate(sheet.special_mask):
            if special or next(uniforms) >= P:
                continue
            labels[t], action = sheet.ids[t], next(uniforms)
            if action < 0.9:
                inputs[t] = MASK_ID if action < 0.8 else next(belows)
        assert (inputs, labels) == (sheet.inputs, sheet.labels)


def test_the_plain_code_stands_under_each_key_and_on_no_sheet():
    sheet, key = worksheet_page(7, key=True).split('<section class="key">')
    assert "rng.uniform()" not in sheet and key.count("<pre>") == 1
    code = html.unescape(key.partition("<pre>")[2].partition("</pre>")[0])
    assert code == masking_routine() and "if special[t] or rng.uniform() >= p:" in code


def test_many_sheets_and_the_last_seed():
    assert len(Page(worksheet_page(0, MAX_SHEETS, key=True)).sections) == 2 * MAX_SHEETS == 400
    assert len(Page(worksheet_page(2**64 - 2, 2)).sections) == 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((7, 0), ValueError),
        ((7, 201), ValueError),
        ((7, -1), ValueError),
        ((7, 2.0), TypeError),
        ((7, True), TypeError),
        ((7, "3"), TypeError),
        ((-1, 1), ValueError),
        ((2**64 - 2, 3), ValueError),
        (("7", 1), TypeError),
        ((7, 1, "yes"), TypeError),
        ((7, 1, 0), TypeError),
    ],
)
def test_the_arguments_of_a_page_are_checked(arguments, error):
    with pytest.raises(error):
        worksheet_page(*arguments)


def test_a_masking_that_never_gives_a_sheet_is_an_error_and_no_loop(monkeypatch):
    never = lambda ids, *rest: (np.array(ids), np.full(len(ids), -100))  # noqa: E731
    monkeypatch.setattr(worksheets, "mlm_mask", never)
    with pytest.raises(ValueError, match=r"seed 3: none of 9999 streams gives a sheet; is mlm_mask right\?"):
        worksheet(3)
