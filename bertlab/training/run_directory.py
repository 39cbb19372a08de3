"""Open and lock the directory of a training run, write its log, and make the record of its checkpoint."""

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

import torch
import tyro
from torch import nn

import bertlab
from bertlab.checkpoints import checkpoint
from bertlab.config.errors import CheckpointError
from bertlab.config.files import write_atomically
from bertlab.config.languages import Message
from bertlab.config.limits import check_limits
from bertlab.config.lock import exclusive_lock
from bertlab.training import distributed
from bertlab.training.devices import resolve_device
from bertlab.training.optimizers import OptimConfig, Precision, find_optimizer
from bertlab.training.run_settings import CHECKPOINT, STATE, claim_run, read_lengthened_steps
from bertlab.training.trainer import Batches, Clock, Trainer

LOG = "log.jsonl"  # the log in the directory of a run


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


def open_run(
    config: RunConfig, model: nn.Module, batches: Batches, loss, steps: int, fingerprint: dict, resources: ExitStack
) -> tuple[Trainer, "RunLog"]:
    """Begin a run in its directory, or continue it; `resources` receives the lock of the directory."""
    resources.enter_context(lock_run(config))
    device = resolve_device(config.device)
    dtypes = (torch.float32, torch.bfloat16)
    # The main process chooses the precision, because the measurements may differ between the processes.
    dtype_index = dtypes.index(claim_run(config, device, fingerprint, steps)) if distributed.is_main_process() else 0
    (dtype_index,) = distributed.broadcast(dtype_index)
    trainer = Trainer(
        model,
        batches,
        loss,
        config.optim,
        steps=steps,
        minutes=config.minutes,
        device=device,
        dtype=dtypes[int(dtype_index)],
        state_path=config.out / STATE,
        save_every_seconds=60 * config.save_minutes,
        accumulate=config.accumulate,
        clock=config.clock,
    )
    return trainer, RunLog(config.out / LOG, trainer.saved_step)


def lock_run(config: RunConfig) -> AbstractContextManager:
    """Lock the directory of a run against a second command; only the main process takes the lock."""
    if not distributed.is_main_process():
        return nullcontext()
    return exclusive_lock(config.out / ".lock", Message("lock-owner-run", path=config.out))


def make_run_record(config: RunConfig, trainer: Trainer, *, settings: dict, **values) -> dict:
    """Make the content of `bertlab.json` for a run's checkpoint; `settings` and `values` are what else to record."""
    optimizer = asdict(config.optim)
    lengthened_steps = read_lengthened_steps(config.out)
    return {
        "made_by": f"bertlab {bertlab.__version__}, torch {torch.__version__}",
        **values,
        "attribution": config.attribution,
        "steps": trainer.progress.step,
        "tokens": trainer.progress.tokens,
        "training_minutes": round(trainer.progress.seconds / 60, 1),
        **({"lengthened_after": lengthened_steps} if lengthened_steps else {}),
        "hardware": trainer.hardware,
        "precision": str(trainer.dtype).removeprefix("torch."),
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
            lines = [
                line
                for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
                if _is_row_up_to(line, saved_step)
            ]
        write_atomically(path, "".join(f"{line}\n" for line in lines))
        self._file = path.open("a", buffering=1, encoding="utf-8")

    def write(self, row: dict) -> None:
        """Append a row; does nothing in processes other than the main one."""
        if self._file:
            self._file.write(json.dumps(row) + "\n")


def _is_row_up_to(line: str, step: int) -> bool:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    row_step = row.get("step") if isinstance(row, dict) else None
    return isinstance(row_step, int | float) and row_step <= step
