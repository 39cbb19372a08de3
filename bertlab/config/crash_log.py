"""Write unexpected exceptions to a log file, so that the user sees one line with an id instead of a stack trace.

The file is `$XDG_STATE_HOME/bertlab/errors.log` or, without this variable, `~/.local/state/bertlab/errors.log`.
"""

import os
import secrets
import sys
import time
import traceback
from pathlib import Path

from bertlab.config.errors import BertlabError, first_line

MAX_BYTES = 1_000_000  # a larger log is renamed to errors.log.1 before the next entry


def find_log_path() -> Path:
    """Return the path of the log: errors.log in `$XDG_STATE_HOME/bertlab`, or in `~/.local/state/bertlab`."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "bertlab" / "errors.log"


def log_unexpected_error(error: BaseException, where: str) -> BertlabError:
    """Append the stack trace of an unexpected exception to the log, and return the error to show to the user.

    With the environment variable `BERTLAB_TRACEBACK=1` the stack trace is also printed to standard error.
    """
    id = secrets.token_hex(3)
    stack_trace = "".join(traceback.format_exception(error))
    if os.environ.get("BERTLAB_TRACEBACK") == "1":
        print(stack_trace, end="", file=sys.stderr)
    reason = f"{type(error).__name__}: {first_line(error)}"
    entry = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {id} {where}\n{stack_trace}\n"
    try:
        path = find_log_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MAX_BYTES:
            path.replace(path.with_name(f"{path.name}.1"))
        with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(entry)
    except (OSError, RuntimeError):  # the home directory is missing or read-only
        return BertlabError("unexpected-error-without-log", reason=reason)
    return BertlabError("unexpected-error", reason=reason, id=id, path=str(path))
