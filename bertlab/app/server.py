"""What the server process of the app needs once: more open files, and a log that stays small."""

import contextlib
import logging
import time
from functools import cache

OPEN_FILES = 16_384  # every visitor holds about three open files; macOS allows 256 in all by default
REPEATS = 3  # how often one message may be logged in a minute


def raise_open_file_limit(count: int = OPEN_FILES) -> int:
    """Raise the soft limit of open files as far as the system allows.

    Args:
        count: the limit to aim at.

    Returns:
        The soft limit afterwards; 0 on systems without such a limit.
    """
    try:
        import resource  # only on Unix
    except ImportError:
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    aim = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < aim:
        with contextlib.suppress(OSError, ValueError):  # macOS allows less than it reports
            resource.setrlimit(resource.RLIMIT_NOFILE, (aim, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class RepeatFilter(logging.Filter):
    """Drop a message that was logged several times within a minute.

    A server that has run out of open files logs the same stack thousands of times in a second.
    """

    def __init__(self):
        super().__init__()
        self._minute, self._counts = 0, {}

    def filter(self, record: logging.LogRecord) -> bool:
        minute = int(time.time() // 60)
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        key = (record.name, record.levelno, record.msg)
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key] <= REPEATS


@cache
def prepare() -> None:
    """Prepare the server process. Only the first call has an effect."""
    raise_open_file_limit()
    for name in ("asyncio", "tornado.application", "tornado.general", "uvicorn.error"):
        logging.getLogger(name).addFilter(RepeatFilter())
