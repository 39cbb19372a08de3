"""The interface of a task type: everything that training, evaluation, exploration, CLI and app need to know about it.

A task type is one module that defines a subclass, and one row of `registry.TASK_TYPES`. Every type is a `TaskType`;
`FinetuneTaskType` adds what fine-tuning and evaluation need.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from torch import nn

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.nn.heads import HEADS
from bertlab.tasks.error_analysis import AnalysisRows, ScoredRow, TaskAnalysis
from bertlab.tasks.loss import Loss
from bertlab.tasks.probe import Probe
from bertlab.tasks.training_data import TrainingData, TrainingOptions
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer


class TaskType(ABC):
    """The name, output layer, command and page of a task type."""

    name: ClassVar[str]
    """The name in `TaskSpec.kind`, --type, --prediction and URLs."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Old names, which are still accepted."""
    head: ClassVar[str]
    """The output layer, a row of `nn.heads.HEADS`."""
    command: ClassVar[str] = ""
    """The command and, with underscores, the method of `Session` that predicts; "" for none."""
    page: ClassVar[str] = ""
    """The page of the app that predicts; "" for none."""
    can_probe: ClassVar[bool] = False
    """Whether the type has a `probe`, so that its prediction can be recomputed under interventions."""
    probe_reads_pair: ClassVar[bool] = False
    """Whether `probe` needs a second text."""
    probe_covers_all_candidates: ClassVar[bool] = False
    """Whether `probe` computes probabilities over all candidates, and the command over only the best ones."""

    @property
    def hf_class(self) -> str:
        """The class of `transformers` for a checkpoint with only this output layer."""
        return HEADS[self.head].hf_class

    def can_predict(self, model: Bert) -> bool:
        """Whether a model can make predictions of this type."""
        return self.head in model.head_names

    def probe(self, model: Bert, tokenizer: Tokenizer, encoding: Encoding, pair: str | None, mask: int) -> Probe:
        """Make a probe of one prediction, which can be recomputed under interventions; see `probe.Probe`.

        Args:
            pair: the second text, for types that read pairs.
            mask: the index of the [MASK] to predict, for masked language modelling.
        """
        raise BertlabError("task-type-without-probe", type=self.name)


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """How the rows of a task are read and predicted for evaluation."""

    source: str
    """A file, a directory or a hub id."""
    local: bool
    """Whether `source` is the user's own data, which may have only some of the splits of the task's data set."""
    split: str
    """"validation", "test" or the name of a split."""
    task: str
    """The name of the task, for messages and file names."""
    max_tokens: int | None = None
    """Maximum number of tokens in an input; None uses the default of the task type or of the checkpoint."""
    limit: int | None = None
    """Read only this many rows."""
    invalid: InvalidRowAction = "stop"
    """What happens to an invalid row."""
    threshold: float | None = None
    """The threshold tau: predict "no answer" if its score exceeds the best answer's by more than tau."""
    tune_threshold: bool = False
    """Whether to tune tau on these rows instead of using the checkpoint's tau."""
    no_answer: Path | None = None
    """If the predictions come from a file: another file, with a no-answer score for each question."""


class ProgressMetric(NamedTuple):
    """The metric that the progress bar of a fine-tuning run shows."""

    key: str
    """Its key in `Loss.metrics`."""
    label: str
    """Its name in the progress bar."""


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
    column_flags: ClassVar[tuple[str, ...]] = ("text_column",)
    """The fields of `task_flags.TaskFlags` that name its columns, except those of the label and the id."""
    required_flags: ClassVar[tuple[str, ...]] = ("text_column",)
    """The fields of `column_flags` that a custom task must set."""
    uses_labels: ClassVar[bool] = False
    """Whether the output layer has one row for each label."""
    predicts_value: ClassVar[bool] = False
    """Whether the prediction is a number."""
    scores_no_answer: ClassVar[bool] = False
    """Whether the prediction can be "no answer", which has its own score."""
    has_confusion_of_labels: ClassVar[bool] = False
    """Whether the confusion matrix counts each example once, so that its `majority_share` is meaningful."""
    count_name: ClassVar[str] = "examples"
    """The key of the number of rows among the metrics."""
    json_suffix: ClassVar[str] = ".jsonl"
    """The suffix of the file that rows pasted as JSON are stored in."""
    token_columns: ClassVar[tuple[str, ...]] = ()
    """Common names of a column of tokens."""
    fixed_columns: ClassVar[bool] = False
    """Whether the columns cannot be chosen in the app."""
    loss: Callable[[nn.Module, object], Loss]
    """(model, batch) -> Loss."""

    def default_spec(self) -> TaskSpec:
        """A custom task of this type with default columns."""
        return TaskSpec(kind=self.name, hub_id="", language="", metrics=self.metrics, source="", id="")

    def change_columns(self, spec: TaskSpec, text: str | None, pair: str | None, choices: Sequence[str]) -> TaskSpec:
        """Replace the columns of a task by those that the user names."""
        if text or pair:
            first = text or (spec.text[0] if spec.text else "")
            # a text column without a pair column replaces both texts of a pair
            return spec.replace(text=(first, pair) if pair else (first,))
        return spec

    def recorded_settings(self, spec: TaskSpec, options: TrainingOptions) -> dict:
        """The settings of this type that `bertlab.json` records in addition."""
        return {}

    @abstractmethod
    def read_training_data(self, spec: TaskSpec, loaded: Checkpoint, options: TrainingOptions) -> TrainingData:
        """Read, check and tokenise the rows of a fine-tuning run.

        Raises:
            BertlabError: the rows are not rows of the task, or there is nothing to train on.
        """

    # -- evaluation: splits -> examples -> predictions -> metrics --------------------------------------------------

    def evaluation_splits(self, spec: TaskSpec, options: EvaluationOptions) -> Sequence[str]:
        """The splits to evaluate, in order."""
        return (options.split,)

    @abstractmethod
    def read_split(self, spec: TaskSpec, split: str, loaded: Checkpoint | None, options: EvaluationOptions):
        """Read the examples of one split. They have `name`, `spec`, `labelled`, a length, and `select(rows)`.

        Args:
            loaded: the checkpoint that will predict, whose labels are used; None if predictions come from a file.
        """

    @abstractmethod
    def predict(self, loaded: Checkpoint, examples, options: EvaluationOptions, progress: Callable):
        """Predict all examples with a checkpoint, in order."""

    @abstractmethod
    def read_predictions(self, path: Path, examples, options: EvaluationOptions):
        """Read predictions from a file, in the form that `predict` returns."""

    @abstractmethod
    def write_predictions(self, out: Path, split: str, number_of_splits: int, examples, predictions, options) -> None:
        """Write predictions in the benchmark's format; the file is complete or absent."""

    @abstractmethod
    def compute_metrics(self, examples, predictions) -> dict:
        """Compute the task's metrics in percent, and the number of rows they are over."""

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
            limits: the largest size and number of rows of a file; see `read_file`.
        """

    @abstractmethod
    def read_analysis_examples(self, rows: AnalysisRows, spec: TaskSpec, loaded: Checkpoint, invalid_rows: InvalidRows):
        """Convert the valid rows to examples, in the form that `read_split` returns."""

    @abstractmethod
    def analyse(self, loaded: Checkpoint, examples, progress: Callable) -> TaskAnalysis:
        """Predict every example and score each prediction."""

    def attention_texts(self, row: ScoredRow, separator: str, predict: Callable) -> tuple[str, str]:
        """The two texts whose attention is shown for a scored row; the second may be "".

        Args:
            separator: the text between tokens.
            predict: the method of `Session` named by `command`.
        """
        return row.texts[0], "".join(row.texts[1:])

    # -- prediction of single texts --------------------------------------------------------------------------------

    def table_row(self, prediction) -> dict[str, str | float]:
        """Convert one prediction to the cells of a table, by column."""
        raise BertlabError("task-type-without-table", type=self.name)
