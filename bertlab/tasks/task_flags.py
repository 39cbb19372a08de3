"""The flags that describe a custom task, or the columns of a known one."""

from dataclasses import asdict, dataclass, fields
from typing import Annotated

import tyro

from bertlab.config.errors import BertlabError
from bertlab.config.renamed_keys import CUSTOM_TASK, OLD_CUSTOM_TASK
from bertlab.config.tasks import TaskSpec, task
from bertlab.tasks.registry import TASK_TYPES, finetune_types
from bertlab.tasks.task_type import FinetuneTaskType

_NAME = tyro.conf.arg(metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class TaskFlags:
    """The flags that describe a custom task; with a known task they replace the names of its columns."""

    kind: Annotated[
        str | None,
        tyro.conf.arg(
            name="type", aliases=("--kind",), metavar="|".join(task_type.name for task_type in finetune_types())
        ),
    ] = None
    """The type of a custom task: a label, a number, one of several choices, a tag for every word, or an answer in a
    passage."""
    text_column: Annotated[str | None, _NAME] = None
    """The column of the text; for multiple_choice the context; for tagging the tokens (a list, or words separated by
    spaces); for span the passage, `context` by default."""
    pair_column: Annotated[str | None, _NAME] = None
    """The column of the second text of a pair; for span the question, `question` by default."""
    choice_columns: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ()
    """For multiple_choice: one column for each choice, or a single column with lists of choices."""
    label_column: Annotated[str | None, _NAME] = None
    """The column of the label, the number, the right choice (from 0), the tags, or the answer's text (`answers` or
    `answer` by default). The answer starts at the character in the column `answer_start` (from 0), or else where its
    text first occurs."""
    id_column: Annotated[str | None, _NAME] = None
    """The column with a unique name for every row, used in messages and predictions."""

    def spec(self, name: str, recorded: dict | None = None) -> TaskSpec:
        """The task of that name with these columns.

        Args:
            name: of a known task, or "custom".
            recorded: the task that a checkpoint was fine-tuned on, see `task_record`; it stands in for a missing
                --type.

        Raises:
            BertlabError: flags are missing, or do not fit the type of the task.
        """
        if self.kind is not None:
            named = finetune_type(self.kind)
        if not is_custom(name):
            spec = task(name)
            if self.kind is not None and named is not TASK_TYPES[spec.kind]:
                raise BertlabError("kind-of-known-task", task=name, kind=TASK_TYPES[spec.kind].name)
        elif self.kind is not None:
            spec = named.default_spec()
            for flag in named.required_flags:
                if not getattr(self, flag):
                    raise BertlabError("column-flag-missing", flag=_spelled(flag))
        elif isinstance(recorded, dict) and recorded:
            spec = spec_of_record(recorded)
        else:
            raise BertlabError("kind-missing", kinds=[task_type.name for task_type in finetune_types()])
        task_type = finetune_type(spec.kind)
        for flag in ("pair_column", "choice_columns"):
            if getattr(self, flag) and flag not in task_type.column_flags:
                raise BertlabError(
                    "column-flag-of-other-kind", flag=_spelled(flag), kind=task_type.name,
                    kinds=[other.name for other in finetune_types() if flag in other.column_flags],
                )  # fmt: skip
        spec = task_type.change_columns(spec, self.text_column, self.pair_column, self.choice_columns)
        if self.label_column:
            spec = spec.replace(label=(self.label_column,))
        return spec.replace(id=self.id_column) if self.id_column else spec


def is_custom(name: str) -> bool:
    """Whether a name on the command line means the user's own rows, described by the flags.

    >>> is_custom("custom"), is_custom("own"), is_custom("sst2")
    (True, True, False)
    """
    return name in (CUSTOM_TASK, OLD_CUSTOM_TASK)


def finetune_type(name: str) -> FinetuneTaskType:
    """The task type of a name, old names included.

    Raises:
        BertlabError: there is none that can be fine-tuned on.
    """
    task_type = TASK_TYPES.get(name)
    if not isinstance(task_type, FinetuneTaskType):
        raise BertlabError("kind-unknown", kind=name, kinds=[task_type.name for task_type in finetune_types()])
    return task_type


def spec_of_record(record: dict) -> TaskSpec:
    """The task that a checkpoint's `bertlab.json` records; the type may have an old name.

    Raises:
        BertlabError: the record is damaged.
    """
    task_type = finetune_type(str(record.get("kind")))
    known = {f.name for f in fields(TaskSpec)}
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}
    usual = task_type.default_spec()  # old records leave the columns of questions out
    try:
        return TaskSpec(
            **{
                "hub_id": "", "language": "", "metrics": usual.metrics, "source": "", "label": usual.label,
                "text": usual.text, **{name: value for name, value in values.items() if name in known},
                "kind": task_type.name,
            }
        )  # fmt: skip
    except TypeError as error:
        raise BertlabError("task-record-damaged", reason=str(error)) from None


def task_record(spec: TaskSpec) -> dict:
    """A task as a checkpoint's `bertlab.json` records it: its columns, and what differs from the defaults."""
    usual = {f.name: f.default for f in fields(TaskSpec)}
    return {name: value for name, value in asdict(spec).items() if value != usual[name] or name in ("text", "label")}


def _spelled(flag: str) -> str:
    return f"--{flag.replace('_', '-')}"
