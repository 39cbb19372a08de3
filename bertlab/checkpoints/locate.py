"""Find the directory of a checkpoint, given its path, the name of a shipped checkpoint, or a hub id."""

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from bertlab.checkpoints import history, hub
from bertlab.checkpoints.assets import ASSETS_VARIABLE, find_asset_directory
from bertlab.config.errors import CheckpointError


def find_shipped_checkpoints() -> dict[str, Path]:
    """Find the shipped checkpoints -> {name: directory}, in alphabetical order."""
    try:
        # A page calls this function twenty times; `os.scandir` is several times as fast as `Path.glob`.
        with os.scandir(find_asset_directory("checkpoints")) as entries:
            directories = sorted(entry.path for entry in entries if not entry.name.startswith("."))
    except OSError:
        return {}
    return {
        os.path.basename(directory): Path(directory)
        for directory in directories
        if os.path.exists(os.path.join(directory, "config.json"))
    }


def find_first_shipped_checkpoint(names: Iterable[str]) -> Path:
    """Return the directory of the first of these checkpoints that is shipped. Raises CheckpointError if none is."""
    names, directories = list(names), find_shipped_checkpoints()
    for name in names:
        if name in directories:
            return directories[name]
    raise CheckpointError(
        "checkpoint-not-shipped", names=names, directory=find_asset_directory("checkpoints"), variable=ASSETS_VARIABLE
    )


def find(source: str | Path, *, needs_weights: bool = True) -> Path:
    """Return the directory of a checkpoint: of a run, the final one; of the hub, a downloaded one.

    Without `needs_weights`, only the small files of a hub model are downloaded. Raises CheckpointError.
    """
    name, shipped = " ".join(str(source).split())[:100], find_shipped_checkpoints()
    if not name:
        raise CheckpointError("checkpoint-name-empty")
    try:
        path = Path(source).expanduser()
        # A directory without config.json may have the name of a shipped checkpoint by chance.
        is_directory = path.is_dir() and ((path / "config.json").exists() or str(source) not in shipped)
        is_file = path.is_file()
    # The path is too long, contains a null character, or begins with ~ and the name of an unknown user.
    except (OSError, RuntimeError, ValueError):
        is_directory = is_file = False
    if is_directory:
        checkpoint = resolve_run(path)
        if history.is_run(path) and not (checkpoint / "config.json").exists():
            raise CheckpointError("run-not-finished", path=path)
        return checkpoint
    if not is_file and str(source) in shipped:
        return shipped[str(source)]
    if is_file:
        raise CheckpointError("checkpoint-is-a-file", name=name)
    if isinstance(source, Path) or not is_hub_id(source):
        raise CheckpointError("checkpoint-not-found", name=name)
    try:
        return hub.download(source, needs_weights)
    except CheckpointError:
        if similar_names := get_close_matches(source, shipped, 1):
            raise CheckpointError("checkpoint-name-mistyped", name=source, suggestion=similar_names[0]) from None
        raise


def resolve_run(directory: Path) -> Path:
    """Return the directory of the checkpoint inside a run directory; any other directory is returned unchanged."""
    result = directory / "checkpoint"
    is_checkpoint, has_result = (os.path.isfile(path / "config.json") for path in (directory, result))
    return result if has_result and not is_checkpoint else directory


def make_display_name(source: str | Path) -> str:
    """Return the name of the run or directory, or the hub id."""
    path = Path(source).expanduser()
    if not path.is_dir():
        return str(source)
    path = path.resolve()
    return path.parent.name if path.name == "checkpoint" else path.name


def is_hub_id(source: str) -> bool:
    """Whether a source has the form of a hub id (NAME or OWNER/NAME) and not of a path.

    >>> is_hub_id("google-bert/bert-base-uncased"), is_hub_id("./mine"), is_hub_id("runs/a/best")
    (True, False, False)
    """
    if len(source) > 96 or not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", source, re.ASCII):
        return False
    return "/" not in source or not Path(source).parent.is_dir()
