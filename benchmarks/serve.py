"""`bertlab bench serve`: how optimisations speed up text classification on a CPU, and what they cost in accuracy."""

from dataclasses import asdict, dataclass
from datetime import date
from typing import Annotated, Literal

import torch
import transformers
import tyro

from benchmarks.harness import BenchOptions, describe_load, report
from benchmarks.results import Result, find_current_commit, read_command_line
from benchmarks.serve_steps import StepSettings, make_step_result, measure_speed, open_steps, repeat_texts
from bertlab.abilities.cost.serving_figures import name_step
from bertlab.abilities.cost.serving_rows import (
    COMPARED_STEP,
    PEERS,
    PUBLISHED,
    STEPS,
    ServingRun,
    append_run,
)
from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.config.errors import BertlabError, CheckpointError
from bertlab.config.tasks import get_task
from bertlab.config.text_table import format_table
from bertlab.nn.onnx_model import OnnxBert
from bertlab.serving.dispatcher import count_cores
from bertlab.tasks import evaluation
from bertlab.tasks.examples import Examples
from bertlab.tasks.task_flags import get_finetune_type
from bertlab.training.devices import describe_hardware

TARGET = 30  # the throughput of the step `COMPARED_STEP`, divided by that of the first step, should be at least this


@dataclass(frozen=True)
class ServeBenchConfig(BenchOptions):
    """Measure how much each optimisation speeds up text classification on a CPU, and what it costs in accuracy.

    The first configuration is a BERT of base size (12 layers, hidden size 768) in PyTorch, which pads every text to the
    same length and uses all cores. Each further configuration adds one change: a small checkpoint, padding only to the
    longest text of a batch of similar lengths, ONNX Runtime, int8 weights, one single-threaded worker process per core,
    and a cache of repeated texts. Throughput, latency and accuracy are measured for every configuration. For
    comparison, a peer is measured: transformers with ONNX Runtime, used as the documentation of transformers
    recommends.

    The texts are the validation rows of the task. Throughput is measured with all texts sent at the start, latency
    with one text sent at a time; both include the tokenisation. The model of base size has random weights, which need
    the same time as trained ones. With --base, a fine-tuned checkpoint takes its place, and its accuracy is measured
    too.

    The rounding of int8 depends slightly on the batch. Therefore `bertlab serve` predicts one text at a time
    with an int8 file; here, --batch-size 1 does the same.

    Needs: pip install "bertlab[onnx]" transformers

    Examples:
      bertlab bench serve sst2 --data glue/sst2
      bertlab bench serve nsmc --data korean/nsmc --rows 2000
      bertlab bench serve sst2 --data glue/sst2 --base textattack/bert-base-uncased-SST-2 --small runs/small
    """

    task: tyro.conf.Positional[Literal["sst2", "nsmc"]]
    """The task whose texts are classified."""
    data: Annotated[str | None, tyro.conf.arg(metavar="PATH")] = None
    """The validation rows: a file, a directory or a hub id. Default: the task's data on the hub."""
    small: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """The small checkpoint that replaces the model of base size. Default: the shipped checkpoint of the task."""
    base: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """The checkpoint of the first configuration, fine-tuned on the task. Default: random weights of BERT's base
    size."""
    rows: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """The number of rows on which accuracy is measured. Default: all."""
    texts: int = 256
    """The number of texts for the measurement of speed, evenly chosen from the rows."""
    batch_size: int = 8
    """Maximum number of texts in a batch."""
    max_tokens: int = 128
    """The length to which the first two configurations pad every text."""
    repeated: float = 0.3
    """The share of requests that repeat an earlier text, for the configuration with a cache. It is an assumption:
    measure it in the requests of your own service."""
    rounds: int = 5
    """Number of rounds; each configuration runs once in every round."""
    seconds: float = 2.0
    """Minimum time in seconds for which each configuration classifies the texts, over and over, in every round."""


def measure(config: ServeBenchConfig) -> ServingRun:
    """Measure all steps and peers."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    load = describe_load()
    student = checkpoint.load(config.small or config.task)
    examples = read_examples(config, student)
    base = checkpoint.load(config.base) if config.base else None
    for loaded in filter(None, (student, base)):
        check_checkpoint(loaded, examples)
    texts = [row.texts[0] for row in examples.rows]
    timed_texts = texts[:: max(1, len(texts) // config.texts)][: config.texts]
    tokens = student.tokenizer.encode_ids(timed_texts)  # without [CLS] and [SEP]
    settings = StepSettings(config.batch_size, config.max_tokens, count_cores())
    requests = dict.fromkeys((*STEPS, *PEERS), timed_texts) | {"cache": repeat_texts(timed_texts, config.repeated)}
    with open_steps(student, base, settings) as classifiers:
        speeds = measure_speed(classifiers, requests, config.rounds, config.seconds, quiet=config.json)
        names_with_accuracy = [name for name in classifiers if base is not None or name not in ("base", "peer-base")]
        predictions = {name: classifiers[name].classify(texts) for name in names_with_accuracy}
    return ServingRun(
        task=config.task, student=student.name,
        student_size=(student.config.num_layers, student.config.hidden_size), base=base and base.name,
        rows=len(texts), texts=len(timed_texts), mean_tokens=round(sum(map(len, tokens)) / len(tokens) + 2, 1),
        max_tokens=config.max_tokens, batch_size=config.batch_size, repeated=config.repeated,
        repeated_rows=round(1 - len(set(texts)) / len(texts), 4), cores=settings.cores, rounds=config.rounds,
        hardware=f"{describe_hardware(torch.device('cpu'))}, {load}",
        command=read_command_line(), commit=find_current_commit(), date=date.today().isoformat(),
        steps=tuple(
            make_step_result(name, speeds[name], [row.target for row in examples.rows], predictions.get(name),
                             None if name in ("base", "peer-base") else predictions["student"])
            for name in classifiers
        ),
    )  # fmt: skip


def read_examples(config: ServeBenchConfig, student: Checkpoint) -> Examples:
    """Read the validation rows of the task, and skip invalid rows."""
    spec = get_task(config.task)
    task_type = get_finetune_type(spec.kind)
    options = evaluation.EvaluationOptions(
        source=config.data or spec.hub_id, is_user_data=bool(config.data), split="validation", task=config.task,
        limit=config.rows, invalid="skip",
    )  # fmt: skip
    split = evaluation.list_evaluation_splits(task_type, spec, options)[0]
    examples = evaluation.read_examples(task_type, spec, split, student, options)
    if not examples.is_labelled:
        raise BertlabError("evaluate-rows-without-labels", name=examples.name)
    return examples


def check_checkpoint(loaded: Checkpoint, examples: Examples) -> None:
    """Check that a checkpoint can be measured."""
    if isinstance(loaded.model, OnnxBert):
        raise CheckpointError("onnx-already", name=loaded.name)
    loaded.model.require_head("classify")
    if loaded.config.labels != examples.labels:
        raise BertlabError(
            "compress-labels-differ", labels=list(loaded.config.labels), task_labels=list(examples.labels)
        )


def format_run(run: ServingRun) -> list[str]:
    """Format a run as a table with a row for each step, and notes."""
    rows = [("", "texts/s", "times faster", "p50 ms", "p95 ms", "accuracy", "changed labels")]
    for step in run.steps:
        accuracy = "" if step.accuracy is None else f"{step.accuracy:.2f}"
        changed = "" if step.changed is None else f"{step.changed:,}"
        rows.append((
            name_step(step.name), f"{step.texts_per_second:,.1f}", f"{run.times_faster(step.name):.1f}",
            f"{step.p50_ms:.2f}", f"{step.p95_ms:.2f}", accuracy, changed,
        ))  # fmt: skip
    notes = [
        "",
        f"Accuracy on {run.rows:,} rows, speed on {run.texts:,} texts of {run.mean_tokens} tokens on average; "
        f"{run.cores} cores.",
        f"Cache: {run.repeated:.0%} of the requests repeat an earlier one; of the rows, {run.repeated_rows:.1%} do.",
    ]
    if run.base is None:
        notes.append(
            "Base size has random weights, so only its speed is measured. Published accuracy: "
            f"{PUBLISHED[run.task].percent} ({PUBLISHED[run.task].title})."
        )
    return [*format_table(rows, "<>>>>>>"), *notes]


def run(config: ServeBenchConfig) -> None:
    """Measure, print the table, and record the run if `--record` is given."""
    result = measure(config)
    if config.record:
        append_run(result)
    if not config.json:
        print("\n".join(format_run(result)))
    report(asdict(result) if config.json else {}, [make_result(result)], config)


def make_result(run: ServingRun) -> Result:
    """Make the row of BENCHMARKS.md: the throughput of the step `COMPARED_STEP`, divided by that of the first step."""
    layers, hidden = run.student_size
    accuracy = run.find(COMPARED_STEP).accuracy
    published = "" if run.base else f" (published accuracy {PUBLISHED[run.task].percent})"
    return Result(
        f"Serving: {run.task} ({layers} x {hidden}), int8 in ONNX Runtime, a worker for each core, texts/s",
        round(run.times_faster(COMPARED_STEP), 1), "x", n=run.rounds, target=TARGET, hardware=run.hardware,
        peer=f"base size, PyTorch, padded{published}; accuracy {accuracy:.2f}, {-run.points_lost:+.2f} points by int8",
    )  # fmt: skip
