"""The range of every number in a command's settings, one row each. Standard library only."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce

from bertlab.config.errors import BertlabError
from bertlab.config.languages import Message

LARGEST = 2**63 - 1  # of a whole number: what a 64-bit integer and a random seed hold
MAX_BATCH = 2**20
MAX_EPOCHS = 10**6  # keeps the number of steps below `LARGEST`
MAX_SIZE = 2**24  # of a vocabulary, a layer or a sequence: far beyond any model, below what overflows


@dataclass(frozen=True)
class Limit:
    """The range of a setting."""

    least: float
    """The smallest value."""
    most: float | None = None
    """The largest value."""
    below: float | None = None
    """Values are smaller than this."""
    above: bool = False
    """Whether values are larger than `least`, not equal to it."""
    field: str = ""
    """The name of the setting's field, if it is not the flag's."""

    def holds(self, value: float) -> bool:
        """Whether a number is in the range.

        >>> Limit(0, below=1).holds(0.5), Limit(0, above=True).holds(0), Limit(0).holds(float("nan"))
        (True, False, False)
        """
        large_enough = value > self.least if self.above else value >= self.least
        small_enough = (self.most is None or value <= self.most) and (self.below is None or value < self.below)
        return large_enough and small_enough

    def describe(self) -> Message:
        """The range in words.

        >>> str(Limit(0, below=1).describe()), str(Limit(1, most=2048).describe())
        ('at least 0 and less than 1', 'at least 1 and at most 2048')
        """
        least = f"{self.least:g}"
        low = Message("limit-more-than", least=least) if self.above else Message("limit-at-least", least=least)
        if self.below is not None:
            return Message("limit-less-than", low=low, below=f"{self.below:g}")
        return low if self.most is None else Message("limit-at-most", low=low, most=f"{self.most:.15g}")


LIMITS = {
    "batch-size": Limit(1, MAX_BATCH), "accumulate": Limit(1, MAX_BATCH), "threads": Limit(1, 4096),
    "seed": Limit(0, LARGEST), "seeds": Limit(1, 10**6),
    "minutes": Limit(0, above=True), "save-minutes": Limit(0), "steps": Limit(1),
    "epochs": Limit(0, MAX_EPOCHS, above=True),
    "evaluate-every": Limit(1), "evaluate-rows": Limit(1), "limit": Limit(1), "loader-workers": Limit(0, 4096),
    # [CLS] a [SEP] b [SEP]
    "max-tokens": Limit(5, MAX_SIZE), "stride": Limit(1), "layers": Limit(1, MAX_SIZE), "hidden": Limit(1, MAX_SIZE),
    "attention-heads": Limit(1, MAX_SIZE),
    "dropout": Limit(0, below=1), "hold-out": Limit(0, below=1), "init": Limit(0, above=True),
    "mask-share": Limit(0, 1), "random-share": Limit(0, 1),
    "final-share": Limit(0, above=True, below=1), "teacher-share": Limit(0, above=True, below=1),
    "share": Limit(0, above=True, below=1),
    "sample": Limit(1), "rounds": Limit(1), "batch-sizes": Limit(1, MAX_BATCH), "tokens": Limit(1, MAX_SIZE),
    "workers": Limit(1, 4096),
    # [PAD] [UNK] [CLS] [SEP] [MASK] and a word
    "vocab-size": Limit(6, MAX_SIZE),
    "grid-rates": Limit(0, above=True), "grid-batches": Limit(1, MAX_BATCH),
    "grid-epochs": Limit(0, MAX_EPOCHS, above=True),
    "optim.lr": Limit(0, above=True), "optim.warmup": Limit(0, below=1), "optim.decay": Limit(0),
    "optim.beta1": Limit(0, below=1), "optim.beta2": Limit(0, below=1),
    "optim.eps": Limit(0), "optim.weight-decay": Limit(0), "optim.max-grad-norm": Limit(0, above=True),
    "ema": Limit(0, below=1, field="optim.ema"),
}  # fmt: skip


def differing_flags(config, plain, names: Iterable[str]) -> list[str]:
    """The flags of those of these settings in which two configurations differ.

    >>> differing_flags(Limit(1), Limit(0, above=True), ("least", "below", "above"))
    ['--least', '--above']
    """
    return [f"--{name.replace('_', '-')}" for name in names if getattr(config, name) != getattr(plain, name)]


def check_limits(config: object) -> None:
    """Check every number of a command's settings.

    Args:
        config: of any command. Flags that it lacks, or that hold no numbers, are ignored.

    Raises:
        BertlabError: a number is out of range, not finite, or larger than 64 bits.
    """
    for flag, value in _numbers(config):
        # Checked first: an integer of 400 digits cannot become a float.
        if isinstance(value, int) and abs(value) > LARGEST:
            raise BertlabError("setting-too-large", flag=flag)
        # an infinite threshold is a way to write "always" or "never"
        if math.isnan(value) or (math.isinf(value) and not flag.endswith("threshold")):
            raise BertlabError("setting-not-finite", flag=flag, value=str(value))
    for flag, limit in LIMITS.items():
        path = (limit.field or flag).replace("-", "_").split(".")
        setting = reduce(lambda owner, name: getattr(owner, name, None), path, config)
        for value in setting if isinstance(setting, tuple) else (setting,):
            if _is_number(value) and not limit.holds(value):
                raise BertlabError("setting-out-of-range", flag=flag, value=str(value), limit=limit.describe())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(config: object, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Every number in the fields of a dataclass and of those in it, with its flag."""
    for field in fields(config) if is_dataclass(config) else ():
        setting, flag = getattr(config, field.name, None), prefix + field.name.replace("_", "-")
        yield from _numbers(setting, f"{flag}.")
        for value in setting if isinstance(setting, tuple | list) else (setting,):
            if _is_number(value):
                yield flag, value
