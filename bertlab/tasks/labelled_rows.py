"""Read and validate rows with one target each: labels, values, choices, tags or chosen sentences."""

from collections.abc import Callable
from dataclasses import dataclass

from bertlab.config.errors import BertlabError, DataError
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.examples import Example, Examples, SkippedRow, read_text
from bertlab.text.readers.invalid_rows import InvalidRows, make_row_error
from bertlab.text.readers.rows import Rows, is_blank, row_id, value_of


def read_columns(row: dict, spec: TaskSpec) -> tuple[str, ...]:
    """Read the text of every text column; DataError if a column is missing or contains no text."""
    return tuple(read_text(row, column) for column in spec.text)


def require_any_text(texts: tuple[str, ...], first_row_texts: tuple[str, ...]) -> None:
    """Raise DataError if all texts are blank."""
    if not any(text.strip() for text in texts):
        raise DataError("row-empty")


@dataclass(frozen=True)
class RowReader:
    """Converts rows to `Examples`; the fields are the steps in which task types differ."""

    read_target: Callable
    """(cell, labels, names by number, texts) -> the target. A column may store labels as the numbers 0, 1, 2, ...,
    whose names are the third argument. Raises DataError for an invalid cell."""
    read_texts: Callable = read_columns
    """(row, task) -> the texts."""
    check_texts: Callable = require_any_text
    """(texts, texts of the first valid row): raises DataError if they cannot be used."""
    find_labels: Callable = lambda data, spec, column, cells: spec.labels
    """(rows, task, label column or None, its cells with a label) -> the labels."""
    adapt_spec: Callable = lambda spec, labels: spec
    """(task, labels) -> the task with what depends on its labels, such as the metrics."""
    make_example: Callable = lambda row, spec, id, texts, target: Example(id, texts, target)
    list_targets: Callable = lambda example: (example.target,)
    """(example) -> the values of which training rows must have at least two distinct ones."""
    format_target: Callable = lambda labels, target: target
    """(labels, such a value) -> what error messages show."""
    requires_varied_targets: Callable = lambda examples: True

    def __call__(
        self,
        data: Rows,
        spec: TaskSpec,
        labels: tuple[str, ...] = (),
        invalid_rows: InvalidRows | None = None,
        training: bool = False,
    ) -> Examples:
        """Convert rows to examples.

        Args:
            labels: the labels that targets are indices into, such as those of a checkpoint; () finds them in the data.
            invalid_rows: receives the invalid rows; None stops at the first invalid row.
            training: whether the rows must have labels, and at least two different ones.
        """
        invalid_rows = InvalidRows() if invalid_rows is None else invalid_rows
        data.require_columns((*spec.text, *([spec.choice_prefix_column] if spec.choice_prefix_column else [])))
        column = data.find_label_column(spec.label, training)
        cells = [] if column is None else [value_of(row, column) for row in data.rows]
        has_label = [not is_blank(cell) for cell in cells]
        label_cells = [cell for cell, is_labelled in zip(cells, has_label, strict=True) if is_labelled]
        # In the test sets of GLUE, every label is -1, which hides it. A checkpoint with the label "-1" is an exception.
        if "-1" not in labels and all(str(cell).strip() in ("-1", "-1.0") for cell in label_cells):
            label_cells, has_label = [], [False] * len(cells)
        labels = labels or self.find_labels(data, spec, column, label_cells)
        spec = self.adapt_spec(spec, labels)
        if not any(has_label):
            column = None
        if column is None and training:
            raise DataError("training-rows-without-labels", name=data.name)
        rows, skipped = self._read_rows(data, spec, labels, column, has_label, invalid_rows)
        if not rows:
            raise DataError("no-usable-row", name=data.name, count=len(data))
        examples = Examples(data.name, spec, labels, tuple(rows), tuple(skipped))
        if training:
            targets = {target for example in examples for target in self.list_targets(example)}
            if len(targets) == 1 and self.requires_varied_targets(examples):
                raise DataError("one-label-only", name=data.name, label=repr(self.format_target(labels, *targets)))
        return examples

    def _read_rows(
        self, data: Rows, spec: TaskSpec, labels: tuple, column: str | None, has_label: list, invalid_rows: InvalidRows
    ) -> tuple[list[Example], list[SkippedRow]]:
        """Read the valid rows, and list all skipped rows, including those that the file reader could not parse."""
        rows: list[Example] = []
        has_ids = spec.id in data.columns
        skipped = [
            SkippedRow(number - 1, None if has_ids else str(number - 1)) for number in sorted(data.skipped_numbers)
        ]
        row_number_by_id: dict[str, int] = {}
        names_by_number = (data.label_names.get(column) or spec.labels) if column is not None else ()
        for index, (number, row) in enumerate(data.enumerate_rows()):
            id = None
            try:
                id = row_id(row, spec.id, number)
                texts = self.read_texts(row, spec)
                self.check_texts(texts, rows[0].texts if rows else texts)
                target = None
                if column is not None:
                    if not has_label[index]:
                        raise DataError("row-without-label", column=repr(column))
                    target = self.read_target(value_of(row, column), labels, names_by_number, texts)
                if spec.id in row and row_number_by_id.setdefault(id, number) != number:
                    raise DataError("row-id-repeated", row=row_number_by_id[id])
                rows.append(self.make_example(row, spec, id, texts, target))
            except DataError as error:
                invalid_rows.report(make_row_error(data.name, number, error, id if spec.id in row else None))
                skipped.append(SkippedRow(number - 1, id))
        return rows, sorted(skipped, key=lambda row: row.index)


def match_labels(spec: TaskSpec, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Convert a checkpoint's labels to the task's spelling, in the checkpoint's order.

    Labels without real names ("LABEL_0") are assumed to be in the task's order.
    """
    if not spec.labels:
        return labels
    if len(labels) == len(spec.labels) and all(name == f"LABEL_{number}" for number, name in enumerate(labels)):
        return spec.labels
    task_spelling = {name.lower(): name for name in spec.labels}
    lowercase_labels = {name.lower() for name in labels}
    if missing := [name for name in spec.labels if name.lower() not in lowercase_labels]:
        raise BertlabError("checkpoint-lacks-labels", labels=labels, missing=missing)
    return tuple(task_spelling.get(name.lower(), name) for name in labels)
