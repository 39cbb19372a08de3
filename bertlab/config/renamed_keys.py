"""Keys that were renamed in files, old name -> new name, so that files written under the old names still open.

Each table belongs to one kind of file; `rename_keys` applies it. Standard library only.
"""

from collections.abc import Mapping

LOG_KEYS = {"rate": "learning_rate", "norm": "gradient_norm", "waited": "data_seconds"}
"""Keys of a training step in `log.jsonl`."""

RUN_KEYS = {"made_of": "data_fingerprint", "precision_begun": "initial_precision"}
"""Keys of `run.json` beside the settings."""

SETTING_KEYS = {
    "damaged": "invalid", "second": "pair_objective", "then_tokens": "final_max_tokens", "then_share": "final_share",
}  # fmt: skip
"""Settings in `run.json`, and keyword arguments of the functions in `bertlab.api`."""

CUSTOM_TASK, OLD_CUSTOM_TASK = "custom", "own"
"""What `task` in `run.json`, and the command line, call rows that the user describes: the name, and the older one."""

OPTIMIZER_KEYS = {"method": "name", "clip": "max_grad_norm"}
"""Settings of the optimiser, in `run.json` under `optim`."""

DETECTOR_KEYS = {"calm": "is_stable"}
"""Fields of the divergence detector in `state.safetensors`."""

OPTIMIZER_STATE_KEYS = {"momentum": "momentum_buffer"}
"""Names of optimiser state in `state.safetensors`, before the name of the parameter."""


def rename_keys(row: Mapping, names: Mapping[str, str]) -> dict:
    """A copy of a mapping with its old keys renamed; a key that has its new name already keeps its value.

    >>> rename_keys({"step": 1, "rate": 0.5}, LOG_KEYS)
    {'step': 1, 'learning_rate': 0.5}
    """
    return {names.get(key, key): value for key, value in row.items() if key not in names or names[key] not in row}
