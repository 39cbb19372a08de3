"""Ctrl-C between two steps, not in the middle of one. Knows only signals."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a line that says what was saved."""


@contextmanager
def held_back() -> Iterator[list[int]]:
    """Round what Ctrl-C must not break in two: it is noted in the list, and a second one ends the block after all.

    In another thread than the main one, which Ctrl-C does not reach, and where it is ignored, as in the background of a
    shell, nothing is held back.
    """
    asked: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield asked
        return

    def note(number: int, frame) -> None:
        if asked:
            raise Interrupted
        asked.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
