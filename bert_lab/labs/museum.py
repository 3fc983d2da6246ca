"""The museum of real bugs: the effect of each fault of the course, measured by running it.

A probe is a small question with a function that measures the answer for a namespace with the contract's
names. The answer is a short text, the same on every machine. `symptom` measures the reference and the fault,
and returns the first probe whose answers differ.
"""

import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

import bert_lab
from bert_lab.course.mutants import load_mutant
from bert_lab.labs.base import inline_text
from bert_lab.measuring.rates import count_shown
from bert_lab.rng import PCG32, ScriptedDraws, normal_init
from bert_lab.wordpiece import WordPieceTokenizer

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "a", "mat", "dog", "ran")
VOCAB = 1000  # of the probes that count
SENTENCE = np.array([[2, 5, 9, 7, 11, 3]])
PAIR = np.array([[0, 0, 0, 1, 1, 1]])
PADDED = np.array([[2, 5, 9, 7, 11, 3], [2, 8, 6, 3, 0, 0]])
REAL = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])


# ---- questions about masking


def masked_words(bert, seed: int = 15, words: int = 50_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(ids, inputs, labels), each [words]: ids from 5 to 99 of V = 1,000, masked with p = 0.15."""
    ids = 5 + PCG32(seed).block(words).astype(np.int64) % 95
    inputs, labels = bert.mlm_mask(ids, np.zeros(words, bool), 4, VOCAB, 0.15, PCG32(seed + 1))
    return ids, np.asarray(inputs), np.asarray(labels)


def _numbers(row) -> str:
    return " ".join(map(str, np.asarray(row).tolist()))


def _hand(bert) -> str:
    rng = ScriptedDraws([0.05, 0.50, 0.90, 0.10, 0.85], [9])
    try:
        inputs, labels = bert.mlm_mask([2, 5, 6, 7, 3, 0], [1, 0, 0, 0, 1, 1], 4, 40, 0.15, rng)
    except AssertionError:
        return "it asks for a draw that is not in the script"
    return f"inputs {_numbers(inputs)}; labels {_numbers(labels)}"


def _kept(bert) -> str:
    rng = ScriptedDraws([0.05, 0.95], [9])
    inputs, labels = bert.mlm_mask([7], [0], 4, 40, 0.15, rng)
    return f"shown {_numbers(inputs)}, label {_numbers(labels)}"


def _shares(bert) -> str:
    _, inputs, labels = masked_words(bert)
    counts = count_shown(inputs, labels, 4)
    shares = counts / counts.sum()
    return f"[MASK] {shares[0]:.3f}, another word {shares[1]:.3f}, the word itself {shares[2]:.3f}"


def _split(bert) -> str:
    words, none = np.full(1000, 7), np.zeros(1000, bool)
    inputs, labels = bert.mlm_mask(words, none, 4, VOCAB, 1.0, PCG32(1), split=(0.0, 0.0, 1.0))
    counts = count_shown(inputs, labels, 4)
    return f"[MASK] {counts[0]}, another word {counts[1]}, the word itself {counts[2]}"


def _random_ids(bert) -> str:
    ids, inputs, labels = masked_words(bert)
    shown = inputs[(labels != -100) & (inputs != 4) & (inputs != ids)]
    return f"from {shown.min()} to {shown.max()}" if shown.size else "none was shown"


def _batch(bert, texts=("the cat sat on a mat", "the dog ran"), p: float = 1.0, seed: int = 3) -> dict:
    tok = WordPieceTokenizer(list(WORDS))
    return bert.mlm_batch(tok, list(texts), 12, p, PCG32(seed))


def _batch_labels(bert) -> str:
    return _numbers(_batch(bert)["labels"][1])


def _batch_seeds(bert) -> str:
    first, second = (_batch(bert, p=0.5, seed=seed)["labels"].tolist() for seed in (1, 2))
    return "the same" if first == second else "different ones"


# ---- questions about the model


def small_model(bert, seed: int = 7, **changes):
    """A `BertForMLM` of one layer x 12 in float64 and eval mode; normal weights of standard deviation 0.4."""
    sizes = {"max_len": 16, "d_model": 12, "n_heads": 3, "n_layers": 1, "d_ff": 20, "dropout": 0.0}
    model = bert.BertForMLM(bert.BertConfig(40, **{**sizes, **changes}))
    rng = PCG32(seed)
    for _, parameter in sorted(model.named_parameters()):
        parameter.data.copy_(torch.from_numpy(normal_init(tuple(parameter.shape), 0.4, rng)))
    return model.double().eval()


def _moves(change: torch.Tensor) -> str:
    return "yes" if change.abs().max() > 1e-9 else "no"


def _both_sides(bert) -> str:
    encoder, other = small_model(bert).encoder, SENTENCE.copy()
    other[0, -2] = 12
    return _moves((encoder(other) - encoder(SENTENCE))[0, 0])


def _padding(bert) -> str:
    encoder = small_model(bert).encoder
    beside = encoder(PADDED, attn_mask=REAL)[1, :4]
    return _moves(beside - encoder(PADDED[1:, :4])[0])


def _segments(bert) -> str:
    encoder = small_model(bert).encoder
    return _moves(encoder(SENTENCE, PAIR) - encoder(SENTENCE))


def _gradients(bert) -> str:
    model, labels = small_model(bert), np.full_like(SENTENCE, -100)
    labels[0, 2] = 9
    model(SENTENCE, labels=labels)[1].backward()
    return f"{int(model.encoder.word.weight.grad.any(1).sum())} of 40"


def _full_row(bert) -> str:
    row = np.full((1, 16), 7)
    small_model(bert)(row)
    return "its logits"


def loss_ratio(bert) -> float:
    """The loss of a sentence with one label, divided by the cross-entropy of that label."""
    labels = np.full_like(SENTENCE, -100)
    labels[0, 2] = 5
    logits, loss = small_model(bert)(SENTENCE, labels=labels)
    return loss.item() / -logits.log_softmax(-1)[0, 2, 5].item()


def _loss(bert) -> str:
    return f"{loss_ratio(bert):.3f} times the loss at that word"


def parity(bert) -> float:
    """The largest difference of this model's logits from the reference's, with the same weights."""
    theirs, ours = (small_model(names)(PADDED, attn_mask=REAL)[0].detach() for names in (bert, bert_lab))
    return float((theirs - ours)[torch.from_numpy(REAL == 1)].abs().max())


def _parity(bert) -> str:
    size = parity(bert)
    return "0" if size < 1e-9 else f"{size:.1e}"


# ---- questions about loading


def named_by_hand(old_norms: bool = False) -> dict[str, torch.Tensor]:
    """A state dict of one layer in float64, with Hugging Face's names written out.

    old_norms: LayerNorms have `gamma` and `beta`, as in the first checkpoints.
    """
    linear = {
        "bert.encoder.layer.0.attention.self.query": (12, 12),
        "bert.encoder.layer.0.attention.self.key": (12, 12),
        "bert.encoder.layer.0.attention.self.value": (12, 12),
        "bert.encoder.layer.0.attention.output.dense": (12, 12),
        "bert.encoder.layer.0.intermediate.dense": (20, 12),
        "bert.encoder.layer.0.output.dense": (12, 20),
        "cls.predictions.transform.dense": (12, 12),
    }
    norms = (
        "bert.embeddings.LayerNorm",
        "bert.encoder.layer.0.attention.output.LayerNorm",
        "bert.encoder.layer.0.output.LayerNorm",
        "cls.predictions.transform.LayerNorm",
    )
    shapes = {
        "bert.embeddings.word_embeddings.weight": (40, 12),
        "bert.embeddings.position_embeddings.weight": (16, 12),
        "bert.embeddings.token_type_embeddings.weight": (2, 12),
        **{f"{name}.weight": shape for name, shape in linear.items()},
        **{f"{name}.bias": shape[:1] for name, shape in linear.items()},
        **{f"{name}.{'gamma' if old_norms else 'weight'}": (12,) for name in norms},
        **{f"{name}.{'beta' if old_norms else 'bias'}": (12,) for name in norms},
        "cls.predictions.bias": (40,),
    }
    rng = PCG32(21)
    return {name: torch.from_numpy(normal_init(shape, 0.4, rng)).double() for name, shape in shapes.items()}


def loaded_wrong(bert, old_norms: bool = False) -> str:
    """How many parameters do not get their values from the state dict of `named_by_hand`."""
    sd = named_by_hand(old_norms)
    model, right = small_model(bert), small_model(bert_lab)
    bert_lab.load_hf_bert(right, sd)
    bert.load_hf_bert(model, sd)
    theirs = dict(model.named_parameters())
    wrong = [name for name, value in right.named_parameters() if not torch.equal(value, theirs[name])]
    return f"{len(wrong)} of {len(list(right.parameters()))}"


def _twice(bert) -> str:
    with tempfile.TemporaryDirectory() as folder:
        bert.save_bert(small_model(bert, dropout=0.5).float(), folder)
        model = bert.load_bert(folder)
    torch.manual_seed(0)
    first, second = model(SENTENCE)[0], model(SENTENCE)[0]
    return "the same" if torch.equal(first, second) else "different ones"


@dataclass(frozen=True)
class Probe:
    """A question, in which `backticks` mark code, and a function that measures the answer for a namespace."""

    question: str
    ask: Callable[[object], str]

    def answer(self, bert) -> str:
        """The answer. An exception is an answer too."""
        try:
            return self.ask(bert)
        except Exception as problem:
            return f"it raises {type(problem).__name__}"


PROBES = {
    "shares": Probe("50,000 words at p = 0.15: what do the picked ones show?", _shares),
    "split": Probe("A split of (0, 0, 1) is asked for: what do 1,000 picked words show?", _split),
    "hand": Probe("The worked example of chapter 01: what comes out?", _hand),
    "kept": Probe("Id 7 is picked and kept: what comes out?", _kept),
    "random ids": Probe("Words with ids from 5 to 99, V = 1,000: which random ids are shown?", _random_ids),
    "batch labels": Probe("`[CLS] the dog ran [SEP]` and 3 `[PAD]` at p = 1: which labels?", _batch_labels),
    "batch seeds": Probe("Two batches of one text, from two seeds: which labels?", _batch_seeds),
    "both sides": Probe("Another word near the end: does the first output move?", _both_sides),
    "padding": Probe("A longer sentence in the batch: does the output of the short one move?", _padding),
    "segments": Probe("The same words as a pair: does the output move?", _segments),
    "full row": Probe("A row that is as long as the model allows: what comes out?", _full_row),
    "loss": Probe("One labelled word in a row of six: what is the loss?", _loss),
    "gradients": Probe("One label: how many rows of the word table get a gradient?", _gradients),
    "loading": Probe("A state dict named by hand: how many parameters come out wrong?", loaded_wrong),
    "old norms": Probe(
        "The same with `gamma` and `beta`: how many parameters come out wrong?",
        functools.partial(loaded_wrong, old_norms=True),
    ),
    "twice": Probe("A model is saved, loaded and asked twice: which logits?", _twice),
    "parity": Probe(
        "The same weights, the same sentences: how far are the logits from the reference's?", _parity
    ),
}
GROUPS = {
    "rates": ("b01", "b02", "b03", "b04", "b05", "b08"),
    "picks and labels": ("s01", "s02", "s04", "s12", "b06", "b10"),
    "draws and seeds": ("s03", "s05", "b07", "b09"),
    "model": ("s06", "s07", "s08", "s09", "s10", "s11", "b11", "b12", "b13", "b14", "b15", "b19", "b20"),
    "loading": ("b16", "b17", "b18"),
}
# The question that shows a fault best, if another question of the table shows it first.
BEST = {
    "s01": "batch labels",
    "s02": "hand",
    "s03": "kept",
    "s04": "hand",
    "s05": "hand",
    "b07": "random ids",
    "b10": "hand",
}


@dataclass(frozen=True)
class Symptom:
    """A question, the answer of the reference, and the answer of the fault."""

    question: str
    right: str
    wrong: str

    def __str__(self) -> str:
        return f"{inline_text(self.question)}\n  reference: {self.right}\n  fault:     {self.wrong}"


@functools.cache
def _reference(name: str) -> str:
    return PROBES[name].answer(bert_lab)


@functools.cache
def symptom(id: str) -> Symptom | None:
    """The first question that shows the fault of this id, with both answers; None if no question does."""
    bert = load_mutant(id)
    for name in [BEST[id]] if id in BEST else PROBES:
        right, wrong = _reference(name), PROBES[name].answer(bert)
        if right != wrong:
            return Symptom(PROBES[name].question, right, wrong)
    return None
