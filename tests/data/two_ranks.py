"""Run by torchrun in two processes: what each rank saw and computed, for test_ranks.py to compare.

python -m torch.distributed.run --standalone --nproc-per-node 2 tests/data/two_ranks.py FOLDER
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from bert_lab import PCG32, BertConfig, BertForMLM, WordPieceTokenizer
from bert_lab.data.datasets import MLMCollator, MLMDataset
from bert_lab.wordpiece import SPECIAL_TOKENS

TOK = WordPieceTokenizer([*SPECIAL_TOKENS, *(f"w{i}" for i in range(35))])
ROWS = [[2, *[5 + (i * j) % 35 for j in range(1, 3 + 5 * (i % 2) + i)], 3] for i in range(10)]


def the_dataset() -> MLMDataset:
    return MLMDataset(ROWS, TOK, 0.4, 11)


def the_model() -> BertForMLM:
    return BertForMLM(BertConfig(TOK.vocab_size, 32, 8, 2, 1, 16, dropout=0.0), PCG32(3))


def gradients(model) -> np.ndarray:
    return np.concatenate([parameter.grad.flatten().numpy() for parameter in model.parameters()])


def arguments(batch) -> list:
    return [batch[name] for name in ("input_ids", "token_type_ids", "attention_mask", "labels")]


def masks(rank: int) -> list:
    """[epoch, index, inputs, labels] of each example that this rank gets in two epochs."""
    dataset, seen = the_dataset(), []
    sampler = DistributedSampler(dataset, seed=5)
    loader = DataLoader(dataset, 2 + rank, sampler=sampler, collate_fn=MLMCollator(TOK))
    for epoch in range(2):
        dataset.set_epoch(epoch)
        sampler.set_epoch(epoch)
        order = iter(list(sampler))
        for batch in loader:
            lengths = batch["attention_mask"].sum(1).tolist()
            for inputs, labels, n in zip(batch["input_ids"], batch["labels"], lengths, strict=True):
                seen.append([epoch, next(order), inputs[:n].tolist(), labels[:n].tolist()])
    return seen


def steps(rank: int) -> dict[str, np.ndarray]:
    """The gradients of one step of both ranks, in three ways."""
    dataset = the_dataset()
    batch = MLMCollator(TOK)([dataset[i] for i in range(rank, len(dataset), 2)])

    model = the_model()
    logits, targets = model.masked_logits(*arguments(batch))
    total = torch.tensor(len(targets))
    dist.all_reduce(total)
    (F.cross_entropy(logits, targets, reduction="sum") / total).backward()
    by_count = torch.from_numpy(gradients(model))
    dist.all_reduce(by_count)

    model = DistributedDataParallel(the_model())  # it averages the gradients of the ranks
    _, mean = model(*arguments(batch))
    (mean * len(targets) * dist.get_world_size() / total).backward()
    by_ddp = gradients(model.module)

    model = DistributedDataParallel(the_model())
    model(*arguments(batch))[1].backward()
    return {
        "by_count": by_count.numpy(),
        "by_ddp": by_ddp,
        "mean_of_means": gradients(model.module),
        "labels": np.array(len(targets)),
    }


def trainer(folder: Path) -> tuple[list, dict[str, np.ndarray]]:
    """What `transformers.Trainer` shows its model in two epochs of one step, and the first one's gradient."""
    from transformers import BertForMaskedLM, Trainer, TrainerCallback, TrainingArguments

    from bert_lab import load_hf_bert, save_bert
    from bert_lab.data.hf_trainer import SetEpochCallback, mean_over_all_labels

    class Gradient(TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model, **kwargs):
            if not found:  # put into a model of ours, by name and in its order
                ours = the_model()
                load_hf_bert(ours, {name: p.grad for name, p in model.named_parameters()})
                found["gradient"] = torch.cat([p.detach().flatten() for p in ours.parameters()]).numpy()

    class Recording(BertForMaskedLM):
        def forward(self, input_ids=None, attention_mask=None, token_type_ids=None, labels=None, **kwargs):
            for row, n in zip(input_ids, attention_mask.sum(1).tolist(), strict=True):
                seen.append(row[:n].tolist())
            return super().forward(
                input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids, labels=labels
            )

    seen, found = [], {}
    if dist.get_rank() == 0:
        save_bert(the_model(), folder / "model")
    dist.barrier()
    dataset = the_dataset()
    Trainer(
        Recording.from_pretrained(folder / "model"),
        TrainingArguments(
            str(folder / "trainer"),
            num_train_epochs=2,
            per_device_train_batch_size=5,
            max_grad_norm=0.0,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        ),
        train_dataset=dataset,
        data_collator=MLMCollator(TOK),
        callbacks=[SetEpochCallback(dataset), Gradient()],
        compute_loss_func=mean_over_all_labels,
    ).train()
    return seen, found


def main(folder: Path) -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for what, (seen, arrays) in {"loop": (masks(rank), steps(rank)), "trainer": trainer(folder)}.items():
        (folder / f"{what}{rank}.json").write_text(json.dumps(seen), encoding="utf-8")
        np.savez(folder / f"{what}{rank}.npz", **arrays)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
