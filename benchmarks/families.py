"""`bertlab bench families`: compare BERT with later families, with the same size, text and training time.

Each family is pre-trained once per seed and then fine-tuned on tasks. After each run a row is appended to a file of
JSON lines, and a repeated command skips this run.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import torch
import tyro

from benchmarks.family_runs import (
    FINETUNING,
    FINETUNING_BATCH,
    TASKS,
    WINDOW_STRIDE,
    FamilySettings,
    compute_checkpoint_digest,
    make_pretraining_config,
    run_finetuning,
    run_pretraining,
    save_rows,
)
from benchmarks.family_table import format_document, summarise
from benchmarks.harness import JsonOptions
from benchmarks.results import RESULTS_PATH, find_current_commit
from bertlab.config.errors import DataError
from bertlab.config.files import write_atomically
from bertlab.text.pretraining.corpus import Corpus
from bertlab.training.devices import describe_hardware
from bertlab.training.paper.reproduce import find_task_directory
from bertlab.training.run_directory import CHECKPOINT

FamilyName = Literal["bert", "roberta", "albert", "electra", "modernbert", "distilbert"]
# the runs of a family and seed: pre-training, and fine-tuning on each task
Part = Literal["pretraining", "sst2", "mrpc", "stsb", "cola", "squad"]
# the default of --results: the file with a row for each finished run
ROWS_PATH = RESULTS_PATH.parent / "families.jsonl"


@dataclass(frozen=True, kw_only=True)
class FamiliesBenchConfig(FamilySettings, JsonOptions):
    """Pre-train models of one size on one text, each for the same CPU time: BERT, RoBERTa, ALBERT, ELECTRA, ModernBERT
    and a distilled model. Fine-tune all of them, and print one table.

    Each finished run is written as a row of --results and is not repeated, so you can stop the command at any time. To
    use several machines, give each of them some of the families and seeds, and join their rows in one file afterwards.
    The corpora need the vocabulary of the teacher (the checkpoint from which the distilled model learns): `bertlab
    prepare TEXTS --tokenizer scratch --out runs/en8k`.

    Examples:
      bertlab bench families --corpus runs/en8k --validation runs/en8k-val --data tasks --out runs/families
      bertlab bench families --corpus runs/en8k --validation runs/en8k-val --data tasks --out runs/families \\
          --families bert modernbert --seeds 1 2 --minutes 20
      bertlab bench families    # only prints the table of the finished runs
      bertlab bench families --document docs/families.md
    """

    corpus: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """The prepared training text. Without it, nothing is trained and the table of the finished runs is printed."""
    validation: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A prepared corpus of held-out text."""
    data: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A directory that contains the directories sst2, mrpc, stsb, cola and squad, at any depth, each with train and
    validation rows."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("runs/families")
    """The directory for the runs."""
    results: Annotated[Path, tyro.conf.arg(metavar="FILE")] = ROWS_PATH
    """The JSON Lines file to which a row is appended after every run."""
    families: Annotated[tuple[FamilyName, ...], tyro.conf.arg(metavar="NAME ...")] = (
        "bert", "roberta", "albert", "electra", "modernbert", "distilbert",
    )  # fmt: skip
    """The families to train: bert, roberta (BERT without sentence pairs), albert, electra, modernbert, distilbert."""
    seed_values: Annotated[tuple[int, ...], tyro.conf.arg(name="seeds", metavar="INT ...")] = (0, 1, 2)
    """The random seeds themselves, not their number. All families are trained with the first seed, then all with the
    next seed."""
    parts: Annotated[tuple[Part, ...], tyro.conf.arg(metavar="NAME ...")] = ("pretraining", *TASKS)
    """The runs of each family and seed: pretraining, sst2, mrpc, stsb, cola, squad. Tasks need the pre-trained
    checkpoint in --out, so pre-training is repeated if that checkpoint is missing."""
    document: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Also write the tables of all finished runs to this Markdown file."""
    task_rows: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Maximum number of rows of every task, for a quick test."""


def read_rows(path: Path) -> list[dict]:
    """Read the rows of finished runs, and add the field `key` to each: (family, seed, part).

    Returns [] if there is no such file.
    """
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            rows.append(row | {"key": (row["family"], row["seed"], row["part"])})
        except (ValueError, TypeError, KeyError, AttributeError):
            if number < len(lines):
                raise DataError("bench-results-line-invalid", path=str(path), line=number) from None
    return rows


def select_rows(rows: Iterable[dict], settings: dict) -> dict[tuple, dict]:
    """Select the newest row of every run with these settings.

    If pre-training was repeated, the rows of tasks that started from the earlier checkpoint are left out.
    """
    newest = {row["key"]: row for row in rows if row["settings"] == settings}
    return {
        key: row
        for key, row in newest.items()
        if row["checkpoint"] == newest.get((*key[:2], "pretraining"), {}).get("checkpoint")
    }


def append_row(path: Path, row: dict) -> None:
    """Append a row to the file of finished runs; if the last line of the file is incomplete, it is removed first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text and not text.endswith("\n"):
        write_atomically(path, text[: text.rfind("\n") + 1])
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def do_missing_runs(config: FamiliesBenchConfig) -> Iterator[dict]:
    """Do the runs that --results lacks, in the order of the seeds, and yield a row after each of them.

    Tasks start from the checkpoint of the pre-training run. If it is not in --out, for example on another machine,
    pre-training is repeated.
    """
    torch.set_num_threads(1)
    row_settings = make_row_settings(config)
    for seed in config.seed_values:
        for family in config.families:
            parts = dict.fromkeys(("pretraining", *config.parts))
            finished_rows = select_rows(read_rows(config.results), row_settings)
            if all((family, seed, part) in finished_rows for part in parts):
                continue
            run = locate_pretraining(config, row_settings, family, seed)
            if not _has_checkpoint(run, finished_rows.get((family, seed, "pretraining"))):
                yield _run_part(config, row_settings, family, seed, "pretraining")
                finished_rows = select_rows(read_rows(config.results), row_settings)
            for part in parts:
                if (family, seed, part) not in finished_rows:
                    yield _run_part(config, row_settings, family, seed, part)


def locate_pretraining(config: FamiliesBenchConfig, row_settings: dict, family: FamilyName, seed: int) -> Path:
    """Return the directory of a pre-training run; runs with different settings have different directories."""
    digest = hashlib.blake2b(json.dumps(row_settings, sort_keys=True).encode(), digest_size=4).hexdigest()
    return config.out / digest / f"{family}-{seed}"


def _has_checkpoint(run: Path, row: dict | None) -> bool:
    is_finished = row is not None and (run / CHECKPOINT).is_dir()
    return is_finished and compute_checkpoint_digest(run) == row["checkpoint"]


def _run_part(config: FamiliesBenchConfig, row_settings: dict, family: FamilyName, seed: int, part: Part) -> dict:
    print(f"{family}, seed {seed}, {part} ...", file=sys.stderr, flush=True)
    pretraining = locate_pretraining(config, row_settings, family, seed)
    if part == "pretraining":
        run_config = make_pretraining_config(config, family, seed, pretraining, config.corpus, config.validation)
        values = run_pretraining(run_config, config.evaluation_rows)
    else:
        rows = save_rows(part, Path(find_task_directory(config.data, part)), config.out / "rows", config.task_rows)
        # the name changes if pre-training is repeated, so that an older run of the task is not mistaken for this one
        out = pretraining.with_name(f"{pretraining.name}-{part}-{compute_checkpoint_digest(pretraining)}")
        values = run_finetuning(config, part, seed, pretraining, out, rows)
    return {
        "family": family, "seed": seed, "part": part, **values, "settings": row_settings,
        "hardware": describe_hardware(torch.device("cpu")), "commit": find_current_commit(),
        "date": date.today().isoformat(),
    }  # fmt: skip


def make_row_settings(config: FamiliesBenchConfig) -> dict:
    """Make the part of a row that all rows of one table have in common: the settings, and the size of the corpora."""
    facts = {
        name: Corpus.open(path).facts for name, path in (("corpus", config.corpus), ("held_out", config.validation))
    }
    data = {name: {key: values[key] for key in ("documents", "tokens", "characters")} for name, values in facts.items()}
    tasks = {name: asdict(recipe) for name, recipe in TASKS.items()}
    finetuning = {"batch_size": FINETUNING_BATCH, "stride": WINDOW_STRIDE, "lr": FINETUNING.lr}
    settings = {field.name: getattr(config, field.name) for field in fields(FamilySettings)}
    return settings | data | {"tasks": tasks, "task_rows": config.task_rows, "finetuning": finetuning}


def run(config: FamiliesBenchConfig) -> None:
    """Do the missing runs, and print or write the tables of all finished runs."""
    if config.corpus is not None:
        missing_flags = [f"--{name}" for name in ("validation", "data") if getattr(config, name) is None]
        if missing_flags:
            raise DataError("bench-families-needs-data", flags=missing_flags)
        for row in do_missing_runs(config):
            append_row(config.results, row)
    tables = summarise(group_rows_by_settings(read_rows(config.results)))
    if not tables:
        raise DataError("bench-families-no-rows", path=str(config.results))
    if not config.json:
        print("\n".join(format_document(tables)))
    if config.document:
        write_atomically(config.document, "\n".join(format_document(tables)) + "\n")
    if config.json:
        print(json.dumps({"tables": [asdict(table) for table in tables]}))


def group_rows_by_settings(rows: list[dict]) -> list[list[dict]]:
    """Group the valid rows by their settings; the group with the newest row comes last."""
    groups: dict[str, list[dict]] = {}
    for row in rows:
        key = json.dumps(row["settings"], sort_keys=True)
        groups[key] = [*groups.pop(key, []), row]
    return [list(select_rows(group, group[0]["settings"]).values()) for group in groups.values()]
