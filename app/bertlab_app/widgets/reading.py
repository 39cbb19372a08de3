"""Answer a question about a passage on a page, with a progress bar for a long passage."""

import streamlit as st

from bertlab_app import calls
from bertlab_app.data import sessions
from bertlab_app.i18n import t
from bertlab_app.widgets import frame

MAX_ANSWERS = 10  # how many candidate answers the pages about questions compute at most


def call_xray(
    checkpoint: sessions.CheckpointKey, question: str, text: str
) -> tuple[calls.Expression, calls.Expression]:
    """Find the answers to a question, and the prediction for every window of the passage."""
    with st.spinner(t("answer-reading")):
        bar = frame.progress_bar(st.empty(), "answer-progress")
        passage = calls.assign("passage", text)
        options = {"n_best": MAX_ANSWERS, "progress": bar}
        return passage, calls.call_session(checkpoint, "xray", question, passage, **options)
