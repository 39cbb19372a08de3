"""The table of task types, `TASK_TYPES`. A new type needs one module and one row here, or a call of `register`.

>>> TASK_TYPES["span"].command, TASK_TYPES["classify"].name
('answer', 'classification')
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from bertlab.checkpoints.locate import find_first_shipped_checkpoint
from bertlab.config.languages import DEFAULT, rank_shipped_checkpoints
from bertlab.nn.bert import Bert
from bertlab.tasks.classification import ClassificationTask
from bertlab.tasks.masked_lm import MaskedLMTask
from bertlab.tasks.multiple_choice import MultipleChoiceTask
from bertlab.tasks.regression import RegressionTask
from bertlab.tasks.sentence_embedding import SentenceEmbeddingTask
from bertlab.tasks.sentence_pair import SentencePairTask
from bertlab.tasks.span.task import SpanTask
from bertlab.tasks.summarisation import SummarisationTask
from bertlab.tasks.tagging import TaggingTask
from bertlab.tasks.task_type import FinetuneTaskType, TaskType


class TaskTypeTable(Mapping[str, TaskType]):
    """A table of task types by name; a lookup also accepts old names, but an iteration does not list them."""

    def __init__(self, *task_types: TaskType):
        self._by_name: dict[str, TaskType] = {}
        self._name_by_alias: dict[str, str] = {}  # also maps every name to itself
        for task_type in task_types:
            self.add(task_type)

    def add(self, task_type: TaskType) -> None:
        """Add a task type, or replace the task type with the same name."""
        self._by_name[task_type.name] = task_type
        self._name_by_alias[task_type.name] = task_type.name
        for alias in task_type.aliases:  # inherited aliases still refer to the parent class, which was added before
            self._name_by_alias.setdefault(alias, task_type.name)

    def remove(self, name: str) -> None:
        """Remove a task type."""
        task_type = self._by_name.pop(name)
        self._name_by_alias = {
            alias: target for alias, target in self._name_by_alias.items() if target != task_type.name
        }

    def __getitem__(self, name: str) -> TaskType:
        if not isinstance(name, str):  # a damaged record may contain any value
            raise KeyError(name)
        return self._by_name[self._name_by_alias[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


TASK_TYPES = TaskTypeTable(
    MaskedLMTask(),
    SentencePairTask(),
    ClassificationTask(),
    RegressionTask(),
    MultipleChoiceTask(),
    TaggingTask(),
    SpanTask(),
    SentenceEmbeddingTask(),
    SummarisationTask(),
)


def register(task_type: TaskType) -> None:
    """Register a task type that is defined outside the package; its output layer must be a row of `nn.heads.HEADS`."""
    TASK_TYPES.add(task_type)


def list_finetune_types() -> list[FinetuneTaskType]:
    """List the task types that a checkpoint can be fine-tuned on."""
    return [task_type for task_type in TASK_TYPES.values() if isinstance(task_type, FinetuneTaskType)]


def list_intervention_types() -> list[TaskType]:
    """List the task types whose prediction can be recomputed under interventions."""
    return [task_type for task_type in TASK_TYPES.values() if task_type.supports_interventions]


def list_types_for_model(model: Bert) -> list[TaskType]:
    """List the task types for which a model can make predictions."""
    return [task_type for task_type in TASK_TYPES.values() if task_type.can_predict(model)]


def list_types_for_command(command: str) -> list[TaskType]:
    """List the task types whose predictions a command makes; the command `classify` has two of them."""
    return [task_type for task_type in TASK_TYPES.values() if task_type.command == command]


def default_checkpoint(command: str = "fill-mask", language: str = DEFAULT) -> Path:
    """Find the shipped checkpoint for a command: one fine-tuned for it or, if there is none, a pre-trained one.

    Args:
        command: the command, such as "answer", "classify" or "fill-mask".
        language: the language of the texts; if no checkpoint for this language is shipped, an English one is used.

    Raises:
        CheckpointError: no such checkpoint is shipped.
    """
    task_types = list_types_for_command(command)
    return find_first_shipped_checkpoint(rank_shipped_checkpoints(task_types[0].name if task_types else "", language))
