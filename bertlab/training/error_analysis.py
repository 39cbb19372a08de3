"""Error analysis: predict labelled rows with a checkpoint, and score each prediction."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec, get_task
from bertlab.tasks import evaluation
from bertlab.tasks.error_analysis import AnalysisRows, ErrorAnalysis
from bertlab.tasks.registry import list_finetune_types
from bertlab.tasks.task_flags import get_finetune_type, parse_task_record
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.text.readers.rows import choose_evenly


def find_task(loaded: Checkpoint, name: str = "", text: Sequence[str] = (), label: str = "") -> TaskSpec:
    """Find the task to evaluate a checkpoint on.

    Without a name, it is the one that the checkpoint records, else the default task of the first task type whose output
    layer the checkpoint has. `text` and `label` replace the names of the columns.
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

    With `invalid` "skip", unreadable rows are left out and their errors returned; "stop" raises the first error.
    """
    invalid_rows = InvalidRows(invalid, max_printed=0)
    with _name_first_invalid_row(invalid_rows):
        task_type = get_finetune_type(spec.kind)
        rows = evaluation.read_analysis_rows(task_type, source, split, spec, invalid_rows, limits)
    return replace(rows, invalid_rows=tuple(invalid_rows.errors))


def analyse_errors(
    loaded: Checkpoint,
    rows: AnalysisRows,
    spec: TaskSpec,
    max_rows: int = 500,
    progress: Callable = iter,
    invalid: InvalidRowAction = "skip",
) -> ErrorAnalysis:
    """Predict at most `max_rows` rows, spaced evenly over the data, and score each prediction."""
    task_type, invalid_rows = get_finetune_type(spec.kind), InvalidRows(invalid, max_printed=0)
    with _name_first_invalid_row(invalid_rows):
        examples = evaluation.read_analysis_examples(task_type, rows, spec, loaded, invalid_rows)
    if not examples.is_labelled:
        raise DataError("rows-without-labels", name=rows.name)
    sample = examples.select(choose_evenly(len(examples), max_rows))
    analysis = evaluation.analyse(task_type, loaded, sample, progress)
    return ErrorAnalysis(
        rows.name, examples.spec, analysis.metrics, tuple(analysis.rows), len(rows) + len(rows.skipped_numbers),
        len(examples), (*rows.invalid_rows, *invalid_rows.errors), analysis.confusion, analysis.groups,
    )  # fmt: skip


@contextmanager
def _name_first_invalid_row(invalid_rows: InvalidRows) -> Iterator[None]:
    """If the block finds no valid row, raise an error that contains that of the first invalid row."""
    try:
        yield
    except DataError as error:
        if not invalid_rows or error.id not in ("no-usable-row", "no-questions"):
            raise
        raise DataError("no-usable-row-because", error=error, first=invalid_rows.errors[0]) from None
