"""Sentences: a vector for each line, a map of the vectors with clusters, and the cosines of the lines."""

import os

import streamlit as st
from bertlab_app import calls, fields, frame, selection
from bertlab_app.data import sessions
from bertlab_app.i18n import t
from bertlab_app.parts import files, sentences_input, sentences_views

LANGUAGE_SAMPLE = 50  # how many lines at the beginning are read to recognise the language
MAX_LINES_IN_CODE = 200  # if there are more lines, the Python code on the page reads them from a file


def make_lines_expression(lines: sentences_input.Lines) -> calls.Expression:
    """Make the expression of the lines; if there are many or they were uploaded, the code reads them from a file."""
    if not lines.file and len(lines.texts) <= MAX_LINES_IN_CODE:
        return calls.assign("lines", lines.texts)
    steps = (
        "from bertlab.text.readers.text_file import read_texts",
        f"lines = read_texts({lines.file or 'lines.txt'!r}).texts[:{sentences_input.MAX_LINES}]",
    )
    return calls.Expression(lines.texts, "lines", steps)


def show_vectors(lines: sentences_input.Lines) -> None:
    """Compute the vectors of at least two lines, and show them."""
    checkpoint = selection.open_checkpoint("embed", *lines.texts[:LANGUAGE_SAMPLE])
    if len(set(lines.texts)) == 1:
        frame.note(t("sentences-all-equal", count=len(lines.texts)))
    lines_expression, progress = make_lines_expression(lines), frame.progress_bar(st.empty(), "sentences-progress")
    vectors = calls.call_session(checkpoint, "sentence_vectors", lines_expression, progress=progress)
    name = os.path.basename(sessions.open_session(checkpoint).name)
    if vectors.result.unreadable_indices:
        frame.note(t("sentences-unreadable-page", count=len(vectors.result.unreadable_indices), checkpoint=name))
    if not vectors.result.is_checkpoint_suited:
        frame.note(t("sentences-untrained-page", checkpoint=name))
    if vectors.result.truncated:
        frame.note(t("sentences-cut", count=len(vectors.result.truncated)))
    clusters = sentences_views.draw_map(checkpoint, lines_expression, vectors)
    views = {name: t(f"sentences-view-{name}") for name in ("neighbours", "selection", "similar", "matrix")}
    view = fields.choice(
        st.segmented_control, t("sentences-view"), views, "view", required=True, label_visibility="collapsed"
    )
    if view == "selection":
        sentences_views.draw_selection(lines.texts, clusters)
    elif view == "neighbours":
        sentences_views.draw_neighbours(lines.texts, vectors)
    elif view == "similar":
        sentences_views.draw_similar(checkpoint, lines.texts, vectors)
    else:
        sentences_views.draw_matrix(lines_expression, vectors, clusters)


frame.heading("sentences")
with frame.show_errors():
    lines = sentences_input.read_lines(selection.examples_for("embed").headlines)
    if len(lines.texts) < 2:
        frame.note(t("sentences-too-few", count=len(lines.texts)))
    else:
        show_vectors(lines)
files.draw_panel("embed")
