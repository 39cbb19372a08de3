"""Handle rows that cannot be used: stop the command, or skip the row. In both cases the error names the row."""

import sys
from dataclasses import dataclass, field
from typing import Literal

from bertlab.config.errors import BertlabError, DataError

InvalidRowAction = Literal["stop", "skip"]  # what to do with an invalid row; see `InvalidRows.action`


def make_row_error(source: object, row: int, reason: object, id: str | None = None) -> DataError:
    """Make the error for a row that cannot be used.

    Args:
        row: the line where the row begins or, in a format without lines, the number of the row; both from 1.
        reason: a `Message` or an error that says what is wrong.
        id: the id that the row itself contains, if any.
    """
    if id is None:
        return DataError("invalid-row", source=source, row=row, reason=reason)
    return DataError("invalid-row-with-id", source=source, row=row, id=id, reason=reason)


@dataclass
class InvalidRows:
    """Receives the errors of invalid rows, and raises the first one or records all of them."""

    action: InvalidRowAction = "stop"
    """"stop" raises at the first invalid row; "skip" keeps every error and prints the first few to standard error."""
    max_printed: int = 10  # how many errors "skip" prints
    errors: list[BertlabError] = field(default_factory=list)  # the errors of the skipped rows, in order

    def report(self, error: BertlabError) -> None:
        """Raise or record the error of one row; a raised one also names the flag that skips such rows."""
        if self.action == "stop":
            raise DataError("invalid-row-stops", error=error)
        self.errors.append(error)
        if len(self.errors) <= self.max_printed:
            print(f"skipped: {error}", file=sys.stderr)
        elif len(self.errors) == self.max_printed + 1:
            print("skipped: further invalid rows are counted but not printed", file=sys.stderr)

    @property
    def lines(self) -> list[str]:
        """The errors in English, one line each."""
        return [str(error) for error in self.errors]

    def __len__(self) -> int:
        return len(self.errors)
