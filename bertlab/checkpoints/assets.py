"""The directories of the shipped checkpoints and runs: `assets` of a clone, or what the variables below say."""

import os
from pathlib import Path

ASSETS_VARIABLE = "BERTLAB_ASSETS"  # the path of `assets`
DIRECTORY_VARIABLES = {"checkpoints": "BERTLAB_CHECKPOINTS", "runs": "BERTLAB_RUNS"}  # take precedence
REPOSITORY = Path(__file__).parents[2]  # if the package is used from a clone


def find_asset_directory(kind: str) -> Path:
    """Return the directory of the shipped "checkpoints" or "runs", whether or not it exists."""
    if directory := os.environ.get(DIRECTORY_VARIABLES[kind]):
        return Path(directory).expanduser()
    if assets := os.environ.get(ASSETS_VARIABLE):
        return Path(assets).expanduser() / kind
    return REPOSITORY / "assets" / kind
