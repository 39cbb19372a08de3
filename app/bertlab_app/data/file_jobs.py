"""Jobs on whole files. A job predicts every row of an uploaded file, in a process of its own; one job runs at a time.

A job is stored in its own subdirectory of `runs/files`, so it survives a restart of the browser or the server. The id
of a job is random, and the address of the page that shows the job contains it.
"""

import re
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import BinaryIO

from bertlab.abilities.files import predictions as file_predictions
from bertlab.abilities.files.predictions import FileJob, JobState
from bertlab.config.errors import BertlabError, DataError
from bertlab.config.files import describe_system_error
from bertlab.config.languages import Message
from bertlab.config.lock import exclusive_lock
from bertlab.text.readers.registry import find_suffix
from bertlab_app import access
from bertlab_app.data.background import BackgroundProcess, read_last_line
from bertlab_app.data.file_worker import LOCK, RUNNING

MAX_JOBS = 50  # the maximum number of stored jobs, running or ended
_ID_PATTERN = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{16}")  # date, time, random digits


@dataclass(frozen=True)
class StoredJob:
    """A job and its progress."""

    id: str  # its id, which is the name of its directory
    job: FileJob  # its settings
    state: JobState  # its progress. The status "interrupted" means that its process ended too early.
    is_running: bool  # whether its process is running

    @property
    def directory(self) -> Path:
        return _root() / self.id

    @property
    def is_cancelling(self) -> bool:
        """Whether the job was cancelled, and its process is still computing its current rows."""
        return self.is_running and (self.directory / file_predictions.CANCEL).exists()


@cache
def _background_process() -> BackgroundProcess:
    return BackgroundProcess()


def _root() -> Path:
    """Return the directory that contains the directories of the jobs."""
    return Path(access.JOB_DIRECTORY)


def start(job: FileJob, write_file: Callable[[BinaryIO], object]) -> str:
    with _background_process().lock:
        _check_no_job_runs()
        if len(_list_ids()) >= MAX_JOBS:
            raise BertlabError("file-job-too-many", limit=MAX_JOBS)
        id = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(8)}"
        directory = _root() / id
        job = replace(job, file=f"input{find_suffix(job.title) or ''}", created=time.time())
        try:
            directory.mkdir(parents=True)
            with (directory / job.file).open("wb") as stream:
                write_file(stream)
            file_predictions.write_job(directory, job)
        except (OSError, BertlabError) as error:
            shutil.rmtree(directory, ignore_errors=True)
            if isinstance(error, BertlabError):
                raise
            raise BertlabError("file-not-writable", path=job.title, reason=describe_system_error(error)) from None
        _start_process(directory)
    return id


def resume(id: str) -> None:
    """Continue a job after its last stored row."""
    with _background_process().lock:
        stored_job = find(id)
        _check_no_job_runs()
        (stored_job.directory / file_predictions.CANCEL).unlink(missing_ok=True)
        file_predictions.write_state(stored_job.directory, replace(stored_job.state, status="waiting", reason=""))
        _start_process(stored_job.directory)


def cancel(id: str) -> None:
    """Request that a job stops after the rows that it is computing; its results so far remain."""
    directory = find(id).directory
    with suppress(OSError):
        (directory / file_predictions.CANCEL).touch()


def delete(id: str) -> None:
    """Delete a job that is not running, with its file and its results."""
    with _background_process().lock:
        stored_job = find(id)
        if stored_job.is_running:
            raise BertlabError("file-job-busy", title=stored_job.job.title)
        shutil.rmtree(stored_job.directory, ignore_errors=True)


def find(id: str) -> StoredJob:
    if not _ID_PATTERN.fullmatch(id) or not (_root() / id / "job.json").is_file():
        raise DataError("file-job-not-found")
    directory = _root() / id
    job, state = file_predictions.read_job(directory), file_predictions.read_state(directory)
    is_running = _find_running_id() == id
    if not is_running and state.status in ("waiting", "running"):
        state = file_predictions.read_state(directory)  # the job may have finished meanwhile
        if state.status in ("waiting", "running"):
            state = replace(state, status="interrupted", reason=read_last_line(directory))
    return StoredJob(id, job, state, is_running)


def list_jobs(command: str) -> list[StoredJob]:
    """List the jobs that predict with one command, such as `classify`, the latest first."""
    jobs = []
    for id in _list_ids():
        with suppress(BertlabError):  # the job is damaged, or was deleted meanwhile
            jobs.append(find(id))
    return [stored_job for stored_job in jobs if stored_job.job.command == command]


def find_running() -> StoredJob | None:
    """Find the job that is running, even if another server started it; None if no job is running."""
    id = _find_running_id()
    with suppress(BertlabError):
        return find(id) if id else None
    return None


def _find_running_id() -> str:
    process = _background_process()
    if process.is_running():
        return process.directory.name
    # another server may run a job in the same directory; the process of the job holds the lock
    try:
        with exclusive_lock(_root() / LOCK, Message("file-job-owner")):
            return ""
    except BertlabError as error:
        if error.id != "lock-held":
            return ""
    with suppress(OSError):
        return (_root() / RUNNING).read_text(encoding="utf-8").strip()
    return ""


def _check_no_job_runs() -> None:
    if _find_running_id():
        running_job = find_running()
        raise BertlabError("file-job-busy", title=running_job.job.title if running_job else "–")


def _start_process(directory: Path) -> None:
    _background_process().start("bertlab_app.data.file_worker", directory, {"directory": str(directory)})


def _list_ids() -> list[str]:
    with suppress(OSError):
        return sorted((path.name for path in _root().iterdir() if _ID_PATTERN.fullmatch(path.name)), reverse=True)
    return []
