"""The paper's ablations, run: rows of `ablations.TABLES` through `pretrain` and `finetune`, cell by cell.

A cell is one figure of one seed. What is finished lies as a small JSON file in its place and is not done again; what
was cut off goes on as any run does. Knows no picture.
"""

import json
import math
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import tyro

from bertlab.checkpoints import checkpoint, locate
from bertlab.config.errors import BertlabError
from bertlab.config.files import write_atomically
from bertlab.config.limits import check_limits
from bertlab.config.renamed_keys import OPTIMIZER_KEYS, rename_keys
from bertlab.config.tasks import TASKS, task
from bertlab.nn.bilstm import OnTop
from bertlab.tasks.registry import TASK_TYPES
from bertlab.tasks.training_data import TrainingData, add_task_head
from bertlab.text.pretraining.corpus import Corpus
from bertlab.text.readers.splits import find_split
from bertlab.training.finetune import Evaluation, FinetuneConfig, read_data, run_with_evaluations
from bertlab.training.optimizers import OptimConfig
from bertlab.training.paper.ablations import TABLES, Column, Row
from bertlab.training.pretraining.config import Preset, PretrainConfig
from bertlab.training.pretraining.pretrain import pretrain
from bertlab.training.pretraining.recipes import fast

FREE = {"out", "seeds", "columns", "rows", "threads", "json"}  # may differ when a table goes on
FAST = fast(Path(), Path()).optim
FINETUNE_RATE, LSTM_RATE = 3e-4, 1e-3
EntityTask = Literal[tuple(name for name, row in TASKS.items() if row.kind == "tagging")]


@dataclass(frozen=True, kw_only=True)
class ReproduceConfig:
    """Reproduce an ablation of the paper, scaled down to two CPU cores. The same command continues an interrupted run.

    table5: next-sentence prediction, left-to-right, + BiLSTM. table6: the size of the model. table7: features of a
    frozen encoder. table8: what replaces a masked token.

    Examples:
      bertlab reproduce table5 --corpus runs/corpus --data tasks --out runs/table5 --minutes 10
      bertlab reproduce table7 --data tasks --out runs/table7 --from strongest --ner wnut17 --epochs 3
      bertlab reproduce table8 --corpus runs/corpus --data tasks --out runs/table8 --steps 3000 --seeds 3
    """

    table: tyro.conf.Positional[Literal[tuple(TABLES)]]
    """Which table of the paper."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """Directory of the runs and results."""
    corpus: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A corpus made by `bertlab prepare`, to pre-train on."""
    validation: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A prepared corpus of held-out text; table6 measures perplexity on it; without it, that column
    is left out."""
    data: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A directory that contains a directory for each task (mrpc, sst2, squad, wikiann_en), at any depth. Default: the
    tasks' data on the hub."""
    from_: Annotated[str, tyro.conf.arg(name="from", metavar="CHECKPOINT")] = "strongest"
    """For table7: the encoder."""
    preset: Preset = "tiny"
    """Size of the pre-trained models; table6 has its own sizes."""
    minutes: Annotated[float, tyro.conf.arg(metavar="NUMBER")] = 10.0
    """Maximum time of each pre-training or fine-tuning run."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Steps of each pre-training run, instead of a time limit: fairer if other programs use the machine."""
    epochs: Annotated[float | None, tyro.conf.arg(metavar="NUMBER")] = None
    """Epochs of each fine-tuning run; the task's own number by default."""
    max_tokens: int = 128
    """Maximum number of tokens of an input or a pair; questions have their own."""
    batch_size: int = 16
    """Pairs or inputs per step."""
    optim: OptimConfig = FAST
    """Optimiser of the pre-training."""
    lstm_width: int = 128
    """Width of the BiLSTMs in each direction; 384 in the paper."""
    ner: EntityTask = "wikiann_en"
    """The entity task to use instead of the paper's CoNLL-2003."""
    seeds: int = 1
    """Number of seeds; the table shows mean and spread."""
    columns: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ()
    """Only these columns (table5: mrpc sst2 squad, and, only if named, ner; table6: perplexity mrpc sst2; table7: ner
    ner-frozen; table8: sst2 ner ner-frozen)."""
    rows: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ()
    """Only these rows, by the names of their directories in --out."""
    device: str = "auto"
    """cpu or cuda; auto takes a GPU if there is one."""
    threads: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """CPU threads; all of them if not given."""
    json: bool = False
    """Print the result as one JSON object."""


@dataclass(frozen=True)
class Cell:
    """One figure: of a row, a column and a seed."""

    row: str
    column: str
    seed: int


@dataclass(frozen=True)
class Moment:
    """Where the table stands. done: cells, of `total`, the one at work in part."""

    cell: Cell
    doing: str
    done: float
    total: int


def reproduce(config: ReproduceConfig) -> Iterator[Moment]:
    """Train and measure what is not finished yet, yielding as it goes; `result` reads what came out.

    Raises:
        BertlabError: data that is not there (said before anything is trained), or a directory of another table.
    """
    wanted = cells(config)
    sources = _check(config, wanted)
    _claim(config)
    table, materials = TABLES[config.table], {}
    for number, cell in enumerate(wanted):
        if _place(config, cell).is_file():
            continue
        row, column = table.rows[cell.row], table.columns[cell.column]
        told = partial(Moment, cell, total=len(wanted))
        origin, begun = config.from_, number + 0.5 * bool(table.pretrainings)
        if table.pretrainings:
            own = _pretraining(config, row, cell.seed)
            if not (own.out / "checkpoint" / "bertlab.json").is_file():
                share = 1.0 if column.way == "pretrain" else 0.5
                for report in pretrain(own):
                    yield told("pre-training", number + share * report.progress)
            (own.out / "state.safetensors").unlink(missing_ok=True)
            origin = str(own.out / "checkpoint")
        if column.way == "pretrain":
            figures = json.loads((Path(origin) / "bertlab.json").read_text())["validation"]
            found = {"value": math.exp(figures["mlm_loss"]), "figures": figures}
        else:
            name = _task(config, column)
            settings = _finetuning(config, cell, origin, sources[name])
            if name not in materials:
                yield told(f"reading {name}", begun)
                materials[name] = read_data(settings)
            material = _on(materials[name], origin, row, column, config.lstm_width)
            last = None
            for report in run_with_evaluations(settings, material):
                last = report
                if not isinstance(report, Evaluation):
                    yield told("fine-tuning", begun + (number + 1 - begun) * report.progress)
            metric = column.metric or material.spec.metrics[0]
            found = {"value": last.metrics[metric], "metric": metric, "figures": last.metrics, "steps": last.step}
            found |= {"minutes": round(last.seconds / 60, 2)}
            (settings.out / "state.safetensors").unlink(missing_ok=True)
        _write(_place(config, cell), asdict(cell) | {"task": _task(config, column)} | found)
        yield told("done", number + 1)


def cells(config: ReproduceConfig) -> list[Cell]:
    """All that the table is made of, the first seed's before the next.

    Raises:
        BertlabError: no such row or column, or settings that cannot be.
    """
    table = TABLES[config.table]
    for id, asked, there in (
        ("reproduce-row-unknown", config.rows, table.rows),
        ("reproduce-column-unknown", config.columns, table.columns),
    ):
        if unknown := [name for name in asked if name not in there]:
            raise BertlabError(id, table=config.table, name=unknown[0], names=list(there))
    check_limits(config)
    columns = config.columns or tuple(
        name
        for name, column in table.columns.items()
        if not column.optional and (column.way != "pretrain" or config.validation)
    )
    return [
        Cell(name, column, seed)
        for seed in range(config.seeds)
        for name, row in table.rows.items()
        for column in columns
        if name in (config.rows or table.rows) and column in (row.columns or table.columns)
    ]


def result(config: ReproduceConfig) -> dict:
    """The table as far as it is finished: figures of every seed, mean and spread (standard deviation) beside the
    paper's, and how the directions compare."""
    table = TABLES[config.table]
    rows: dict[str, dict] = {}
    for cell in cells(config):
        row = rows.setdefault(cell.row, {"title": table.rows[cell.row].title, "cells": {}})
        if _place(config, cell).is_file():
            found = json.loads(_place(config, cell).read_text())
            row["cells"].setdefault(cell.column, {"values": []})["values"].append(found["value"])
        if table.pretrainings:
            record = _pretraining(config, table.rows[cell.row], cell.seed).out / "checkpoint" / "bertlab.json"
            if record.is_file():
                row["tokens"] = json.loads(record.read_text())["tokens"]
    for name, row in rows.items():
        for column, cell in row["cells"].items():
            cell["mean"] = statistics.mean(cell["values"])
            cell["spread"] = statistics.stdev(cell["values"]) if len(cell["values"]) > 1 else None
            cell["paper"] = table.rows[name].paper.get(column)
    columns = {
        name: {"title": column.title, "task": _task(config, column), "paper": column.paper, "lower": column.lower}
        for name, column in table.columns.items()
        if any(name in row["cells"] for row in rows.values())
    }
    told = {"table": config.table, "title": table.title, "source": f"Devlin et al. 2019, {table.source}"}
    told |= {"settings": _settings(config), "seeds": config.seeds, "columns": columns, "rows": rows}
    told["against"] = table.begin
    return told | {"directions": directions(told), "sentence": sentence(told)}


def directions(told: dict) -> list[dict]:
    """Every row against the one they are compared with, in every column where the paper tells the two apart; whether
    the direction agrees is None where ours are the same."""
    begin, found = told["rows"].get(told["against"], {"cells": {}}), []
    for name, row in told["rows"].items():
        for column, cell in row["cells"].items():
            base = begin["cells"].get(column)
            if name == told["against"] or base is None or None in (cell["paper"], base["paper"]):
                continue
            ours, paper = cell["mean"] - base["mean"], cell["paper"] - base["paper"]
            if round(paper, 6):
                agrees = ours * paper > 0 if round(ours, 6) else None
                found.append({"row": name, "column": column, "ours": ours, "paper": paper, "agrees": agrees})
    return found


def sentence(told: dict) -> str:
    """Whether the direction agrees with the paper's, in words, with what speaks against it."""
    found = directions(told)
    if not found:
        return "Nothing can be compared with the paper yet."
    agrees = [way for way in found if way["agrees"]]
    title = told["rows"][told["against"]]["title"]
    text = (
        f"Against the row “{title}”, {len(agrees)} of {len(found)} differences have the paper's direction"
        if len(agrees) < len(found)
        else f"Against the row “{title}”, the direction agrees with the paper's in all {len(found)} comparisons"
    )
    against = [
        f"{told['rows'][way['row']]['title']} on {told['columns'][way['column']]['title']} "
        f"({way['ours']:+.2f}, the paper {way['paper']:+.2f})"
        for way in found
        if way["agrees"] is False
    ]
    text += f"; not those of {', '.join(against)}" if against else ""
    same = sum(way["agrees"] is None for way in found)
    text += f"; in {same} ours are equal." if same else "."
    return text + (" One seed: a difference of a point or two may be chance." if told["seeds"] == 1 else "")


# -- parts of a cell ---------------------------------------------------------------------------------------------


def _pretraining(config: ReproduceConfig, row: Row, seed: int) -> PretrainConfig:
    changes = TABLES[config.table].pretrainings[row.pretrained]
    own = fast(
        config.corpus,
        config.out / f"pretrained-seed{seed}" / row.pretrained,
        preset=config.preset, batch_size=config.batch_size, max_tokens=config.max_tokens, seed=seed,
        validation=config.validation, evaluate_every=10**9, snapshots=False, watch=False, device=config.device,
        threads=config.threads, optim=config.optim, **changes,
    )  # fmt: skip
    return replace(own, steps=config.steps) if config.steps else replace(own, minutes=config.minutes)


def _finetuning(config: ReproduceConfig, cell: Cell, origin: str, source: str | None) -> FinetuneConfig:
    table = TABLES[config.table]
    column, row = table.columns[cell.column], table.rows[cell.row]
    rate = LSTM_RATE if column.way == "features" else FINETUNE_RATE
    name = _task(config, column)
    return FinetuneConfig(
        task=name, from_=origin, data=source, out=_place(config, cell).with_suffix(""), epochs=config.epochs,
        minutes=config.minutes, batch_size=config.batch_size, seed=cell.seed, device=config.device,
        threads=config.threads, max_tokens=None if TASK_TYPES[task(name).kind].reads_windows else config.max_tokens,
        optim=OptimConfig(lr=rate, warmup=0.1, beta2=0.999),
        # an LSTM has no fast bfloat16 on a processor
        precision="float32" if column.way == "features" or row.lstm else "auto",
    )  # fmt: skip


def _on(material: TrainingData, origin: str, row: Row, column: Column, width: int) -> TrainingData:
    """The same rows for another encoder; they were tokenised once, as all rows of a table share a vocabulary."""
    loaded = checkpoint.load(origin)
    frozen = column.way == "features"

    def build(dropout: float) -> OnTop:
        head = material.task_type.head
        bare = add_task_head(loaded.model, head, dropout, material.labels)
        del bare.heads[head]
        return OnTop(bare, head, pick=row.pick if frozen else "last", width=width, frozen=frozen)

    return replace(material, loaded=loaded, build=build if frozen or row.lstm else None)


def _task(config: ReproduceConfig, column: Column) -> str:
    return config.ner if column.task == "ner" else column.task


def _place(config: ReproduceConfig, cell: Cell) -> Path:
    return config.out / f"{cell.row}-seed{cell.seed}" / f"{cell.column}.json"


# -- before and after --------------------------------------------------------------------------------------------


def _check(config: ReproduceConfig, wanted: list[Cell]) -> dict[str, str | None]:
    """Where every task's rows are; all that is missing is said before anything is trained."""
    table = TABLES[config.table]
    if table.pretrainings:
        if config.corpus is None:
            raise BertlabError("reproduce-needs-corpus", table=config.table)
        for place in filter(None, (config.corpus, config.validation)):
            Corpus.open(place)
    else:
        locate.find(config.from_)
    if "perplexity" in config.columns and config.validation is None:
        raise BertlabError("reproduce-perplexity-needs-validation")
    names = dict.fromkeys(_task(config, table.columns[cell.column]) for cell in wanted)
    return {name: _source(config.data, name) for name in names if name}


def _source(data: Path | None, name: str) -> str | None:
    """The directory of a task; None for the hub."""
    if data is None:
        return None
    if not data.is_dir():
        raise BertlabError("reproduce-data-not-found", directory=data)
    found = [place for place in sorted(data.rglob(name)) if place.is_dir()]
    if not found:
        raise BertlabError("reproduce-task-not-found", directory=data, task=name)
    for split in ("train", task(name).validation[0]):
        find_split(found[0], split)
    return str(found[0])


def _settings(config: ReproduceConfig) -> dict:
    return json.loads(json.dumps({k: v for k, v in asdict(config).items() if k not in FREE}, default=str))


def _claim(config: ReproduceConfig) -> None:
    """Make the directory this table's, or find that it is."""
    path, settings = config.out / "reproduce.json", _settings(config)
    if path.is_file() and any(other != path for other in config.out.iterdir()):  # else nothing was begun
        theirs = json.loads(path.read_text())
        # a table begun before there was a choice was read with Adam
        theirs["optim"] = asdict(OptimConfig(lr=1e-3, warmup=0.03, decay=0.6)) | rename_keys(
            theirs.get("optim", {}), OPTIMIZER_KEYS
        )
        if changed := sorted(k for k in settings | theirs if settings.get(k) != theirs.get(k)):
            raise BertlabError("reproduce-other-settings", directory=config.out, changed=changed)
    else:
        _write(path, settings)


def _write(path: Path, value: dict) -> None:
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
