"""From what a user calls a checkpoint (a directory, a shipped name or a hub id) to a directory on this machine.

Fetches only the files bertlab reads, never code. Knows nothing of what is in them.
"""

import os
import re
from difflib import get_close_matches
from pathlib import Path

import httpx2
import huggingface_hub
from huggingface_hub.errors import GatedRepoError, HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

from bertlab.checkpoints import history
from bertlab.config.errors import CheckpointError, first_line

FILES = ["config.json", "bertlab.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
WEIGHTS = ["model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors"]
OLD_WEIGHTS = ["pytorch_model.bin"]
SHIPPED = "BERTLAB_CHECKPOINTS"  # names a directory of checkpoints to take the place of the shipped ones


def shipped() -> dict[str, Path]:
    """The shipped checkpoints by name: those in the directory that BERTLAB_CHECKPOINTS names, else in
    assets/checkpoints beside the package. Empty where there are none.
    """
    own = Path(__file__).parents[2] / "assets" / "checkpoints"
    directory = Path(os.environ.get(SHIPPED) or own)
    return {path.parent.name: path.parent for path in sorted(directory.glob("[!.]*/config.json"))}


def find(source: str | Path, *, weights: bool = True) -> Path:
    """The directory of a checkpoint: `source` itself, or the result in it if it is a run's, the shipped one of that
    name, or where the hub's files lie in the cache once fetched, those of the weights only if asked for.

    Raises:
        CheckpointError: no such directory, or the hub does not have it or cannot be reached.
    """
    shown = " ".join(str(source).split())[:100]
    if not shown:
        raise CheckpointError(
            "name a checkpoint: a directory, or a model of the hub such as google-bert/bert-base-uncased"
        )
    try:
        path = Path(source).expanduser()
        # a directory of data may have the name of a shipped checkpoint
        if path.is_dir() and ((path / "config.json").exists() or str(source) not in shipped()):
            return _result(path)
        is_file = path.is_file()
        if not is_file and str(source) in shipped():
            return shipped()[str(source)]
    except (OSError, RuntimeError):  # a name too long to be one, or the home of nobody
        is_file = False
    if is_file:
        raise CheckpointError(f"{shown} is a file; a checkpoint is a directory with config.json and model.safetensors")
    if isinstance(source, Path) or not is_hub_id(source):
        raise CheckpointError(f"there is no directory {shown}")
    try:
        return _fetch(source, weights)
    except CheckpointError:
        if near := get_close_matches(source, shipped(), 1):
            raise CheckpointError(
                f"{source} is neither here nor could it be fetched from the hub: did you mean {near[0]}?"
            ) from None
        raise


def _result(directory: Path) -> Path:
    """`within`, where it is a run that has one. Raises CheckpointError."""
    found = resolve_run(directory)
    if history.is_run(directory) and not (found / "config.json").exists():
        raise CheckpointError(
            f"the run in {directory} has not finished and has no checkpoint yet: its command goes on where it stands"
        )
    return found


def resolve_run(directory: Path) -> Path:
    """A directory, or the checkpoint in it where it is a run's."""
    result = directory / "checkpoint"
    own, made = (os.path.isfile(place / "config.json") for place in (directory, result))
    return result if made and not own else directory


def is_hub_id(source: str) -> bool:
    """Whether this reads as NAME or OWNER/NAME on the hub, and not as a path.

    >>> is_hub_id("google-bert/bert-base-uncased"), is_hub_id("./mine"), is_hub_id("runs/a/best")
    (True, False, False)
    """
    if len(source) > 96 or not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", source, re.ASCII):
        return False
    return "/" not in source or not Path(source).parent.is_dir()


def _fetch(hub_id: str, weights: bool) -> Path:
    wanted = FILES + WEIGHTS if weights else FILES
    try:
        directory = Path(huggingface_hub.snapshot_download(hub_id, allow_patterns=wanted))
        if weights and not any(directory.glob("*.safetensors*")):
            directory = Path(huggingface_hub.snapshot_download(hub_id, allow_patterns=wanted + OLD_WEIGHTS))
    except GatedRepoError:
        raise CheckpointError(f"the hub asks for a login and consent before it gives {hub_id}: see its page") from None
    except RepositoryNotFoundError:
        raise CheckpointError(f"there is no directory {hub_id}, and no public model of that name on the hub") from None
    except HFValidationError:
        raise CheckpointError(f"there is no directory {hub_id}, and it cannot be a name on the hub") from None
    except LocalEntryNotFoundError:
        raise CheckpointError(
            f"there is no directory {hub_id}, and the hub cannot be reached to look for a model of that name"
        ) from None
    except (OSError, httpx2.HTTPError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise CheckpointError(f"{hub_id} could not be fetched from the hub: {reason}") from None
    return directory
