"""Error analysis: predict labelled rows with a checkpoint, and score each prediction.

Each task type scores its own predictions; `tasks.error_analysis` defines the types of the results.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec, get_task
from bertlab.tasks.error_analysis import AnalysisRows, ErrorAnalysis
from bertlab.tasks.registry import list_finetune_types
from bertlab.tasks.task_flags import get_finetune_type, parse_task_record
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.text.readers.rows import choose_evenly


def find_task(loaded: Checkpoint, name: str = "", text: Sequence[str] = (), label: str = "") -> TaskSpec:
    """Find the task to evaluate a checkpoint on.

    Args:
        loaded: the checkpoint.
        name: a task of the catalogue. If it is empty, the task is the one that the checkpoint records or, without such
            a record, the default task of the first task type whose output layer the checkpoint has.
        text: names of the text columns, if they differ from the task's.
        label: name of the label column, if it differs from the task's.

    Raises:
        BertlabError: there is no task of this name.
        MissingHead: the checkpoint has no output layer for the task.
    """
    if name:
        spec = get_task(name)
    elif isinstance(recorded := loaded.record.get("task"), dict) and recorded:
        spec = parse_task_record(recorded)
    else:
        matching_types = [task_type for task_type in list_finetune_types() if task_type.head in loaded.heads]
        spec = (matching_types or list_finetune_types())[0].make_default_spec()
    loaded.model.require_head(get_finetune_type(spec.kind).head)
    spec = spec.replace(text=tuple(text)) if text else spec
    return spec.replace(label=(label,)) if label else spec


def read_labelled_rows(
    source: str | Path,
    spec: TaskSpec,
    split: str = "validation",
    limits: Limits | None = None,
    invalid: InvalidRowAction = "skip",
) -> AnalysisRows:
    """Read the rows of a file, or of one split of a directory.

    Args:
        source: a file or a directory.
        spec: the task; it contains the names of the columns.
        split: the split to read from a directory.
        limits: the maximum size of a file and the maximum number of its rows; see `read_file`.
        invalid: "skip" leaves out the rows that cannot be read and returns their errors; "stop" raises the first error.

    Raises:
        DataError: the file or split does not exist or cannot be read, or it has no valid row.
    """
    invalid_rows = InvalidRows(invalid, max_printed=0)
    with _name_first_invalid_row(invalid_rows):
        rows = get_finetune_type(spec.kind).read_analysis_rows(source, split, spec, invalid_rows, limits)
    return replace(rows, invalid_rows=tuple(invalid_rows.errors))


def analyse_errors(
    loaded: Checkpoint,
    rows: AnalysisRows,
    spec: TaskSpec,
    max_rows: int = 500,
    progress: Callable = iter,
    invalid: InvalidRowAction = "skip",
) -> ErrorAnalysis:
    """Predict a sample of the rows, and score each prediction.

    Args:
        loaded: the checkpoint.
        rows: the result of `read_labelled_rows`.
        spec: the task.
        max_rows: the maximum number of rows to predict; they are spaced evenly over the data.
        progress: wraps the iterable of batches, as `tqdm` does.
        invalid: "skip" leaves out invalid rows and returns their errors; "stop" raises the first error.

    Raises:
        BertlabError: the rows lack a column of the task, have no labels, or have labels that the checkpoint lacks.
    """
    task_type, invalid_rows = get_finetune_type(spec.kind), InvalidRows(invalid, max_printed=0)
    with _name_first_invalid_row(invalid_rows):
        examples = task_type.read_analysis_examples(rows, spec, loaded, invalid_rows)
    if not examples.is_labelled:
        raise DataError("rows-without-labels", name=rows.name)
    sample = examples.select(choose_evenly(len(examples), max_rows))
    analysis = task_type.analyse(loaded, sample, progress)
    return ErrorAnalysis(
        rows.name, examples.spec, analysis.metrics, tuple(analysis.rows), len(rows) + len(rows.skipped_numbers),
        len(examples), (*rows.invalid_rows, *invalid_rows.errors), analysis.confusion, analysis.groups,
    )  # fmt: skip


@contextmanager
def _name_first_invalid_row(invalid_rows: InvalidRows) -> Iterator[None]:
    """If the enclosed block finds no valid row, raise an error that contains the error of the first invalid row."""
    try:
        yield
    except DataError as error:
        if not invalid_rows or error.id not in ("no-usable-row", "no-questions"):
            raise
        raise DataError("no-usable-row-because", error=error, first=invalid_rows.errors[0]) from None
