"""Labelled rows to evaluate on, and the results of evaluations, cached for everybody who uses this app."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import streamlit as st

from bertlab.app import access
from bertlab.app.data import sessions
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.languages import Message
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.error_analysis import AnalysisRows, ErrorAnalysis
from bertlab.text.readers.data_file import UPLOAD_LIMITS
from bertlab.training import error_analysis


def read(name: str, content: bytes | None, spec: TaskSpec, split: str) -> AnalysisRows:
    """Read labelled rows from a file or a directory, or from an upload.

    Args:
        name: the path, or the name of the upload.
        content: the bytes of the upload; None for a path.
        spec: the task of the rows.
        split: which split of a directory, such as "validation".

    Raises:
        DataError: they cannot be read, or a visitor may not read them.
    """
    if content is not None:
        return _read(name, content, spec, split, ())
    access.check_path(name)
    try:
        path = Path(name).expanduser()
        files = path.iterdir() if path.is_dir() else [path]
        stamp = tuple(sorted((str(file), sessions.modified(file)) for file in files))
        return _read(str(path), None, spec, split, stamp)
    except (OSError, RuntimeError, ValueError) as error:  # a name that is too long, an unknown user, a null byte
        if isinstance(error, BertlabError):
            raise
        raise DataError("labelled-rows-not-found", path=access.shorten(name)) from None


@st.cache_resource(max_entries=4, show_spinner=False)
def _read(name: str, content: bytes | None, spec: TaskSpec, split: str, stamp: tuple) -> AnalysisRows:
    if content is None:
        return error_analysis.read_labelled_rows(name, spec, split)
    with temporary_file(name, content) as path:
        rows = error_analysis.read_labelled_rows(path, spec, split, UPLOAD_LIMITS)
    invalid = tuple(_without(error, f"{path.parent}/") for error in rows.invalid_rows)
    return replace(rows, name=path.name, invalid_rows=invalid)


@contextmanager
def temporary_file(name: str, content: bytes) -> Iterator[Path]:
    """Write an upload to a temporary file and yield its path. Errors do not mention the temporary directory."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / Path(name).name[-60:]  # another system may allow longer names than this one
        path.write_bytes(content)
        try:
            yield path
        except BertlabError as error:
            raise _without(error, f"{directory}/") from None


def _without(value, prefix: str):
    """A value with a prefix removed from every path in it: a text, or an error or message with its parameters."""
    if isinstance(value, str | Path):
        return str(value).replace(prefix, "")
    if isinstance(value, BertlabError | Message):
        params = {name: _without(param, prefix) for name, param in value.params.items()}
        return type(value)(value.id.replace(prefix, ""), **params)
    return value


def analyse(
    checkpoint: sessions.Checkpoint, source: tuple, rows: AnalysisRows, spec: TaskSpec, limit: int, progress: Callable
) -> ErrorAnalysis:
    """Evaluate a checkpoint on labelled rows; the same evaluation is computed once.

    Args:
        source: identifies the rows among all others, in strings and numbers.
        limit: the number of rows to evaluate on.
        progress: wraps the batches.

    Raises:
        BertlabError: the checkpoint does not fit the rows.
    """
    slot = _analysis_slot(checkpoint, source, spec, limit)
    if not slot:
        slot.append(error_analysis.analyse_errors(sessions.session(checkpoint).loaded, rows, spec, limit, progress))
    return slot[0]


@st.cache_resource(max_entries=16, show_spinner=False)
def _analysis_slot(checkpoint: sessions.Checkpoint, source: tuple, spec: TaskSpec, limit: int) -> list:
    return []  # filled by `analyse`, since a cached function cannot report progress
