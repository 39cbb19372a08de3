"""Which paths and hub models a visitor of the app may open.

An app on the loopback address is reached only by the user who started it, so every path is allowed. Otherwise a
visitor may open the shipped checkpoints and runs, the directory `runs`, and the directories of `bertlab app --allow`.
Every other path is refused in the same words whether or not it exists, so that nobody can explore the machine.
"""

import ipaddress
import os
from pathlib import Path

import streamlit as st

import bertlab
from bertlab.checkpoints import history
from bertlab.checkpoints.locate import is_hub_id
from bertlab.cli.app import ALLOW, ALLOW_HUB
from bertlab.config.errors import CheckpointError, DataError

RUNS = "runs"  # the run directory, below the directory that the app was started in


def is_restricted() -> bool:
    """Whether other machines may reach the app: its address is not a loopback address."""
    address = st.get_option("server.address") or ""  # unset, Streamlit listens on every address
    try:
        return not ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address != "localhost"


def is_allowed(path: str | Path) -> bool:
    """Whether a visitor may open a path. A symbolic link counts as what it points to."""
    if not is_restricted():
        return True
    try:
        resolved = Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):  # a name that is too long, an unknown user, a null byte
        return False
    return any(resolved.is_relative_to(root) for root in _roots())


def check_path(path: str | Path) -> None:
    """Raise for a path that a visitor may not open.

    Raises:
        DataError: it is outside of the allowed directories.
    """
    if not is_allowed(path):
        raise DataError("path-not-allowed", path=shorten(path))


def check_checkpoint(name: str) -> None:
    """Raise for a checkpoint that a visitor may not open.

    Args:
        name: of a shipped checkpoint, a directory, or a hub id.

    Raises:
        CheckpointError: it is outside of the allowed directories, or a hub id where hub downloads are not allowed.
    """
    if name in bertlab.shipped() or is_allowed(name):
        return
    from_hub = os.environ.get(ALLOW_HUB) == "1" and is_hub_id(name) and not os.path.exists(name)
    if not from_hub:
        raise CheckpointError("checkpoint-not-allowed", name=shorten(name))


def shorten(name: str | Path) -> str:
    """A path as an error shows it: one line of at most 100 characters, exactly as the visitor typed it."""
    return " ".join(str(name).split())[:100]


def shown_path(path: Path) -> str:
    """A path for the Python lines of a page, without the directories that other machines need not know."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return path.name if is_restricted() else str(path)


def _roots() -> list[Path]:
    allowed = [part for part in os.environ.get(ALLOW, "").split(os.pathsep) if part]
    roots = [*bertlab.shipped().values(), *history.shipped_runs().values(), RUNS, *allowed]
    return [Path(root).expanduser().resolve() for root in roots]
