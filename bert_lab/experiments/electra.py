"""ELECTRA against BERT's own objective: each trains the same encoder further, and heads are trained on both.

Both start from the shipped encoder. From random weights, minutes on one thread are too few for either of them
to help a head. Both have the same number of steps, the same rows in the same order, and the same learning
rate. A step of ELECTRA costs more, since the generator is trained too. So another row gives masked language
modeling more steps, up to the same number of multiply-adds. The last row is ELECTRA with the discriminator's
loss at the blanks alone. It measures what the other positions contribute.

In the stored run ELECTRA does not win. On "capitals" it is level with the others. On "order" it is above them
with one seed of three, below with another, and with the third the head learns nothing. With the loss at the
blanks alone, it is worse with every seed on "capitals", and no head learns "order". The paper trains from
random weights, and on far more text.

Source: Clark et al. 2020, sections 3.3 and 3.5.
"""

from __future__ import annotations

import copy
import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ..beyond.electra import Corrupted, Electra, trained_positions
from ..data.corpus import Corpus, manual_corpus
from ..data.tasks import WINDOW, Task, manual_tasks, window_starts
from ..masking import IGNORE
from ..model import BertEncoder, BertForMLM
from ..padding import BATCH
from ..rng import PCG32
from ..training.fitting import fit
from ..training.pretrain import Plan, batches_of
from ..training.shipped import manual_bert
from .base import Comparison, as_seeds, environment
from .heads import train_on

DEFAULTS = {"steps": 400}
BATCH_SIZE = 16  # rows a step
PEAK = 5e-4  # the highest learning rate
COUNTED_STEPS = 10  # whose multiply-adds are counted
START, MLM, LONGER = "shipped", "then MLM", "then MLM, as much work"
ELECTRA, ALONE = "then ELECTRA", "then ELECTRA, blanks alone"


class Learner(NamedTuple):
    """A way to pretrain an encoder.

    model: all that is trained. encoder: the part that is used afterwards. loss_of: step number -> loss.
    trained_positions: step number -> (positions that the loss sends a gradient to, real positions).
    """

    model: nn.Module
    encoder: BertEncoder
    loss_of: Callable[[int], Tensor]
    trained_positions: Callable[[int], tuple[int, int]]


def masked_lm(start: BertForMLM, corpus: Corpus, seed: int, steps: int) -> Learner:
    """Masked language modeling with a copy of `start`, masked as BERT masks."""
    model = copy.deepcopy(start)
    batches = batches_of(Plan(steps, seed=seed, batch=BATCH_SIZE), corpus)

    def inputs(step: int) -> list[Tensor]:
        batch = batches[step]
        return [batch[name] for name in BATCH]

    return Learner(
        model,
        model.encoder,
        loss_of=lambda step: model.mlm_loss(*inputs(step)),
        trained_positions=lambda step: trained_positions(model, *inputs(step)),
    )


def electra(
    start: BertForMLM, corpus: Corpus, seed: int, steps: int, *, blanks_alone: bool = False
) -> Learner:
    """ELECTRA with a copy of the encoder of `start` and a new generator. Every blank shows [MASK].

    blanks_alone: take the discriminator's loss at the blanks alone, instead of at every real position.
    """
    model, draws = Electra(start.config, rng=PCG32(seed)), PCG32(seed, stream=1)
    model.discriminator.encoder.load_state_dict(start.encoder.state_dict())
    batches = batches_of(Plan(steps, seed=seed, batch=BATCH_SIZE, split=(1, 0, 0)), corpus)

    def corrupted(step: int) -> tuple[Mapping, Corrupted]:
        batch = batches[step]
        got = model.corrupt(batch, draws)
        if blanks_alone:
            got = got._replace(replaced=got.replaced.masked_fill(~got.blanks, IGNORE))
        return batch, got

    def positions(step: int) -> tuple[int, int]:
        batch, got = corrupted(step)
        _, types, attn_mask, _ = (batch[name] for name in BATCH)
        return trained_positions(model.discriminator, got.ids, types, attn_mask, got.replaced)

    return Learner(
        model,
        model.discriminator.encoder,
        loss_of=lambda step: model.judge(*corrupted(step)).total,
        trained_positions=positions,
    )


def in_windows(corpus: Corpus) -> Corpus:
    """The corpus with its training passages in windows of `tasks.WINDOW` pieces, as in the tasks."""
    tok = corpus.tok
    parts = (
        passage[1:-1][at : at + WINDOW] for passage in corpus.train for at in window_starts(len(passage) - 2)
    )
    return replace(corpus, train=[[tok.cls_id, *part, tok.sep_id] for part in parts])


def cost(learner: Learner) -> tuple[int, float]:
    """Multiply-adds of a step, and the share of real positions that its loss sends a gradient to.

    Multiply-adds are those of matrix products, forward and backward. Both are means over the first
    `COUNTED_STEPS` steps. The learner's weights do not change.
    """
    work = trained = real = 0
    for step in range(COUNTED_STEPS):
        # The counter counts attention only if it is computed by plain matrix products.
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            learner.loss_of(step).backward()
        work += counter.get_total_flops() // 2
        positions = learner.trained_positions(step)
        trained, real = trained + positions[0], real + positions[1]
    return work // COUNTED_STEPS, trained / real


def run(
    seeds: int = 3,
    steps: int = DEFAULTS["steps"],
    *,
    start: BertForMLM | None = None,
    corpus: Corpus | None = None,
    tasks: Mapping[str, Task] | None = None,
    say: Callable[[str], None] = print,
) -> Comparison:
    """Train the encoder further in each way, then train the same heads on each result and on the start.

    Args:
        seeds: how many. Each has its own order of rows, masks, draws, generator and heads.
        steps: of further training, with `BATCH_SIZE` rows each.
        start: the model to start from; by default the shipped model.
        corpus: the text; by default the manual.
        tasks: what the heads learn; by default `manual_tasks()`.
        say: called with each result as a line of text.

    Raises TypeError or ValueError for seeds or steps below 1, or something else.
    """
    start = manual_bert()[0] if start is None else start
    corpus = in_windows(manual_corpus() if corpus is None else corpus)
    tasks = manual_tasks() if tasks is None else tasks
    alone = functools.partial(electra, blanks_alone=True)
    kinds = {START: masked_lm, MLM: masked_lm, LONGER: masked_lm, ELECTRA: electra, ALONE: alone}
    costs = {row: cost(kinds[row](start, corpus, 0, steps)) for row in (MLM, ELECTRA, ALONE)}
    costs |= {START: (0, 0.0), LONGER: costs[MLM]}
    longer = round(steps * costs[ELECTRA][0] / costs[MLM][0])
    steps_of = {**dict.fromkeys(kinds, steps), START: 0, LONGER: longer}
    scores: dict[str, list[float]] = {f"{task}: {row}": [] for task in tasks for row in kinds}
    seconds = dict.fromkeys(kinds, 0.0)
    for seed in as_seeds(seeds):
        for row, kind in kinds.items():
            learner = kind(start, corpus, seed, max(1, steps_of[row]))
            if steps_of[row]:
                begun = time.process_time()
                fit(learner.model, steps_of[row], learner.loss_of, peak=PEAK)
                seconds[row] += time.process_time() - begun
            for name, task in tasks.items():
                scores[f"{name}: {row}"].append(train_on(task, learner.encoder, seed))
                say(f"{name}: {row}, seed {seed}: {scores[f'{name}: {row}'][-1]:.4f}")
    names = ("work a step", "taught")
    facts = {row: {"steps": steps_of[row], **dict(zip(names, costs[row], strict=True))} for row in kinds}
    return Comparison(
        "electra",
        "balanced accuracy of a head trained on the encoder; a constant answer gets 0.5",
        {
            "steps": steps,
            "seeds": seeds,
            "rows": len(corpus.train),
            "rows a step": BATCH_SIZE,
            "peak": PEAK,
            "seconds of a step, ELECTRA / MLM": round(seconds[ELECTRA] / seconds[MLM], 2),
            **environment(),
        },
        scores,
        {f"{task}: {row}": facts[row] for task in tasks for row in kinds},
    )
