"""Question sets and predictions in files: SQuAD's nested JSON, or rows with columns.

A question read is {"id", "title", "context", "question", "answers": {"text": [...], "answer_start": [...]}}, as in the
hub's `rajpurkar/squad` and `squad_v2`; no answers means unanswerable, or a test set. Beside these stands "where", its
file, the number of its row from 1 and its id, for messages; and "is_impossible" where the file says so. Knows no tokens
and no scores.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from bertlab.config.errors import DataError
from bertlab.config.tasks import TASKS, TaskSpec
from bertlab.text.readers import hub
from bertlab.text.readers.invalid_rows import InvalidRows
from bertlab.text.readers.rows import Rows, concatenate, is_blank, read_file, row_id, value_of
from bertlab.text.readers.splits import find_split, split_name

SQUAD = TASKS["squad"]


def read_squad(
    path: str | Path, complain: InvalidRows | None = None, spec: TaskSpec = SQUAD, training: bool = False
) -> list[dict]:
    """The questions of a SQuAD v1.1, v2.0, KorQuAD v1 or KLUE-MRC file, or of any table with a row for each.

    Args:
        path: SQuAD's JSON, gzipped or not; or Parquet, CSV, TSV, JSON lines, a JSON list.
        complain: what happens to a question that cannot be used: one without text or passage, with an id that came
            before, or with answers of another form; it stops if None.
        spec: what the columns of a table are called. The answer's column has SQuAD's answers, a text or a list of
            texts; a text stands where a column answer_start says (characters from 0), or where it first occurs, or
            nowhere (-1): then it can be measured by, and `spans.well_placed` keeps it from being learned from.
        training: whether an answer is needed.

    Raises:
        DataError: the file is missing, damaged or something else; one line naming the first place that is wrong.
    """
    return _read(str(path), (Path(path),), complain, spec, training)


def read_rows(
    source: str | Path,
    split: str,
    complain: InvalidRows | None = None,
    spec: TaskSpec = SQUAD,
    training: bool = False,
) -> list[dict]:
    """The questions of a file as `read_squad` takes it, or of one split of a directory or a hub data set, as
    `rows.find_split` finds it.

    Raises:
        DataError: no such file or split, or a hub that cannot be reached.
    """
    if found := find_split(source, split):
        return _read(split_name(source, split, found), found, complain, spec, training)
    rows = hub.load(str(source), split)
    table = Rows(f"{source} ({split})", tuple(rows.column_names), rows.to_list())
    return _questions(table, complain, spec, training)


def _read(name: str, files: Sequence[Path], complain, spec: TaskSpec, training: bool) -> list[dict]:
    parts = [_table(path) for path in files]
    nested = any(nested for _, nested in parts)
    return _questions(concatenate(name, [rows for rows, _ in parts]), complain, SQUAD if nested else spec, training)


def _table(path: Path) -> tuple[Rows, bool]:
    """A row for each question, and whether they were nested, under SQuAD's own names."""
    table = read_file(path, default=".json")
    if len(table) > 1 or "data" not in table.columns:
        return table, False
    questions = list(_flattened(path, table.rows[0]))
    return Rows(table.name, tuple(questions[0]) if questions else (), questions), True


def _questions(table: Rows, complain: InvalidRows | None, spec: TaskSpec, training: bool) -> list[dict]:
    """The rows that are questions, in the hub's form.

    Raises:
        DataError: there are none, or the first that is not one where `complain` says so; none has an answer to learn.
    """
    if not table.rows:
        raise DataError(f"{table.name} holds no questions")
    table.require_columns(spec.text)
    label = table.label_column(spec.label, training)
    id_column = next((name for name in (spec.id, "id", "guid") if name in table.columns), None)
    complain, seen, kept = InvalidRows() if complain is None else complain, {}, []
    for number, row in enumerate(table.rows, 1):
        where = f"{table.name}: row {number}"
        try:
            id = row_id(row, id_column, number)
            where += f" (id {id})" if id_column else ""
            question = _question(row, spec.text, label)
            if seen.setdefault(id, number) != number:
                raise DataError(f"repeats the id of row {seen[id]}")
            kept.append({"id": id, **question, "where": where})
        except DataError as error:
            complain(f"{where} {error}")
    if not kept:
        raise DataError(f"{table.name} holds no questions")
    if training and not any(row["answers"]["text"] for row in kept):
        raise DataError(f"{table.name} has no labels to learn from")
    return kept


def labelled(rows: list[dict], unanswerable: bool) -> bool:
    """Whether answers can be measured on these rows: one has an answer or, where there may be none, says
    is_impossible.

    Where all answers are empty and nothing says that they are impossible, this is taken to be a test set, whose answers
    are kept secret: published ones look just so.

    Args:
        unanswerable: whether the task has questions without answer (SQuAD v2.0).

    >>> labelled([{"answers": {"text": []}}], True)
    False
    >>> labelled([{"answers": {"text": []}, "is_impossible": True}, {"answers": {"text": []}}], True)
    True
    """
    return any(row["answers"]["text"] or (unanswerable and row.get("is_impossible")) for row in rows)


def measurable(rows: list[dict], source: str, unanswerable: bool, complain: InvalidRows | None = None) -> list[dict]:
    """The rows that can be measured: all where there may be no answer, else those that have one.

    Args:
        source: what to call their origin.
        unanswerable: as for `labelled`.
        complain: as for `read_squad`, of a question that needs an answer.

    Raises:
        DataError: there are none, or the first without an answer where `complain` says so.
    """
    if not labelled(rows, unanswerable):
        raise DataError(f"no question of {source} has an answer, so nothing can be measured on it")
    complain = InvalidRows() if complain is None else complain
    kept = [row for row in rows if unanswerable or row["answers"]["text"]]
    for row in rows:
        if not (unanswerable or row["answers"]["text"]):
            complain(f"{row['where']} has no answer; is this SQuAD v2.0? (squad_v2)")
    return kept


def read_predictions(path: str | Path) -> dict[str, str]:
    """Anyone's answers: {id: text} as JSON, or rows with id and prediction_text as a JSON list, JSON lines or Parquet.

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
        raise DataError(f"{path} holds no predictions: expected {{id: text}}, or rows with id and prediction_text")
    predictions = {}
    for id, text in pairs:
        if not isinstance(id, str) or not isinstance(text, str):
            raise DataError(f"{path}: the prediction for {id!r} is {text!r}; ids and answers must be texts")
        if id in predictions:
            raise DataError(f"{path}: {id!r} is predicted twice")
        predictions[id] = text
    return predictions


def read_scores(path: str | Path) -> dict[str, float]:
    """No-answer scores, {id: number} as JSON; higher means less likely to have an answer.

    Raises:
        DataError: the file is missing, damaged or holds something else.
    """
    data, *others = read_file(path, default=".json").rows
    if others or not all(type(score) in (int, float) for score in data.values()):
        raise DataError(f"{path} holds no scores: expected {{id: number}}")
    return {id: float(score) for id, score in data.items()}


def _flattened(path: Path, data) -> Iterable[dict]:
    where = "the top"
    try:
        for a, article in enumerate(data["data"], 1):
            where = f"article {a}"
            for p, paragraph in enumerate(article["paragraphs"], 1):
                for q, asked in enumerate(paragraph["qas"], 1):
                    where = f"article {a}, paragraph {p}, question {q}"
                    answers = asked.get("answers") or []
                    yield {
                        # KLUE-MRC's files call it so
                        "id": asked["guid"] if "guid" in asked else asked["id"],
                        "title": article.get("title", ""),
                        "context": paragraph["context"],
                        "question": asked["question"],
                        "answers": {
                            "text": [answer["text"] for answer in answers],
                            "answer_start": [answer["answer_start"] for answer in answers],
                        },
                        "is_impossible": asked.get("is_impossible"),
                    }
    except KeyError as error:
        raise DataError(f"{path} is not a SQuAD file: {where} has no {error}") from None
    except (TypeError, AttributeError):
        raise DataError(f"{path} is not a SQuAD file: {where} has another shape") from None


# -- what is in a row --------------------------------------------------------------------------------------------


def _question(row: dict, columns: tuple[str, ...], label: str | None) -> dict:
    context, question = (_text(row, column) for column in columns)
    found = {"title": row.get("title") or "", "context": context, "question": question}
    # in a table of texts it is one too; and what is impossible has answers in KLUE-MRC that people took for right
    if str(row.get("is_impossible")).strip().lower() in ("true", "1", "1.0"):
        return found | {"answers": {"text": [], "answer_start": []}, "is_impossible": True}
    return found | {"answers": _answers(row, label, context)}


def _text(row: dict, column: str) -> str:
    if not isinstance(row.get(column), str):
        raise DataError(f"has no text in {column!r}")
    if not row[column].strip():
        raise DataError(f"has nothing but spaces in {column!r}")
    return row[column]


def _answers(row: dict, label: str | None, context: str) -> dict[str, list]:
    """The answers in the hub's form, or SQuAD's list of them, or a text or several; of those without a place the first
    occurrence."""
    given = None if label is None else value_of(row, label)
    if isinstance(given, list) and given and all(isinstance(answer, dict) for answer in given):
        given = {key: [answer.get(key) for answer in given] for key in ("text", "answer_start")}
    if isinstance(given, dict):
        texts, starts = given.get("text"), given.get("answer_start")
        if not isinstance(texts, list) or not isinstance(starts, list):
            raise DataError("has no answers with text and answer_start")
    else:
        texts = [] if is_blank(given) else given if isinstance(given, list) else [str(given)]
        starts = row.get("answer_start")
        if not isinstance(starts, list):  # of several texts it is the first one's
            starts = [None if is_blank(starts) else starts, *[None] * len(texts)][: len(texts)]
    if len(texts) != len(starts):
        raise DataError("needs as many answer starts as answers")
    if not all(isinstance(text, str) for text in texts):
        raise DataError("has an answer that is no text")
    places = [_place(text, start, context) for text, start in zip(texts, starts, strict=True)]
    return {"text": texts, "answer_start": places}


def _place(text: str, start: object, context: str) -> int:
    """The character that an answer begins at; -1 where it is told in other words than the passage's."""
    if start is None:
        return context.find(text)
    try:
        value = math.nan if isinstance(start, bool) else float(start)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not value.is_integer():
        raise DataError(f"has {start!r} where a number should be")
    return int(value)
