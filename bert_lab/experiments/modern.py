"""ModernBERT's changes one by one: equal steps on the same text, each row one change more than the last.

Every row is a `ModernForMLM` of four layers x 96 with three heads: enough layers for two local ones between
two global ones. A GeGLU is narrowed to two thirds, so that it has as many parameters. A window of 32 lets a
local layer see a quarter of the longest passage; ModernBERT's 128 would cover nearly all of it. All texts are
of token type 0: its vector is the same everywhere, one more bias, which ModernBERT leaves out too.

Source: Warner et al. 2024, section 2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from ..beyond.modern import ModernConfig, ModernForMLM, parameters_of, work
from ..data.corpus import MAX_LEN, Corpus, manual_corpus
from ..model import BertConfig
from ..rng import PCG32
from ..training.fitting import fit_mlm
from ..training.pretrain import Plan, batches_of, held_out_score
from ..training.readers import Blanks, bert_guesses, blanks_of
from .base import Comparison, as_seeds, made_here

DEFAULTS = {"steps": 800}
SIZES = {"d_model": 96, "n_heads": 3, "n_layers": 4, "d_ff": 384}
WINDOW, PEAK = 32, 2e-3
PASSAGES = 200  # of the held-out ones: their blanks are asked
ROWS = {  # the fields of `ModernConfig` that a row changes, besides those of the rows above it
    "BERT": {},
    "+ RoPE": {"rope": True},
    "+ GeGLU": {"geglu": True, "d_ff": 256},
    "+ pre-norm": {"pre_norm": True},
    "+ no biases": {"biases": False},
    "+ no token types": {"type_vocab": 0},
    "+ local": {"local_window": WINDOW},
}


def configs(vocab: int) -> dict[str, ModernConfig]:
    """The rows' configs: BERT, then one change more in each."""
    options, rows = asdict(BertConfig(vocab, MAX_LEN, dropout=0.0, **SIZES)), {}
    for row, change in ROWS.items():
        options |= change
        rows[row] = ModernConfig(**options)
    return rows


def compare(
    seeds: int = 3,
    steps: int = DEFAULTS["steps"],
    *,
    corpus: Corpus | None = None,
    say: Callable[[str], None] = print,
) -> Comparison:
    """Train every row with every seed, and fill the same blanks with each.

    seeds: how many; each has its own first weights, order of passages and masks, shared by all rows. steps:
    of 8 passages each. corpus: the manual's by default. say: told each result when it is there.

    Raises TypeError or ValueError for seeds or steps below 1, or something else.
    """
    seeds = as_seeds(seeds)
    corpus = corpus or manual_corpus()
    blanks = blanks_of(corpus)
    some = blanks.row < PASSAGES
    blanks = Blanks(blanks.passages, blanks.row[some], blanks.place[some])
    lengths = [len(passage) for passage in corpus.held_out]
    rows = configs(corpus.tok.vocab_size)
    scores, losses = ({row: [] for row in rows} for _ in range(2))
    for seed in seeds:
        for row, config in rows.items():
            model = trained(config, corpus, seed, steps)
            guesses = bert_guesses(model, blanks, corpus.tok.mask_id)
            scores[row].append(float((guesses == blanks.answers).mean()))
            losses[row].append(held_out_score(model, corpus)[-1])
            told = f"{scores[row][-1]:.4f} of the blanks, held-out loss {losses[row][-1]:.4f}"
            say(f"{row}, seed {seed}: {told}")
    facts = {
        row: {
            "parameters": sum(parameters_of(config).values()),
            "work a token": round(work(config, lengths) / sum(lengths)),
            "held-out loss": sum(losses[row]) / len(seeds),
        }
        for row, config in rows.items()
    }
    return Comparison(
        "modern",
        "share of the ladder's blanks filled; each row has one change more than the one above it",
        {
            "steps": steps,
            "seeds": len(seeds),
            "blanks": len(blanks.row),
            "passages": len(corpus.train),
            **SIZES,
            "peak": PEAK,
            "window": WINDOW,
            "global layers": "0 and 3",
            **made_here(),
        },
        scores,
        facts,
    )


def trained(config: ModernConfig, corpus: Corpus, seed: int, steps: int) -> ModernForMLM:
    """A new model after so many steps of masked-language modeling, in eval mode."""
    model = ModernForMLM(config, PCG32(seed))
    batches = batches_of(Plan(steps, seed=seed), corpus)
    fit_mlm(model, batches, steps, peak=PEAK)
    return model
