"""Predictions for many texts: rows in, a table of predictions out, with an error where a row cannot be predicted."""

from collections.abc import Callable, Iterable, Sequence

from bertlab.config.errors import BertlabError, MissingHead
from bertlab.explore.session import Session
from bertlab.tasks.registry import types_of_command

# what a column of texts, and one of second texts, is usually called
TEXT_NAMES = (
    "text", "text1", "sentence", "sentence1", "document", "review", "question", "question1", "premise", "content",
    "comment", "글", "본문", "문장", "문장1", "리뷰", "감상", "댓글", "내용", "질문", "전제",
)  # fmt: skip
PAIR_NAMES = ("pair", "sentence2", "hypothesis", "text2", "passage", "question2", "문장2", "가설", "지문")


def guess_column(columns: Sequence[str], names: Iterable[str]) -> str | None:
    """The first of these columns that goes by one of the usual names, whatever its case.

    >>> guess_column(["id", "Review"], TEXT_NAMES)
    'Review'
    """
    lower = {column.lower(): column for column in reversed(columns)}
    return next((lower[name] for name in names if name in lower), None)


def predict_texts(
    session: Session, command: str, texts: Sequence[tuple[str, str | None]], progress: Callable = iter
) -> list[dict[str, object]]:
    """Predict every (text, pair) -> one row for each, all with the same columns.

    A row without a prediction has None in its columns and its error in "error", which is None in all others. A pair
    that is None is left out; an empty one is an error of its row.

    Args:
        command: "classify" or "tag".
        progress: wraps the texts as they are taken (say, `tqdm`).

    Raises:
        MissingHead: the checkpoint lacks the output layer.
    """
    task_types = types_of_command(command)
    task_type = next((able for able in task_types if able.head in session.heads), task_types[0])
    reads_pairs = "pair_column" in task_type.column_flags
    predict = getattr(session, command)
    rows = []
    for text, pair in progress(texts):
        row: dict[str, object] = {"text": text} | ({"pair": pair or ""} if reads_pairs else {})
        try:
            prediction = predict(text, pair) if reads_pairs else predict(text)
            rows.append(row | task_type.table_row(prediction) | {"error": None})
        except MissingHead:
            raise
        except BertlabError as error:
            rows.append(row | {"error": error})
    columns: dict[str, None] = dict.fromkeys(name for row in rows for name in row if name != "error")
    return [{name: row.get(name) for name in (*columns, "error")} for row in rows]
