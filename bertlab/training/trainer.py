"""The training loop, which yields a report for every step and can be interrupted at any moment.

One file contains the whole state of a run, so a run that was killed continues with identical losses (on a GPU,
identical up to the last digits, because GPU kernels add numbers in varying order).
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import torch
from torch import nn

from bertlab.config.errors import BertlabError, CheckpointError, first_line
from bertlab.config.languages import Message
from bertlab.nn.fast.model import compile_layers
from bertlab.training import devices, distributed
from bertlab.training.divergence import Diverged, DivergenceDetector
from bertlab.training.gradient import GlobalGradient, Loss
from bertlab.training.interrupt import Interrupted, StopSignals
from bertlab.training.optimizers import Optimizer
from bertlab.training.run_state import read_state, write_state

Clock = Literal["wall", "cpu"]
"""How training time is measured: wall-clock time, or the CPU time of all threads of this process."""
# On a CPU, memory that was freed is returned to the operating system once every MALLOC_TRIM_INTERVAL steps.
MALLOC_TRIM_INTERVAL = 50


class Batches(Protocol):
    """An endless iterator over batches that can continue from any position."""

    position: object  # the position of the next batch in the training data: a dataclass of numbers

    def __next__(self): ...

    def update_progress(self, progress: float) -> bool:
        """Set the share of the run (0..1) that is done; return whether the level of the loss changes from here on.

        It does, for example, if the sentence pairs become longer.
        """


@dataclass(frozen=True)
class StepReport:
    """The result of one training step, over the global batch."""

    step: int  # the index of the step, from 1
    progress: float  # share of the run (0..1) that was done before this step
    loss: float  # the loss in nats, before the update
    metrics: dict[str, float]  # the metrics of the loss function
    learning_rate: float  # the learning rate of the update
    gradient_norm: float  # the norm of the gradient before clipping
    tokens: int  # the number of tokens since the start of the run, not counting padding
    seconds: float  # the training time since the start of the run, not counting evaluation and saving
    step_seconds: float  # the training time of this step
    data_seconds: float = 0.0  # the part of `step_seconds` in which the trainer waited for the batch

    def make_log_row(self) -> dict:
        """Convert the report to a flat row of `log.jsonl`."""
        row = asdict(self)
        return {**row.pop("metrics"), **row}


@dataclass
class Progress:
    """The progress of a run."""

    step: int = 0  # the number of finished steps
    tokens: int = 0  # the number of tokens in these steps, not counting padding
    seconds: float = 0.0  # the training time, not counting evaluation and saving


@dataclass
class Trainer:
    """Trains until `steps` are done or `minutes` have passed; the learning rate reaches zero at whichever comes first.

    Iterating yields a `StepReport` for each step, and raises Diverged if the loss is not finite or has risen and stays
    high. A state is saved only if the loss of the following step is normal, so the saved one is from before that.

    A stop signal (see `StopSignals`) during a step is handled after the step: the state is saved and Interrupted is
    raised, in all processes after the same step. Put `save_on_interrupt` around the loop for signals between steps.

    With `torchrun`, each process runs a Trainer on its shard of the same global batches; the main process writes.
    """

    optimizer: Optimizer  # the model to train, its optimiser and its learning rate
    batches: Batches  # the training data; the trainer moves the batches to the device of the model
    loss: Callable[[nn.Module, object], Loss]  # the loss function, (model, batch) -> Loss
    steps: int  # the number of steps after which the run ends
    minutes: float | None = None  # the training time, in minutes, after which the run ends; None for no time limit
    state_path: Path | None = None  # the state file, from which the run continues if it exists; None saves no state
    save_every_seconds: float = 180.0  # the training time between two saves
    accumulate: int = 1  # gradient accumulation steps (micro-batches per batch)
    clock: Clock = "wall"
    progress: Progress = field(default_factory=Progress)
    saved_step: int | None = None  # the step after which the state was last saved; None if it was never saved
    saved_seconds: float = 0.0  # the training time at which the state was last saved

    def __post_init__(self):
        self.device = self.optimizer.device
        self.divergence_detector = DivergenceDetector()
        self.signals = StopSignals(stops_immediately=distributed.is_main_process())
        self._stop_signal = 0  # the stop signal of the main process, such as signal.SIGTERM; 0 if there was none
        if self.state_path and self.state_path.is_file():
            self.restore_last_save()
        distributed.seed_by_rank(self.progress.step)
        # `bertlab.json` is written after the process group has ended, when the world size is no longer known.
        self.hardware = f"{distributed.world_size()} x {devices.describe_hardware(self.device)}".removeprefix("1 x ")
        weight_sum = sum(float(p.detach().double().sum()) for p in self.optimizer.master_weights)
        if not distributed.all_equal(self.progress.step + weight_sum):
            raise BertlabError("run-weights-differ-between-processes")
        self._needs_compilation = devices.can_compile(self.device)
        if self._needs_compilation:
            compile_layers(self.optimizer.working_model)
        self.gradient = GlobalGradient(self.optimizer.working_model, self.loss, self.accumulate)

    def __iter__(self) -> Iterator[StepReport]:
        with self.signals.handle():
            while (share_done := self._share_done()) < 1.0:
                with self.signals.defer(), devices.explain_out_of_memory():
                    try:
                        report = self._step(share_done)
                    except BrokenProcessPool:
                        # A stop signal that reaches the whole process group also ends the data-loader workers.
                        if self.signals.received_signal is None:
                            raise
                        self._stop()
                    if self._stop_signal:
                        # Save before the caller prints the report, because printing fails if the terminal was closed.
                        self._save_if_stable()
                yield report
                if self._stop_signal:
                    self._stop()
                if self.device.type == "cpu" and self.progress.step % MALLOC_TRIM_INTERVAL == 0:
                    devices.release_memory()
            if self.state_path:
                with self.signals.defer():
                    self.save()

    @contextmanager
    def save_on_interrupt(self) -> Iterator[None]:
        """Save the state if a stop signal arrives between two steps; use it around a loop over the steps."""
        with self.signals.handle():
            try:
                yield
            except Interrupted:
                raise
            except KeyboardInterrupt:
                self._stop()
            except BertlabError as error:
                # This process lost its connection to the main process because the same stop signal reached both: the
                # main process stopped between two steps, after it had saved. So this is an interruption, not an error.
                lost_connection = error.id == "run-peer-lost"
                if not lost_connection or self.signals.received_signal is None or self.signals.stops_immediately:
                    raise
                raise Interrupted(signum=self.signals.received_signal) from None

    @contextmanager
    def defer_signals(self) -> Iterator[None]:
        """Handle a stop signal that arrives while a block runs after the next step."""
        with self.signals.defer():
            yield

    def _stop(self) -> None:
        with self.signals.defer():
            self._save_if_stable()
        if not distributed.is_main_process():
            message = ""
        elif self.saved_step is None:
            message = Message("run-interrupted-unsaved", step=f"{self.progress.step:,}")
        elif self.saved_step == self.progress.step:
            message = Message("run-interrupted", step=f"{self.progress.step:,}")
        else:
            message = Message("run-interrupted-earlier-save", step=f"{self.progress.step:,}", saved=self.saved_step)
        raise Interrupted(message, self._stop_signal or self.signals.received_signal or Interrupted().signum)

    @property
    def is_done(self) -> bool:
        """Whether the run has done all its steps, or its minutes have passed."""
        return self._share_done() >= 1.0

    def _share_done(self) -> float:
        share_of_minutes = self.progress.seconds / (60 * self.minutes) if self.minutes else 0.0
        return max(self.progress.step / self.steps, share_of_minutes)

    def _is_save_due(self) -> bool:
        """Whether to save; the same in all processes, because they share one clock."""
        elapsed = self.progress.seconds - self.saved_seconds
        return self.state_path is not None and self.divergence_detector.is_stable and elapsed > self.save_every_seconds

    def _step(self, share_done: float) -> StepReport:
        """Train on the next batch; save the state from before the update if a save is due and the loss is normal."""
        loop_state = self._collect_loop_state() if self._is_save_due() else None
        start_time = self._read_clock()
        if self.batches.update_progress(share_done):
            self.divergence_detector.reset()
        batch = next(self.batches).to(self.device)
        data_seconds = self._read_clock() - start_time
        if self._needs_compilation:
            self._compile(batch)
            start_time = self._read_clock()
        # The learning rate is that at the middle of the step, so that it is above zero even in the first and last step.
        learning_rate = self.optimizer.config.learning_rate_at(min(1.0, share_done + 0.5 / self.steps))
        loss = self.gradient(batch)
        # All numbers are transferred together, because each transfer waits for the GPU.
        scalars = [loss.value.detach(), self.optimizer.clip(), loss.tokens, *loss.metrics.values()]
        loss_value, gradient_norm, tokens, *metrics = torch.stack([scalar.double() for scalar in scalars]).tolist()
        try:
            self.divergence_detector.update(loss_value, gradient_norm)
        except Diverged as error:
            saved_message = Message("run-saved-nothing")
            if self.saved_step is not None:
                saved_message = Message("run-saved-step", step=self.saved_step)
            raise Diverged("run-diverged", error=error, step=self.progress.step + 1, saved=saved_message) from None
        if loop_state and self.divergence_detector.is_stable:
            # The weights are still those after the previous step, and the loss of this step shows that they are good.
            save_start_time = self._read_clock()
            self._save(*loop_state)
            start_time += self._read_clock() - save_start_time  # the training time does not include saving
        self.optimizer.step(learning_rate)
        # All processes use the clock and the stop signal of the main process, so that they end after the same step.
        own_signal = float(self.signals.received_signal or 0)
        seconds, stop_signal = distributed.broadcast(self._read_clock() - start_time, own_signal)
        self._stop_signal = int(stop_signal)
        self.signals.is_run_stopping = bool(stop_signal)
        before = self.progress
        self.progress = progress = Progress(before.step + 1, before.tokens + int(tokens), before.seconds + seconds)
        metrics = dict(zip(loss.metrics, metrics, strict=True))
        metrics |= loss.compute_ratios(metrics)
        return StepReport(
            progress.step, share_done, loss_value, metrics, learning_rate, gradient_norm, progress.tokens,
            progress.seconds, seconds, data_seconds,
        )  # fmt: skip

    def _read_clock(self) -> float:
        return time.process_time() if self.clock == "cpu" else time.monotonic()

    def _compile(self, batch) -> None:
        """Compile the layers, outside the training time, by computing a gradient that is discarded."""
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            self.gradient(batch)
        self.optimizer.working_model.zero_grad()
        self._needs_compilation = False

    def save(self) -> None:
        """Write the state of the run."""
        self._save(*self._collect_loop_state())

    def _save_if_stable(self) -> None:
        if self.state_path and self.divergence_detector.is_stable:
            self.save()

    def _collect_loop_state(self) -> tuple[dict, dict[str, torch.Tensor]]:
        values = {
            "progress": asdict(self.progress),
            "position": asdict(self.batches.position),
            "divergence": asdict(self.divergence_detector),
        }
        random_state = {"rng": torch.get_rng_state()}
        if self.device.type == "cuda":
            random_state["rng.cuda"] = torch.cuda.get_rng_state()
        return values, random_state

    def _save(self, values: dict, random_state: dict[str, torch.Tensor]) -> None:
        if distributed.is_main_process():
            write_state(self.state_path, self.optimizer.state() | random_state, values)
        self.saved_step, self.saved_seconds = self.progress.step, self.progress.seconds

    def restore_last_save(self) -> None:
        """Restore the last saved state; raise CheckpointError if it is damaged or belongs to a different run."""
        tensors, values = read_state(self.state_path)
        try:
            self.optimizer.restore(tensors)
            self.progress = Progress(**values["progress"])
            self.saved_step, self.saved_seconds = self.progress.step, self.progress.seconds
            self.divergence_detector = DivergenceDetector(**values["divergence"])
            self.batches.position = type(self.batches.position)(**values["position"])
            torch.set_rng_state(tensors["rng"])
            if "rng.cuda" in tensors and self.device.type == "cuda":
                torch.cuda.set_rng_state(tensors["rng.cuda"])
        except (KeyError, TypeError, RuntimeError, ValueError) as error:
            reason = first_line(error)
            raise CheckpointError("run-state-damaged", path=self.state_path, reason=reason) from error
