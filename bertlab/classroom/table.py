"""Read the fields of a TOML table in a lesson file; missing, unknown and invalid fields are errors."""

import math
from collections.abc import Collection, Mapping
from pathlib import Path

from bertlab.config.errors import DataError
from bertlab.config.languages import Message

MAX_CHOICES = 8  # how many choices a question may have
MAX_MINUTES = 600  # how long a lesson or a step may take, in minutes


class Table:
    """A table of a lesson file. Each of its errors contains the file, the place ("step 3") and the field."""

    def __init__(self, path: Path, place: Message, content: object, fields: tuple[str, ...]):
        self.path, self.place = path, place
        if not isinstance(content, Mapping):
            raise DataError("lesson-not-a-table", path=path, place=place)
        self.content = content
        for name in content:
            if name not in fields:
                raise DataError("lesson-field-unknown", path=path, place=place, field=name, known=list(fields))

    def make_error(self, name: str, expected: Message) -> DataError:
        """Make the error for a field that is missing or invalid."""
        id = "lesson-field-invalid" if name in self.content else "lesson-field-missing"
        return DataError(id, path=self.path, place=self.place, field=name, expected=expected)

    def read_text(self, name: str, *, required: bool = True) -> str:
        """Read a text without surrounding white space; "" if the field is missing and not `required`."""
        value = self.content.get(name, "")
        if not isinstance(value, str) or (required and not value.strip()):
            raise self.make_error(name, Message("lesson-expected-text"))
        return value.strip()

    def read_flag(self, name: str) -> bool:
        """Read true or false; false if the field is missing."""
        value = self.content.get(name, False)
        if not isinstance(value, bool):
            raise self.make_error(name, Message("lesson-expected-flag"))
        return value

    def read_number(self, name: str) -> float | None:
        """Read a finite number; None if the field is missing."""
        value = self.content.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if value is not None and not is_number:
            raise self.make_error(name, Message("lesson-expected-number"))
        return value

    def read_minutes(self, *, required: bool = False) -> int:
        """Read a number of minutes; 0 if the field is missing and not `required`."""
        value = self.content.get("minutes", None if required else 0)
        if type(value) is not int or not (1 if required else 0) <= value <= MAX_MINUTES:
            raise self.make_error("minutes", Message("lesson-expected-minutes", limit=MAX_MINUTES))
        return value

    def read_choices(self) -> tuple[str, ...]:
        """Read the choices of a question."""
        values = self.content.get("choices")
        is_list = isinstance(values, list) and 2 <= len(values) <= MAX_CHOICES
        if not is_list or not all(isinstance(value, str) and value.strip() for value in values):
            raise self.make_error("choices", Message("lesson-expected-choices", limit=MAX_CHOICES))
        return tuple(value.strip() for value in values)

    def read_pages(self, name: str, pages: Collection[str] | None) -> tuple[str, ...]:
        """Read a list of page names; () if the field is missing. If `pages` is None, the names are not checked."""
        values = self.content.get(name, [])
        is_list = isinstance(values, list) and all(isinstance(value, str) for value in values)
        names = tuple(values) if is_list else ()
        if not is_list or (pages is not None and not set(names) <= set(pages)):
            raise self.make_error(name, Message("lesson-expected-pages", pages=sorted(pages or ())))
        return names

    def read_tables(self, name: str) -> list:
        """Read a non-empty list of tables. Its elements are checked later, when a `Table` is made of each."""
        values = self.content.get(name)
        if not isinstance(values, list) or not values:
            raise self.make_error(name, Message("lesson-expected-steps"))
        return values
