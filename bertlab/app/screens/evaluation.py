"""Evaluation: the metrics of a checkpoint on labelled rows, its confusion matrix, and the hardest examples."""

import streamlit as st

from bertlab.app import frame, selection, url
from bertlab.app.data import labelled_rows, sessions
from bertlab.app.i18n import t
from bertlab.app.parts import evaluation
from bertlab.training import error_analysis

MAX_ROWS = 500  # rows of one evaluation, because all users share the cores

frame.heading("evaluation")
with frame.show_errors():
    checkpoint = selection.open_checkpoint(evaluation.question())
    loaded = sessions.session(checkpoint).loaded
    task = evaluation.task(loaded)
    spec = error_analysis.find_task(loaded, task)
    source = evaluation.source(spec)
    if source is None:
        evaluation.show_sample_rows(spec, loaded.config.labels, sessions.session(checkpoint).language)
    else:
        rows = labelled_rows.read(source.name, source.content, spec, source.split)
        columns = evaluation.columns(spec, rows)
        spec = error_analysis.find_task(loaded, task, *columns)
        most = url.number(
            st.slider, t("evaluation-most"), 50, MAX_ROWS, 200, key="most", step=50, help=t("evaluation-most-help")
        )
        if evaluation.is_requested(checkpoint, source, task, columns, most, len(rows)):
            key = (source.name, source.stamp, source.split, *columns)
            found = labelled_rows.analyse(checkpoint, key, rows, spec, most, evaluation.progress)
            evaluation.show_metrics(found)
            opened = evaluation.steps(source, task, columns, most)
            members = evaluation.chart(checkpoint, found, opened)
            evaluation.list_examples(checkpoint, found, members)
