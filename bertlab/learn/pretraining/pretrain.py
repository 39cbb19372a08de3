"""`bertlab pretrain`: a prepared corpus -> a checkpoint, by masked words and a second sentence.

A run is one directory: run.json (its settings), log.jsonl (a row a step), state.safetensors (where it stands),
snapshots/ (log-spaced checkpoints) and checkpoint/ (the result). Knows no terminal but a progress bar.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import torch
import tyro
from tqdm import tqdm

from bertlab.learn import processes
from bertlab.learn.card import card
from bertlab.learn.divergence import Diverged
from bertlab.learn.objectives import PretrainingLoss, heads, objectives
from bertlab.learn.pretraining import cloze
from bertlab.learn.pretraining.board import Board
from bertlab.learn.pretraining.figures import PAIRS, evaluate_command, figures_line, pretraining_figures
from bertlab.learn.progress import show
from bertlab.learn.runs import RunConfig, finished, open_run, prepare_machine, record, tell_finished, tell_resumed
from bertlab.learn.trainer import StepReport
from bertlab.nn.model import Bert
from bertlab.nn.neighbours import look_at_neighbours
from bertlab.spec.config import ModelConfig
from bertlab.spec.errors import BertlabError, CheckpointError
from bertlab.spec.limits import apart, check_limits
from bertlab.spec.presets import PRESETS, preset
from bertlab.text.corpus import Corpus
from bertlab.text.masking import MaskRule
from bertlab.text.pairs import Second
from bertlab.text.sampler import Longer, PairSampler
from bertlab.text.tokenizer import Tokenizer
from bertlab.weights import checkpoint
from bertlab.weights.vocabulary import with_vocabulary

Preset = Literal[tuple(PRESETS)]
STORED = {"float32": torch.float32, "float16": torch.float16, "float8": torch.float8_e4m3fn}
# settings of random weights, which a checkpoint has its own in the place of
BORN = ("preset", "layers", "hidden", "attention_heads", "init", "start")
# settings that a card states
TOLD = ("max_tokens", "then_tokens", "then_share", "mask", "mask_share", "random_share", "whole_word", "dropout")
SPENT = ("steps", "tokens", "training_minutes")  # what a record says of its run, and adds up over runs


@dataclass(frozen=True, kw_only=True)
class PretrainConfig(RunConfig):
    """Pre-train a BERT on a corpus made by `bertlab prepare`. Run again with the same --out, it goes on.

    Examples:
      bertlab pretrain runs/corpus --out runs/mine --preset mini --minutes 60
      bertlab pretrain runs/corpus --out runs/more --from strongest --steps 1000
      bertlab pretrain runs/corpus --out runs/paper --recipe google --preset small --batch-size 64
      torchrun --nproc-per-node=8 -m bertlab pretrain runs/corpus --out runs/base --preset base --batch-size 2048
    """

    SECTIONS: ClassVar = {
        "model": (*BORN, "from_", "new_vocabulary", "dropout"),
        "pair": ("max_tokens", "then_tokens", "then_share", "second"),
        "mask": ("mask", "whole_word", "mask_share", "random_share", "left_to_right", "teacher", "teacher_share"),
        "watch": (
            "validation", "evaluate_every", "evaluate_rows", "snapshots", "snapshot_dtype", "watch", "sentences",
            "tensorboard",
        ),
        "machine": (*RunConfig.SECTIONS["machine"], "ahead"),
        "card": RunConfig.SECTIONS["card"],
    }  # fmt: skip

    corpus: tyro.conf.Positional[Path]
    """The prepared corpus."""
    recipe: Literal["plain", "fast", "google"] = "plain"
    """A set of settings to begin with, which all other flags change; with --help it shows them."""
    preset: Preset = "mini"
    """The size, when training from random weights, layers x width: tiny 2 x 128, mini 4 x 256, small 4 x 512, minilm
    6 x 384, medium 8 x 512, base 12 x 768, large 24 x 1024."""
    layers: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """This many layers instead of the preset's."""
    hidden: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """This width instead of the preset's; the feed-forward's is four times that."""
    attention_heads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """This many attention heads a layer instead of the preset's."""
    from_: Annotated[str | None, tyro.conf.arg(name="from", metavar="CHECKPOINT")] = None
    """Continue this checkpoint (a directory, a shipped name or a hub id) instead; heads it lacks are made anew. If no
    rate is given, it is 1e-4 then: a long run can bear a higher one."""
    new_vocabulary: bool = False
    """With --from, where the corpus has another vocabulary: keep the encoder and learn the embeddings of the pieces it
    does not know. An encoder of one language is a better start for another than random weights."""
    teacher: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """Learn also from what this checkpoint, of the same vocabulary, would put into each gap, as DistilBERT did. The
    teacher reads every batch too: a step takes longer by about a third of what a step of the teacher's would."""
    teacher_share: float = 0.5
    """With --teacher: how much of the masked words' loss is against the teacher, not against what stood there."""
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
    mask_share: float = 0.8
    """Of the tokens to predict, how many are shown as [MASK] (appendix C.2)."""
    random_share: float = 0.1
    """How many as a random word; the others are shown as they are."""
    left_to_right: bool = False
    """Let a token see only those before it, and predict the next word instead of masked ones (section 5.1). Nothing can
    be asked of a second sentence then: --second none."""
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
    ahead: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Processes that draw the next pairs meanwhile, so that a GPU need not wait. If not given, each GPU has twice as
    many as there are GPUs, since each draws the pairs of all and keeps its own, but no more than its share of the
    cores, and at least 2; none where a processor trains, which would do their work itself."""
    evaluate_every: int = 1000
    """Steps between measurements on --validation."""
    evaluate_rows: int = 1024
    """Pairs in a measurement on the way; the last one takes four times as many."""
    snapshots: bool = True
    """Keep checkpoints at steps 0, 10, 30, 100, 300, ... for the time machine."""
    snapshot_dtype: Literal[tuple(STORED)] = "float16"
    """How these are stored; float8 halves them."""
    watch: bool = True
    """Print, at those steps and at the end, what the model puts into a few sentences with a gap."""
    sentences: Annotated[tuple[str, ...], tyro.conf.arg(metavar="TEXT ...")] = ()
    """Watch these instead of those that come with bertlab in English and Korean; each has a [MASK]."""
    tensorboard: bool = False
    """Write event files to --out/tensorboard; needs the package tensorboard."""


def is_snapshot_step(step: int) -> bool:
    """Log-spaced: 0, 10, 30, 100, 300, 1000, ...

    >>> [step for step in range(1001) if is_snapshot_step(step)]
    [0, 10, 30, 100, 300, 1000]
    """
    digits = str(step)
    return step == 0 or (len(digits) > 1 and digits[0] in "13" and set(digits[1:]) == {"0"})


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
    corpus, tokenizer, model = _open(config)
    if (longest := config.then_tokens or config.max_tokens) > (positions := model.config.max_positions):
        raise BertlabError(f"pairs of {longest} tokens are too long: this model has {positions} positions")
    validation = Corpus.open(config.validation) if config.validation else None
    if validation:
        validation.check_vocabulary(tokenizer, config.validation, config.corpus / "tokenizer")
    batches = PairSampler(
        corpus.in_blocks_for(config.batch_size * config.max_tokens),
        tokenizer,
        config.batch_size,
        config.max_tokens,
        config.seed,
        share=processes.share(),
        second=config.second,
        longer=Longer(config.then_tokens, config.then_share) if config.then_tokens else None,
        ahead=helpers(config, device),
    )
    rule, fills = _mask_rule(config, tokenizer).to(device), not model.config.left_to_right
    if config.teacher and not fills:
        raise BertlabError("--teacher fills gaps, and a model that reads from left to right is shown none")
    teacher = _teacher(config, tokenizer, longest) if config.teacher else None
    loss = PretrainingLoss(rule, config.second, not fills, teacher, config.teacher_share)
    sentences = (config.sentences or cloze.watched(tokenizer)) if config.watch and fills else ()
    cloze.check(sentences, tokenizer, model.config.max_positions)
    facts = corpus.facts
    made_of = {"documents": facts["documents"], "tokens": facts["tokens"], "vocabulary": tokenizer.digest}
    made_of |= {"order": facts["settings"]["seed"], "weights": facts.get("weights")}
    made_of |= {"teacher": _digest(teacher)} if teacher else {}
    before = _before(config)
    trainer, log = open_run(config, model, batches, loss, config.steps, made_of, held)
    if teacher:
        teacher.to(trainer.device, trainer.dtype)
    if finished(config, trainer):
        tell_finished(config, trainer, "pretraining", tell)
        processes.leave()
        return
    tell_resumed(config, trainer, tell)
    journals = [log]
    if config.tensorboard and processes.leading():
        journals.append(Board(config.out / "tensorboard", trainer.saved_step))

    def write(row: dict) -> None:
        for journal in journals:
            journal.write(row)

    def measure(rows: int, final: bool = False) -> dict:
        if validation is None or not processes.leading():
            return {}
        # on the way what is fastest; at the end what the checkpoint will open as, so that it repeats the card's figures
        model = _as_stored(trainer.optimizer.result) if final else trainer.optimizer.measured
        figures = pretraining_figures(model, tokenizer, validation, rows=rows, second=config.second)
        write({"step": trainer.progress.step, "tokens": trainer.progress.tokens, "validation": figures})
        if not final:
            tell(figures_line(figures, trainer.progress.step))
        return figures

    def look(final: bool = False) -> None:
        if sentences and processes.leading():
            model = trainer.optimizer.result if final else trainer.optimizer.measured
            rows = cloze.guesses(model, tokenizer, sentences)
            write({"step": trainer.progress.step, "watched": rows})
            tell(cloze.told(rows, trainer.progress.step))

    def keep(directory: Path, figures: dict, dtype: torch.dtype = torch.float16, pairs: int = PAIRS) -> None:
        if not processes.leading():
            return
        result = trainer.optimizer.result
        made = record(
            config,
            trainer,
            command="bertlab pretrain",
            data=[Path(source).name for source in facts["settings"]["sources"]],
            data_tokens=facts["tokens"],
            objectives=objectives(config.second, model.config.left_to_right),
            settings=_told(config),
            validation=figures,
            cloze=cloze.examples(result, tokenizer) if fills else [],
            evaluate_command=evaluate_command(pairs),
            **{"from": _origin(config), "before": before},
        )
        checkpoint.save(directory, result, tokenizer, made, dtype=dtype, card=card(config.out.name, made))

    def pause(step: int) -> None:
        """What is due between two steps."""
        snapshot = is_snapshot_step(step)
        due = step % config.evaluate_every == 0 or (config.snapshots and snapshot)
        figures = measure(config.evaluate_rows) if due else {}
        if snapshot:
            look()
        if config.snapshots and snapshot:
            place = config.out / "snapshots" / f"step-{step:08d}"
            keep(place, figures, STORED[config.snapshot_dtype], config.evaluate_rows)

    if trainer.progress.step == 0:
        pause(0)
    try:
        for report in trainer:
            write(report.row())
            pause(report.step)
            yield report
    except Diverged as error:
        write({"step": trainer.progress.step + 1, "diverged": str(error)})
        if trainer.saved_step is not None and processes.leading():
            trainer.go_back()
            with suppress(CheckpointError):
                keep(config.out / "last-good", {}, torch.float32)
                error = Diverged(f"{error}, and --from {config.out / 'last-good'}")
        # torchrun ends all processes with the first that ends
        processes.leave()
        raise error from None
    if not is_snapshot_step(trainer.progress.step):
        look(final=True)
    pairs = 4 * config.evaluate_rows
    keep(config.out / "checkpoint", measure(pairs, final=True), pairs=pairs)
    processes.leave()


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
    from bertlab.learn.pretraining.recipes import RECIPES

    plain = RECIPES.get(config.recipe, PretrainConfig)(corpus=config.corpus, out=config.out)
    return apart(config, plain, BORN)


def _open(config: PretrainConfig) -> tuple[Corpus, Tokenizer, Bert]:
    corpus = Corpus.open(config.corpus)
    tokenizer = Tokenizer.load(config.corpus / "tokenizer")
    dropout = {"hidden_dropout": config.dropout, "attention_dropout": config.dropout}
    if config.from_ is None:
        shape = _shape(config).replace(vocab_size=tokenizer.vocab_size, pad_token_id=tokenizer.pad_id, **dropout)
        shape = shape.replace(initializer_range=config.init or round(0.8 / shape.hidden_size**0.5, 4))
        model = Bert(shape, heads=heads(config.second))
        if config.start == "neighbours":
            look_at_neighbours(model)
        return corpus, tokenizer, _left_to_right(model, config)
    loaded = checkpoint.load(config.from_, heads=heads(config.second))
    if config.new_vocabulary:
        model = with_vocabulary(loaded, tokenizer, heads(config.second))
        return corpus, tokenizer, _left_to_right(_with_dropout(model, config.dropout), config)
    if loaded.tokenizer.digest != tokenizer.digest:
        raise BertlabError(
            f"{config.corpus} was tokenised with another vocabulary than {config.from_}: prepare it again with "
            f"--tokenizer {config.from_}, or keep the encoder alone with --new-vocabulary"
        )
    return corpus, tokenizer, _left_to_right(_with_dropout(loaded.model, config.dropout), config)


def _as_stored(model: Bert) -> Bert:
    """The model as it opens again: float32, of weights stored in half precision."""
    opened = Bert(model.config, heads=model.head_names)
    opened.load_state_dict({name: tensor.half() for name, tensor in model.state_dict().items()})
    return opened.to(next(model.parameters()).device)


def helpers(config: PretrainConfig, device: torch.device) -> int:
    """How many processes draw pairs for this one."""
    if config.ahead is not None:
        return config.ahead
    # each of n processes draws the pairs of all n and keeps its own
    return max(2, min(2 * processes.count(), processes.cores())) if device.type == "cuda" else 0


def _told(config: PretrainConfig) -> dict:
    """The settings that the card states."""
    told = {name: getattr(config, name) for name in TOLD if getattr(config, name) is not None}
    if config.teacher:
        told |= {"teacher": checkpoint.name_of(config.teacher), "teacher_share": config.teacher_share}
    return told


def _teacher(config: PretrainConfig, tokenizer: Tokenizer, longest: int) -> Bert:
    loaded = checkpoint.load(config.teacher)
    if loaded.tokenizer.digest != tokenizer.digest:
        raise BertlabError(
            f"{config.teacher} has another vocabulary than {config.corpus}: it cannot say which word it would "
            f"put into a gap; prepare the corpus again with --tokenizer {config.teacher}"
        )
    loaded.model.head("mlm")  # which says what it lacks
    if longest > loaded.config.max_positions:
        positions = loaded.config.max_positions
        raise BertlabError(f"pairs of {longest} tokens are too long for the teacher: it has {positions} positions")
    return loaded.model.eval().requires_grad_(False)


def _digest(model: Bert) -> str:
    """A short fingerprint of a model's weights."""
    found = hashlib.blake2b(digest_size=8)
    for _, tensor in sorted(model.state_dict().items()):
        found.update(tensor.numpy())
    return found.hexdigest()


def _mask_rule(config: PretrainConfig, tokenizer: Tokenizer) -> MaskRule:
    shares = {"mask_share": config.mask_share, "random_share": config.random_share}
    return MaskRule.of(tokenizer, config.mask, config.whole_word, **shares)


def _shape(config: PretrainConfig) -> ModelConfig:
    """The preset's sizes, but for those that the configuration names."""
    own = {"num_layers": config.layers, "num_heads": config.attention_heads, "hidden_size": config.hidden}
    own["intermediate_size"] = 4 * config.hidden if config.hidden else None
    return preset(config.preset).replace(**{name: size for name, size in own.items() if size})


def _left_to_right(model: Bert, config: PretrainConfig) -> Bert:
    """The model, reading from left to right if that is asked for, or if it always did."""
    model.config = model.config.replace(left_to_right=config.left_to_right or model.config.left_to_right)
    if model.config.left_to_right and config.second != "none":
        raise BertlabError(
            "a model that reads from left to right is asked nothing of a second sentence, as its first token sees no "
            "other: add --second none"
        )
    return model


def _origin(config: PretrainConfig) -> str:
    """What the weights were before the first step, for the card."""
    if config.from_ is None:
        return f"random weights ({config.start})"
    encoder = " (its encoder, under another vocabulary)" if config.new_vocabulary else ""
    return checkpoint.name_of(config.from_) + encoder


def _before(config: PretrainConfig) -> dict[str, float]:
    """Steps, tokens and minutes of all runs that the weights come from, the texts they read and whose these are; {}
    where there were none, or nobody knows."""
    told = {} if config.from_ is None else checkpoint.read_record(config.from_)
    if any(type(told.get(name)) not in (int, float) for name in SPENT):
        return {}
    earlier = told.get("before", {})
    spent = {name: round(told[name] + earlier.get(name, 0), 1) for name in SPENT}
    data = dict.fromkeys([*earlier.get("data", []), *told.get("data", [])])
    whose = dict.fromkeys(filter(None, [earlier.get("attribution"), told.get("attribution")]))
    return spent | {"data": list(data), "attribution": "; ".join(whose)}


def _with_dropout(model: Bert, dropout: float) -> Bert:
    """The same weights under another dropout."""
    changed = Bert(model.config.replace(hidden_dropout=dropout, attention_dropout=dropout), heads=model.head_names)
    changed.load_state_dict(model.state_dict())
    return changed


def run(config: PretrainConfig) -> None:
    """Train with a progress bar; prints what was reached and where it lies."""
    show(pretrain(config, tqdm.write), "mlm_accuracy", "masked")
    if not processes.leading():
        return
    record = json.loads((config.out / "checkpoint" / "bertlab.json").read_text())
    print(f"{config.out / 'checkpoint'}: {record['steps']:,} steps, {record['tokens']:,} tokens")
    for name, value in record["validation"].items():
        print(f"  {name:20} {value:,.4f}" if isinstance(value, float) else f"  {name:20} {value:,}")
