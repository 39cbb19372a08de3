"""`bertlab finetune`: fine-tune a checkpoint on the rows of a task.

A run is one directory, as in `bertlab pretrain`. Everything that depends on the type of the task is in `bertlab.tasks`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import tyro
from tqdm import tqdm

from bertlab.checkpoints import checkpoint, locate
from bertlab.config.errors import BertlabError
from bertlab.config.languages import Message
from bertlab.config.limits import find_differing_flags
from bertlab.tasks.distillation import add_teacher
from bertlab.tasks.task_flags import CUSTOM_TASK, TaskFlags, get_finetune_type, list_tasks, make_task_record
from bertlab.tasks.training_data import HELD_OUT_OF_TRAINING, TrainingData, TrainingOptions, read_training_data
from bertlab.text.readers.invalid_rows import InvalidRowAction
from bertlab.training import distributed
from bertlab.training.hyperparameter_search import format_results, search
from bertlab.training.model_card import render_card
from bertlab.training.optimizers import OptimConfig
from bertlab.training.progress import evaluation_bar, print_result, show_progress
from bertlab.training.run_directory import (
    CHECKPOINT,
    RunConfig,
    RunLog,
    is_finished,
    lock_run,
    make_run_record,
    open_run,
    prepare_machine,
    report_finished,
    report_resumed,
)
from bertlab.training.trainer import Batches, StepReport, Trainer

# The model is evaluated when these shares of a run are done, and once more at the end of the run.
EVALUATE_AT = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4)
EVALUATION_ROWS = 500  # the number of held-out rows in each evaluation except the final one


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig(TaskFlags, RunConfig):
    """Fine-tune a checkpoint on a task. Run the command again with the same --out to resume it.

    Examples:
      bertlab finetune sst2 --from strongest --out runs/sst2
      bertlab finetune mrpc --from strongest --data glue/mrpc --out runs/mrpc --seeds 3
      bertlab finetune custom --type classification --text-column review --label-column stars --data mine.csv \\
          --from strongest --out runs/mine
      bertlab finetune custom --type summarisation --data articles.jsonl --from strongest --out runs/summaries
      bertlab finetune rte --from strongest --out runs/rte --grid
      bertlab finetune sst2 --from runs/student --teacher sst2 --out runs/small-sst2
      bertlab finetune squad_v2 --from squad --data squad/train.parquet --make-unanswerable 0.5 --out runs/squad_v2
    """

    SECTIONS: ClassVar = {
        "data": ("data", "validation", "hold_out", "invalid"),
        "custom task": tuple(each.name for each in fields(TaskFlags)),
        "question-answering": ("stride", "make_unanswerable"),
        "sentence vectors": ("pooling",),
        "distillation": ("teacher", "teacher_share"),
        "search": ("seeds", "grid", "grid_rates", "grid_batches", "grid_epochs"),
        **RunConfig.SECTIONS,
    }
    """Headings in `--help`, each with the fields listed below it."""

    task: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(
            metavar="TASK",
            help=f"The task. {list_tasks()} The rows of story_qa and story_qa_ko come from `bertlab story-world "
            "questions`. Your own rows: custom, with --type and their columns.",
        ),
    ]
    from_: Annotated[str, tyro.conf.arg(name="from", metavar="CHECKPOINT")]
    """The checkpoint to start from: a directory, the name of a shipped checkpoint, or a hub id."""
    data: Annotated[str | None, tyro.conf.arg(metavar="PATH")] = None
    """The training rows: a file, a directory with train and validation files, or a hub id. Default: the task's data
    set on the hub."""
    validation: Annotated[str | None, tyro.conf.arg(metavar="PATH")] = None
    """The rows to evaluate on. Default: the validation rows of --data."""
    hold_out: float = 0.1
    """Share of the training rows to hold out for evaluation if there are no validation rows; 0 trains on all rows. Has
    no effect on question answering."""
    invalid: InvalidRowAction = "stop"
    """What to do about an invalid row: stop with an error, or skip the row and report it."""
    epochs: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Number of passes over the training rows. Default: 3, or 2 for question answering."""
    max_tokens: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of tokens in an input; longer texts are truncated. Default: 128; for question answering 384
    (question and passage window); for summarisation 512 (document window)."""
    stride: int = 128
    """For question answering: distance in tokens between the starts of neighbouring windows of a passage."""
    make_unanswerable: Annotated[float | None, tyro.conf.arg(metavar="SHARE")] = None
    """For squad_v2, if all training rows have answers: the number of unanswerable questions to generate, as a
    share of the number of rows, such as 0.5."""
    pooling: Literal["auto", "mean", "cls", "max"] = "auto"
    """For sentence vectors: how a vector is made from the hidden states of the tokens. mean is their mean, max their
    largest value in each dimension, and cls the hidden state of [CLS]. auto uses the pooling of the checkpoint, or mean
    if the checkpoint defines none. A comparison: `scratch`, fine-tuned on STS-B for four epochs, reached a
    Spearman correlation of 75.2 with mean, 68.8 with cls, and 58.7 with max."""
    teacher: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """For classification: also train on the predictions of a checkpoint that was fine-tuned on the task, and that has
    the same vocabulary and labels."""
    teacher_share: float = 0.5
    """With --teacher: weight of the cross-entropy against the teacher's probabilities, from 0 to 1. The weight of the
    usual loss, against the labels of the rows, is 1 minus this value."""
    dropout: float = 0.1
    """The dropout rate; 0 trains faster and gives similar results in runs of less than one epoch."""
    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=1e-4, warmup=0.1, beta2=0.999))
    """The optimiser and its learning rate."""
    seeds: int = 1
    """Number of runs, with the seeds --seed, --seed + 1 and so on. The mean and the standard deviation of the metrics
    are printed, and the checkpoint of the best run is kept."""
    grid: bool = False
    """Try the paper's grid (appendix A.3): learning rates 5e-5, 3e-5, 2e-5, batch sizes 16 and 32, and 2, 3 and
    4 epochs."""
    grid_rates: Annotated[tuple[float, ...], tyro.conf.arg(metavar="NUMBER ...")] = ()
    """Learning rates to try. With --grid, they replace the paper's."""
    grid_batches: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...")] = ()
    """Batch sizes to try. With --grid, they replace the paper's."""
    grid_epochs: Annotated[tuple[float, ...], tyro.conf.arg(metavar="NUMBER ...")] = ()
    """Numbers of epochs to try. With --grid, they replace the paper's."""

    @property
    def name(self) -> str:
        """The task, as written on the command line."""
        return f"{CUSTOM_TASK} --type {self.kind}" if self.task == CUSTOM_TASK else self.task

    @property
    def is_search(self) -> bool:
        """Whether the settings describe a search: several seeds, or any grid."""
        return self.grid or self.seeds > 1 or bool(self.grid_rates or self.grid_batches or self.grid_epochs)


@dataclass(frozen=True)
class Evaluation:
    """Metrics on held-out rows."""

    step: int  # the number of training steps before the evaluation
    seconds: float  # the training time so far, in seconds
    metrics: dict  # the task's metrics in percent
    is_final: bool
    """True after the last step, when all held-out rows are used; False during the run, when some of them are used."""


def read_data(config: FinetuneConfig) -> TrainingData:
    """Open the checkpoint of a run, and read and tokenise its rows."""
    prepare_machine(config)
    spec, loaded = config.make_spec(config.task), checkpoint.load(config.from_)
    if config.make_unanswerable is not None and not spec.unanswerable:
        raise BertlabError("flag-needs-unanswerable", flag="--make-unanswerable", task=config.task)
    task_type = get_finetune_type(spec.kind)
    if config.pooling != "auto" and task_type.make_sentence_settings is None:
        raise BertlabError("flag-needs-sentence-vectors", flag="--pooling", task=config.task)
    if config.teacher and not task_type.supports_teacher:
        raise BertlabError("flag-needs-classification", flag="--teacher", task=config.task)
    teacher_flags = find_differing_flags(config, FinetuneConfig, ("teacher_share",))
    if config.teacher is None and teacher_flags:
        raise BertlabError("teacher-flags-without-teacher", flags=teacher_flags)
    options = TrainingOptions(
        data=config.data, validation=config.validation, hold_out=config.hold_out, stride=config.stride,
        max_tokens=min(config.max_tokens or task_type.max_tokens, loaded.config.max_tokens),
        make_unanswerable=config.make_unanswerable, pooling=None if config.pooling == "auto" else config.pooling,
        invalid=config.invalid, seed=config.seed,
    )  # fmt: skip
    data = read_training_data(task_type, spec, loaded, options)
    return add_teacher(data, config.teacher, config.teacher_share) if config.teacher else data


def finetune(config: FinetuneConfig, data: TrainingData | None = None) -> Iterator[StepReport]:
    """Train, yielding a report after every step; the result is in `config.out`/checkpoint when the iterator ends.

    Raises:
        Diverged: the loss is not finite, or has risen and stays high.
    """
    return (report for report in run_with_evaluations(config, data) if isinstance(report, StepReport))


def run_with_evaluations(
    config: FinetuneConfig, data: TrainingData | None = None, notify: Callable[[str], None] = lambda line: None
) -> Iterator[StepReport | Evaluation]:
    """Train as `finetune` does, and also yield the evaluations during the run and at its end.

    A run that is already finished yields only its final evaluation. `notify` receives lines for a terminal.
    """
    data = data or read_data(config)
    prepare_machine(config)
    batches, steps_per_epoch = _open_batches(data, config.batch_size, config.seed)
    steps = max(1, round((config.epochs or data.task_type.epochs) * steps_per_epoch))
    model = data.make_model(config.dropout)
    # A model that `data.build_model` made is not saved as a checkpoint, so its final evaluation must be computed again.
    saves_checkpoint, is_main = data.build_model is None, distributed.is_main_process()
    with open_run(config, model, batches, data.loss, steps, data.fingerprint) as (trainer, log):
        if data.teacher:
            data.teacher.to(trainer.device, trainer.optimizer.dtype)
        if saves_checkpoint and is_finished(config, trainer):
            report_finished(config, trainer, config.task, notify)
            distributed.leave_process_group()
            metrics = checkpoint.read_record(config.out / CHECKPOINT)["validation"]
            if metrics and is_main:
                yield Evaluation(trainer.progress.step, trainer.progress.seconds, metrics, is_final=True)
            return
        report_resumed(config, trainer, notify)
        if is_main:
            _report_held_out_rows(data, notify)
        yield from _train(data, trainer, log)
        distributed.leave_process_group()
        if not is_main:
            return
        metrics = {}
        if data.measure:
            evaluation = _evaluate(data, trainer, log, is_final=True)
            metrics = evaluation.metrics
            yield evaluation
        if saves_checkpoint:
            _save(config, data, trainer, round(trainer.progress.step / steps_per_epoch, 3), metrics)


def _open_batches(data: TrainingData, batch_size: int, seed: int) -> tuple[Batches, int]:
    """Open this process's shard of the batches; also return the number of batches in an epoch."""
    batches = data.make_batches(batch_size, seed, distributed.data_shard())
    return batches, len(batches)


def _train(data: TrainingData, trainer: Trainer, log: RunLog) -> Iterator[StepReport | Evaluation]:
    """Train to the end of the run, and evaluate on some held-out rows after each share of the run in `EVALUATE_AT`."""
    remaining_shares = None
    with trainer.save_on_interrupt():
        for report in trainer:
            log.write(report.make_log_row())
            yield report
            if remaining_shares is None:  # a resumed run does not repeat its earlier evaluations
                remaining_shares = [share for share in EVALUATE_AT if share > report.progress]
            if data.measure and remaining_shares and report.progress >= remaining_shares[0]:
                remaining_shares = [share for share in remaining_shares if share > report.progress]
                if distributed.is_main_process():
                    yield _evaluate(data, trainer, log)


def _report_held_out_rows(data: TrainingData, notify: Callable[[str], None]) -> None:
    """Report how many training rows are held out for evaluation, if there is no validation split."""
    if HELD_OUT_OF_TRAINING in data.facts.get("measured_on", ()):
        held_out, rows = data.facts["held_out"], data.facts["held_out"] + data.facts["examples"]
        notify(str(Message("finetune-rows-held-out", held_out=held_out, rows=rows)))


def _evaluate(data: TrainingData, trainer: Trainer, log: RunLog, is_final: bool = False) -> Evaluation:
    if is_final:
        metrics = data.measure(trainer.optimizer.final_model, None, evaluation_bar)
    else:
        metrics = data.measure(trainer.optimizer.evaluation_model, EVALUATION_ROWS, iter)
    progress = trainer.progress
    log.write({"step": progress.step, "tokens": progress.tokens, "validation": metrics})
    return Evaluation(progress.step, progress.seconds, metrics, is_final)


def _save(config: FinetuneConfig, data: TrainingData, trainer: Trainer, epochs: float, metrics: dict) -> None:
    settings = {"max_tokens": data.options.max_tokens, "dropout": config.dropout}
    if config.teacher:
        settings |= {"teacher": locate.make_display_name(config.teacher), "teacher_share": config.teacher_share}
    record = make_run_record(
        config,
        trainer,
        command=f"bertlab finetune {config.name}",
        data=[Path(config.data or data.spec.hub_id).name],
        epochs=epochs,
        objectives=[config.task],
        task=make_task_record(data.spec),
        settings=settings | data.task_type.collect_settings(data.spec, data.options),
        made_unanswerable=config.make_unanswerable,
        null_threshold=metrics.get("null_threshold"),
        validation=metrics,
        evaluate_command=f"bertlab evaluate {config.task} --checkpoint CHECKPOINT --data VALIDATION",
        **{"from": data.loaded.name},
        **data.facts,
    )
    card = render_card(config.out.name, record)
    make_settings = data.task_type.make_sentence_settings
    checkpoint.save(
        config.out / CHECKPOINT, trainer.optimizer.final_model, data.loaded.tokenizer, record, card=card,
        sentence_settings=make_settings(data.options) if make_settings else None,
    )  # fmt: skip


def run(config: FinetuneConfig) -> None:
    """Train with a progress bar and a table of the evaluations, then print the final metrics."""
    data = read_data(config)
    if not config.is_search:
        reports = run_with_evaluations(config, data, tqdm.write)
        show_progress(print_evaluations(reports), *data.task_type.progress_metric)
        print_result(config.out / CHECKPOINT, decimals=2)
        return
    metric, results = data.spec.metrics[0], []
    with lock_run(config.out):
        for index, total, run_config, reports in search(config, data, results, run_with_evaluations):
            print(f"run {index} of {total}: {run_config.out.name}", flush=True)
            show_progress(print_evaluations(reports), *data.task_type.progress_metric)
    print("\n".join(format_results(results, metric)))
    print(f"{config.out / CHECKPOINT}: the best of {len(results)} runs by {metric} on the held-out rows")


def print_evaluations(reports: Iterable[StepReport | Evaluation]) -> Iterator[StepReport]:
    """Yield only the step reports; print up to six metrics of each evaluation as a table row above the progress bar."""
    columns: list[str] = []
    for report in reports:
        if isinstance(report, StepReport):
            yield report
            continue
        # Numbers of questions ("total", "missing") are not printed.
        names = [name for name in report.metrics if name.rpartition("_")[2] != "total" and name != "missing"][:6]
        if not columns:
            columns = names
            tqdm.write("  ".join([f"{'step':>8}", f"{'minutes':>8}", *(f"{name:>12}" for name in columns)]))
        values = [(report.metrics.get(name, 0), max(12, len(name))) for name in columns]
        cells = [f"{v:{width},.2f}" if isinstance(v, float) else f"{v:{width},}" for v, width in values]
        tqdm.write("  ".join([f"{report.step:8,}", f"{report.seconds / 60:8.1f}", *cells]))
