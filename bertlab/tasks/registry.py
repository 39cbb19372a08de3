"""The table of task types, `TASK_TYPES`. A new type needs one module and one row here, or a call of `register`.

>>> TASK_TYPES["span"].command, TASK_TYPES["classification"].head
('answer', 'classify')
"""

from pathlib import Path

from bertlab.checkpoints.locate import find_first_shipped_checkpoint
from bertlab.config.languages import DEFAULT, rank_shipped_checkpoints
from bertlab.nn.bert import Bert
from bertlab.tasks.classification import CLASSIFICATION
from bertlab.tasks.masked_lm import MASKED_LM
from bertlab.tasks.multiple_choice import MULTIPLE_CHOICE
from bertlab.tasks.regression import REGRESSION
from bertlab.tasks.sentence_embedding import SENTENCE_EMBEDDING
from bertlab.tasks.sentence_pair import SENTENCE_PAIR
from bertlab.tasks.span.task import SPAN
from bertlab.tasks.summarisation import SUMMARISATION
from bertlab.tasks.tagging import TAGGING
from bertlab.tasks.task_type import TaskType

# name -> task type
TASK_TYPES: dict[str, TaskType] = {
    task_type.name: task_type
    for task_type in (
        MASKED_LM,
        SENTENCE_PAIR,
        CLASSIFICATION,
        REGRESSION,
        MULTIPLE_CHOICE,
        TAGGING,
        SPAN,
        SENTENCE_EMBEDDING,
        SUMMARISATION,
    )
}


def register(task_type: TaskType) -> None:
    """Register a task type that is defined outside the package; its output layer must be a row of `nn.heads.HEADS`."""
    TASK_TYPES[task_type.name] = task_type


def list_finetune_types() -> list[TaskType]:
    """List the task types that a checkpoint can be fine-tuned on."""
    return [task_type for task_type in TASK_TYPES.values() if task_type.read]


def list_intervention_types() -> list[TaskType]:
    """List the task types whose prediction can be recomputed under interventions."""
    return [task_type for task_type in TASK_TYPES.values() if task_type.recompute]


def list_types_for_model(model: Bert) -> list[TaskType]:
    """List the task types for which a model can make predictions."""
    return [task_type for task_type in TASK_TYPES.values() if task_type.can_predict(model)]


def list_types_for_command(command: str) -> list[TaskType]:
    """List the task types whose predictions a command makes; the command `classify` has two of them."""
    return [task_type for task_type in TASK_TYPES.values() if task_type.command == command]


def default_checkpoint(command: str = "fill-mask", language: str = DEFAULT) -> Path:
    """Find the shipped checkpoint for a command: one fine-tuned for it or, if there is none, a pre-trained one.

    If no checkpoint for this language is shipped, an English one is used.

    Raises:
        CheckpointError: no such checkpoint is shipped.
    """
    task_types = list_types_for_command(command)
    return find_first_shipped_checkpoint(rank_shipped_checkpoints(task_types[0].name if task_types else "", language))
