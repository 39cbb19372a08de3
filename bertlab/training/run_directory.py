"""The directory of a training run: settings, lock, log and the record of its checkpoint.

A run can be resumed only with its original settings and data. A finished run may be lengthened: with more steps,
minutes or epochs it continues with its weights and optimiser state.
"""

import importlib.metadata
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, get_args, get_type_hints

import torch
import tyro
from torch import nn

from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.files import CONFIG
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.files import write_atomically
from bertlab.config.languages import Message
from bertlab.config.limits import check_limits
from bertlab.config.lock import exclusive_lock
from bertlab.training import distributed
from bertlab.training.devices import resolve_device
from bertlab.training.optimizers import OptimConfig, Optimizer, Precision, find_optimizer, resolve_precision
from bertlab.training.run_state import read_values
from bertlab.training.trainer import Batches, Clock, Trainer

# What the directory of a run contains; the generator only after replaced-token pre-training.
SETTINGS, LOG, STATE, CHECKPOINT, GENERATOR = "run.json", "log.jsonl", "state.safetensors", "checkpoint", "generator"
# Settings that do not change the losses. A run may be resumed with different values of them.
FREE_SETTINGS = {"out", "threads", "validation", "evaluate_every", "evaluate_rows", "save_minutes", "snapshots"}
FREE_SETTINGS |= {"attribution", "note", "accumulate", "loader_workers", "snapshot_dtype", "sample_predictions"}
FREE_SETTINGS |= {"sentences", "tensorboard"}
# Flags that set the length of a run.
LENGTH_FLAGS = {"--steps", "--minutes", "--epochs"}
# Keys of run.json in addition to the settings: the precision that the run began with, the fingerprint of the data, and
# the steps after which the finished run was lengthened.
INITIAL_PRECISION, DATA_FINGERPRINT, LENGTHENED_AFTER = "initial_precision", "data_fingerprint", "lengthened_after"
# `tyro.conf.Positional` adds this object to the type of a positional argument.
POSITIONAL_MARKER = get_args(tyro.conf.Positional[str])[1]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The settings that pre-training and fine-tuning share."""

    SECTIONS: ClassVar = {
        "machine": ("precision", "device", "threads", "clock", "accumulate", "save_minutes"),
        "model card": ("attribution", "note"),
    }
    """Headings in `--help`, each with the fields listed below it."""

    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The run directory."""
    minutes: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Maximum training time in minutes, not counting evaluation and saving. The learning-rate schedule is fitted to it:
    the learning rate reaches zero when the time is over."""
    batch_size: int = 32
    """Inputs per step (sentence pairs in pre-training; texts, pairs or passage windows in fine-tuning), in total over
    all processes."""
    accumulate: int = 1
    """Gradient accumulation: the number of micro-batches into which each batch is split. This needs less memory and
    gives the same losses."""
    optim: OptimConfig = field(default_factory=OptimConfig)
    """The optimiser and its learning rate."""
    precision: Precision = "auto"
    """Number format of the forward and backward pass; the master weights are always float32. auto measures which format
    is faster on this machine; a resumed run keeps its initial precision."""
    device: str = "auto"
    """cpu or cuda; auto uses a GPU if one is available."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of CPU threads. Default: the number that PyTorch chooses, usually one for each core."""
    clock: Clock = "wall"
    """What --minutes measures: wall-clock time, or the CPU time of all threads of this process. With CPU time and
    --threads 1, runs are comparable even on a CPU that other programs use too."""
    seed: int = 0
    """Seed of all random choices: initialisation, shuffling, dropout and, in pre-training, masking."""
    attribution: str = ""
    """Source and licence of the data, for the model card."""
    note: str = ""
    """A note for the model card."""
    save_minutes: float = 3.0
    """Minutes between saves of the run's state."""


def prepare_machine(config: RunConfig) -> torch.device:
    """Check the settings, set threads and seed, and join the process group if `torchrun` started several processes."""
    check_limits(config)
    find_optimizer(config.optim.name)
    if config.threads:
        torch.set_num_threads(config.threads)
    device = resolve_device(config.device)
    distributed.join_process_group(device)
    torch.manual_seed(config.seed)
    return device


@contextmanager
def open_run(
    config: RunConfig, model: nn.Module, batches: Batches, loss, steps: int, fingerprint: dict
) -> Iterator[tuple[Trainer, "RunLog"]]:
    """Lock the directory of a run, and begin the run or continue it from its last saved state."""
    with lock_run(config.out):
        device = resolve_device(config.device)
        dtypes = (torch.float32, torch.bfloat16)
        # The main process chooses the precision, because the measurements may differ between the processes.
        is_main = distributed.is_main_process()
        (dtype_index,) = distributed.broadcast(
            dtypes.index(claim_run(config, device, fingerprint, steps)) if is_main else 0
        )
        trainer = Trainer(
            Optimizer(model, config.optim, dtypes[int(dtype_index)], device),
            batches,
            loss,
            steps=steps,
            minutes=config.minutes,
            state_path=config.out / STATE,
            save_every_seconds=60 * config.save_minutes,
            accumulate=config.accumulate,
            clock=config.clock,
        )
        yield trainer, RunLog(config.out / LOG, trainer.saved_step)


@contextmanager
def lock_run(directory: Path) -> Iterator[None]:
    """Lock the directory of a run against a second command; only the main process takes the lock."""
    is_main = distributed.is_main_process()
    with exclusive_lock(directory / ".lock", Message("lock-owner-run", path=directory)) if is_main else nullcontext():
        yield


def claim_run(config: RunConfig, device: torch.device, fingerprint: dict, steps: int | None = None) -> torch.dtype:
    """Write the settings of a new run to its directory, or check that they equal those of the existing run.

    The precision that `auto` selected is recorded, so that a run keeps it if another machine resumes the run.

    Args:
        fingerprint: counts and digests that identify the training data.
        steps: the length of the run; None if it cannot be lengthened.

    Returns:
        The type that the run computes in.
    """
    settings = {name: value for name, value in asdict(config).items() if name not in FREE_SETTINGS}
    settings = json.loads(json.dumps(settings, default=str))
    path = config.out / SETTINGS
    if not path.is_file():
        dtype = resolve_precision(config.precision, device)
        precision = str(dtype).removeprefix("torch.")
        _write_settings(path, settings | {INITIAL_PRECISION: precision, DATA_FINGERPRINT: fingerprint})
        return dtype
    record = read_settings(config.out)
    old_values, new_values = _flatten(record), _flatten(settings)
    changes = {
        _find_flag(type(config), field_path): (old_values.get(field_path), value)
        for field_path, value in new_values.items()
        if old_values.get(field_path) != value
    }
    saved_step = _find_lengthening_step(config, changes, steps) if changes else None
    if changes and saved_step is None:
        differences = [
            Message("run-setting-difference", flag=flag, before=_format_value(before), now=_format_value(now))
            for flag, (before, now) in sorted(changes.items())
        ]
        if (config.out / CHECKPOINT / CONFIG).is_file():
            raise BertlabError("run-settings-differ-finished", directory=config.out, differences=differences)
        if (config.out / STATE).is_file():
            raise BertlabError("run-settings-differ", directory=config.out, differences=differences)
        raise BertlabError("run-settings-differ-unsaved", directory=config.out, differences=differences)
    differences = [
        Message("run-data-difference", name=name, before=str(before), now=str(fingerprint[name]))
        for name, before in record[DATA_FINGERPRINT].items()
        if name in fingerprint and before != fingerprint[name]
    ]
    if differences:
        raise BertlabError("run-data-differs", directory=config.out, differences=differences)
    if saved_step is not None:
        record |= settings | {LENGTHENED_AFTER: [*record.get(LENGTHENED_AFTER, []), saved_step]}
        _write_settings(path, record)
    return resolve_precision(record[INITIAL_PRECISION], device)


def _write_settings(path: Path, settings: dict) -> None:
    write_atomically(path, json.dumps(settings, indent=2))


def read_settings(directory: Path) -> dict:
    """Read run.json; raise BertlabError if it is damaged."""
    path = directory / SETTINGS
    with suppress(ValueError, RecursionError):
        settings = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(settings, dict) and {"optim", INITIAL_PRECISION, DATA_FINGERPRINT} <= settings.keys():
            return settings
    raise BertlabError("run-settings-damaged", path=path, directory=directory)


def read_lengthened_steps(directory: Path) -> list[int]:
    """Read the steps after which a finished run was lengthened."""
    return read_settings(directory).get(LENGTHENED_AFTER, []) if (directory / SETTINGS).is_file() else []


def _flatten(settings: Mapping, path: str = "") -> dict:
    """Flatten nested settings.

    >>> _flatten({"seed": 1, "optim": {"ema": 0.9}})
    {'seed': 1, 'optim.ema': 0.9}
    """
    values = {}
    for name, value in settings.items():
        values |= _flatten(value, f"{path}{name}.") if isinstance(value, dict) else {path + name: value}
    return values


def _find_flag(config_type: type, field_path: str) -> str:
    """Find the flag of a field; a positional argument has no dashes.

    >>> [_find_flag(RunConfig, field_path) for field_path in ("save_minutes", "optim.weight_decay", "optim.ema")]
    ['--save-minutes', '--optim.weight-decay', '--ema']
    """
    *parents, name = field_path.split(".")
    for parent in parents:
        config_type = get_type_hints(config_type)[parent]
    markers = getattr(get_type_hints(config_type, include_extras=True)[name], "__metadata__", ())
    arguments = [marker for marker in markers if hasattr(marker, "prefix_name")]  # the results of `tyro.conf.arg`
    words = [next((each.name for each in arguments if each.name), name.rstrip("_"))]
    if all(each.prefix_name is not False for each in arguments):
        words = [*parents, *words]
    flag = ".".join(words).replace("_", "-")
    return flag if POSITIONAL_MARKER in markers else f"--{flag}"


def _find_lengthening_step(config: RunConfig, changes: Mapping, steps: int | None) -> int | None:
    """Find the step after which a finished run is lengthened; None if something else is the case."""
    if steps is None or not LENGTH_FLAGS.issuperset(changes):
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


def _format_value(value: object) -> object:
    return Message("run-setting-unset") if value is None or value == "" else str(value)


def make_run_record(config: RunConfig, trainer: Trainer, *, settings: dict, **values) -> dict:
    """Make the content of `bertlab.json` for a run's checkpoint; `settings` and `values` are what else to record."""
    optimizer = asdict(config.optim)
    lengthened_steps = read_lengthened_steps(config.out)
    try:
        version = importlib.metadata.version("bertlab")
    except importlib.metadata.PackageNotFoundError:  # a clone that is not installed
        version = "from a clone"
    return {
        "made_by": f"bertlab {version}, torch {torch.__version__}",
        **values,
        "attribution": config.attribution,
        "steps": trainer.progress.step,
        "tokens": trainer.progress.tokens,
        "training_minutes": round(trainer.progress.seconds / 60, 1),
        **({"lengthened_after": lengthened_steps} if lengthened_steps else {}),
        "hardware": trainer.hardware,
        "precision": str(trainer.optimizer.dtype).removeprefix("torch."),
        "seed": config.seed,
        "settings": {"batch_size": config.batch_size, **settings, "optimizer": optimizer.pop("name"), **optimizer},
        "finished": time.strftime("%Y-%m-%d", time.gmtime()),
        "note": config.note,
    }


def is_finished(config: RunConfig, trainer: Trainer) -> bool:
    """Whether the run has done all its steps, and its checkpoint was written after the last step."""
    try:
        record = checkpoint.read_record(config.out / CHECKPOINT)
    except CheckpointError:  # the checkpoint is missing or damaged, so the run must write it again
        return False
    return trainer.is_done and record.get("steps") == trainer.progress.step


def report_resumed(config: RunConfig, trainer: Trainer, notify: Callable[[str], None]) -> None:
    """Report from which step a resumed run continues; report nothing for a new run."""
    step = trainer.progress.step
    if not distributed.is_main_process() or not step:
        return
    reason = ", lengthened: its learning rate rises again" if read_lengthened_steps(config.out)[-1:] == [step] else ""
    notify(f"{config.out} continues from step {step:,}{reason}")


def report_finished(config: RunConfig, trainer: Trainer, target: str, notify: Callable[[str], None]) -> None:
    """Report that a run is already finished, and how to evaluate (`target` is the task) or lengthen it."""
    if distributed.is_main_process():
        length_flags = "--steps or --minutes" if hasattr(config, "steps") else "--epochs or --minutes"
        notify(
            f"{config.out} already finished at step {trainer.progress.step:,}: `bertlab evaluate {target} --record` "
            f"evaluates its checkpoint again; a larger {length_flags} trains it further"
        )


class RunLog:
    """The log of a run, one JSON object a line, which only the main process writes.

    Opening it removes damaged lines and the rows after the last saved step, or all rows if nothing was saved.
    """

    def __init__(self, path: Path, saved_step: int | None):
        self._file = None
        if not distributed.is_main_process():
            return
        lines = []
        if saved_step is not None and path.is_file():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                with suppress(ValueError, RecursionError, TypeError, KeyError):  # a damaged line
                    if json.loads(line)["step"] <= saved_step:
                        lines.append(line)
        write_atomically(path, "".join(f"{line}\n" for line in lines))
        self._file = path.open("a", buffering=1, encoding="utf-8")

    def write(self, row: dict) -> None:
        """Append a row; does nothing in processes other than the main one."""
        if self._file:
            self._file.write(json.dumps(row) + "\n")
