"""Evaluation: the metrics of a checkpoint on labelled rows, its confusion matrix, and the hardest examples."""

import streamlit as st

from bertlab.app import frame, selection, url
from bertlab.app.data import sessions
from bertlab.app.i18n import t
from bertlab.app.parts import evaluation
from bertlab.training import error_analysis

MAX_ROWS = 500  # rows of one evaluation, because all users share the cores

frame.heading("evaluation")
with frame.show_errors():
    checkpoint = selection.open_checkpoint(evaluation.question())
    loaded = sessions.open_session(checkpoint).loaded
    task = evaluation.task(loaded)
    spec = error_analysis.find_task(loaded, task)
    source = evaluation.source(spec)
    if source is None:
        evaluation.show_sample_rows(spec, loaded.config.labels, sessions.open_session(checkpoint).language)
    else:
        rows = evaluation.read_rows(checkpoint, loaded, source, task)
        columns = evaluation.columns(spec, rows.result)
        most = url.number(
            st.slider,
            t("evaluation-max-rows"),
            50,
            MAX_ROWS,
            200,
            key="most",
            step=50,
            help=t("evaluation-max-rows-help"),
        )
        if evaluation.is_requested(checkpoint, source, task, columns, most, len(rows.result)):
            analysis = evaluation.evaluate(checkpoint, loaded, rows, source, task, columns, most)
            evaluation.show_metrics(analysis.result)
            members = evaluation.chart(checkpoint, analysis)
            evaluation.list_examples(checkpoint, analysis.result, members)
