"""A worker process from the side of its parent: start it, exchange messages with it, detect that it has ended."""

import asyncio
import contextlib
import multiprocessing
import signal
import threading
from multiprocessing import forkserver
from multiprocessing.connection import wait

from bertlab.abilities.ability import Ability
from bertlab.config.errors import BertlabError
from bertlab.serving.options import ServeOptions
from bertlab.serving.worker import Description, run_worker

STOP_SECONDS = 5.0  # a worker that has not ended this long after its pipe was closed is killed

CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()  # not on Windows
CONTEXT = multiprocessing.get_context("forkserver" if CAN_FORK else "spawn")
"""How workers are started. A process forked from the server would inherit the server's sockets and locks. A process
forked from a fork server does not inherit them, and starts in a tenth of the time of a new interpreter, because the
fork server has already imported PyTorch."""


def start_fork_server() -> None:
    """Start the process that workers are forked from; it ignores SIGTERM."""
    if CAN_FORK:
        CONTEXT.set_forkserver_preload(["bertlab.session", "bertlab.abilities.queries"])
        # SIGTERM may reach all processes of a group. A process started while this one ignores SIGTERM ignores it too.
        handler = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            forkserver.ensure_running()
        finally:
            signal.signal(signal.SIGTERM, handler)


class WorkerLost(Exception):
    """The worker died, or did not reply in time."""


class Worker:
    """A worker process. Its methods block, so the server calls them in threads.

    Args:
        options: the settings of the server.
        loop: the event loop of the server.

    Attributes:
        has_died: an event of `loop`, which is set when the process has ended, for whatever reason.
    """

    def __init__(self, options: ServeOptions, loop: asyncio.AbstractEventLoop):
        self.has_died = asyncio.Event()
        self.connection, worker_end = CONTEXT.Pipe()
        arguments = (worker_end, options.checkpoint, options.precision, options.batch_size)
        self.process = CONTEXT.Process(target=run_worker, args=arguments, daemon=True)
        self.process.start()
        # While this process also has the worker's end open, reading from the pipe would not end when the worker dies.
        worker_end.close()
        threading.Thread(target=self._watch, args=(loop,), daemon=True).start()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait in a thread until the process has ended, then set `has_died`."""
        wait([self.process.sentinel])
        with contextlib.suppress(RuntimeError):  # raised if the loop is closed
            loop.call_soon_threadsafe(self.has_died.set)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self.process.pid

    def wait_until_ready(self) -> Description:
        """Wait until the checkpoint is open, and return its description.

        Raises:
            BertlabError: the checkpoint cannot be opened.
            WorkerLost: the process died.
        """
        description = self._receive(None)
        if isinstance(description, BertlabError):
            raise description
        return description

    def answer(self, requests: list[Ability], seconds: float) -> list[str | BertlabError]:
        """Compute a batch; see `BatchPredictor.answer`.

        Raises:
            WorkerLost: the worker died, or did not reply within this number of seconds.
        """
        try:
            self.connection.send(requests)
        except OSError as error:
            raise WorkerLost from error
        return self._receive(seconds)

    def _receive(self, seconds: float | None) -> object:
        """Receive a message from the worker within a number of seconds; None for no limit."""
        try:
            if not self.connection.poll(seconds):
                raise WorkerLost
            return self.connection.recv()
        except (EOFError, OSError) as error:
            raise WorkerLost from error

    def stop(self) -> None:
        """Close the pipe, so that the process ends, and kill the process if it has not ended after `STOP_SECONDS`."""
        self.connection.close()
        if not wait([self.process.sentinel], STOP_SECONDS):
            self.process.kill()
        self.process.join()

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()
