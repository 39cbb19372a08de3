"""Live runs, which the app shows while they train: each one trains a tiny BERT for a minute, in a process of its own.

On a server, only one live run is in progress at a time.
"""

import time
from functools import cache
from pathlib import Path

from bertlab.checkpoints import history
from bertlab.config.errors import BertlabError
from bertlab.text.story_world.world import StoryWorld
from bertlab.text.word_spans import MASK, find_words, mask_spans
from bertlab_app import access
from bertlab_app.data import live_worker
from bertlab_app.data.background import BackgroundProcess

PREFIX = "live-"  # the beginning of the name of every live run
MIN_CHARACTERS, MAX_CHARACTERS = 500, 200_000  # the shortest and the longest text that a visitor can train on
MAX_SECONDS = (
    live_worker.TRAINING_SECONDS + 120
)  # a process that takes longer, including the preparation of its corpus, is stopped


@cache
def _background_process() -> BackgroundProcess:
    return BackgroundProcess()


def start(language: str, text: str = "") -> None:
    """Start a live run."""
    text = text.strip()
    if text and not MIN_CHARACTERS <= len(text) <= MAX_CHARACTERS:
        raise BertlabError("live-text-length", count=len(text), low=MIN_CHARACTERS, high=MAX_CHARACTERS)
    with _background_process().lock:
        if is_running():
            raise BertlabError("live-run-busy")
        directory = Path(access.RUN_DIRECTORY) / time.strftime(f"{PREFIX}%Y%m%d-%H%M%S")
        directory.mkdir(parents=True)
        sentence = _mask_sentence(text or StoryWorld(language).make_story(0, True).text)
        arguments = {"directory": str(directory), "language": language, "text": text, "sentence": sentence}
        _background_process().start("bertlab_app.data.live_worker", directory, arguments)


def cancel() -> None:
    """Stop the run in progress, if there is one."""
    _background_process().cancel()


def is_running() -> bool:
    """Whether a run is in progress. A process that takes much too long is stopped."""
    background = _background_process()
    if not background.is_running():
        return False
    if time.monotonic() - background.started_at > MAX_SECONDS:
        background.process.kill()
        return False
    return True


def find_error() -> str | None:
    """Return the last line that a failed run printed; None if the latest run did not fail."""
    return _background_process().find_error()


def find_latest() -> Path | None:
    """Return the directory of the latest live run, even if the run ended before the server was restarted.

    None if there is no live run.
    """
    runs = history.find_runs(access.RUN_DIRECTORY)
    names = sorted(name for name in runs if name.startswith(PREFIX))
    return runs[names[-1]] if names else None


def _mask_sentence(text: str) -> str:
    """Return the first line of a text, up to 150 characters, with one word masked."""
    line = text.strip().split("\n")[0][:150].replace(MASK, "")
    word_spans = [span for span in find_words(line) if line[span[0] : span[1]].isalnum()]
    return mask_spans(line, word_spans[min(4, len(word_spans) - 1) :][:1]) if word_spans else MASK
