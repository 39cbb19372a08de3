"""What a pre-training run leaves and says: its log, figures on held-out text, snapshots, its checkpoint.

Of several processes the first alone does. Knows no batch.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from bertlab.checkpoints import checkpoint, locate
from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert
from bertlab.nn.fast.model import FastBert
from bertlab.training import distributed
from bertlab.training.divergence import Diverged
from bertlab.training.model_card import render_card
from bertlab.training.objectives import objectives
from bertlab.training.pretraining import cloze
from bertlab.training.pretraining.config import STORED, PretrainConfig
from bertlab.training.pretraining.metrics import DEFAULT_PAIRS, evaluate_pretraining, evaluation_command, format_metrics
from bertlab.training.pretraining.setup import Inputs, origin
from bertlab.training.pretraining.tensorboard import Board
from bertlab.training.progress import evaluation_bar
from bertlab.training.run_directory import RunLog, record
from bertlab.training.trainer import Trainer

# settings that a card states
TOLD = ("max_tokens", "then_tokens", "then_share", "mask", "mask_share", "random_share", "whole_word", "dropout")


@dataclass
class Outputs:
    """tell: takes lines for a terminal. journals: take rows, the run's log and perhaps a `Board`."""

    config: PretrainConfig
    inputs: Inputs
    trainer: Trainer
    journals: list[RunLog | Board]
    tell: Callable[[str], None]

    def write(self, row: dict) -> None:
        for journal in self.journals:
            journal.write(row)

    def after(self, step: int) -> None:
        """What is due between two steps."""
        config, snapshot = self.config, is_snapshot_step(step)
        due = step % config.evaluate_every == 0 or (config.snapshots and snapshot)
        figures = self._measure(config.evaluate_rows) if due else {}
        if snapshot:
            self._look()
        if config.snapshots and snapshot:
            place = config.out / "snapshots" / f"step-{step:08d}"
            self._keep(place, figures, STORED[config.snapshot_dtype], config.evaluate_rows)

    def at_the_end(self) -> None:
        """The checkpoint, measured as it will open."""
        if not is_snapshot_step(self.trainer.progress.step):
            self._look(final=True)
        pairs = 4 * self.config.evaluate_rows
        self._keep(self.config.out / "checkpoint", self._measure(pairs, final=True), pairs=pairs)

    def after_divergence(self, error: Diverged) -> Diverged:
        """The weights saved last, before it came to that -> the error, which says where they are."""
        self.write({"step": self.trainer.progress.step + 1, "diverged": str(error)})
        if self.trainer.saved_step is not None and distributed.is_main_process():
            good = self.config.out / "last-good"
            self.trainer.go_back()
            with suppress(CheckpointError):
                self._keep(good, {}, torch.float32)
                return Diverged(f"{error}, and --from {good}")
        return error

    def _measure(self, rows: int, final: bool = False) -> dict:
        validation, trainer = self.inputs.validation, self.trainer
        if validation is None or not distributed.is_main_process():
            return {}
        # on the way what is fastest; at the end what the checkpoint will open as, so that it repeats the card's figures
        model = _as_stored(trainer.optimizer.final_model) if final else trainer.optimizer.evaluation_model
        bar = evaluation_bar if final else iter
        figures = evaluate_pretraining(
            model, self.inputs.tokenizer, validation, rows=rows, second=self.config.second, progress=bar
        )
        self.write({"step": trainer.progress.step, "tokens": trainer.progress.tokens, "validation": figures})
        if not final:
            self.tell(format_metrics(figures, trainer.progress.step))
        return figures

    def _look(self, final: bool = False) -> None:
        """What it puts into the watched sentences."""
        if not self.inputs.sentences or not distributed.is_main_process():
            return
        optimizer, step = self.trainer.optimizer, self.trainer.progress.step
        model = optimizer.final_model if final else optimizer.evaluation_model
        rows = cloze.guesses(model, self.inputs.tokenizer, self.inputs.sentences)
        self.write({"step": step, "watched": rows})
        self.tell(cloze.told(rows, step))

    def _keep(
        self, directory: Path, figures: dict, dtype: torch.dtype = torch.float16, pairs: int = DEFAULT_PAIRS
    ) -> None:
        """A checkpoint, its record and its card."""
        if not distributed.is_main_process():
            return
        config, tokenizer = self.config, self.inputs.tokenizer
        result = self.trainer.optimizer.final_model
        left_to_right = result.config.left_to_right
        made = record(
            config,
            self.trainer,
            command="bertlab pretrain",
            data=self.inputs.corpus.source_names,
            data_tokens=self.inputs.corpus.facts["tokens"],
            objectives=objectives(config.second, left_to_right),
            settings=_told(config),
            validation=figures,
            measured_on=self.inputs.validation.source_names if self.inputs.validation else [],
            cloze=[] if left_to_right else cloze.examples(result, tokenizer),
            evaluate_command=evaluation_command(pairs),
            **{"from": origin(config), "before": self.inputs.before},
        )
        checkpoint.save(directory, result, tokenizer, made, dtype=dtype, card=render_card(config.out.name, made))


def is_snapshot_step(step: int) -> bool:
    """Log-spaced: 0, 10, 30, 100, 300, 1000, ...

    >>> [step for step in range(1001) if is_snapshot_step(step)]
    [0, 10, 30, 100, 300, 1000]
    """
    digits = str(step)
    return step == 0 or (len(digits) > 1 and digits[0] in "13" and set(digits[1:]) == {"0"})


def _as_stored(model: Bert) -> Bert:
    """The model as it opens again: float32, of weights stored in half precision."""
    opened = FastBert(model.config, heads=model.head_names)
    opened.load_state_dict({name: tensor.half() for name, tensor in model.state_dict().items()})
    return opened.to(next(model.parameters()).device)


def _told(config: PretrainConfig) -> dict:
    """The settings that the card states."""
    told = {name: getattr(config, name) for name in TOLD if getattr(config, name) is not None}
    if config.teacher:
        told |= {"teacher": locate.checkpoint_name(config.teacher), "teacher_share": config.teacher_share}
    return told
