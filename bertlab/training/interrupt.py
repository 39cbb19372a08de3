"""Handle stop signals during training: a run finishes its step and saves its state before it stops.

Ctrl-C (SIGINT), a stop by a scheduler or container (SIGTERM) and a closed terminal (SIGHUP) have the same effect.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bertlab.config.languages import Message

# The signals that stop a run, as far as the operating system has them; Windows has no SIGHUP.
STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# A second signal within this time is ignored: Ctrl-C may be pressed twice, or sent by both the terminal and torchrun.
REPEAT_SECONDS = 1.0


class Interrupted(KeyboardInterrupt):
    """A signal stopped the run; the message, empty outside the main process, says what was saved."""

    def __init__(self, message: Message | str = "", signum: int = signal.SIGINT):
        super().__init__(message)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """The exit status of a process that this signal ended, as shells define it."""
        return 128 + self.signum


class StopSignals:
    """Handles the stop signals during a run.

    The first signal raises KeyboardInterrupt immediately, except inside `defer`, where it is only recorded. A second
    signal within one second is ignored; a later one raises Interrupted, even inside `defer`. Only the main thread
    receives signals. A signal that the process ignores, such as SIGHUP under nohup, stays ignored.

    Args:
        stops_immediately: False in every process except the main one: the others only record the signal, and stop when
            the main process does, which would otherwise wait for them in the next step.
    """

    def __init__(self, *, stops_immediately: bool = True):
        self.stops_immediately = stops_immediately
        self.received_signal: int | None = None
        self.is_run_stopping = False  # whether the run is going to stop because of the signal
        self._received_at = 0.0  # when the first signal arrived, in seconds of time.monotonic()
        self._defer_depth = 0
        self._previous_handlers: dict[int, object] = {}

    @contextmanager
    def handle(self) -> Iterator[None]:
        """Handle the signals while a block runs; inside such a block, another call has no further effect."""
        if self._previous_handlers or threading.current_thread() is not threading.main_thread():
            yield
            return
        for signum in STOP_SIGNALS:
            if signal.getsignal(signum) not in (signal.SIG_IGN, None):
                self._previous_handlers[signum] = signal.signal(signum, self._handle)
        is_generator_closed = False
        try:
            yield
        except GeneratorExit:
            is_generator_closed = True
            raise
        finally:
            for signum, handler in self._previous_handlers.items():
                signal.signal(signum, handler)
            self._previous_handlers = {}
            if is_generator_closed and self.received_signal is not None and not self.is_run_stopping:
                # The block is in a generator (the iterator of `Trainer`), and the code that uses the generator closed
                # it before the run could stop. The signal is raised again, so that this code handles it.
                signum, self.received_signal = self.received_signal, None
                signal.raise_signal(signum)

    @contextmanager
    def defer(self) -> Iterator[None]:
        """If a first signal arrives while a block runs, only record it, so that the caller can stop after the block."""
        self._defer_depth += 1
        try:
            with self.handle():
                yield
        finally:
            self._defer_depth -= 1

    def _handle(self, signum: int, _frame) -> None:
        now = time.monotonic()
        if self.received_signal is None:
            self.received_signal, self._received_at = signum, now
            if self.stops_immediately and not self._defer_depth:
                raise KeyboardInterrupt
        elif now - self._received_at > REPEAT_SECONDS:
            raise Interrupted(signum=signum)
