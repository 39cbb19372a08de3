"""The interface of a task type: everything that training, evaluation, exploration, CLI and app need to know about it.

A task type is one module that defines a subclass, and one row of `registry.TASK_TYPES`. Every type is a `TaskType`;
`FinetuneTaskType` adds what fine-tuning and evaluation need.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

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
    """What a task type is called, which output layer it uses, and how it is shown."""

    name: ClassVar[str]
    """Its name in `TaskSpec.kind`, --type, --prediction and URLs."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Older names, which are still read."""
    head: ClassVar[str]
    """Its output layer, a row of `nn.heads.HEADS`."""
    command: ClassVar[str] = ""
    """The command and, with underscores, the method of `Session` that predicts; "" for none."""
    page: ClassVar[str] = ""
    """The page of the app that predicts; "" for none."""
    can_probe: ClassVar[bool] = False
    """Whether single attention heads can be switched off under its prediction: whether it has a `probe`."""
    probe_reads_pair: ClassVar[bool] = False
    """Whether `probe` needs a second text."""
    probe_covers_all_candidates: ClassVar[bool] = False
    """Whether the probabilities of `probe` are over all candidates, but those of `command` over the best ones only."""

    @property
    def hf_class(self) -> str:
        """The class of `transformers` that opens a checkpoint with this output layer alone."""
        return HEADS[self.head].hf_class

    def can_predict(self, model: Bert) -> bool:
        """Whether a model has what a prediction of this type needs."""
        return self.head in model.head_names

    def probe(self, model: Bert, tokenizer: Tokenizer, encoding: Encoding, pair: str | None, mask: int) -> Probe:
        """One prediction to watch while something inside the model is changed; see `probe.Probe`."""
        raise BertlabError("task-type-without-probe", type=self.name)


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """How a task's rows are read and predicted for evaluation."""

    source: str
    """A file, a directory or a hub id."""
    local: bool
    """Whether `source` was named by the user and may be a directory with only some of the splits."""
    split: str
    """"validation", "test" or the name of a split."""
    task: str
    """The name of the task, for messages and file names."""
    max_tokens: int | None = None
    """Tokens of an input; None is what suits the task and the checkpoint."""
    limit: int | None = None
    """Read only this many rows."""
    invalid: InvalidRowAction = "stop"
    """What happens to an invalid row."""
    threshold: float | None = None
    """tau: predict "no answer" where its score exceeds the best answer's by more than this."""
    tune_threshold: bool = False
    """Tune tau on these rows, instead of using the checkpoint's."""
    no_answer: Path | None = None
    """A file with a no-answer score for each question, for predictions from a file."""


class FinetuneTaskType(TaskType):
    """A task type that a checkpoint can be fine-tuned and evaluated on."""

    metrics: ClassVar[tuple[str, ...]]
    """The metrics of a custom task of this type; the first one compares runs."""
    max_tokens: ClassVar[int] = 128
    """Tokens of an input if the user does not say."""
    reads_windows: ClassVar[bool] = False
    """Whether long texts are read in several windows, rather than cut."""
    epochs: ClassVar[float] = 3.0
    """Passes over the training data if the user does not say."""
    progress_metric: ClassVar[tuple[str, str]]
    """What the progress bar shows: a key of the loss's metrics, and how it is labelled."""
    column_flags: ClassVar[tuple[str, ...]] = ("text_column",)
    """Which of `task_flags.TaskFlags` name its columns, besides the label's and the id's."""
    required_flags: ClassVar[tuple[str, ...]] = ("text_column",)
    """Which of these a custom task needs."""
    uses_labels: ClassVar[bool] = False
    """Whether the output layer has one row for each label."""
    predicts_value: ClassVar[bool] = False
    """Whether the prediction is a number rather than a label, a tag or a span."""
    scores_no_answer: ClassVar[bool] = False
    """Whether "no answer" can be a prediction with a score of its own."""
    has_confusion_of_labels: ClassVar[bool] = False
    """Whether the confusion matrix counts rows, so that the share of the most frequent label means something."""
    count_name: ClassVar[str] = "examples"
    """What the number of rows is called beside the metrics."""
    json_suffix: ClassVar[str] = ".jsonl"
    """The suffix of a file whose pasted rows are JSON."""
    token_columns: ClassVar[tuple[str, ...]] = ()
    """Usual names of a column of tokens."""
    fixed_columns: ClassVar[bool] = False
    """Whether the app offers no choice of columns."""
    loss: Callable[[nn.Module, object], Loss]
    """(model, batch) -> Loss."""

    def default_spec(self) -> TaskSpec:
        """A custom task of this type, before its columns are named."""
        return TaskSpec(self.name, "", "", self.metrics, "", id="")

    def change_columns(self, spec: TaskSpec, text: str | None, pair: str | None, choices: Sequence[str]) -> TaskSpec:
        """The task with the columns that the user names."""
        if text or pair:
            first = text or (spec.text[0] if spec.text else "")
            # a text column without a pair column replaces both texts of a pair
            return spec.replace(text=(first, pair) if pair else (first,))
        return spec

    def recorded_settings(self, spec: TaskSpec, options: TrainingOptions) -> dict:
        """The settings of this type that a checkpoint's `bertlab.json` records."""
        return {}

    @abstractmethod
    def read_training_data(self, spec: TaskSpec, loaded: Checkpoint, options: TrainingOptions) -> TrainingData:
        """Read, check and tokenise the rows of a fine-tuning run.

        Raises:
            BertlabError: the rows are not the task's, or there is nothing to learn.
        """

    # -- evaluation: splits -> examples -> predictions -> metrics --------------------------------------------------

    def evaluation_splits(self, spec: TaskSpec, options: EvaluationOptions) -> Sequence[str]:
        """The splits to evaluate, in order."""
        return (options.split,)

    @abstractmethod
    def read_split(self, spec: TaskSpec, split: str, loaded: Checkpoint | None, options: EvaluationOptions):
        """The examples of one split. They have `name`, `spec`, `labelled`, a length, and `of(rows)` to select some.

        Args:
            loaded: the checkpoint that will predict, whose labels are used; None where predictions come from a file.
        """

    @abstractmethod
    def predict(self, loaded: Checkpoint, examples, options: EvaluationOptions, progress: Callable):
        """A checkpoint's predictions, in the order of the examples."""

    @abstractmethod
    def read_predictions(self, path: Path, examples, options: EvaluationOptions):
        """Predictions from a file, in the form of `predict`."""

    @abstractmethod
    def write_predictions(self, out: Path, split: str, number_of_splits: int, examples, predictions, options) -> None:
        """Write predictions in the benchmark's format; the file is complete or absent."""

    @abstractmethod
    def compute_metrics(self, examples, predictions) -> dict:
        """The task's metrics in percent, and how many rows they are over."""

    # -- error analysis --------------------------------------------------------------------------------------------

    @abstractmethod
    def read_analysis_rows(
        self, source: str | Path, split: str, spec: TaskSpec, limits: Limits | None = None
    ) -> AnalysisRows:
        """The rows of a file or of one split of a directory, for error analysis.

        Args:
            limits: the most that a file may hold; see `read_file`.
        """

    @abstractmethod
    def read_analysis_examples(self, rows: AnalysisRows, spec: TaskSpec, loaded: Checkpoint, invalid_rows: InvalidRows):
        """The usable examples of these rows, as `read_split` gives them."""

    @abstractmethod
    def analyse(self, loaded: Checkpoint, examples, progress: Callable) -> TaskAnalysis:
        """Predict every example and score each prediction."""

    def attention_texts(self, row: ScoredRow, joint: str, predict: Callable) -> tuple[str, str]:
        """The two texts whose attention is shown for a scored row; "" for no second one.

        Args:
            joint: what stands between tokens.
            predict: the method of `Session` named by `command`.
        """
        return row.texts[0], "".join(row.texts[1:])

    # -- prediction of single texts --------------------------------------------------------------------------------

    def table_row(self, prediction) -> dict[str, str | float]:
        """One prediction as cells of a table, by column."""
        raise BertlabError("task-type-without-table", type=self.name)
