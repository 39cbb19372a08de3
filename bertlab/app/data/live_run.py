"""Live runs: a tiny BERT that is trained for a minute in its own process, one at a time for the whole server."""

import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bertlab.app import access
from bertlab.app.data import live_worker
from bertlab.checkpoints import history
from bertlab.config.errors import BertlabError
from bertlab.text.story_world.world import StoryWorld
from bertlab.text.word_spans import MASK, find_words, mask_spans

PREFIX = "live-"
MIN_CHARACTERS, MAX_CHARACTERS = 500, 200_000  # of a text to train on
MAX_SECONDS = live_worker.SECONDS + 120  # a process that takes longer is stopped


@dataclass
class _Running:
    """The process of the server's latest live run."""

    process: subprocess.Popen | None = None
    """The process; None before the first run."""
    directory: Path | None = None
    """Its run directory."""
    started: float = 0.0
    """When it was started, in seconds of `time.monotonic`."""
    is_cancelled: bool = False
    """Whether someone cancelled it."""


@cache
def _running() -> _Running:
    return _Running()


_lock = threading.Lock()


def start(language: str, text: str = "") -> None:
    """Start a run.

    Args:
        language: the language of the story world.
        text: the text to train on; "" for the story world.

    Raises:
        BertlabError: a run is in progress, or the text is too short or too long.
    """
    text = text.strip()
    if text and not MIN_CHARACTERS <= len(text) <= MAX_CHARACTERS:
        raise BertlabError("live-text-length", count=len(text), low=MIN_CHARACTERS, high=MAX_CHARACTERS)
    with _lock:
        if is_running():
            raise BertlabError("live-run-busy")
        directory = Path(access.RUN_DIRECTORY) / time.strftime(f"{PREFIX}%Y%m%d-%H%M%S")
        directory.mkdir(parents=True)
        sentence = _mask_sentence(text or StoryWorld(language).make_story(0, True).text)
        arguments = {"directory": str(directory), "language": language, "text": text, "sentence": sentence}
        running = _running()
        running.directory, running.started, running.is_cancelled = directory, time.monotonic(), False
        with (directory / "output.txt").open("w", encoding="utf-8") as output:
            running.process = subprocess.Popen(
                [sys.executable, "-m", "bertlab.app.data.live_worker", json.dumps(arguments)],
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip


def cancel() -> None:
    """Stop the run in progress, if there is one."""
    with _lock:
        if is_running():
            _running().is_cancelled = True
            _running().process.kill()
            _running().process.wait()


def is_running() -> bool:
    """Whether a run is in progress. A process that takes much too long is stopped."""
    running = _running()
    if running.process is None or running.process.poll() is not None:
        return False
    if time.monotonic() - running.started > MAX_SECONDS:
        running.process.kill()
        return False
    return True


def find_error() -> str | None:
    """Return the last line that a failed run printed; None if the latest run did not fail."""
    running = _running()
    if running.process is None or running.is_cancelled or not running.process.poll():
        return None
    lines = (running.directory / "output.txt").read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")


def find_latest() -> Path | None:
    """Return the directory of the latest live run, also of an earlier server; None if there is none."""
    runs = history.find_runs(access.RUN_DIRECTORY)
    names = sorted(name for name in runs if name.startswith(PREFIX))
    return runs[names[-1]] if names else None


def _mask_sentence(text: str) -> str:
    """Return the first line of a text, up to 150 characters, with its fifth word masked."""
    line = text.strip().split("\n")[0][:150].replace(MASK, "")
    words = [span for span in find_words(line) if line[span[0] : span[1]].isalnum()]
    return mask_spans(line, words[min(4, len(words) - 1) :][:1]) if words else MASK
