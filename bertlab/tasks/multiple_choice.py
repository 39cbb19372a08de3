"""Multiple choice: choose the text that best continues a context (Devlin et al. 2019, section 4.4).

Shape legend: B batch, I inputs, C choices, E examples.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.tasks.classification import score_labels
from bertlab.tasks.error_analysis import ConfusionMatrix, ScoredRow
from bertlab.tasks.examples import Example, Examples, read_label_name, read_text
from bertlab.tasks.features import Features, tokenise_texts
from bertlab.tasks.labelled_task import LabelledTaskType
from bertlab.tasks.loss import Loss, label_loss
from bertlab.tasks.task_type import ProgressMetric
from bertlab.text.batch import Batch, LabelBatch

# With at least this many training rows, it is an error if all have the same label. Fewer rows may all have the same
# label by chance.
MIN_ROWS_FOR_VARIED_TARGETS = 20


@dataclass(frozen=True)
class Choice:
    """One of the texts that may continue a context, with its probability."""

    text: str
    """The text."""
    probability: float
    """The probability in 0..1: softmax over the scores of all choices."""
    score: float
    """The logit."""


def make_choices(texts: Sequence[str], score_C: torch.Tensor) -> list[Choice]:
    """Make choices from their texts and scores; the probabilities are the softmax of the scores."""
    return [Choice(*row) for row in zip(texts, score_C.softmax(-1).tolist(), score_C.tolist(), strict=True)]


def choice_loss(model: nn.Module, batch: LabelBatch) -> Loss:
    """Mean cross-entropy of the correct choice among the choices of each example."""
    scores_BC = model.choose(model.pool(batch.inputs.ungroup())).float().view(len(batch.labels_B), -1)
    return label_loss(scores_BC, batch)


class MultipleChoiceTask(LabelledTaskType):
    """Choose the text that best continues a context."""

    name = "multiple_choice"
    aliases = ("choose",)
    head = "choose"
    command = "choose"
    page = "choose"
    metrics = ("accuracy",)
    progress_metric = ProgressMetric(key="accuracy", label="accuracy")
    column_flags = ("text_column", "choice_columns")
    required_flags = ("choice_columns", "text_column")
    confusion_counts_each_example_once = True
    has_fixed_columns = True
    loss = staticmethod(choice_loss)

    def make_default_spec(self) -> TaskSpec:
        return super().make_default_spec().replace(text=("context", "choices"))

    def change_columns(self, spec: TaskSpec, text: str | None, pair: str | None, choices: Sequence[str]) -> TaskSpec:
        if not text and not choices:
            return spec
        context = text or (spec.text[0] if spec.text else "")
        return spec.replace(
            text=(context, *(choices or spec.text[1:])),
            choice_prefix_column="" if choices else spec.choice_prefix_column,
        )

    def read_texts(self, row: dict, spec: TaskSpec) -> tuple[str, ...]:
        context, columns = read_text(row, spec.text[0]), spec.text[1:]
        if len(columns) == 1:
            choices = row.get(columns[0])
            if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
                raise DataError("cell-not-list-of-texts", column=repr(columns[0]))
        else:
            choices = [read_text(row, column) for column in columns]
        if len(choices) < 2:
            raise DataError("row-needs-two-choices")
        prefix = f"{read_text(row, spec.choice_prefix_column)} " if spec.choice_prefix_column else ""
        return (context, *(prefix + choice if choice.strip() else "" for choice in choices))

    def check_texts(self, texts: tuple[str, ...], first_row_texts: tuple[str, ...]) -> None:
        if not all(text.strip() for text in texts):
            raise DataError("row-empty")
        if len(texts) != len(first_row_texts):
            raise DataError("row-choice-count-differs", count=len(texts) - 1, first=len(first_row_texts) - 1)

    def read_target(self, cell: object, labels, names_by_number, texts: tuple[str, ...]) -> int:
        name = read_label_name(cell)
        if not name.isdecimal() or len(name) > 9 or int(name) >= len(texts) - 1:
            raise DataError("choice-unknown", label=repr(cell)[:80], last=len(texts) - 2)
        return int(name)

    def requires_varied_targets(self, examples: Examples) -> bool:
        return len(examples) >= MIN_ROWS_FOR_VARIED_TARGETS

    def make_features(self, tokenizer, examples: Examples, max_tokens: int) -> Features:
        texts_a = [row.texts[0] for row in examples for _ in row.texts[1:]]
        texts_b = [choice for row in examples for choice in row.texts[1:]]
        return tokenise_texts(
            tokenizer, examples, texts_a, texts_b, max_tokens, inputs_per_example=_count_choices(examples)
        )

    def compute_scores(self, model: Bert, batch: Batch) -> torch.Tensor:
        return model.logits("choose", batch)[:, 0]

    def decode(self, features: Features, scores_I: Sequence[np.ndarray]) -> list[np.ndarray]:
        scores_EC = np.stack(scores_I).astype(np.float64).reshape(-1, features.inputs_per_example)
        exponentials_EC = np.exp(scores_EC - scores_EC.max(1, keepdims=True))
        return list(exponentials_EC / exponentials_EC.sum(1, keepdims=True))

    def score_examples(
        self, loaded: Checkpoint, features: Features, progress: Callable
    ) -> tuple[list, list[ScoredRow], ConfusionMatrix]:
        names = [str(choice + 1) for choice in range(features.inputs_per_example)]
        return score_labels(self, loaded.model, features, progress, names, lambda example: example.texts[1:])

    def choose_attention_texts(self, row: ScoredRow, separator: str, predict: Callable) -> tuple[str, str]:
        return row.texts[0], row.gold

    def format_prediction(self, examples: Examples, row: Example, prediction: int) -> str:
        return str(prediction)

    def parse_prediction(self, cell: str, examples: Examples) -> int:
        if (number := int(cell)) < 0:
            raise ValueError(cell)
        return range(_count_choices(examples))[number]  # raises IndexError if there is no such choice


def _count_choices(examples: Examples) -> int:
    """Count the choices of an example; all examples have the same number of choices."""
    return len(examples[0].texts) - 1
