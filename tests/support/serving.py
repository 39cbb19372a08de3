"""The server of `bertlab serve`, in this process without workers, or as a process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from bertlab.config.errors import BertlabError
from bertlab.serving.dispatcher import Dispatcher
from bertlab.serving.metrics import ServerMetrics
from bertlab.serving.options import ServeOptions
from bertlab.serving.worker import BatchPredictor, WorkerRequest


class DirectDispatcher(Dispatcher):
    """A dispatcher that computes in this process."""

    def __init__(self, checkpoint: Path, **settings):
        super().__init__(ServeOptions(str(checkpoint), workers=1, **settings), ServerMetrics())
        self.predictor = BatchPredictor(str(checkpoint), "float32", 8)
        self.description = self.predictor.describe()
        self.queue = ()

    async def answer(self, command: str, arguments: dict) -> str:
        (reply,) = self.predictor.answer([WorkerRequest(command, arguments)])
        if isinstance(reply, BertlabError):
            raise reply
        return reply


def find_children(pid: int) -> list[int]:
    """Return the process ids of the children of a process; each belongs to the thread that started it."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


class ServerProcess:
    """`bertlab serve` as a process; it is killed at the end of the `with` block.

    Args:
        words: the arguments of the command, without --port.
    """

    def __init__(self, *words: str):
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "bertlab", "serve", *words, "--port", "0"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )
        line = self.process.stdout.readline()
        assert "http://" in line, (line, self.process.stderr.read())
        self.url = next(word for word in line.split() if word.startswith("http://"))

    def find_workers(self) -> list[int]:
        """Return the process ids of the workers: the children of the fork server, which is a child of the server."""
        children = find_children(self.process.pid)
        return sorted(pid for child in children for pid in find_children(child))

    def wait(self, seconds: float = 300) -> tuple[int, str, str]:
        """Wait until the process ends, and return the exit code, stdout and stderr."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()
