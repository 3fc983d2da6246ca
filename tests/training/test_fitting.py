"""The training loop that the book's shorter runs share."""

import numpy as np
import pytest
import torch
from torch import nn

from bert_lab import PCG32, BertConfig, BertForMLM
from bert_lab.padding import BATCH
from bert_lab.training import fitting


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.zeros(1, 1))
        self.height = nn.Parameter(torch.zeros(1))
        self.modes = []

    def forward(self, x):
        self.modes.append(self.training)
        return x @ self.slope + self.height


def test_a_line_is_fitted():
    line, x = Line().eval(), torch.linspace(-1, 1, 20)[:, None]
    losses = fitting.fit(line, 400, lambda step: ((line(x) - (2 * x + 1)) ** 2).mean(), peak=0.1)
    assert len(losses) == 400 and losses[0] > 1 and losses[-1] < 1e-4
    assert line.slope.item() == pytest.approx(2, abs=0.05) and line.height.item() == pytest.approx(
        1, abs=0.05
    )
    assert all(line.modes) and not line.training


def test_the_rate_warms_up_and_falls():
    rates = np.array([fitting.learning_rate(step, 100, 0.5) for step in range(100)])
    assert rates.argmax() == 2 and rates[2] == pytest.approx(0.5, rel=0.01)
    assert (np.diff(rates[:3]) > 0).all() and (np.diff(rates[2:]) < 0).all()
    assert 0 < rates[-1] < 0.001


def test_each_step_has_its_rate_and_its_number(monkeypatch):
    line, seen = Line(), []
    monkeypatch.setattr(fitting, "update", lambda model, optimizer, loss, rate: seen.append(rate))
    steps = []

    def loss_of(step):
        steps.append(step)
        return line(torch.ones(1, 1)).sum()

    fitting.fit(line, 5, loss_of, peak=0.2)
    assert steps == [0, 1, 2, 3, 4] and seen == [fitting.learning_rate(step, 5, 0.2) for step in range(5)]


def test_matrices_decay_and_vectors_do_not():
    line = Line()
    groups = fitting.optimizer_of(line).param_groups
    assert [(group["params"], group["weight_decay"]) for group in groups] == [
        ([line.slope], 0.01),
        ([line.height], 0),
    ]


@pytest.mark.parametrize("gradients", [(3e-6, 1e-6, 2e-6), (0.3, -0.1, 0.0)])
def test_steps_follow_the_formula_of_adamw(gradients):
    line, rate = Line(), 0.1
    with torch.no_grad():
        line.slope.fill_(2)
        line.height.fill_(3)
    optimizer = fitting.optimizer_of(line)
    expected, mean, square = np.array([2.0, 3.0]), 0.0, 0.0
    for step, gradient in enumerate(gradients, 1):
        fitting.update(line, optimizer, gradient * line(torch.ones(1, 1)).sum(), rate)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.98 * square + 0.02 * gradient**2
        expected -= rate * np.array([0.01, 0]) * expected  # the matrix decays
        expected -= rate * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.98**step)) + 1e-6)
        found = [line.slope.item(), line.height.item()]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_large_gradients_are_clipped():
    line = Line()
    optimizer = torch.optim.SGD(line.parameters(), lr=1.0)
    fitting.update(line, optimizer, 1e6 * line(torch.ones(1, 1)).sum(), rate=1.0)
    step = torch.stack([line.slope.flatten(), line.height]).norm().item()
    assert step == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, lambda step: None), r"steps: expected .*, got 0"),
        ((3, lambda step: None, -1.0), r"peak: expected a finite learning rate > 0, got -1.0"),
        ((3, lambda step: None, float("inf")), r"peak: expected"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments, said):
    line = Line()
    steps, loss_of, *peak = arguments
    with pytest.raises(ValueError, match=said):
        fitting.fit(line, steps, loss_of, **({"peak": peak[0]} if peak else {}))


def test_a_loss_that_is_not_finite_ends_the_run_before_it_does_harm():
    line, x = Line(), torch.ones(1, 1)
    with pytest.raises(ValueError, match=r"loss_of\(2\): expected a finite loss, got nan"):
        fitting.fit(line, 5, lambda step: (line(x) - 1).sum() ** 2 * (float("nan") if step == 2 else 1.0))
    assert torch.isfinite(line.slope).all()


def test_a_masked_language_model_learns_from_its_batches_by_number():
    config = BertConfig(9, max_len=4, d_model=4, n_heads=1, n_layers=1, d_ff=4, dropout=0.0)
    ids, labels = torch.tensor([[2, 5, 3]]), torch.tensor([[-100, 6, -100]])
    batches = [
        dict(zip(BATCH, (ids + k, ids * 0, ids * 0 + 1, labels), strict=True)) | {"more": None}
        for k in range(3)
    ]
    by_name, by_hand = BertForMLM(config, PCG32(1)), BertForMLM(config, PCG32(1))
    losses = fitting.fit_mlm(by_name, batches, 3, peak=0.01)
    again = fitting.fit(by_hand, 3, lambda k: by_hand(ids + k, labels=labels)[1], peak=0.01)
    assert losses == pytest.approx(again, abs=1e-6) and losses[2] < losses[0]
