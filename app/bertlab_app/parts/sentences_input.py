"""The fields of the page Sentences in which a user pastes or uploads the lines to compare."""

from dataclasses import dataclass

import streamlit as st

from bertlab.text.readers.data_file import UPLOAD_LIMITS
from bertlab.text.readers.pasted_table import parse_pasted_table
from bertlab.text.readers.registry import upload_suffixes
from bertlab.text.readers.rows import Rows, format_text, read_file
from bertlab.text.readers.text_file import TEXT_NAMES, choose_text_column, join_lines
from bertlab_app import fields, frame, url_fields
from bertlab_app.data import labelled_rows
from bertlab_app.i18n import t

MAX_LINES = 5_000  # further lines are left out, because all users share the CPU cores


@dataclass(frozen=True)
class Lines:
    """The lines to compare."""

    texts: tuple[str, ...]  # the lines, without those that are blank or have only invisible characters
    file: str = ""  # the name of the uploaded file; "" for pasted lines


def read_lines(example: tuple[str, ...]) -> Lines:
    """Draw the fields, and return the lines; notes say which lines are left out."""
    left, right = st.columns([3, 2])
    pasted_text = url_fields.text(left.text_area, t("sentences-lines"), "\n".join(example), key="lines", height=180)
    fields.note_too_long_for_link(left, pasted_text)
    upload = right.file_uploader(t("sentences-upload"), upload_suffixes(), key="upload-lines")
    right.caption(t("sentences-upload-help", limit=MAX_LINES))
    table = _read_upload(upload) if upload else parse_pasted_table(pasted_text, TEXT_NAMES)
    texts = _choose_column(right, table) if table else pasted_text.splitlines()
    lines = [line for line in map(join_lines, texts) if line]
    if len(lines) > MAX_LINES:
        frame.note(t("sentences-too-many", limit=MAX_LINES, count=len(lines)))
    return Lines(tuple(lines[:MAX_LINES]), upload.name if upload else "")


def _read_upload(upload) -> Rows:
    """Read an uploaded file as a table; a text file has one row for each line."""
    with labelled_rows.temporary_file(upload.name, upload.getvalue()) as path:
        return read_file(path, UPLOAD_LIMITS, by_line=True)


def _choose_column(container, table: Rows) -> list[str]:
    """If a table has several columns, let the user choose one."""
    column = choose_text_column(table.columns, TEXT_NAMES, table.rows)
    if len(table.columns) > 1:
        column = fields.column(container, t("batch-text-column"), column, table.columns, "lines-column")
    return [format_text(row.get(column)) for row in table.rows]
