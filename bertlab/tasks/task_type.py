"""The interface of a task type: everything that training, evaluation, exploration, CLI and app need to know about it.

A task type is a subclass of `TaskType` in a module of its own, and a row of `registry.TASK_TYPES`. `FinetuneTaskType`
extends the interface with what fine-tuning and evaluation need.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.checkpoints.sentence_settings import SentenceSettings
from bertlab.config.errors import BertlabError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.nn.heads import HEADS
from bertlab.tasks.error_analysis import AnalysisRows, ScoredRow, TaskAnalysis
from bertlab.tasks.loss import Loss
from bertlab.tasks.recomputable_prediction import RecomputablePrediction
from bertlab.tasks.training_data import TrainingData, TrainingOptions
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.text.tokenizers.wordpiece import Encoding


class TaskType(ABC):
    """The name, output layer, command and page of a task type."""

    name: ClassVar[str]
    """The name in `TaskSpec.kind`, --type, --prediction and URLs."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Old names, which are still accepted."""
    head: ClassVar[str]
    """The key of the output layer in `nn.heads.HEADS`; "" if the type has none."""
    command: ClassVar[str] = ""
    """The command that predicts; with underscores, it is the name of the method of `Session`. "" if there is none."""
    page: ClassVar[str] = ""
    """The page of the app that predicts; "" if there is none."""
    column_flags: ClassVar[tuple[str, ...]] = ("text_column",)
    """The fields of `task_flags.TaskFlags` for the columns of this type, except `label_column` and `id_column`."""
    reads_only_pairs: ClassVar[bool] = False
    """Whether every input of the command is a pair of texts."""
    supports_interventions: ClassVar[bool] = False
    """Whether the type implements `make_recomputable_prediction`, so that its prediction can be recomputed under
    interventions."""
    interventions_need_pair: ClassVar[bool] = False
    """Whether `make_recomputable_prediction` needs a second text."""
    interventions_cover_all_candidates: ClassVar[bool] = False
    """Whether the recomputable prediction has a probability for every candidate; the command computes its softmax over
    the best candidates only."""

    @property
    def hf_class(self) -> str:
        """The `transformers` class of a checkpoint that has only this output layer."""
        return HEADS[self.head].hf_class if self.head else "BertModel"

    def can_predict(self, model: Bert) -> bool:
        """Whether a model can make predictions of this type."""
        return self.head in model.head_names if self.head else model.gives_hidden_states

    def make_recomputable_prediction(
        self, loaded: Checkpoint, encoding: Encoding, pair: str | None, mask: int
    ) -> RecomputablePrediction:
        """Make a prediction that can be recomputed under interventions.

        Args:
            loaded: the checkpoint that predicts.
            encoding: the input.
            pair: the second text, for types that read pairs; otherwise None.
            mask: for masked language modelling, the index of the [MASK] to predict among those of the text.

        Raises:
            BertlabError: the type does not support interventions (`supports_interventions`).
        """
        raise BertlabError("task-type-without-interventions", type=self.name)


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """Options for reading and predicting the rows of a task in an evaluation."""

    source: str
    """A file, a directory or a hub id."""
    is_user_data: bool
    """Whether `source` is the user's own data, which may have only some of the splits of the task's data set."""
    split: str
    """The name of one split; or "validation" or "test" for all validation or all test splits of the task."""
    task: str
    """The name of the task, for messages and file names."""
    max_tokens: int | None = None
    """Maximum number of tokens in an input; None uses the default of the task type or of the checkpoint."""
    limit: int | None = None
    """The maximum number of rows to read; None reads all rows."""
    invalid: InvalidRowAction = "stop"
    """What to do with an invalid row."""
    threshold: float | None = None
    """The threshold tau: predict "no answer" if the score of "no answer" exceeds the score of the best answer by more
    than tau. None uses the checkpoint's tau, or tunes tau."""
    tune_threshold: bool = False
    """Whether to tune tau on these rows if `threshold` is None, instead of using the checkpoint's tau."""
    no_answer: Path | None = None
    """If predictions are read from a file: another file, which contains a no-answer score for each question."""


class ProgressMetric(NamedTuple):
    """The metric that the progress bar of a fine-tuning run shows."""

    key: str
    """The key of the metric in `Loss.metrics`."""
    label: str
    """The name of the metric in the progress bar."""


class FinetuneTaskType(TaskType):
    """A task type that a checkpoint can be fine-tuned and evaluated on."""

    metrics: ClassVar[tuple[str, ...]]
    """The metrics of a custom task of this type; the first one is used to compare runs."""
    max_tokens: ClassVar[int] = 128
    """Default maximum number of tokens in an input."""
    reads_windows: ClassVar[bool] = False
    """Whether long texts are split into several windows instead of being truncated."""
    epochs: ClassVar[float] = 3.0
    """Default number of passes over the training data."""
    progress_metric: ClassVar[ProgressMetric]
    """The metric in the progress bar."""
    required_flags: ClassVar[tuple[str, ...]] = ("text_column",)
    """The fields of `column_flags` that a custom task must set."""
    uses_labels: ClassVar[bool] = False
    """Whether the output layer has one output for each label."""
    predicts_value: ClassVar[bool] = False
    """Whether the prediction is a number."""
    scores_no_answer: ClassVar[bool] = False
    """Whether the prediction can be "no answer", which has its own score."""
    confusion_counts_each_example_once: ClassVar[bool] = False
    """Whether the confusion matrix counts each example once; only then the matrix's `majority_share` is an accuracy."""
    makes_sentence_vectors: ClassVar[bool] = False
    """Whether the prediction is a vector for each text."""
    supports_teacher: ClassVar[bool] = False
    """Whether `tasks.distillation` can add the predictions of a teacher to the loss."""
    count_name: ClassVar[str] = "examples"
    """The key under which an evaluation reports the number of rows; it says what the rows are, such as "questions"."""
    json_suffix: ClassVar[str] = ".jsonl"
    """The suffix of the file in which the app stores rows that were pasted as JSON."""
    token_columns: ClassVar[tuple[str, ...]] = ()
    """For tagging: common names of the column that contains the tokens."""
    has_fixed_columns: ClassVar[bool] = False
    """Whether the app reads fixed columns instead of letting the user choose them."""
    loss: Callable[[nn.Module, object], Loss]
    """The loss function, (model, batch) -> Loss; see `loss.Loss`."""

    def make_default_spec(self) -> TaskSpec:
        """Make a custom task of this type with the default columns."""
        return TaskSpec(kind=self.name, hub_id="", language="", metrics=self.metrics, source="", id="")

    def change_columns(self, spec: TaskSpec, text: str | None, pair: str | None, choices: Sequence[str]) -> TaskSpec:
        """Replace the columns of a task with those that the user names.

        Args:
            spec: the task.
            text: the column of the text; None if the user does not name one.
            pair: the column of the second text; None if the user does not name one.
            choices: the columns of the choices; empty if the user does not name any.
        """
        if text or pair:
            first = text or (spec.text[0] if spec.text else "")
            # without a pair column, a task of text pairs becomes a task of single texts
            return spec.replace(text=(first, pair) if pair else (first,))
        return spec

    def collect_recorded_settings(self, spec: TaskSpec, options: TrainingOptions) -> dict:
        """Return the settings of this type that `bertlab.json` records in addition to those of every fine-tuning."""
        return {}

    def make_sentence_settings(self, options: TrainingOptions) -> SentenceSettings | None:
        """Make the sentence-vector settings of a checkpoint trained with these options; None if the type has none."""
        return None

    @abstractmethod
    def read_training_data(self, spec: TaskSpec, loaded: Checkpoint, options: TrainingOptions) -> TrainingData:
        """Read, check and tokenise the rows of a fine-tuning run.

        Raises:
            BertlabError: the rows are not rows of the task, or there is nothing to train on.
        """

    # -- evaluation: splits -> examples -> predictions -> metrics --------------------------------------------------

    def list_evaluation_splits(self, spec: TaskSpec, options: EvaluationOptions) -> Sequence[str]:
        """List the splits to evaluate, in order."""
        return (options.split,)

    @abstractmethod
    def read_split(self, spec: TaskSpec, split: str, loaded: Checkpoint | None, options: EvaluationOptions):
        """Read the examples of one split.

        Args:
            spec: the task.
            split: the name of the split.
            loaded: the checkpoint that will predict, whose labels are used; None if the predictions are read from a
                file.
            options: the source of the rows, and how to read them.

        Returns:
            A sequence of examples with `name`, `spec`, `is_labelled` and `select(rows)`, such as `Examples`.
        """

    @abstractmethod
    def make_inputs(self, loaded: Checkpoint, examples, max_tokens: int | None) -> Sequence:
        """Tokenise examples as `predict` does -> the inputs of the model, in order; an example may have several.

        Args:
            loaded: the checkpoint that will predict.
            examples: the examples, in the form that `read_split` returns.
            max_tokens: maximum number of tokens in an input; None uses the default of the checkpoint.
        """

    @abstractmethod
    def predict(self, loaded: Checkpoint, examples, options: EvaluationOptions, progress: Callable):
        """Predict all examples with a checkpoint; one prediction for each, in order."""

    @abstractmethod
    def read_predictions(self, path: Path, examples, options: EvaluationOptions):
        """Read predictions from a file, in the form that `predict` returns."""

    @abstractmethod
    def write_predictions(self, out: Path, split: str, number_of_splits: int, examples, predictions, options) -> None:
        """Write the predictions of one split in the benchmark's format; the file is written completely or not at all.

        Args:
            out: a file or a directory.
            split: the name of the split.
            number_of_splits: how many splits are evaluated; if there are several, `out` must be a directory.
            examples: the examples of the split.
            predictions: the predictions, in the form that `predict` returns.
            options: the `EvaluationOptions`.
        """

    @abstractmethod
    def compute_metrics(self, examples, predictions) -> dict:
        """Compute the task's metrics in percent, and count the rows that they are computed over."""

    # -- error analysis --------------------------------------------------------------------------------------------

    @abstractmethod
    def read_analysis_rows(
        self, source: str | Path, split: str, spec: TaskSpec, invalid_rows: InvalidRows, limits: Limits | None = None
    ) -> AnalysisRows:
        """Read the rows of a file, or of one split of a directory, for error analysis.

        Args:
            source: a file or a directory.
            split: the split to read from a directory.
            spec: the task, which names the columns.
            invalid_rows: receives the rows that cannot be read.
            limits: the maximum size and number of rows of a file; see `read_file`.
        """

    @abstractmethod
    def read_analysis_examples(self, rows: AnalysisRows, spec: TaskSpec, loaded: Checkpoint, invalid_rows: InvalidRows):
        """Convert the valid rows to examples, in the form that `read_split` returns."""

    @abstractmethod
    def analyse(self, loaded: Checkpoint, examples, progress: Callable) -> TaskAnalysis:
        """Predict every example, and score the predictions."""

    def choose_attention_texts(self, row: ScoredRow, separator: str, predict: Callable) -> tuple[str, str]:
        """Choose the texts whose attention the app shows for a scored row.

        Args:
            row: the scored row.
            separator: the text to put between the tokens of a tagged sentence.
            predict: the method of `Session` for this type, see `command`.

        Returns:
            The first text, and the second text or "".
        """
        return row.texts[0], "".join(row.texts[1:])

    # -- prediction of single texts --------------------------------------------------------------------------------

    def make_table_row(self, prediction) -> dict[str, str | float]:
        """Convert one prediction to a row of a table: column -> cell.

        Raises:
            BertlabError: predictions of this type are not shown in tables.
        """
        raise BertlabError("task-type-without-table", type=self.name)
