"""`bertlab info` and `bertlab export`: describe a checkpoint, or write a quantised, pruned or averaged copy of it."""

import shutil
import textwrap
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from bertlab.cli.query import CheckpointOptions, QueryOptions, open_session, print_result
from bertlab.config.errors import BertlabError

if TYPE_CHECKING:
    from bertlab.session import Session

# These fields of bertlab.json are results that were computed with the weights of the checkpoint. If the weights change
# (`--prune`, `--average`, `--dtype float8`, `--dtype int8`), they are removed, and `validation` is set to {}.
RESULT_FIELDS = {"cloze", "other_tasks"}
# `--prune` and `--average` also remove the note on the training, because the result is a different model.
WEIGHT_DEPENDENT_FIELDS = RESULT_FIELDS | {"note"}
# values that `bertlab info` leaves out
EMPTY_VALUES = ("", None, [], {})


@dataclass(frozen=True)
class Info(QueryOptions):
    """Describe a checkpoint: its configuration, the commands it supports and how it was trained. Also list the shipped
    checkpoints.

    Examples:
      bertlab info
      bertlab info --checkpoint google-bert/bert-base-uncased --json
    """

    checkpoint: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = field(default=None, kw_only=True)
    """A checkpoint or run directory, the name of a shipped checkpoint, or a hub id (the name of a model on the Hugging
    Face Hub). Default: the shipped checkpoint `strongest`."""


def info(config: Info) -> None:
    """Print the description of a checkpoint."""
    from bertlab.checkpoints.locate import find_shipped_checkpoints
    from bertlab.config.text_table import format_table

    session = open_session(config, "info")
    settings = {name: value for name, value in asdict(session.config).items() if not isinstance(value, tuple)}
    settings |= {"parameters": sum(p.numel() for p in session.model.parameters())} if session.model.parameters() else {}
    result = {
        "heads": session.heads,
        "labels": session.labels,
        "config": settings,
        "record": session.record,
        "shipped": sorted(find_shipped_checkpoints()),
    }
    rows = [("checkpoint", session.name), ("commands", ", ".join(session.commands))]
    rows += [("labels", _format_value(list(session.labels)))] if session.labels else []
    rows += [
        (name.replace("_", " "), _format_value(value)) for name, value in settings.items() if value not in EMPTY_VALUES
    ]
    record = {
        name: value for name, value in session.record.items() if name != "cloze"
    }  # `cloze` is too long for this table; the model card and --json contain it
    rows += [
        (name.replace("_", " "), _format_value(value)) for name, value in record.items() if value not in EMPTY_VALUES
    ]
    rows += [("" if index else "shipped", line) for index, line in enumerate(_list_shipped() or ["none"])]
    print_result(config, session, result, lambda: format_table(_wrap_rows(rows), "<<"))


def _list_shipped() -> list[str]:
    """Return one line per shipped checkpoint: its name, its task type and its training objectives."""
    from bertlab.checkpoints.files import read_record
    from bertlab.checkpoints.locate import find_shipped_checkpoints
    from bertlab.tasks.registry import TASK_TYPES

    lines = []
    for name, path in find_shipped_checkpoints().items():
        record = read_record(path)
        task, objectives = record.get("task"), record.get("objectives")
        has_task_type = isinstance(task, dict) and str(task.get("kind")) in TASK_TYPES
        type_names = [task["kind"]] if has_task_type else []
        lines.append(f"{name}: {_format_value([*type_names, *(objectives if isinstance(objectives, list) else [])])}")
    return lines


def _wrap_rows(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Wrap the second cell of each row to the width of the terminal."""
    width = shutil.get_terminal_size().columns - max(len(name) for name, _ in rows) - 2
    wrapped = ((name, textwrap.wrap(value, max(width, 20))) for name, value in rows)
    return [(name if i == 0 else "", line) for name, lines in wrapped for i, line in enumerate(lines)]


def _format_value(value: object) -> str:
    """Format a value of a record (`bertlab.json`) as one line, without empty parts.

    >>> _format_value({"hub_id": "", "rows": 4096, "share": 0.5, "whole_word": False, "text": ["sentence"]})
    'rows 4,096, share 0.5, whole_word no, text sentence'
    """
    if isinstance(value, dict):
        return ", ".join(f"{name} {_format_value(item)}" for name, item in value.items() if item not in EMPTY_VALUES)
    if isinstance(value, list):
        return ", ".join(map(_format_value, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Export(CheckpointOptions):
    """Write a copy of a checkpoint: quantised, without some attention heads, or averaged with another checkpoint.

    With --dtype float8, a matrix takes eight bits per weight, and transformers can open the file without conversion.
    Measure with `bertlab evaluate` how much accuracy the copy loses.

    With --prune, the file does not contain the pruned heads, and config.json lists them as `pruned_heads`. The outputs
    are those of the model with these heads ablated. bertlab and transformers up to version 4 can open the file;
    transformers 5 cannot, because it no longer reads this field. With --zeroed, the weights of these heads are set to
    zero instead: every version can open the checkpoint, but the file is no smaller.

    With --average, both checkpoints need the same architecture, vocabulary and output layers. An average is useful only
    if one checkpoint was trained from the other, or both from the same weights. The average is then often better than
    either of the two, and can restore abilities that a checkpoint has lost in further training. Measure the average
    with `bertlab evaluate`.

    With --format onnx, the directory contains an ONNX file, which ONNX Runtime runs faster on a CPU than PyTorch runs
    the checkpoint. Use this directory like a checkpoint in every command that predicts. Attention and other internals
    cannot be shown.

    Examples:
      bertlab export small --checkpoint runs/sst2 --dtype float8
      bertlab export fast --checkpoint sst2 --format onnx --dtype int8
      bertlab export pruned --prune 0.3,2.11
      bertlab export pruned --checkpoint squad --prune 5.0,5.1 --zeroed
      bertlab export mean --checkpoint runs/en --average runs/en-512 --share 0.3
    """

    checkpoint: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = field(default=None, kw_only=True)
    """A checkpoint or run directory, the name of a shipped checkpoint, or a hub id (the name of a model on the Hugging
    Face Hub). Default: the shipped checkpoint `strongest`."""
    out: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DIRECTORY")]
    """Where to write the copy."""
    prune: Annotated[str | None, tyro.conf.arg(metavar="HEADS")] = None
    """Heads to remove: LAYER.HEAD, separated by commas; both are counted from 0. LAYER alone means all heads of the
    layer and needs --zeroed."""
    zeroed: bool = False
    """Set the weights of pruned heads to zero, so that every version of transformers can open the checkpoint."""
    average: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """Another checkpoint, whose weights are averaged with those of --checkpoint."""
    share: float = 0.5
    """Weight of the other checkpoint in the average, more than 0 and less than 1."""
    dtype: Literal["auto", "float8", "float16", "float32", "int8"] = "auto"
    """Type of the stored weights; auto is float16, or float32 with --format onnx. int8 needs --format onnx."""
    format: Literal["checkpoint", "onnx"] = "checkpoint"
    """The kind of file: a checkpoint, or an ONNX file with the output layers of the checkpoint."""
    replace: bool = False
    """Overwrite an existing checkpoint."""


def export(config: Export) -> None:
    """Write the copy and print its size.

    Raises:
        BertlabError: the flags contradict each other, or `out` already contains a checkpoint.
        CheckpointError: a checkpoint cannot be opened or saved, or the two cannot be averaged.
    """
    import torch

    from bertlab.checkpoints import checkpoint, files, onnx_files
    from bertlab.training.model_card import render_card, render_export_card
    from bertlab.training.progress import onnx_bar

    if not config.out.strip():
        raise BertlabError("export-no-directory")
    if config.prune is not None and config.average is not None:
        raise BertlabError("export-prune-and-average")
    if config.average is None and config.share != Export.share:
        raise BertlabError("export-share-without-average")
    if not config.replace and (Path(config.out).expanduser() / files.CONFIG).exists():
        raise BertlabError("export-checkpoint-exists", path=config.out)
    session = open_session(config)
    default_type = "float32" if config.format == "onnx" else "float16"
    stored_type = default_type if config.dtype == "auto" else config.dtype
    if config.format == "checkpoint" and stored_type == "int8":
        raise BertlabError("export-int8-needs-onnx")
    changed_session, record, summary = _apply_change(config, session, stored_type)
    name, card = Path(config.out).name, ""
    if "command" in record:  # the checkpoint was written by a training run of bertlab
        if stored_type in ("float8", "int8"):
            # The results were computed before quantisation. `bertlab evaluate --record` adds new ones.
            record = _drop_results(record, RESULT_FIELDS)
        record = {**record, "stored": stored_type, "format": config.format}
        card = render_card(name, record)
    elif changed_session is not session:
        card = render_export_card(name, record)
    settings = session.loaded.sentence_settings
    options = {"card": card, "sentence_settings": settings if settings.is_recorded else None}
    if config.format == "onnx":
        arguments = config.out, changed_session.model, session.tokenizer, record
        target = onnx_files.save(*arguments, weights=stored_type, progress=onnx_bar, **options)
    else:
        dtype = torch.float8_e4m3fn if stored_type == "float8" else getattr(torch, stored_type)
        target = checkpoint.save(config.out, changed_session.model, session.tokenizer, record, dtype=dtype, **options)
    size = (target / (files.ONNX if config.format == "onnx" else files.WEIGHTS)).stat().st_size
    original = session.path / files.WEIGHTS
    before = f" (before: {original.stat().st_size / 1e6:.1f} MB)" if original.is_file() else ""
    print(f"{target}: {summary}; {size / 1e6:.1f} MB of weights{before}")


def _apply_change(config: Export, session: "Session", stored_type: str) -> tuple["Session", dict, str]:
    """Prune or average the model if a flag says so. Return the resulting session, its record, and a summary."""
    if config.prune is not None:
        changed_session, fields, summary = _prune(config, session)
    elif config.average is not None:
        changed_session, fields, summary = _average(config, session)
    else:
        storage = "ONNX file with weights" if config.format == "onnx" else "stored"
        return session, session.record, f"{storage} as {stored_type}"
    return changed_session, _drop_results(session.record, WEIGHT_DEPENDENT_FIELDS) | fields, summary


def _drop_results(record: dict, names: set[str]) -> dict:
    """Return a copy of a record without the fields `names`, and with an empty field `validation`."""
    return {name: value for name, value in record.items() if name not in names} | {"validation": {}}


def _prune(config: Export, session: "Session") -> tuple["Session", dict, str]:
    """Prune heads. Return the resulting session, the new fields of its record, and a summary."""
    from bertlab.abilities.surgery.syntax import read_heads

    changed_session = session.prune(config.prune, zeroed=config.zeroed)
    heads = read_heads(config.prune, session.config.num_heads)
    pruned_before = set(session.config.pruned_heads) | _read_pruned_heads(session.record)
    fields = {
        "pruned_from": session.record.get("pruned_from", session.name),
        "pruned_heads": sorted(map(list, pruned_before | set(heads))),
        "zeroed": config.zeroed,
    }
    return changed_session, fields, f"{len(heads)} heads pruned"


def _read_pruned_heads(record: dict) -> set[tuple[int, int]]:
    """Return the (layer, head) pairs that a record lists as pruned."""
    pairs = record.get("pruned_heads")
    pairs = pairs if isinstance(pairs, list) else []
    return {tuple(pair) for pair in pairs if isinstance(pair, list) and [type(number) for number in pair] == [int, int]}


def _average(config: Export, session: "Session") -> tuple["Session", dict, str]:
    """Average two checkpoints. Return the resulting session, the new fields of its record, and a summary."""
    from bertlab.checkpoints.average import MIN_SIMILARITY, measure_weight_similarity
    from bertlab.session import load

    other = load(config.average)
    changed_session = session.average(other, config.share)
    records = (session.record, other.record)
    fields = {"mean_of": [[session.name, round(1 - config.share, 6)], [other.name, config.share]]}
    if all("command" in record for record in records):  # the average inherits both checkpoints' texts and licences
        names = (name for record in records for name in record.get("data") or ())
        licences = filter(None, (record.get("attribution") for record in records))
        fields |= {"data": list(dict.fromkeys(names)), "attribution": "; ".join(dict.fromkeys(licences))}
    weights = f"{session.name} (weight {1 - config.share:g}) and {other.name} (weight {config.share:g})"
    summary = f"the average of {weights}, not evaluated yet"
    if (similarity := measure_weight_similarity(session.model, other.model)) < MIN_SIMILARITY:
        summary += (
            f" (these checkpoints share no initialisation: the cosine of their weights is {similarity:.2f}, "
            "and their average is unlikely to work)"
        )
    return changed_session, fields, summary
