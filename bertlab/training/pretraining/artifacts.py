"""Write the artifacts of a pre-training run: log, metrics on held-out text, snapshots and the checkpoint.

Only the main process writes.
"""

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from bertlab.checkpoints import checkpoint, locate
from bertlab.config.errors import CheckpointError
from bertlab.nn.bert import Bert
from bertlab.nn.replaced_tokens import get_masked_lm, get_result_model
from bertlab.tasks.pretraining_objectives import TOKEN_OBJECTIVES, describe_objectives
from bertlab.training import distributed
from bertlab.training.divergence import Diverged
from bertlab.training.model_card import render_card
from bertlab.training.pretraining import cloze
from bertlab.training.pretraining.config import SNAPSHOT_DTYPES, PretrainConfig
from bertlab.training.pretraining.metrics import (
    DEFAULT_PAIRS,
    evaluate_pretraining,
    format_evaluation_command,
    format_metrics,
)
from bertlab.training.pretraining.setup import PretrainingInputs, describe_origin
from bertlab.training.pretraining.tensorboard import TensorBoardLog
from bertlab.training.progress import evaluation_bar
from bertlab.training.run_directory import CHECKPOINT, GENERATOR, RunLog, make_run_record
from bertlab.training.trainer import Trainer

# The settings that the model card lists.
CARD_SETTINGS = (
    "max_tokens", "final_max_tokens", "final_share", "chosen_share", "mask_share", "random_share", "whole_word",
    "dropout",
)  # fmt: skip
# The settings that the model card lists in addition for replaced-token detection.
GENERATOR_CARD_SETTINGS = ("generator_size", "replaced_weight")


@dataclass
class RunArtifacts:
    """Writes the artifacts of a pre-training run between its steps and at its end."""

    config: PretrainConfig  # the settings of the run
    inputs: PretrainingInputs  # the corpora, the tokenizer and the models of the run
    trainer: Trainer  # the trainer, which holds the progress and the weights of the run
    logs: list[RunLog | TensorBoardLog]  # the logs to which the rows are written
    notify: Callable[[str], None]  # a function that is called with each line for the terminal

    def write_row(self, row: dict) -> None:
        """Write a row to all logs."""
        for log in self.logs:
            log.write(row)

    def write_after_step(self, step: int) -> None:
        """Evaluate, predict the masks of the sample sentences and write a snapshot, if they are due after this step."""
        config, is_snapshot_due = self.config, is_snapshot_step(step)
        is_evaluation_due = step % config.evaluate_every == 0 or (config.snapshots and is_snapshot_due)
        metrics = self._evaluate(config.evaluate_rows) if is_evaluation_due else {}
        if is_snapshot_due:
            self._predict_samples()
        if config.snapshots and is_snapshot_due:
            directory = config.out / "snapshots" / f"step-{step:08d}"
            self._save(directory, metrics, SNAPSHOT_DTYPES[config.snapshot_dtype], config.evaluate_rows)

    def write_after_run(self) -> None:
        """Evaluate the model in the precision in which it is stored, and write the checkpoint."""
        if not is_snapshot_step(self.trainer.progress.step):
            self._predict_samples(is_final=True)
        num_pairs = 4 * self.config.evaluate_rows
        metrics = self._evaluate(num_pairs, is_final=True)
        final_model = self.trainer.optimizer.final_model
        # The checkpoint is written last, because it marks the run as finished.
        if get_masked_lm(final_model) is not get_result_model(final_model):
            own_metrics = {name: value for name, value in metrics.items() if not name.startswith("replaced_")}
            self._write_checkpoint(
                self.config.out / GENERATOR, get_masked_lm(final_model), describe_objectives("none"), own_metrics,
                torch.float16, num_pairs,
            )  # fmt: skip
        self._save(self.config.out / CHECKPOINT, metrics, num_pairs=num_pairs)

    def write_after_divergence(self, error: Diverged) -> Diverged:
        """Write the last saved weights as a checkpoint -> the error to raise, which names it."""
        self.write_row({"step": self.trainer.progress.step + 1, "diverged": str(error)})
        if self.trainer.saved_step is not None and distributed.is_main_process():
            last_good = self.config.out / "last-good"
            self.trainer.restore_last_save()
            with suppress(CheckpointError):
                self._save(last_good, {}, torch.float32)
                return Diverged("run-diverged-with-checkpoint", error=error, checkpoint=last_good)
        return error

    def _evaluate(self, num_pairs: int, is_final: bool = False) -> dict:
        validation, trainer = self.inputs.validation, self.trainer
        if validation is None or not distributed.is_main_process():
            return {}
        # During the run, the weights are evaluated in the fastest number format; at the end, in the format in which
        # the checkpoint stores them, so that `bertlab evaluate` reproduces the metrics of the card.
        model = _reopen_as_stored(trainer.optimizer.final_model) if is_final else trainer.optimizer.evaluation_model
        metrics = evaluate_pretraining(
            model,
            self.inputs.tokenizer,
            validation,
            max_pairs=num_pairs,
            pair_objective=self.config.pair_objective,
            token_objective=self.config.token_objective,
            replaced_weight=self.config.replaced_weight,
            progress=evaluation_bar if is_final else iter,
        )
        self.write_row({"step": trainer.progress.step, "tokens": trainer.progress.tokens, "validation": metrics})
        if not is_final:
            self.notify(format_metrics(metrics, trainer.progress.step))
        return metrics

    def _predict_samples(self, is_final: bool = False) -> None:
        if not self.inputs.sentences or not distributed.is_main_process():
            return
        optimizer, step = self.trainer.optimizer, self.trainer.progress.step
        model = get_masked_lm(optimizer.final_model if is_final else optimizer.evaluation_model)
        predictions = cloze.predict_masks(model, self.inputs.tokenizer, self.inputs.sentences)
        self.write_row({"step": step, "samples": predictions})
        self.notify(cloze.format_predictions(predictions, step))

    def _save(
        self, directory: Path, metrics: dict, dtype: torch.dtype = torch.float16, num_pairs: int = DEFAULT_PAIRS
    ) -> None:
        model, config = get_result_model(self.trainer.optimizer.final_model), self.config
        objectives = describe_objectives(config.pair_objective, model.config.left_to_right, config.token_objective)
        self._write_checkpoint(directory, model, objectives, metrics, dtype, num_pairs)

    def _write_checkpoint(
        self, directory: Path, model: Bert, objectives: list[str], metrics: dict, dtype: torch.dtype, num_pairs: int
    ) -> None:
        if not distributed.is_main_process():
            return
        config, tokenizer = self.config, self.inputs.tokenizer
        record = make_run_record(
            config,
            self.trainer,
            command="bertlab pretrain",
            data=self.inputs.corpus.source_names,
            data_tokens=self.inputs.corpus.facts["tokens"],
            objectives=objectives,
            settings=_select_card_settings(config),
            validation=metrics,
            measured_on=self.inputs.validation.source_names if self.inputs.validation else [],
            cloze=cloze.answer_clozes(model, tokenizer),
            evaluate_command=format_evaluation_command(num_pairs),
            **{"from": describe_origin(config, tokenizer), "before": self.inputs.earlier_runs},
        )
        checkpoint.save(directory, model, tokenizer, record, dtype=dtype, card=render_card(config.out.name, record))


def is_snapshot_step(step: int) -> bool:
    """Whether a snapshot is due after this step. Snapshots are due after steps 0, 10, 30, 100, 300, 1000, ...

    >>> [step for step in range(1001) if is_snapshot_step(step)]
    [0, 10, 30, 100, 300, 1000]
    """
    digits = str(step)
    return step == 0 or (len(digits) > 1 and digits[0] in "13" and set(digits[1:]) == {"0"})


@torch.no_grad()
def _reopen_as_stored(model: nn.Module) -> nn.Module:
    """Copy a model as if it were saved and loaded: a checkpoint stores the weights in half precision."""
    reopened_model = copy.deepcopy(model)
    for parameter in reopened_model.parameters():
        parameter.copy_(parameter.half())
    return reopened_model


def _select_card_settings(config: PretrainConfig) -> dict:
    settings = {name: getattr(config, name) for name in CARD_SETTINGS if getattr(config, name) is not None}
    for name in ("mask_spans", "mask_copies"):
        if getattr(config, name) != getattr(PretrainConfig, name):
            settings[name] = getattr(config, name)
    if TOKEN_OBJECTIVES[config.token_objective].has_generator:
        settings |= {name: getattr(config, name) for name in GENERATOR_CARD_SETTINGS}
    if config.teacher:
        settings |= {"teacher": locate.make_display_name(config.teacher), "teacher_share": config.teacher_share}
        settings |= {"teacher_cosine": config.teacher_cosine} if config.teacher_cosine else {}
    return settings
