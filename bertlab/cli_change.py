"""Commands that change something inside a checkpoint: what its heads do, what its layers would say, heads taken out.

Knows nothing of how any of it is found.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from bertlab.cli import Ask, Text, open_session, read_texts, tell
from bertlab.explore.changes import read_heads
from bertlab.explore.facts import as_json
from bertlab.spec.errors import BertlabError
from bertlab.views import terminal_change
from bertlab.weights import checkpoint

CARD = """# {name}

`{source}` without these attention heads (layer.head, from 0): {heads}. Written by `bertlab export`; nothing has
been measured on it.

"""
OPENS = {
    False: "It opens in bertlab and in transformers 4, which reads `pruned_heads`; transformers 5 does not.\n",
    True: "The heads are kept as zeros: it opens in bertlab and in every version of transformers.\n",
}
# what is asked -> the task whose shipped checkpoint suits it
TASKS = {"mask": "fill-mask", "nsp": "nsp", "span": "answer", "classify": "classify"}


@dataclass(frozen=True)
class Heads(Ask):
    """What every attention head does for one prediction; with --change, the prediction before and after.

    Effects are changes of the log-odds of the model's own prediction when that head alone is knocked out.

    Examples:
      bertlab heads "He opened the window and looked out at the [MASK]."
      bertlab heads "The oven was cold." "The bread took an hour." --ask nsp --change 0.3,2.11,4
      bertlab heads "The [MASK] sang." --change r1.2.5-u --json
    """

    text: Text
    """The text, with [MASK]; sentence A; or the question. - reads it from standard input."""
    pair: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")] = None
    """Sentence B, or the passage."""
    ask: Literal["mask", "nsp", "span", "classify"] = "mask"
    """What to ask: a masked word, whether B follows A, the answer's span in a passage, a label."""
    mask: int = 0
    """Which [MASK], counted from 0."""
    change: str = ""
    """0.3 knocks out head 3 of layer 0, 4 all of layer 4; rows and hidden states as `bertlab.explore.changes` says."""
    other: str | None = None
    """Another text, whose hidden states a change puts in."""


def heads(config: Heads) -> None:
    (text,) = read_texts(config.text)
    session = open_session(config, TASKS[config.ask])
    if config.change:
        found = session.operate(
            config.ask, text, config.pair, changes=config.change, other=config.other, mask=config.mask
        )
        lines = [] if config.json else terminal_change.operation_lines(found)
    else:
        found = session.head_effects(config.ask, text, config.pair, mask=config.mask)
        lines = [] if config.json else terminal_change.effect_lines(found)
    tell(config, session, as_json(found), lines)


@dataclass(frozen=True)
class LensOf(Ask):
    """What every layer would say at every position, read through the masked-word head.

    The head was trained on the last layer only: what it makes of an earlier one is a reading from outside.

    Examples:
      bertlab lens "He opened the window and looked out at the [MASK]."
      bertlab lens "She drank a cup of [MASK] [MASK]." --beams 5
    """

    text: Text
    """The text; - reads it from standard input."""
    pair: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")] = None
    """A second text, read after the first."""
    beams: int = 0
    """Fill all masks together instead, with a beam search that keeps so many at every step."""


def lens(config: LensOf) -> None:
    (text,) = read_texts(config.text)
    session = open_session(config, "fill-mask")
    if config.beams:
        found = session.fill_jointly(text, config.beams, config.pair)
        tell(config, session, as_json(found), [] if config.json else terminal_change.joint_lines(found))
    else:
        found = session.lens(text, config.pair)
        tell(config, session, as_json(found), [] if config.json else terminal_change.lens_lines(found))


@dataclass(frozen=True)
class Export:
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
    checkpoint: Annotated[str | None, tyro.conf.arg(metavar="CHECKPOINT")] = None
    """A directory, the name of a shipped checkpoint, or a hub id. Without it: the shipped default."""
    zeroed: bool = False
    """Keep the heads as zeros, so that every version of transformers opens it."""
    dtype: Literal["float8", "float16", "float32"] = "float16"
    """What the weights are stored as."""


def export(config: Export) -> None:
    import torch

    from bertlab.explore.session import default_checkpoint, load
    from bertlab.learn.card import card as write_card

    if not config.out.strip():
        raise BertlabError("name a directory to write to")
    session = load(config.checkpoint if config.checkpoint is not None else default_checkpoint())
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
