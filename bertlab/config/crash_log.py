"""Write an unforeseen exception to a log file, so that a user sees one line with an id and no stack.

The file is `errors.log` in `$XDG_STATE_HOME/bertlab`, or else in `~/.local/state/bertlab`.
"""

import os
import secrets
import sys
import time
import traceback
from pathlib import Path

from bertlab.config.errors import BertlabError, first_line

MAX_BYTES = 1_000_000  # a log that is larger is set aside as errors.log.1 before the next entry


def log_path() -> Path:
    """Where the log is, whether or not it exists yet."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "bertlab" / "errors.log"


def unexpected_error(error: BaseException, where: str) -> BertlabError:
    """Append the stack of an unforeseen exception to the log and return the error to show instead.

    With the environment variable `BERTLAB_TRACEBACK=1` the stack is also printed to standard error.

    Args:
        error: the exception, as it was caught.
        where: the command or page that raised it, for the log.
    """
    id = secrets.token_hex(3)
    stack = "".join(traceback.format_exception(error))
    if os.environ.get("BERTLAB_TRACEBACK") == "1":
        print(stack, end="", file=sys.stderr)
    reason = f"{type(error).__name__}: {first_line(error)}"
    entry = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {id} {where}\n{stack}\n"
    try:
        path = log_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MAX_BYTES:
            path.replace(path.with_name(f"{path.name}.1"))
        with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(entry)
    except (OSError, RuntimeError):  # a home directory that is missing or read-only
        return BertlabError("unexpected-error-without-log", reason=reason)
    return BertlabError("unexpected-error", reason=reason, id=id, path=str(path))
