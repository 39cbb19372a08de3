"""Rows of a data set -> checked examples of a task: what is wrong is named with its row, or left out and counted.

Knows columns and labels, no tokens and no model.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.tag_spans import fitting_tags, is_scheme
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import Rows, is_blank, row_id, value_of

MOST_LABELS = 1000


@dataclass(frozen=True, slots=True)
class Example:
    """id: as the data has it, else the number of its row. texts: one or two; for choose the context and every choice;
    for tag the tokens. target: the number of a label or choice, a value, the tags' numbers, or None where not given."""

    id: str
    texts: tuple[str, ...]
    target: int | float | tuple[int, ...] | None


@dataclass(frozen=True)
class Examples(Sequence):
    """name: where they are from. labels: what the targets' numbers mean."""

    name: str
    spec: TaskSpec
    labels: tuple[str, ...]
    rows: tuple[Example, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row):
        return self.rows[row]

    @property
    def labelled(self) -> bool:
        return self.rows[0].target is not None

    @property
    def choices(self) -> int:
        """How many there are to choose from; 1 where that is not the question."""
        return len(self.rows[0].texts) - 1 if self.spec.kind == "choose" else 1

    def of(self, rows: Sequence[int]) -> "Examples":
        """Only these rows."""
        return Examples(self.name, self.spec, self.labels, tuple(self.rows[row] for row in rows))


def read_examples(
    data: Rows,
    spec: TaskSpec,
    labels: tuple[str, ...] = (),
    complain: InvalidRows | None = None,
    training: bool = False,
) -> Examples:
    """The examples of a data set.

    Args:
        labels: what the targets' numbers shall mean, say a checkpoint's own labels; without any, the task's, or the
            source's, or all that are found.
        complain: what happens to a row that cannot be used; it stops everything if None.
        training: whether every row needs a label, and more than one label is needed.

    Raises:
        DataError: a column is missing; a row is damaged; no row is left; nothing to learn. One line, naming the row.
    """
    complain = InvalidRows() if complain is None else complain
    data.require_columns((*spec.text, *([spec.start] if spec.start else [])))
    columns, label = spec.text, data.label_column(spec.label, training)
    read_text = {"choose": _choices, "tag": _tokens}.get(spec.kind, _texts)
    read_target = {"regress": _value, "choose": _choice, "tag": _tags}.get(spec.kind, _label)
    cells = [] if label is None else [value_of(row, label) for row in data.rows]
    given = [not is_blank(cell) for cell in cells]
    if "-1" not in labels and all(_hidden(cell) for cell, told in zip(cells, given, strict=True) if told):
        given = [False] * len(cells)
    labels = labels or _labels(data, spec, label, [cell for cell, told in zip(cells, given, strict=True) if told])
    if spec.kind == "tag" and not is_scheme(labels):  # parts of speech, say: there are no entities to count
        spec = spec.replace(metrics=("accuracy",))
    if not any(given):
        label = None
    if label is None and training:
        raise DataError(f"{data.name} has no labels to learn from")
    rows: list[Example] = []
    seen: dict[str, int] = {}
    count = None
    for number, row in enumerate(data.rows, 1):
        where = f"{data.name}: row {number}"
        try:
            id = row_id(row, spec.id, number)
            where += f" (id {id})" if spec.id in row else ""
            texts = read_text(row, columns, spec)
            if not any(text.strip() for text in texts) or (spec.kind == "choose" and not all(map(str.strip, texts))):
                raise DataError("is empty")
            count = count or len(texts)
            if spec.kind == "choose" and len(texts) != count:
                raise DataError(f"has {len(texts) - 1} choices, where the first row has {count - 1}")
            target = None
            if label is not None:
                if not given[number - 1]:
                    raise DataError(f"has no label in {label!r}, where others have one")
                known = data.names.get(label) or spec.labels
                target = read_target(value_of(row, label), labels, known, texts)
            if spec.id in row and seen.setdefault(id, number) != number:
                raise DataError(f"repeats the id of row {seen[id]}")
            rows.append(Example(id, texts, target))
        except DataError as error:
            complain(f"{where} {error}")
    if not rows:
        raise DataError(f"none of the {len(data)} rows of {data.name} can be used")
    found = Examples(data.name, spec, labels, tuple(rows))
    if training:
        _check_variety(found)
    return found


# -- which cells hold what ----------------------------------------------------------------------------------------


def _hidden(value: object) -> bool:
    """Whether this is GLUE's -1, which stands in every row of a test set and says that its labels are kept secret."""
    return str(value).strip() in ("-1", "-1.0")


# -- what labels there are ---------------------------------------------------------------------------------------


def _labels(data: Rows, spec: TaskSpec, label: str | None, cells: list) -> tuple[str, ...]:
    """What the task, the source or the column's cells say that there is to tell apart."""
    if spec.kind not in ("classify", "tag") or spec.labels:
        return spec.labels
    if label is not None and data.names.get(label):
        return data.names[label]
    if spec.kind == "tag":
        return fitting_tags(str(tag) for cell in cells for tag in _listed(cell) if not is_blank(tag))
    found = {_named(cell) for cell in cells}
    if len(found) > MOST_LABELS or len(found) > max(20, len(cells) / 2):
        raise DataError(
            f"{data.name} has {len(found):,} different values in {label!r} for {len(cells):,} rows: "
            "are these labels? For numbers use --kind regress"
        )
    numbers = all(name.lstrip("-").isdecimal() for name in found)
    return tuple(sorted(found, key=(lambda name: (int(name), name)) if numbers else None))


def _named(cell: object) -> str:
    """A label's name; 3.0 is the 3 that a table with gaps made of it.

    >>> _named(3.0), _named(" good "), _named(True)
    ('3', 'good', 'True')
    """
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _number(cell: object, labels: tuple[str, ...], known: tuple[str, ...]) -> int:
    """The place of a label among `labels`, told by its name or by its number among the names that are `known`."""
    name = _named(cell)
    if name not in labels and name.isdecimal() and int(name) < len(known):
        name = known[int(name)]
    if name not in labels:
        few = ", ".join(labels[:8]) + (" and more" if len(labels) > 8 else "")
        raise DataError(f"has the unknown label {name!r}; known are {few}")
    return labels.index(name)


def _check_variety(examples: Examples) -> None:
    kind = examples.spec.kind
    targets = (row.target for row in examples)
    found = {tag for tags in targets for tag in tags} if kind == "tag" else set(targets)
    if len(found) > 1 or (kind == "choose" and len(examples) < 20):
        return
    (only,) = found
    shown = examples.labels[only] if kind in ("classify", "tag") else only
    raise DataError(f"every row of {examples.name} has the label {shown!r}: there is nothing to learn")


# -- what is in a row --------------------------------------------------------------------------------------------


def _texts(row: dict, columns: tuple[str, ...], spec: TaskSpec) -> tuple[str, ...]:
    return tuple(_text(row, column) for column in columns)


def _text(row: dict, column: str) -> str:
    value = row.get(column)
    if value is None:
        raise DataError(f"has nothing in {column!r}")
    if isinstance(value, list | dict):
        raise DataError(f"has no text in {column!r} but a {type(value).__name__}")
    return value if isinstance(value, str) else str(value)


def _choices(row: dict, columns: tuple[str, ...], spec: TaskSpec) -> tuple[str, ...]:
    context = _text(row, columns[0])
    listed = row.get(columns[1]) if len(columns) == 2 else None
    if len(columns) == 2:
        if not isinstance(listed, list) or not all(isinstance(choice, str) for choice in listed):
            raise DataError(f"has no list of texts in {columns[1]!r}")
        choices = listed
    else:
        choices = [_text(row, column) for column in columns[1:]]
    if len(choices) < 2:
        raise DataError("has fewer than two choices")
    start = f"{_text(row, spec.start)} " if spec.start else ""
    return (context, *(start + choice if choice.strip() else "" for choice in choices))


def _tokens(row: dict, columns: tuple[str, ...], spec: TaskSpec) -> tuple[str, ...]:
    value = row.get(columns[0])
    if not isinstance(value, list | str):
        raise DataError(f"has no tokens in {columns[0]!r}")
    return tuple(map(str, _listed(value)))


def _listed(cell: object) -> list:
    """Tokens or tags: a list, or a text with spaces between."""
    return cell if isinstance(cell, list) else str(cell).split()


def _label(cell: object, labels: tuple[str, ...], known: tuple[str, ...], texts: tuple[str, ...]) -> int:
    return _number(cell, labels, known)


def _value(cell: object, labels: tuple[str, ...], known: tuple[str, ...], texts: tuple[str, ...]) -> float:
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"has {cell!r} where a number should be")
    return value


def _choice(cell: object, labels: tuple[str, ...], known: tuple[str, ...], texts: tuple[str, ...]) -> int:
    name = _named(cell)
    if not name.isdecimal() or int(name) >= len(texts) - 1:
        raise DataError(f"has the label {cell!r}; its choices are numbered 0 to {len(texts) - 2}")
    return int(name)


def _tags(cell: object, labels: tuple[str, ...], known: tuple[str, ...], texts: tuple[str, ...]) -> tuple[int, ...]:
    tags = _listed(cell)
    if len(tags) != len(texts):
        raise DataError(f"has {len(tags)} tags for {len(texts)} tokens")
    if empty := next((token for tag, token in zip(tags, texts, strict=True) if is_blank(tag)), None):
        raise DataError(f"has an empty tag for {empty!r}")
    return tuple(_number(tag, labels, known) for tag in tags)


def held_out(examples: Examples, share: float, order: Callable[[int], Sequence[int]]) -> tuple[Examples, Examples]:
    """Two parts, the second of about `share`; the order decides which rows go there.

    Raises:
        DataError: too few rows for two parts.
    """
    count = round(share * len(examples))
    if not 0 < count < len(examples):
        raise DataError(f"{examples.name} has only {len(examples)} rows: name the held-out ones with --validation")
    rows = list(order(len(examples)))
    return examples.of(sorted(rows[count:])), examples.of(sorted(rows[:count]))
