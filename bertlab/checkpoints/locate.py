"""Find the directory of a checkpoint: a directory, the name of a shipped checkpoint, or the id of a hub model."""

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from bertlab.checkpoints import history, hub
from bertlab.checkpoints.assets import ASSETS, asset_directory
from bertlab.config.errors import CheckpointError


def shipped() -> dict[str, Path]:
    """The shipped checkpoints by name, in alphabetical order; {} where there are none.

    They are looked up by the rule of `bertlab.checkpoints.assets`.
    """
    directory = asset_directory("checkpoints")
    return {path.parent.name: path.parent for path in sorted(directory.glob("[!.]*/config.json"))}


def first_shipped(names: Iterable[str]) -> Path:
    """The directory of the first of these checkpoints that is shipped.

    Raises:
        CheckpointError: none of them is.
    """
    names, found = list(names), shipped()
    for name in names:
        if name in found:
            return found[name]
    raise CheckpointError(
        "checkpoint-not-shipped", names=names, directory=asset_directory("checkpoints"), variable=ASSETS
    )


def find(source: str | Path, *, weights: bool = True) -> Path:
    """The directory of a checkpoint.

    Args:
        source: a checkpoint directory; a run directory, for its result; the name of a shipped checkpoint; or a
            hub id, which is downloaded into the hub's cache.
        weights: whether a hub model's weights are needed; without them only its small files are downloaded.

    Raises:
        CheckpointError: there is no such directory, and the hub does not have it or cannot be reached.
    """
    name = " ".join(str(source).split())[:100]
    if not name:
        raise CheckpointError("checkpoint-name-empty")
    try:
        path = Path(source).expanduser()
        # A directory of something else may have the name of a shipped checkpoint.
        is_directory = path.is_dir() and ((path / "config.json").exists() or str(source) not in shipped())
        is_file = path.is_file()
    except (OSError, RuntimeError, ValueError):  # too long for a name, the home of an unknown user, a null character
        is_directory = is_file = False
    if is_directory:
        return _finished_run(path)
    if not is_file and str(source) in shipped():
        return shipped()[str(source)]
    if is_file:
        raise CheckpointError("checkpoint-is-a-file", name=name)
    if isinstance(source, Path) or not is_hub_id(source):
        raise CheckpointError("checkpoint-not-found", name=name)
    try:
        return hub.download(source, weights)
    except CheckpointError:
        if near := get_close_matches(source, shipped(), 1):
            raise CheckpointError("checkpoint-name-mistyped", name=source, suggestion=near[0]) from None
        raise


def resolve_run(directory: Path) -> Path:
    """The checkpoint inside a run directory; any other directory unchanged."""
    result = directory / "checkpoint"
    own, made = (os.path.isfile(place / "config.json") for place in (directory, result))
    return result if made and not own else directory


def checkpoint_name(source: str | Path) -> str:
    """What to call a checkpoint: its directory's name, its run's name if it is a run's result, or the hub id."""
    path = Path(source).expanduser()
    if not path.is_dir():
        return str(source)
    path = path.resolve()
    return path.parent.name if path.name == "checkpoint" else path.name


def is_hub_id(source: str) -> bool:
    """Whether this reads as NAME or OWNER/NAME on the hub, and not as a path.

    >>> is_hub_id("google-bert/bert-base-uncased"), is_hub_id("./mine"), is_hub_id("runs/a/best")
    (True, False, False)
    """
    if len(source) > 96 or not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", source, re.ASCII):
        return False
    return "/" not in source or not Path(source).parent.is_dir()


def _finished_run(directory: Path) -> Path:
    """`resolve_run`, but a run without a result is an error."""
    found = resolve_run(directory)
    if history.is_run(directory) and not (found / "config.json").exists():
        raise CheckpointError("run-not-finished", path=directory)
    return found
