"""The computation on the Evaluation page: read the rows and, after a click, evaluate a checkpoint on them."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import DataError
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.error_analysis import AnalysisRows, ErrorAnalysis
from bertlab.tasks.example_rows import write_example_rows
from bertlab.text.readers.invalid_rows import InvalidRowAction
from bertlab.training import error_analysis
from bertlab_app import calls, url
from bertlab_app.data import labelled_rows, sessions
from bertlab_app.i18n import t
from bertlab_app.parts.evaluation_source import Source


def draw_start_button(
    checkpoint: sessions.CheckpointKey, source: Source, task: str, columns: tuple, max_rows: int, total: int
) -> bool:
    """Draw the button that starts the evaluation. Example rows are evaluated immediately, so they have no button."""
    if source.is_example:
        return True
    name = sessions.loadable_name(checkpoint)
    settings: tuple = (name, source.name, source.split, source.content_hash, task, columns, max_rows)
    # the default is left out, because older links have a hash without this setting
    if source.invalid_row_action != "skip":
        settings = (*settings, source.invalid_row_action)
    settings_hash = hashlib.blake2s(repr(settings).encode("utf-8", "replace")).hexdigest()[:8]
    if source.content is not None and url.recall("from") == "upload":
        st.caption(t("evaluation-upload-not-in-link"))
    is_clicked = st.button(
        t("evaluation-run", count=min(max_rows, total)), icon=":material/play_arrow:", type="primary"
    )
    started_hash = settings_hash if is_clicked else url.recall("ran")
    url.store("ran", started_hash)
    return started_hash == settings_hash


def read_rows(checkpoint: sessions.CheckpointKey, loaded: Checkpoint, source: Source, task: str) -> calls.Expression:
    """Read the rows of a source, and return them with the Python code that reads them, which the page shows."""

    # `name` is the path in the Python code that the page shows; `labelled_rows` needs the path that the user typed
    def read_source(name: str, spec: TaskSpec, split: str, **options: InvalidRowAction) -> AnalysisRows:
        return labelled_rows.read_rows(source.name, source.content, spec, split, **options)

    # `os.path` returns the home directory of an unknown user ("~nobody") unchanged; `pathlib` would raise
    name = source.name if source.content is not None else os.path.expanduser(source.name)
    spec = calls.assign("spec", _find_task(checkpoint, loaded, task))
    if source.is_example:
        arguments = (name, spec, loaded.config.labels, sessions.open_session(checkpoint).language)
        path_call = calls.call_function(write_example_rows, *arguments, compute_with=lambda name, *_: name)
        name = calls.assign("path", path_call)
    arguments, options = (name, spec, source.split), _invalid_option(source)
    with _suggest_skipping():
        call = calls.call_function(error_analysis.read_labelled_rows, *arguments, compute_with=read_source, **options)
    return calls.assign("rows", call)


def evaluate(
    checkpoint: sessions.CheckpointKey, loaded: Checkpoint, rows: calls.Expression, source: Source, task: str,
    columns: tuple[tuple[str, ...], str], max_rows: int,
) -> calls.Expression:  # fmt: skip
    """Evaluate a checkpoint on rows. Return the `ErrorAnalysis` with the Python code that computes it."""

    def analyse(
        loaded: Checkpoint, rows: AnalysisRows, spec: TaskSpec, max_rows: int, **options: InvalidRowAction
    ) -> ErrorAnalysis:
        modification_times = () if source.content is not None else labelled_rows.read_modification_times(source.name)
        key = (source.name, source.content_hash, modification_times, source.split, *columns)
        return labelled_rows.analyse(checkpoint, key, rows, spec, max_rows, _show_progress, **options)

    loaded_expression, spec = _make_loaded_expression(checkpoint, loaded), _find_task(checkpoint, loaded, task, columns)
    arguments, options = (loaded_expression, rows, spec, max_rows), _invalid_option(source)
    with _suggest_skipping():
        call = calls.call_function(error_analysis.analyse_errors, *arguments, compute_with=analyse, **options)
    return calls.assign("analysis", call)


def _invalid_option(source: Source) -> dict[str, InvalidRowAction]:
    """Return the option for invalid rows; {} for the default, which the Python code on the page leaves out."""
    return {} if source.invalid_row_action == "skip" else {"invalid": source.invalid_row_action}


@contextmanager
def _suggest_skipping() -> Iterator[None]:
    """Reword the error about an invalid row: name the switch on this page instead of the command-line flag."""
    try:
        yield
    except DataError as error:
        if error.id != "invalid-row-stops":
            raise
        raise DataError("evaluation-stopped-at-invalid-row", **error.params) from None


def _show_progress(parts: Sequence) -> Iterator:
    """Show a progress bar while the batches are evaluated."""
    bar = st.progress(0.0)
    for num_done, part in enumerate(parts):
        bar.progress(num_done / len(parts), t("evaluation-progress", share=num_done / len(parts)))
        yield part
    bar.empty()


def _make_loaded_expression(checkpoint: sessions.CheckpointKey, loaded: Checkpoint) -> calls.Expression:
    """Make the expression of an opened checkpoint for the Python code that the page shows."""
    return calls.Expression(loaded, "session.loaded", checkpoint=checkpoint)


def _find_task(
    checkpoint: sessions.CheckpointKey, loaded: Checkpoint, task: str, columns: tuple[tuple[str, ...], str] = ((), "")
) -> calls.Expression:
    """Find the task of the evaluation with `error_analysis.find_task`; the user chose the `columns`."""
    return calls.call_function(error_analysis.find_task, _make_loaded_expression(checkpoint, loaded), task, *columns)
