"""What an open checkpoint is and can predict; `session.Session` adds the predictions."""

from dataclasses import dataclass
from pathlib import Path

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.config import ModelConfig
from bertlab.nn.bert import Bert
from bertlab.tasks.registry import TASK_TYPES, types_of, types_of_command
from bertlab.tasks.task_type import TaskType
from bertlab.text.tokenizers.wordpiece import Tokenizer

MAX_RECORDED_VALUE = 1e9  # a record with a larger value is damaged, and its value range is ignored


@dataclass(frozen=True, repr=False)
class CheckpointInfo:
    """The parts of an open checkpoint, and what its record says."""

    loaded: Checkpoint
    """The open checkpoint: model, tokenizer and record."""

    def __repr__(self) -> str:
        c, names = self.config, ", ".join(task_type.name for task_type in self.task_types) or "none"
        return (
            f"Session({self.name}: {c.num_layers} layers x {c.num_heads} heads, {c.hidden_size} wide, tasks: {names})"
        )

    @property
    def name(self) -> str:
        """The directory's name, or the hub id."""
        return self.loaded.name

    @property
    def path(self) -> Path:
        """The directory; for a hub model, the one in the hub's cache."""
        return self.loaded.path

    @property
    def config(self) -> ModelConfig:
        """The model's configuration."""
        return self.loaded.config

    @property
    def record(self) -> dict:
        """What `bertlab.json` says of how the checkpoint was made; {} for a checkpoint made elsewhere."""
        return self.loaded.record

    @property
    def language(self) -> str:
        """The language of its texts ("ko", "en"), from its record, otherwise from its vocabulary."""
        recorded = self.record.get("language")
        return recorded if isinstance(recorded, str) and recorded else self.tokenizer.language

    @property
    def texts(self) -> int | None:
        """The number of texts that `classify` was trained to read at once, 1 or 2; None if the record does not say."""
        task = self.record.get("task")
        kind = task.get("kind") if isinstance(task, dict) else None
        task_type = TASK_TYPES.get(kind) if isinstance(kind, str) else None
        columns = task.get("text") if task_type in types_of_command("classify") else None
        return len(columns) if isinstance(columns, list) and len(columns) in (1, 2) else None

    @property
    def value_range(self) -> tuple[float, float] | None:
        """The smallest and largest value of the fine-tuning rows, for regression; None if they are not recorded."""
        match self.record.get("value_range"):
            case [int() | float() as low, int() | float() as high] if (
                -MAX_RECORDED_VALUE < low < high < MAX_RECORDED_VALUE
            ):
                return float(low), float(high)
        return None

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of its output layers, rows of `nn.heads.HEADS`."""
        return self.loaded.heads

    @property
    def task_types(self) -> tuple[TaskType, ...]:
        """The task types that it can predict."""
        return tuple(types_of(self.model))

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that it supports, such as "fill-mask"."""
        return tuple(dict.fromkeys(task_type.command for task_type in self.task_types if task_type.command))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of `classify` or the tags of `tag`, in the model's order; () for other checkpoints."""
        return self.config.labels

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the model was trained with."""
        return self.loaded.tokenizer

    @property
    def model(self) -> Bert:
        """The model, in eval mode."""
        return self.loaded.model
