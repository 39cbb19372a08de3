"""Sentence-pair objectives of pre-training: next-sentence prediction (NSP) and sentence-order prediction (SOP).

Source: Devlin et al. 2019, section 3.1; Lan et al. 2020 (arXiv 1909.11942), section 3.1.
"""

from dataclasses import dataclass

import torch

from bertlab.tasks.recomputable_prediction import make_pooled_prediction
from bertlab.tasks.task_type import TaskType
from bertlab.text.pretraining.sentence_pairs import PairObjectiveName


@dataclass(frozen=True)
class PairObjective:
    """A binary classification of sentence pairs by an output layer on [CLS]."""

    name: str
    """The first part of the names of the objective's metrics, which end in "_loss" and "_accuracy"."""
    description: str
    """The name of the objective in `bertlab.json`."""
    head: str
    labels: tuple[str, str]


# name of a sentence-pair objective -> the objective; None if sentence pairs are not classified
PAIR_OBJECTIVES: dict[PairObjectiveName, PairObjective | None] = {
    "next": PairObjective("nsp", "next sentence", "nsp", ("IsNext", "NotNext")),
    # SOP uses the output layer of NSP, so that `transformers` opens the checkpoint as a BertForPreTraining.
    "order": PairObjective("order", "sentence order", "nsp", ("in order", "swapped")),
    "none": None,
}


@dataclass(frozen=True)
class NextSentence:
    """The prediction for a pair of sentences."""

    probability: float
    """The probability of label 0, in 0..1: that B follows A (NSP), or that A and B are in order (SOP)."""
    objective: PairObjectiveName = "next"

    @property
    def outcomes(self) -> tuple[str, str]:
        """The names of labels 0 and 1."""
        return PAIR_OBJECTIVES[self.objective].labels

    @property
    def label(self) -> str:
        """The name of the more probable label."""
        return self.outcomes[self.probability < 0.5]


def read_pair_logits(logits_2: torch.Tensor, objective: PairObjectiveName) -> NextSentence:
    """Turn the logits of a sentence pair into a prediction."""
    return NextSentence(float(logits_2.softmax(-1)[0]), objective)


SENTENCE_PAIR = TaskType(
    name="sentence_pair",
    head="nsp",
    command="next-sentence",
    page="next-sentence",
    column_flags=("text_column", "pair_column"),
    reads_only_pairs=True,
    interventions_need_pair=True,
    recompute=lambda task_type, loaded, encoding, pair, mask: make_pooled_prediction(
        loaded.model, task_type.name, encoding, task_type.head, PAIR_OBJECTIVES[loaded.pair_objective].labels
    ),
    make_table_row=lambda prediction: {
        "label": prediction.label,
        "probability": max(prediction.probability, 1 - prediction.probability),  # that of the predicted label
    },
)
