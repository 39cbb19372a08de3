"""Access rules: which paths and hub models visitors of the app are allowed to open.

A loopback address can be reached only from the same machine, so every path is allowed there. On any other address,
visitors can open the shipped checkpoints and runs, `runs` without its private subdirectories, and what `--allow` lists.
The error for any other path is the same whether or not the path exists.
"""

import ipaddress
import os
from pathlib import Path

import streamlit as st

from bertlab.checkpoints import history
from bertlab.checkpoints.locate import find_shipped_checkpoints, is_hub_id
from bertlab.cli.app import ALLOW, ALLOW_HUB, CLASSROOM_LESSON
from bertlab.config.errors import CheckpointError, DataError

RUN_DIRECTORY = "runs"  # relative to the directory in which the app was started
CLASSROOM_DIRECTORY = f"{RUN_DIRECTORY}/classroom"  # the guesses of students in classroom mode
JOB_DIRECTORY = f"{RUN_DIRECTORY}/files"  # files that visitors uploaded, with the predictions for their rows


def is_restricted() -> bool:
    """Whether visitors are allowed to open only some paths.

    True in classroom mode (a proxy may give students access even to a loopback address), and whenever the app listens
    on an address that is not a loopback address.
    """
    return bool(os.environ.get(CLASSROOM_LESSON)) or not is_loopback(
        st.get_option("server.address") or ""
    )  # Streamlit listens on every address if none is set


def is_loopback(host: str) -> bool:
    """Whether a host name or address can be reached only from the same machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("192.168.0.7"), is_loopback("")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_allowed(path: str | Path) -> bool:
    """Whether visitors are allowed to open a path. A symbolic link is allowed if its target is allowed."""
    if not is_restricted():
        return True
    try:
        resolved = Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        # the path is too long, has a null byte, or begins with "~" and an unknown user
        return False
    if any(resolved.is_relative_to(Path(directory).resolve()) for directory in (CLASSROOM_DIRECTORY, JOB_DIRECTORY)):
        return False
    allowed_by_owner = [part for part in os.environ.get(ALLOW, "").split(os.pathsep) if part]
    shipped = (*find_shipped_checkpoints().values(), *history.find_shipped_runs().values())
    roots = (Path(root).expanduser().resolve() for root in (*shipped, RUN_DIRECTORY, *allowed_by_owner))
    return any(resolved.is_relative_to(root) for root in roots)


def check_path(path: str | Path) -> None:
    """Raise an error for a path that visitors are not allowed to open."""
    if not is_allowed(path):
        raise DataError("path-not-allowed", path=shorten(path))


def check_checkpoint(name: str) -> None:
    """Raise an error for a checkpoint that visitors are not allowed to open."""
    shipped = find_shipped_checkpoints()
    if name in shipped or Path(name) in shipped.values() or is_allowed(name):
        return
    is_allowed_hub_id = os.environ.get(ALLOW_HUB) == "1" and is_hub_id(name) and not os.path.exists(name)
    if not is_allowed_hub_id:
        raise CheckpointError("checkpoint-not-allowed", name=shorten(name))


def shorten(name: str | Path) -> str:
    """Shorten a path for an error message: one line of at most 100 characters.

    The path is not resolved, because a resolved path would show other directories of the machine to the visitor.
    """
    return " ".join(str(name).split())[:100]


def format_path(path: Path) -> str:
    """Format a path for the Python code that a page shows."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return path.name if is_restricted() else str(path)
