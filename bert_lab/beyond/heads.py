"""Heads on the encoder: one label for a whole sequence, or one label for each of its tokens.

Shapes: B batch, T positions, N real ones, d model width, C labels.
Source: Devlin et al. 2019, section 4 and appendix A.5; the course text, section 6.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from .. import checkpoint
from ..checks import as_device_ids, as_index, as_real, check_config
from ..hf.config import Fields
from ..hf.loading import Architecture
from ..hf.plan import Names, check_mapping, expected_by, load_into, sizes_of
from ..hf.weights import Problem
from ..model import BertConfig, BertEncoder, linear
from ..padding import Unpadded, mean_cross_entropy
from ..rng import PCG32


class _Headed(nn.Module):
    """An encoder with a linear classifier for C labels."""

    def __init__(
        self,
        config: BertConfig,
        n_labels: int,
        rng: PCG32 | None = None,
        classifier_dropout: float | None = None,
    ):
        super().__init__()
        check_config(config, BertConfig)
        self.config, rng = config, rng or PCG32(0)
        self.n_labels = as_index(n_labels, "n_labels", 2, 2**31)
        rate = (
            config.dropout
            if classifier_dropout is None
            else as_real(classifier_dropout, "classifier_dropout")
        )
        if not 0 <= rate < 1:
            raise ValueError(f"classifier_dropout: expected a probability in [0, 1), got {rate}")
        self.encoder = BertEncoder(config, rng)
        self._make_head(rng)
        self.drop = nn.Dropout(rate)

    def _make_head(self, rng: PCG32) -> None:
        """Make the layers of the head."""
        self.classifier = linear(self.config.d_model, self.n_labels, rng)

    @classmethod
    def from_encoder(
        cls,
        source: nn.Module,
        n_labels: int,
        rng: PCG32 | None = None,
        *,
        classifier_dropout: float | None = None,
    ):
        """A new model, in train mode, with a fresh head on a copy of a trained encoder.

        Args:
            source: a `BertEncoder`, or a model that has one as `encoder`, such as `BertForMLM`. It is not
                changed, and only its encoder is used.
            n_labels, rng, classifier_dropout: as for a new model. The head has the weights that a new model
                of the same sizes gets from `rng`. Its dtype and device are the encoder's.

        Raises:
            TypeError: source has no such encoder; else as for a new model.
        """
        encoder = getattr(source, "encoder", source)
        if not isinstance(encoder, BertEncoder):
            raise TypeError(
                f"source: expected a BertEncoder or a model with one, got {type(source).__name__}"
            )
        model = cls(encoder.config, n_labels, rng, classifier_dropout=classifier_dropout)
        model.encoder = copy.deepcopy(encoder)
        return model.to(encoder.word.weight).train()


class BertForSequenceClassification(_Headed):
    """One of C labels for a sequence, from its first position: W tanh(W_p h_0 + b_p) + b.

    Args:
        config: of the encoder.
        n_labels: C, at least 2.
        rng: draws the weights in the order of the parameters: encoder, pooler, classifier; else PCG32(0).
        classifier_dropout: between the pooler and the classifier; None takes the config's dropout.

    Raises TypeError or ValueError, with the argument's name.

    Source: Devlin et al. 2019, section 4.1, with the pooler of its published code.
    """

    def _make_head(self, rng: PCG32) -> None:
        self.pooler = linear(self.config.d_model, self.config.d_model, rng)
        super()._make_head(rng)

    def forward(self, ids, token_type_ids=None, attn_mask=None, labels=None) -> tuple[Tensor, Tensor | None]:
        """`(logits, loss)`: logits [B, C]; the loss is None without labels.

        Args:
            ids, token_type_ids, attn_mask: as in `BertEncoder.forward`. The first position of each row must
                be real, since the head reads it.
            labels: integers [B], 0 <= label < C. The loss is the mean cross-entropy in nats.

        Raises as `BertEncoder.forward` does; ValueError for padding at a first position, or for labels of
        another shape or range.
        """
        batch = self.encoder.batch_of(ids, token_type_ids, attn_mask)
        h = self.encoder.read(batch, first_positions(batch))  # [B, d]
        logits = self.classifier(self.drop(torch.tanh(self.pooler(h))))
        if labels is None:
            return logits, None
        targets = as_device_ids(labels, "labels", self.n_labels)
        if targets.shape != logits.shape[:1]:
            raise ValueError(
                f"labels: expected the shape {list(logits.shape[:1])}, got {list(targets.shape)}"
            )
        return logits, mean_cross_entropy(logits, torch.tensor(targets, device=logits.device))


class BertForTokenClassification(_Headed):
    """One of C labels for each token: W h_t + b.

    Args: as in `BertForSequenceClassification`; there is no pooler, and the dropout is before the classifier.

    Source: Devlin et al. 2019, sections 4.2 and 5.3.
    """

    def forward(self, ids, token_type_ids=None, attn_mask=None, labels=None) -> tuple[Tensor, Tensor | None]:
        """`(logits, loss)`: logits [B, T, C], zero at padding; the loss is None without labels.

        Args:
            ids, token_type_ids, attn_mask: as in `BertEncoder.forward`.
            labels: integers [B, T], 0 <= label < C, or -100 at tokens without a label. The loss is the mean
                cross-entropy, in nats, over the labels that are not -100; exactly 0.0 if there are none.

        Raises as `BertEncoder.forward` does; ValueError for a label that is neither, or stands on padding.
        """
        batch = self.encoder.batch_of(ids, token_type_ids, attn_mask)
        logits = self.classifier(self.drop(self.encoder.read(batch)))  # [N, C]
        if labels is None:
            return batch.put_back(logits), None
        at, targets = batch.labelled(labels, self.n_labels)
        return batch.put_back(logits), mean_cross_entropy(logits[at], targets)


def first_positions(batch: Unpadded) -> Tensor:
    """The index of each row's first position among the real ones, [B]; ValueError if it is padding."""
    real = batch.real[:, :1].all(1) if batch.shape[1] else batch.real.new_zeros(batch.shape[0])
    if not real.all():
        b = int((~real).nonzero()[0])
        raise ValueError(f"attn_mask: expected a real first position in every row, got padding in row {b}")
    return batch.put_back(torch.arange(batch.count, device=real.device))[:, :1].flatten()


# ---- checkpoints


def hf_names(
    model: BertForSequenceClassification | BertForTokenClassification, sd: Mapping | None = None
) -> Names:
    """How a model with a head is written in checkpoints; TypeError for another kind of model."""
    if not isinstance(model, _Headed):
        raise TypeError(f"model: expected one of the models with a head, got {type(model).__name__}")
    table = checkpoint.encoder_table() | {"pooler": "bert.pooler.dense", "classifier": "classifier"}
    # The token classifiers of transformers had a pooler until 2020, which they did not use.
    extras = {} if hasattr(model, "pooler") else checkpoint.POOLER
    return _HeadNames(type(model).__name__, expected_by(model, table), extras)


class _HeadNames(checkpoint.BertNames):
    def hint(self, missing: set[str]) -> str | None:
        head = {e.key for name, e in self.expected.items() if not name.startswith("encoder.")}
        return "the encoder is complete: from_encoder puts a new head on one" if missing == head else None


def load_hf_heads(
    model: BertForSequenceClassification | BertForTokenClassification, sd: Mapping[str, Tensor]
) -> None:
    """Copy a state dict of `transformers`' model of the same name into a model: all of it, or nothing.

    Args:
        model: one of the two models of this module, with as many labels as the state dict's.
        sd: as for `load_hf_bert`, with `classifier.*`, and for sequences with the pooler. A pooler tells that
            it is a sequence's, so a token model does not take it; old token classifiers have one too, which
            `zoo.load` leaves out, since it can read in their config what they are.

    Raises:
        TypeError: another kind of model, or sd is no mapping.
        CheckpointError: as in `load_hf_bert`; it says which model, and how many labels, the state dict is of,
            where that is another. The model is as it was.
    """
    names = hf_names(model)
    check_mapping(sd)
    if not hasattr(model, "pooler"):
        names.extras = {key: meaning for key, meaning in names.extras.items() if ".pooler." not in key}
    load_into(model, sd, names, _other_kind(model, sd))


def _other_kind(model: _Headed, sd: Mapping) -> list[str]:
    """A hint, where the classifier of a state dict has other sizes or stands on something else."""
    sizes = sizes_of(sd.get("classifier.weight"))
    if not sizes:
        return []
    pooled = any(isinstance(key, str) and "pooler." in key for key in sd)
    kind = BertForSequenceClassification if pooled else BertForTokenClassification
    both = (kind, sizes[0]), (type(model), model.n_labels)
    got, wanted = (f"{of.__name__} with {n} labels" for of, n in both)
    return [] if got == wanted else [f"these are the weights of a {got}, and the model is a {wanted}"]


def config_from_hf(content: Mapping, dropout: float | None = None) -> tuple[tuple, list[Problem]]:
    """What a model is made with, or all in the content of a config.json that is not ours.

    Returns:
        (config, n_labels, None, classifier_dropout), the arguments of both models, and the problems; what a
        problem is about may be None. dropout: instead of the config's three.
    """
    config, problems = checkpoint.config_from_hf(content, dropout)
    fields = Fields(content)
    usual = (None, "single_label_classification")
    fields.fixed("problem_type", usual, " or 'single_label_classification', one label each")
    names = content.get("id2label")
    if names is None:
        n_labels = fields.size("num_labels", 2)  # where nothing is said, transformers takes 2
    elif isinstance(names, Mapping):
        n_labels = len(names)
        fields.fixed("num_labels", (n_labels,), ", as many as id2label has")
    else:
        n_labels = fields.wrong("id2label", f"expected labels by number, got {type(names).__name__}")
    if n_labels is not None and n_labels < 2:
        where = "num_labels" if names is None else "id2label"
        fields.wrong(where, f"expected at least 2 labels, got {n_labels}; one is a number to be guessed")
    rate = None
    if dropout is None and content.get("classifier_dropout") is not None:
        rate = fields.real("classifier_dropout")
        if rate is not None and not 0 <= rate < 1:
            fields.wrong("classifier_dropout", f"expected a probability in [0, 1), got {rate}")
    return (config, n_labels, None, rate), [*problems, *fields.problems]


def config_to_hf(model: _Headed, architecture: str) -> dict:
    """The config.json of a model, for `transformers`; its labels are called LABEL_0, LABEL_1, ..."""
    labels = [f"LABEL_{number}" for number in range(model.n_labels)]
    return checkpoint.hf_config(model, architecture) | {
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "label2id": {label: number for number, label in enumerate(labels)},
        "classifier_dropout": model.drop.p,
        "problem_type": "single_label_classification",
    }


ARCHITECTURES = {
    kind.__name__: Architecture("bert", kind, config_from_hf, config_to_hf, hf_names)
    for kind in (BertForSequenceClassification, BertForTokenClassification)
}
