"""Write files atomically, and read text and JSON files whose content may be invalid."""

import errno
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bertlab.config.errors import BertlabError, CheckpointError, first_line
from bertlab.config.languages import Message

# error number of the system -> id of the message that gives the reason
_REASON_IDS = {
    errno.ENOENT: "system-no-such-file",
    errno.EACCES: "system-permission-denied",
    errno.ENOSPC: "system-no-space-left",
    errno.EROFS: "system-read-only",
    errno.EISDIR: "system-is-a-directory",
    errno.ENOTDIR: "system-not-a-directory",
}


def write_atomically(path: Path, text: str) -> None:
    """Write a text file (UTF-8) completely or not at all. Its directory is created if necessary.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_atomically(Path(directory) / "new" / "tea.txt", "green\\n")
    ...     [(path.name, path.read_text()) for path in Path(directory, "new").iterdir()]
    [('tea.txt', 'green\\n')]
    """
    fill_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))


def fill_atomically(path: Path, fill: Callable[[Path], object], *, make_directory: bool = True) -> None:
    """Let a function write a file beside `path`, then rename it to `path`.

    Args:
        fill: writes the file at the path that it is given.
    """
    temporary_path = path.with_name(f".{path.name}.building")
    try:
        if make_directory:
            path.parent.mkdir(parents=True, exist_ok=True)
        fill(temporary_path)
        temporary_path.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary_path.unlink()
        raise BertlabError("file-not-writable", path=path, reason=describe_system_error(error)) from error


def read_text(path: Path) -> str:
    """Read a text file of a checkpoint (UTF-8, with or without a byte order mark)."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise CheckpointError("file-not-utf8", path=path) from None
    except (OSError, ValueError) as error:  # ValueError: the path contains a null character
        raise CheckpointError("file-not-readable", path=path, reason=describe_system_error(error)) from None


def read_json_object(path: Path) -> dict:
    """Read a file of a checkpoint that contains a JSON object."""
    text = read_text(path)
    try:
        fields = json.loads(text)
    # ValueError also means an integer with too many digits; RecursionError means too many nested levels.
    except (ValueError, RecursionError):
        raise CheckpointError("json-invalid", path=path) from None
    if not isinstance(fields, dict):
        raise CheckpointError("json-not-an-object", path=path, type=type(fields).__name__)
    return fields


def describe_system_error(error: BaseException) -> Message | str:
    """Return the reason why an operation on a file failed, as a parameter for an error message.

    >>> str(describe_system_error(OSError(errno.ENOSPC, "No space left on device")))
    'No space left on device'
    """
    if isinstance(error, OSError) and error.errno in _REASON_IDS:
        return Message(_REASON_IDS[error.errno])
    return getattr(error, "strerror", None) or first_line(error)
