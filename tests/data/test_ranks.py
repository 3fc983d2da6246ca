"""Two processes under torchrun: the masks of one, and the gradient of one with the whole batch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from torch.utils.data import DistributedSampler
from two_ranks import ROWS, TOK, arguments, gradients, the_dataset, the_model

from bert_lab.data.datasets import MLMCollator

pytestmark = pytest.mark.slow
Seen = list[tuple[list, dict[str, np.ndarray]]]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory) -> dict[str, Seen]:
    """What each of two ranks saw and computed, in a loop and in Trainer; a warning in them is an error."""
    folder = tmp_path_factory.mktemp("ranks")
    tests = Path(__file__).parent
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    path = os.pathsep.join([str(tests.parents[1]), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error"}
    run = subprocess.run(
        [*command, str(tests / "two_ranks.py"), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    found = {"loop": [], "trainer": []}
    for what, of_ranks in found.items():
        for rank in range(2):
            with np.load(folder / f"{what}{rank}.npz") as arrays:
                seen = json.loads((folder / f"{what}{rank}.json").read_text(encoding="utf-8"))
                of_ranks.append((seen, dict(arrays)))
    return found


def whole_gradient() -> np.ndarray:
    """One process, the whole batch, the mean over its labels."""
    model, dataset = the_model(), the_dataset()
    model.mlm_loss(*arguments(MLMCollator(TOK)(list(dataset)))).backward()
    return gradients(model)


def furthest(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference, as a share of the largest value."""
    return float(np.abs(a - b).max() / np.abs(b).max())


def test_two_ranks_give_the_masks_of_one_process(ranks):
    dataset = the_dataset()
    for rank, (seen, _) in enumerate(ranks["loop"]):
        sampler = DistributedSampler(dataset, 2, rank, seed=5)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            dataset.set_epoch(epoch)
            part = [row for row in seen if row[0] == epoch]
            want = [
                [epoch, i, dataset[i]["input_ids"].tolist(), dataset[i]["labels"].tolist()] for i in sampler
            ]
            assert part == want
    for epoch in range(2):
        got = sorted(i for seen, _ in ranks["loop"] for e, i, *_ in seen if e == epoch)
        assert got == list(range(len(ROWS))), "the ranks share the examples"


def test_the_sum_over_all_ranks_divided_by_all_labels_is_the_gradient_of_one_process(ranks):
    ranks = ranks["loop"]
    counts = [int(arrays["labels"]) for _, arrays in ranks]
    assert max(counts) > 1.5 * min(counts) > 0, "the ranks hold unequal numbers of labels"
    want = whole_gradient()
    for _, arrays in ranks:
        assert furthest(arrays["by_count"], want) < 1e-5
        assert furthest(arrays["by_ddp"], want) < 1e-5
        assert furthest(arrays["mean_of_means"], want) > 0.01, "the mean of the ranks' means is another one"


def test_trainer_in_two_processes_masks_anew_and_weighs_all_labels_alike(ranks):
    dataset, seen, ranks = the_dataset(), [], ranks["trainer"]
    for epoch in range(2):
        dataset.set_epoch(epoch)
        want = sorted(item["input_ids"].tolist() for item in dataset)
        got = sorted(row for rows, _ in ranks for row in rows[5 * epoch : 5 * epoch + 5])
        assert got == want
        seen.append(got)
    assert seen[0] != seen[1]
    for _, arrays in ranks:
        assert furthest(arrays["gradient"], whole_gradient()) < 1e-5
