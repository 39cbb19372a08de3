"""Choose the split of a data set for an error analysis, and the splits on which fine-tuning computes its metrics."""

from pathlib import Path

from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.text.readers.splits import available_splits, find_split, has_split


def choose_split(source: str | Path, split: str, spec: TaskSpec) -> str:
    """Find the name of the split to read from a file or directory.

    Args:
        source: a file or a directory.
        split: the name of a split; "validation" means the first validation split of the task that exists in
            `source`, and "test" means the first test split.
        spec: the task, which names its validation and test splits.

    Raises:
        DataError: there is no such split.
    """
    names = {"validation": spec.validation, "test": spec.test}.get(split) or (split,)
    split = next((name for name in names if has_split(source, name)), split)
    if not find_split(source, split):
        raise DataError("rows-not-found", path=source)
    return split


def find_held_out_splits(spec: TaskSpec, data: str | None, validation: str | None) -> tuple[str, ...]:
    """Find the held-out splits of fine-tuning: those of --validation or, without it, of the training data set.

    Args:
        spec: the task.
        data: the path or hub id of --data; None for the task's own data set.
        validation: the path or hub id of --validation; None without this flag.
    """
    if validation:
        return available_splits(validation, spec.validation, "validation") or spec.validation[:1]
    if data is None:
        return spec.validation
    return () if Path(data).is_file() else available_splits(data, spec.validation, "validation")
