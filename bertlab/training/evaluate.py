"""`bertlab evaluate`: compute the metrics of a checkpoint, or of predictions from a file."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, ClassVar

import torch
import tyro

from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError
from bertlab.config.limits import check_limits
from bertlab.config.tasks import TASKS
from bertlab.nn.replaced_tokens import ReplacedTokenModel
from bertlab.tasks import evaluation
from bertlab.tasks.inference import find_device
from bertlab.tasks.metrics import prefix_metrics
from bertlab.tasks.pretraining_objectives import TOKEN_OBJECTIVES, find_token_objective
from bertlab.tasks.replaced_tokens import DEFAULT_WEIGHT
from bertlab.tasks.task_flags import CUSTOM_TASK, TaskFlags, get_finetune_type
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.readers.invalid_rows import InvalidRowAction
from bertlab.training.devices import resolve_device
from bertlab.training.model_card import render_card
from bertlab.training.pretraining import cloze
from bertlab.training.pretraining.metrics import DEFAULT_PAIRS, evaluate_pretraining, format_evaluation_command
from bertlab.training.pretraining.setup import load_generator
from bertlab.training.progress import evaluation_bar

PRETRAINING = "pretraining"  # the value of TASK for evaluating the pre-training objectives
EVERYDAY = "everyday"  # the value of TASK for everyday sentences with a [MASK]


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig(TaskFlags):
    """Evaluate a checkpoint, or predictions from a file, on held-out data with the official metrics.

    Examples:
      bertlab evaluate pretraining --checkpoint strongest --data runs/validation
      bertlab evaluate everyday --checkpoint korean --split test
      bertlab evaluate sst2 --checkpoint runs/sst2 --data glue/sst2
      bertlab evaluate mnli --checkpoint runs/mnli --split test --out submission/
      bertlab evaluate custom --checkpoint runs/mine --data more.csv --out answers.csv
      bertlab evaluate squad --checkpoint squad --data squad/validation.parquet
      bertlab evaluate squad --predictions mine.json --data dev-v1.1.json
    """

    SECTIONS: ClassVar = {
        "custom task": tuple(each.name for each in fields(TaskFlags)),
        "predictions": ("predictions", "no_answer", "threshold"),
        "machine": ("device", "threads"),
    }
    """Headings in `--help`, each with the fields listed below it."""

    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK")] = field(kw_only=False)
    """A task that `bertlab finetune --help` lists; `pretraining` for masked tokens and sentence pairs; `everyday` for
    60 everyday sentences with a [MASK] (--split validation or test); or `custom` for your own rows. The default --type
    of a custom task is the type of the task that the checkpoint was fine-tuned on."""
    data: Annotated[str | None, tyro.conf.arg(metavar="PATH")] = None
    """For `pretraining`, a corpus made by `bertlab prepare`; otherwise the rows of the task: a file, a directory or a
    hub id. Default: the task's data set on the hub."""
    split: str = "validation"
    """Which split of a directory or hub data set to read. Rows without labels are predicted but not scored. A
    split of questions counts as unlabelled if none of its questions has an answer and none is marked as unanswerable
    (field `is_impossible`)."""
    checkpoint: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """The checkpoint to evaluate: a directory, the name of a shipped checkpoint, or a hub id."""
    predictions: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Predictions to score instead of a checkpoint. For question answering: a JSON object {id: text}, or rows with id
    and prediction_text. For tagging: lines with a token and its tag. For other tasks: a table with the columns index
    and prediction; for summaries, a prediction consists of the scores of all sentences of a document, separated by
    spaces."""
    no_answer: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """For SQuAD v2.0 predictions: a JSON object {id: score}; a higher score means that an answer is less likely."""
    threshold: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """For SQuAD v2.0: threshold tau. The prediction is "no answer" if the no-answer score exceeds the score of the best
    answer by more than tau (with --predictions: if the score in the --no-answer file exceeds tau). Default: the
    threshold of the checkpoint, or 0."""
    invalid: InvalidRowAction = "stop"
    """What to do about an invalid row: stop with an error, or skip the row and report it. Predictions for skipped rows
    are ignored."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write the predictions here, in the submission format of the task's benchmark (GLUE, SQuAD, ...) or, if the task
    belongs to no benchmark, in bertlab's own format. A PATH without a suffix is a directory, in which the file gets the
    name that the benchmark requires, or a default name."""
    limit: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of rows or pairs to read."""
    max_tokens: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of tokens in an input. Default: 128, or 384 for question answering, or the value used in
    fine-tuning if it is larger; for summarisation, always the value used in fine-tuning."""
    record: bool = False
    """Write the metrics into the checkpoint's bertlab.json and card. For SQuAD v2.0, also tune the no-answer threshold
    (tau) on these rows and store it. If the checkpoint was fine-tuned on another task, the metrics of that task stay,
    and the new ones are stored beside them."""
    device: str = "auto"
    """cpu or cuda; auto uses a GPU if one is available."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Number of CPU threads. Default: the number that PyTorch chooses, usually one for each core."""
    json: bool = False
    """Print one JSON object."""


def evaluate(config: EvaluateConfig) -> dict:
    """Compute the metrics of a checkpoint or of predictions from a file."""
    check_limits(config)
    if config.threads:
        torch.set_num_threads(config.threads)
    if (config.checkpoint is None) == (config.predictions is None):
        raise BertlabError("evaluate-needs-one-source")
    if config.task == EVERYDAY:
        return _evaluate_everyday(config)
    return _evaluate_pretraining(config) if config.task == PRETRAINING else _evaluate_task(config)


def _evaluate_task(config: EvaluateConfig) -> dict:
    record = checkpoint.read_record(config.checkpoint) if config.task == CUSTOM_TASK and config.checkpoint else {}
    spec = config.make_spec(config.task, record.get("task"))
    task_type = get_finetune_type(spec.kind)
    for flag, value in (("--threshold", config.threshold), ("--no-answer", config.no_answer)):
        if value is not None and not (spec.unanswerable or (flag == "--no-answer" and task_type.reads_windows)):
            raise BertlabError("flag-needs-unanswerable", flag=flag, task=config.task)
    options = evaluation.EvaluationOptions(
        source=config.data or spec.hub_id, is_user_data=bool(config.data), split=config.split, task=config.task,
        max_tokens=config.max_tokens, limit=config.limit, invalid=config.invalid, threshold=config.threshold,
        tune_threshold=config.record, no_answer=config.no_answer,
    )  # fmt: skip
    loaded = _load_checkpoint(config, task_type.head) if config.checkpoint else None
    metrics: dict = {}
    splits = evaluation.list_evaluation_splits(task_type, spec, options)
    for index, split in enumerate(splits):
        examples = evaluation.read_examples(task_type, spec, split, loaded, options)
        if not examples.is_labelled and not config.out:
            raise BertlabError("evaluate-rows-without-labels", name=examples.name)
        if loaded:
            progress = iter if config.json else evaluation_bar
            predictions = evaluation.predict(task_type, loaded, examples, options, progress)
        else:
            predictions = task_type.read_file(config.predictions, examples, options)
        if config.out:
            evaluation.write_predictions(task_type, config.out, split, len(splits), examples, predictions, options)
        row_count_only = {"questions" if task_type.reads_windows else "examples": len(examples)}
        split_metrics = task_type.score(examples, predictions) if examples.is_labelled else row_count_only
        metrics |= prefix_metrics(split_metrics, split, is_first=index == 0)
    return metrics


def _evaluate_pretraining(config: EvaluateConfig) -> dict:
    if config.checkpoint is None or config.data is None:
        raise BertlabError("evaluate-pretraining-needs-corpus")
    loaded = _load_checkpoint(config)
    model, token_objective = loaded.model, find_token_objective(loaded.heads)
    if TOKEN_OBJECTIVES[token_objective].has_generator:
        model = ReplacedTokenModel(model, load_generator(loaded).to(find_device(model)))
    # A left-to-right model predicts the next token with its MLM output layer, which `require_head` would reject.
    elif not (loaded.config.left_to_right and "mlm" in loaded.heads):
        model.require_head("mlm")
    corpus = Corpus.open(config.data)
    corpus.check_vocabulary(loaded.tokenizer, config.data, config.checkpoint)
    return evaluate_pretraining(
        model,
        loaded.tokenizer,
        corpus,
        max_pairs=config.limit or DEFAULT_PAIRS,
        max_tokens=config.max_tokens,
        pair_objective=loaded.pair_objective,
        token_objective=token_objective,
        replaced_weight=loaded.record.get("settings", {}).get("replaced_weight", DEFAULT_WEIGHT),
        progress=iter if config.json else evaluation_bar,
    )


def _evaluate_everyday(config: EvaluateConfig) -> dict:
    """Evaluate the predictions of a checkpoint for everyday sentences."""
    if config.checkpoint is None or config.split not in ("validation", "test"):
        raise BertlabError("evaluate-everyday-needs-checkpoint")
    loaded = _load_checkpoint(config, "mlm")
    return cloze.measure_everyday(loaded.model, loaded.tokenizer, config.split)


def _load_checkpoint(config: EvaluateConfig, *heads: str) -> checkpoint.Checkpoint:
    loaded = checkpoint.load(config.checkpoint)
    for head in heads:
        loaded.model.require_head(head)
    loaded.model.to(resolve_device(config.device))
    return loaded


def run(config: EvaluateConfig) -> None:
    """Evaluate, record the metrics if requested, and print them."""
    if config.record:
        if config.checkpoint is None:
            raise BertlabError("record-needs-checkpoint")
        if "made_by" not in checkpoint.read_record(config.checkpoint):
            raise BertlabError("record-needs-own-checkpoint", checkpoint=config.checkpoint)
    metrics = evaluate(config)
    if config.record:
        # Without labels, the metrics are only the number of rows.
        if all(name.endswith(("examples", "questions")) for name in metrics):
            raise BertlabError("record-needs-labels")
        _record_metrics(config, metrics)
    if config.json:
        print(json.dumps(metrics))
        return
    for name, value in metrics.items():
        print(f"{name:28} {value:,.4f}" if isinstance(value, float) else f"{name:28} {value:,}")


def _record_metrics(config: EvaluateConfig, metrics: dict) -> None:
    """Write the metrics into the record and model card; those of another task are stored beside its own."""
    loaded = checkpoint.load(config.checkpoint)
    if config.task == EVERYDAY:
        record = {**loaded.record, EVERYDAY: metrics}
        checkpoint.write_record(loaded.path, record, render_card(loaded.name, record))
        return
    own_tasks = [name for name in loaded.record.get("objectives", ()) if name in TASKS]
    if config.task in TASKS and own_tasks and config.task not in own_tasks:
        evaluation = {"metrics": metrics, "measured_on": Path(config.data or config.task).name}
        other_tasks = {**loaded.record.get("other_tasks", {}), config.task: evaluation}
        record = {**loaded.record, "other_tasks": other_tasks}
        checkpoint.write_record(loaded.path, record, render_card(loaded.name, record))
        return
    record = {**loaded.record, "validation": metrics}
    if config.task == PRETRAINING:
        record["measured_on"] = Corpus.open(config.data).source_names
        record["cloze"] = cloze.answer_clozes(loaded.model, loaded.tokenizer)
        record["evaluate_command"] = format_evaluation_command(config.limit or DEFAULT_PAIRS)
    else:
        record["measured_on"] = [Path(config.data or config.task).name]
    if "null_threshold" in metrics:
        record["null_threshold"] = metrics["null_threshold"]
    checkpoint.write_record(loaded.path, record, render_card(loaded.name, record))
