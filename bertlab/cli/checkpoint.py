"""A checkpoint as a thing: what it is, and a copy of it in fewer bits, without some heads, or averaged with another.

Knows nothing of how that is done.
"""

import shutil
import textwrap
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from bertlab.cli.query import CheckpointOptions, QueryOptions, open_session, print_result
from bertlab.config.errors import BertlabError

if TYPE_CHECKING:
    from bertlab.explore.session import Session

# a head -> the command that asks it
COMMAND_OF = {
    "mlm": "fill-mask", "nsp": "nsp", "span": "answer", "classify": "classify", "regress": "classify",
    "choose": "choose", "tag": "tag",
}  # fmt: skip
# what a record says of its weights, and not of others made from them
OF_THE_WEIGHTS = {"cloze", "note"}
EMPTY = ("", None, [], {})


@dataclass(frozen=True)
class Info(QueryOptions):
    """What a checkpoint is: its sizes, what it can be asked, how it was made. Also lists the shipped ones.

    Examples:
      bertlab info
      bertlab info --checkpoint google-bert/bert-base-uncased --json
    """


def info(config: Info) -> None:
    from bertlab.explore.session import shipped
    from bertlab.views.terminal import table

    session = open_session(config, "info")
    sizes = {name: size for name, size in asdict(session.config).items() if not isinstance(size, tuple)}
    sizes |= {"parameters": sum(p.numel() for p in session.model.parameters())}
    fact = {
        "heads": session.heads,
        "labels": session.labels,
        "config": sizes,
        "record": session.record,
        "shipped": sorted(shipped()),
    }
    commands = ", ".join(COMMAND_OF[head] for head in session.heads)
    rows = [("checkpoint", session.name)]
    rows += [("can be asked", commands or "attend only: it is a bare encoder")]
    rows += [("labels", _short(list(session.labels)))] if session.labels else []
    rows += [(name.replace("_", " "), _short(size)) for name, size in sizes.items()]
    made = {name: value for name, value in session.record.items() if name != "cloze"}  # which the card draws
    rows += [(name.replace("_", " "), _short(value)) for name, value in made.items() if value not in EMPTY]
    rows += [("shipped here" if not number else "", told) for number, told in enumerate(_shipped() or ["none"])]
    print_result(config, session, fact, lambda: table(_wrapped(rows), "<<"))


def _shipped() -> list[str]:
    """A line for each shipped checkpoint: its name, and what it was taught."""
    from bertlab.checkpoints.checkpoint import read_record
    from bertlab.checkpoints.locate import shipped

    lines = []
    for name, path in shipped().items():
        record = read_record(path)
        task = record.get("task")
        kind = [task["kind"]] if isinstance(task, dict) and "kind" in task else []
        lines.append(f"{name}: {_short([*kind, *record.get('objectives', [])])}")
    return lines


def _wrapped(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Rows whose second cell goes on below itself where the terminal ends."""
    width = shutil.get_terminal_size().columns - max(len(name) for name, _ in rows) - 2
    told = ((name, textwrap.wrap(value, max(width, 20))) for name, value in rows)
    return [(name if i == 0 else "", line) for name, lines in told for i, line in enumerate(lines)]


def _short(value: object) -> str:
    """A value of a record in one line, without what is empty in it.

    >>> _short({"hub_id": "", "rows": 4096, "share": 0.5, "whole_word": False, "text": ["sentence"]})
    'rows 4,096, share 0.5, whole_word no, text sentence'
    """
    if isinstance(value, dict):
        return ", ".join(f"{name} {_short(item)}" for name, item in value.items() if item not in EMPTY)
    if isinstance(value, list):
        return ", ".join(map(_short, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Export(CheckpointOptions):
    """Write a checkpoint anew: in fewer bits; without some attention heads, its outputs then being those with these
    heads knocked out; or as the mean of its weights and another's.

    In float8 the matrices take eight bits each, and transformers opens the file as it is; measure what that costs with
    `bertlab evaluate`. Pruned heads are left out of the file and named in config.json as `pruned_heads`. That opens in
    bertlab and in transformers up to version 4; version 5 no longer reads the field and refuses the file. With --zeroed
    the heads are kept as zeros: the checkpoint opens everywhere, but is no smaller.

    A mean is of two checkpoints of the same sizes, vocabulary and heads, best of one that went on from the other or of
    two that began alike: it is often better than both, or keeps what the second has forgotten. Measure it.

    Examples:
      bertlab export small --checkpoint runs/sst2/checkpoint --dtype float8
      bertlab export pruned --prune 0.3,2.11
      bertlab export pruned --checkpoint squad --prune 5.0,5.1 --zeroed
      bertlab export mean --checkpoint runs/en/checkpoint --average runs/en-512/checkpoint --share 0.3
    """

    out: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DIRECTORY")]
    """Where to write it."""
    prune: Annotated[str | None, tyro.conf.arg(metavar="HEADS")] = None
    """LAYER.HEAD with commas between, counted from 0; a number alone is a whole layer (only with --zeroed)."""
    zeroed: bool = False
    """Keep the heads as zeros, so that every version of transformers opens it."""
    average: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """Another checkpoint, whose weights are averaged with these."""
    share: float = 0.5
    """How much of the mean is that other's."""
    dtype: Literal["float8", "float16", "float32"] = "float16"
    """What the weights are stored as."""
    replace: bool = False
    """Write over a checkpoint that is there."""


def export(config: Export) -> None:
    import torch

    from bertlab.checkpoints import checkpoint, files
    from bertlab.training.model_card import render_card as write_card
    from bertlab.training.model_card import render_export_card

    if not config.out.strip():
        raise BertlabError("name a directory to write to")
    if config.prune is not None and config.average is not None:
        raise BertlabError("--prune and --average do not go together: write the mean, then prune that")
    if config.average is None and config.share != Export.share:
        raise BertlabError("--share is of another checkpoint: name it with --average")
    if not config.replace and (Path(config.out).expanduser() / files.CONFIG).exists():
        raise BertlabError(f"{config.out} is a checkpoint already: choose another directory, or add --replace")
    session = open_session(config)
    dtype = torch.float8_e4m3fn if config.dtype == "float8" else getattr(torch, config.dtype)
    changed, record, said = _changed(config, session)
    name, card = Path(config.out).name, ""
    if "command" in record:  # made by a run of bertlab
        record = {**record, "stored": config.dtype}
        if config.dtype == "float8":  # measured on wider weights: `bertlab evaluate --record` measures these
            record["validation"] = {}
        card = write_card(name, record)
    elif changed is not session:
        card = render_export_card(name, record)
    target = checkpoint.save(config.out, changed.model, session.tokenizer, record, dtype=dtype, card=card)
    size = (target / files.WEIGHTS).stat().st_size
    old = session.path / files.WEIGHTS
    was = f", {old.stat().st_size / 1e6:.1f} MB before" if old.is_file() else ""
    print(f"{target}: {said}, weights of {size / 1e6:.1f} MB{was}")


def _changed(config: Export, session: "Session") -> tuple["Session", dict, str]:
    """What is written, its record, and in a few words what became of it."""
    from bertlab.checkpoints.average import MIN_SIMILARITY, weight_similarity
    from bertlab.explore.intervention_syntax import read_heads
    from bertlab.explore.session import load

    if config.prune is not None:
        changed = session.prune(config.prune, zeroed=config.zeroed)
        gone = read_heads(config.prune, session.config.num_heads)
        before = {tuple(head) for head in session.record.get("pruned_heads", [])}
        made = {
            "pruned_from": session.record.get("pruned_from", session.name),
            "pruned_heads": sorted(map(list, before | set(gone))),
            "zeroed": config.zeroed,
        }
        said = f"{len(gone)} heads pruned"
    elif config.average is not None:
        other = load(config.average)
        changed = session.average(other, config.share)
        both = (session.record, other.record)
        made = {"mean_of": [[session.name, round(1 - config.share, 6)], [other.name, config.share]]}
        if all("command" in record for record in both):  # whose texts and licences are the mean's too
            made |= {"data": list(dict.fromkeys(name for record in both for name in record["data"]))}
            made |= {"attribution": "; ".join(dict.fromkeys(filter(None, (r.get("attribution") for r in both))))}
        said = f"{1 - config.share:g} of {session.name} and {config.share:g} of {other.name}, to be measured anew"
        if (alike := weight_similarity(session.model, other.model)) < MIN_SIMILARITY:
            said += (
                f" (these checkpoints share no initialisation: the cosine of their weights is {alike:.2f}, "
                "and their average is unlikely to work)"
            )
    else:
        return session, session.record, f"in {config.dtype}"
    # what was said of the one does not hold for the other
    kept = {name: value for name, value in session.record.items() if name not in OF_THE_WEIGHTS}
    return changed, kept | made | {"validation": {}}, said
