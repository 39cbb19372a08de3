"""`bertlab pretrain`: a prepared corpus -> a checkpoint, by masked words and a second sentence.

A run is one directory: run.json (its settings), log.jsonl (a row a step), state.safetensors (where it stands),
snapshots/ (log-spaced checkpoints) and checkpoint/ (the result). Knows no terminal but a progress bar.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from bertlab.learn import processes
from bertlab.learn.card import card
from bertlab.learn.evaluate import pretraining_figures
from bertlab.learn.objectives import PretrainingLoss, heads, objectives
from bertlab.learn.progress import show
from bertlab.learn.runs import RunConfig, open_run, prepare_machine, record
from bertlab.learn.trainer import StepReport
from bertlab.nn.model import Bert
from bertlab.nn.neighbours import look_at_neighbours
from bertlab.spec.errors import BertlabError
from bertlab.spec.presets import PRESETS, preset
from bertlab.text.corpus import Corpus
from bertlab.text.masking import MaskRule
from bertlab.text.pairs import Second
from bertlab.text.sampler import Longer, PairSampler
from bertlab.text.tokenizer import Tokenizer
from bertlab.weights import checkpoint
from bertlab.weights.vocabulary import with_vocabulary

Preset = Literal[tuple(PRESETS)]
TOLD = ("max_tokens", "then_tokens", "then_share", "mask", "whole_word", "dropout")  # settings that a card states


@dataclass(frozen=True, kw_only=True)
class PretrainConfig(RunConfig):
    """Pre-train a BERT on a corpus made by `bertlab prepare`. Run again with the same --out, it goes on.

    Examples:
      bertlab pretrain runs/corpus --out runs/mine --preset mini --minutes 60
      bertlab pretrain runs/corpus --out runs/more --from assets/checkpoints/strongest --steps 1000
    """

    corpus: tyro.conf.Positional[Path]
    """The prepared corpus."""
    preset: Preset = "mini"
    """The size, when training from random weights."""
    from_: Annotated[str | None, tyro.conf.arg(name="from", metavar="CHECKPOINT")] = None
    """Continue this checkpoint (a directory, a shipped name or a hub id) instead; heads it lacks are made anew."""
    new_vocabulary: bool = False
    """With --from, where the corpus has another vocabulary: keep the encoder and learn the embeddings of the pieces it
    does not know. An encoder of one language is a better start for another than random weights."""
    validation: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A prepared corpus of held-out text, measured as the run goes and at its end."""
    steps: int = 1_000_000
    """Updates of the weights."""
    max_tokens: int = 128
    """Tokens in a pair."""
    then_tokens: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Tokens in a pair towards the end of the run, fewer pairs a step: what comes after position 128 is learnt too."""
    then_share: float = 0.1
    """How much of the run that end is."""
    mask: float = 0.15
    """Share of tokens to predict."""
    whole_word: bool = False
    """Hide all pieces of a word together."""
    second: Second = "next"
    """What is asked of a second sentence: whether it is the next (the paper), whether the two stand in their order
    (ALBERT), or nothing, and there is none (RoBERTa)."""
    dropout: float = 0.0
    """The paper's is 0.1; runs that never see a text twice do better and faster without."""
    init: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Standard deviation of random weights; 0.8 / sqrt(width) if not given. The paper's 0.02 suits a width of 768 and
    more; narrower models learn sooner with more."""
    start: Literal["neighbours", "paper"] = "neighbours"
    """Random weights as the paper's, or with the first layers' heads born looking at the tokens next to each: that
    leaves the first plateau of the loss sooner. Either way the result is an ordinary BERT."""
    evaluate_every: int = 1000
    """Steps between measurements on --validation."""
    evaluate_rows: int = 1024
    """Pairs in a measurement on the way; the last one takes four times as many."""
    snapshots: bool = True
    """Whether to keep checkpoints at steps 0, 10, 30, 100, 300, ..."""


def is_snapshot_step(step: int) -> bool:
    """Log-spaced: 0, 10, 30, 100, 300, 1000, ...

    >>> [step for step in range(1001) if is_snapshot_step(step)]
    [0, 10, 30, 100, 300, 1000]
    """
    digits = str(step)
    return step == 0 or (len(digits) > 1 and digits[0] in "13" and set(digits[1:]) == {"0"})


def pretrain(config: PretrainConfig) -> Iterator[StepReport]:
    """Train, yielding a report a step; the result is in `config.out`/checkpoint when the iterator ends.

    Raises:
        BertlabError: a corpus of another vocabulary, a directory of another run, settings that cannot be, a loss that
            is no number or leapt up for good.
    """
    _check(config)
    device = prepare_machine(config)
    corpus, tokenizer, model = _open(config)
    if (longest := config.then_tokens or config.max_tokens) > (positions := model.config.max_positions):
        raise BertlabError(f"pairs of {longest} tokens are too long: this model has {positions} positions")
    validation = Corpus.open(config.validation) if config.validation else None
    batches = PairSampler(
        corpus,
        tokenizer,
        config.batch_size,
        config.max_tokens,
        config.seed,
        share=processes.share(),
        second=config.second,
        longer=Longer(config.then_tokens, config.then_share) if config.then_tokens else None,
    )
    loss = PretrainingLoss(MaskRule.of(tokenizer, config.mask, config.whole_word).to(device), config.second)
    trainer, log = open_run(config, model, batches, loss, config.steps)

    def measure(rows: int) -> dict:
        if not processes.leading():
            return {}
        measured = trainer.optimizer.measured
        figures = pretraining_figures(measured, tokenizer, validation, rows=rows, second=config.second)
        log.write({"step": trainer.progress.step, "tokens": trainer.progress.tokens, "validation": figures})
        return figures

    def keep(directory: Path, figures: dict) -> None:
        if not processes.leading():
            return
        told = record(
            config,
            trainer,
            command="bertlab pretrain",
            data=[Path(source).name for source in corpus.facts["settings"]["sources"]],
            data_tokens=corpus.facts["tokens"],
            objectives=objectives(config.second),
            settings={name: getattr(config, name) for name in TOLD if getattr(config, name) is not None},
            validation=figures,
            evaluate_command="bertlab evaluate pretraining --checkpoint CHECKPOINT --data VALIDATION",
            **{"from": _origin(config)},
        )
        checkpoint.save(directory, trainer.optimizer.result, tokenizer, told, card=card(config.out.name, told))

    def keep_snapshot(figures: dict) -> None:
        step = trainer.progress.step
        if config.snapshots and is_snapshot_step(step):
            keep(config.out / "snapshots" / f"step-{step:08d}", figures)

    if trainer.progress.step == 0:
        keep_snapshot({})
    for report in trainer:
        log.write(report.row())
        due = report.step % config.evaluate_every == 0 or (config.snapshots and is_snapshot_step(report.step))
        figures = measure(config.evaluate_rows) if validation and due else {}
        keep_snapshot(figures)
        yield report
    keep(config.out / "checkpoint", measure(4 * config.evaluate_rows) if validation else {})
    processes.leave()


def _check(config: PretrainConfig) -> None:
    for name in ("mask", "then_share"):
        if not 0 < getattr(config, name) < 1:
            raise BertlabError(f"--{name.replace('_', '-')} is {getattr(config, name)}: it is a share between 0 and 1")
    if config.then_tokens and config.then_tokens <= config.max_tokens:
        raise BertlabError(f"--then-tokens is {config.then_tokens}: it must be more than --max-tokens")


def _open(config: PretrainConfig) -> tuple[Corpus, Tokenizer, Bert]:
    corpus = Corpus.open(config.corpus)
    tokenizer = Tokenizer.load(config.corpus / "tokenizer")
    dropout = {"hidden_dropout": config.dropout, "attention_dropout": config.dropout}
    if config.from_ is None:
        shape = preset(config.preset).replace(vocab_size=tokenizer.vocab_size, pad_token_id=tokenizer.pad_id, **dropout)
        shape = shape.replace(initializer_range=config.init or round(0.8 / shape.hidden_size**0.5, 4))
        model = Bert(shape, heads=heads(config.second))
        if config.start == "neighbours":
            look_at_neighbours(model)
        return corpus, tokenizer, model
    loaded = checkpoint.load(config.from_, heads=heads(config.second))
    if config.new_vocabulary:
        model = with_vocabulary(loaded, tokenizer, heads(config.second))
        return corpus, tokenizer, _with_dropout(model, config.dropout)
    if loaded.tokenizer.digest != tokenizer.digest:
        raise BertlabError(
            f"{config.corpus} was tokenised with another vocabulary than {config.from_}: prepare it again with "
            f"--tokenizer {config.from_}, or keep the encoder alone with --new-vocabulary"
        )
    return corpus, tokenizer, _with_dropout(loaded.model, config.dropout)


def _origin(config: PretrainConfig) -> str:
    """What the weights were before the first step, for the card."""
    if config.from_ is None:
        return f"random weights ({config.start})"
    encoder = " (its encoder, under another vocabulary)" if config.new_vocabulary else ""
    return checkpoint.name_of(config.from_) + encoder


def _with_dropout(model: Bert, dropout: float) -> Bert:
    """The same weights under another dropout."""
    changed = Bert(model.config.replace(hidden_dropout=dropout, attention_dropout=dropout), heads=model.head_names)
    changed.load_state_dict(model.state_dict())
    return changed


def run(config: PretrainConfig) -> None:
    """Train with a progress bar; prints what was reached and where it lies."""
    show(pretrain(config), "mlm_accuracy", "masked")
    if not processes.leading():
        return
    record = json.loads((config.out / "checkpoint" / "bertlab.json").read_text())
    print(f"{config.out / 'checkpoint'}: {record['steps']:,} steps, {record['tokens']:,} tokens")
    for name, value in record["validation"].items():
        print(f"  {name:20} {value:,.4f}" if isinstance(value, float) else f"  {name:20} {value:,}")
