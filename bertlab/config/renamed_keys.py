"""Tables of renamed keys, old name -> new name, with which older files can still be read.

Each table belongs to one kind of file; `rename_keys` applies it. This module uses only the standard library.
"""

from collections.abc import Mapping

LOG_KEYS = {"rate": "learning_rate", "norm": "gradient_norm", "waited": "data_seconds", "watched": "samples"}
"""Keys of a row of `log.jsonl`."""

RUN_KEYS = {"made_of": "data_fingerprint", "precision_begun": "initial_precision"}
"""Keys of `run.json` other than settings."""

SETTING_KEYS = {
    "damaged": "invalid", "second": "pair_objective", "then_tokens": "final_max_tokens", "then_share": "final_share",
    "watch": "sample_predictions", "mask": "chosen_share", "unmasked_share": "pairs_only_share",
}  # fmt: skip
"""Settings in `run.json`, and keyword arguments of the functions in `bertlab.api`."""

CUSTOM_TASK, OLD_CUSTOM_TASK = "custom", "own"
"""The name of a task that the user describes by flags, and its older name, in `run.json` and on the command line."""

TASK_KEYS = {"names": "submits_label_names", "start": "choice_prefix_column"}
"""Fields of a task in `bertlab.json`."""

OPTIMIZER_KEYS = {"method": "name", "clip": "max_grad_norm"}
"""Settings of the optimiser, in `run.json` under `optim`."""

POSITION_KEYS = {"longer": "has_long_pairs"}
"""Fields of the position in the data in `state.safetensors`."""

DETECTOR_KEYS = {"calm": "is_stable"}
"""Fields of the divergence detector in `state.safetensors`."""

OPTIMIZER_STATE_KEYS = {"momentum": "momentum_buffer"}
"""Names of optimiser state in `state.safetensors`, before the name of the parameter."""

BENCH_RESULT_KEYS = {"aim": "target"}
"""Fields of a row of `benchmarks/results.jsonl`."""

PARITY_KEYS = {"measure": "metric", "figures": "metrics"}
"""Fields of a row of `results.json`, which `bertlab bench finetune-parity` writes."""

PARITY_RECIPE_KEYS = {"measure": "metric", "held_out": "validation_rows"}
"""Fields of `recipe` in a row of `results.json`."""

RENAMED_PAGES = {"depth": "logit-lens", "question": "answer"}
"""Names of pages of the app, in links and in files of class lessons."""


def rename_keys(row: Mapping, names: Mapping[str, str]) -> dict:
    """Return a copy of a mapping with its old keys renamed. If both names are present, the new one keeps its value.

    >>> rename_keys({"step": 1, "rate": 0.5}, LOG_KEYS)
    {'step': 1, 'learning_rate': 0.5}
    """
    return {names.get(key, key): value for key, value in row.items() if key not in names or names[key] not in row}
