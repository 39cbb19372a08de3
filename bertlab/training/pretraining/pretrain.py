"""`bertlab pretrain`: a prepared corpus -> a checkpoint, by masked words and a second sentence.

A run is one directory: run.json (its settings), log.jsonl (a row a step), state.safetensors (where it stands),
snapshots/ (log-spaced checkpoints) and checkpoint/ (the result). Knows no terminal but a progress bar.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import torch
from tqdm import tqdm

from bertlab.config.errors import BertlabError
from bertlab.config.limits import apart, check_limits
from bertlab.text.pretraining.masking import MaskRule
from bertlab.text.pretraining.sampler import Longer, PairSampler
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.training import distributed
from bertlab.training.divergence import Diverged
from bertlab.training.objectives import PretrainingLoss
from bertlab.training.pretraining.artifacts import Outputs
from bertlab.training.pretraining.config import BORN, PretrainConfig
from bertlab.training.pretraining.recipes import RECIPES
from bertlab.training.pretraining.setup import open_inputs
from bertlab.training.pretraining.tensorboard import Board
from bertlab.training.progress import show_progress
from bertlab.training.run_directory import is_finished, open_run, prepare_machine, report_finished, report_resumed
from bertlab.training.trainer import StepReport


def pretrain(config: PretrainConfig, tell: Callable[[str], None] = lambda line: None) -> Iterator[StepReport]:
    """Train, yielding a report a step; the result is in `config.out`/checkpoint when the iterator ends.

    If the loss leaps up or is no number, the weights saved last are kept in `config.out`/last-good.

    Args:
        tell: takes the lines about figures on the way and watched sentences, and the one that says where the run goes
            on, or that it was finished before.

    Raises:
        BertlabError: a corpus of another vocabulary, a directory of another run, settings that cannot be, a loss that
            is no number or leapt up for good, or the run is under way in another process.
    """
    with ExitStack() as held:
        yield from _pretrain(config, tell, held)


def _pretrain(config: PretrainConfig, tell: Callable[[str], None], held: ExitStack) -> Iterator[StepReport]:
    _check(config)
    device = prepare_machine(config)
    inputs = open_inputs(config)
    batches = PairSampler(
        inputs.corpus.in_blocks_for(config.batch_size * config.max_tokens),
        inputs.tokenizer,
        config.batch_size,
        config.max_tokens,
        config.seed,
        share=distributed.data_shard(),
        second=config.second,
        longer=Longer(config.then_tokens, config.then_share) if config.then_tokens else None,
        ahead=helpers(config, device),
    )
    rule, left_to_right = _mask_rule(config, inputs.tokenizer).to(device), inputs.model.config.left_to_right
    loss = PretrainingLoss(rule, config.second, left_to_right, inputs.teacher, config.teacher_share)
    trainer, log = open_run(config, inputs.model, batches, loss, config.steps, inputs.made_of, held)
    if inputs.teacher:
        inputs.teacher.to(trainer.device, trainer.dtype)
    if is_finished(config, trainer):
        report_finished(config, trainer, "pretraining", tell)
        distributed.leave()
        return
    report_resumed(config, trainer, tell)
    if distributed.is_main_process() and inputs.validation and inputs.validation.facts == inputs.corpus.facts:
        tell("--validation holds the very texts that are learnt: its figures are not of held-out text")
    journals = [log]
    if config.tensorboard and distributed.is_main_process():
        journals.append(Board(config.out / "tensorboard", trainer.saved_step))
    outputs = Outputs(config, inputs, trainer, journals, tell)
    if trainer.progress.step == 0:
        outputs.after(0)
    try:
        with trainer.saving_on_interrupt():
            for report in trainer:
                outputs.write(report.log_row())
                outputs.after(report.step)
                yield report
    except Diverged as error:
        told = outputs.after_divergence(error)
        # torchrun ends all processes with the first that ends
        distributed.leave()
        raise told from None
    outputs.at_the_end()
    distributed.leave()


def _check(config: PretrainConfig) -> None:
    check_limits(config)
    if not 0 < config.mask < 1:
        raise BertlabError(f"--mask is {config.mask}; it must be more than 0 and less than 1")
    if min(config.mask_share, config.random_share) < 0 or config.mask_share + config.random_share > 1 + 1e-9:
        raise BertlabError("--mask-share and --random-share are shares, together at most 1")
    if config.new_vocabulary and config.from_ is None:
        raise BertlabError("--new-vocabulary keeps an encoder: name the checkpoint it comes from with --from")
    if config.from_ is not None and (idle := _born_otherwise(config)):
        raise BertlabError(f"--from continues a model of its own size and weights: leave out {', '.join(idle)}")
    if config.teacher is None and config.teacher_share != PretrainConfig.teacher_share:
        raise BertlabError("--teacher-share weighs what a teacher says: name one with --teacher")
    if config.then_tokens and config.then_tokens <= config.max_tokens:
        raise BertlabError(f"--then-tokens is {config.then_tokens}: it must be more than --max-tokens")


def _born_otherwise(config: PretrainConfig) -> list[str]:
    """Flags for random weights that were given, as far as that can be told: they differ from the recipe's."""
    plain = RECIPES.get(config.recipe, PretrainConfig)(corpus=config.corpus, out=config.out)
    return apart(config, plain, BORN)


def helpers(config: PretrainConfig, device: torch.device) -> int:
    """How many processes draw pairs for this one."""
    if config.ahead is not None:
        return config.ahead
    # each of n processes draws the pairs of all n and keeps its own
    return max(2, min(2 * distributed.world_size(), distributed.cores_per_process())) if device.type == "cuda" else 0


def _mask_rule(config: PretrainConfig, tokenizer: Tokenizer) -> MaskRule:
    shares = {"mask_share": config.mask_share, "random_share": config.random_share}
    return MaskRule.of(tokenizer, config.mask, config.whole_word, **shares)


def run(config: PretrainConfig) -> None:
    """Train with a progress bar; prints what was reached and where it lies."""
    show_progress(pretrain(config, tqdm.write), "mlm_accuracy", "masked")
    if not distributed.is_main_process():
        return
    record = json.loads((config.out / "checkpoint" / "bertlab.json").read_text())
    print(f"{config.out / 'checkpoint'}: {record['steps']:,} steps, {record['tokens']:,} tokens")
    for name, value in record["validation"].items():
        print(f"  {name:20} {value:,.4f}" if isinstance(value, float) else f"  {name:20} {value:,}")
