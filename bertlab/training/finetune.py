"""`bertlab finetune`: a checkpoint + a task's rows -> a checkpoint that does the task.

A run is one directory, as in `bertlab pretrain`. Knows rows of tasks, not their stories.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, ClassVar

import tyro
from tqdm import tqdm

from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError
from bertlab.tasks.custom import OWN, Columns, TaskName, noted
from bertlab.tasks.material import DRAWN, SHOWN, Material, labelled_material, span_material
from bertlab.text.readers.invalid_rows import InvalidRowAction
from bertlab.training import distributed
from bertlab.training.model_card import render_card
from bertlab.training.optimizers import OptimConfig
from bertlab.training.progress import evaluation_bar, show_progress
from bertlab.training.run_directory import (
    RunConfig,
    is_finished,
    open_run,
    prepare_machine,
    report_finished,
    report_resumed,
    run_record,
)
from bertlab.training.trainer import StepReport

EARLY = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4)  # shares of a run after which some held-out rows are measured
EARLY_ROWS = 500


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig(Columns, RunConfig):
    """Fine-tune a checkpoint on a task. Run again with the same --out, it goes on.

    Examples:
      bertlab finetune sst2 --from strongest --out runs/sst2
      bertlab finetune mrpc --from strongest --data glue/mrpc --out runs/mrpc --seeds 3
      bertlab finetune own --kind classify --text-column review --label-column stars --data mine.csv \\
          --from strongest --out runs/mine
      bertlab finetune rte --from strongest --out runs/rte --grid
      bertlab finetune squad_v2 --from squad --data squad/train.parquet --make-unanswerable 0.5 --out runs/squad_v2
    """

    SECTIONS: ClassVar = {
        "rows": ("data", "validation", "hold_out", "invalid"),
        "own task": tuple(each.name for each in fields(Columns)),
        "question": ("stride", "make_unanswerable"),
        "again": ("seeds", "grid", "grid_rates", "grid_batches", "grid_epochs"),
        **RunConfig.SECTIONS,
    }

    task: Annotated[tyro.conf.Positional[TaskName], tyro.conf.arg(metavar="TASK")]
    """What to learn. A label of one text: sst2, cola, nsmc; of two: mnli, qqp, qnli, mrpc, rte, klue_nli. A value of
    two texts: stsb, klue_sts. An answer in a passage: squad, squad_v2, korquad, klue_mrc. Which text goes on, or makes
    sense: swag, comve. The names in a text: conll2003, wnut17, wikiann_en, klue_ner. Your own rows: own, with --kind
    and their columns."""
    from_: Annotated[str, tyro.conf.arg(name="from", metavar="CHECKPOINT")]
    """The checkpoint to start from: a directory, a shipped name or a hub id."""
    data: Annotated[str | None, tyro.conf.arg(metavar="PATH")] = None
    """The training rows: a file, a directory with train and validation files, or a hub id; the task's if not given."""
    validation: Annotated[str | None, tyro.conf.arg(metavar="PATH")] = None
    """Held-out rows to measure, if not those beside --data."""
    hold_out: float = 0.1
    """Without any held-out rows, this share of the training rows is held out; 0 for none. Not for questions."""
    invalid: Annotated[InvalidRowAction, tyro.conf.arg(aliases=("--damaged",))] = "stop"
    """What to do about an invalid row: stop, or leave it out and name it."""
    epochs: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Times to go through the data; 3, or 2 for questions, if not given."""
    max_tokens: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Tokens of an input; longer texts are cut. 128, or 384 for a question and a window of its passage."""
    stride: int = 128
    """For questions: how far each window begins after the one before."""
    make_unanswerable: Annotated[float | None, tyro.conf.arg(metavar="SHARE")] = None
    """For squad_v2 out of rows that all have answers: this many made questions without answer for each."""
    dropout: float = 0.1
    """0 is faster, and as good for less than an epoch."""
    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=1e-4, warmup=0.1, beta2=0.999))
    seeds: int = 1
    """Train this many times, with --seed and the numbers after it; mean and spread are told, the best is kept."""
    grid: bool = False
    """Try the paper's grid (appendix A.3): rates 5e-5, 3e-5, 2e-5, batches of 16 and 32, 2, 3 and 4 epochs."""
    grid_rates: Annotated[tuple[float, ...], tyro.conf.arg(metavar="NUMBER ...")] = ()
    """Try these learning rates."""
    grid_batches: Annotated[tuple[int, ...], tyro.conf.arg(metavar="INT ...")] = ()
    """Try these batch sizes."""
    grid_epochs: Annotated[tuple[float, ...], tyro.conf.arg(metavar="NUMBER ...")] = ()
    """Try these numbers of epochs."""

    @property
    def name(self) -> str:
        """The task as the command line says it."""
        return self.task if self.task != OWN else f"{OWN} --kind {self.kind}"


@dataclass(frozen=True)
class Measured:
    """Figures on held-out rows, on the way (some of the rows) or at the end (all of them)."""

    step: int
    seconds: float
    figures: dict
    final: bool


def gather(config: FinetuneConfig) -> Material:
    """Read and tokenise what the run is made of.

    Raises:
        BertlabError: data that is not the task's, or a checkpoint that cannot be opened.
    """
    prepare_machine(config)
    spec, loaded = config.spec(config.task), checkpoint.load(config.from_)
    max_tokens = min(config.max_tokens or spec.max_tokens, loaded.config.max_positions)
    if spec.kind == "span":
        return span_material(
            spec, loaded, data=config.data, validation=config.validation, max_tokens=max_tokens, stride=config.stride,
            make_unanswerable=config.make_unanswerable, invalid=config.invalid, seed=config.seed,
        )  # fmt: skip
    if config.make_unanswerable is not None:
        raise BertlabError(f"{config.task} has no questions: --make-unanswerable is for squad_v2")
    return labelled_material(
        spec, loaded, data=config.data, validation=config.validation, max_tokens=max_tokens, hold_out=config.hold_out,
        invalid=config.invalid, seed=config.seed,
    )  # fmt: skip


def finetune(config: FinetuneConfig, material: Material | None = None) -> Iterator[StepReport]:
    """Train, yielding a report a step; the result is in `config.out`/checkpoint when the iterator ends.

    Args:
        material: what `gather` gave, if the caller has it already.

    Raises:
        BertlabError: data that is not the task's, a directory of another run, a loss that is no number, or the run is
            under way in another process.
    """
    return (report for report in measured_run(config, material) if isinstance(report, StepReport))


def measured_run(
    config: FinetuneConfig, material: Material | None = None, tell: Callable[[str], None] = lambda line: None
) -> Iterator[StepReport | Measured]:
    """`finetune`, also yielding what is measured on the way and at the end; of a run that was finished before, what
    was measured then.

    Args:
        tell: takes the line that says that the run was finished before.
    """
    with ExitStack() as held:
        yield from _measured_run(config, material or gather(config), tell, held)


def _measured_run(
    config: FinetuneConfig, material: Material, tell: Callable[[str], None], held: ExitStack
) -> Iterator[StepReport | Measured]:
    prepare_machine(config)
    spec, loaded, measure = material.spec, material.loaded, material.measure
    batches = material.batches(config.batch_size, config.seed)
    steps = max(1, round((config.epochs or spec.epochs) * len(batches)))
    model = material.model(config.dropout)
    trainer, log = open_run(config, model, batches, material.loss, steps, material.made_of, held)
    if material.build is None and is_finished(config, trainer):
        report_finished(config, trainer, config.task, tell)
        distributed.leave()
        figures = checkpoint.read_record(config.out / "checkpoint")["validation"]
        if figures and distributed.is_main_process():
            yield Measured(trainer.progress.step, trainer.progress.seconds, figures, final=True)
        return

    report_resumed(config, trainer, tell)
    if distributed.is_main_process() and DRAWN in material.facts.get("measured_on", ()):
        told, whole = material.facts["held_out"], material.facts["held_out"] + material.facts["examples"]
        tell(f"no held-out rows were named: {told:,} of the {whole:,} are measured, not learnt (--hold-out)")

    def measured(model, limit: int | None, progress) -> Measured:
        found = Measured(
            trainer.progress.step, trainer.progress.seconds, measure(model, limit, progress), limit is None
        )
        log.write({"step": found.step, "tokens": trainer.progress.tokens, "validation": found.figures})
        return found

    marks = None
    with trainer.saving_on_interrupt():
        for report in trainer:
            log.write(report.log_row())
            yield report
            # a run that goes on does not measure again what it has measured
            marks = [mark for mark in EARLY if mark > report.progress] if marks is None else marks
            if measure and marks and report.progress >= marks[0]:
                marks = [mark for mark in marks if mark > report.progress]
                if distributed.is_main_process():
                    yield measured(trainer.optimizer.evaluation_model, EARLY_ROWS, iter)
    distributed.leave()
    if not distributed.is_main_process():
        return
    figures = {}
    if measure:
        last = measured(trainer.optimizer.final_model, None, evaluation_bar)
        figures = last.figures
        yield last
    if material.build is not None:
        return
    told = run_record(
        config,
        trainer,
        command=f"bertlab finetune {config.name}",
        data=[Path(config.data or spec.hub_id).name],
        epochs=round(trainer.progress.step / len(batches), 3),
        objectives=[config.task],
        task=noted(spec),
        settings=_settings(config, material),
        made_unanswerable=config.make_unanswerable,
        null_threshold=figures.get("null_threshold"),
        validation=figures,
        evaluate_command=f"bertlab evaluate {config.task} --checkpoint CHECKPOINT --data VALIDATION",
        **{"from": loaded.name},
        **material.facts,
    )
    checkpoint.save(
        config.out / "checkpoint",
        trainer.optimizer.final_model,
        loaded.tokenizer,
        told,
        card=render_card(config.out.name, told),
    )


def _settings(config: FinetuneConfig, material: Material) -> dict:
    """Those worth telling of this kind of task."""
    spec = material.spec
    settings = {"max_tokens": material.max_tokens, "dropout": config.dropout}
    if spec.kind == "span":
        settings["stride"] = config.stride
    return settings | ({"unit": spec.unit} if spec.kind == "tag" else {})


def run(config: FinetuneConfig) -> None:
    """Train with a progress bar and a table of what is measured; prints what was reached and where it lies."""
    from bertlab.training import hyperparameter_search as grid

    if grid.wanted(config):
        grid.run(config)
        return
    material = gather(config)
    show_progress(tabled(measured_run(config, material, tqdm.write)), *SHOWN[material.spec.kind])
    if not distributed.is_main_process():
        return
    record = json.loads((config.out / "checkpoint" / "bertlab.json").read_text())
    print(f"{config.out / 'checkpoint'}: {record['steps']:,} steps, {record['tokens']:,} tokens")
    for name, value in record["validation"].items():
        print(f"  {name:20} {value:,.2f}" if isinstance(value, float) else f"  {name:20} {value:,}")


def tabled(reports: Iterable[StepReport | Measured]) -> Iterator[StepReport]:
    """The steps alone; what is measured is printed as a row of a table, above the bar."""
    columns: list[str] = []
    for report in reports:
        if isinstance(report, StepReport):
            yield report
            continue
        shown = [name for name in report.figures if name.rpartition("_")[2] != "total" and name != "missing"][:6]
        if not columns:
            columns = shown
            tqdm.write("  ".join([f"{'step':>8}", f"{'minutes':>8}", *(f"{name:>12}" for name in columns)]))
        values = [(report.figures.get(name, 0), max(12, len(name))) for name in columns]
        cells = [f"{v:{width},.2f}" if isinstance(v, float) else f"{v:{width},}" for v, width in values]
        tqdm.write("  ".join([f"{report.step:8,}", f"{report.seconds / 60:8.1f}", *cells]))
