"""The faults that a good test catches: the reference with one line changed, each a mistake that people make.

There is one copy of the reference: a mutant is a row here, its old text stands in the reference exactly once,
and the faulty code is made from the reference's source when it is asked for, in memory. Nothing is compiled
to a file, so that no stale bytecode can come into play.
"""

from __future__ import annotations

import functools
import importlib
import linecache
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from unittest import mock

import bert_lab

_PACKAGE = Path(bert_lab.__file__).parent
# A changed module, and the modules that must be made anew because they use it.
_USERS = {
    "masking": ["masking", "batches"],
    "batches": ["batches"],
    "packing": ["packing", "model", "checkpoint"],
    "model": ["model", "checkpoint"],
}


@dataclass(frozen=True)
class Mutant:
    """One fault: where it is, what it changes, and what the person who makes it believes."""

    id: str
    pitfall: str  # the pitfall's title in the course text, section 5
    module: str  # the module of bert_lab that is changed
    old: str  # stands in that module exactly once
    new: str
    misconception: str
    tests: tuple[str, ...]  # course tests that turn red
    chapter: str  # a chapter that turns red under nbval


MUTANTS = {
    row.id: row
    for row in [
        Mutant(
            "s01",
            "special or padded positions picked",
            "masking",
            "        if special[t]:\n            continue\n",
            "",
            "Every position is a word, so every position may be picked.",
            ("test_hand_example_mlm_mask", "test_mask_follows_the_op_order", "test_mlm_batch_from_text"),
            "01_mask_by_hand",
        ),
        Mutant(
            "s02",
            "every position labelled",
            "masking",
            "def _mask_one_by_one(ids, special, mask_id, vocab, p, rng, split):\n"
            '    """The order of draws, position by position; ids int64 [N], special bool [N]."""\n'
            "    inputs = ids.copy()\n"
            "    labels = np.full_like(ids, IGNORE)\n",
            "def _mask_one_by_one(ids, special, mask_id, vocab, p, rng, split):\n"
            "    inputs = ids.copy()\n"
            "    labels = ids.copy()\n",
            "The labels are the sentence; the loss will see to the rest.",
            ("test_hand_example_mlm_mask", "test_mask_follows_the_op_order", "test_mask_rates"),
            "01_mask_by_hand",
        ),
        Mutant(
            "s03",
            "random and keep swapped",
            "masking",
            "        elif action == 1:\n",
            "        elif action == 2:\n",
            "Both have a share of a tenth, so their order cannot matter.",
            (
                "test_hand_example_mlm_mask",
                "test_keep_action_still_predicts",
                "test_mask_follows_the_op_order",
            ),
            "01_mask_by_hand",
        ),
        Mutant(
            "s04",
            "the label is what was shown, not the original",
            "masking",
            "            inputs[t] = rng.below(vocab)\n    return inputs, labels\n",
            "            inputs[t] = rng.below(vocab)\n"
            "    return inputs, np.where(labels == IGNORE, IGNORE, inputs)\n",
            "The model is to predict what stands at the position.",
            ("test_hand_example_mlm_mask", "test_mask_follows_the_op_order", "test_mlm_batch_from_text"),
            "01_mask_by_hand",
        ),
        Mutant(
            "s05",
            "a second uniform drawn for every position",
            "masking",
            "        if rng.uniform() >= p:\n            continue\n        labels[t] = original\n"
            "        action = sample_categorical(split, rng.uniform())\n",
            "        u, u_action = rng.uniform(), rng.uniform()\n"
            "        if u >= p:\n            continue\n        labels[t] = original\n"
            "        action = sample_categorical(split, u_action)\n",
            "Two draws a position are simpler, and the rates are the same.",
            ("test_hand_example_mlm_mask", "test_mask_follows_the_op_order"),
            "01_mask_by_hand",
        ),
        Mutant(
            "s06",
            "GPT-2's tanh GELU instead of the exact one",
            "model",
            "F.gelu(self.ff_in(h))",
            'F.gelu(self.ff_in(h), approximate="tanh")',
            "GELU is GELU; the tanh form is only a faster way to write it.",
            ("test_layer_matches_the_formula", "test_golden_hf_bert"),
            "04_build_the_encoder",
        ),
        Mutant(
            "s07",
            "pre-LN instead of BERT's post-LN",
            "model",
            "        mixed = self.attention(h, rows, allowed)\n"
            "        if places is not None:\n"
            "            h, mixed = h.index_select(0, places), mixed.index_select(0, places)\n"
            "        h = self.attention_norm(h + self.drop(self.attention.output(mixed)))\n"
            "        return self.ff_norm(h + self.drop(self.ff_out(F.gelu(self.ff_in(h)))))\n",
            "        mixed = self.attention(self.attention_norm(h), rows, allowed)\n"
            "        if places is not None:\n"
            "            h, mixed = h.index_select(0, places), mixed.index_select(0, places)\n"
            "        h = h + self.drop(self.attention.output(mixed))\n"
            "        return h + self.drop(self.ff_out(F.gelu(self.ff_in(self.ff_norm(h)))))\n",
            "The norm goes before each part, as in GPT-2 and in most models since.",
            ("test_layer_matches_the_formula", "test_golden_hf_bert"),
            "04_build_the_encoder",
        ),
        Mutant(
            "s08",
            "padding keys not masked",
            "packing",
            "        keys = rows.real[:, None, None, :]",
            "        keys = torch.ones_like(rows.real)[:, None, None, :]",
            "Padding is zeros, and zeros add nothing.",
            ("test_padding_is_never_read", "test_golden_hf_bert"),
            "05_read_both_ways",
        ),
        Mutant(
            "s09",
            "token types never added",
            "model",
            "        h = h + self.token_type(rows.pack(types))\n",
            "",
            "Token types are for pairs, and this is one sentence.",
            ("test_token_types_are_added", "test_layer_matches_the_formula", "test_golden_hf_bert"),
            "04_build_the_encoder",
        ),
        Mutant(
            "s10",
            "the decoder bias left out",
            "model",
            "F.linear(z, self.encoder.word.weight, self.decoder_bias)",
            "F.linear(z, self.encoder.word.weight)",
            "The decoder is the word table, and a table has no bias.",
            ("test_golden_hf_bert", "test_decoder_is_tied_and_has_a_bias"),
            "06_predict_the_blank",
        ),
        Mutant(
            "s11",
            "a causal mask copied from GPT",
            "model",
            "        return self.drop(self.norm(h)), rows, as_allowed(allowed, rows)\n",
            "        allowed = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()\n"
            "        return self.drop(self.norm(h)), rows, as_allowed(allowed, rows)\n",
            "Attention needs a triangular mask, or it would see the answer.",
            ("test_reads_both_directions", "test_golden_hf_bert"),
            "05_read_both_ways",
        ),
        Mutant(
            "s12",
            "special or padded positions picked",
            "batches",
            "np.isin(ids, specials)",
            "np.isin(ids, [s for s in specials if s != tok.pad_id])",
            "Padding is added after the text, so it is no special token.",
            ("test_mlm_batch_from_text",),
            "03_from_text_to_batches",
        ),
    ]
}


def mutant(id: str) -> Mutant:
    """The row of this id; a ValueError that lists the ids when there is none."""
    if id not in MUTANTS:
        raise ValueError(f"mutant: expected one of {', '.join(MUTANTS)}, got {id!r}")
    return MUTANTS[id]


def mutated_source(row: Mutant) -> str:
    """The source of the row's module with the fault in it; ValueError unless the old text is there once."""
    source = _reference_source(row.module)
    found = source.count(row.old)
    if found != 1:
        raise ValueError(
            f"mutant {row.id}: expected its old text in {row.module}.py once, found it {found} times"
        )
    source = source.replace(row.old, row.new)
    if row.module == "masking":
        # The readable loop is the reference. Its twin would hide the fault from a PCG32, so it has to go.
        source += "\n\n_mask_in_blocks = _mask_one_by_one\n"
    return source


def load_mutant(id: str) -> ModuleType:
    """The contract's names with this one fault in them; what the fault does not touch is bert_lab's own."""
    row = mutant(id)
    faulty = ModuleType(f"bert_lab_{row.id}", f"bert_lab, but {row.pitfall}.")
    faulty.__getattr__ = functools.partial(getattr, bert_lab)
    # Under their own names, for as long as they are imported: the copies then find each other, and all else.
    names = [f"bert_lab.{name}" for name in _USERS[row.module]]
    for name in names:
        importlib.import_module(name)  # what they import, torch for one, cannot be imported a second time
    with mock.patch.dict(sys.modules, {name: ModuleType(name) for name in names}):
        for name in names:
            module, stem = sys.modules[name], name.partition(".")[2]
            source = mutated_source(row) if stem == row.module else _reference_source(stem)
            _run(source, module, f"<{stem}.py of {row.id}>")
            vars(faulty).update(
                (key, vars(module)[key]) for key, home in bert_lab._HOME.items() if home == stem
            )
    return faulty


def _reference_source(module: str) -> str:
    return (_PACKAGE / f"{module}.py").read_text(encoding="utf-8")


def _run(source: str, module: ModuleType, filename: str) -> None:
    """Run the source as the body of the module; tracebacks show its lines."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    module.__package__ = "bert_lab"
    exec(compile(source, filename, "exec"), vars(module))


def write_mutant(id: str, folder: Path) -> Path:
    """Write a copy of the whole package with this one fault into `folder`; return the copy's path.

    With `folder` first on PYTHONPATH, another process runs the faulty code, a notebook's kernel for example.
    """
    row = mutant(id)
    copy = Path(folder) / "bert_lab"
    shutil.copytree(_PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / f"{row.module}.py").write_text(mutated_source(row), encoding="utf-8")
    return copy
