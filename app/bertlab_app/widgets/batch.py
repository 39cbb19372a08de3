"""The panel that predicts many texts at once: paste them, view the predictions, download them.

Visitors who may start jobs on whole files upload a file in the panel of the module `files`. All other visitors find an
upload field in this panel.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import chain, count

import streamlit as st

from bertlab.abilities.files.batch import PREDICTION_COLUMNS, predict_texts
from bertlab.tasks.registry import list_types_for_command
from bertlab.text.readers.pasted_table import parse_pasted_table
from bertlab.text.readers.registry import upload_suffixes
from bertlab.text.readers.rows import Rows, format_cell, format_text
from bertlab.text.readers.text_file import SECOND_TEXT_NAMES, TEXT_NAMES, choose_text_column, guess_column
from bertlab_app.data import labelled_rows, sessions
from bertlab_app.i18n import error_text, t
from bertlab_app.widgets import fields, files, frame, selection

MAX_ROWS = 2_000  # maximum number of rows that a click predicts, because all users share the CPU cores
Texts = list[tuple[str, str | None]]  # (text, second text); the second text is None for a single text
# names of the columns of predictions, which are translated on the page
TRANSLATED_COLUMNS = (*dict.fromkeys(PREDICTION_COLUMNS.values()), "probability", "error")


def draw_panel(checkpoint: sessions.CheckpointKey, command: str, *, is_open: bool = False) -> None:
    """Draw the panel, which stands at the bottom of a page."""
    with st.expander(t("batch"), icon=":material/table_rows:", expanded=is_open), frame.show_errors():
        left, right = (st, None) if files.may_start_jobs() else st.columns(2)
        pasted_text = fields.text(
            left.text_area, t("batch-paste"), "", key=f"batch-{command}", placeholder=t("batch-paste-help")
        )
        upload = right.file_uploader(t("batch-upload"), upload_suffixes(), key=f"upload-{command}") if right else None
        table = labelled_rows.read_upload(upload) if upload else parse_pasted_table(pasted_text, TEXT_NAMES)
        if table and not upload:
            id = "batch-table" if guess_column(table.columns, TEXT_NAMES) else "batch-table-without-header"
            st.caption(t(id, rows=len(table), columns=len(table.columns)))
        texts = (
            _select_texts(table, command, checkpoint)
            if table
            else [(line, None) for line in pasted_text.splitlines() if line.strip()]
        )
        if not texts:
            st.caption(t("batch-empty" if right else "batch-empty-paste"))
            return
        if all(pair is None for _, pair in texts) and selection.needs_pair(checkpoint, command):
            frame.note(t("batch-second-text-missing"))
            return
        if len(texts) > MAX_ROWS:
            frame.note(t("batch-too-many-rows", limit=MAX_ROWS, count=len(texts)))
        incomplete_row_numbers = [
            number for number, row in enumerate(texts, 1) if any(part is not None and not part.strip() for part in row)
        ]
        if incomplete_row_numbers:
            first = incomplete_row_numbers[0]
            frame.note(t("batch-empty-texts", count=len(incomplete_row_numbers), first=first))
        selection.note_other_language(checkpoint, command, [part for row in texts[:MAX_ROWS] for part in row if part])
        key, request = f"batch-predictions-{command}", (checkpoint, command, tuple(texts[:MAX_ROWS]))
        if st.button(
            t("batch-predict", count=min(len(texts), MAX_ROWS)), icon=":material/play_arrow:", key=f"ask-{command}"
        ):
            progress = frame.progress_bar(st.empty(), "batch-progress")
            predictions = predict_texts(sessions.open_session(checkpoint), command, texts[:MAX_ROWS], progress)
            st.session_state[key] = (request, predictions)
        stored_predictions = st.session_state.get(key)
        if stored_predictions and stored_predictions[0] == request:
            predictions = [
                row | {"error": error_text(row["error"]) if row["error"] else ""} for row in stored_predictions[1]
            ]
            if num_failed := sum(bool(row["error"]) for row in predictions):
                frame.note(t("batch-failed-rows", count=num_failed, total=len(predictions)))
            rows = [{"text": text} for text, _ in texts]
            if table:
                rows = [{column: format_cell(row.get(column)) for column in table.columns} for row in table.rows]
            rows = append_predictions(rows[: len(predictions)], predictions)
            # the columns of an uploaded table keep their own names
            translated_columns = TRANSLATED_COLUMNS if table else ("text", *TRANSLATED_COLUMNS)
            st.dataframe(rows, hide_index=True, column_config={name: t(f"batch-{name}") for name in translated_columns})
            draw_csv_button(rows, command)


def _select_texts(table: Rows, command: str, checkpoint: sessions.CheckpointKey) -> Texts:
    """Let the user choose the text columns of a table, and return the texts in these columns."""
    left, right = st.columns(2)
    guess = choose_text_column(table.columns, TEXT_NAMES, table.rows)
    text_column = fields.column(left, t("batch-text-column"), guess, table.columns, f"text-{command}")
    pair_column = ""
    if "pair_column" in list_types_for_command(command)[0].column_flags:
        needs_pair = selection.needs_pair(checkpoint, command)
        num_texts = 2 if needs_pair else sessions.open_session(checkpoint).num_texts
        # the columns of a table without column names are called "1" and "2"
        default = "2" if num_texts == 2 and table.columns == ("1", "2") else ""
        guess = "" if num_texts == 1 else guess_column(table.columns, SECOND_TEXT_NAMES) or default
        options = ["", *table.columns]
        pair_column = fields.column(right, t("batch-pair-column"), guess, options, f"pair-{command}")
    return [
        (format_text(row.get(text_column)), format_text(row.get(pair_column)) if pair_column else None)
        for row in table.rows
    ]


def append_predictions(rows: Sequence[dict], predictions: Sequence[dict]) -> list[dict]:
    """Append the columns of the predictions to the rows. A new column is renamed if the rows already have its name.

    Args:
        rows: the rows of the input.
        predictions: the result of `predict_texts`, one for each row.

    >>> append_predictions([{"id": "7", "label": "1"}], [{"text": "Tea.", "label": "no", "error": ""}])
    [{'id': '7', 'label': '1', 'predicted': 'no', 'error': ''}]
    >>> append_predictions([{"predicted": "yes", "Error": "none"}], [{"text": "Tea.", "label": "no", "error": ""}])
    [{'predicted': 'yes', 'Error': 'none', 'predicted_2': 'no', 'error_2': ''}]
    """
    used_names = {column.lower() for row in rows[:1] for column in row}
    names = {}
    for column in (column for row in predictions[:1] for column in row if column not in ("text", "pair")):
        base = PREDICTION_COLUMNS.get(column, column)
        numbered = (f"{base}_{number}" for number in count(2))
        names[column] = next(name for name in chain([base], numbered) if name.lower() not in used_names)
        used_names.add(names[column].lower())
    return [
        row | {name: prediction[column] for column, name in names.items()}
        for row, prediction in zip(rows, predictions, strict=True)
    ]


def encode_csv(rows: Iterable[dict]) -> bytes:
    rows, file = list(rows), io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return b"\xef\xbb\xbf" + file.getvalue().encode("utf-8", "replace")


def draw_csv_button(rows: Sequence[dict], name: str) -> None:
    """Draw a button that saves a table as the CSV file NAME.csv."""
    st.download_button(
        t("batch-download"), encode_csv(rows), f"{name}.csv", "text/csv", on_click="ignore",
        icon=":material/download:", key=f"download-{name}",
    )  # fmt: skip
