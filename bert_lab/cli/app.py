"""The commands of a terminal, `bert-lab pretrain` and so on, also as `python -m bert_lab`."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..experiments import NAMES
from . import course

STOPPED = 130  # the exit code after Ctrl-C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code.

    0: passed. 1: an error. 2: a wrong call. 3: it ran to its end and did not pass. 130: it was stopped.
    """
    options = parser().parse_args(arguments)
    try:
        code = options.run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, TypeError, OSError) as error:
        print(f"bert-lab {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before the training began, or a second Ctrl-C
        return STOPPED


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(
        "bert-lab",
        description="Copy the book; train a small BERT and measure it; build one yourself, and be graded by "
        "real bugs.",
        epilog="bert-lab COMMAND --help tells more. Exit codes: 0 passed, 1 an error, 2 a wrong call, "
        "3 ran to its end and did not pass, 130 stopped.",
    )
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    course.add(commands)

    pretrain = commands.add_parser(
        "pretrain",
        help="train a small BERT on the Python manual, or on text files",
        description="Train a small BERT on the Python manual and the standard library's docstrings and "
        "comments, or on your own text. Stop it with Ctrl-C; the same command then goes on, to the same "
        "weights as an unbroken run. The directory works with bert_lab.load_bert and with transformers.",
    )
    pretrain.add_argument(
        "files", nargs="*", metavar="FILES", help="text files in UTF-8 (default: the manual)"
    )
    pretrain.add_argument(
        "--out", default="my-bert", metavar="DIR", help="where the model goes (default: my-bert)"
    )
    length = pretrain.add_mutually_exclusive_group()
    length.add_argument(
        "--minutes",
        type=float,
        default=10,
        metavar="M",
        help="plan the steps that two cores make in so many minutes (default: 10); a faster machine is done "
        "sooner, and the same minutes always give the same steps",
    )
    length.add_argument("--steps", type=int, metavar="N", help="plan exactly so many steps")
    pretrain.add_argument(
        "--config",
        choices=("tiny", "small"),
        help="2 layers x 128, or 4 x 192 (default: tiny, or as the model to begin with)",
    )
    pretrain.add_argument(
        "--seed", type=int, default=0, metavar="S", help="of first weights, order and masks"
    )
    pretrain.add_argument("--p", type=float, default=0.15, help="share of pieces to predict (default: 0.15)")
    pretrain.add_argument(
        "--split",
        type=shares,
        default=(0.8, 0.1, 0.1),
        metavar="M/R/K",
        help="shown as [MASK], as a random piece, as it is (default: 80/10/10)",
    )
    pretrain.add_argument("--peak", type=float, default=1e-3, help="highest learning rate (default: 0.001)")
    pretrain.add_argument("--left-only", action="store_true", help="train the twin that reads left to right")
    pretrain.add_argument(
        "--vocab", type=int, metavar="V", help="pieces of the vocabulary, for your own FILES"
    )
    pretrain.add_argument("--start", metavar="DIR", help="begin with this model's weights and vocabulary")
    pretrain.add_argument("--threads", type=int, metavar="N", help="of torch (default: as torch has it)")
    pretrain.add_argument("--float16", action="store_true", help="save the weights in half the room")
    pretrain.add_argument("--save-seconds", type=float, default=10, metavar="S", help="between two saves")
    pretrain.add_argument("--quiet", action="store_true", help="no progress bar")
    pretrain.set_defaults(run=run_pretrain)

    ladder = commands.add_parser(
        "ladder",
        help="how many held-out blanks the shipped model fills, and simpler ones",
        description="Fill the same held-out blanks by a blind guess, by counting, by a left-only twin and by "
        "BERT. Without options it is the shipped model's; the guesses of all others are then stored.",
    )
    ladder.add_argument(
        "--model", metavar="DIR", help="a directory of bert-lab pretrain, instead of the shipped"
    )
    ladder.add_argument(
        "--twin", metavar="DIR", help="one of bert-lab pretrain --left-only, on the same text"
    )
    ladder.add_argument("files", nargs="*", metavar="FILES", help="the text files that DIR was trained on")
    ladder.set_defaults(run=run_ladder)
    worksheet = course.add_command(
        commands,
        "worksheet",
        "sentences to mask by hand on paper, as HTML that prints one to a page",
        "bert-lab worksheet --seed 7 > sheet.html\n"
        "bert-lab worksheet --seed 7 --count 30 --key --out class.html",
        "Sheet number 1 is that of the seed, the next that of the seed after it, and so on.",
    )
    worksheet.add_argument("--seed", type=int, required=True, metavar="N", help="of the first sheet")
    worksheet.add_argument("--count", type=int, default=1, metavar="K", help="how many sheets (default: 1)")
    worksheet.add_argument(
        "--key", action="store_true", help="with the answer key of each, on a page of its own"
    )
    worksheet.add_argument("--out", metavar="FILE", help="a new file to write (default: the standard output)")
    worksheet.set_defaults(run=run_worksheet)

    copy = course.add_command(
        commands,
        "copy",
        "a working copy of the chapters, so that playing leaves the book as it is",
        "bert-lab copy ~/my-book\nmake lab DIR=~/my-book    (in the project's folder)",
        "It holds the chapters, the pages that they link to and their pictures, as they are in the project's "
        "folder now. Nothing that is there is overwritten.",
    )
    copy.add_argument("folder", metavar="DIR", help="the folder to make")
    copy.set_defaults(run=run_copy)

    compare = course.add_command(
        commands,
        "compare",
        "train models side by side with several seeds each, as the last chapter does",
        "bert-lab compare heads --stored\nbert-lab compare modern --seeds 5 --out mine.json",
        "heads: on the shipped encoder, and on random weights. electra: against BERT's own training. modern: "
        "ModernBERT's changes one by one. masking: fixed and fresh masks, 40%, whole words. They take five "
        "to thirty minutes of one core, on the text of the Python that runs them; the figures that the "
        "chapter quotes are stored.",
    )
    compare.add_argument("what", choices=NAMES, metavar="WHAT", help=" | ".join(NAMES))
    compare.add_argument(
        "--stored", action="store_true", help="show what the chapter quotes, and train nothing"
    )
    compare.add_argument("--seeds", type=int, default=3, metavar="K", help="runs a row (default: 3)")
    compare.add_argument(
        "--steps", type=int, metavar="N", help="of each run (default: as the stored ones had)"
    )
    compare.add_argument("--threads", type=int, metavar="N", help="of torch (default: as torch has it)")
    compare.add_argument("--out", metavar="FILE", help="a new file to write the scores to, as JSON")
    compare.set_defaults(run=run_compare)
    return root


def shares(text: str) -> tuple[float, ...]:
    """Percentages such as "80/10/10" as shares, (0.8, 0.1, 0.1)."""
    try:
        return tuple(float(part) / 100 for part in text.split("/"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected three shares such as 80/10/10, got {text!r}") from None


# torch is imported where it is needed, so that --help and wrong calls are answered at once.


def run_pretrain(options: argparse.Namespace) -> int:
    from ..training.pretrain import Plan, config_of, pretrain, steps_of

    config = options.config or ("tiny" if options.start is None else config_of(options.start))
    plan = Plan(
        steps=options.steps if options.steps is not None else steps_of(options.minutes, config),
        config=config,
        seed=options.seed,
        p=options.p,
        split=options.split,
        left_only=options.left_only,
        peak=options.peak,
        float16=options.float16,
        start=options.start,
    )
    _use_threads(options.threads)
    corpus = _corpus(options.files, options.vocab, options.start)
    pieces = sum(map(len, corpus.train))
    print(
        f"{len(corpus.train):,} passages ({pieces:,} pieces) to train on, {len(corpus.held_out):,} held out; "
        f"{corpus.tok.vocab_size:,} pieces in the vocabulary; {plan.steps:,} steps",
        flush=True,
    )
    with _stop_signal() as stop:
        run = pretrain(
            plan,
            corpus,
            options.out,
            progress=not options.quiet,
            save_seconds=options.save_seconds,
            stop=stop,
        )
    if not run.done:
        print(f"Stopped after {run.step:,} of {plan.steps:,} steps. The same command goes on from there.")
        return STOPPED
    last = run.history[-1]
    print(f"Held-out masked accuracy: {last['held_out_accuracy']:.3f}. The model is in {options.out}.")
    return 0


def run_ladder(options: argparse.Namespace) -> int:
    from ..training.readers import shipped_ladder

    if options.model is None and (options.files or options.twin):
        raise ValueError("--model: expected a directory, since there are FILES or a twin, got none")
    rungs = shipped_ladder() if options.model is None else _ladder_of(options)
    width = max(len(rung.name) for rung in rungs)
    for rung in rungs:
        hits = f"{rung.hits:,.0f}" if rung.hits >= 10 else f"{rung.hits:.1f}"
        print(f"{rung.name:{width}}  {hits:>7} of {rung.blanks:,} blanks  {rung.accuracy:6.1%}")
    return 0


def run_worksheet(options: argparse.Namespace) -> int:
    from ..labs.worksheets import worksheet_page

    page = worksheet_page(options.seed, options.count, options.key)
    if options.out is None:
        print(page)
    else:
        with open(options.out, "x", encoding="utf-8") as file:
            file.write(page)
        print(f"made {options.out}")
    return 0


def run_copy(options: argparse.Namespace) -> int:
    from .copy_book import START, copy_book

    files = copy_book(options.folder)
    chapters = sum(file.suffix == ".ipynb" for file in files)
    print(f"made {options.folder}: {chapters} chapters")
    print(f"Open it with: jupyter lab {Path(options.folder, START)}")
    return 0


def run_compare(options: argparse.Namespace) -> int:
    from ..experiments.base import stored

    if options.stored:
        print(stored(options.what))
        return 0
    if options.out is not None and Path(options.out).exists():
        raise FileExistsError(f"--out: expected the name of a new file, but there is {options.out}")
    _use_threads(options.threads)
    experiment = importlib.import_module(f"bert_lab.experiments.{options.what}")
    steps = experiment.DEFAULTS["steps"] if options.steps is None else options.steps
    found = experiment.run(options.seeds, steps, say=lambda text: print(text, file=sys.stderr, flush=True))
    print(found)
    if options.out is not None:
        found.write(options.out)
        print(f"made {options.out}")
    return 0


def _ladder_of(options: argparse.Namespace):
    from ..training.pretrain import load_run
    from ..training.readers import blanks_of, count_guesses, left_only_guesses, score_readers

    corpus = _corpus(options.files, None, options.model)
    model = load_run(options.model, corpus)
    blanks = blanks_of(corpus)
    guesses = count_guesses(corpus, blanks)
    if options.twin is not None:
        guesses["left_only"] = left_only_guesses(load_run(options.twin, corpus, left_only=True), blanks)
    return score_readers(corpus, model, guesses)


def _corpus(files: Sequence[str], vocab: int | None, model: str | None):
    """The corpus of the files, or of the manual; with the vocabulary of the model, if there is one."""
    from ..data.corpus import corpus_of, corpus_of_files, manual_corpus, manual_documents, read_document
    from ..wordpiece import WordPieceTokenizer

    if vocab is not None and (model is not None or not files):
        raise ValueError("--vocab: expected FILES and no other model, which have a vocabulary already")
    if model is not None:
        documents = [read_document(Path(path)) for path in files] or manual_documents()
        return corpus_of(documents, WordPieceTokenizer.from_dir(model))
    return corpus_of_files(files, vocab) if files else manual_corpus()


def _use_threads(threads: int | None) -> None:
    import torch

    if threads is not None:
        if threads < 1:
            raise ValueError(f"--threads: expected at least 1, got {threads}")
        torch.set_num_threads(threads)


@contextmanager
def _stop_signal() -> Iterator:
    """A function that is true after Ctrl-C or SIGTERM. A second signal raises KeyboardInterrupt."""
    received = []

    def receive(number, frame):
        if received:
            raise KeyboardInterrupt
        received.append(number)

    previous = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
