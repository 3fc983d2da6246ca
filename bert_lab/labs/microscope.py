"""The draw microscope: the masking of one sentence, one draw at a time."""

import dataclasses
import re
from collections.abc import Callable, Sequence

import traitlets

from bert_lab import masking
from bert_lab.labs.base import as_table, digits, inline_text
from bert_lab.labs.js_lab import JsLab, words
from bert_lab.labs.strip import CHOSEN, PENDING, Strip
from bert_lab.rng import PCG32, sample_categorical
from bert_lab.wordpiece import book_tokenizer, special_ids


@dataclasses.dataclass(frozen=True)
class Step:
    """One draw in the masking of a row of T positions, and the row after it.

    position: index in the row; token: the original token. kind: "pick", "action" or "below". raws: the raw
    words that it used, rejected ones first. value: the uniform, or the integer from `below`. says: what it
    decides, in one sentence. fates, shown: the row after this draw, [T] letters as for a token strip and [T]
    ids.
    """

    position: int
    token: str
    kind: str
    raws: tuple[int, ...]
    value: float | int
    says: str
    fates: tuple[str, ...]
    shown: tuple[int, ...]


class Recorder:
    """A generator that returns the draws of a PCG32 and records them.

    `draws` lists them as (name, n, raw words, value); name is "uniform" or "below", and n is None for a
    uniform.
    """

    def __init__(self, rng: PCG32):
        self.rng = rng
        self.draws: list[tuple[str, int | None, tuple[int, ...], float | int]] = []

    def uniform(self) -> float:
        """The generator's next uniform."""
        return self._keep("uniform", None, lambda: self.rng.uniform())

    def below(self, n: int) -> int:
        """The generator's next integer below n."""
        return self._keep("below", n, lambda: self.rng.below(n))

    def _keep(self, name, n, draw):
        again = self.rng.copy()
        value = draw()
        raws = []
        while again != self.rng:  # draw the same words again: `below` may have used several
            raws.append(again.next_u32())
        self.draws.append((name, n, tuple(raws), value))
        return value


def trace(
    tokens: Sequence[str],
    ids: Sequence[int],
    special_mask: Sequence[int],
    mask_id: int,
    vocab: int,
    p: float,
    rng: PCG32,
    name: Callable[[int], str] = str,
) -> tuple[list[Step], list[int], list[int]]:
    """Mask one row as `mlm_mask` does, and explain each draw: (steps, inputs, labels).

    tokens: T texts; ids, special_mask: [T]; mask_id, vocab, p: as in `mlm_mask`; rng: a PCG32, which advances
    as in `mlm_mask`. name: id -> the token's text, for the sentence about a random id. Returns a `Step` for
    each draw, and the row's inputs and labels, T ints each. Raises as `mlm_mask` does, and ValueError if the
    lengths differ.
    """
    if not len(tokens) == len(ids) == len(special_mask):
        counts = f"{len(tokens)} tokens, {len(ids)} ids and {len(special_mask)} special flags"
        raise ValueError(f"a trace needs as many ids and special flags as tokens, got {counts}")
    steps, inputs, labels = [], [], []
    fates = ["S" if special else PENDING for special in special_mask]
    shown: list[int | None] = list(ids)
    for t, token in enumerate(tokens):
        recorder = Recorder(rng)
        # Positions draw one after another, so the row can be masked one position at a time.
        one_input, one_label = masking.mlm_mask(
            ids[t : t + 1], special_mask[t : t + 1], mask_id, vocab, p, recorder
        )
        inputs.append(int(one_input[0]))
        labels.append(int(one_label[0]))
        for i, (kind, n, raws, value) in enumerate(recorder.draws):
            if kind == "below":
                fates[t], shown[t] = "R", value
                says = f"{_rejections(raws, n)}{_hex(raws[-1])} mod {n} = {value}: show `{name(value)}`."
            elif i == 0:
                kind = "pick"
                fates[t], says = _pick(value, p, token)
            else:
                kind = "action"
                fates[t], says = _action(value, token)
                shown[t] = {"M": mask_id, "R": None, "K": ids[t]}[fates[t]]
            steps.append(Step(t, token, kind, raws, value, says, tuple(fates), tuple(shown)))
    return steps, inputs, labels


def _pick(u: float, p: float, token: str) -> tuple[str, str]:
    text = digits(u, [p])
    if u < p:
        return CHOSEN, f"{text} < {p:g}: picked, and the label is `{token}`."
    return "-", f"{text} >= {p:g}: not picked."


def _action(u: float, token: str) -> tuple[str, str]:
    masked, random, _ = masking.BERT_SPLIT
    low, high = masked, masked + random
    text = digits(u, [low, high])
    return [
        ("M", f"{text} < {low:g}: show `[MASK]`."),
        ("R", f"{low:g} <= {text} < {high:g}: show a random token; the next draw says which."),
        ("K", f"{text} >= {high:g}: keep `{token}`."),
    ][sample_categorical(masking.BERT_SPLIT, u)]


def _rejections(raws: tuple[int, ...], n: int) -> str:
    if len(raws) == 1:
        return ""
    rejected = ", ".join(_hex(raw) for raw in raws[:-1])
    return f"{rejected} rejected, being below 2^32 mod {n} = {2**32 % n}; "


def _hex(raw: int) -> str:
    return f"0x{raw:08x}"


_WRITTEN = {
    int: re.compile(r"[+-]?[0-9]+"),
    float: re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE),
}


class _Typed(traitlets.TraitType):
    """A number, or text that was typed instead: the lab says what is wrong with it."""

    def __init__(self, kind: type):
        super().__init__()
        self.kind = kind
        # JSON in a browser cannot hold a seed of 64 bits as a number.
        self.tag(sync=True, to_json=lambda value, _: str(value))

    def validate(self, obj, value):
        if isinstance(value, str) and _WRITTEN[self.kind].fullmatch(value.strip()):
            return self.kind(value)
        return value


class DrawMicroscope(JsLab):
    """Step through the draws that mask one sentence.

    `text`, `seed` and `p` are the values of the fields. `step` is the number of the present draw, from 1; 0
    is before the first draw. They can be changed in the lab and from another cell. The lab says what is wrong
    with a value that cannot be used. `steps`, `inputs` and `labels` are the results.
    """

    module = "microscope"
    title = "Draw microscope"
    how_to = "one sentence, masked draw by draw. Press Next, or move the slider with the arrow keys."
    text = traitlets.Unicode().tag(sync=True)
    seed = _Typed(int)
    p = _Typed(float)
    step = traitlets.Int(min=0).tag(sync=True)
    row = traitlets.Dict().tag(sync=True)  # the last text that was split, and its ids
    words = traitlets.Tuple().tag(sync=True)

    def __init__(self, text: str = "the cat sat on the mat", seed: int = 42, p: float = 0.15, step: int = 0):
        self.tokens, self.fates, self.steps, self.inputs, self.labels = [], [], [], [], []
        super().__init__(text=text, seed=seed, p=p, step=step, words=words())
        self.watch("text", "seed", "p")
        self.observe(self._stay_inside, names="step")
        self.refresh()

    def move(self, by: int) -> None:
        """Go `by` draws further, up to either end. After an error, do nothing."""
        if not self.error:
            self.step = min(max(self.step + by, 0), len(self.steps))

    def _stay_inside(self, _change=None) -> None:
        if self._held:
            self._waiting = True  # the sentence may be about to change too
        elif not self.error:
            self.step = min(self.step, len(self.steps))

    def refresh(self, _change=None) -> None:
        """Recompute. After an error, clear all results of earlier values."""
        super().refresh()
        if self.error:
            self.tokens, self.fates, self.steps, self.inputs, self.labels = [], [], [], [], []
        self._stay_inside()

    def draw(self) -> None:
        """Trace the sentence."""
        if not self.text.strip():
            raise ValueError("sentence: expected at least one word, got an empty text")
        tok = book_tokenizer()
        ids = tok.encode(self.text)
        self.row = {"text": self.text, "ids": ids}
        for name, kind in (("seed", int), ("p", float)):
            if isinstance(getattr(self, name), str):
                wanted = "a whole number" if kind is int else "a number"
                raise ValueError(f"{name}: expected {wanted}, got {getattr(self, name)!r}")
        specials = set(special_ids(tok))
        self.tokens = tok.tokens(ids)
        self.fates = ["S" if i in specials else PENDING for i in ids]
        self.steps, self.inputs, self.labels = trace(
            self.tokens,
            ids,
            [i in specials for i in ids],
            tok.mask_id,
            tok.vocab_size,
            self.p,
            PCG32(self.seed),
            self._name,
        )

    def _name(self, i: int) -> str:
        return self.words[i]

    def current_rows(self) -> list[tuple[str, str]]:
        """The facts of the current draw: pairs of a name and a text in which `backticks` mark code."""
        at, count = self.step, len(self.steps)
        rows = [("draw", f"none yet, of {count}")]
        if at > 0:
            step = self.steps[at - 1]
            purpose = f"{step.kind}, position {step.position}, `{step.token}`"
            rows = [("draw", f"{at} of {count}: {purpose}")]
            rows.append(("raw word", ", ".join(f"`{_hex(raw)}`" for raw in step.raws)))
            if step.kind != "below":
                rows.append(("uniform", f"`{_hex(step.raws[-1])}` / 2^32 = {step.value:.10f}"))
            rows.append(("decides", step.says))
        if at == count:
            rows += [("inputs", f"`{self.inputs}`"), ("labels", f"`{self.labels}`")]
        return rows

    def current_strip(self) -> Strip:
        """The row so far."""
        if self.step == 0:
            return Strip(self.tokens, self.fates)
        step = self.steps[self.step - 1]
        shown = ["?" if i is None else self._name(i) for i in step.shown]
        return Strip(self.tokens, step.fates, shown, at=step.position)

    def as_text(self) -> str:
        """The current draw and the row so far, as plain text."""
        if self.error:
            return super().as_text()
        rows = "\n".join(f"{name:<9} {inline_text(text)}" for name, text in self.current_rows())
        return f"{super().as_text()}\n{rows}\n{self.current_strip()!r}"

    def picture(self) -> str:
        """The current draw and the row so far, as HTML."""
        if self.error:
            return ""
        return as_table(self.current_rows()) + self.current_strip()._repr_html_()
