"""The flags that describe a custom task, or rename the columns of a known task."""

from dataclasses import asdict, dataclass, fields
from typing import Annotated

import tyro

from bertlab.config.errors import BertlabError
from bertlab.config.tasks import CUSTOM_TASK, TASKS, TaskSpec, get_task
from bertlab.tasks.registry import TASK_TYPES, list_finetune_types
from bertlab.tasks.task_type import TaskType

_NAME = tyro.conf.arg(metavar="NAME")  # `--help` shows NAME as the value of flags that take a column name
_TYPES = list_finetune_types()


def list_tasks() -> str:
    """List the tasks of the catalogue by their type, for `--help`."""
    by_kind: dict[str, list[str]] = {}
    for name, spec in TASKS.items():
        by_kind.setdefault(spec.kind, []).append(name)
    return " ".join(f"{kind.replace('_', ' ').capitalize()}: {', '.join(names)}." for kind, names in by_kind.items())


@dataclass(frozen=True, kw_only=True)
class TaskFlags:
    """The flags that describe a custom task; for a known task, they only change the names of its columns."""

    kind: Annotated[
        str | None,
        tyro.conf.arg(
            name="type",
            metavar="|".join(task_type.name for task_type in _TYPES),
            help="The type of a custom task. What each type predicts: "
            + "; ".join(f"{task_type.name}: {task_type.predicts}" for task_type in _TYPES)
            + ".",
        ),
    ] = None
    text_column: Annotated[str | None, _NAME] = None
    """The column with the text. multiple_choice: the context. tagging: the tokens (a list, or words separated by
    spaces). span: the passage (default `context`). summarisation: the document or a list of its sentences (default
    `document` or `sentences`)."""
    pair_column: Annotated[str | None, _NAME] = None
    """The column with the second text of a pair. span: the question (default `question`). summarisation: the reference
    summary, if there is one (default `summary`)."""
    choice_columns: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ()
    """For multiple_choice: one column for each choice, or one column with a list of choices."""
    label_column: Annotated[str | None, _NAME] = None
    """The column to predict. classification: the label. regression: the number. multiple_choice: the index of the
    correct choice, counted from 0. tagging: the tags. span: the text of the answer (default `answers` or `answer`). If
    there is a column `answer_start`, it gives the position of the answer's first character in the passage, counted from
    0. Without it, the first occurrence of the text is used. sentence_embedding: the similarity of the pair, or an NLI
    label such as entailment; without this column, the texts of each row count as similar. summarisation: the indices of
    the summary sentences, counted from 0, or the sentences themselves (default `chosen`); without this column, the
    sentences most similar to the reference summary are used."""
    id_column: Annotated[str | None, _NAME] = None
    """The column with a unique id for every row. Error messages and prediction files contain these ids."""

    def make_spec(self, name: str, recorded: dict | None = None) -> TaskSpec:
        """Make the task that these flags describe.

        Args:
            name: the name of a known task, or "custom".
            recorded: the record of the task that a checkpoint was fine-tuned on (see `make_task_record`). It is used
                for a custom task if --type is missing.
        """
        if self.kind is not None:
            given_type = get_finetune_type(self.kind)
        if name != CUSTOM_TASK:
            spec = get_task(name)
            if self.kind is not None and given_type is not TASK_TYPES[spec.kind]:
                raise BertlabError("known-task-has-kind", task=name, kind=TASK_TYPES[spec.kind].name)
        elif self.kind is not None:
            spec = given_type.make_default_spec()
            for field in given_type.required_flags:
                if not getattr(self, field):
                    raise BertlabError("column-flag-missing", flag=_flag_of_field(field))
        elif isinstance(recorded, dict) and recorded:
            spec = parse_task_record(recorded)
        else:
            raise BertlabError("kind-missing", kinds=[task_type.name for task_type in list_finetune_types()])
        task_type = get_finetune_type(spec.kind)
        for field in ("pair_column", "choice_columns"):
            if getattr(self, field) and field not in task_type.column_flags:
                raise BertlabError(
                    "column-flag-of-other-kind", flag=_flag_of_field(field), kind=task_type.name,
                    kinds=[other.name for other in list_finetune_types() if field in other.column_flags],
                )  # fmt: skip
        spec = task_type.change_columns(spec, self.text_column, self.pair_column, self.choice_columns)
        if self.label_column:
            spec = spec.replace(label=(self.label_column,))
        return spec.replace(id=self.id_column) if self.id_column else spec


def get_finetune_type(name: str) -> TaskType:
    """Look up a task type by its name."""
    task_types = {task_type.name: task_type for task_type in list_finetune_types()}
    if name not in task_types:
        raise BertlabError("kind-unknown", kind=name, kinds=list(task_types))
    return task_types[name]


def parse_task_record(record: dict) -> TaskSpec:
    """Convert the record of a task in `bertlab.json` to the task."""
    task_type = get_finetune_type(str(record.get("kind")))
    known_fields = {field.name for field in fields(TaskSpec)}
    values = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in record.items()
        if name in known_fields
    }
    default_spec = task_type.make_default_spec()
    defaults = {"hub_id": "", "language": "", "metrics": default_spec.metrics, "source": ""}
    defaults |= {"label": default_spec.label, "text": default_spec.text}
    try:
        return TaskSpec(**defaults | values)
    except TypeError as error:
        raise BertlabError("task-record-damaged", reason=str(error)) from None


def make_task_record(spec: TaskSpec) -> dict:
    """Convert a task to its record in `bertlab.json`: its columns, and the fields that differ from the defaults."""
    defaults = {field.name: field.default for field in fields(TaskSpec)}
    return {name: value for name, value in asdict(spec).items() if value != defaults[name] or name in ("text", "label")}


def _flag_of_field(field: str) -> str:
    """Return the flag that sets a field of `TaskFlags`, as messages name it."""
    return f"--{field.replace('_', '-')}"
