"""Run the app as a process on a free port, for benchmarks and screenshots."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bertlab.config.errors import BertlabError

START_SECONDS = 60  # how long the app may take to answer the first request


class AppProcess:
    """The app as a process, which can be started again after it was stopped.

    Args:
        arguments: the arguments of `bertlab app`, without --port.
        directory: the working directory. Default: that of this process.
    """

    def __init__(self, *arguments: str, directory: Path | None = None):
        with socket.socket() as listener:
            listener.bind(("localhost", 0))
            port = listener.getsockname()[1]
        self.address = f"localhost:{port}"
        self._command = [sys.executable, "-m", "bertlab", "app", *arguments, "--port", str(port)]
        self._directory = directory
        self._process: subprocess.Popen

    def start(self) -> None:
        """Start the process, and wait until it answers."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        # The command may start Streamlit as a child process. A process group of their own lets `stop` end both at once.
        self._process = subprocess.Popen(self._command, cwd=self._directory, start_new_session=True, **quiet)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                urllib.request.urlopen(f"http://{self.address}/_stcore/health", timeout=5).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise BertlabError("bench-app-did-not-start") from None
                time.sleep(0.25)

    def stop(self, signum: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal that ends the process, and wait until it has ended."""
        os.killpg(self._process.pid, signum)
        self._process.wait(20)


@contextmanager
def run_app() -> Iterator[str]:
    """Start the app, yield its address (HOST:PORT), and stop it afterwards."""
    app = AppProcess("--no-browser")
    try:
        app.start()
        yield app.address
    finally:
        app.stop()
