"""Write and check `run.json`, the settings of a run: a run can be resumed only with its original settings and data.

A finished run may be lengthened: with more steps, minutes or epochs it continues with its weights and optimiser state.
"""

import json
from dataclasses import MISSING, asdict, fields, is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

import torch
import tyro

from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.files import CONFIG
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.files import write_atomically
from bertlab.config.languages import Message
from bertlab.training.optimizers import OptimConfig, Precision, resolve_precision
from bertlab.training.run_state import read_values

# The directory of a run contains two files, for the settings and for the last saved state, and two directories, for the
# checkpoint and (only after replaced-token pre-training) for the generator.
SETTINGS, STATE, CHECKPOINT, GENERATOR = "run.json", "state.safetensors", "checkpoint", "generator"
# Settings that do not change the losses. A run may be resumed with different values of them.
FREE_SETTINGS = {"out", "threads", "validation", "evaluate_every", "evaluate_rows", "save_minutes", "snapshots"}
FREE_SETTINGS |= {"attribution", "note", "accumulate", "loader_workers", "snapshot_dtype", "sample_predictions"}
FREE_SETTINGS |= {"sentences", "tensorboard"}
# `tyro.conf.Positional` adds this object to the type of a positional argument.
POSITIONAL_MARKER = get_args(tyro.conf.Positional[str])[1]
# Flags that set the length of a run.
LENGTH_FLAGS = {"--steps", "--minutes", "--epochs"}
# Keys of run.json in addition to the settings: the precision that the run began with, the fingerprint of the data, and
# the steps after which the finished run was lengthened.
INITIAL_PRECISION, DATA_FINGERPRINT, LENGTHENED_AFTER = "initial_precision", "data_fingerprint", "lengthened_after"


def claim_run(config, device: torch.device, fingerprint: dict, steps: int | None = None) -> torch.dtype:
    """Write the settings of a new run to its directory, or check that they equal the settings of the existing run.

    The precision that `auto` selected is recorded, so that a run keeps its precision if another machine resumes it.

    Args:
        config: the `RunConfig`.
        device: the device for which `auto` selects a precision.
        fingerprint: the fingerprint of the training data: name -> count or digest.
        steps: the length of the run; None if it cannot be lengthened.

    Returns:
        The type that the run computes in.

    Raises:
        BertlabError: the directory contains a run with different settings or data, is damaged, or cannot be written.
    """
    settings = _select_loss_settings(asdict(config))
    path = config.out / SETTINGS
    if not path.is_file():
        dtype = resolve_precision(config.precision, device)
        _write_settings(path, settings, str(dtype).removeprefix("torch."), fingerprint, [])
        return dtype
    recorded_settings = read_settings(config.out)
    precision: Precision = recorded_settings.pop(INITIAL_PRECISION, config.precision)
    recorded_data = recorded_settings.pop(DATA_FINGERPRINT, None)
    lengthened_steps = recorded_settings.pop(LENGTHENED_AFTER, [])
    recorded_settings = _make_default_settings(config) | recorded_settings
    recorded_settings["optim"] = asdict(OptimConfig()) | recorded_settings["optim"]
    flag_names = _find_flag_names(type(config))
    old_values = _to_flag_values(recorded_settings, flag_names)
    new_values = _to_flag_values(settings, flag_names)
    changed_flags = [flag for flag in sorted(old_values | new_values) if old_values.get(flag) != new_values.get(flag)]
    saved_step = _find_lengthening_step(config, changed_flags, steps)
    if changed_flags and saved_step is None:
        differences = [(flag, old_values.get(flag), new_values.get(flag)) for flag in changed_flags]
        raise _make_settings_error(config.out, differences)
    differing_names = [
        name for name in fingerprint if name in (recorded_data or {}) and recorded_data[name] != fingerprint[name]
    ]
    if differing_names:
        parts = [
            Message("run-data-difference", name=name, before=str(recorded_data[name]), now=str(fingerprint[name]))
            for name in differing_names
        ]
        raise BertlabError("run-data-differs", directory=config.out, differences=parts)
    if saved_step is not None:
        _write_settings(path, settings, precision, recorded_data or fingerprint, [*lengthened_steps, saved_step])
    elif recorded_data is None:  # an older version of bertlab, which recorded no fingerprint, began the run
        _write_settings(path, settings, precision, fingerprint, lengthened_steps)
    return resolve_precision(precision, device)


def read_settings(directory: Path) -> dict:
    """Read run.json.

    Raises:
        BertlabError: the file is damaged.
    """
    path = directory / SETTINGS
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict) or not isinstance(settings.get("optim"), dict):
        raise BertlabError("run-settings-damaged", path=path, directory=directory)
    return settings


def read_lengthened_steps(directory: Path) -> list[int]:
    """Read the steps after which a finished run was lengthened."""
    path = directory / SETTINGS
    return read_settings(directory).get(LENGTHENED_AFTER, []) if path.is_file() else []


def _find_lengthening_step(config, changed_flags: list[str], steps: int | None) -> int | None:
    """Find the step after which a finished run is lengthened.

    The result is None if other settings change too, if the run is not finished, or if its new length is not greater.
    """
    if steps is None or not changed_flags or not LENGTH_FLAGS.issuperset(changed_flags):
        return None
    try:
        record = checkpoint.read_record(config.out / CHECKPOINT)
        progress = read_values(config.out / STATE)["progress"]
        step, seconds = progress["step"], progress["seconds"]
        # the share of the lengthened run that is done already
        share = max(step / steps, seconds / (60 * config.minutes) if config.minutes else 0.0)
    except (CheckpointError, KeyError, TypeError):
        return None
    return step if record.get("steps") == step and share < 1 else None


def _make_settings_error(directory: Path, differences: list[tuple]) -> BertlabError:
    """Make the error for a run that has other settings; `differences` are (flag, value of the run, requested value)."""
    parts = [
        Message("run-setting-difference", flag=flag, before=_format_value(before), now=_format_value(now))
        for flag, before, now in differences
    ]
    if (directory / CHECKPOINT / CONFIG).is_file():
        return BertlabError("run-settings-differ-finished", directory=directory, differences=parts)
    if (directory / STATE).is_file():
        return BertlabError("run-settings-differ", directory=directory, differences=parts)
    return BertlabError("run-settings-differ-unsaved", directory=directory, differences=parts)


def _write_settings(path: Path, settings: dict, precision: str, fingerprint: dict, lengthened_steps: list[int]) -> None:
    """Write run.json; see `claim_run`, and `read_lengthened_steps` for the steps."""
    record = settings | {INITIAL_PRECISION: precision, DATA_FINGERPRINT: fingerprint}
    if lengthened_steps:
        record[LENGTHENED_AFTER] = lengthened_steps
    write_atomically(path, json.dumps(record, indent=2))


def _select_loss_settings(values: dict) -> dict:
    """Select the settings that change the losses, and convert their values to values that JSON can store."""
    return json.loads(json.dumps({name: v for name, v in values.items() if name not in FREE_SETTINGS}, default=str))


def _find_flag_names(config_class: type, path: str = "") -> dict[str, str]:
    """Find the flags whose name differs from `--` plus the path of the field, such as `--ema` for the field optim.ema.

    The result includes the positional arguments, because their names have no dashes.

    Args:
        config_class: the dataclass of the settings.
        path: the names of the fields that contain the dataclass, each followed by a dot.

    Returns:
        Path of the field -> flag.

    >>> _find_flag_names(OptimConfig, "optim.")
    {'optim.ema': '--ema'}
    """
    flags: dict[str, str] = {}
    for name, hint in get_type_hints(config_class, include_extras=True).items():
        markers = getattr(hint, "__metadata__", ())
        field_type = hint.__origin__ if markers else hint
        if isinstance(field_type, type) and is_dataclass(field_type):
            flags |= _find_flag_names(field_type, f"{path}{name}.")
        if POSITIONAL_MARKER in markers:
            flags[path + name] = _to_flag_name(name)
        for marker in markers:
            flag_name = getattr(marker, "name", None) or _to_flag_name(name)
            if getattr(marker, "prefix_name", None) is False:
                flags[path + name] = f"--{flag_name}"
            elif flag_name != _to_flag_name(name):
                flags[path + name] = f"--{_to_flag_name(path)}{flag_name}"
    return flags


def _to_flag_values(settings: dict, flag_names: dict[str, str], path: str = "") -> dict:
    """Convert a dictionary {field: value} to a dictionary {flag: value}, with each flag as a user types it.

    Args:
        settings: values by field; the value of a nested dataclass is a dictionary.
        flag_names: the result of `_find_flag_names`.
        path: the names of the fields that contain `settings`, each followed by a dot.

    >>> flag_names = {"kind": "--type", "optim.ema": "--ema"}
    >>> _to_flag_values({"from_": "mine", "kind": "span", "optim": {"weight_decay": 0.1, "ema": 0.9}}, flag_names)
    {'--from': 'mine', '--type': 'span', '--optim.weight-decay': 0.1, '--ema': 0.9}
    """
    flags = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            flags |= _to_flag_values(value, flag_names, f"{path}{name}.")
        else:
            flags[flag_names.get(path + name) or f"--{_to_flag_name(path + name)}"] = value
    return flags


def _to_flag_name(name: str) -> str:
    """Convert the name of a field to its spelling on the command line."""
    return name.rstrip("_").replace("_", "-")


def _format_value(value: object) -> object:
    """Format the value of a flag as a user would write it."""
    return Message("run-setting-unset") if value is None or value == "" else str(value)


def _make_default_settings(config) -> dict:
    """Make the default settings, which complete a run.json that was written before a setting existed."""
    return _select_loss_settings({f.name: f.default for f in fields(config) if f.default is not MISSING})
