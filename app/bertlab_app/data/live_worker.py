"""The process of a live run: prepares a corpus in a temporary directory, then pre-trains a tiny BERT on it.

`bertlab_app.data.live_run` starts it as `python -m bertlab_app.data.live_worker JSON`.
"""

import json
import sys
import tempfile
from pathlib import Path

from bertlab.cli import main

VOCABULARY_SIZE = 2000  # tokens
NUM_STORIES = 1500  # generated stories in the corpus
TRAINING_SECONDS = 60


def train(directory: str, language: str, text: str, sentence: str) -> int:
    """Prepare the corpus and pre-train on it. Return the exit code of the first command that fails, or 0."""
    with tempfile.TemporaryDirectory() as temporary:
        corpus, source = Path(temporary, "corpus"), "story-world"
        if text:
            source = str(Path(temporary, "text.txt"))
            Path(source).write_text(text, encoding="utf-8")
        options = ["--vocab-size", str(VOCABULARY_SIZE), "--workers", "1"]
        options += ["--cased"] if text else ["--language", language, "--documents", str(NUM_STORIES)]
        if code := main(["prepare", source, "--out", str(corpus), *options]):
            return code
        return main([
            "pretrain", str(corpus), "--out", directory, "--preset", "tiny", "--minutes", str(TRAINING_SECONDS / 60),
            "--max-tokens", "32", "--batch-size", "32", "--optim.lr", "3e-3", "--threads", "1",
            "--precision", "float32", "--sentences", sentence,
        ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(train(**json.loads(sys.argv[1])))
