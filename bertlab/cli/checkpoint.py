"""A checkpoint as a thing: what it is, and a copy of it in fewer bits or without some of its heads.

Knows nothing of how heads are taken out.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from bertlab.cli.common import Ask, OfCheckpoint, open_session, tell
from bertlab.spec.errors import BertlabError

# a head -> the command that asks it
COMMAND_OF = {
    "mlm": "fill-mask", "nsp": "nsp", "span": "answer", "classify": "classify", "regress": "classify",
    "choose": "choose", "tag": "tag",
}  # fmt: skip
CARD = """# {name}

`{source}` without these attention heads (layer.head, from 0): {heads}. Written by `bertlab export`; nothing has
been measured on it.

"""
OPENS = {
    False: "It opens in bertlab and in transformers 4, which reads `pruned_heads`; transformers 5 does not.\n",
    True: "The heads are kept as zeros: it opens in bertlab and in every version of transformers.\n",
}


@dataclass(frozen=True)
class Info(Ask):
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
    rows = [("can be asked", commands or "attend only: it is a bare encoder")]
    rows += [("labels", _short(list(session.labels)))] if session.labels else []
    rows += [
        (name.replace("_", " "), f"{n:,}" if isinstance(n, int) else str(n)) for name, n in sizes.items() if n != ()
    ]
    rows += [(name.replace("_", " "), _short(value)) for name, value in session.record.items() if value]
    rows += [("shipped here", ", ".join(shipped()) or "none")]
    tell(config, session, fact, lambda: table(rows, "<<"))


def _short(value: object) -> str:
    """A value of a record in one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_short(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_short, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Export(OfCheckpoint):
    """Write a checkpoint anew: in fewer bits, or without some attention heads, its outputs then being those with these
    heads knocked out.

    In float8 the matrices take eight bits each, and transformers opens the file as it is; measure what that costs with
    `bertlab evaluate`. Pruned heads are left out of the file and named in config.json as `pruned_heads`. That opens in
    bertlab and in transformers up to version 4; version 5 no longer reads the field and refuses the file. With --zeroed
    the heads are kept as zeros: the checkpoint opens everywhere, but is no smaller.

    Examples:
      bertlab export small --checkpoint runs/sst2/checkpoint --dtype float8
      bertlab export pruned --prune 0.3,2.11
      bertlab export pruned --checkpoint squad --prune 5.0,5.1 --zeroed
    """

    out: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DIRECTORY")]
    """Where to write it."""
    prune: Annotated[str | None, tyro.conf.arg(metavar="HEADS")] = None
    """LAYER.HEAD with commas between, counted from 0; a number alone is a whole layer (only with --zeroed)."""
    zeroed: bool = False
    """Keep the heads as zeros, so that every version of transformers opens it."""
    dtype: Literal["float8", "float16", "float32"] = "float16"
    """What the weights are stored as."""


def export(config: Export) -> None:
    import torch

    from bertlab.explore.changes import read_heads
    from bertlab.learn.card import card as write_card
    from bertlab.weights import checkpoint

    if not config.out.strip():
        raise BertlabError("name a directory to write to")
    session = open_session(config)
    dtype = torch.float8_e4m3fn if config.dtype == "float8" else getattr(torch, config.dtype)
    model, record, card, said = session.model, session.record, "", f"in {config.dtype}"
    if config.prune is not None:
        gone = sorted(read_heads(config.prune, session.config.num_heads))
        model, said = session.prune(config.prune, zeroed=config.zeroed).model, f"{len(gone)} heads pruned"
        # what was measured on the whole model does not hold for this one
        record = {name: value for name, value in record.items() if name not in ("validation", "evaluate_command")}
        record |= {"pruned_from": session.name, "pruned_heads": [list(head) for head in gone], "zeroed": config.zeroed}
        heads = ", ".join(f"{layer}.{head}" for layer, head in gone)
        card = CARD.format(name=Path(config.out).name, source=session.name, heads=heads) + OPENS[config.zeroed]
    elif "command" in record:  # made by a run of bertlab, so a card can be written of it
        record = {**record, "stored": config.dtype}
        if config.dtype == "float8":  # measured on wider weights: `bertlab evaluate --record` measures these
            record["validation"] = {}
        card = write_card(Path(config.out).name, record)
    target = checkpoint.save(config.out, model, session.tokenizer, record, dtype=dtype, card=card)
    size = (target / checkpoint.WEIGHTS).stat().st_size
    old = session.path / checkpoint.WEIGHTS
    was = f", {old.stat().st_size / 1e6:.1f} MB before" if old.is_file() else ""
    print(f"{target}: {said}, weights of {size / 1e6:.1f} MB{was}")
