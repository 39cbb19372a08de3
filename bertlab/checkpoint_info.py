"""`CheckpointInfo`: the parts of an open checkpoint and the commands that it supports; `Predictor` adds predictions."""

from dataclasses import dataclass
from pathlib import Path

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.config import ModelConfig
from bertlab.nn.bert import Bert
from bertlab.tasks.registry import TASK_TYPES, list_types_for_command, list_types_for_model
from bertlab.tasks.task_type import TaskType
from bertlab.text.tokenizers.wordpiece import Tokenizer

MAX_RECORDED_VALUE = 1e9  # a value range with a larger number counts as damaged and is ignored


@dataclass(frozen=True, repr=False)
class CheckpointInfo:
    """The parts of an open checkpoint, and the information in its record."""

    loaded: Checkpoint
    """The open checkpoint: model, tokenizer and record."""

    def __repr__(self) -> str:
        config, names = self.config, ", ".join(task_type.name for task_type in self.task_types) or "none"
        size = f"{config.num_layers} layers x {config.num_heads} heads, hidden size {config.hidden_size}"
        return f"Session({self.name}: {size}, tasks: {names})"

    @property
    def name(self) -> str:
        """The name of the checkpoint's directory, or the hub id."""
        return self.loaded.name

    @property
    def path(self) -> Path:
        """The directory of the checkpoint; for a hub model, its directory in the hub's cache."""
        return self.loaded.path

    @property
    def config(self) -> ModelConfig:
        """The model's configuration."""
        return self.loaded.config

    @property
    def record(self) -> dict:
        """The content of `bertlab.json`, which describes the training; {} if another program made the checkpoint."""
        return self.loaded.record

    @property
    def language(self) -> str:
        """The language of the checkpoint's texts ("ko", "en"), from the record, else from the vocabulary."""
        recorded = self.record.get("language")
        return recorded if isinstance(recorded, str) and recorded else self.tokenizer.language

    @property
    def num_texts(self) -> int | None:
        """How many texts one input of `classify` has, 1 or 2; None if the record does not contain it."""
        task = self.record.get("task")
        kind = task.get("kind") if isinstance(task, dict) else None
        task_type = TASK_TYPES.get(kind) if isinstance(kind, str) else None
        columns = task.get("text") if task_type in list_types_for_command("classify") else None
        return len(columns) if isinstance(columns, list) and len(columns) in (1, 2) else None

    @property
    def texts(self) -> int | None:
        """A former name of `num_texts`, for existing code."""
        return self.num_texts

    @property
    def value_range(self) -> tuple[float, float] | None:
        """The smallest and the largest value in the training rows of a regression; None if they are not recorded."""
        match self.record.get("value_range"):
            case [int() | float() as low, int() | float() as high] if (
                -MAX_RECORDED_VALUE < low < high < MAX_RECORDED_VALUE
            ):
                return float(low), float(high)
        return None

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the model's output layers, which are keys of `nn.heads.HEADS`."""
        return self.loaded.heads

    @property
    def task_types(self) -> tuple[TaskType, ...]:
        """The task types for which the checkpoint makes predictions."""
        return tuple(list_types_for_model(self.model))

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that the checkpoint supports, such as "fill-mask"."""
        return tuple(dict.fromkeys(task_type.command for task_type in self.task_types if task_type.command))

    def find_classifier(self) -> TaskType:
        """Find the task type of `classify`, classification or regression, that the checkpoint supports.

        Raises:
            MissingHead: the checkpoint supports neither.
        """
        task_types = list_types_for_command("classify")
        supported = [task_type for task_type in task_types if task_type.head in self.heads]
        if not supported:
            self.model.require_head(task_types[0].head)
        return supported[-1]

    @property
    def predicts_token_tags(self) -> bool:
        """Whether `tag` predicts a tag for every token, because the model was trained on tags of characters.

        Otherwise `tag` predicts a tag for every word.
        """
        return self.record.get("settings", {}).get("unit") == "character"

    def window_settings(self, stride: int | None = None, max_tokens: int | None = None) -> dict[str, int]:
        """Return the stride and the size of the windows of a passage, in tokens.

        If an argument is None, the value from fine-tuning is used.
        """
        max_window = self.loaded.max_tokens_for(TASK_TYPES["span"].max_tokens)
        defaults = {"stride": self.loaded.stride, "max_tokens": max_window}
        arguments = {"stride": stride, "max_tokens": max_tokens}
        return defaults | {name: value for name, value in arguments.items() if value is not None}

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
