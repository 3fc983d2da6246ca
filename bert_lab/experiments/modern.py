"""ModernBERT's changes one by one. Each row has one change more than the row before it, and the same steps.

Every row is a `ModernForMLM` of four layers x 96 with three heads: enough layers for two local ones between
two global ones. With GeGLU, d_ff is two thirds, so that the number of parameters stays the same. A window of
32 lets a local layer see a quarter of the longest passage. ModernBERT's 128 would cover nearly all of it. All
texts have token type 0: its vector is the same at all positions, like a bias, and ModernBERT leaves it out.

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
from .base import Comparison, as_seeds, environment

DEFAULTS = {"steps": 800}
SIZES = {"d_model": 96, "n_heads": 3, "n_layers": 4, "d_ff": 384}
WINDOW, PEAK = 32, 2e-3
PASSAGES = 200  # of the held-out ones, whose blanks are filled
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
    """The config of each row: BERT's, then one change more in each."""
    options, rows = asdict(BertConfig(vocab, MAX_LEN, dropout=0.0, **SIZES)), {}
    for row, change in ROWS.items():
        options |= change
        rows[row] = ModernConfig(**options)
    return rows


def run(
    seeds: int = 3,
    steps: int = DEFAULTS["steps"],
    *,
    corpus: Corpus | None = None,
    say: Callable[[str], None] = print,
) -> Comparison:
    """Train every row with every seed, and fill the same blanks with each model.

    seeds: how many. Each has its own initial weights, order of passages and masks, the same for all rows.
    steps: of 8 passages each. corpus: the manual's by default. say: called with each result as a line of
    text.

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
            model = train(config, corpus, seed, steps)
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
            **environment(),
        },
        scores,
        facts,
    )


def train(config: ModernConfig, corpus: Corpus, seed: int, steps: int) -> ModernForMLM:
    """Train a new model by masked language modeling; return it in eval mode."""
    model = ModernForMLM(config, PCG32(seed))
    batches = batches_of(Plan(steps, seed=seed), corpus)
    fit_mlm(model, batches, steps, peak=PEAK)
    return model
