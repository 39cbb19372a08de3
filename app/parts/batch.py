"""Many texts at once: paste or upload them, look at what is said of each, download it. Computes nothing."""

import csv
import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import streamlit as st

from app import components, loaders, url
from app.i18n import t
from bertlab.explore.many import PAIR_NAMES, TEXT_NAMES, ask_many, guess_column
from bertlab.text.rows import Rows, read_file

MOST = 2_000  # rows that are asked of one visit: the cores are everybody's
Texts = list[tuple[str, str | None]]


def box(checkpoint: loaders.Checkpoint, question: str) -> None:
    """The box at the foot of a page. question: "classify" or "tag"."""
    with st.expander(t("batch"), icon=":material/table_rows:"), components.told():
        left, right = st.columns(2)
        pasted = url.text(
            left.text_area, t("batch.paste"), "", key=f"batch-{question}", placeholder=t("batch.paste.help")
        )
        upload = right.file_uploader(t("batch.file"), ["csv", "tsv", "jsonl", "parquet"], key=f"upload-{question}")
        texts = (
            _uploaded(upload, question) if upload else [(line, None) for line in pasted.splitlines() if line.strip()]
        )
        if not texts:
            st.caption(t("batch.empty"))
            return
        if len(texts) > MOST:
            components.note(t("batch.most", most=MOST, count=len(texts)))
        kept, asked = f"batch-said-{question}", (checkpoint, question, tuple(texts[:MOST]))
        if st.button(t("batch.ask", count=min(len(texts), MOST)), icon=":material/play_arrow:", key=f"ask-{question}"):
            said = ask_many(loaders.session(checkpoint), question, texts[:MOST], _progress)
            st.session_state[kept] = (asked, said)
        found = st.session_state.get(kept)
        if found and found[0] == asked:
            st.dataframe(found[1], hide_index=True)
            st.download_button(
                t("batch.download"), as_csv(found[1]), f"{question}.csv", "text/csv", on_click="ignore",
                icon=":material/download:",
            )  # fmt: skip


def _uploaded(upload, question: str) -> Texts:
    """The texts of a file in the columns that are chosen. Raises DataError: it cannot be read."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"upload{Path(upload.name).suffix.lower()}"
        path.write_bytes(upload.getvalue())
        rows: Rows = read_file(path)
    columns = list(rows.columns)
    left, right = st.columns(2)
    guess = guess_column(columns, TEXT_NAMES)
    text = left.selectbox(t("batch.column"), columns, columns.index(guess) if guess else 0, key=f"text-{question}")
    pair = None
    if question == "classify":
        second = guess_column(columns, PAIR_NAMES)
        pair = right.selectbox(
            t("batch.pair"), ["", *columns], 1 + columns.index(second) if second else 0, key=f"pair-{question}",
            format_func=lambda name: name or t("batch.pair.none"),
        )  # fmt: skip
    return [(str(row[text] or ""), str(row[pair] or "") if pair else None) for row in rows.rows]


def _progress(texts: Sequence) -> Iterator:
    bar = st.progress(0.0)
    for number, text in enumerate(texts):
        bar.progress(number / len(texts), t("batch.progress", done=number, count=len(texts)))
        yield text
    bar.empty()


def as_csv(rows: Iterable[dict]) -> bytes:
    """A table as CSV; the mark in front tells spreadsheets that it is UTF-8, Hangul included."""
    rows, file = list(rows), io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return b"\xef\xbb\xbf" + file.getvalue().encode("utf-8", "replace")
