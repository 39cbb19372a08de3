"""An exclusive file lock between processes. Apart from bertlab, this module uses only the standard library."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bertlab.config.errors import BertlabError
from bertlab.config.files import describe_system_error
from bertlab.config.languages import Message

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


@contextmanager
def exclusive_lock(path: Path, owner: str | Message) -> Iterator[None]:
    """Hold a lock for the duration of a `with` block. If the process is killed, the operating system releases it.

    On systems without such locks (Windows, some network file systems) the block runs without a lock.

    Args:
        path: the lock file, an empty file that is not removed; its directory is created if necessary.
        owner: the activity that holds the lock, for the error message ("the run in runs/en").

    Raises:
        BertlabError: another process holds the lock, or the lock file cannot be created.
    """
    if fcntl is None:
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except (OSError, ValueError) as error:  # ValueError: the path contains a null character
        raise BertlabError("file-not-writable", path=path, reason=describe_system_error(error)) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BertlabError("lock-held", owner=owner) from None
        except OSError:
            pass  # the file system does not support locks
        try:
            yield
        finally:
            # Closing the file would not release the lock while a worker process still has it open.
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)
