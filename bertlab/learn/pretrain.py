"""`bertlab pretrain`: a prepared corpus -> a checkpoint, by masked words and next sentence.

A run is one directory: run.json (its settings), log.jsonl (a row a step), state.safetensors (where it stands),
snapshots/ (log-spaced checkpoints) and checkpoint/ (the result). Knows no terminal but a progress bar.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import torch
import tyro

import bertlab
from bertlab.learn.card import card
from bertlab.learn.devices import hardware, resolve_device
from bertlab.learn.evaluate import pretraining_figures
from bertlab.learn.objectives import PretrainingLoss
from bertlab.learn.optim import OptimConfig, Precision, resolve_precision
from bertlab.learn.progress import show
from bertlab.learn.runs import RunLog, claim
from bertlab.learn.trainer import StepReport, Trainer
from bertlab.nn.model import Bert
from bertlab.nn.neighbours import look_at_neighbours
from bertlab.spec.errors import BertlabError
from bertlab.spec.presets import PRESETS, preset
from bertlab.text.corpus import Corpus
from bertlab.text.masking import MaskRule
from bertlab.text.sampler import PairSampler
from bertlab.text.tokenizer import Tokenizer
from bertlab.weights import checkpoint

Preset = Literal[tuple(PRESETS)]


@dataclass(frozen=True)
class PretrainConfig:
    """Pre-train a BERT on a corpus made by `bertlab prepare`. Run again with the same --out, it goes on.

    Examples:
      bertlab pretrain runs/corpus --out runs/mine --preset mini --minutes 60
      bertlab pretrain runs/corpus --out runs/more --from assets/checkpoints/strongest --steps 1000
    """

    corpus: tyro.conf.Positional[Path]
    """The prepared corpus."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The run's directory."""
    preset: Preset = "mini"
    """The size, when training from random weights."""
    from_: Annotated[str | None, tyro.conf.arg(name="from", metavar="CHECKPOINT")] = None
    """Continue this checkpoint (directory or hub id) instead; heads it lacks are made anew."""
    validation: Path | None = None
    """A prepared corpus of held-out text, measured as the run goes and at its end."""
    steps: int = 1_000_000
    """Updates of the weights."""
    minutes: float | None = None
    """Stop after this much training time, the rate falling to zero on time."""
    batch_size: int = 32
    """Sentence pairs a step."""
    max_tokens: int = 128
    """Tokens in a pair."""
    mask: float = 0.15
    """Share of tokens to predict."""
    dropout: float = 0.0
    """The paper's is 0.1; runs that never see a text twice do better and faster without."""
    init: float | None = None
    """Standard deviation of random weights; 0.8 / sqrt(width) if not given. The paper's 0.02 suits a width of 768 and
    more; narrower models learn sooner with more."""
    start: Literal["neighbours", "paper"] = "neighbours"
    """Random weights as the paper's, or with the first layers' heads born looking at the tokens next to each: that
    leaves the first plateau of the loss sooner. Either way the result is an ordinary BERT."""
    optim: OptimConfig = field(default_factory=OptimConfig)
    precision: Precision = "auto"
    """Of the arithmetic; the weights that learn are always float32."""
    device: str = "auto"
    threads: int | None = None
    """Processor threads; all of them if not given."""
    seed: int = 0
    attribution: str = ""
    """Whose text it is and under which licence, for the model card."""
    note: str = ""
    """Anything else the model card should say."""
    evaluate_every: int = 1000
    """Steps between measurements on --validation."""
    evaluate_rows: int = 1024
    """Pairs in a measurement on the way; the last one takes four times as many."""
    save_minutes: float = 3.0
    """Minutes between saves of the run's state."""
    snapshots: bool = True
    """Keep checkpoints at steps 0, 10, 30, 100, 300, ..."""


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
        BertlabError: a corpus of another vocabulary, a directory of another run, a loss that is no number.
    """
    if config.threads:
        torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    device = resolve_device(config.device)
    corpus, tokenizer, model = _open(config)
    validation = Corpus.open(config.validation) if config.validation else None
    claim(config.out, config)
    trainer = Trainer(
        model,
        PairSampler(corpus, tokenizer, config.batch_size, config.max_tokens, config.seed),
        PretrainingLoss(MaskRule.of(tokenizer, config.mask).to(device)),
        config.optim,
        steps=config.steps,
        minutes=config.minutes,
        device=device,
        dtype=resolve_precision(config.precision, device),
        state_path=config.out / "state.safetensors",
        save_every_seconds=60 * config.save_minutes,
    )
    log = RunLog(config.out / "log.jsonl", trainer.progress.step)

    def measure(rows: int) -> dict:
        figures = pretraining_figures(trainer.optimizer.worker, tokenizer, validation, rows=rows)
        log.write({"step": trainer.progress.step, "tokens": trainer.progress.tokens, "validation": figures})
        return figures

    def keep(directory: Path, figures: dict) -> None:
        record = _record(config, trainer, corpus, device, figures)
        checkpoint.save(directory, trainer.model, tokenizer, record, card=card(config.out.name, record))

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


def _open(config: PretrainConfig) -> tuple[Corpus, Tokenizer, Bert]:
    corpus = Corpus.open(config.corpus)
    tokenizer = Tokenizer.load(config.corpus / "tokenizer")
    dropout = {"hidden_dropout": config.dropout, "attention_dropout": config.dropout}
    if config.from_ is None:
        shape = preset(config.preset).replace(vocab_size=tokenizer.vocab_size, pad_token_id=tokenizer.pad_id, **dropout)
        shape = shape.replace(initializer_range=config.init or round(0.8 / shape.hidden_size**0.5, 4))
        model = Bert(shape, heads=("mlm", "nsp"))
        if config.start == "neighbours":
            look_at_neighbours(model)
        return corpus, tokenizer, model
    loaded = checkpoint.load(config.from_, heads=("mlm", "nsp"))
    if loaded.tokenizer.digest != tokenizer.digest:
        raise BertlabError(
            f"{config.corpus} was tokenised with another vocabulary than {config.from_}: "
            f"prepare it again with --tokenizer {config.from_}"
        )
    if config.dropout != loaded.config.hidden_dropout:
        model = Bert(loaded.config.replace(**dropout), heads=loaded.model.head_names)
        model.load_state_dict(loaded.model.state_dict())
        return corpus, tokenizer, model
    return corpus, tokenizer, loaded.model


def _record(config: PretrainConfig, trainer: Trainer, corpus: Corpus, device: torch.device, figures: dict) -> dict:
    """What `bertlab.json` states about a pre-training run."""
    return {
        "made_by": f"bertlab {bertlab.__version__}, torch {torch.__version__}",
        "command": "bertlab pretrain",
        "from": checkpoint.name_of(config.from_) if config.from_ else None,
        "data": [Path(source).name for source in corpus.facts["settings"]["sources"]],
        "data_tokens": corpus.facts["tokens"],
        "attribution": config.attribution,
        "objectives": ["masked words", "next sentence"],
        "steps": trainer.progress.step,
        "tokens": trainer.progress.tokens,
        "training_minutes": round(trainer.progress.seconds / 60, 1),
        "hardware": hardware(device),
        "precision": str(trainer.dtype).removeprefix("torch."),
        "seed": config.seed,
        "settings": {
            "batch_size": config.batch_size,
            "max_tokens": config.max_tokens,
            "mask": config.mask,
            "dropout": config.dropout,
            **asdict(config.optim),
        },
        "finished": time.strftime("%Y-%m-%d", time.gmtime()),
        "validation": figures,
        "evaluate_command": "bertlab evaluate pretraining --checkpoint CHECKPOINT --data VALIDATION",
        "note": config.note,
    }


def run(config: PretrainConfig) -> None:
    """Train with a progress bar; prints what was reached and where it lies."""
    show(pretrain(config), "mlm_accuracy", "masked")
    record = json.loads((config.out / "checkpoint" / "bertlab.json").read_text())
    print(f"{config.out / 'checkpoint'}: {record['steps']:,} steps, {record['tokens']:,} tokens")
    for name, value in record["validation"].items():
        print(f"  {name:20} {value:,.4f}" if isinstance(value, float) else f"  {name:20} {value:,}")
