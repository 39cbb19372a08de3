"""A look inside a checkpoint while it reads: where its heads look, what they do, what its layers would say.

Knows nothing of how any of it is found.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from bertlab.cli.query import OptionalText, PairQuery, QueryOptions, Text, open_session, print_result, read_texts
from bertlab.config.errors import BertlabError
from bertlab.config.tasks import WATCHED


@dataclass(frozen=True)
class Attend(PairQuery):
    """Where every head looks: its strongest pair of tokens, or with --layer and --head one head in full.

    Examples:
      bertlab attend "The keeper carried the lantern because it was dark."
      bertlab attend "She poured the tea." "It was hot." --layer 2 --head 5
      bertlab attend "She poured the tea." --json > attention.json
    """

    layer: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Only this layer; layers count from 0."""
    head: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Only this head; heads count from 0."""
    specials: bool = False
    """Count [CLS] and [SEP] too; many heads rest on them."""


def attend(config: Attend) -> None:
    from bertlab.views.terminal import attention_lines

    (text,) = read_texts(config.text)
    session = open_session(config, "attend", text)
    counts = {"layer": session.config.num_layers, "head": session.config.num_heads}
    for name, count in counts.items():
        asked = getattr(config, name)
        if asked is not None and not 0 <= asked < count:
            raise BertlabError(f"there is no {name} {asked}: they go from 0 to {count - 1}")
    found = session.attention(text, config.pair)
    print_result(config, session, found, lambda: attention_lines(found, config.layer, config.head, config.specials))


@dataclass(frozen=True)
class Heads(QueryOptions):
    """What every attention head does for one prediction; with --change, the prediction before and after.

    Effects are changes of the log-odds of the model's own prediction when that head alone is knocked out.

    Examples:
      bertlab heads "He opened the window and looked out at the [MASK]."
      bertlab heads "The oven was cold." "The bread took an hour." --ask nsp --change 0.3,2.11,4
      bertlab heads "The [MASK] sang." --change r1.2.5-u --json
    """

    text: Text
    """The text, with [MASK]; sentence A; or the question. - reads it from standard input."""
    pair: OptionalText = None
    """Sentence B, or the passage."""
    ask: Literal["mask", "nsp", "span", "classify"] = "mask"
    """What to ask: a masked word, whether B follows A, the answer's span in a passage, a label."""
    mask: int = 0
    """Which [MASK], counted from 0."""
    change: str = ""
    """0.3 knocks out head 3 of layer 0, 4 all of layer 4; for the rest see `bertlab.explore.intervention_syntax`."""
    other: Annotated[str | None, tyro.conf.arg(metavar="TEXT")] = None
    """Another text, whose hidden states a change puts in."""


def heads(config: Heads) -> None:
    from bertlab.views.terminal_change import effect_lines, operation_lines

    (text,) = read_texts(config.text)
    session = open_session(config, WATCHED[config.ask], text)
    if config.change:
        found = session.intervene(
            config.ask, text, config.pair, changes=config.change, other=config.other, mask=config.mask
        )
        print_result(config, session, found, lambda: operation_lines(found))
    else:
        found = session.head_effects(config.ask, text, config.pair, mask=config.mask)
        print_result(config, session, found, lambda: effect_lines(found))


@dataclass(frozen=True)
class LensOf(PairQuery):
    """What every layer would say at every position, read through the masked-word head.

    The head was trained on the last layer only: what it makes of an earlier one is a reading from outside.

    Examples:
      bertlab lens "He opened the window and looked out at the [MASK]."
      bertlab lens "She drank a cup of [MASK] [MASK]." --beams 5
    """

    beams: int = 0
    """Fill all masks together instead, with a beam search that keeps so many at every step."""


def lens(config: LensOf) -> None:
    from bertlab.views.terminal_change import joint_lines, lens_lines

    (text,) = read_texts(config.text)
    session = open_session(config, "fill-mask", text)
    if config.beams:
        found = session.fill_jointly(text, config.beams, config.pair)
        print_result(config, session, found, lambda: joint_lines(found))
    else:
        found = session.lens(text, config.pair)
        print_result(config, session, found, lambda: lens_lines(found))
