"""What happens to a row that cannot be used: it stops the run, or it is left out; either way it is named.

Knows no rows.
"""

import sys
from dataclasses import dataclass, field
from typing import Literal

from bertlab.config.errors import DataError

Damaged = Literal["stop", "skip"]


@dataclass
class Complaints:
    """Takes the lines that say which row is wrong and why.

    damaged: "stop" raises at the first one; "skip" keeps them all, prints the first `shown` to standard error as they
    come, and leaves the rest to be counted.

    >>> complaints = Complaints("skip", shown=0)
    >>> complaints("row 3 is empty"), complaints("row 7 is empty"), len(complaints)
    (None, None, 2)
    """

    damaged: Damaged = "stop"
    shown: int = 10
    lines: list[str] = field(default_factory=list)

    def __call__(self, line: str) -> None:
        """Raises DataError where the run is to stop."""
        if self.damaged == "stop":
            raise DataError(f"{line} (--damaged skip leaves out what cannot be used)")
        self.lines.append(line)
        if len(self.lines) <= self.shown:
            print(f"left out: {line}", file=sys.stderr)
        elif len(self.lines) == self.shown + 1:
            print("left out: more of them, which are only counted", file=sys.stderr)

    def __len__(self) -> int:
        return len(self.lines)
