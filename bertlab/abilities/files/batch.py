"""Make predictions for many texts, as a table; a text without a valid prediction has an error instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bertlab.config.errors import BertlabError, MissingHead
from bertlab.tasks.registry import list_types_for_command

if TYPE_CHECKING:
    from bertlab.session import Session

# {field of a prediction: name of its column in the table}. The two names differ, because the user's table may have a
# column `label` of its own.
PREDICTION_COLUMNS = {
    "label": "predicted",
    "value": "predicted",
    "entities": "predicted_entities",
    "tags": "predicted_tags",
}


def predict_texts(
    session: Session, command: str, texts: Sequence[tuple[str, str | None]], progress: Callable = iter
) -> list[dict[str, object]]:
    """Make a prediction for every text or pair, and return one row for each, all with the same columns.

    A row whose prediction fails has its error in the column "error" and None in the columns of the prediction; in all
    other rows "error" is None.

    Args:
        session: the session of the checkpoint.
        command: "classify", "next-sentence" or "tag".
        texts: (text, second text) of each row. The second text is None for a single text; if it is empty, the
            prediction of the row fails.
        progress: a function that wraps the iterable of texts to show progress, such as `tqdm`.

    Raises:
        MissingHead: the checkpoint lacks the output layer that the command needs.
    """
    task_types = list_types_for_command(command)
    task_type = next((candidate for candidate in task_types if candidate.head in session.heads), task_types[0])
    reads_pairs = "pair_column" in task_type.column_flags
    predict = getattr(session, command.replace("-", "_"))
    rows = []
    for text, pair in progress(texts):
        row: dict[str, object] = {"text": text} | ({"pair": pair or ""} if reads_pairs else {})
        try:
            if task_type.reads_only_pairs:  # "" makes `predict` report that the second text is missing
                pair = pair or ""
            prediction = predict(text, pair) if reads_pairs else predict(text)
            rows.append(row | task_type.make_table_row(prediction) | {"error": None})
        except MissingHead:
            raise
        except BertlabError as error:
            rows.append(row | {"error": error})
    columns: dict[str, None] = dict.fromkeys(name for row in rows for name in row if name != "error")
    return [{name: row.get(name) for name in (*columns, "error")} for row in rows]
