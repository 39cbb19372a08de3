"""Labelled rows for evaluations, and the results of evaluations, in caches that all users of the app share."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import streamlit as st

from bertlab.config.errors import BertlabError, DataError
from bertlab.config.languages import Message
from bertlab.config.tasks import TaskSpec
from bertlab.tasks.error_analysis import AnalysisRows, ErrorAnalysis
from bertlab.text.readers.data_file import UPLOAD_LIMITS
from bertlab.text.readers.invalid_rows import InvalidRowAction
from bertlab.text.readers.rows import Rows, read_file
from bertlab.training import error_analysis
from bertlab_app import access
from bertlab_app.data import sessions


def read_rows(
    name: str, content: bytes | None, spec: TaskSpec, split: str, invalid: InvalidRowAction = "skip"
) -> AnalysisRows:
    """Read labelled rows from a file, a directory or an upload."""
    if content is not None:
        return _read_cached(name, content, spec, split, invalid, ())
    modification_times = read_modification_times(name)
    with _report_unreadable(name):
        return _read_cached(str(Path(name).expanduser()), None, spec, split, invalid, modification_times)


def read_modification_times(name: str) -> tuple[tuple[str, float], ...]:
    """Return the modification time of each file at a path; together, the times are a cache key for the rows."""
    access.check_path(name)
    with _report_unreadable(name):
        path = Path(name).expanduser()
        files = path.iterdir() if path.is_dir() else [path]
        return tuple(sorted((str(file), sessions.read_modification_time(file)) for file in files))


@contextmanager
def _report_unreadable(name: str) -> Iterator[None]:
    """Raise a `DataError` for a path that the enclosed block cannot read."""
    try:
        yield
    except BertlabError:
        raise
    except (OSError, RuntimeError, ValueError):
        # These are the errors of an unreadable file, and of a path that is too long, has a null byte, or begins with
        # "~" and an unknown user.
        raise DataError("labelled-rows-not-found", path=access.shorten(name)) from None


@st.cache_resource(max_entries=4, show_spinner=False)
def _read_cached(
    name: str, content: bytes | None, spec: TaskSpec, split: str, invalid: InvalidRowAction, modification_times: tuple
) -> AnalysisRows:
    """Read labelled rows."""
    if content is None:
        return error_analysis.read_labelled_rows(name, spec, split, invalid=invalid)
    with temporary_file(name, content) as path:
        rows = error_analysis.read_labelled_rows(path, spec, split, UPLOAD_LIMITS, invalid)
    invalid_rows = tuple(_remove_prefix(error, f"{path.parent}/") for error in rows.invalid_rows)
    return replace(rows, name=path.name, invalid_rows=invalid_rows)


@contextmanager
def temporary_file(name: str, content: bytes) -> Iterator[Path]:
    """Write an upload to a temporary file, and yield its path.

    The errors of the enclosed block do not mention the temporary directory.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / Path(name).name[-60:]  # the visitor's system may allow longer names than this server
        path.write_bytes(content)
        try:
            yield path
        except BertlabError as error:
            raise _remove_prefix(error, f"{directory}/") from None


def read_upload(upload, **options: bool) -> Rows:
    """Read the rows of an uploaded file; `options` are those of `read_file`."""
    with temporary_file(upload.name, upload.getvalue()) as path:
        return read_file(path, UPLOAD_LIMITS, **options)


def _remove_prefix(value, prefix: str):
    """Remove the path of a directory wherever it occurs in a value."""
    if isinstance(value, str | Path):
        return str(value).replace(prefix, "")
    if isinstance(value, BertlabError | Message):
        params = {name: _remove_prefix(param, prefix) for name, param in value.params.items()}
        return type(value)(value.id.replace(prefix, ""), **params)
    return value


def analyse(
    checkpoint: sessions.CheckpointKey,
    rows_key: tuple,
    rows: AnalysisRows,
    spec: TaskSpec,
    limit: int,
    progress: Callable,
    invalid: InvalidRowAction = "skip",
) -> ErrorAnalysis:
    cached_list = _cached_analysis(checkpoint, rows_key, spec, limit, invalid)
    if not cached_list:
        loaded = sessions.open_session(checkpoint).loaded
        cached_list.append(error_analysis.analyse_errors(loaded, rows, spec, limit, progress, invalid))
    return cached_list[0]


@st.cache_resource(max_entries=16, show_spinner=False)
def _cached_analysis(
    checkpoint: sessions.CheckpointKey, rows_key: tuple, spec: TaskSpec, limit: int, invalid: InvalidRowAction
) -> list:
    """Return the list in which `analyse` stores its result."""
    return []
