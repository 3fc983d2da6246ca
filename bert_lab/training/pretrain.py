"""Pretraining of a small BERT on text. A run that was stopped can be resumed, and ends with the same weights.

A step depends only on the weights, AdamW's two moments and the number of the step. The order of the passages
and their masks come from random streams that are keyed by the seed, the epoch and the passage. There is no
dropout, since each epoch has new masks. The state of a run is one file, which is replaced atomically.

Source: Devlin et al. 2019, section 3.1 and appendix A.2; Liu et al. 2019, section 4.1, for dynamic masking.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from ..checkpoint import load_bert, save_bert
from ..checks import as_bool, as_index, as_probability, as_real, as_split
from ..data.corpus import MAX_LEN, Corpus
from ..data.datasets import MLMCollator, MLMDataset
from ..files import write_files
from ..hf.weights import read_state, read_words, write_state
from ..masking import BERT_SPLIT, IGNORE
from ..model import BertConfig, BertForMLM
from ..padding import BATCH, mean_cross_entropy
from ..rng import PCG32, epoch_order
from ..wordpiece import WordPieceTokenizer, special_ids
from .fitting import learning_rate, optimizer_of, update

SIZES = {
    "tiny": {"d_model": 128, "n_heads": 2, "n_layers": 2, "d_ff": 512},
    "small": {"d_model": 192, "n_heads": 4, "n_layers": 4, "d_ff": 768},
}
# Measured on two cores. `--minutes` is converted by these numbers, so that the same minutes give the same
# steps on every machine.
STEPS_A_MINUTE = {"tiny": 1700, "small": 600}
EVALUATIONS = 20  # on the held-out passages, in one run
HISTORY_ENTRIES = 200  # at most, in one run
HELD_OUT_P = 0.15  # for the masks of the held-out passages, which do not depend on the run's p and seed
_ZERO_SUMS = {"loss": 0.0, "hits": 0, "labels": 0, "steps": 0}  # over the steps since the last entry
STATE, RECORD = "training.safetensors", "training.json"


@dataclass(frozen=True)
class Plan:
    """The settings of a run. They, the text and torch's number of threads determine the trained weights.

    steps: how many updates. config: "tiny" (2 layers x 128) or "small" (4 x 192). seed: of the initial
    weights, the order and the masks. p, split: of the masks, as in `mlm_mask`. left_only: train a causal
    model instead, which predicts each piece from those before it. batch: passages a step. peak: the highest
    learning rate, after a linear warm-up and before a linear decay to 0. float16: save the weights in
    float16. start: the directory of a model whose weights the run starts from, instead of random ones.

    Raises TypeError or ValueError, with the field's name.
    """

    steps: int
    config: str = "tiny"
    seed: int = 0
    p: float = 0.15
    split: Sequence[float] = BERT_SPLIT
    left_only: bool = False
    batch: int = 8
    peak: float = 1e-3
    float16: bool = False
    start: str | None = None

    def __post_init__(self):
        values = {
            "steps": as_index(self.steps, "steps", 1, 2**31),
            "seed": as_index(self.seed, "seed", 0, 2**64),
            "batch": as_index(self.batch, "batch", 1, 2**31),
            "p": as_probability(self.p, "p"),
            "split": list(as_split(self.split)),
            "peak": as_real(self.peak, "peak"),
            "left_only": as_bool(self.left_only, "left_only"),
            "float16": as_bool(self.float16, "float16"),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _check_config(self.config)
        if not 0 < self.peak < math.inf:
            raise ValueError(f"peak: expected a finite learning rate > 0, got {self.peak}")
        if not isinstance(self.start, str | None):
            raise TypeError(f"start: expected the path of a directory as a string, got {self.start!r}")

    def rate(self, step: int) -> float:
        """The learning rate of step number `step`, which counts from 0."""
        return learning_rate(step, self.steps, self.peak)


def _check_config(config) -> None:
    if config not in SIZES:
        raise ValueError(f"config: expected {' or '.join(SIZES)}, got {config!r}")


def steps_of(minutes: float, config: str) -> int:
    """The number of steps that two cores take in this time, by `STEPS_A_MINUTE`; at least 1."""
    minutes = as_real(minutes, "minutes")
    if not 0 < minutes <= 1_000_000:
        raise ValueError(f"minutes: expected a number above 0, at most a million, got {minutes}")
    _check_config(config)
    return max(1, round(minutes * STEPS_A_MINUTE[config]))


def config_of(dir: Path | str) -> str:
    """The name in `SIZES` of the model in a directory. Raises ValueError for a model of other sizes."""
    there = asdict(load_bert(dir, dropout=0.0).config)
    for name, sizes in SIZES.items():
        if sizes.items() <= there.items():
            return name
    told = ", ".join(f"{key} {there[key]}" for key in SIZES["tiny"])
    raise ValueError(f"{dir}: expected a model of the size {' or '.join(SIZES)}, got one with {told}")


@dataclass(frozen=True)
class Run:
    """A run, finished or not.

    model: in eval mode. step: how many steps are done. history: one dict for about every
    `plan.steps / HISTORY_ENTRIES` steps. It has `step`, the mean `loss` (nats) and the masked `accuracy` of
    the batches since the last entry. Some also have `held_out_loss` and `held_out_accuracy`.
    """

    model: BertForMLM
    tok: WordPieceTokenizer
    plan: Plan
    step: int
    history: list[dict]

    @property
    def done(self) -> bool:
        return self.step == self.plan.steps


def pretrain(
    plan: Plan,
    corpus: Corpus,
    out: Path | str,
    *,
    progress: bool = False,
    save_seconds: float = 10,
    stop: Callable[[], bool] = lambda: False,
) -> Run:
    """Start or resume the run in the directory `out`.

    A finished run leaves a directory that `load_bert`, `WordPieceTokenizer.from_dir` and `transformers` load,
    with a record of the run in training.json. Until then its state is in training.safetensors, which is
    replaced every `save_seconds`. A run that was killed resumes from this state, and ends with the same
    weights as one that was not.

    Args:
        plan, corpus: what is trained, and on what.
        out: a directory that is new, empty, or holds a run of the same plan, text and threads.
        progress: show a bar with loss, masked accuracy, tokens a second and the remaining time.
        save_seconds: how often the state is saved.
        stop: called before each step. If it returns true, the state is saved and the unfinished run is
            returned.

    Raises:
        TypeError: plan or corpus is something else.
        ValueError: `out` holds something else, or another run.
        OSError: the disk is full, or the directory cannot be written; the last saved state stays intact.
    """
    if not isinstance(plan, Plan) or not isinstance(corpus, Corpus):
        raise TypeError(
            f"expected a Plan and a Corpus, got {type(plan).__name__} and {type(corpus).__name__}"
        )
    save_seconds = as_real(save_seconds, "save_seconds")
    if save_seconds < 0:
        raise ValueError(f"save_seconds: expected a number >= 0, got {save_seconds}")
    folder = Path(out)
    identity = {
        **asdict(plan),
        "start": None if plan.start is None else _fingerprint(load_bert(plan.start)),
        "text": corpus.fingerprint,
        "threads": torch.get_num_threads(),
    }
    found, words = _inspect(folder, identity)
    if found == RECORD:
        return Run(load_bert(folder), corpus.tok, plan, plan.steps, words["history"])
    training = _Training(plan, corpus)
    if found == STATE:
        training.restore(folder / STATE)
    folder.mkdir(parents=True, exist_ok=True)

    saved = time.monotonic()
    with _bar(training, progress) as show:
        while training.step < plan.steps and not stop():
            training.take_step()
            show()
            if time.monotonic() - saved > save_seconds:
                training.save(folder / STATE, identity)
                saved = time.monotonic()
    training.save(folder / STATE, identity)
    if training.step == plan.steps:
        _finish(folder, training, identity)
    training.model.eval()
    return Run(training.model, corpus.tok, plan, training.step, training.history)


def load_run(dir: Path | str, corpus: Corpus, *, left_only: bool = False) -> BertForMLM:
    """The model of a finished run, in eval mode.

    Raises ValueError for a directory without a finished run, or for a run on another text or with another
    `left_only`.
    """
    path = Path(dir) / RECORD
    if not path.is_file():
        raise ValueError(f"{dir}: expected a directory of a finished run, got one without {RECORD}")
    wanted = {"text": corpus.fingerprint, "left_only": left_only}
    _check_identity(Path(dir), _read_record(path)["identity"], wanted)
    return load_bert(dir)


class _Training:
    """The state of a run, and how one step changes it."""

    def __init__(self, plan: Plan, corpus: Corpus):
        self.plan, self.corpus = plan, corpus
        config = BertConfig(corpus.tok.vocab_size, MAX_LEN, dropout=0.0, **SIZES[plan.config])
        self.model = BertForMLM(config, PCG32(plan.seed)) if plan.start is None else _load_start(plan, config)
        self.optimizer = optimizer_of(self.model)
        self.step = 0
        self.history: list[dict] = []
        self.sums = dict(_ZERO_SUMS)
        self.tokens = 0  # seen by this process
        self.latest = 0.0, 0.0  # loss and masked accuracy of the last step
        self.batches = batches_of(plan, corpus)

    def take_step(self) -> None:
        batch = self.batches[self.step]
        logits, targets = logits_and_labels(self.model, batch, self.plan.left_only)
        loss = mean_cross_entropy(logits, targets)
        update(self.model, self.optimizer, loss, self.plan.rate(self.step))
        self.step += 1
        self.tokens += int(batch["attention_mask"].sum())
        hits = int((logits.argmax(-1) == targets).sum())
        self.latest = loss.item(), hits / max(1, len(targets))
        self._note(loss.item(), hits, len(targets))

    def _note(self, loss: float, hits: int, labels: int) -> None:
        """Add this step to the history, and evaluate on the held-out passages when that is due."""
        sums = self.sums
        for name, value in (("loss", loss), ("hits", hits), ("labels", labels), ("steps", 1)):
            sums[name] += value
        if _is_due(self.step, self.plan.steps, HISTORY_ENTRIES):
            entry = {
                "step": self.step,
                "loss": sums["loss"] / sums["steps"],
                "accuracy": sums["hits"] / max(1, sums["labels"]),
            }
            if _is_due(self.step, self.plan.steps, EVALUATIONS):
                hits, labels, loss = held_out_score(self.model, self.corpus, self.plan.left_only)
                entry |= {"held_out_loss": loss, "held_out_accuracy": hits / max(1, labels)}
            self.history.append(entry)
            self.sums = dict(_ZERO_SUMS)

    def save(self, path: Path, identity: dict) -> None:
        tensors = {f"model.{name}": p.detach() for name, p in self.model.named_parameters()}
        for name, p in self.model.named_parameters():
            for key, value in self.optimizer.state[p].items():
                tensors[f"{key}.{name}"] = value
        words = {"identity": identity, "step": self.step, "history": self.history, "sums": self.sums}
        write_state(path, tensors, words)

    def restore(self, path: Path) -> None:
        tensors, words = read_state(path)
        self.step, self.history, self.sums = (words[key] for key in ("step", "history", "sums"))
        for name, p in self.model.named_parameters():
            p.data.copy_(tensors[f"model.{name}"])
            moments = {key: tensors.get(f"{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")}
            if self.step:
                self.optimizer.state[p] = moments


def _fingerprint(model: BertForMLM) -> str:
    """A digest of the weights, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()[:16]


def _load_start(plan: Plan, wanted: BertConfig) -> BertForMLM:
    """The model of `plan.start`, which must have the wanted sizes, in train mode."""
    model = load_bert(plan.start, dropout=0.0)
    there, here = asdict(model.config), asdict(wanted)
    for name in ("vocab", "d_model", "n_layers", "n_heads", "d_ff", "max_len", "type_vocab", "ln_eps"):
        if there[name] != here[name]:
            raise ValueError(
                f"start: expected a {plan.config} model, got one with {name} {there[name]}, not {here[name]}"
            )
    return model.train()


class Batches:
    """`batches[k]` is batch number k of a run, for any k. Each epoch has another order of the examples.

    dataset: an `MLMDataset`, or an object with its length, items and `set_epoch`. tok: its tokenizer. batch:
    examples a step. seed: of the order.
    """

    def __init__(self, dataset, tok: WordPieceTokenizer, batch: int, seed: int):
        self.dataset, self.batch, self.seed = dataset, batch, seed
        self.collate = MLMCollator(tok)

    def __getitem__(self, k: int) -> dict[str, Tensor]:
        items = []
        for place in range(k * self.batch, (k + 1) * self.batch):
            epoch, place = divmod(place, len(self.dataset))
            self.dataset.set_epoch(epoch)
            items.append(self.dataset[int(epoch_order(len(self.dataset), self.seed, epoch)[place])])
        return self.collate(items)


def batches_of(plan: Plan, corpus: Corpus) -> Batches:
    """The batches of a plan."""
    if plan.left_only:
        dataset = _NextPieces(corpus)
    else:
        dataset = MLMDataset(corpus.train, corpus.tok, plan.p, plan.seed, plan.split, max_len=MAX_LEN)
    return Batches(dataset, corpus.tok, plan.batch, plan.seed)


class _NextPieces:
    """The training examples of a left-to-right model, the same in every epoch."""

    def __init__(self, corpus: Corpus):
        self.passages, self.specials = corpus.train, special_ids(corpus.tok)

    def __len__(self) -> int:
        return len(self.passages)

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        return next_piece(self.passages[index], self.specials)

    def set_epoch(self, epoch: int) -> None:
        pass


def next_piece(ids: Sequence[int], specials: Sequence[int]) -> dict[str, np.ndarray]:
    """A training example of a left-to-right model: each label is the next piece, unless that is special."""
    ids = np.array(ids)
    following = np.append(ids[1:], IGNORE)
    labels = np.where(np.isin(following, specials), IGNORE, following)
    return {"input_ids": ids, "token_type_ids": np.zeros_like(ids), "labels": labels}


def logits_and_labels(model: BertForMLM, batch: dict[str, Tensor], left_only: bool) -> tuple[Tensor, Tensor]:
    """Logits [M, V] at the labelled positions of a collated batch, and the labels [M].

    A left-only model sees, at each position, the pieces up to that position.
    """
    width = batch["input_ids"].shape[1]
    allowed = torch.ones(width, width, dtype=torch.bool).tril() if left_only else None
    return model.masked_logits(*(batch[name] for name in BATCH), allowed=allowed)


def held_out_masks(corpus: Corpus) -> Iterator[dict[str, np.ndarray]]:
    """The held-out passages with fixed masks: every model gets the same blanks."""
    yield from MLMDataset(corpus.held_out, corpus.tok, HELD_OUT_P, fixed=True, max_len=MAX_LEN)


def held_out_batches(corpus: Corpus, left_only: bool = False) -> Iterator[dict[str, Tensor]]:
    """Batches of `held_out_masks`.

    A left-only model gets the passages without masks. Its label for a blank is at the position before it.
    """
    collate = MLMCollator(corpus.tok)
    rows = list(held_out_masks(corpus))
    if left_only:
        for row, passage in zip(rows, corpus.held_out, strict=True):
            row["input_ids"] = np.array(passage)
            row["labels"] = np.append(row["labels"][1:], IGNORE)
    for start in range(0, len(rows), 32):
        yield collate(rows[start : start + 32])


def held_out_score(model: BertForMLM, corpus: Corpus, left_only: bool = False) -> tuple[int, int, float]:
    """Hits, blanks and mean loss (nats) of a model on the held-out passages."""
    hits = blanks = 0
    loss = 0.0
    with torch.no_grad():
        for batch in held_out_batches(corpus, left_only):
            logits, targets = logits_and_labels(model, batch, left_only)
            hits += int((logits.argmax(-1) == targets).sum())
            blanks += len(targets)
            loss += float(F.cross_entropy(logits, targets, reduction="sum"))
    return hits, blanks, loss / max(1, blanks)


# ---- the directory of a run


def _inspect(folder: Path, identity: dict) -> tuple[str | None, dict]:
    """The name of this run's file in the directory, RECORD or STATE, and its content. (None, {}) without one.

    Raises ValueError if the directory holds another run, or something else.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: expected a directory, got a file")
    for name, read in ((RECORD, _read_record), (STATE, read_words)):
        if (folder / name).is_file():
            words = read(folder / name)
            _check_identity(folder, words["identity"], identity)
            return name, words
    names = sorted(p.name for p in folder.iterdir() if p.suffix != ".partial") if folder.is_dir() else []
    if names:
        raise ValueError(f"{folder}: expected an empty directory, or one of a run, got {', '.join(names)}")
    return None, {}


def _check_identity(folder: Path, there: dict, wanted: dict) -> None:
    other = {key: value for key, value in wanted.items() if there.get(key) != value}
    if other:
        told = "; ".join(f"{key} {there.get(key)!r}, not {value!r}" for key, value in other.items())
        raise ValueError(f"{folder}: expected a run of this plan and text, got one with {told}")


def _read_record(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def _finish(folder: Path, training: _Training, identity: dict) -> None:
    """Write the model, the tokenizer and the record, in this order: the record says that all are there."""
    model = training.model
    if training.plan.float16:
        model = copy.deepcopy(model).half()
    training.corpus.tok.save(folder)
    save_bert(model, folder)
    record = {"identity": identity, "history": training.history}
    write_files(folder, {RECORD: json.dumps(record, indent=1) + "\n"})
    (folder / STATE).unlink()


# ---- what is shown


def _is_due(step: int, steps: int, times: int) -> bool:
    """Whether an event that occurs `times` times in a run, the last time at its end, occurs at this step."""
    return step * times // steps > (step - 1) * times // steps


@contextlib.contextmanager
def _bar(training: _Training, progress: bool) -> Iterator[Callable[[], None]]:
    """A progress bar with the remaining time. Yields a function to call after each step."""
    start, recent = time.monotonic(), deque(maxlen=50)
    with tqdm(
        total=training.plan.steps,
        initial=training.step,
        unit="step",
        disable=not progress,
        dynamic_ncols=True,
    ) as bar:

        def show() -> None:
            recent.append(training.latest)
            loss, accuracy = (sum(values) / len(recent) for values in zip(*recent, strict=True))
            told = {"loss": f"{loss:.2f}", "accuracy": f"{accuracy:.3f}"}
            scores = (entry for entry in reversed(training.history) if "held_out_accuracy" in entry)
            if last := next(scores, None):
                told["held out"] = f"{last['held_out_accuracy']:.3f}"
            told["tokens/s"] = f"{training.tokens / (time.monotonic() - start):,.0f}"
            bar.set_postfix(told, refresh=False)
            bar.update()

        yield show
