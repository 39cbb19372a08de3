"""Stop signals during training: a run that is asked to stop finishes its step and saves first.

Ctrl-C (SIGINT), the stop of a scheduler or container (SIGTERM) and a closed terminal (SIGHUP) are treated alike.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bertlab.config.languages import Message

STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# A second signal this soon is the same request: two quick presses of Ctrl-C, or the terminal's and torchrun's.
REPEAT_SECONDS = 1.0


class Interrupted(KeyboardInterrupt):
    """A run that was stopped by a signal. Its text says what was saved.

    Args:
        message: the text for the user; empty in all processes but the main one.
        signum: the signal that stopped the run.
    """

    def __init__(self, message: Message | str = "", signum: int = signal.SIGINT):
        super().__init__(message)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """The exit status that a shell expects of a process ended by this signal."""
        return 128 + self.signum


class StopSignals:
    """Handles the stop signals while a run is under way.

    A first signal raises KeyboardInterrupt at once, except inside `deferred`, where it is only recorded in `received`.
    Repetitions within a second are ignored; a later one raises Interrupted, even inside `deferred`.

    Nothing is handled outside the main thread, which signals do not reach, nor where a signal is ignored, as SIGINT is
    in the background of a shell and SIGHUP under nohup.
    """

    def __init__(self):
        self.received: int | None = None
        self.is_acknowledged = False  # whether the run stops because of it
        self._received_at = 0.0
        self._deferring = 0
        self._previous: dict[int, object] = {}

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals in a block; a block inside another changes nothing."""
        if self._previous or threading.current_thread() is not threading.main_thread():
            yield
            return
        for signum in STOP_SIGNALS:
            if signal.getsignal(signum) not in (signal.SIG_IGN, None):
                self._previous[signum] = signal.signal(signum, self._handle)
        is_closed = False
        try:
            yield
        except GeneratorExit:
            is_closed = True
            raise
        finally:
            for signum, handler in self._previous.items():
                signal.signal(signum, handler)
            self._previous = {}
            if is_closed and self.received is not None and not self.is_acknowledged:
                # The caller abandoned the run before it could stop by itself: the signal is now the caller's.
                signum, self.received = self.received, None
                signal.raise_signal(signum)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A block that the first signal does not interrupt."""
        self._deferring += 1
        try:
            with self.handled():
                yield
        finally:
            self._deferring -= 1

    def _handle(self, signum: int, _frame) -> None:
        now = time.monotonic()
        if self.received is None:
            self.received, self._received_at = signum, now
            if not self._deferring:
                raise KeyboardInterrupt
        elif now - self._received_at > REPEAT_SECONDS:
            raise Interrupted(signum=signum)
