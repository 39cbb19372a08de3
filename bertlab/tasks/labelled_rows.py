"""Read and validate the rows of tasks with one target per row: labels, values, choices or tags."""

from abc import abstractmethod
from pathlib import Path

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.error_analysis import AnalysisRows
from bertlab.tasks.examples import Example, Examples, SkippedRow, read_text
from bertlab.tasks.splits import choose_split
from bertlab.tasks.task_type import FinetuneTaskType
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRows, make_row_error
from bertlab.text.readers.rows import Rows, is_blank, row_id, value_of
from bertlab.text.readers.splits import read_split


class LabelledRowReader(FinetuneTaskType):
    """The part of a labelled task type that converts rows to `Examples`."""

    # -- methods that subclasses override: contents of a row -------------------------------------------------------

    def read_texts(self, row: dict, spec: TaskSpec) -> tuple[str, ...]:
        """Read the texts of a row.

        Raises:
            DataError: a column is missing or contains no text.
        """
        return tuple(read_text(row, column) for column in spec.text)

    def check_texts(self, texts: tuple[str, ...], first_row_texts: tuple[str, ...]) -> None:
        """Check the texts of a row.

        Args:
            texts: the texts of the row.
            first_row_texts: the texts of the first valid row.

        Raises:
            DataError: the texts cannot be used; for example, all of them are empty.
        """
        if not any(text.strip() for text in texts):
            raise DataError("row-empty")

    @abstractmethod
    def read_target(
        self, cell: object, labels: tuple[str, ...], names_by_number: tuple[str, ...], texts: tuple[str, ...]
    ):
        """Read the target in a cell.

        Args:
            cell: the value of the cell.
            labels: the names of the labels; the target is an index into them.
            names_by_number: the names of the labels that the column stores as the numbers 0, 1, 2, ...
            texts: the texts of the row.

        Raises:
            DataError: the cell contains no valid target.
        """

    def make_example(self, row: dict, spec: TaskSpec, id: str, texts: tuple[str, ...], target) -> Example:
        """Make the example of a row from its parts; a subclass may read further columns of the row."""
        return Example(id, texts, target)

    def find_labels(self, data: Rows, spec: TaskSpec, column: str | None, cells: list) -> tuple[str, ...]:
        """Return the labels of the task; subclasses also read them from the data set's description or from the column.

        Args:
            data: the rows.
            spec: the task.
            column: the column of the labels; None if there is none.
            cells: the cells of the column that contain a label.
        """
        return spec.labels

    def adapt_spec(self, spec: TaskSpec, labels: tuple[str, ...]) -> TaskSpec:
        """Return the task with the properties that depend on its labels, for example the metrics."""
        return spec

    def find_distinct_targets(self, examples: Examples) -> set:
        """Collect the distinct targets of the examples."""
        return {row.target for row in examples}

    def format_target(self, examples: Examples, target: int | float) -> object:
        """Convert a target to the form that error messages show."""
        return target

    def requires_varied_targets(self, examples: Examples) -> bool:
        """Whether training rows must have at least two distinct targets."""
        return True

    # -- reading ---------------------------------------------------------------------------------------------------

    def read_examples(
        self,
        data: Rows,
        spec: TaskSpec,
        labels: tuple[str, ...] = (),
        invalid_rows: InvalidRows | None = None,
        training: bool = False,
    ) -> Examples:
        """Convert rows to examples.

        Args:
            data: the rows.
            spec: the task.
            labels: the names of the labels, such as those of a checkpoint; a target is an index into them. If there
                are none, `find_labels` finds them.
            invalid_rows: receives the invalid rows; None stops at the first invalid row.
            training: whether the rows must have labels, and at least two different ones.

        Raises:
            DataError: a column is missing, `invalid_rows` stops at an invalid row, no row is valid, or training rows
                have no labels or all have the same one.
        """
        invalid_rows = InvalidRows() if invalid_rows is None else invalid_rows
        data.require_columns((*spec.text, *([spec.choice_prefix_column] if spec.choice_prefix_column else [])))
        column = data.find_label_column(spec.label, training)
        cells = [] if column is None else [value_of(row, column) for row in data.rows]
        has_label = [not is_blank(cell) for cell in cells]
        label_cells = [cell for cell, is_labelled in zip(cells, has_label, strict=True) if is_labelled]
        # If every label is -1, the labels count as hidden. A checkpoint with the label "-1" is an exception.
        if "-1" not in labels and all(_is_hidden_label(cell) for cell in label_cells):
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
            self._check_varied_targets(examples)
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

    def _check_varied_targets(self, examples: Examples) -> None:
        """Raise DataError if all training rows have the same target, and `requires_varied_targets` forbids this."""
        targets = self.find_distinct_targets(examples)
        if len(targets) > 1 or not self.requires_varied_targets(examples):
            return
        (target,) = targets
        raise DataError("one-label-only", name=examples.name, label=repr(self.format_target(examples, target)))

    def match_labels(self, spec: TaskSpec, labels: tuple[str, ...]) -> tuple[str, ...]:
        """Convert a checkpoint's labels to the task's spelling, in the checkpoint's order.

        Labels without real names ("LABEL_0") are assumed to be in the task's order.

        Args:
            spec: the task.
            labels: the labels of the checkpoint.

        Raises:
            BertlabError: the checkpoint lacks a label of the task.
        """
        if not spec.labels or not self.uses_labels:
            return labels
        if len(labels) == len(spec.labels) and all(name == f"LABEL_{number}" for number, name in enumerate(labels)):
            return spec.labels
        task_spelling = {name.lower(): name for name in spec.labels}
        lowercase_labels = {name.lower() for name in labels}
        if missing := [name for name in spec.labels if name.lower() not in lowercase_labels]:
            raise BertlabError("checkpoint-lacks-labels", labels=labels, missing=missing)
        return tuple(task_spelling.get(name.lower(), name) for name in labels)

    # -- error analysis --------------------------------------------------------------------------------------------

    def read_analysis_rows(
        self, source: str | Path, split: str, spec: TaskSpec, invalid_rows: InvalidRows, limits: Limits | None = None
    ) -> AnalysisRows:
        """Read the rows for error analysis; see `FinetuneTaskType.read_analysis_rows`."""
        rows = read_split(source, choose_split(source, split, spec), limits, invalid_rows)
        return AnalysisRows(rows.name, rows.columns, rows.rows, rows.label_names, rows.skipped_numbers)

    def read_analysis_examples(
        self, rows: AnalysisRows, spec: TaskSpec, loaded: Checkpoint, invalid_rows: InvalidRows
    ) -> Examples:
        labels = self.match_labels(spec, loaded.config.labels)
        spec = spec if spec.labels else spec.replace(labels=labels)
        return self.read_examples(rows, spec, labels if self.uses_labels else (), invalid_rows)


def _is_hidden_label(value: object) -> bool:
    """Whether a label is -1, which GLUE uses in test sets with hidden labels."""
    return str(value).strip() in ("-1", "-1.0")
