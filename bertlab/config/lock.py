"""An exclusive file lock between processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from bertlab.config.errors import BertlabError
from bertlab.config.files import describe_system_error
from bertlab.config.languages import Message


@contextmanager
def exclusive_lock(path: Path, owner: str | Message) -> Iterator[None]:
    """Hold a lock for the duration of a `with` block; BertlabError if another process holds it.

    Args:
        path: the lock file; its directory is created if necessary.
        owner: the activity that holds the lock, for the error message ("the run in runs/en").
    """
    lock = FileLock(path, blocking=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise BertlabError("lock-held", owner=owner) from None
    except (OSError, ValueError) as error:  # ValueError: the path contains a null character
        raise BertlabError("file-not-writable", path=path, reason=describe_system_error(error)) from error
    try:
        yield
    finally:
        lock.release()
