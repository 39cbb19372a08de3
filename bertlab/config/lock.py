"""What two processes must not do at once, one does. Standard library only; knows nothing of what is done."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bertlab.config.errors import BertlabError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


@contextmanager
def exclusive_lock(path: Path, what: str) -> Iterator[None]:
    """Hold a lock while a block lasts. The system takes it back from a process that ends, however that ends.

    Where there are no such locks (Windows, some network disks) nothing is held and nobody refused.

    Args:
        path: of the lock, an empty file that stays; its directory is made if there is none.
        what: is under way while the lock is held, as a refusal calls it.

    Raises:
        BertlabError: another process holds it, or the file cannot be made.
    """
    if fcntl is None:
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise BertlabError(f"{path} cannot be written: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BertlabError(
                f"{what} is under way in another process: wait until that ends, or choose another --out"
            ) from None
        except OSError:
            pass  # a disk without locks
        try:
            yield
        finally:
            # closing does not do, while a helping process has the file too
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)
