"""Heads on the encoder: one label for a whole sequence, or one for each of its tokens.

Shapes: B batch, T positions, N real ones, d model width, C labels.
Source: Devlin et al. 2019, section 4 and appendix A.5; the course text, section 6.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from .model import BertConfig, BertEncoder, checked, drawn
from .packing import Rows, as_integers, labelled, mean_cross_entropy
from .rng import PCG32, as_index, as_real


class _Headed(nn.Module):
    """An encoder, and a linear layer that tells C labels apart."""

    def __init__(
        self,
        config: BertConfig,
        n_labels: int,
        rng: PCG32 | None = None,
        *,
        classifier_dropout: float | None = None,
    ):
        super().__init__()
        self.config, rng = checked(config), rng or PCG32(0)
        self.n_labels = as_index(n_labels, "n_labels", 2, 2**31)
        rate = (
            config.dropout
            if classifier_dropout is None
            else as_real(classifier_dropout, "classifier_dropout")
        )
        if not 0 <= rate < 1:
            raise ValueError(f"classifier_dropout: expected a probability in [0, 1), got {rate}")
        self.encoder = BertEncoder(config, rng)
        self._draw(rng)
        self.drop = nn.Dropout(rate)

    def _draw(self, rng: PCG32) -> None:
        """What stands on the encoder"""
        self.classifier = drawn(nn.Linear, self.config.d_model, self.n_labels, rng=rng)

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
            source: a `BertEncoder`, or a model that has one as `encoder`, such as `BertForMLM`. It is left
                as it is, and only its encoder is used.
            n_labels, rng, classifier_dropout: as for a new model; the head is the one that a new model of
                the same sizes gets from `rng`. Its dtype and device are the encoder's.

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
        model.zero_grad()
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

    def _draw(self, rng: PCG32) -> None:
        self.pooler = drawn(nn.Linear, self.config.d_model, self.config.d_model, rng=rng)
        super()._draw(rng)

    def forward(self, ids, token_type_ids=None, attn_mask=None, labels=None) -> tuple[Tensor, Tensor | None]:
        """`(logits, loss)`: logits [B, C]; the loss is None without labels.

        Args:
            ids, token_type_ids, attn_mask: as in `BertEncoder.forward`; the first position of each row must
                be real, since the label is read there.
            labels: integers [B], 0 <= label < C. The loss is the mean cross-entropy in nats.

        Raises as `BertEncoder.forward` does; ValueError for padding at a first position, or for labels of
        another shape or range.
        """
        h, rows, allowed = self.encoder.embed(ids, token_type_ids, attn_mask)
        h = self.encoder.run(h, rows, allowed, first_places(rows))  # [B, d]
        logits = self.classifier(self.drop(torch.tanh(self.pooler(h))))
        if labels is None:
            return logits, None
        targets = as_integers(labels, "labels", self.n_labels, rows.device)
        if targets.shape != logits.shape[:1]:
            raise ValueError(
                f"labels: expected the shape {list(logits.shape[:1])}, got {list(targets.shape)}"
            )
        return logits, mean_cross_entropy(logits, targets)


class BertForTokenClassification(_Headed):
    """One of C labels for each token: W h_t + b.

    Args: as in `BertForSequenceClassification`; there is no pooler, and the dropout is before the classifier.

    Source: Devlin et al. 2019, sections 4.2 and 5.3.
    """

    def forward(self, ids, token_type_ids=None, attn_mask=None, labels=None) -> tuple[Tensor, Tensor | None]:
        """`(logits, loss)`: logits [B, T, C], zero at padding; the loss is None without labels.

        Args:
            ids, token_type_ids, attn_mask: as in `BertEncoder.forward`.
            labels: integers [B, T], 0 <= label < C, or -100 where nothing is asked. The loss is the mean
                cross-entropy, in nats, over those that are not -100; exactly 0.0 when there is none.

        Raises as `BertEncoder.forward` does; ValueError for a label that is neither, or stands on padding.
        """
        h, rows, allowed = self.encoder.embed(ids, token_type_ids, attn_mask)
        logits = self.classifier(self.drop(self.encoder.run(h, rows, allowed)))  # [N, C]
        if labels is None:
            return rows.unpack(logits), None
        places, targets = labelled(labels, rows, self.n_labels)
        return rows.unpack(logits), mean_cross_entropy(logits.index_select(0, places), targets)


def first_places(rows: Rows) -> Tensor:
    """Where the first position of each row stands among the real ones, [B]; ValueError for padding."""
    real = rows.real[:, :1].all(1) if rows.shape[1] else rows.real.new_zeros(rows.shape[0])
    if not real.all():
        b = int((~real).nonzero()[0])
        raise ValueError(f"attn_mask: expected a real first position in every row, got padding in row {b}")
    return rows.unpack(torch.arange(rows.count, device=rows.device))[:, 0]
