"""The one training loop: it yields a report for every step, and can be stopped at any moment.

Pre-training and fine-tuning differ only in the batches and the loss they hand in. All that a run is (weights, moments,
random state, the place in the data) is one file, replaced as a whole, so a run that was killed goes on bit for bit
(but for the last digits on a GPU, whose kernels add up in any order). Knows no text and no checkpoint format.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.nn.fast.model import compile_layers
from bertlab.training import devices, distributed
from bertlab.training.divergence import Diverged, DivergenceDetector
from bertlab.training.gradient import GlobalGradient, Loss
from bertlab.training.interrupt import Interrupted, held_back
from bertlab.training.optimizers import OptimConfig, Optimizer

MALLOC_TRIM_INTERVAL = 50  # steps after which freed memory goes back to the system


class Batches(Protocol):
    """An endless iterator with a `place` (a dataclass of numbers) that says where its next batch begins.

    turn: hears before each step how much of the run is done (0..1); True if batches of another kind begin.
    """

    place: object

    def __next__(self): ...

    def turn(self, done: float) -> bool: ...


@dataclass(frozen=True)
class StepReport:
    """One step: loss in nats, rate, norm of the gradient, tokens so far, seconds so far, the seconds of this step,
    and how many of those went by until its batch was there."""

    step: int
    progress: float
    loss: float
    metrics: dict[str, float]
    learning_rate: float
    gradient_norm: float
    tokens: int
    seconds: float
    step_seconds: float
    waited: float = 0.0

    def log_row(self) -> dict:
        """The report as a flat row of the JSONL log."""
        row = asdict(self)
        return {**row.pop("metrics"), **row}


@dataclass
class Progress:
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass
class Trainer:
    """Runs until `steps` are done or `minutes` have passed, whichever comes first; the rate ends at zero with it.

    Args:
        model: float32 weights; they are what is learned.
        batches: see `Batches`; moved to `device` here.
        loss: (model, batch) -> Loss.
        state_path: where the run's state is kept; if a file is there, the run goes on from it.
        accumulate: how many pieces to take each batch in.

    Iterating raises Diverged when the loss is no number or leaps up for good; what was saved last is from before, as a
    step's state is saved only once the loss of the step after it is known to be as usual.

    Ctrl-C in a step waits for its end and saves, then raises Interrupted, in all processes after the same step; one
    between two steps does so where `saving_on_interrupt` is round the loop.

    Where `torchrun` started several processes, each runs one of these over its rows of the same global batches. Reports
    are of the global batch, and the first process alone writes the state.
    """

    model: nn.Module
    batches: Batches
    loss: Callable[[nn.Module, object], Loss]
    optim: OptimConfig
    steps: int
    minutes: float | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    dtype: torch.dtype = torch.float32
    state_path: Path | None = None
    save_every_seconds: float = 180.0
    accumulate: int = 1
    progress: Progress = field(default_factory=Progress)
    saved_step: int | None = None
    saved_seconds: float = 0.0
    interrupted: bool = False

    def __post_init__(self):
        self.model.to(self.device).train()
        self.optimizer = Optimizer(self.model, self.optim, self.dtype)
        self.optimizer.compute_model.train()
        self.watch = DivergenceDetector()
        if self.state_path and self.state_path.is_file():
            self._restore()
        distributed.seed_by_rank(self.progress.step)
        # told of the run when the processes have parted
        self.hardware = f"{distributed.world_size()} x {devices.describe_hardware(self.device)}".removeprefix("1 x ")
        weights = sum(float(p.detach().double().sum()) for p in self.optimizer.master)
        if not distributed.all_equal(self.progress.step + weights):
            raise BertlabError(
                "the processes do not start from the same weights: "
                "the run's directory and its checkpoint must lie where every machine sees them"
            )
        self.unready = devices.can_compile(self.device)
        if self.unready:
            compile_layers(self.optimizer.compute_model)
        self.gradient = GlobalGradient(self.optimizer.compute_model, self.loss, self.accumulate)

    def __iter__(self) -> Iterator[StepReport]:
        while (done := self._share()) < 1.0:
            with held_back() as interrupts:
                report = self._step(done, interrupts)
            yield report
            if self.interrupted:
                self._stop()
            if self.device.type == "cpu" and self.progress.step % MALLOC_TRIM_INTERVAL == 0:
                devices.release_memory()
        if self.state_path:
            self.save()

    @contextmanager
    def saving_on_interrupt(self) -> Iterator[None]:
        """Round a loop over the steps: Ctrl-C in what is done between two of them loses none either."""
        try:
            yield
        except Interrupted:
            raise
        except KeyboardInterrupt:
            self._stop()

    def _stop(self) -> None:
        """After Ctrl-C: nothing is lost."""
        if self.state_path and self.watch.calm:
            self.save()
        kept = "nothing is saved yet" if self.saved_step is None else "the same command goes on"
        kept += f" from step {self.saved_step:,}" if self.saved_step not in (None, self.progress.step) else ""
        raise Interrupted(f"stopped after step {self.progress.step:,}: {kept}" if distributed.is_main_process() else "")

    @property
    def done(self) -> bool:
        """Whether there is no step left to do."""
        return self._share() >= 1.0

    def _share(self) -> float:
        by_time = self.progress.seconds / (60 * self.minutes) if self.minutes else 0.0
        return max(self.progress.step / self.steps, by_time)

    def _due(self) -> bool:
        """Whether to save: by the clock that all processes share, so that all know what is saved."""
        waited = self.progress.seconds - self.saved_seconds
        return self.state_path is not None and self.watch.calm and waited > self.save_every_seconds

    def _step(self, done: float, interrupts: list[int]) -> StepReport:
        stand = self._stand() if self._due() else None
        began = time.monotonic()
        if self.batches.turn(done):
            self.watch.reset()
        batch = next(self.batches).to(self.device)
        waited = time.monotonic() - began
        if self.unready:
            self._make_ready(batch)
            began = time.monotonic()
        # half a step in, so that the first step moves and the last one is not lost
        rate = self.optim.learning_rate_at(min(1.0, done + 0.5 / self.steps))
        loss = self.gradient(batch)
        # read together, as a GPU is waited for here
        scalars = [loss.value.detach(), self.optimizer.clip(), loss.tokens, *loss.metrics.values()]
        value, norm, tokens, *figures = torch.stack([scalar.double() for scalar in scalars]).tolist()
        try:
            self.watch.update(value, norm)
        except Diverged as error:
            kept = "nothing was saved before" if self.saved_step is None else f"step {self.saved_step} is kept"
            raise Diverged(
                f"{error} at step {self.progress.step + 1}; {kept}: try a lower --optim.lr in another --out"
            ) from None
        if stand and self.watch.calm:
            # the weights are still those that the step before left, and now known to be good
            saving = time.monotonic()
            self._save(*stand)
            began += time.monotonic() - saving
        self.optimizer.step(rate)
        # one clock for all, and one Ctrl-C, or they would not end with the same step
        seconds, interrupted = distributed.broadcast(time.monotonic() - began, bool(interrupts))
        self.interrupted = bool(interrupted)
        before = self.progress
        now = self.progress = Progress(before.step + 1, before.tokens + int(tokens), before.seconds + seconds)
        told = dict(zip(loss.metrics, figures, strict=True))
        return StepReport(now.step, done, value, told, rate, norm, now.tokens, now.seconds, seconds, waited)

    def _make_ready(self, batch) -> None:
        """Take a step's gradient for nothing: its kernels are made while no clock runs."""
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            self.gradient(batch)
        self.optimizer.compute_model.zero_grad()
        self.unready = False

    def save(self) -> None:
        """Write the whole state beside its place, then rename: a kill leaves the old one or the new one."""
        self._save(*self._stand())

    def _stand(self) -> tuple[dict, dict[str, torch.Tensor]]:
        """What a step changes before it changes the weights: counts, places and watch, and the random state."""
        facts = {
            "progress": asdict(self.progress),
            "place": asdict(self.batches.place),
            "watch": asdict(self.watch),
        }
        random = {"rng": torch.get_rng_state()}
        if self.device.type == "cuda":
            random["rng.cuda"] = torch.cuda.get_rng_state()
        return facts, random

    def _save(self, facts: dict, random: dict[str, torch.Tensor]) -> None:
        if distributed.is_main_process():
            self._write(facts, self.optimizer.state() | random)
        self.saved_step, self.saved_seconds = self.progress.step, self.progress.seconds

    def _write(self, facts: dict, tensors: dict[str, torch.Tensor]) -> None:
        building = self.state_path.with_suffix(".building")
        try:
            save_file(tensors, building, metadata={"trainer": json.dumps(facts)})
            os.replace(building, self.state_path)
        except (OSError, SafetensorError) as error:
            building.unlink(missing_ok=True)
            raise CheckpointError(f"the run's state cannot be written to {self.state_path}: {error}") from error

    def go_back(self) -> None:
        """Be what was saved last."""
        self._restore()

    def _restore(self) -> None:
        try:
            with safe_open(self.state_path, framework="pt") as file:
                facts = json.loads(file.metadata()["trainer"])
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            self.optimizer.restore(tensors)
            self.progress = Progress(**facts["progress"])
            self.saved_step, self.saved_seconds = self.progress.step, self.progress.seconds
            self.watch = DivergenceDetector(**facts.get("watch", {}))  # none in older states
            self.batches.place = type(self.batches.place)(**facts["place"])
        except (OSError, SafetensorError, KeyError, TypeError, RuntimeError, ValueError) as error:
            raise CheckpointError(f"{self.state_path} is no state of this run: {error}") from error
        torch.set_rng_state(tensors["rng"])
        if "rng.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["rng.cuda"])
