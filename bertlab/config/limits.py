"""The valid range of every numeric setting of the commands, one row each."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass

from bertlab.config.errors import BertlabError
from bertlab.config.languages import Message

MAX_INTEGER = 2**63 - 1  # the largest 64-bit integer, and the largest random seed
MAX_BATCH = 2**20  # largest number of inputs in a batch, and of micro-batches in a step
MAX_EPOCHS = 10**6  # largest number of epochs; it keeps the number of steps below `MAX_INTEGER`
MAX_SIZE = 2**24  # largest size of a vocabulary, layer or sequence: larger than in any model, too small to overflow


@dataclass(frozen=True)
class Limit:
    """The valid range of a setting."""

    minimum: float
    maximum: float | None = None
    below: float | None = None  # every valid value is less than this number
    excludes_minimum: bool = False
    flag: str = ""  # the name of the flag, if it differs from the path of the setting in the configuration

    def contains(self, value: float) -> bool:
        is_large_enough = value > self.minimum if self.excludes_minimum else value >= self.minimum
        is_small_enough = self.maximum is None or value <= self.maximum
        return is_large_enough and is_small_enough and (self.below is None or value < self.below)

    def describe(self) -> Message:
        """Return the range in words.

        >>> str(Limit(0, below=1).describe()), str(Limit(1, maximum=2048).describe())
        ('at least 0 and less than 1', 'at least 1 and at most 2048')
        """
        id = "limit-more-than" if self.excludes_minimum else "limit-at-least"
        lower = Message(id, minimum=f"{self.minimum:g}")
        if self.below is not None:
            return Message("limit-less-than", lower=lower, below=f"{self.below:g}")
        return lower if self.maximum is None else Message("limit-at-most", lower=lower, maximum=f"{self.maximum:.15g}")


# path of a setting, which is also its flag without "--" -> the valid range of its value, or of each of its values
LIMITS = {
    "batch-size": Limit(1, MAX_BATCH), "accumulate": Limit(1, MAX_BATCH), "threads": Limit(1, 4096),
    "seed": Limit(0, MAX_INTEGER), "seeds": Limit(1, 10**6),
    "minutes": Limit(0, excludes_minimum=True), "save-minutes": Limit(0), "steps": Limit(1),
    "epochs": Limit(0, MAX_EPOCHS, excludes_minimum=True),
    "evaluate-every": Limit(1), "evaluate-rows": Limit(1), "limit": Limit(1), "loader-workers": Limit(0, 4096),
    # The shortest sentence pair has 5 tokens: [CLS] a [SEP] b [SEP].
    "max-tokens": Limit(5, MAX_SIZE), "stride": Limit(1), "layers": Limit(1, MAX_SIZE), "hidden": Limit(1, MAX_SIZE),
    "attention-heads": Limit(1, MAX_SIZE), "intermediate": Limit(1, MAX_SIZE), "price": Limit(0),
    "dropout": Limit(0, below=1), "hold-out": Limit(0, below=1), "init": Limit(0, excludes_minimum=True),
    "chosen-share": Limit(0, excludes_minimum=True, below=1), "mask-share": Limit(0, 1), "random-share": Limit(0, 1),
    "final-share": Limit(0, excludes_minimum=True, below=1), "teacher-share": Limit(0, excludes_minimum=True, below=1),
    "generator-size": Limit(0, 1, excludes_minimum=True), "replaced-weight": Limit(0, excludes_minimum=True),
    "heads": Limit(0, below=1), "neurons": Limit(0, below=1), "magnitude": Limit(0, below=1),
    "retrain-steps": Limit(0), "importance-rows": Limit(1), "lr": Limit(0, excludes_minimum=True),
    "share": Limit(0, excludes_minimum=True, below=1), "peak-share": Limit(0, excludes_minimum=True, below=1),
    "sentences": Limit(1), "diversity": Limit(0, 1), "keep-layers": Limit(1, MAX_SIZE),
    "sample": Limit(1), "rounds": Limit(1), "batch-sizes": Limit(1, MAX_BATCH), "tokens": Limit(1, MAX_SIZE),
    "workers": Limit(1, 4096), "queue": Limit(1, 10**6), "time-limit": Limit(0, 86_400, excludes_minimum=True),
    "max-kilobytes": Limit(1, 10**6), "documents": Limit(1, 10**8), "rows": Limit(1, 10**8),
    "clients": Limit(1, 10_000), "repeated": Limit(0, below=1), "seconds": Limit(0, excludes_minimum=True),
    "texts": Limit(1, 10**6),
    # The smallest vocabulary has 6 tokens: [PAD] [UNK] [CLS] [SEP] [MASK] and a word.
    "vocab-size": Limit(6, MAX_SIZE), "extend-vocabulary": Limit(1, MAX_SIZE),
    "grid-rates": Limit(0, excludes_minimum=True), "grid-batches": Limit(1, MAX_BATCH),
    "grid-epochs": Limit(0, MAX_EPOCHS, excludes_minimum=True),
    "optim.lr": Limit(0, excludes_minimum=True), "optim.warmup": Limit(0, below=1), "optim.decay": Limit(0),
    "optim.low-share": Limit(0, below=1), "optim.low-lr": Limit(0, excludes_minimum=True),
    "pairs-only-share": Limit(0, below=1), "mask-copies": Limit(0, MAX_EPOCHS), "teacher-cosine": Limit(0),
    "optim.beta1": Limit(0, below=1), "optim.beta2": Limit(0, below=1),
    "optim.eps": Limit(0), "optim.weight-decay": Limit(0), "optim.max-grad-norm": Limit(0, excludes_minimum=True),
    "optim.ema": Limit(0, below=1, flag="ema"),
}  # fmt: skip


def find_differing_flags(config, other, names: Iterable[str]) -> list[str]:
    """Return the flags of the fields `names` that have different values in two configurations of the same type."""
    return [
        f"--{name.rstrip('_').replace('_', '-')}" for name in names if getattr(config, name) != getattr(other, name)
    ]


def check_limits(config: object) -> None:
    """Raise BertlabError if a setting of a command is out of range, not finite, or too large for 64 bits."""
    for path, value in _find_numbers(config):
        # This check comes first, because an integer of 400 digits cannot become a float.
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise BertlabError("setting-too-large", flag=path)
        # An infinite threshold is valid: the prediction is then always, or never, "no answer".
        if math.isnan(value) or (math.isinf(value) and not path.endswith("threshold")):
            raise BertlabError("setting-not-finite", flag=path, value=str(value))
        limit = LIMITS.get(path)
        if limit and not limit.contains(value):
            flag = limit.flag or path
            raise BertlabError("setting-out-of-range", flag=flag, value=str(value), limit=limit.describe())


def _find_numbers(config: object, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield (path, number) for every number in a dataclass and in the dataclasses inside it."""
    for field in fields(config) if is_dataclass(config) else ():
        setting, path = getattr(config, field.name, None), prefix + field.name.replace("_", "-")
        yield from _find_numbers(setting, f"{path}.")
        for value in setting if isinstance(setting, tuple | list) else (setting,):
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield path, value
