"""Write predictions in the file format of each benchmark, and read them back.

Tags are written as in CoNLL: a token and its tag on each line, and an empty line between sentences. Labels, values and
choices are written as in GLUE (https://gluebenchmark.com/faq): a table with the columns index and prediction.
"""

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bertlab.config.errors import DataError
from bertlab.config.files import describe_system_error, write_atomically
from bertlab.config.languages import Message
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.examples import Examples
from bertlab.text.readers.invalid_rows import make_row_error
from bertlab.text.readers.rows import is_blank, read_file


def choose_path(
    out: Path, task: str, default_name: str, spec: TaskSpec, split_index: int, number_of_splits: int
) -> Path:
    """Choose the file to write: `out`, or the official file name of the benchmark in the directory `out`.

    Args:
        default_name: the file name if the benchmark has no official one.
        split_index: the index of the split among the task's splits of the same kind (validation or test).
    """
    if out.is_dir() or not out.suffix:
        return out / (spec.submission[split_index] if split_index < len(spec.submission) else default_name)
    if number_of_splits > 1:
        raise DataError("out-needs-directory", task=task, path=out)
    return out


@dataclass(frozen=True)
class TableFile:
    """The format of GLUE; the values are separated by tabs, or by commas in a .csv file."""

    format: Callable
    """(examples, example, prediction) -> the text of a cell."""
    parse: Callable
    """(cell, examples) -> prediction; raises ValueError, IndexError or OverflowError if the cell is invalid."""

    def write(self, path: Path, examples: Examples, predictions: Sequence) -> None:
        """Write a table with the columns index and prediction; the file is written completely or not at all."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter="," if path.suffix == ".csv" else "\t", lineterminator="\n")
        writer.writerow(["index", "prediction"])
        for row, prediction in zip(examples, predictions, strict=True):
            writer.writerow([row.id, self.format(examples, row, prediction)])
        write_atomically(path, text.getvalue())

    def read(self, path: Path, examples: Examples, options: object = None) -> list:
        """Read predictions from a table; its rows are matched with the examples by id, not by order.

        Predictions for skipped rows are ignored. If the ids of n skipped rows could not be read, up to n predictions
        with unknown ids are ignored too.
        """
        table = read_file(path)
        id_column = next((name for name in ("index", "id") if name in table.columns), None)
        prediction_column = next((name for name in ("prediction", "label") if name in table.columns), None)
        if id_column is None or prediction_column is None:
            raise DataError("predictions-without-columns", path=path)
        predictions: dict[str, object] = {}
        expected_ids = {row.id for row in examples}
        # id of a skipped row -> how many predictions with this id to ignore; None -> how many skipped rows have an
        # unreadable id
        ignorable = Counter(row.id for row in examples.skipped)
        for number, row in enumerate(table.rows, 1):
            id = None if is_blank(row.get(id_column)) else str(row[id_column])
            if id is not None and (id not in expected_ids or id in predictions):
                # Choose the key in `ignorable`. If no row is known to have the id, a skipped row with an unreadable id
                # (None) may have it.
                key = id if ignorable[id] or id in expected_ids else None
                if ignorable[key]:
                    ignorable[key] -= 1
                    continue
            if missing := [column for column in (id_column, prediction_column) if is_blank(row.get(column))]:
                raise make_row_error(path, number, Message("cell-missing", column=repr(missing[0])))
            if id in predictions:
                raise DataError("predictions-id-repeated", path=path, row=number, id=id)
            if id not in expected_ids:
                raise DataError("predictions-id-unknown", path=path, row=number, id=id, name=examples.name)
            cell = str(row[prediction_column]).strip()
            try:
                predictions[id] = self.parse(cell, examples)
            except (ValueError, IndexError, OverflowError):
                raise DataError("prediction-invalid", path=path, row=number, value=repr(cell)[:80]) from None
        missing = [row.id for row in examples if row.id not in predictions]
        if missing:
            raise DataError("predictions-missing", path=path, count=len(missing), name=examples.name, first=missing[0])
        return [predictions[row.id] for row in examples]


def write_conll(path: Path, examples: Examples, predictions: Sequence[Sequence[str]]) -> None:
    """Write tags in the format of CoNLL; the file is written completely or not at all."""
    # a token may itself be a space, as in KLUE-NER, so a tab separates it from its tag
    sentences = (
        "".join(f"{token}\t{tag}\n" for token, tag in zip(row.texts, tags, strict=True))
        for row, tags in zip(examples, predictions, strict=True)
    )
    write_atomically(path, "\n".join(sentences))


def read_conll(path: Path, examples: Examples, options: object = None) -> list[list[str]]:
    """Read tags from a file in the format of CoNLL, in the order of the examples; those of skipped rows are ignored."""
    try:
        blocks = path.read_text(encoding="utf-8").split("\n\n")
    except UnicodeDecodeError:
        raise DataError("predictions-not-utf8", path=path) from None
    except OSError as error:
        raise DataError("predictions-unreadable", path=path, reason=describe_system_error(error)) from None
    sentences = [[line for line in block.split("\n") if line] for block in blocks]
    sentences = [sentence for sentence in sentences if sentence]
    if len(sentences) == len(examples) + len(examples.skipped):
        skipped = {row.index for row in examples.skipped}
        sentences = [sentence for index, sentence in enumerate(sentences) if index not in skipped]
    if len(sentences) != len(examples):
        raise DataError(
            "conll-sentences-differ", path=path, sentences=len(sentences), name=examples.name, expected=len(examples)
        )
    predictions = []
    for number, (lines, row) in enumerate(zip(sentences, examples, strict=True), 1):
        if len(lines) != len(row.texts):
            raise DataError("conll-tags-differ", path=path, sentence=number, tags=len(lines), tokens=len(row.texts))
        tags = [line.replace("\t", " ").rpartition(" ")[2] for line in lines]
        if unknown := next((tag for tag in tags if tag not in examples.labels), None):
            raise DataError("conll-tag-unknown", path=path, sentence=number, tag=repr(unknown))
        predictions.append(tags)
    return predictions
