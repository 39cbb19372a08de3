"""Regression: one value for a text or a pair of texts, such as the similarity of two sentences (STS-B).

Shape legend: B batch, R inputs to compare (an original and changed versions).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.nn.bert import Bert
from bertlab.tasks.classification import Classification
from bertlab.tasks.error_analysis import ANALYSIS_BATCH_SIZE, ScoredRow, TaskAnalysis
from bertlab.tasks.examples import Example, Examples
from bertlab.tasks.features import Features, TextFeatures, encode_texts
from bertlab.tasks.labelled_rows import RowReader
from bertlab.tasks.loss import Loss
from bertlab.tasks.metrics import in_percent, score_targets
from bertlab.tasks.prediction_files import TableFile
from bertlab.tasks.task_type import ProgressMetric, TaskType
from bertlab.text.batch import Batch, LabelBatch


@dataclass(frozen=True)
class RegressionLoss:
    """Mean squared error of the values."""

    head: str

    def __call__(self, model: nn.Module, batch: LabelBatch) -> Loss:
        value_B, target_B = model.logits(self.head, batch.inputs)[..., 0].float(), batch.labels_B.float()
        error = F.l1_loss(value_B.detach(), target_B)
        return Loss(F.mse_loss(value_B, target_B), {"error": error}, batch.inputs.attention_mask_BT.sum())


def read_value(cell: object, *_) -> float:
    """Read the number in a cell; DataError if it is not a finite number."""
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise DataError("cell-not-number", cell=repr(cell)[:80])
    return value


def find_value_range(features: Features) -> dict:
    """Find the smallest and the largest value of the training rows."""
    values = [row.target for row in features.examples]
    return {"value_range": [min(values), max(values)]}


def _encode(tokenizer, examples: Examples, max_tokens: int) -> TextFeatures:
    return replace(encode_texts(tokenizer, examples, max_tokens), target_dtype=torch.float32)


def explain_values(task_type: TaskType, loaded: Checkpoint, features: Features, progress: Callable) -> TaskAnalysis:
    """Predict a value for each example, to be compared with its own."""
    values = task_type.compute_outputs(loaded.model, features, ANALYSIS_BATCH_SIZE, progress)
    scored_rows = [
        ScoredRow(
            row.id,
            row.texts[:2],
            gold=f"{row.target:g}",
            prediction=f"{value:.2f}",
            score=0.0,  # `ScoredRow.ease` uses `values` instead
            probability=None,
            values=(float(row.target), value),
        )
        for row, value in zip(features.examples, values, strict=True)
    ]
    return TaskAnalysis(task_type.score(features.examples, values), scored_rows)


def _format_prediction(examples: Examples, row: Example, prediction: float) -> str:
    # the scale of STS-B is 0 to 5, and GLUE rejects values outside it
    return f"{min(5.0, max(0.0, prediction)) if examples.spec.submission else prediction:.3f}"


def _parse_prediction(cell: str, examples: Examples) -> float:
    if not math.isfinite(value := float(cell)):
        raise ValueError(cell)
    return value


def _score_variants(model: Bert, head: str, batches: Iterable[Batch]) -> tuple[None, torch.Tensor]:
    """Predict the value of every input, [R] on the CPU."""
    return None, torch.cat([model.logits(head, batch)[:, 0].float().cpu() for batch in batches])


_FILE = TableFile(_format_prediction, _parse_prediction)

REGRESSION = TaskType(
    name="regression",
    predicts="a number",
    head="regress",
    command="classify",
    page="classify",
    column_flags=("text_column", "pair_column"),
    make_table_row=lambda prediction: {"value": prediction.value},
    read_logits=lambda labels, logits_1: Classification((), float(logits_1[0])),
    score_variants=_score_variants,
    metrics=("spearman", "pearson"),
    progress_metric=ProgressMetric("error", "error"),
    predicts_value=True,
    read=RowReader(read_value),
    encode=_encode,
    make_loss=RegressionLoss,
    compute=lambda model, head, batch: model.logits(head, batch)[:, 0],
    decode=lambda features, scores_I: [float(value) for value in scores_I],
    score=in_percent(score_targets),
    explain=explain_values,
    write_file=_FILE.write,
    read_file=_FILE.read,
    collect_facts=find_value_range,
)
