"""Question sets and predictions in files: SQuAD JSON or Parquet in, the hub's rows out.

A row is {"id", "title", "context", "question", "answers": {"text": [...], "answer_start": [...]}}, as in the hub's
`rajpurkar/squad` and `squad_v2`; no answers means unanswerable. Knows no tokens and no scores.
"""

from collections.abc import Iterable
from pathlib import Path

from bertlab.spec.errors import DataError
from bertlab.text import hub
from bertlab.text.damaged import Complaints
from bertlab.text.files import is_parquet, parse_json, read_parquet, read_text
from bertlab.text.rows import find_split


def read_squad(path: str | Path, complain: Complaints | None = None) -> list[dict]:
    """The questions of a SQuAD v1.1, v2.0 or KorQuAD v1 file: JSON, gzipped JSON or Parquet.

    Args:
        complain: what happens to a question without text or passage, or with an id that came before; it stops if None.

    Raises:
        DataError: the file is missing, damaged or something else; one line naming the first place that is wrong.
    """
    path = Path(path)
    rows = (
        read_parquet(path).to_pylist()
        if is_parquet(path)
        else list(_flattened(path, parse_json(read_text(path), path)))
    )
    return usable(rows, str(path), complain)


def read_rows(source: str | Path, split: str, complain: Complaints | None = None) -> list[dict]:
    """The questions of a file as `read_squad` takes it, or of one split of a directory or a hub data set, as
    `rows.find_split` finds it.

    Raises:
        DataError: no such file or split, or a hub that cannot be reached.
    """
    found = find_split(source, split)
    if found is not None:
        return read_squad(found, complain)
    return usable(hub.load(str(source), split).to_list(), f"{source} ({split})", complain)


def usable(rows: list[dict], source: str, complain: Complaints | None = None) -> list[dict]:
    """The rows that are questions: with an id of their own, a question, a passage, and answers in the hub's form.

    Args:
        source: what to call their origin.
        complain: as for `read_squad`.

    Raises:
        DataError: there are none, or the first that is not one where `complain` says so.
    """
    complain, seen, kept = Complaints() if complain is None else complain, set(), []
    for number, row in enumerate(map(_as_squad, rows)):
        wrong = _wrong(row)
        if wrong is None and row["id"] in seen:
            wrong = "has an id that came before"
        if wrong is None:
            seen.add(row["id"])
            kept.append(row)
        else:
            complain(f"{source}: question {number}{_called(row)} {wrong}")
    if not kept:
        raise DataError(f"{source} holds no questions")
    return kept


def with_answers(rows: list[dict], source: str, complain: Complaints | None = None) -> list[dict]:
    """The rows that can be measured where every question has an answer.

    Args:
        source, complain: as for `usable`.

    Raises:
        DataError: there are none, or the first without an answer where `complain` says so.
    """
    kept = [row for row in rows if row["answers"]["text"]]
    if not kept:
        raise DataError(f"no question of {source} has an answer, so nothing can be measured on it")
    complain = Complaints() if complain is None else complain
    for row in rows:
        if not row["answers"]["text"]:
            complain(f"{source}: question {row['id']} has no answer; is this SQuAD v2.0? (squad_v2)")
    return kept


def read_predictions(path: str | Path) -> dict[str, str]:
    """Anyone's answers: {id: text} as JSON, or rows with id and prediction_text as a JSON list, JSON lines or Parquet.

    Raises:
        DataError: the file is missing or damaged, an id comes twice, or an answer is not a text.
    """
    path = Path(path)
    data = read_parquet(path).to_pylist() if is_parquet(path) else parse_json(read_text(path), path, or_lines=True)
    if isinstance(data, dict):
        pairs = data.items()
    elif isinstance(data, list) and all(
        isinstance(row, dict) and {"id", "prediction_text"} <= row.keys() for row in data
    ):
        pairs = [(row["id"], row["prediction_text"]) for row in data]
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
    data = parse_json(read_text(Path(path)), Path(path))
    if not isinstance(data, dict) or not all(type(score) in (int, float) for score in data.values()):
        raise DataError(f"{path} holds no scores: expected {{id: number}}")
    return {id: float(score) for id, score in data.items()}


def _flattened(path: Path, data) -> Iterable[dict]:
    where = "the top"
    try:
        for a, article in enumerate(data["data"]):
            where = f"article {a}"
            for p, paragraph in enumerate(article["paragraphs"]):
                for q, asked in enumerate(paragraph["qas"]):
                    where = f"article {a}, paragraph {p}, question {q}"
                    answers = asked.get("answers") or []
                    yield {
                        "id": asked["id"],
                        "title": article.get("title", ""),
                        "context": paragraph["context"],
                        "question": asked["question"],
                        "answers": {
                            "text": [answer["text"] for answer in answers],
                            "answer_start": [answer["answer_start"] for answer in answers],
                        },
                    }
    except KeyError as error:
        raise DataError(f"{path} is not a SQuAD file: {where} has no {error}") from None
    except (TypeError, AttributeError):
        raise DataError(f"{path} is not a SQuAD file: {where} has another shape") from None


def _as_squad(row: object) -> object:
    """KLUE-MRC's rows as SQuAD's: their id is called guid, and what is impossible has no answer."""
    if isinstance(row, dict) and "guid" in row:
        row = {"id": row["guid"], **row}
        return row | {"answers": {"text": [], "answer_start": []}} if row.get("is_impossible") else row
    return row


def _called(row: object) -> str:
    return f" (id {row['id']})" if isinstance(row, dict) and isinstance(row.get("id"), str) else ""


def _wrong(row: object) -> str | None:
    """What keeps a row from being a question; None for one."""
    if not isinstance(row, dict):
        return "is no object with columns"
    for column in ("id", "context", "question"):
        if not isinstance(row.get(column), str):
            return f"has no text in {column!r}"
        if not row[column].strip():
            return f"has nothing but spaces in {column!r}"
    answers = row.get("answers")
    if not isinstance(answers, dict) or not {"text", "answer_start"} <= answers.keys():
        return "has no answers with text and answer_start"
    texts, starts = answers["text"], answers["answer_start"]
    if not (isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts)):
        return "needs as many answer starts as answers"
    if not all(isinstance(text, str) for text in texts) or not all(type(start) is int for start in starts):
        return "has an answer that is no text at a number"
    return None
