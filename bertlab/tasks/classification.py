"""Classification: predict one label for a text or a pair of texts (Devlin et al. 2019, section 4.1).

Shape legend: B batch, I inputs of a `Features`, R inputs to compare (an original and changed versions of it), K labels.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.tasks.error_analysis import ConfusionMatrix, ScoredRow, build_confusion_matrix
from bertlab.tasks.examples import Example, Examples, find_label_index, read_label_name
from bertlab.tasks.features import Features
from bertlab.tasks.labelled_task import ANALYSIS_BATCH_SIZE, LabelledTaskType
from bertlab.tasks.loss import Loss, label_loss
from bertlab.tasks.recomputable_prediction import RecomputablePrediction, make_pooled_prediction
from bertlab.tasks.task_type import ProgressMetric
from bertlab.text.batch import Batch, LabelBatch
from bertlab.text.readers.rows import Rows
from bertlab.text.tokenizers.wordpiece import Encoding

MAX_LABELS = 1000  # a column may have at most this many distinct labels


@dataclass(frozen=True)
class LabelProbability:
    """A label and its probability."""

    label: str
    """The name of the label."""
    probability: float
    """The probability, in 0..1."""


@dataclass(frozen=True)
class Classification:
    """The prediction for a text: the probability of every label or, from a regression checkpoint, a value."""

    labels: tuple[LabelProbability, ...]
    """All labels in the checkpoint's order; () if the prediction is a value."""
    value: float | None = None
    """The predicted value; None if the prediction is a label."""

    @property
    def best(self) -> LabelProbability | None:
        """The most probable label; None if the prediction is a value."""
        return max(self.labels, key=lambda label: label.probability, default=None)


def classification_loss(model: nn.Module, batch: LabelBatch) -> Loss:
    """Mean cross-entropy of the labels."""
    return label_loss(model.classify(model.pool(batch.inputs)).float(), batch)


class ClassificationTask(LabelledTaskType):
    """One label for a text or a pair of texts."""

    name = "classification"
    aliases = ("classify",)
    head = "classify"
    command = "classify"
    page = "classify"
    supports_interventions = True
    metrics = ("accuracy",)
    progress_metric = ProgressMetric(key="accuracy", label="accuracy")
    column_flags = ("text_column", "pair_column")
    uses_labels = True
    confusion_counts_each_example_once = True
    loss = staticmethod(classification_loss)
    supports_teacher = True

    def find_labels(self, data: Rows, spec: TaskSpec, column: str | None, cells: list) -> tuple[str, ...]:
        if spec.labels:
            return spec.labels
        if column is not None and data.label_names.get(column):
            return data.label_names[column]
        names = {read_label_name(cell) for cell in cells}
        # A column with so many different values contains texts or ids, not labels.
        if len(names) > MAX_LABELS or len(names) > max(20, len(cells) / 2):
            raise DataError("too-many-labels", name=data.name, labels=len(names), column=repr(column), rows=len(cells))
        are_numbers = all(name.lstrip("-").isdecimal() and len(name) < 20 for name in names)
        return tuple(sorted(names, key=(lambda name: (int(name), name)) if are_numbers else None))

    def read_target(self, cell: object, labels: tuple[str, ...], names_by_number: tuple[str, ...], texts) -> int:
        return find_label_index(cell, labels, names_by_number)

    def format_target(self, examples: Examples, target: int) -> str:
        return examples.labels[target]

    def compute_scores(self, model: Bert, batch: Batch) -> torch.Tensor:
        return model.logits("classify", batch).softmax(-1)

    def decode(self, features: Features, scores_I: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [probs_K.astype(np.float64) for probs_K in scores_I]

    def score_examples(
        self, loaded: Checkpoint, features: Features, progress: Callable
    ) -> tuple[list, list[ScoredRow], ConfusionMatrix]:
        labels = features.examples.labels
        return score_labels(self, loaded.model, features, progress, labels, lambda example: labels)

    def format_prediction(self, examples: Examples, row: Example, prediction: int) -> str:
        spec, name = examples.spec, examples.labels[prediction]
        # A submission contains the index of a label in `spec.labels`; the order in the checkpoint may differ.
        if spec.submission and not spec.submits_label_names:
            if name not in spec.labels:
                raise DataError("prediction-not-a-label", id=row.id, name=examples.name, label=repr(name))
            return str(spec.labels.index(name))
        return name

    def parse_prediction(self, cell: str, examples: Examples) -> int:
        if cell in examples.labels:
            return examples.labels.index(cell)
        if (number := int(cell)) < 0:
            raise ValueError(cell)
        return examples.labels.index((examples.spec.labels or examples.labels)[number])

    def make_recomputable_prediction(
        self, loaded: Checkpoint, encoding: Encoding, pair: str | None, mask: int
    ) -> RecomputablePrediction:
        return make_pooled_prediction(
            loaded.model, self.name, encoding, loaded.model.classify, loaded.model.config.labels
        )

    def read_logits(self, labels: Sequence[str], logits_K: torch.Tensor) -> Classification:
        """Turn the logits of one text into the probability of every label."""
        return Classification(tuple(map(LabelProbability, labels, logits_K.softmax(-1).tolist())))

    def score_variants(self, model: Bert, batches: Iterable[Batch]) -> tuple[str, torch.Tensor]:
        """Compute, for several inputs, the log-odds of the label that is predicted for the first input.

        Args:
            model: the model.
            batches: the R inputs. The first one is the original text; the others are changed versions of it. The
                differences between their scores and the score of the original explain the prediction.

        Returns:
            The label predicted for the first input, and its log-odds for every input, [R] on the CPU.
        """
        logits_RK = torch.cat([model.logits("classify", batch).float().cpu() for batch in batches])
        best = int(logits_RK[0].argmax())
        others_RK = torch.cat([logits_RK[:, :best], logits_RK[:, best + 1 :]], dim=1)
        # This equals log(p / (1 - p)) for the softmax probability p, but 1 - p would lose precision if p is close to 1.
        return model.config.labels[best], logits_RK[:, best] - others_RK.logsumexp(1)

    def make_table_row(self, prediction: Classification) -> dict[str, str | float]:
        best, probabilities = prediction.best, {f"p({row.label})": row.probability for row in prediction.labels}
        return {"label": best.label, "probability": best.probability} | probabilities


def score_labels(
    task_type: LabelledTaskType,
    model: Bert,
    features: Features,
    progress: Callable,
    matrix_labels: Sequence[str],
    list_display_names: Callable[[Example], Sequence[str]],
) -> tuple[list[int], list[ScoredRow], ConfusionMatrix]:
    """Predict a label or choice for each example, and score the predictions.

    Args:
        task_type: the task type, which computes the outputs and chooses the predictions.
        model: the model that predicts.
        features: the inputs.
        progress: wraps the iterable of batches, as `tqdm` does.
        matrix_labels: the labels of the confusion matrix.
        list_display_names: function: example -> the text of each label or choice that may be predicted for it.

    Returns:
        The index of the predicted label or choice of each example, the scored rows, and the confusion matrix.
    """
    outputs = task_type.compute_outputs(model, features, ANALYSIS_BATCH_SIZE, progress)
    predictions = task_type.choose_predictions(outputs)
    scored_rows, confusion_pairs = [], []
    for index, (example, best, probs_K) in enumerate(zip(features.examples, predictions, outputs, strict=True)):
        display_names = list_display_names(example)
        scored_rows.append(
            ScoredRow(
                example.id,
                example.texts,
                gold=display_names[example.target],
                prediction=display_names[best],
                score=float(best == example.target),
                probability=float(probs_K[example.target]),
            )
        )
        confusion_pairs.append(((example.target, best), index))
    return predictions, scored_rows, build_confusion_matrix(matrix_labels, confusion_pairs)
