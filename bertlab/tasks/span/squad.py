"""Question sets and predictions in files: SQuAD's nested JSON, or rows with columns.

A question read is {"id", "title", "context", "question", "answers": {"text": [...], "answer_start": [...]}}, as in the
hub's `rajpurkar/squad` and `squad_v2`; no answers means unanswerable, or a test set. Beside these stands "where":
its file, the number of its row from 1, and its id if it has one, for messages; and "is_impossible" where the file says
so.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bertlab.config.errors import DataError
from bertlab.config.languages import Message
from bertlab.config.tasks import TASKS, TaskSpec
from bertlab.text.readers import hub
from bertlab.text.readers.data_file import Limits
from bertlab.text.readers.invalid_rows import InvalidRows, invalid_row
from bertlab.text.readers.rows import Rows, concatenate, is_blank, read_file, row_id, value_of
from bertlab.text.readers.splits import find_split, split_name

SQUAD = TASKS["squad"]


def read_squad(
    path: str | Path, invalid_rows: InvalidRows | None = None, spec: TaskSpec = SQUAD, training: bool = False
) -> list[dict]:
    """The questions of a SQuAD v1.1, v2.0, KorQuAD v1 or KLUE-MRC file, or of any table with a row for each.

    Args:
        path: SQuAD's JSON, gzipped or not; or Parquet, CSV, TSV, JSON lines, a JSON list.
        invalid_rows: what happens to a question that cannot be used: one without text or passage, with an id that came
            before, or with answers of another form; it stops if None.
        spec: what the columns of a table are called. The answer's column has SQuAD's answers, a text or a list of
            texts; a text stands where a column answer_start says (characters from 0), or where it first occurs, or
            nowhere (-1): such an answer is measured on, but `windows.keep_answer_in_place` leaves it out of training.
        training: whether an answer is needed.

    Raises:
        DataError: the file is missing, damaged or something else; one line naming the first place that is wrong.
    """
    return _read(str(path), (Path(path),), invalid_rows, spec, training)


def read_rows(
    source: str | Path,
    split: str,
    invalid_rows: InvalidRows | None = None,
    spec: TaskSpec = SQUAD,
    training: bool = False,
    limits: Limits | None = None,
) -> list[dict]:
    """The questions of a file as `read_squad` takes it, or of one split of a directory or a hub data set, as
    `rows.find_split` finds it.

    Raises:
        DataError: no such file or split, or a hub that cannot be reached.
    """
    if found := find_split(source, split):
        return _read(split_name(source, split, found), found, invalid_rows, spec, training, limits)
    rows = hub.load(str(source), split)
    table = Rows(f"{source} ({split})", tuple(rows.column_names), rows.to_list())
    return _questions(table, invalid_rows, spec, training)


def _read(
    name: str, files: Sequence[Path], invalid_rows, spec: TaskSpec, training: bool, limits: Limits | None = None
) -> list[dict]:
    parts = [_table(path, limits, invalid_rows) for path in files]
    nested = any(nested for _, nested in parts)
    return _questions(concatenate(name, [rows for rows, _ in parts]), invalid_rows, SQUAD if nested else spec, training)


def _table(path: Path, limits: Limits | None, invalid_rows: InvalidRows | None) -> tuple[Rows, bool]:
    """A row for each question, and whether they were nested, under SQuAD's own names."""
    table = read_file(path, limits, ".json", invalid_rows)
    if len(table) > 1 or "data" not in table.columns:
        return table, False
    questions = list(_flattened(path, table.rows[0]))
    return Rows(table.name, tuple(questions[0]) if questions else (), questions), True


def _questions(table: Rows, invalid_rows: InvalidRows | None, spec: TaskSpec, training: bool) -> list[dict]:
    """The rows that are questions, in the hub's form.

    Raises:
        DataError: there is no valid question, `invalid_rows` stops at an invalid one, or none has an answer to learn.
    """
    if not table.rows:
        raise DataError("no-questions", name=table.name)
    table.require_columns(spec.text)
    label = table.find_label_column(spec.label, training)
    id_column = next((name for name in (spec.id, "id", "guid") if name in table.columns), None)
    invalid_rows = InvalidRows() if invalid_rows is None else invalid_rows
    row_numbers, questions = {}, []
    for number, row in table.number_rows():
        id = None
        try:
            id = row_id(row, id_column, number)
            question = _question(row, spec.text, label)
            if row_numbers.setdefault(id, number) != number:
                raise DataError("row-id-repeated", row=row_numbers[id])
            questions.append({"id": id, **question, "where": (table.name, number, id if id_column else None)})
        except DataError as error:
            invalid_rows.report(invalid_row(table.name, number, error, id if id_column else None))
    if not questions:
        raise DataError("no-questions", name=table.name)
    if training and not any(row["answers"]["text"] for row in questions):
        raise DataError("training-rows-without-labels", name=table.name)
    return questions


def is_labelled(rows: list[dict], unanswerable: bool) -> bool:
    """Whether answers can be measured on these rows: one has an answer or, where there may be none, says
    is_impossible.

    Where all answers are empty and nothing says that they are impossible, this is taken to be a test set, whose answers
    are kept secret: published ones look just so.

    Args:
        unanswerable: whether the task has questions without answer (SQuAD v2.0).

    >>> is_labelled([{"answers": {"text": []}}], True)
    False
    >>> is_labelled([{"answers": {"text": []}, "is_impossible": True}, {"answers": {"text": []}}], True)
    True
    """
    return any(row["answers"]["text"] or (unanswerable and row.get("is_impossible")) for row in rows)


def keep_labelled(
    rows: list[dict], source: str, unanswerable: bool, invalid_rows: InvalidRows | None = None
) -> list[dict]:
    """The rows that can be measured: all where there may be no answer, else those that have one.

    Args:
        source: what to call their origin.
        unanswerable: as for `is_labelled`.
        invalid_rows: as for `read_squad`, of a question that needs an answer.

    Raises:
        DataError: no row has an answer, or `invalid_rows` stops at one without.
    """
    if not is_labelled(rows, unanswerable):
        raise DataError("rows-without-answers", name=source)
    invalid_rows = InvalidRows() if invalid_rows is None else invalid_rows
    kept = [row for row in rows if unanswerable or row["answers"]["text"]]
    for row in rows:
        if not (unanswerable or row["answers"]["text"]):
            invalid_rows.report(row_error(row, Message("row-without-answer")))
    return kept


def row_error(row: Mapping, reason: object, number: int = 0) -> DataError:
    """The error that names a question which cannot be used.

    Args:
        reason: a `Message` that says what is wrong.
        number: of the row from 1, for rows that were not read from a file.
    """
    if "where" in row:
        source, number, id = row["where"]
        return invalid_row(source, number, reason, id)
    return invalid_row("SQuAD", number, reason, row.get("id"))


def read_predictions(path: str | Path) -> dict[str, str]:
    """Read predicted answers: {id: text} as JSON, or rows with id and prediction_text.

    Such rows are read from a JSON list, JSON lines or Parquet.

    Raises:
        DataError: the file is missing or damaged, an id comes twice, or an answer is not a text.
    """
    path = Path(path)
    data = read_file(path, default=".json").rows
    if all({"id", "prediction_text"} <= row.keys() for row in data):
        pairs = [(row["id"], row["prediction_text"]) for row in data]
    elif len(data) == 1:
        pairs = list(data[0].items())
    else:
        raise DataError("no-answer-predictions", path=path)
    predictions = {}
    for id, text in pairs:
        if not isinstance(id, str) or not isinstance(text, str):
            raise DataError("answer-prediction-is-no-text", path=path, id=repr(id), value=repr(text)[:80])
        if id in predictions:
            raise DataError("answer-predicted-twice", path=path, id=repr(id))
        predictions[id] = text
    return predictions


def read_scores(path: str | Path) -> dict[str, float]:
    """No-answer scores, {id: number} as JSON; higher means less likely to have an answer.

    Raises:
        DataError: the file is missing, damaged or holds something else.
    """
    data, *others = read_file(path, default=".json").rows
    if others or not all(type(score) in (int, float) for score in data.values()):
        raise DataError("no-answer-scores-invalid", path=path)
    try:
        scores = {id: float(score) for id, score in data.items()}
    except OverflowError:
        raise DataError("no-answer-scores-invalid", path=path) from None
    if any(map(math.isnan, scores.values())):  # NaN has no order, so no threshold could be compared with it
        raise DataError("no-answer-scores-invalid", path=path)
    return scores


def _flattened(path: Path, data) -> Iterable[dict]:
    where = Message("squad-place-top")
    try:
        for a, article in enumerate(data["data"], 1):
            where = Message("squad-place-article", article=a)
            for p, paragraph in enumerate(article["paragraphs"], 1):
                for q, question in enumerate(paragraph["qas"], 1):
                    where = Message("squad-place-question", article=a, paragraph=p, question=q)
                    answers = question.get("answers") or []
                    yield {
                        # the key of the id in KLUE-MRC
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
        raise DataError("squad-shape-other", path=path, where=where) from None


# -- what is in a row --------------------------------------------------------------------------------------------


def _question(row: dict, columns: tuple[str, ...], label: str | None) -> dict:
    context, question = (_text(row, column) for column in columns)
    fields = {"title": row.get("title") or "", "context": context, "question": question}
    # a table of texts has a text here too; KLUE-MRC lists plausible, wrong answers of impossible questions
    if str(row.get("is_impossible")).strip().lower() in ("true", "1", "1.0"):
        return fields | {"answers": {"text": [], "answer_start": []}, "is_impossible": True}
    return fields | {"answers": _answers(row, label, context)}


def _text(row: dict, column: str) -> str:
    if not isinstance(row.get(column), str):
        raise DataError("cell-without-text", column=repr(column))
    if not row[column].strip():
        raise DataError("cell-blank", column=repr(column))
    return row[column]


def _answers(row: dict, label: str | None, context: str) -> dict[str, list]:
    """Read the answers of a row: in the hub's form, SQuAD's list of objects, one text or a list of texts.

    An answer without a start is placed at its first occurrence in the passage.
    """
    cell = None if label is None else value_of(row, label)
    if isinstance(cell, list) and cell and all(isinstance(answer, dict) for answer in cell):
        cell = {key: [answer.get(key) for answer in cell] for key in ("text", "answer_start")}
    if isinstance(cell, dict):
        texts, starts = cell.get("text"), cell.get("answer_start")
        if not isinstance(texts, list) or not isinstance(starts, list):
            raise DataError("answers-without-fields")
    else:
        texts = [] if is_blank(cell) else cell if isinstance(cell, list) else [str(cell)]
        starts = row.get("answer_start")
        if not isinstance(starts, list):  # one number is the start of the first text
            starts = [None if is_blank(starts) else starts, *[None] * len(texts)][: len(texts)]
    if len(texts) != len(starts):
        raise DataError("answer-starts-differ")
    if not all(isinstance(text, str) for text in texts):
        raise DataError("answer-is-no-text")
    places = [_place(text, start, context) for text, start in zip(texts, starts, strict=True)]
    return {"text": texts, "answer_start": places}


def _place(text: str, start: object, context: str) -> int:
    """The character that an answer begins at; -1 where the passage does not contain it."""
    if start is None:
        return context.find(text)
    try:
        value = math.nan if isinstance(start, bool) else float(start)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not value.is_integer():
        raise DataError("cell-is-no-number", cell=repr(start)[:80])
    return int(value)
