"""Regression: one value for a text or a pair of texts, such as the similarity of two sentences (STS-B).

Shape legend: B batch, I inputs of a `Features`, K outputs, R inputs to compare (an original and changed versions).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.nn.bert import Bert
from bertlab.tasks.classification import Classification
from bertlab.tasks.error_analysis import ScoredRow
from bertlab.tasks.examples import Example, Examples
from bertlab.tasks.features import Features
from bertlab.tasks.labelled_task import ANALYSIS_BATCH_SIZE, LabelledTaskType
from bertlab.tasks.loss import Loss
from bertlab.tasks.task_type import ProgressMetric
from bertlab.text.batch import Batch, LabelBatch


def regression_loss(model: nn.Module, batch: LabelBatch) -> Loss:
    """Mean squared error of the values."""
    value_B, target_B = model.regress(model.pool(batch.inputs)).float(), batch.labels_B.float()
    error = F.l1_loss(value_B.detach(), target_B)
    return Loss(F.mse_loss(value_B, target_B), {"error": error}, batch.inputs.attention_mask_BT.sum())


class RegressionTask(LabelledTaskType):
    """One value for a text or a pair of texts."""

    name = "regression"
    aliases = ("regress",)
    head = "regress"
    command = "classify"
    page = "classify"
    predicts_value = True
    metrics = ("spearman", "pearson")
    progress_metric = ProgressMetric(key="error", label="error")
    column_flags = ("text_column", "pair_column")
    loss = staticmethod(regression_loss)

    def read_target(self, cell: object, labels, names_by_number, texts) -> float:
        try:
            value = float(cell)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not math.isfinite(value):
            raise DataError("cell-not-number", cell=repr(cell)[:80])
        return value

    def collect_extra_facts(self, features: Features) -> dict:
        values = [row.target for row in features.examples]
        return {"value_range": [min(values), max(values)]}

    def make_features(self, tokenizer, examples: Examples, max_tokens: int) -> Features:
        return replace(super().make_features(tokenizer, examples, max_tokens), target_dtype=torch.float32)

    def compute_scores(self, model: Bert, batch: Batch) -> torch.Tensor:
        return model.logits("regress", batch)[:, 0]

    def decode(self, features: Features, scores_I: Sequence[np.ndarray]) -> list[float]:
        return [float(value) for value in scores_I]

    def choose_predictions(self, outputs: Sequence[float]) -> list[float]:
        return list(outputs)

    def score_examples(
        self, loaded: Checkpoint, features: Features, progress: Callable
    ) -> tuple[list, list[ScoredRow], None]:
        values = self.compute_outputs(loaded.model, features, ANALYSIS_BATCH_SIZE, progress)
        scored_rows = [
            ScoredRow(
                row.id,
                row.texts,
                gold=f"{row.target:g}",
                prediction=f"{value:.2f}",
                score=0.0,  # `ScoredRow.ease` uses `values` instead
                probability=None,
                values=(float(row.target), value),
            )
            for row, value in zip(features.examples, values, strict=True)
        ]
        return values, scored_rows, None

    def format_prediction(self, examples: Examples, row: Example, prediction: float) -> str:
        # the scale of STS-B is 0 to 5, and GLUE rejects values outside it
        return f"{min(5.0, max(0.0, prediction)) if examples.spec.submission else prediction:.3f}"

    def parse_prediction(self, cell: str, examples: Examples) -> float:
        if not math.isfinite(value := float(cell)):
            raise ValueError(cell)
        return value

    def read_logits(self, labels: Sequence[str], logits_K: torch.Tensor) -> Classification:
        """Read the predicted value from the logits of one text; the output layer has one output, so K is 1."""
        return Classification((), float(logits_K[0]))

    def score_variants(self, model: Bert, batches: Iterable[Batch]) -> tuple[None, torch.Tensor]:
        """Predict the values of several inputs.

        Args:
            model: the model.
            batches: the R inputs. The first one is the original text; the others are changed versions of it. The
                differences between their values and the value of the original explain the prediction.

        Returns:
            None, because there is no label, and the predicted value of every input, [R] on the CPU.
        """
        return None, torch.cat([model.logits("regress", batch)[:, 0].float().cpu() for batch in batches])

    def make_table_row(self, prediction: Classification) -> dict[str, str | float]:
        return {"value": prediction.value}
