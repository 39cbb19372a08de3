"""What the numbers in a command's settings may be, one row each. Standard library only."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from bertlab.config.errors import BertlabError


@dataclass(frozen=True)
class Limit:
    """least: no smaller, and not even this if `above`. below: smaller than this. field: where the number is, if not
    under the flag's own name."""

    least: float
    below: float | None = None
    above: bool = False
    field: str = ""

    def holds(self, value: float) -> bool:
        """Whether a number keeps to it.

        >>> Limit(0, below=1).holds(0.5), Limit(0, above=True).holds(0), Limit(0).holds(float("nan"))
        (True, False, False)
        """
        return (value > self.least if self.above else value >= self.least) and (
            self.below is None or value < self.below
        )

    def __str__(self) -> str:
        low = f"{'more than' if self.above else 'at least'} {self.least:g}"
        return low if self.below is None else f"{low} and less than {self.below:g}"


LIMITS = {
    "batch-size": Limit(1), "accumulate": Limit(1), "threads": Limit(1), "seed": Limit(0), "seeds": Limit(1),
    "minutes": Limit(0, above=True), "save-minutes": Limit(0), "steps": Limit(1), "epochs": Limit(0, above=True),
    "evaluate-every": Limit(1), "evaluate-rows": Limit(1), "limit": Limit(1), "ahead": Limit(0),
    # [CLS] a [SEP] b [SEP]
    "max-tokens": Limit(5), "stride": Limit(1), "layers": Limit(1), "hidden": Limit(1), "attention-heads": Limit(1),
    "dropout": Limit(0, below=1), "hold-out": Limit(0, below=1), "init": Limit(0, above=True),
    "then-share": Limit(0, above=True, below=1), "teacher-share": Limit(0, above=True, below=1),
    "share": Limit(0, above=True, below=1),
    "sample": Limit(1), "rounds": Limit(1), "batch-sizes": Limit(1), "tokens": Limit(1), "workers": Limit(1),
    # [PAD] [UNK] [CLS] [SEP] [MASK] and a word
    "vocab-size": Limit(6),
    "grid-rates": Limit(0, above=True), "grid-batches": Limit(1), "grid-epochs": Limit(0, above=True),
    "optim.lr": Limit(0, above=True), "optim.warmup": Limit(0, below=1), "optim.decay": Limit(0),
    "optim.beta1": Limit(0, below=1), "optim.beta2": Limit(0, below=1),
    "optim.eps": Limit(0), "optim.weight-decay": Limit(0), "optim.clip": Limit(0, above=True),
    "ema": Limit(0, below=1, field="optim.ema"),
}  # fmt: skip


def apart(config, plain, names: Iterable[str]) -> list[str]:
    """The flags of those of these settings that two configurations do not have in common.

    >>> apart(Limit(1), Limit(0, above=True), ("least", "below", "above"))
    ['--least', '--above']
    """
    return [f"--{name.replace('_', '-')}" for name in names if getattr(config, name) != getattr(plain, name)]


def check_limits(config: object) -> None:
    """Refuse a setting that no run can have.

    Args:
        config: of any command; a flag that it has not, or that holds no numbers, is let be.

    Raises:
        BertlabError: one line with the flag and what it may be.
    """
    for flag, limit in LIMITS.items():
        path = (limit.field or flag).replace("-", "_").split(".")
        found = reduce(lambda owner, name: getattr(owner, name, None), path, config)
        for value in found if isinstance(found, tuple) else (found,):
            if isinstance(value, int | float) and not isinstance(value, bool) and not limit.holds(value):
                raise BertlabError(f"--{flag} is {value}; it must be {limit}")
