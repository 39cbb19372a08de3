"""Make predictions for many texts, as a table; a text without a valid prediction has an error instead."""

from collections.abc import Callable, Iterable, Sequence

from bertlab.config.errors import BertlabError, MissingHead
from bertlab.explore.session import Session
from bertlab.tasks.registry import types_of_command

# Common names, in lower case, of the column with the text and of the column with the second text of a pair.
TEXT_NAMES = (
    "text", "text1", "sentence", "sentence1", "document", "review", "question", "question1", "premise", "content",
    "comment", "글", "본문", "문장", "문장1", "리뷰", "감상", "댓글", "내용", "질문", "전제",
)  # fmt: skip
PAIR_NAMES = ("pair", "sentence2", "hypothesis", "text2", "passage", "question2", "문장2", "가설", "지문")

# The column name of each field of a prediction. It differs from the field's name, because the user's table may have a
# column `label` of its own.
PREDICTION_COLUMNS = {
    "label": "predicted",
    "value": "predicted",
    "entities": "predicted_entities",
    "tags": "predicted_tags",
}


def guess_column(columns: Sequence[str], names: Iterable[str]) -> str | None:
    """Return the column whose name, ignoring case, comes first in `names`; None if no column has one of them.

    >>> guess_column(["id", "Review"], TEXT_NAMES)
    'Review'
    """
    column_by_name = {column.lower(): column for column in reversed(columns)}
    return next((column_by_name[name] for name in names if name in column_by_name), None)


def predict_texts(
    session: Session, command: str, texts: Sequence[tuple[str, str | None]], progress: Callable = iter
) -> list[dict[str, object]]:
    """Make a prediction for every text or pair, and return one row for each, all with the same columns.

    A row whose prediction fails has its error in the column "error" and None in the columns of the prediction; in all
    other rows "error" is None.

    Args:
        session: the session of the checkpoint.
        command: "classify", "next-sentence" or "tag".
        texts: (text, second text) of each row. The second text is None for a single text; an empty string is an error.
        progress: a function that wraps the iterable of texts to show progress, such as `tqdm`.

    Raises:
        MissingHead: the checkpoint lacks the output layer that the command needs.
    """
    task_types = types_of_command(command)
    task_type = next((candidate for candidate in task_types if candidate.head in session.heads), task_types[0])
    reads_pairs = "pair_column" in task_type.column_flags
    predict = getattr(session, command.replace("-", "_"))
    rows = []
    for text, pair in progress(texts):
        row: dict[str, object] = {"text": text} | ({"pair": pair or ""} if reads_pairs else {})
        try:
            if task_type.reads_only_pairs:
                pair = pair or ""
            prediction = predict(text, pair) if reads_pairs else predict(text)
            rows.append(row | task_type.table_row(prediction) | {"error": None})
        except MissingHead:
            raise
        except BertlabError as error:
            rows.append(row | {"error": error})
    columns: dict[str, None] = dict.fromkeys(name for row in rows for name in row if name != "error")
    return [{name: row.get(name) for name in (*columns, "error")} for row in rows]
