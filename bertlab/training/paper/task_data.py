"""Find the data of the tasks of a table."""

from contextlib import suppress
from pathlib import Path

from bertlab.config.errors import BertlabError
from bertlab.config.paper import REPLACEMENT_TASKS
from bertlab.config.tasks import get_task
from bertlab.text.readers.splits import find_split
from bertlab.training.paper.config import ALL_TABLES, ReproduceConfig


def list_available_tasks(config: ReproduceConfig) -> tuple[str, ...]:
    """List the tasks of a table (1 to 4) whose data set is in --data or, without --data, on the hub.

    A task that replaces another one (`REPLACEMENT_TASKS`) is listed only if the other is not available.
    """
    names = []
    for name in ALL_TABLES[config.table].columns:
        with suppress(BertlabError):
            if find_task_directory(config.data, name) or get_task(name).hub_id:
                names.append(name)
    unneeded_names = {replacement for name, replacement in REPLACEMENT_TASKS.items() if name in names}
    return tuple(name for name in names if name not in unneeded_names)


def find_task_directory(data: Path | None, task_name: str) -> str | None:
    """Find the directory of a task at any depth of --data; None if the data on the hub is used.

    Raises:
        BertlabError: there is no such directory, or it lacks the training or the validation rows.
    """
    if data is None:
        return None
    if not data.is_dir():
        raise BertlabError("reproduce-data-not-found", directory=data)
    directories = [path for path in sorted(data.rglob(task_name)) if path.is_dir()]
    if not directories:
        raise BertlabError("reproduce-task-not-found", directory=data, task=task_name)
    for split in ("train", get_task(task_name).validation[0]):
        find_split(directories[0], split)  # raises DataError if there is no such split
    return str(directories[0])
