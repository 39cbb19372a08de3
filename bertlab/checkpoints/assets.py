"""Find the directories of the shipped checkpoints and runs.

By default they are in `assets` of a clone of the repository. The environment variable `BERTLAB_ASSETS` may contain the
path of another directory with `checkpoints/` and `runs/`. `BERTLAB_CHECKPOINTS` and `BERTLAB_RUNS` may contain the
paths of these two directories themselves, and take precedence.
"""

import os
from pathlib import Path

# The environment variable for the path of `assets`.
ASSETS_VARIABLE = "BERTLAB_ASSETS"
# Directory in `assets` -> the environment variable for its path.
DIRECTORY_VARIABLES = {"checkpoints": "BERTLAB_CHECKPOINTS", "runs": "BERTLAB_RUNS"}
# The root of the repository, if the package is used from a clone of it.
REPOSITORY = Path(__file__).parents[2]


def find_asset_directory(kind: str) -> Path:
    """Return the directory of the shipped checkpoints or runs, whether or not it exists.

    Args:
        kind: "checkpoints" or "runs".
    """
    if directory := os.environ.get(DIRECTORY_VARIABLES[kind]):
        return Path(directory).expanduser()
    if assets := os.environ.get(ASSETS_VARIABLE):
        return Path(assets).expanduser() / kind
    return REPOSITORY / "assets" / kind
