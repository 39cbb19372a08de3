"""Sentence-pair objectives of pre-training: next-sentence prediction (NSP) and sentence-order prediction (SOP).

Source: Devlin et al. 2019, section 3.1; Lan et al. 2020 (arXiv 1909.11942), section 3.1.
"""

from dataclasses import dataclass

import torch

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.tasks.recomputable_prediction import RecomputablePrediction, make_pooled_prediction
from bertlab.tasks.task_type import TaskType
from bertlab.text.pretraining.sentence_pairs import PairObjectiveName
from bertlab.text.tokenizers.wordpiece import Encoding


@dataclass(frozen=True)
class PairObjective:
    """A binary classification of sentence pairs by an output layer on [CLS]."""

    name: str
    """The first part of the names of the objective's metrics, which end in "_loss" and "_accuracy"."""
    description: str
    """The name of the objective in `bertlab.json`."""
    head: str
    """The output layer of the objective, a key of `nn.heads.HEADS`."""
    labels: tuple[str, str]
    """The names of labels 0 and 1."""


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
    """The objective of the checkpoint: "next" (NSP) or "order" (SOP)."""

    @property
    def asked(self) -> str:
        """The old name of `objective`."""
        return self.objective

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


class SentencePairTask(TaskType):
    """Next-sentence or sentence-order prediction."""

    name = "sentence_pair"
    aliases = ("nsp", "next", "next_sentence")
    head = "nsp"
    command = "next-sentence"
    page = "next-sentence"
    reads_only_pairs = True
    column_flags = ("text_column", "pair_column")
    supports_interventions = True
    interventions_need_pair = True

    def make_recomputable_prediction(
        self, loaded: Checkpoint, encoding: Encoding, pair: str | None, mask: int
    ) -> RecomputablePrediction:
        return make_pooled_prediction(
            loaded.model, self.name, encoding, loaded.model.nsp, PAIR_OBJECTIVES[loaded.pair_objective].labels
        )

    def make_table_row(self, prediction: NextSentence) -> dict[str, str | float]:
        """Convert one prediction to a row of a table of predictions: column -> cell."""
        probability = max(prediction.probability, 1 - prediction.probability)  # that of the predicted label
        return {"label": prediction.label, "probability": probability}
