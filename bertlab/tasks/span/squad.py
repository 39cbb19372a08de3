"""Read questions and predicted answers from files: SQuAD's nested JSON, or tables.

A question is read as {"id", "title", "context", "question", "answers": {"text": [...], "answer_start": [...]}}, as in
`rajpurkar/squad` and `squad_v2` on the hub. A question without answers is unanswerable, or belongs to a test set with
hidden answers. Two more keys are added: "where" (the file, the number of the row from 1, and the id or None), so that
errors can name the row; and "is_impossible" (True), if the file marks the question as unanswerable.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bertlab.config.errors import DataError
from bertlab.config.languages import Message
from bertlab.config.tasks import TASKS, TaskSpec
from bertlab.tasks.examples import Example, Examples
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRows, make_row_error
from bertlab.text.readers.rows import Rows, concatenate, is_blank, read_file, row_id, value_of
from bertlab.text.readers.splits import find_split, read_split, split_name

SQUAD = TASKS["squad"]  # the task from which the column names of a table are taken by default
# the columns of the rows that SQuAD's nested JSON is converted to
_NESTED_COLUMNS = ("id", "title", "context", "question", "answers", "is_impossible")


@dataclass(frozen=True, slots=True)
class Question(Example):
    """A question about a passage: texts are the question and the passage; the target has the form of "answers"."""

    row: dict
    """The row that the question was read from, see above."""


def make_examples(
    rows: Sequence[dict], name: str = "SQuAD", spec: TaskSpec = SQUAD, are_labelled: bool = True
) -> Examples:
    """Make examples from questions; without labels, their targets are None."""
    questions = (
        Question(row["id"], (row["question"], row["context"]), row["answers"] if are_labelled else None, row)
        for row in rows
    )
    return Examples(name, spec, (), tuple(questions))


def read_rows(
    source: str | Path, split: str, invalid_rows: InvalidRows | None = None, spec: TaskSpec = SQUAD
) -> list[dict]:
    """Read SQuAD's JSON (v1.1, v2.0, KorQuAD v1, KLUE-MRC), or a table with one question per row."""
    return read_questions(open_rows(source, split, invalid_rows=invalid_rows), invalid_rows, spec)


def open_rows(
    source: str | Path, split: str, limits: Limits | None = None, invalid_rows: InvalidRows | None = None
) -> Rows:
    """Open a split as rows with one question each; see `find_split` for how a split is found."""
    if not (paths := find_split(source, split)):
        return read_split(source, split)
    parts = []
    for path in paths:
        table = read_file(path, limits, ".json", invalid_rows)
        if len(table) == 1 and "data" in table.columns:
            questions = list(_flatten_articles(path, table.rows[0]))
            table = Rows(table.name, _NESTED_COLUMNS, questions)
        parts.append(table)
    return concatenate(split_name(source, split, paths), parts)


def read_questions(
    table: Rows, invalid_rows: InvalidRows | None = None, spec: TaskSpec = SQUAD, training: bool = False
) -> list[dict]:
    """Convert the rows of a table to questions, in the form that the docstring of this module describes.

    Args:
        invalid_rows: receives the rows that lack the question or the passage, repeat an id, or have malformed answers;
            None stops at the first.
        training: whether at least one question must have an answer.
    """
    if not table.rows:
        raise DataError("no-questions", name=table.name)
    if set(table.columns) == set(_NESTED_COLUMNS):  # SQuAD's JSON, whatever the columns of the task
        spec = SQUAD
    table.require_columns(spec.text)
    answer_column = table.find_label_column(spec.label, training)
    id_column = next((name for name in (spec.id, "id", "guid") if name in table.columns), None)
    invalid_rows = InvalidRows() if invalid_rows is None else invalid_rows
    row_numbers, questions = {}, []
    for number, row in table.enumerate_rows():
        id = None
        try:
            id = row_id(row, id_column, number)
            question = _convert_row(row, spec.text, answer_column)
            if row_numbers.setdefault(id, number) != number:
                raise DataError("row-id-repeated", row=row_numbers[id])
            questions.append({"id": id, **question, "where": (table.name, number, id if id_column else None)})
        except DataError as error:
            invalid_rows.report(make_row_error(table.name, number, error, id if id_column else None))
    if not questions:
        raise DataError("no-questions", name=table.name)
    if training and not any(row["answers"]["text"] for row in questions):
        raise DataError("training-rows-without-labels", name=table.name)
    return questions


def is_labelled(rows: list[dict], has_unanswerable: bool) -> bool:
    """Whether predicted answers can be scored on these rows.

    At least one row must have an answer or, if the task has unanswerable questions, be marked "is_impossible".
    Otherwise the rows are treated as a test set with hidden answers, because published test sets have empty answers.

    >>> is_labelled([{"answers": {"text": []}}], True)
    False
    >>> is_labelled([{"answers": {"text": []}, "is_impossible": True}, {"answers": {"text": []}}], True)
    True
    """
    return any(row["answers"]["text"] or (has_unanswerable and row.get("is_impossible")) for row in rows)


def select_scorable_rows(rows: Sequence[dict], has_unanswerable: bool, invalid_rows: InvalidRows | None) -> list[dict]:
    """Select the rows on which answers can be scored: all if `has_unanswerable`, else those with an answer."""
    return _select_rows(
        rows,
        lambda row: None if has_unanswerable or row["answers"]["text"] else Message("row-without-answer"),
        invalid_rows,
    )


def select_trainable_rows(
    rows: Sequence[dict], has_unanswerable: bool = False, invalid_rows: InvalidRows | None = None
) -> list[dict]:
    """Select the questions whose first answer is at its stated position in the passage.

    Args:
        has_unanswerable: whether a question may have no answer (SQuAD v2.0).
        invalid_rows: receives the other questions; None stops at the first.
    """
    return _select_rows(
        rows,
        lambda row: _find_answer_error(row["context"], **row["answers"], has_unanswerable=has_unanswerable),
        invalid_rows,
    )


def _select_rows(rows: Sequence[dict], find_error: Callable, invalid_rows: InvalidRows | None) -> list[dict]:
    invalid_rows = InvalidRows() if invalid_rows is None else invalid_rows
    selected = []
    for row in rows:
        if reason := find_error(row):
            source, number, id = row["where"]
            invalid_rows.report(make_row_error(source, number, reason, id))
        else:
            selected.append(row)
    return selected


def _find_answer_error(
    context: str, text: Sequence[str], answer_start: Sequence[int], has_unanswerable: bool
) -> Message | None:
    """Return the reason why a row cannot be used for training; None if it can be used."""
    if not len(text):
        return None if has_unanswerable else Message("row-without-answer")
    if not text[0]:
        return Message("answer-empty")
    if answer_start[0] >= 0 and context.startswith(text[0], answer_start[0]):
        return None
    if text[0] in context:
        return Message("answer-misplaced", answer=repr(text[0]), start=int(answer_start[0]))
    return Message("answer-not-in-passage", answer=repr(text[0]))


def read_predictions(path: str | Path) -> dict[str, str]:
    """Read predicted answers: a JSON object {id: text}, or a table with the columns id and prediction_text."""
    path = Path(path)
    data = read_file(path, default=".json").rows
    if all({"id", "prediction_text"} <= row.keys() for row in data):
        pairs = [(row["id"], row["prediction_text"]) for row in data]
    elif len(data) == 1:
        pairs = list(data[0].items())
    else:
        raise DataError("answer-predictions-missing", path=path)
    predictions = {}
    for id, text in pairs:
        if not isinstance(id, str) or not isinstance(text, str):
            raise DataError("answer-prediction-not-text", path=path, id=repr(id), value=repr(text)[:80])
        if id in predictions:
            raise DataError("answer-predicted-twice", path=path, id=repr(id))
        predictions[id] = text
    return predictions


def read_scores(path: str | Path) -> dict[str, float]:
    """Read no-answer scores, a JSON object {id: number}; a higher score means that an answer is less likely."""
    data, *others = read_file(path, default=".json").rows
    if others or not all(type(score) in (int, float) for score in data.values()):
        raise DataError("no-answer-scores-invalid", path=path)
    try:
        scores = {id: float(score) for id, score in data.items()}
    except OverflowError:
        raise DataError("no-answer-scores-invalid", path=path) from None
    if any(map(math.isnan, scores.values())):  # NaN cannot be compared with a threshold
        raise DataError("no-answer-scores-invalid", path=path)
    return scores


def _flatten_articles(path: Path, data) -> Iterable[dict]:
    """Yield one row for each question of SQuAD's nested JSON."""
    where = Message("squad-place-top")
    try:
        for a, article in enumerate(data["data"], 1):
            where = Message("squad-place-article", article=a)
            for p, paragraph in enumerate(article["paragraphs"], 1):
                for q, question in enumerate(paragraph["qas"], 1):
                    where = Message("squad-place-question", article=a, paragraph=p, question=q)
                    answers = question.get("answers") or []
                    yield {
                        # KLUE-MRC calls the id "guid"
                        "id": question["guid"] if "guid" in question else question["id"],
                        "title": article.get("title", ""),
                        "context": paragraph["context"],
                        "question": question["question"],
                        "answers": {
                            "text": [answer["text"] for answer in answers],
                            "answer_start": [answer["answer_start"] for answer in answers],
                        },
                        "is_impossible": question.get("is_impossible"),
                    }
    except KeyError as error:
        raise DataError("squad-key-missing", path=path, where=where, key=str(error)) from None
    except (TypeError, AttributeError):
        raise DataError("squad-structure-invalid", path=path, where=where) from None


# -- cells of a row ----------------------------------------------------------------------------------------------


def _convert_row(row: dict, text_columns: tuple[str, ...], answer_column: str | None) -> dict:
    context, question = (_read_text(row, column) for column in text_columns)
    fields = {"title": row.get("title") or "", "context": context, "question": question}
    # In a CSV file the value is text. KLUE-MRC lists answers for impossible questions; they are plausible, but wrong.
    if str(row.get("is_impossible")).strip().lower() in ("true", "1", "1.0"):
        return fields | {"answers": {"text": [], "answer_start": []}, "is_impossible": True}
    return fields | {"answers": _read_answers(row, answer_column, context)}


def _read_text(row: dict, column: str) -> str:
    if not isinstance(row.get(column), str):
        raise DataError("cell-without-text", column=repr(column))
    if not row[column].strip():
        raise DataError("cell-blank", column=repr(column))
    return row[column]


def _read_answers(row: dict, answer_column: str | None, context: str) -> dict[str, list]:
    """Read the answers of a row.

    The cell contains an object of lists (as on the hub), a list of objects (as in SQuAD's JSON), a text, or a list of
    texts. A text starts at the character in the column answer_start (from 0) or, without it, where it first occurs. If
    it does not occur, its start is -1: it is used for evaluation, but `select_trainable_rows` excludes it.
    """
    cell = None if answer_column is None else value_of(row, answer_column)
    if isinstance(cell, list) and cell and all(isinstance(answer, dict) for answer in cell):
        cell = {key: [answer.get(key) for answer in cell] for key in ("text", "answer_start")}
    if isinstance(cell, dict):
        texts, starts = cell.get("text"), cell.get("answer_start")
        if not isinstance(texts, list) or not isinstance(starts, list):
            raise DataError("answers-without-fields")
    else:
        texts = [] if is_blank(cell) else cell if isinstance(cell, list) else [str(cell)]
        starts = row.get("answer_start")
        if not isinstance(starts, list):  # a single number is the start of the first text
            starts = [None if is_blank(starts) else starts, *[None] * len(texts)][: len(texts)]
    if len(texts) != len(starts):
        raise DataError("answer-starts-differ")
    if not all(isinstance(text, str) for text in texts):
        raise DataError("answer-not-text")
    starts = [_find_start(text, start, context) for text, start in zip(texts, starts, strict=True)]
    return {"text": texts, "answer_start": starts}


def _find_start(text: str, start: object, context: str) -> int:
    if start is None:
        return context.find(text)
    try:
        value = math.nan if isinstance(start, bool) else float(start)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not value.is_integer():
        raise DataError("cell-not-number", cell=repr(start)[:80])
    return int(value)
