"""`bertlab evaluate`: what a checkpoint, or anybody's predictions, are worth. Pre-training's figures come from
`pretraining.figures`, a question's EM, F1 and ROUGE-W from `tasks.questions`, all others from
`tasks.evaluate_labelled`.

Knows no optimiser; a model goes in, a row of figures comes out.
"""

import json
import math
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import torch
import tyro

from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.files import write_atomically
from bertlab.config.limits import check_limits
from bertlab.config.tasks import LEFT_OUT, TASKS
from bertlab.tasks.custom import OWN, Columns
from bertlab.tasks.span.metrics import script_of, squad
from bertlab.tasks.span.predict import measured, spoken, squad_answers
from bertlab.tasks.span.squad import labelled, measurable, read_predictions, read_rows, read_scores
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.readers.invalid_rows import InvalidRowAction, InvalidRows
from bertlab.training.devices import resolve_device
from bertlab.training.model_card import render_card
from bertlab.training.predict import evaluate_labelled
from bertlab.training.pretraining import cloze
from bertlab.training.pretraining.metrics import DEFAULT_PAIRS, evaluate_pretraining, evaluation_command
from bertlab.training.progress import evaluation_bar


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig(Columns):
    """Measure a checkpoint on held-out data, or anybody's predictions by the official definition.

    Examples:
      bertlab evaluate pretraining --checkpoint strongest --data runs/validation
      bertlab evaluate sst2 --checkpoint runs/sst2/checkpoint --data glue/sst2
      bertlab evaluate mnli --checkpoint runs/mnli/checkpoint --split test --out submission/
      bertlab evaluate own --checkpoint runs/mine/checkpoint --data more.csv --out answers.csv
      bertlab evaluate squad --checkpoint squad --data squad/validation.parquet
      bertlab evaluate squad --predictions mine.json --data dev-v1.1.json
    """

    SECTIONS: ClassVar = {
        "own task": tuple(each.name for each in fields(Columns)),
        "predictions": ("predictions", "no_answer", "threshold"),
        "machine": ("device", "threads"),
    }

    what: Annotated[
        tyro.conf.Positional[Literal[("pretraining", OWN, *TASKS, *LEFT_OUT)]], tyro.conf.arg(metavar="TASK")
    ] = field(kw_only=False)
    """A task, as `bertlab finetune --help` lists them; `pretraining` for masked words and the second sentence; or `own`
    for your own rows, of the kind the checkpoint was taught."""
    data: Annotated[str | None, tyro.conf.arg(metavar="PATH")] = None
    """A corpus of `bertlab prepare`, or a task's rows: a file, a directory or a hub id; the task's if not given."""
    split: str = "validation"
    """Of a directory or the hub: which part to take; test sets without labels are only predicted, as are questions
    none of which has an answer or says is_impossible."""
    checkpoint: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """A directory, a shipped name or a hub id."""
    predictions: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Answers to score instead of asking a checkpoint. Questions: {id: text} as JSON, or rows with id and
    prediction_text; tags: lines of token and tag; else a table of index and prediction."""
    no_answer: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """For SQuAD v2.0 predictions: {id: score} as JSON, high where there is no answer."""
    threshold: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """For SQuAD v2.0: above it "no answer" is the answer (tau); without it, what the checkpoint was tuned to, or 0."""
    invalid: Annotated[InvalidRowAction, tyro.conf.arg(aliases=("--damaged",))] = "stop"
    """What to do about an invalid row: stop, or leave it out and name it."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write the checkpoint's answers here, in the benchmark's own format; in a directory, under its own file name."""
    limit: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Only this many rows or pairs."""
    max_tokens: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Tokens in a pair or a window; 128 or 384, or more where the checkpoint was taught with more."""
    record: bool = False
    """Write the figures into the checkpoint's bertlab.json and card; for SQuAD v2.0 with tau tuned on these rows."""
    device: str = "auto"
    """cpu or cuda; auto takes a GPU if there is one."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Processor threads; all of them if not given."""
    json: bool = False
    """Print one JSON object."""


def evaluate(config: EvaluateConfig) -> dict:
    """The figures of a checkpoint or of predictions.

    Raises:
        BertlabError: neither or both are given, or data that is not what it should be.
    """
    check_limits(config)
    if config.threads:
        torch.set_num_threads(config.threads)
    if (config.checkpoint is None) == (config.predictions is None):
        raise BertlabError("name either a --checkpoint to ask or a file of --predictions to score")
    if config.what == "pretraining":
        if config.checkpoint is None or config.data is None:
            raise BertlabError("to measure pre-training, name a --checkpoint and --data, a corpus of `bertlab prepare`")
        loaded = _pretrained(config)
        corpus = Corpus.open(config.data)
        corpus.check_vocabulary(loaded.tokenizer, config.data, config.checkpoint)
        return evaluate_pretraining(
            loaded.model,
            loaded.tokenizer,
            corpus,
            rows=config.limit or DEFAULT_PAIRS,
            max_tokens=config.max_tokens,
            second=loaded.pair_objective,
            progress=iter if config.json else evaluation_bar,
        )
    noted = checkpoint.read_record(config.checkpoint).get("task") if config.what == OWN and config.checkpoint else None
    spec = config.spec(config.what, noted)
    if spec.kind != "span":
        if config.threshold is not None or config.no_answer is not None:
            raise BertlabError(f"{config.what} has no questions: --threshold and --no-answer are for SQuAD v2.0")
        return evaluate_labelled(config, spec, partial(_loaded, config), iter if config.json else evaluation_bar)
    if config.threshold is not None and not spec.unanswerable:
        raise BertlabError(f"every question of {config.what} has an answer: --threshold is for SQuAD v2.0")
    source, complain = config.data or spec.hub_id, InvalidRows(config.invalid)
    rows = read_rows(source, config.split, complain, spec)
    spec = spoken(spec, rows)
    told = labelled(rows, spec.unanswerable)
    if not told and not (config.out and config.checkpoint):
        raise BertlabError(
            f"no question of {source} has an answer, so nothing can be measured on it: "
            "write a checkpoint's answers to a file with --out"
        )
    rows = (measurable(rows, source, spec.unanswerable, complain) if told else rows)[: config.limit]
    version = "2.0" if spec.unanswerable else "1.1"
    if config.predictions is not None:
        scores = read_scores(config.no_answer) if config.no_answer else None
        return squad(read_predictions(config.predictions), rows, version, scores, config.threshold, script_of(spec))
    loaded = _loaded(config, ("span",))
    progress = iter if config.json else evaluation_bar
    answers, margins = squad_answers(
        loaded.model,
        loaded.tokenizer,
        rows,
        max_tokens=config.max_tokens or loaded.max_tokens_for(spec),
        stride=loaded.stride,
        progress=progress,
    )
    threshold = config.threshold
    if threshold is None and not (config.record and told):
        threshold = loaded.null_threshold or 0.0
    figures = measured(answers, margins, rows, spec, threshold) if told else {"questions": len(rows)}
    if config.out:
        silent = figures.get("null_threshold", threshold) if spec.unanswerable else math.inf
        said = {id: "" if margins[id] > silent else text for id, text in answers.items()}
        out = config.out if config.out.suffix and not config.out.is_dir() else config.out / "predictions.json"
        write_atomically(out, json.dumps(said, ensure_ascii=False))
    return figures


def _loaded(config: EvaluateConfig, heads: tuple[str, ...]) -> checkpoint.Checkpoint:
    loaded = checkpoint.load(config.checkpoint)
    for head in heads:
        loaded.model.head(head)
    loaded.model.to(resolve_device(config.device))
    return loaded


def _pretrained(config: EvaluateConfig) -> checkpoint.Checkpoint:
    loaded = _loaded(config, ())
    if not (loaded.config.left_to_right and "mlm" in loaded.heads):
        loaded.model.head("mlm")  # which says what it lacks; one that reads from left to right has the next word in it
    return loaded


def run(config: EvaluateConfig) -> None:
    """Measure and print."""
    if config.record:
        if config.checkpoint is None:
            raise BertlabError("--record writes into a checkpoint: name one with --checkpoint")
        if "made_by" not in checkpoint.read_record(config.checkpoint):
            raise BertlabError(f"{config.checkpoint} was not made by bertlab, so it has no bertlab.json to --record in")
    figures = evaluate(config)
    if config.record and all(name.endswith(("examples", "questions")) for name in figures):
        raise BertlabError("these rows have no answers, so nothing was measured that --record could write down")
    if config.record:
        loaded = checkpoint.load(config.checkpoint)
        told = {**loaded.record, "validation": figures}
        pretraining = config.what == "pretraining"
        names = Corpus.open(config.data).source_names if pretraining else [Path(config.data or config.what).name]
        told["measured_on"] = names
        if pretraining:
            told["cloze"] = [] if loaded.config.left_to_right else cloze.answer_clozes(loaded.model, loaded.tokenizer)
            told["evaluate_command"] = evaluation_command(config.limit or DEFAULT_PAIRS)
        if "null_threshold" in figures:
            told["null_threshold"] = figures["null_threshold"]
        checkpoint.write_record(loaded.path, told, render_card(loaded.name, told))
    if config.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:28} {value:,.4f}" if isinstance(value, float) else f"{name:28} {value:,}")
