"""Classification: predict one label for a text or a pair of texts (Devlin et al. 2019, section 4.1).

Shape legend: R inputs to compare (an original and changed versions of it), K labels.
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
from bertlab.tasks.error_analysis import ANALYSIS_BATCH_SIZE, ScoredRow, TaskAnalysis, build_confusion_matrix
from bertlab.tasks.examples import Example, Examples, find_label_index, read_label_name
from bertlab.tasks.features import Features, encode_texts
from bertlab.tasks.labelled_rows import RowReader
from bertlab.tasks.loss import Loss, label_loss
from bertlab.tasks.metrics import in_percent, score_targets
from bertlab.tasks.prediction_files import TableFile
from bertlab.tasks.recomputable_prediction import make_pooled_prediction
from bertlab.tasks.task_type import ProgressMetric, TaskType
from bertlab.text.batch import Batch, LabelBatch
from bertlab.text.readers.rows import Rows

MAX_LABELS = 1000  # a column may have at most this many distinct labels


@dataclass(frozen=True)
class LabelProbability:
    """A label and its probability, 0..1."""

    label: str
    probability: float


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


@dataclass(frozen=True)
class ClassificationLoss:
    """Mean cross-entropy of the labels."""

    head: str

    def __call__(self, model: nn.Module, batch: LabelBatch) -> Loss:
        return label_loss(model.logits(self.head, batch.inputs).float(), batch)


def _find_labels(data: Rows, spec: TaskSpec, column: str | None, cells: list) -> tuple[str, ...]:
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


def choose_most_probable(examples: Examples, outputs: Sequence[np.ndarray]) -> list[int]:
    """Choose the index of the most probable label or choice of each example."""
    return [int(np.argmax(probabilities)) for probabilities in outputs]


def _format_prediction(examples: Examples, row: Example, prediction: int) -> str:
    spec, name = examples.spec, examples.labels[prediction]
    # A submission contains the index of a label in `spec.labels`; the order in the checkpoint may differ.
    if spec.submission and not spec.submits_label_names:
        if name not in spec.labels:
            raise DataError("prediction-not-a-label", id=row.id, name=examples.name, label=repr(name))
        return str(spec.labels.index(name))
    return name


def _parse_prediction(cell: str, examples: Examples) -> int:
    if cell in examples.labels:
        return examples.labels.index(cell)
    if (number := int(cell)) < 0:
        raise ValueError(cell)
    return examples.labels.index((examples.spec.labels or examples.labels)[number])


def explain_labels(
    task_type: TaskType,
    loaded: Checkpoint,
    features: Features,
    progress: Callable,
    matrix_labels: Sequence[str] = (),
    list_display_names: Callable[[Example], Sequence[str]] | None = None,
) -> TaskAnalysis:
    """Predict a label or choice for each example, and score the predictions.

    Args:
        matrix_labels: the labels of the confusion matrix; () for those of the examples.
        list_display_names: example -> the text of each label or choice that may be predicted for it.
    """
    examples = features.examples
    outputs = task_type.compute_outputs(loaded.model, features, ANALYSIS_BATCH_SIZE, progress)
    predictions = task_type.choose(examples, outputs)
    scored_rows, confusion_pairs = [], []
    for index, (example, best, probs_K) in enumerate(zip(examples, predictions, outputs, strict=True)):
        display_names = list_display_names(example) if list_display_names else examples.labels
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
    confusion = build_confusion_matrix(matrix_labels or examples.labels, confusion_pairs)
    return TaskAnalysis(task_type.score(examples, predictions), scored_rows, confusion)


def _score_variants(model: Bert, head: str, batches: Iterable[Batch]) -> tuple[str, torch.Tensor]:
    """Compute the log-odds of the label that is predicted for the first input, for every input, [R] on the CPU."""
    logits_RK = torch.cat([model.logits(head, batch).float().cpu() for batch in batches])
    best = int(logits_RK[0].argmax())
    others_RK = torch.cat([logits_RK[:, :best], logits_RK[:, best + 1 :]], dim=1)
    # This equals log(p / (1 - p)) for the softmax probability p, but 1 - p would lose precision if p is close to 1.
    return model.config.labels[best], logits_RK[:, best] - others_RK.logsumexp(1)


def _make_table_row(prediction: Classification) -> dict[str, str | float]:
    best, probabilities = prediction.best, {f"p({row.label})": row.probability for row in prediction.labels}
    return {"label": best.label, "probability": best.probability} | probabilities


_FILE = TableFile(_format_prediction, _parse_prediction)

CLASSIFICATION = TaskType(
    name="classification",
    predicts="a label",
    head="classify",
    command="classify",
    page="classify",
    column_flags=("text_column", "pair_column"),
    make_table_row=_make_table_row,
    recompute=lambda task_type, loaded, encoding, pair, mask: make_pooled_prediction(
        loaded.model, task_type.name, encoding, task_type.head, loaded.config.labels
    ),
    read_logits=lambda labels, logits_K: Classification(
        tuple(map(LabelProbability, labels, logits_K.softmax(-1).tolist()))
    ),
    score_variants=_score_variants,
    metrics=("accuracy",),
    progress_metric=ProgressMetric("accuracy", "accuracy"),
    supports_teacher=True,
    read=RowReader(
        lambda cell, labels, names_by_number, texts: find_label_index(cell, labels, names_by_number),
        find_labels=_find_labels,
        format_target=lambda labels, target: labels[target],
    ),
    encode=encode_texts,
    make_loss=ClassificationLoss,
    compute=lambda model, head, batch: model.logits(head, batch).softmax(-1),
    decode=lambda features, scores_I: [probs_K.astype(np.float64) for probs_K in scores_I],
    choose=choose_most_probable,
    score=in_percent(score_targets),
    explain=explain_labels,
    write_file=_FILE.write,
    read_file=_FILE.read,
)
