"""Preparation of the server process: the limit on open files, a limit on repeated log messages, imports that take
seconds, and garbage collection."""

import contextlib
import gc
import logging
import threading
import time
from functools import cache
from importlib import import_module

# How many files the process may open at once: each visitor needs about three, and macOS allows only 256 by default.
OPEN_FILE_LIMIT = 16_384
SLOW_MODULES = ("sklearn.cluster", "sklearn.manifold")  # modules of the page Sentences whose import takes seconds
_import_lock = threading.Lock()
MAX_REPEATS = 3  # how often the same message is logged within a minute


def raise_open_file_limit(count: int = OPEN_FILE_LIMIT) -> int:
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
        self._minute, self._counts = 0, {}  # minutes since 1970; {message: how often it was logged in this minute}

    def filter(self, record: logging.LogRecord) -> bool:
        """Count a message, and return whether it is logged."""
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
def import_in_background() -> None:
    """Start to import `SLOW_MODULES`, so that the first page that needs them waits less. Later calls have no effect.

    Call this after a page is drawn.
    """
    threading.Thread(target=_import_and_freeze, daemon=True).start()


def _import_and_freeze() -> None:
    """Import `SLOW_MODULES`, then exempt all objects of the process so far from garbage collection."""
    import_slow_modules()
    gc.collect()
    gc.freeze()


def import_slow_modules() -> None:
    """Import `SLOW_MODULES`; wait if another thread is importing them.

    Call this before the modules are used: if two threads import the modules of a package in different orders, one
    thread can get a module that the other one has not finished importing.
    """
    with _import_lock:
        for name in SLOW_MODULES:
            import_module(name)
