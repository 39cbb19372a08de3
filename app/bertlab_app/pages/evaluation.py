"""Evaluation: the metrics of a checkpoint on labelled rows, its confusion matrix, and the hardest examples."""

import streamlit as st
from bertlab_app import frame, selection, url_fields
from bertlab_app.data import sessions
from bertlab_app.i18n import t
from bertlab_app.parts import evaluation, evaluation_results, evaluation_source

from bertlab.training import error_analysis

MAX_ROWS = 500  # the largest number of rows that a user can choose, because all users share the CPU cores
DEFAULT_ROWS = 200  # the number of rows to evaluate if the user does not change it
DEFAULT_EXAMPLE_ROWS = 100  # the same for example rows, which are evaluated as soon as the page opens

frame.heading("evaluation")
with frame.show_errors():
    command = evaluation_source.choose_command()
    checkpoint = selection.open_checkpoint(command)
    loaded = sessions.open_session(checkpoint).loaded
    task = evaluation_source.choose_task(loaded)
    spec = error_analysis.find_task(loaded, task)
    labels, row_language = loaded.config.labels, sessions.open_session(checkpoint).language
    source = evaluation_source.choose_source(spec, labels, row_language)
    if source is None:
        evaluation_source.show_sample_rows(spec, labels, row_language)
    else:
        rows = evaluation.read_rows(checkpoint, loaded, source, task)
        # Example rows have the columns of the task if the task specifies columns; ((), "") stands for these columns.
        has_task_columns = source.is_example and spec.text
        columns = ((), "") if has_task_columns else evaluation_source.choose_columns(spec, rows.result)
        default_rows = DEFAULT_EXAMPLE_ROWS if source.is_example else DEFAULT_ROWS
        max_rows = url_fields.number(
            st.slider, t("evaluation-max-rows"), 50, MAX_ROWS, default_rows, key="most", step=50,
            help=t("evaluation-max-rows-help"),
        )  # fmt: skip
        if evaluation.draw_start_button(checkpoint, source, task, columns, max_rows, len(rows.result)):
            analysis = evaluation.evaluate(checkpoint, loaded, rows, source, task, columns, max_rows)
            texts = [text for row in analysis.result.rows for text in row.texts]
            selection.note_other_language(checkpoint, command, texts)
            evaluation_results.show_metrics(analysis.result)
            selected = evaluation_results.draw_chart(checkpoint, analysis)
            evaluation_results.list_examples(checkpoint, analysis.result, selected)
