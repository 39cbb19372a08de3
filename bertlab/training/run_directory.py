"""What every training run has: its settings, its directory and log, and what is told of it afterwards.

Knows neither the model nor the data.
"""

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, ClassVar

import torch
import tyro
from torch import nn

import bertlab
from bertlab.checkpoints import checkpoint, files
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.files import write_atomically
from bertlab.config.languages import Message
from bertlab.config.limits import check_limits
from bertlab.config.lock import exclusive_lock
from bertlab.training import distributed
from bertlab.training.devices import resolve_device
from bertlab.training.optimizers import OptimConfig, Precision, resolve_precision
from bertlab.training.trainer import Batches, Trainer

# settings that do not change the losses, so a run that goes on may have others
FREE = {"out", "threads", "validation", "evaluate_every", "evaluate_rows", "save_minutes", "snapshots"}
FREE |= {"attribution", "note", "accumulate", "ahead", "snapshot_dtype", "watch", "sentences", "tensorboard"}
RENAMED = {"damaged": "invalid"}  # settings by the name that older runs have in run.json
# beside the settings in run.json: what `auto` came to, and what tells other data from the same
BEGUN, MADE_OF = "precision_begun", "made_of"


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The settings that pre-training and fine-tuning share."""

    SECTIONS: ClassVar = {
        "machine": ("precision", "device", "threads", "accumulate", "save_minutes"),
        "card": ("attribution", "note"),
    }

    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The run's directory."""
    minutes: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Stop after this much training time, the rate falling to zero on time; measuring and saving come on top."""
    batch_size: int = 32
    """Inputs a step (texts, pairs, or windows of a passage), over all processes."""
    accumulate: int = 1
    """Pieces to take a step's batch in, one after the other: less memory, the same losses."""
    optim: OptimConfig = field(default_factory=OptimConfig)
    precision: Precision = "auto"
    """Of the arithmetic; the weights that learn are always float32. auto measures which is faster here; a run that goes
    on keeps the one it began with, on whatever machine."""
    device: str = "auto"
    """cpu or cuda; auto takes a GPU if there is one."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Processor threads; all of them if not given."""
    seed: int = 0
    """Of all that is drawn: new weights, the order of the data, masks, dropout."""
    attribution: str = ""
    """Whose data it is and under which licence, for the model card."""
    note: str = ""
    """Anything else the model card should say."""
    save_minutes: float = 3.0
    """Minutes between saves of the run's state."""


def prepare_machine(config: RunConfig) -> torch.device:
    """Threads, seed and device as configured, and the other processes met, if `torchrun` started several.

    Raises:
        BertlabError: a device that is not there, or settings that are no settings.
    """
    check_limits(config)
    if config.threads:
        torch.set_num_threads(config.threads)
    device = resolve_device(config.device)
    distributed.join(device)
    torch.manual_seed(config.seed)
    return device


def open_run(
    config: RunConfig, model: nn.Module, batches: Batches, loss, steps: int, made_of: dict, held: ExitStack
) -> tuple[Trainer, "RunLog"]:
    """Claim the directory, and take up the run where it stands.

    Args:
        made_of: what would change if the data did, see `claim_run`.
        held: the directory is this process's own until this is left, see `lock_run`.

    Raises:
        BertlabError: the run is under way elsewhere; the directory holds a run of other settings, a damaged state, or
            cannot be written.
    """
    held.enter_context(lock_run(config))
    device = resolve_device(config.device)
    kinds = (torch.float32, torch.bfloat16)
    # the first process may find another precision faster here than the others would
    (kind,) = distributed.broadcast(
        kinds.index(claim_run(config, device, made_of)) if distributed.is_main_process() else 0
    )
    trainer = Trainer(
        model,
        batches,
        loss,
        config.optim,
        steps=steps,
        minutes=config.minutes,
        device=device,
        dtype=kinds[int(kind)],
        state_path=config.out / "state.safetensors",
        save_every_seconds=60 * config.save_minutes,
        accumulate=config.accumulate,
    )
    return trainer, RunLog(config.out / "log.jsonl", trainer.saved_step)


def lock_run(config: RunConfig) -> AbstractContextManager:
    """Round all that is done in a run's directory: a second start of the same run is refused meanwhile.

    Only the first of several processes asks; when it is refused it ends, and the others with it.
    """
    return (
        exclusive_lock(config.out / ".lock", Message("lock-owner-run", path=config.out))
        if distributed.is_main_process()
        else nullcontext()
    )


def claim_run(config: RunConfig, device: torch.device, made_of: dict) -> torch.dtype:
    """Make the directory a run's own, or find that it is already this run's -> the precision the run began with.

    What `auto` came to is kept in run.json, so that a run goes on with the same arithmetic on another machine.

    Args:
        made_of: name -> count or digest, of the data; a run on other data than it began with would not be that run.

    Raises:
        BertlabError: the directory holds a run of other settings or data, is damaged, or cannot be written.
    """
    settings = _settings(asdict(config))
    path = config.out / "run.json"
    if path.is_file():
        try:
            theirs = json.loads(path.read_text())
        except ValueError:
            theirs = None
        if not isinstance(theirs, dict) or not isinstance(theirs.get("optim"), dict):
            raise BertlabError(f"{path} is damaged: it holds no settings; remove {config.out} to begin again")
        begun, read = theirs.pop(BEGUN, config.precision), theirs.pop(MADE_OF, None)
        theirs = _defaults(config) | {RENAMED.get(name, name): value for name, value in theirs.items()}
        theirs["optim"] = asdict(OptimConfig()) | theirs["optim"]
        asked, begun_with = _flags(settings), _flags(theirs)
        changed = [name for name in sorted(asked | begun_with) if asked.get(name) != begun_with.get(name)]
        if changed:
            told = ", ".join(f"{name} {_said(begun_with, name)}, not {_said(asked, name)}" for name in changed)
            onward = ", or remove it, as it ended before its first save"
            if (config.out / "checkpoint" / files.CONFIG).is_file():
                onward = f", or go on from its result with --from {config.out}"
            elif (config.out / "state.safetensors").is_file():
                onward = ""
            raise BertlabError(
                f"{config.out} holds a run with other settings ({told}): choose another --out, or repeat them{onward}"
            )
        if read is None:  # begun before the data was noted
            _note(path, settings, begun, made_of)
        elif others := [f"{k} {read.get(k)}, now {v}" for k, v in made_of.items() if k in read and read[k] != v]:
            raise BertlabError(f"{config.out} was begun on other data ({'; '.join(others)}): choose another --out")
        return resolve_precision(begun, device)
    dtype = resolve_precision(config.precision, device)
    _note(path, settings, str(dtype).removeprefix("torch."), made_of)
    return dtype


def _note(path: Path, settings: dict, begun: str, made_of: dict) -> None:
    write_atomically(path, json.dumps(settings | {BEGUN: begun, MADE_OF: made_of}, indent=2))


def _settings(values: dict) -> dict:
    """Those of a configuration that make a run what it is, as JSON has them."""
    return json.loads(json.dumps({name: v for name, v in values.items() if name not in FREE}, default=str))


def _flags(settings: dict, prefix: str = "--") -> dict:
    """Settings by what they are called on the command line.

    >>> _flags({"from_": "mine", "optim": {"weight_decay": 0.1}})
    {'--from': 'mine', '--optim.weight-decay': 0.1}
    """
    flags = {}
    for name, value in settings.items():
        flag = prefix + name.rstrip("_").replace("_", "-")
        flags |= _flags(value, f"{flag}.") if isinstance(value, dict) else {flag: value}
    return flags


def _said(flags: dict, name: str) -> str:
    """A flag's value as a reader would put it.

    >>> _said({"--steps": None}, "--steps"), _said({"--steps": 40}, "--steps")
    ('unset', '40')
    """
    value = flags.get(name)
    return "unset" if value is None or value == "" else str(value)


def _defaults(config: RunConfig) -> dict:
    """What a run had whose run.json is older than a setting."""
    return _settings({f.name: f.default for f in fields(config) if f.default is not MISSING})


def record(config: RunConfig, trainer: Trainer, *, settings: dict, **facts) -> dict:
    """What `bertlab.json` states about a run.

    Args:
        settings: those worth telling beside the batch size and the optimiser's.
        facts: command, from, data, objectives, validation, evaluate_command and what else the run knows.
    """
    return {
        "made_by": f"bertlab {bertlab.__version__}, torch {torch.__version__}",
        **facts,
        "attribution": config.attribution,
        "steps": trainer.progress.step,
        "tokens": trainer.progress.tokens,
        "training_minutes": round(trainer.progress.seconds / 60, 1),
        "hardware": trainer.hardware,
        "precision": str(trainer.dtype).removeprefix("torch."),
        "seed": config.seed,
        "settings": {"batch_size": config.batch_size, **settings, **asdict(config.optim)},
        "finished": time.strftime("%Y-%m-%d", time.gmtime()),
        "note": config.note,
    }


def is_finished(config: RunConfig, trainer: Trainer) -> bool:
    """Whether the run did all its steps before, and its checkpoint is of the last."""
    try:
        told = checkpoint.read_record(config.out / "checkpoint")
    except CheckpointError:  # none, or damaged: it is made again
        return False
    return trainer.done and told.get("steps") == trainer.progress.step


def report_resumed(config: RunConfig, trainer: Trainer, tell: Callable[[str], None]) -> None:
    """Say where a run goes on that was stopped."""
    if distributed.is_main_process() and trainer.progress.step:
        tell(f"{config.out} goes on from step {trainer.progress.step:,}")


def report_finished(config: RunConfig, trainer: Trainer, what: str, tell: Callable[[str], None]) -> None:
    """Say that there is nothing to do, and how to measure again.

    Args:
        what: `bertlab evaluate` calls it.
    """
    if distributed.is_main_process():
        measured = f"`bertlab evaluate {what} --record` measures its checkpoint again"
        tell(f"{config.out} was finished with step {trainer.progress.step:,}, so nothing is done: {measured}")


class RunLog:
    """One JSON row a line; opening it for a run that goes on at `step` drops the rows after that step.

    A run of which nothing was saved (None) begins with an empty log. Only the first of several processes writes.
    """

    def __init__(self, path: Path, step: int | None):
        self._file = None
        if not distributed.is_main_process():
            return
        kept = []
        if step is not None and path.is_file():
            for line in path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    break  # the last line of a run that was killed
                if row["step"] <= step:
                    kept.append(line)
        write_atomically(path, "".join(f"{line}\n" for line in kept))
        self._file = path.open("a", buffering=1)

    def write(self, row: dict) -> None:
        if self._file:
            self._file.write(json.dumps(row) + "\n")
