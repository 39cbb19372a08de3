"""Error analysis: how a checkpoint predicts labelled rows, one by one.

Each task type judges its own predictions; the results are in `tasks.error_analysis`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec, task
from bertlab.tasks.error_analysis import Examination, SourceRows
from bertlab.tasks.registry import finetune_types
from bertlab.tasks.task_flags import finetune_type, spec_of_record
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import evenly_spaced


def spec_for(loaded: Checkpoint, name: str = "", text: Sequence[str] = (), label: str = "") -> TaskSpec:
    """The task to measure a checkpoint by.

    Args:
        name: a task of the catalogue; "" is the one that the checkpoint records, or else one of the type that its
            output layer is for.
        text: columns of the texts, instead of the task's.
        label: column of the label, instead of the task's.

    Raises:
        BertlabError: no task of that name.
        MissingHead: the checkpoint has no output layer for it.
    """
    if name:
        spec = task(name)
    elif isinstance(recorded := loaded.record.get("task"), dict) and recorded:
        spec = spec_of_record(recorded)
    else:
        fitting = [task_type for task_type in finetune_types() if task_type.head in loaded.heads]
        spec = (fitting or finetune_types())[0].default_spec()
    loaded.model.head(finetune_type(spec.kind).head)
    spec = spec.replace(text=tuple(text)) if text else spec
    return spec.replace(label=(label,)) if label else spec


def labelled_rows(
    source: str | Path, spec: TaskSpec, split: str = "validation", limits: Limits | None = None
) -> SourceRows:
    """The rows of a file, or of one split of a directory.

    Args:
        limits: the most that a file may hold; see `read_file`.

    Raises:
        DataError: neither exists, or it is invalid.
    """
    return finetune_type(spec.kind).read_source_rows(source, split, spec, limits)


def examine(
    loaded: Checkpoint, rows: SourceRows, spec: TaskSpec, most: int = 500, progress: Callable = iter
) -> Examination:
    """Predict `most` rows, evenly spaced, and judge every prediction.

    Args:
        progress: wraps the parts that the rows are taken in (say, `tqdm`).

    Raises:
        BertlabError: rows that are not the task's, or labels that are not the checkpoint's.
    """
    task_type, invalid_rows = finetune_type(spec.kind), InvalidRows("skip", max_printed=0)
    try:
        examples = task_type.read_analysis_examples(rows, spec, loaded, invalid_rows)
    except DataError as error:
        if not invalid_rows:
            raise
        raise DataError("no-usable-row-because", error=error, first=invalid_rows.errors[0]) from None
    if not examples.labelled:
        raise DataError("rows-without-labels", name=rows.name)
    chosen = examples.of(evenly_spaced(len(examples), most))
    analysis = task_type.analyse(loaded, chosen, progress)
    return Examination(
        rows.name, examples.spec, analysis.metrics, tuple(analysis.judged), len(rows), len(examples),
        (*rows.left_out, *invalid_rows.errors), analysis.confusion, analysis.groups,
    )  # fmt: skip
