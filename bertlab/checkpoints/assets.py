"""Where shipped checkpoints and runs are: `BERTLAB_ASSETS`, or `assets` in a clone of the repository.

`BERTLAB_ASSETS` names a directory with `checkpoints/` and `runs/`. `BERTLAB_CHECKPOINTS` and `BERTLAB_RUNS` name one
of the two directories each and come first.
"""

import os
from pathlib import Path

ASSETS = "BERTLAB_ASSETS"
VARIABLES = {"checkpoints": "BERTLAB_CHECKPOINTS", "runs": "BERTLAB_RUNS"}
CLONE = Path(__file__).parents[2]


def asset_directory(kind: str) -> Path:
    """The directory of the shipped checkpoints or runs, whether or not it exists.

    Args:
        kind: "checkpoints" or "runs".
    """
    if own := os.environ.get(VARIABLES[kind]):
        return Path(own).expanduser()
    if assets := os.environ.get(ASSETS):
        return Path(assets).expanduser() / kind
    return CLONE / "assets" / kind
