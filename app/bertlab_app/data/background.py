"""The background processes of the server. Each writes its output to a file.

There are two kinds: training runs that the app shows while they train, and jobs that process an uploaded file. At most
one process of each kind runs at a time.
"""

import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

OUTPUT = "output.txt"  # the name of the file in the directory of a process to which the process writes its output


@dataclass
class BackgroundProcess:
    """The latest process of one kind, running or ended."""

    process: subprocess.Popen | None = None  # the process; None before the first one
    directory: Path | None = None  # the directory it writes to
    started_at: float = 0.0  # when the process was started, in seconds of `time.monotonic`
    is_cancelled: bool = False  # whether the process was cancelled
    lock: threading.RLock = field(default_factory=threading.RLock)
    """The lock, which must be held while a process is started or cancelled."""

    def start(self, module: str, directory: Path, arguments: dict) -> None:
        """Start `python -m MODULE JSON`. The caller must hold `lock` and first check that no process is running."""
        self.directory, self.started_at, self.is_cancelled = directory, time.monotonic(), False
        with (directory / OUTPUT).open("w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, json.dumps(arguments)],
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def cancel(self) -> None:
        """Stop the process, if it is running."""
        with self.lock:
            if self.is_running():
                self.is_cancelled = True
                self.process.kill()
                self.process.wait()

    def find_error(self) -> str | None:
        """Return the last line that the process printed; None if the process did not fail, or was cancelled."""
        if self.process is None or self.is_cancelled or not self.process.poll():
            return None
        return read_last_line(self.directory)


def read_last_line(directory: Path) -> str:
    """Return the last line that a process printed, up to 300 characters; "" if there is none."""
    try:
        lines = (directory / OUTPUT).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")
