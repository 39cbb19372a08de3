"""Many texts at once: paste or upload them, look at what is said of each, download it. Computes nothing."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count

import streamlit as st

from bertlab.app import fields, frame, selection, url
from bertlab.app.data import labelled_rows, sessions
from bertlab.app.i18n import error_text, t
from bertlab.explore.batch_predict import PAIR_NAMES, TEXT_NAMES, guess_column, predict_texts
from bertlab.tasks.registry import types_of_command
from bertlab.text.readers.data_file import UPLOAD_LIMITS
from bertlab.text.readers.pasted_table import parse_pasted_table
from bertlab.text.readers.registry import upload_suffixes
from bertlab.text.readers.rows import Rows, read_file

MOST = 2_000  # rows that are asked of one visit: the cores are everybody's
Texts = list[tuple[str, str | None]]
# what is said of a row -> its column; a given table may well have a column `label` of its own
ANSWERS = {"label": "predicted", "value": "predicted", "entities": "predicted_entities", "tags": "predicted_tags"}
TOLD = (*dict.fromkeys(ANSWERS.values()), "probability", "error")  # the columns that have a name in each language


def box(checkpoint: sessions.Checkpoint, question: str) -> None:
    """The box at the foot of a page. question: "classify" or "tag"."""
    with st.expander(t("batch"), icon=":material/table_rows:"), frame.show_errors():
        left, right = st.columns(2)
        pasted = url.text(
            left.text_area, t("batch-paste"), "", key=f"batch-{question}", placeholder=t("batch-paste-help")
        )
        upload = right.file_uploader(t("batch-file"), upload_suffixes(), key=f"upload-{question}")
        table = _uploaded(upload) if upload else parse_pasted_table(pasted, TEXT_NAMES)
        if table and not upload:
            said = "batch-table" if guess_column(table.columns, TEXT_NAMES) else "batch-table-bare"
            st.caption(t(said, rows=len(table), columns=len(table.columns)))
        texts = (
            _chosen(table, question, checkpoint)
            if table
            else [(line, None) for line in pasted.splitlines() if line.strip()]
        )
        if not texts:
            st.caption(t("batch-empty"))
            return
        if all(pair is None for _, pair in texts) and selection.needs_pair(checkpoint, question):
            frame.note(t("batch-pairs"))
            return
        if len(texts) > MOST:
            frame.note(t("batch-most", most=MOST, count=len(texts)))
        lacking = [any(part is not None and not part.strip() for part in row) for row in texts]
        if any(lacking):
            frame.note(t("batch-missing", count=sum(lacking), first=1 + lacking.index(True)))
        kept, asked = f"batch-said-{question}", (checkpoint, question, tuple(texts[:MOST]))
        if st.button(t("batch-ask", count=min(len(texts), MOST)), icon=":material/play_arrow:", key=f"ask-{question}"):
            said = predict_texts(sessions.session(checkpoint), question, texts[:MOST], _progress)
            st.session_state[kept] = (asked, said)
        found = st.session_state.get(kept)
        if found and found[0] == asked:
            said = [row | {"error": error_text(row["error"]) if row["error"] else ""} for row in found[1]]
            if unanswered := sum(bool(row["error"]) for row in said):
                frame.note(t("batch-unanswered", count=unanswered, of=len(said)))
            rows = beside(_given(table, texts)[: len(said)], said)
            told = TOLD if table else ("text", *TOLD)  # the columns of a table keep their own names
            st.dataframe(rows, hide_index=True, column_config={name: t(f"batch-{name}") for name in told})
            st.download_button(
                t("batch-download"), as_csv(rows), f"{question}.csv", "text/csv", on_click="ignore",
                icon=":material/download:",
            )  # fmt: skip


def _uploaded(upload) -> Rows:
    """Raises DataError: it cannot be read."""
    with labelled_rows.temporary_file(upload.name, upload.getvalue()) as path:
        return read_file(path, UPLOAD_LIMITS)


def _chosen(table: Rows, question: str, checkpoint: sessions.Checkpoint) -> Texts:
    """The texts of a table in the columns that are chosen."""
    left, right = st.columns(2)
    text = guess_column(table.columns, TEXT_NAMES) or table.columns[0]
    text = fields.column(left, t("batch-column"), text, table.columns, f"text-{question}")
    pair = ""
    if "pair_column" in types_of_command(question)[0].column_flags:
        taught = sessions.session(checkpoint).texts
        nameless = "2" if taught == 2 and table.columns == ("1", "2") else ""
        pair = "" if taught == 1 else guess_column(table.columns, PAIR_NAMES) or nameless
        pair = fields.column(right, t("batch-pair"), pair, ["", *table.columns], f"pair-{question}")
    return [(_cell(row.get(text)), _cell(row.get(pair)) if pair else None) for row in table.rows]


def _given(table: Rows | None, texts: Texts) -> list[dict[str, str]]:
    """What was given, row by row: every column of a table, or the lines."""
    if table:
        return [{column: _cell(row.get(column)) for column in table.columns} for row in table.rows]
    return [{"text": text} for text, _ in texts]


def beside(given: Sequence[dict], said: Sequence[dict]) -> list[dict]:
    """The given rows with what was said of each behind them, as `predict_texts` has it, in columns that no given one is
    called.

    >>> beside([{"id": "7", "label": "1"}], [{"text": "Tea.", "label": "no", "error": ""}])
    [{'id': '7', 'label': '1', 'predicted': 'no', 'error': ''}]
    >>> beside([{"predicted": "yes", "Error": "none"}], [{"text": "Tea.", "label": "no", "error": ""}])
    [{'predicted': 'yes', 'Error': 'none', 'predicted_2': 'no', 'error_2': ''}]
    """
    taken = {column.lower() for row in given[:1] for column in row}
    names = {}
    for column in (column for row in said[:1] for column in row if column not in ("text", "pair")):
        wanted = ANSWERS.get(column, column)
        more = (f"{wanted}_{number}" for number in count(2))
        names[column] = next(name for name in chain([wanted], more) if name.lower() not in taken)
        taken.add(names[column].lower())
    return [
        own | {name: answer[column] for column, name in names.items()} for own, answer in zip(given, said, strict=True)
    ]


def _cell(value: object) -> str:
    """A cell as text; a row without it, null and NaN have none."""
    return "" if value is None or value != value else str(value)


def _progress(texts: Sequence) -> Iterator:
    bar = st.progress(0.0)
    for number, text in enumerate(texts):
        bar.progress(number / len(texts), t("batch-progress", done=number, count=len(texts)))
        yield text
    bar.empty()


def as_csv(rows: Iterable[dict]) -> bytes:
    """A table as CSV; the mark in front tells spreadsheets that it is UTF-8, Hangul included."""
    rows, file = list(rows), io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return b"\xef\xbb\xbf" + file.getvalue().encode("utf-8", "replace")
