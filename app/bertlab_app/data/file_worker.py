"""The process of a job on a whole file. `bertlab_app.data.file_jobs` starts it as `python -m ... JSON`."""

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import torch

import bertlab
from bertlab.abilities.files.predictions import read_job, read_state, run_job, write_state
from bertlab.config.errors import BertlabError
from bertlab.config.files import write_atomically
from bertlab.config.languages import Message
from bertlab.config.lock import exclusive_lock
from bertlab.text.readers.encoding import make_printable

# Two files beside the directories of the jobs: the lock that the running job holds, and a text file with the job's id.
LOCK, RUNNING = ".lock", ".running"
NICENESS = 5  # added to the niceness of the process, so that the pages have priority over the job
# How often the job tries to take the lock, and the seconds between two attempts. Several attempts are needed because a
# page that checks whether a job is running holds the lock for a moment.
LOCK_ATTEMPTS, LOCK_SECONDS = 20, 0.1


def work(directory: Path) -> int:
    """Run a job to its end. Return the exit code: 0, or 2 if the job failed; the job's state then gives the reason."""
    with suppress(OSError, AttributeError):  # Windows has no `os.nice`
        os.nice(NICENESS)
    torch.set_num_threads(1)
    for attempt in range(LOCK_ATTEMPTS):
        try:
            with exclusive_lock(directory.parent / LOCK, Message("file-job-owner")):
                write_atomically(directory.parent / RUNNING, directory.name)
                return _run(directory)
        except BertlabError as error:
            if error.id != "lock-held" or attempt == LOCK_ATTEMPTS - 1:
                _record_failure(directory, error)
                return 2
            time.sleep(LOCK_SECONDS)
    return 2


def _run(directory: Path) -> int:
    """Run a job while this process holds the lock."""
    try:
        run_job(bertlab.load(read_job(directory).checkpoint), directory)
    except BertlabError as error:
        _record_failure(directory, error)
        return 2
    except Exception as error:
        write_state(
            directory, replace(read_state(directory), status="failed", reason=make_printable(repr(error))[:300])
        )
        raise
    return 0


def _record_failure(directory: Path, error: BertlabError) -> None:
    """Write to the state of a job that it failed, with the message of the error in the language of the job."""
    reason = error.render(read_job(directory).language)
    write_state(directory, replace(read_state(directory), status="failed", reason=reason))


if __name__ == "__main__":
    sys.exit(work(Path(json.loads(sys.argv[1])["directory"])))
