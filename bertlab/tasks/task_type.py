"""A task type: what training, evaluation, exploration, CLI and app need to know about one kind of prediction.

A type is a value, `TaskType(name=..., head=..., read=..., encode=..., ...)`, and a row of `registry.TASK_TYPES`. A type
that differs from another one in a few fields is made with `TaskType.replace`; no function knows the name of its layer.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bertlab.config.errors import MissingHead
from bertlab.config.tasks import TaskSpec
from bertlab.nn.bert import Bert
from bertlab.nn.heads import HEADS
from bertlab.tasks.inference import run_batches
from bertlab.tasks.recomputable_prediction import RecomputablePrediction
from bertlab.text.readers.splits import read_split


class ProgressMetric(NamedTuple):
    """The metric in the progress bar of a fine-tuning run."""

    key: str  # in `Loss.metrics`
    label: str  # in the progress bar


def _change_columns(spec: TaskSpec, text: str | None, pair: str | None, choices: Sequence[str]) -> TaskSpec:
    """Without a pair column, a task of text pairs becomes a task of single texts."""
    first = text or (spec.text[0] if spec.text else "")
    return spec.replace(text=(first, pair) if pair else (first,)) if text or pair else spec


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskType:
    """A kind of prediction; with `read`, `encode`, `make_loss` and `score`, a checkpoint can be fine-tuned for it."""

    name: str
    """The name in `TaskSpec.kind`, --type, --prediction and URLs."""
    predicts: str = ""
    """What the type predicts, for `--help`."""
    head: str = ""
    """The output layer, a key of `nn.heads.HEADS`; "" for none."""
    command: str = ""
    """The command that predicts; with underscores, the name of the method of `Session`."""
    page: str = ""
    """The page of the app that predicts."""
    column_flags: tuple[str, ...] = ("text_column",)
    """The fields of `task_flags.TaskFlags` for the columns, except `label_column` and `id_column`."""
    reads_only_pairs: bool = False
    """Whether every input of the command is a pair of texts."""

    # -- prediction of a single input
    make_table_row: Callable | None = None
    """(prediction) -> {column: cell}, for tables of predictions."""
    recompute: Callable[..., RecomputablePrediction] | None = None
    """(task type, checkpoint, encoding, second text or None, index of the mask) -> a prediction that interventions can
    change."""
    interventions_need_pair: bool = False
    interventions_cover_all_candidates: bool = False
    """Whether `recompute` gives every candidate a probability; the command's softmax is over the best candidates."""
    read_logits: Callable | None = None
    """For `classify`: (labels, logits_K) -> the prediction."""
    score_variants: Callable | None = None
    """For `classify`: (model, layer, batches) -> (label predicted for the first input or None, score_R)."""

    # -- fine-tuning and evaluation
    columns: dict = dataclasses.field(default_factory=dict)
    """The fields of `TaskSpec` that a custom task has by default."""
    required_flags: tuple[str, ...] = ("text_column",)
    """The fields of `column_flags` that a custom task must set."""
    has_fixed_columns: bool = False
    """Whether the app reads fixed columns instead of letting the user choose them."""
    token_columns: tuple[str, ...] = ()
    """For tagging: common names of the column with the tokens."""
    change_columns: Callable[..., TaskSpec] = _change_columns
    """(task, text column or None, pair column or None, choice columns) -> the task with these columns."""
    metrics: tuple[str, ...] = ()
    """The metrics of a custom task; the first one compares runs."""
    max_tokens: int = 128
    epochs: float = 3.0
    batch_size: int = 64
    """The number of inputs (of questions, if the type reads windows) that `run` computes at a time."""
    progress_metric: ProgressMetric | None = None
    reads_windows: bool = False
    """Whether an example is a question about a passage, which is split into several windows."""
    predicts_value: bool = False
    supports_teacher: bool = False
    """Whether `tasks.distillation` can add the predictions of a teacher to the loss."""
    open_rows: Callable = read_split
    """(source, split, limits, invalid rows) -> the `Rows` of a file, a split of a directory or a hub data set."""
    read: Callable | None = None
    """(rows, task, labels, invalid rows or None, whether it is for training) -> `Examples`."""
    extend_training: Callable = lambda examples, options: examples
    """(training examples, `TrainingOptions`) -> the examples to train on."""
    encode: Callable | None = None
    """(tokenizer, examples, maximum number of tokens) -> `Features`."""
    choose_max_tokens: Callable | None = None
    """(checkpoint) -> the maximum number of tokens for predictions; None takes that of fine-tuning or `max_tokens`."""
    make_loss: Callable | None = None
    """(layer) -> the loss function (model, batch) -> `Loss`."""
    compute: Callable | None = None
    """(model, layer, batch) -> the scores of each input, in the form that `decode` reads."""
    decode: Callable | None = None
    """(features, scores of each input) -> the output for each example: a distribution, value, list of tags ..."""
    run: Callable = run_batches
    """(task type, model, features, batch size, progress) -> the outputs; it calls `compute` and `decode`."""
    choose: Callable = lambda examples, outputs: list(outputs)
    """(examples, outputs) -> the predictions: for each example an index, a value or the names of its tags."""
    score: Callable | None = None
    """(examples, predictions) -> the metrics in percent, and the number of rows."""
    explain: Callable | None = None
    """(task type, checkpoint, features, progress) -> `TaskAnalysis`."""
    file_name: str = "{task}.tsv"
    """The default name of a prediction file."""
    write_file: Callable | None = None
    """(path, examples, predictions): write them in the benchmark's format."""
    read_file: Callable | None = None
    """(path, examples, `EvaluationOptions`) -> the predictions."""
    adapt_to_training: Callable = lambda task_type, loaded, options, train: task_type
    """(task type, checkpoint, `TrainingOptions`, training examples) -> the type with what depends on them."""
    adapt_to_checkpoint: Callable = lambda task_type, loaded, options: task_type
    """(task type, checkpoint, `EvaluationOptions` or None) -> the type with the settings of the checkpoint."""
    collect_facts: Callable = lambda features: {}
    """(training features) -> what `bertlab.json` records about the rows, besides their numbers."""
    collect_settings: Callable = lambda spec, options: {}
    """(task, `TrainingOptions`) -> the settings that `bertlab.json` records besides those of every fine-tuning."""
    make_sentence_settings: Callable | None = None
    """(`TrainingOptions`) -> the `SentenceSettings` of the trained checkpoint; only types that make vectors have it."""
    choose_attention_texts: Callable = lambda row, separator, predict: (row.texts[0], "".join(row.texts[1:]))
    """(`ScoredRow`, text between tokens, the method of `Session`) -> the two texts whose attention the app shows."""

    def replace(self, **changes) -> "TaskType":
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    @property
    def hf_class(self) -> str:
        """The `transformers` class of a checkpoint that has only this output layer."""
        return HEADS[self.head].hf_class if self.head else "BertModel"

    @property
    def has_labels(self) -> bool:
        """Whether the output layer has one output for each label."""
        return bool(self.head) and HEADS[self.head].has_labels

    @property
    def loss(self) -> Callable:
        """The loss function, (model, batch) -> Loss."""
        return self.make_loss(self.head)

    def can_predict(self, model: Bert) -> bool:
        """Whether a model can make predictions of this type."""
        if not self.head:
            return model.gives_hidden_states
        try:
            model.require_head(self.head)
        except MissingHead:
            return False
        return True

    def make_default_spec(self) -> TaskSpec:
        """Make a custom task of this type with the default columns."""
        fields = {"hub_id": "", "language": "", "metrics": self.metrics, "source": "", "id": ""}
        return TaskSpec(self.name, **fields | self.columns)

    def compute_outputs(self, model: Bert, features, batch_size: int | None = None, progress: Callable = iter) -> list:
        """Compute the output for every example, in order, in the form that `decode` returns. Raises MissingHead."""
        model.require_head(self.head)
        return self.run(self, model, features, batch_size or self.batch_size, progress)
