"""Write stories and labelled rows to JSON Lines files."""

import json
from collections.abc import Iterable
from pathlib import Path

from tqdm import tqdm

from bertlab.config.files import write_atomically
from bertlab.text.story_world.lexicon import load_lexicon
from bertlab.text.story_world.world import StoryWorld


def write_stories(directory: Path, world: StoryWorld, documents: int, held_out: bool = False) -> Path:
    """Write stories to a file whose name states the settings, unless it exists, and return its path."""
    load_lexicon(world.language)  # reject an unknown language before the progress bar appears
    part = "heldout" if held_out else "train"
    path = directory / f"{world.language}-seed{world.seed}-{part}-{documents}.jsonl"
    if not path.is_file():
        stories = tqdm(world.documents(documents, held_out), "writing stories", documents, unit=" stories")
        write_rows(path, ({"text": story.text} for story in stories))
    return path


def write_rows(path: Path, rows: Iterable[dict]) -> None:
    """Write rows to a JSON Lines file, completely or not at all."""
    write_atomically(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
