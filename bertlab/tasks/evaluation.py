"""Evaluate task types: splits -> examples -> predictions -> files, metrics and error analyses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.tasks import TaskSpec
from bertlab.tasks import prediction_files
from bertlab.tasks.error_analysis import AnalysisRows, TaskAnalysis
from bertlab.tasks.examples import Examples
from bertlab.tasks.features import Features
from bertlab.tasks.labelled_rows import match_labels
from bertlab.tasks.task_type import TaskType
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.text.readers.splits import available_splits, find_split, has_split


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
    threshold: float | None = None
    """The threshold tau: predict "no answer" if the score of "no answer" exceeds the score of the best answer by more
    than tau. None uses the checkpoint's tau, or tunes tau."""
    tune_threshold: bool = False
    """Whether to tune tau on these rows if `threshold` is None, instead of using the checkpoint's tau."""
    no_answer: Path | None = None
    """If predictions are read from a file: another file, which contains a no-answer score for each question."""


def list_evaluation_splits(task_type: TaskType, spec: TaskSpec, options: EvaluationOptions) -> Sequence[str]:
    """List the splits to evaluate, in order."""
    if task_type.reads_windows:
        return (options.split,)
    if options.split == "test" and not spec.test:
        raise BertlabError("task-without-test-split", task=options.task)
    splits = {"validation": spec.validation, "test": spec.test}.get(options.split, (options.split,))
    # some tasks have two validation splits, of which the user's directory may contain only one
    return (available_splits(options.source, splits, options.split) or splits[:1]) if options.is_user_data else splits


def read_examples(
    task_type: TaskType, spec: TaskSpec, split: str, loaded: Checkpoint | None, options: EvaluationOptions
) -> Examples:
    """Read one split; `loaded` is the checkpoint that will predict, or None if predictions are read from a file."""
    invalid_rows = InvalidRows(options.invalid)
    labels = find_labels(task_type, spec, loaded) if loaded else spec.labels
    rows = task_type.open_rows(options.source, split, invalid_rows=invalid_rows)
    if options.limit and not task_type.reads_windows:
        rows = rows.first(options.limit)
    examples = task_type.read(rows, spec, labels, invalid_rows)
    if options.limit and options.limit < len(examples):  # questions, of which all must be read to find the language
        examples = examples.select(range(options.limit))
    return examples


def find_labels(task_type: TaskType, spec: TaskSpec, loaded: Checkpoint) -> tuple[str, ...]:
    """Find the labels of a checkpoint, in the task's spelling; () if the output layer has none."""
    return match_labels(spec, loaded.config.labels) if task_type.has_labels else ()


def encode(task_type: TaskType, loaded: Checkpoint, examples: Examples, max_tokens: int | None = None) -> Features:
    """Tokenise examples as `predict` does; an example may have several inputs."""
    if not max_tokens and task_type.choose_max_tokens:
        max_tokens = task_type.choose_max_tokens(loaded)
    max_tokens = min(max_tokens or loaded.max_tokens_for(task_type.max_tokens), loaded.config.max_tokens)
    return task_type.adapt_to_checkpoint(task_type, loaded, None).encode(loaded.tokenizer, examples, max_tokens)


def predict(
    task_type: TaskType, loaded: Checkpoint, examples: Examples, options: EvaluationOptions, progress: Callable
):
    """Predict all examples with a checkpoint."""
    features = encode(task_type, loaded, examples, options.max_tokens)
    task_type = task_type.adapt_to_checkpoint(task_type, loaded, options)
    return task_type.choose(examples, task_type.compute_outputs(loaded.model, features, progress=progress))


def write_predictions(
    task_type: TaskType,
    out: Path,
    split: str,
    number_of_splits: int,
    examples: Examples,
    predictions,
    options: EvaluationOptions,
) -> None:
    """Write the predictions of one split in the benchmark's format; the file is written completely or not at all.

    Args:
        out: a file or, if there are several splits, a directory.
    """
    spec = examples.spec
    # all splits of the same kind (validation or test), in the order of their file names in `spec.submission`
    split_group = next((names for names in (spec.test, spec.validation) if split in names), (split,))
    name = task_type.file_name.format(task=options.task)
    path = prediction_files.choose_path(out, options.task, name, spec, split_group.index(split), number_of_splits)
    task_type.write_file(path, examples, predictions)


# -- error analysis


def read_analysis_rows(
    task_type: TaskType,
    source: str | Path,
    split: str,
    spec: TaskSpec,
    invalid_rows: InvalidRows,
    limits: Limits | None = None,
) -> AnalysisRows:
    """Read the rows of a file, or of one split of a directory; "validation" is the first one that exists."""
    names = {"validation": spec.validation, "test": spec.test}.get(split) or (split,)
    split = next((name for name in names if has_split(source, name)), split)
    if not find_split(source, split):
        raise DataError("rows-not-found", path=source)
    rows = task_type.open_rows(source, split, limits, invalid_rows)
    return AnalysisRows(rows.name, rows.columns, rows.rows, rows.label_names, rows.skipped_numbers)


def read_analysis_examples(
    task_type: TaskType, rows: AnalysisRows, spec: TaskSpec, loaded: Checkpoint, invalid_rows: InvalidRows
) -> Examples:
    """Convert the valid rows to examples; a question without an answer counts as unanswerable."""
    labels = find_labels(task_type, spec, loaded)
    spec = spec if spec.labels else spec.replace(labels=labels)
    return task_type.read(rows, spec.replace(unanswerable=True), labels, invalid_rows)


def analyse(task_type: TaskType, loaded: Checkpoint, examples: Examples, progress: Callable) -> TaskAnalysis:
    """Predict every example, and score the predictions."""
    adapted = task_type.adapt_to_checkpoint(task_type, loaded, None)
    return task_type.explain(adapted, loaded, encode(task_type, loaded, examples), progress)
