"""The parity ladder: our BERT compared with another one, step by step, and a lab that puts faults into ours.

Both models get the same weights and the same batch. The outputs of each linear layer and each norm are
compared, then the logits, the loss and the gradient of every parameter. Each comparison is a rung. The first
rung that differs shows where a fault is. The other model is a `transformers.BertForMaskedLM`, or any model
with the same methods.
"""

import contextlib
import copy
import dataclasses
import html
import math

import ipywidgets as widgets
import torch
from torch import Tensor, nn

from bert_lab import figures
from bert_lab.labs.base import Lab, bad, good
from bert_lab.padding import BATCH, Unpadded

LIMIT = 1e-5  # above the rounding errors of float32 in a model of this size, below the effect of any fault


@dataclasses.dataclass(frozen=True)
class Climb:
    """The largest difference at each rung.

    forward: of the output of each linear layer and norm, in the order of computation, then of the logits and
    the loss. gradients: of the gradient of each parameter, under our names. A rung that our model does not
    have is infinite.
    """

    forward: dict[str, float]
    gradients: dict[str, float]

    @property
    def rungs(self) -> dict[str, float]:
        """The forward rungs, and the gradients as one more."""
        return {**self.forward, "every gradient": max(self.gradients.values())}

    @property
    def first_broken(self) -> str | None:
        """The first rung whose difference is not below 1e-5, or None."""
        return next((name for name, size in self.rungs.items() if not size < LIMIT), None)


def name_table(theirs: nn.Module, ours: nn.Module, load) -> dict[str, str]:
    """The name of our parameter for each of theirs, found by loading.

    Each of their parameters is filled with its number. `load(model, state_dict)` copies the numbers into a
    copy of our model.
    """
    marked = {
        name: torch.full_like(parameter, i) for i, (name, parameter) in enumerate(theirs.named_parameters())
    }
    loaded = copy.deepcopy(ours)
    load(loaded, marked)
    arrived = {int(parameter.flatten()[0]): name for name, parameter in loaded.named_parameters()}
    return {name: arrived[i] for i, name in enumerate(marked)}


def build(theirs: nn.Module, bert, config) -> nn.Module:
    """The `BertForMLM` of `bert` with their weights, in eval mode. bert: bert_lab, or a mutant of it."""
    ours = bert.BertForMLM(bert.BertConfig(**dataclasses.asdict(config)))
    bert.load_hf_bert(ours, theirs.state_dict())
    return ours.eval()


def climb(theirs: nn.Module, bert, config, batch: dict) -> Climb:
    """Compare both models on one batch.

    theirs: a `transformers.BertForMaskedLM` in eval mode. bert: bert_lab, or any namespace with the
    contract's names. config: a `BertConfig` of their sizes. batch: what `mlm_batch` returns. Only real
    positions are compared.
    """
    ours = build(theirs, bert, config)
    names = name_table(theirs, ours, bert.load_hf_bert)
    parts = {}  # of theirs -> of ours
    for name, our_name in names.items():
        part = name.rpartition(".")[0]
        if isinstance(theirs.get_submodule(part), (nn.Linear, nn.LayerNorm)):
            parts[part] = our_name.rpartition(".")[0]
    batch = {name: torch.as_tensor(array) for name, array in batch.items()}
    real = batch["attention_mask"].bool()  # [B, T]
    positions = Unpadded(real)  # the order in which our parts see the real positions
    for model in (theirs, ours):
        model.zero_grad()
    with _outputs(theirs, parts) as their_outputs:
        result = theirs(**batch)
    with _outputs(ours, parts.values()) as our_outputs:
        arguments = (batch[name] for name in BATCH)
        logits, loss = ours(*arguments)
    result.loss.backward()
    loss.backward()
    forward = {
        _rung(our_part): _distance(positions.take(their_outputs[part]), our_outputs.get(our_part))
        for part, our_part in parts.items()
    }
    forward["logits"] = _distance(result.logits[real], logits[real])
    forward["loss"] = _distance(result.loss, loss)
    gradients = {
        our_name: _distance(theirs.get_parameter(name).grad, ours.get_parameter(our_name).grad)
        for name, our_name in names.items()
    }
    return Climb(forward, gradients)


@contextlib.contextmanager
def _outputs(model: nn.Module, parts):
    """A dict that collects the outputs of these parts of the model, by name, while the model runs.

    A part that is not called (our query, key and value are one matrix product) is applied to the input of its
    parent module.
    """
    outputs, inputs, hooks = {}, {}, []
    for part in parts:

        def keep(_module, _arguments, output, part=part):
            outputs[part] = output.detach()

        def note(_module, arguments, part=part):
            inputs[part] = arguments

        around = model.get_submodule(part.rpartition(".")[0])
        hooks.append(model.get_submodule(part).register_forward_hook(keep))
        hooks.append(around.register_forward_pre_hook(note))
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()
    with torch.no_grad():
        for part in inputs.keys() - outputs.keys():
            outputs[part] = model.get_submodule(part)(inputs[part][0])


def _distance(theirs: Tensor | None, ours: Tensor | None) -> float:
    """The largest difference; infinite if it is NaN, if one tensor is missing, or if the shapes differ."""
    if theirs is None or ours is None or theirs.shape != ours.shape:
        return math.inf
    size = float((theirs.detach() - ours.detach()).abs().max())
    return size if size >= 0 else math.inf


def _rung(part: str) -> str:
    """A short name: "encoder.layers.0.ff_in" is "layer 0 ff_in"."""
    name = part.removeprefix("encoder.")
    if name == "norm":
        return "embeddings"
    if name.startswith("layers."):
        _, number, name = name.split(".", 2)
        return f"layer {number} {name}"
    return name


class LadderLab(Lab):
    """Choose a fault, a batch and the weights; see the ladder and its first broken rung.

    The first three arguments are dicts whose keys are the choices of a menu. faults: namespaces with the
    contract's names, such as bert_lab and its mutants. batches: results of `mlm_batch`. models: each a
    `transformers.BertForMaskedLM` in eval mode. config: a `BertConfig` of their sizes. `fault`, `batch` and
    `weights` are the chosen keys. `climbed` is the `Climb`, None after an error.
    """

    def __init__(self, faults: dict, batches: dict, models: dict, config):
        self.faults, self.batches, self.models, self.config = faults, batches, models, config
        look = {
            "style": {"description_width": "80px"},
            "layout": widgets.Layout(width="440px", max_width="100%"),
        }
        self.fault_menu, self.batch_menu, self.weights_menu = (
            widgets.Dropdown(options=list(choices), description=name, **look)
            for name, choices in (("fault", faults), ("batch", batches), ("weights", models))
        )
        self.climbed = None
        self.answer, self.figure = widgets.HTML(""), widgets.HTML("")
        super().__init__(
            "Ladder lab",
            "Put a fault into our BERT. Which rung is the first to break?",
            [self.fault_menu, self.batch_menu, self.weights_menu],
            [self.answer, self.figure],
        )
        self.watch(self.fault_menu, self.batch_menu, self.weights_menu)
        self.refresh()

    @property
    def fault(self) -> str:
        """The name of the fault that is in our model."""
        return self.fault_menu.value

    @property
    def batch(self) -> str:
        """The name of the batch that both models read."""
        return self.batch_menu.value

    @property
    def weights(self) -> str:
        """The name of the model whose weights both have."""
        return self.weights_menu.value

    def draw(self) -> None:
        """Compare the models and draw the ladder."""
        self.climbed, self.answer.value, self.figure.value = None, "", ""
        model, bert = self.models[self.weights], self.faults[self.fault]
        self.climbed = climb(model, bert, self.config, self.batches[self.batch])
        mark = bad("Broken") if self.climbed.first_broken else good("Whole")
        self.answer.value = f'<div role="status">{mark}: {html.escape(self.summary())}</div>'
        self.figure.value = figures.html_image(figures.parity_ladder(self.climbed.rungs, limit=LIMIT))

    def summary(self) -> str:
        """The answer in a sentence."""
        if self.climbed is None:
            return "no answer"
        rungs, first = list(self.climbed.rungs), self.climbed.first_broken
        if first is None:
            return f"all {len(rungs)} rungs are below {LIMIT:g}."
        place = f"number {rungs.index(first) + 1} of {len(rungs)}"
        return f"the first rung that is not below {LIMIT:g} is {place}, {first}."

    def settings(self) -> str:
        """The values of the menus, in a line."""
        return f"fault: {self.fault}; batch: {self.batch}; weights: {self.weights}"

    def as_text(self) -> str:
        """The settings and the answer, as plain text."""
        return f"Ladder lab. {self.settings()}\n{self.summary()}"

    def as_html(self) -> str:
        """The settings and the answer, as HTML."""
        return (
            f"<p><b>Ladder lab</b>. {html.escape(self.settings())}."
            " <i>(Run this cell in JupyterLab to use it.)</i></p>"
            f"<p>{html.escape(self.summary())}</p>"
        )
