"""`bertlab pretrain`: train a BERT on a prepared corpus, with masked tokens and a sentence-pair objective.

A run is one directory: run.json, log.jsonl, state.safetensors (from which it is resumed), snapshots/ and checkpoint/;
with replaced-token detection also generator/.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch
from tqdm import tqdm

from bertlab.config.errors import BertlabError
from bertlab.config.families import FAMILIES
from bertlab.config.limits import check_limits, find_differing_flags
from bertlab.tasks.masked_lm import PretrainingLoss
from bertlab.tasks.pretraining_objectives import TOKEN_OBJECTIVES
from bertlab.text.pretraining.corpus import read_facts
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.sampler import LongPairs, PairSampler
from bertlab.training import devices, distributed
from bertlab.training.divergence import Diverged
from bertlab.training.pretraining.artifacts import RunArtifacts
from bertlab.training.pretraining.config import RANDOM_INIT_SETTINGS, RECIPES, PretrainConfig
from bertlab.training.pretraining.prepare import STORY_WORLD, PrepareConfig, held_out_corpus
from bertlab.training.pretraining.prepare import run as prepare
from bertlab.training.pretraining.setup import open_inputs
from bertlab.training.pretraining.tensorboard import TensorBoardLog
from bertlab.training.progress import print_result, show_progress
from bertlab.training.run_directory import is_finished, open_run, prepare_machine, report_finished, report_resumed
from bertlab.training.trainer import StepReport

DEFAULT_CORPUS = Path("runs/story-world")
"""The directory of the generated story corpus ("story world"), which is used if no corpus is given."""
STORY_VOCABULARY = 2048
"""The vocabulary size of this corpus: a run of a few minutes sees rare words too seldom to learn a token for each."""


def pretrain(config: PretrainConfig, notify: Callable[[str], None] = lambda line: None) -> Iterator[StepReport]:
    """Train, yielding a report for each step; the result is in `config.out`/checkpoint when the iterator ends.

    If the run diverges, the last saved weights are written to `config.out`/last-good. `notify` receives lines for a
    terminal: metrics, sample predictions, and whether the run is resumed or already finished.

    Raises:
        Diverged: the loss is not finite, or has risen and stays high.
    """
    _check_settings(config)
    device = prepare_machine(config)
    if config.corpus is None:
        config = _use_stories(config)
    with devices.explain_out_of_memory():
        inputs = open_inputs(config)
    batches = PairSampler(
        inputs.corpus.enlarge_blocks(config.batch_size * config.max_tokens),
        inputs.tokenizer,
        config.batch_size,
        config.max_tokens,
        config.seed,
        shard=distributed.data_shard(),
        pair_objective=config.pair_objective,
        long_pairs=LongPairs(config.final_max_tokens, config.final_share) if config.final_max_tokens else None,
        prefetch_blocks=resolve_loader_workers(config, device),
        random_b_position=config.random_b_position,
        pairs_only_share=0.0 if config.pair_objective == "none" else config.pairs_only_share,
        mask_copies=config.mask_copies,
    )
    shares = {"mask_share": config.mask_share, "random_share": config.random_share}
    rule = MaskRule.for_tokenizer(
        inputs.tokenizer, config.chosen_share, config.whole_word, config.mask_spans, **shares
    ).to(device)
    left_to_right, teacher = inputs.model.config.left_to_right, inputs.teacher
    loss = PretrainingLoss(
        rule, config.pair_objective, left_to_right, teacher, config.teacher_share, config.teacher_cosine
    )
    loss = TOKEN_OBJECTIVES[config.token_objective].make_loss(loss, config.replaced_weight)
    opened_run = open_run(config, inputs.model, batches, loss, config.steps, inputs.fingerprint)
    with devices.explain_out_of_memory(), opened_run as (trainer, log):
        if teacher:
            teacher.to(trainer.device, trainer.optimizer.dtype)
        if is_finished(config, trainer):
            report_finished(config, trainer, "pretraining", notify)
            distributed.leave_process_group()
            return
        report_resumed(config, trainer, notify)
        is_main = distributed.is_main_process()
        if is_main and inputs.validation and inputs.validation.facts == inputs.corpus.facts:
            notify("--validation is the training corpus, so its metrics are not those of held-out text")
        logs = [log]
        if is_main and config.tensorboard:
            logs.append(TensorBoardLog(config.out / "tensorboard", trainer.saved_step))
        artifacts = RunArtifacts(config, inputs, trainer, logs, notify)
        if trainer.progress.step == 0:
            artifacts.write_after_step(0)
        try:
            with trainer.save_on_interrupt():
                for report in trainer:
                    artifacts.write_row(report.make_log_row())
                    artifacts.write_after_step(report.step)
                    with trainer.defer_signals():
                        yield report
        except Diverged as error:
            error = artifacts.write_after_divergence(error)
            # torchrun ends all processes as soon as one has ended, so each process waits here for the others.
            distributed.leave_process_group()
            raise error from None
        artifacts.write_after_run()
        distributed.leave_process_group()


def _use_stories(config: PretrainConfig) -> PretrainConfig:
    """Use generated stories, which are prepared on first use."""
    if distributed.is_main_process() and read_facts(DEFAULT_CORPUS) is None:
        prepare(PrepareConfig(text=(STORY_WORLD,), out=DEFAULT_CORPUS, vocab_size=STORY_VOCABULARY))
    distributed.broadcast(0)  # the other processes wait for the main process
    return replace(config, corpus=DEFAULT_CORPUS, validation=config.validation or held_out_corpus(DEFAULT_CORPUS))


def _check_settings(config: PretrainConfig) -> None:
    check_limits(config)
    if config.mask_share + config.random_share > 1 + 1e-9:
        raise BertlabError("mask-shares-too-large")
    if config.new_vocabulary and config.from_ is None:
        raise BertlabError("new-vocabulary-without-from")
    defaults = RECIPES.get(config.recipe, PretrainConfig)(corpus=config.corpus, out=config.out)
    unused_flags = find_differing_flags(config, defaults, RANDOM_INIT_SETTINGS)
    if config.from_ is not None and unused_flags:
        raise BertlabError("from-with-random-init-flags", flags=unused_flags)
    _check_token_objective(config)
    teacher_flags = find_differing_flags(config, PretrainConfig, ("teacher_share", "teacher_cosine"))
    if config.teacher is None and teacher_flags:
        raise BertlabError("teacher-flags-without-teacher", flags=teacher_flags)
    if config.final_max_tokens and config.final_max_tokens <= config.max_tokens:
        raise BertlabError("final-max-tokens-too-few", value=config.final_max_tokens)


def _check_token_objective(config: PretrainConfig) -> None:
    """Check that the family can store the output layer, and that the other settings suit the objective."""
    if not TOKEN_OBJECTIVES[config.token_objective].has_generator:
        if unused_flags := find_differing_flags(config, PretrainConfig, ("generator_size", "replaced_weight")):
            raise BertlabError("generator-flags-without-generator", flags=unused_flags)
        return
    suitable_config = replace(config, from_=None, teacher=None, left_to_right=False, pair_objective="none")
    names = ("from_", "teacher", "left_to_right", "pair_objective")
    if unsuitable_flags := find_differing_flags(config, suitable_config, names):
        raise BertlabError("token-objective-with-flags", objective=config.token_objective, flags=unsuitable_flags)
    if (FAMILIES[config.family].pretraining or {}).get("token_objective") != config.token_objective:
        raise BertlabError("token-objective-unsupported", objective=config.token_objective, family=config.family)


def resolve_loader_workers(config: PretrainConfig, device: torch.device) -> int:
    """Choose the number of data-loader workers of this process."""
    if config.loader_workers is not None:
        return config.loader_workers
    if device.type != "cuda":
        return 0
    # Each worker builds global batches but uses only the rows of its process, so more processes need more workers.
    return max(2, min(2 * distributed.world_size(), distributed.cores_per_process()))


def run(config: PretrainConfig) -> None:
    """Train with a progress bar, then print the final metrics and the path of the checkpoint."""
    show_progress(pretrain(config, tqdm.write), *TOKEN_OBJECTIVES[config.token_objective].progress_metric)
    print_result(config.out / "checkpoint", decimals=4)
