"""Runs of two processes as torchrun starts them, but forked from a process that has already imported torch."""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["torch._dynamo", "bertlab.cli.dispatch", "bertlab.training.pretraining.pretrain", __name__]
)


class ForkedRun:
    """A program in two processes, with the methods and attributes of `subprocess.Popen` that the tests use.

    Args:
        program: "bertlab" or a Python file.
        words: its arguments.
        directory: where its stdout and stderr are written.
    """

    def __init__(self, program: str, words: list[str], directory: Path):
        directory.mkdir(parents=True, exist_ok=True)
        self._outputs = directory / "stdout.txt", directory / "stderr.txt"
        self._process = _FORKS.Process(target=_launch, args=(program, words, self._outputs, dict(os.environ)))
        self._process.start()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def send_signal(self, number: int) -> None:
        os.kill(self._process.pid, number)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait until the program ends; return what it wrote to stdout and stderr."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a forked run", timeout)
        out, err = (path.read_text() for path in self._outputs)
        return out, err


def _launch(program: str, words: list[str], outputs: tuple[Path, Path], environment: dict[str, str]) -> None:
    """Start the program in two forks of this process, and wait until both have ended."""
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    os.environ.clear()
    os.environ.update(environment)
    for path, stream in zip(outputs, (1, 2), strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    # a background job of a shell ignores Ctrl-C, and its child processes inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=2, start_method="fork", rdzv_backend="c10d",
        rdzv_endpoint="localhost:0", max_restarts=0,
    )  # fmt: skip
    elastic_launch(config, _run)(program, words)


def _run(program: str, words: list[str]) -> None:
    """Run the program in one of the two processes."""
    from bertlab.cli import dispatch

    sys.argv[1:] = words
    if program == "bertlab":
        sys.exit(dispatch.main(words))
    runpy.run_path(program, run_name="__main__")
