"""Multiple choice: choose the text that best continues a context (Devlin et al. 2019, section 4.4).

Shape legend: B batch, C choices, E examples.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.classification import choose_most_probable, explain_labels
from bertlab.tasks.error_analysis import TaskAnalysis
from bertlab.tasks.examples import Examples, read_label_name, read_text
from bertlab.tasks.features import Features, TextFeatures, tokenise_texts
from bertlab.tasks.inference import softmax
from bertlab.tasks.labelled_rows import RowReader
from bertlab.tasks.loss import Loss, label_loss
from bertlab.tasks.metrics import in_percent, score_targets
from bertlab.tasks.prediction_files import TableFile
from bertlab.tasks.task_type import ProgressMetric, TaskType
from bertlab.text.batch import LabelBatch

# Fewer training rows than this may all have the same label by chance.
MIN_ROWS_FOR_VARIED_TARGETS = 20


@dataclass(frozen=True)
class Choice:
    """One of the texts that may continue a context, with its probability."""

    text: str
    probability: float
    """In 0..1: softmax over the scores of all choices."""
    score: float
    """The logit."""


def make_choices(texts: Sequence[str], score_C: torch.Tensor) -> list[Choice]:
    """Make choices from their texts and scores."""
    return [Choice(*row) for row in zip(texts, score_C.softmax(-1).tolist(), score_C.tolist(), strict=True)]


@dataclass(frozen=True)
class ChoiceLoss:
    """Mean cross-entropy of the correct choice among the choices of each example."""

    head: str

    def __call__(self, model: nn.Module, batch: LabelBatch) -> Loss:
        scores_BC = model.logits(self.head, batch.inputs.ungroup())[..., 0].float().view(len(batch.labels_B), -1)
        return label_loss(scores_BC, batch)


def _change_columns(spec: TaskSpec, text: str | None, pair: str | None, choices: Sequence[str]) -> TaskSpec:
    if not text and not choices:
        return spec
    return spec.replace(
        text=(text or spec.text[0], *(choices or spec.text[1:])),
        choice_prefix_column="" if choices else spec.choice_prefix_column,
    )


def _read_texts(row: dict, spec: TaskSpec) -> tuple[str, ...]:
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


def _check_texts(texts: tuple[str, ...], first_row_texts: tuple[str, ...]) -> None:
    if not all(text.strip() for text in texts):
        raise DataError("row-empty")
    if len(texts) != len(first_row_texts):
        raise DataError("row-choice-count-differs", count=len(texts) - 1, first=len(first_row_texts) - 1)


def _read_target(cell: object, labels, names_by_number, texts: tuple[str, ...]) -> int:
    name = read_label_name(cell)
    if not name.isdecimal() or len(name) > 9 or int(name) >= len(texts) - 1:
        raise DataError("choice-unknown", label=repr(cell)[:80], last=len(texts) - 2)
    return int(name)


def _encode(tokenizer, examples: Examples, max_tokens: int) -> TextFeatures:
    texts_a = [row.texts[0] for row in examples for _ in row.texts[1:]]
    texts_b = [choice for row in examples for choice in row.texts[1:]]
    return tokenise_texts(tokenizer, examples, texts_a, texts_b, max_tokens, len(examples[0].texts) - 1)


def _decode(features: Features, scores_I: Sequence[np.ndarray]) -> list[np.ndarray]:
    return list(map(softmax, np.stack(scores_I).reshape(-1, features.inputs_per_example)))


def _parse_prediction(cell: str, examples: Examples) -> int:
    if (number := int(cell)) < 0:
        raise ValueError(cell)
    return range(len(examples[0].texts) - 1)[number]  # raises IndexError if there is no such choice


def _explain(task_type: TaskType, loaded: Checkpoint, features: Features, progress: Callable) -> TaskAnalysis:
    numbers = [str(choice + 1) for choice in range(features.inputs_per_example)]
    return explain_labels(task_type, loaded, features, progress, numbers, lambda example: example.texts[1:])


_FILE = TableFile(lambda examples, row, prediction: str(prediction), _parse_prediction)

MULTIPLE_CHOICE = TaskType(
    name="multiple_choice",
    predicts="one of several choices",
    head="choose",
    command="choose",
    page="choose",
    column_flags=("text_column", "choice_columns"),
    columns={"text": ("context", "choices")},
    required_flags=("choice_columns", "text_column"),
    has_fixed_columns=True,
    change_columns=_change_columns,
    metrics=("accuracy",),
    progress_metric=ProgressMetric("accuracy", "accuracy"),
    read=RowReader(
        _read_target,
        _read_texts,
        _check_texts,
        requires_varied_targets=lambda examples: len(examples) >= MIN_ROWS_FOR_VARIED_TARGETS,
    ),
    encode=_encode,
    make_loss=ChoiceLoss,
    compute=lambda model, head, batch: model.logits(head, batch)[:, 0],
    decode=_decode,
    choose=choose_most_probable,
    score=in_percent(score_targets),
    explain=_explain,
    write_file=_FILE.write,
    read_file=_FILE.read,
    choose_attention_texts=lambda row, separator, predict: (row.texts[0], row.gold),
)
