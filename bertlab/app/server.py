"""Preparation of the server process: the limit on open files, a limit on repeated log messages, and slow imports."""

import contextlib
import logging
import threading
import time
from functools import cache
from importlib import import_module

OPEN_FILES = 16_384  # each visitor needs about three; macOS allows 256 for the whole process by default
SLOW_MODULES = ("pandas", "sklearn.cluster", "sklearn.manifold")  # for tables, and for the page Sentences
MAX_REPEATS = 3  # how often the same message is logged within a minute


def raise_open_file_limit(count: int = OPEN_FILES) -> int:
    """Raise the soft limit on open files as far as the system allows.

    Args:
        count: the number of open files to allow.

    Returns:
        The soft limit afterwards; 0 on Windows, which has no such limit.
    """
    try:
        import resource  # only on Unix
    except ImportError:
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        with contextlib.suppress(OSError, ValueError):  # macOS allows less than it reports
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class RepeatFilter(logging.Filter):
    """Log the same message at most `MAX_REPEATS` times within a minute.

    A server that has run out of open files would log the same traceback thousands of times per second.
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
        return self._counts[key] <= MAX_REPEATS


@cache
def prepare() -> None:
    """Prepare the server process. Later calls have no effect."""
    raise_open_file_limit()
    for name in ("asyncio", "tornado.application", "tornado.general", "uvicorn.error"):
        logging.getLogger(name).addFilter(RepeatFilter())


@cache
def import_slow_modules() -> None:
    """Start to import `SLOW_MODULES` in the background, so that the first page with a table or a map does not wait.

    Call this after a page is drawn. Later calls have no effect.
    """
    threading.Thread(target=lambda: [import_module(name) for name in SLOW_MODULES], daemon=True).start()
