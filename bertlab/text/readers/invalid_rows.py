"""Handle rows that cannot be used: stop the command, or skip the row. In both cases the error names the row."""

import sys
from dataclasses import dataclass, field
from typing import Literal

from bertlab.config.errors import BertlabError, DataError

InvalidRowAction = Literal["stop", "skip"]
"""What to do with an invalid row; see `InvalidRows.action`."""


def make_row_error(source: object, row: int, reason: object, id: str | None = None) -> DataError:
    """Make the error for a row that cannot be used.

    Args:
        source: the file or data set.
        row: the line where the row begins or, in a format without lines, the number of the row; both from 1.
        reason: a `Message` or an error that says what is wrong.
        id: the id that the row itself contains, if any.

    >>> from bertlab.config.languages import Message
    >>> str(make_row_error("a.jsonl", 1234, Message("row-without-text")))
    'a.jsonl row 1,234: has no text'
    """
    if id is None:
        return DataError("invalid-row", source=source, row=row, reason=reason)
    return DataError("invalid-row-with-id", source=source, row=row, id=id, reason=reason)


@dataclass
class InvalidRows:
    """Receives the errors of invalid rows, and raises the first one or records all of them.

    >>> invalid_rows = InvalidRows("skip", max_printed=0)
    >>> from bertlab.config.languages import Message
    >>> invalid_rows.report(make_row_error("a.csv", 3, Message("row-without-text")))
    >>> len(invalid_rows)
    1
    """

    action: InvalidRowAction = "stop"
    """"stop" raises at the first invalid row; "skip" keeps every error and prints the first few to standard error."""
    max_printed: int = 10
    """How many errors "skip" prints; it keeps further ones without printing them."""
    errors: list[BertlabError] = field(default_factory=list)
    """The errors of the skipped rows, in order."""

    def report(self, error: BertlabError) -> None:
        """Raise or record the error of one row.

        Raises:
            DataError: `action` is "stop"; the message also names the flag that skips such rows.
        """
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
