"""The training loop, which yields a report for every step and can be interrupted at any moment.

Pre-training and fine-tuning differ only in their batches and their loss. One file contains the whole state of a run
(weights, optimiser state, random state, position in the data), so a run that was killed continues with identical losses
(on a GPU, identical up to the last digits, because GPU kernels add numbers in varying order).
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
from bertlab.training.optimizers import OptimConfig, Optimizer
from bertlab.training.run_state import read_state, write_state

Clock = Literal["wall", "cpu"]
"""How training time is measured: wall-clock time, or the CPU time of all threads of this process."""
# On a CPU, memory that was freed is returned to the operating system once every MALLOC_TRIM_INTERVAL steps.
MALLOC_TRIM_INTERVAL = 50


class Batches(Protocol):
    """An endless iterator over batches that can continue from any position."""

    position: object
    """The position of the next batch in the training data: a dataclass of numbers."""

    def __next__(self): ...

    def update_progress(self, progress: float) -> bool:
        """Set the share of the run (0..1) that is done; the trainer calls this before each step.

        Returns:
            Whether this batch and the following ones differ so much from the earlier ones that the level of the loss
            changes, for example because their sentence pairs are longer.
        """


@dataclass(frozen=True)
class StepReport:
    """The result of one training step, over the global batch."""

    step: int
    """The index of the step, from 1."""
    progress: float
    """Share of the run (0..1) that was done before this step."""
    loss: float
    """The loss in nats, before the update."""
    metrics: dict[str, float]
    """The metrics of the loss function."""
    learning_rate: float
    """The learning rate of the update."""
    gradient_norm: float
    """The norm of the gradient before clipping."""
    tokens: int
    """The number of tokens since the start of the run, not counting padding."""
    seconds: float
    """The training time since the start of the run, not counting evaluation and saving."""
    step_seconds: float
    """The training time of this step."""
    data_seconds: float = 0.0
    """The part of `step_seconds` in which the trainer waited for the batch."""

    def make_log_row(self) -> dict:
        """Convert the report to a flat row of `log.jsonl`."""
        row = asdict(self)
        return {**row.pop("metrics"), **row}


@dataclass
class Progress:
    """The progress of a run."""

    step: int = 0
    """The number of finished steps."""
    tokens: int = 0
    """The number of tokens in these steps, not counting padding."""
    seconds: float = 0.0
    """The training time, not counting evaluation and saving."""


@dataclass
class Trainer:
    """Trains until `steps` are done or `minutes` have passed; the learning rate reaches zero at whichever comes first.

    Iterating yields a `StepReport` for each step. It raises Diverged if the loss is not finite, or has risen and stays
    high. The last saved state is then one from before the divergence, because a state is saved only if the loss of the
    following step is normal.

    A stop signal (see `StopSignals`) during a step is handled after the step: the state is saved and Interrupted is
    raised, in all processes after the same step. To handle a signal between two steps, put `save_on_interrupt` around
    the loop; the main process then stops immediately, and the other processes when they notice that it has stopped.

    With `torchrun`, each process runs a Trainer on its shard of the same global batches. Only the main process writes
    the state.
    """

    model: nn.Module
    """The model to train, with float32 weights."""
    batches: Batches
    """The training data; the trainer moves the batches to `device`."""
    loss: Callable[[nn.Module, object], Loss]
    """The loss function, (model, batch) -> Loss."""
    optim: OptimConfig
    """The optimiser and its schedule."""
    steps: int
    """The number of steps after which the run ends."""
    minutes: float | None = None
    """The training time, in minutes, after which the run ends; None for no time limit."""
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    """The device of the model and the batches."""
    dtype: torch.dtype = torch.float32
    """The type of the forward and backward pass."""
    state_path: Path | None = None
    """The state file. If it exists, the run continues from it. None saves no state."""
    save_every_seconds: float = 180.0
    """The training time between two saves."""
    accumulate: int = 1
    """Gradient accumulation steps (micro-batches per batch)."""
    clock: Clock = "wall"
    """How the training time is measured."""
    progress: Progress = field(default_factory=Progress)
    """The progress of the run."""
    saved_step: int | None = None
    """The step after which the state was last saved; None if it was never saved."""
    saved_seconds: float = 0.0
    """The training time at which the state was last saved."""

    def __post_init__(self):
        with devices.explain_out_of_memory():
            self.model.to(self.device).train()
            self.optimizer = Optimizer(self.model, self.optim, self.dtype)
        self.optimizer.working_model.train()
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

    def _stop(self) -> None:
        """Save the state, and raise Interrupted with a message about the saved step."""
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
        """Compute the share of the run's steps or minutes that is done, whichever is larger; 1 or more at the end."""
        share_of_minutes = self.progress.seconds / (60 * self.minutes) if self.minutes else 0.0
        return max(self.progress.step / self.steps, share_of_minutes)

    def _is_save_due(self) -> bool:
        """Whether to save the state; the result is the same in all processes, because they share one clock."""
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
        learning_rate = self.optim.learning_rate_at(min(1.0, share_done + 0.5 / self.steps))
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
        previous = self.progress
        progress = Progress(previous.step + 1, previous.tokens + int(tokens), previous.seconds + seconds)
        self.progress = progress
        metrics = dict(zip(loss.metrics, metrics, strict=True))
        metrics |= loss.compute_ratios(metrics)
        return StepReport(
            progress.step,
            share_done,
            loss_value,
            metrics,
            learning_rate,
            gradient_norm,
            progress.tokens,
            progress.seconds,
            seconds,
            data_seconds,
        )

    def _read_clock(self) -> float:
        """Return the wall-clock time or the CPU time of this process, in seconds."""
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
        """Write the state of the run if the latest losses are not clearly above the losses before them."""
        if self.state_path and self.divergence_detector.is_stable:
            self.save()

    def _collect_loop_state(self) -> tuple[dict, dict[str, torch.Tensor]]:
        """Collect JSON values (progress, position in the data, divergence detector), and the random state (tensors)."""
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
        """Write the weights, the optimiser state and the result of `_collect_loop_state` to the state file."""
        if distributed.is_main_process():
            write_state(self.state_path, self.optimizer.state() | random_state, values)
        self.saved_step, self.saved_seconds = self.progress.step, self.progress.seconds

    def restore_last_save(self) -> None:
        """Restore the last saved state.

        Raises:
            CheckpointError: the state is damaged, or belongs to a different run.
        """
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
