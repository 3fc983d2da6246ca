"""Worksheets: for each seed one sentence to mask by hand, with the answer key, in a notebook or on paper."""

import html

from bert_lab.checks import as_index
from bert_lab.course.capstone import masking_routine
from bert_lab.labs.microscope import trace
from bert_lab.labs.strip import fates_of
from bert_lab.masking import mlm_mask
from bert_lab.rng import PCG32
from bert_lab.text_table import text_table

# The vocabulary of the examples worked by hand: V = 40.
_PIECES = """
[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on dog mat a our this ran slept bird sang red big small new quiet
tall fish swam boat child read fell here now again far waited tree jumped hill house moved
"""
TINY_VOCAB = tuple(_PIECES.split())
MASK_ID, V, P = TINY_VOCAB.index("[MASK]"), len(TINY_VOCAB), 0.15
_KINDS = {
    "determiner": ("the", "a", "our", "this"),
    "adjective": ("red", "big", "small", "new", "quiet", "tall"),
    "noun": ("cat", "dog", "bird", "fish", "child"),
    "verb": ("sat", "ran", "slept", "sang", "swam", "read", "fell", "waited", "jumped", "moved"),
    "adverb": ("here", "now", "again", "far"),
}
_SENTENCES = (
    ("determiner", "noun", "verb"),
    ("determiner", "adjective", "noun", "verb"),
    ("determiner", "noun", "verb", "adverb"),
)
_STREAMS = 10_000  # at most: one of the first few hundred makes a sheet, if the masking is right
_BELOWS = 2  # how many random ids a sheet lists
_COLUMNS = ("position", "token", "id", "special?", "draws", "picked?", "action", "shown", "label")
_ACTIONS = {"M": "[MASK]", "R": "random", "K": "keep"}


class Worksheet:
    """One sentence to mask by hand, and the answer key if `key` is true.

    `ids`, `special_mask`: the row, T ints each. `uniforms`, `belows`: the printed draws in order, with a few
    more than needed. `inputs`, `labels`: the key, T ints each, from `mlm_mask(..., PCG32(seed, stream))`.
    """

    def __init__(self, seed: int, key: bool):
        self.seed, self.key = seed, key
        choose = PCG32(seed, 0)
        kinds = _SENTENCES[choose.below(len(_SENTENCES))]
        words = [_KINDS[kind][choose.below(len(_KINDS[kind]))] for kind in kinds]
        self.tokens = ["[CLS]", *words, "[SEP]", "[PAD]"]
        self.ids = [TINY_VOCAB.index(token) for token in self.tokens]
        self.special_mask = [int(i < 5) for i in self.ids]
        for self.stream in range(1, _STREAMS):
            if self._draw():
                return
        raise ValueError(f"seed {seed}: none of {_STREAMS - 1} streams gives a sheet; is mlm_mask right?")

    def _draw(self) -> bool:
        """Mask the row with this stream. True if it is a good exercise, for which two digits are enough."""
        row = (self.ids, self.special_mask, MASK_ID, V, P)
        inputs, labels = mlm_mask(*row, PCG32(self.seed, self.stream))
        self.inputs, self.labels = inputs.tolist(), labels.tolist()
        self.fates = fates_of(self.ids, self.special_mask, self.inputs, self.labels, MASK_ID)
        if sum(fate in "MRK" for fate in self.fates) < 2 or set("RK").isdisjoint(self.fates):
            return False  # too few picks, or [MASK] alone
        rng = PCG32(self.seed, self.stream)
        self.steps, _, _ = trace(self.tokens, *row, rng)
        uniforms = [step.value for step in self.steps if step.kind != "below"]
        self.belows = [step.value for step in self.steps if step.kind == "below"]
        words = sum(not special for special in self.special_mask)
        uniforms += [rng.uniform() for _ in range(2 * words - len(uniforms))]
        self.belows += [rng.below(V) for _ in range(_BELOWS - len(self.belows))]
        self.uniforms = [float(f"{u:.2f}") for u in uniforms]
        # The thresholds have two digits: a rounded draw that equals none of them is on the side of the draw.
        return len(self.belows) == _BELOWS and {0.15, 0.8, 0.9, 1.0}.isdisjoint(self.uniforms)

    def rows(self, key: bool) -> list[tuple[str, ...]]:
        """The table: a tuple of texts for each position. Without the key, the last five texts are blank."""
        out = []
        for t, (token, i, special) in enumerate(zip(self.tokens, self.ids, self.special_mask, strict=True)):
            given = (str(t), token, str(i), "yes" if special else "no")
            out.append((*given, *(self._key(t) if key else [""] * 5)))
        return out

    def _key(self, t: int) -> tuple[str, ...]:
        steps = [step for step in self.steps if step.position == t]
        draws = ", ".join(str(s.value) if s.kind == "below" else f"{s.value:.2f}" for s in steps) or "none"
        picked = "" if not steps else "yes" if len(steps) > 1 else "no"
        action = _ACTIONS[steps[1].fates[t]] if len(steps) > 1 else ""
        return draws, picked, action, str(self.inputs[t]), str(self.labels[t])

    def task(self) -> list[str]:
        """The lines of the task."""
        return [
            f"p = {P}, V = {V}, [MASK] = {MASK_ID}, split 0.8 / 0.1 / 0.1",
            "uniforms, in order: " + ", ".join(f"{u:.2f}" for u in self.uniforms),
            f"below({V}), in order: " + ", ".join(map(str, self.belows)),
            "Take a draw only where the steps ask for one; some are left over.",
        ]

    def answer(self) -> list[str]:
        """The last lines of the key."""
        uniforms = sum(step.kind != "below" for step in self.steps)
        return [
            f"inputs {self.inputs}",
            f"labels {self.labels}",
            f"{uniforms} uniforms and {len(self.steps) - uniforms} below({V}) are used.",
        ]

    def __repr__(self) -> str:
        lines = [f"Worksheet {self.seed}", *self.task(), "", self._text(False)]
        if self.key:
            lines += ["", "Answer key", self._text(True), "", *self.answer()]
        return "\n".join(lines)

    def _text(self, key: bool) -> str:
        return text_table([_COLUMNS, *self.rows(key)])

    def _repr_html_(self) -> str:
        task, answer = ("<br>".join(map(html.escape, lines)) for lines in (self.task(), self.answer()))
        sheet = f"<p><b>Worksheet {self.seed}</b><br>{task}</p>{self._table(False)}"
        if self.key:
            # Closed, the key is neither visible nor printed. A teacher opens it to print it.
            sheet += f"<details><summary>Answer key</summary>{self._table(True)}<p>{answer}</p></details>"
        return f'<div style="page-break-inside:avoid">{sheet}</div>'

    def _table(self, key: bool) -> str:
        cell = "border:1px solid #777777;padding:6px 10px;text-align:left"
        head = "".join(f'<th scope="col" style="{cell}">{name}</th>' for name in _COLUMNS)
        body = "".join(
            "<tr>" + "".join(f'<td style="{cell}">{html.escape(text)}</td>' for text in row) + "</tr>"
            for row in self.rows(key)
        )
        table = "border-collapse:collapse"
        return f'<table style="{table}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def _page(self, key: bool) -> str:
        """A section of a printed document: the sheet to fill in, or its key."""
        title = f"{'Key to worksheet' if key else 'Worksheet'} {self.seed}"
        who = "" if key else '<span class="who">Name</span>'
        lines = _paragraph(self.answer()) if key else f"<ol>{_each('li', _STEPS)}</ol>"
        code = f"\n<pre>{html.escape(masking_routine())}</pre>" if key else ""
        head = "".join(
            f'<th scope="col"{" class=write" if blank else ""}>{html.escape(name)}</th>'
            for name, blank in zip(_COLUMNS, [False] * 4 + [True] * 5, strict=True)
        )
        body = "\n".join(f"<tr>{_each('td', row)}</tr>" for row in self.rows(key))
        kind = ' class="key"' if key else ""
        return (
            f"<section{kind}>\n<header><h1>{title}</h1>{who}</header>\n{_paragraph(self.task())}\n{lines}\n"
            f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>{code}\n</section>"
        )


def _each(tag: str, texts) -> str:
    return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)


def _paragraph(lines: list[str]) -> str:
    return f"<p>{'<br>'.join(map(html.escape, lines))}</p>"


def worksheet(seed: int, key: bool = True) -> Worksheet:
    """A sentence to mask by hand, another one for each seed: 6 or 7 positions, at least two of them picked.

    seed: 0 <= seed < 2^64. key: False leaves the answers out. The result is shown as a table, in HTML and in
    plain text. Its key is the result of `mlm_mask` with a PCG32. The draws are printed with two digits, which
    are enough for every decision. Raises TypeError or ValueError for another seed, or a key that is no bool.
    """
    if not isinstance(key, bool):
        raise TypeError(f"key must be True or False, got {key!r}")
    return Worksheet(seed, key)


MAX_SHEETS = 200  # sheets in one document

_STEPS = (
    "A special position ([CLS], [SEP], [PAD]) takes no draw.",
    f"Any other takes a uniform. It is picked when that is below {P}.",
    "A picked one takes a second uniform: below 0.8 it shows [MASK], below 0.9 a random id, else itself.",
    f"Only a random id takes a number from the list of below({V}).",
    "The label of a picked position is its own id; of any other it is -100.",
)
_STYLE = """
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; background: #fff; color: #000;
  font: 12pt/1.5 sans-serif }
section { margin-bottom: 4rem; overflow-x: auto }
h1 { font-size: 16pt; margin: 0 0 0.5rem }
header { display: flex; justify-content: space-between; align-items: baseline; gap: 2rem }
.who { flex: 0 1 20rem; border-bottom: 1px solid #000 }
ol { margin: 0.5rem 0; padding-left: 1.5rem }
table { border-collapse: collapse; width: 100%; margin-top: 1rem }
th, td { border: 1px solid #000; padding: 0.2rem 0.5rem; text-align: left; white-space: nowrap }
td { height: 13mm }
.key td { height: auto }
pre { margin: 0.5rem 0 0; font-size: 9pt; line-height: 1.2; overflow-x: auto }
th.write { width: 13% }
@page { size: landscape; margin: 12mm }
@media print {
  body { margin: 0; max-width: none; padding: 0; font-size: 11pt }
  section { margin: 0; overflow: visible; break-after: page; break-inside: avoid }
  section:last-child { break-after: auto }
}
"""


def worksheet_page(seed: int, count: int = 1, key: bool = False) -> str:
    """Worksheets to print: an HTML document with the sheets of the seeds from `seed` on.

    Each sheet is one page. With `key`, the keys follow after all the sheets, one page each, so that a teacher
    can take them from the end of the pile. Under each key stands the plain code of the masking.

    seed: 0 <= seed < 2^64, for the last sheet too. count: 1 to 200. key: True or False. Raises TypeError or
    ValueError for anything else.
    """
    count = as_index(count, "count", 1, MAX_SHEETS + 1)
    seed = as_index(seed, "seed", 0, 2**64 - count + 1)
    sheets = [worksheet(number, key) for number in range(seed, seed + count)]
    title = f"Worksheet {seed}" if count == 1 else f"Worksheets {seed} to {seed + count - 1}"
    pages = [sheet._page(False) for sheet in sheets] + [sheet._page(True) for sheet in sheets if key]
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}: mask by hand</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(pages)
        + "\n</body>\n</html>\n"
    )
