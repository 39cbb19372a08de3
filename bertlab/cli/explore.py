"""`bertlab attend`, `heads` and `lens`: attention, the effect of each head, and what each layer would predict."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from bertlab.cli.query import OptionalText, PairQuery, QueryOptions, Text, open_session, print_result, read_texts
from bertlab.config.errors import InterventionError


@dataclass(frozen=True)
class Attend(PairQuery):
    """Show the pair of tokens with the highest attention weight of each head; with --layer and --head, show one head
    in full.

    Examples:
      bertlab attend "The keeper carried the lantern because it was dark."
      bertlab attend "She poured the tea." "It was hot." --layer 2 --head 5
      bertlab attend "She poured the tea." --json > attention.json
    """

    layer: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Show only this layer, counted from 0."""
    head: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Show only this head, counted from 0."""
    specials: Annotated[bool, tyro.conf.arg(name="special-tokens", aliases=("--specials",))] = False
    """Include [CLS] and [SEP]; many heads put most of their attention there."""


def attend(config: Attend) -> None:
    from bertlab.views.terminal import attention_lines

    (text,) = read_texts(config.text)
    session = open_session(config, "attend", text)
    num_layers, num_heads = session.config.num_layers, session.config.num_heads
    if config.layer is not None and not 0 <= config.layer < num_layers:
        raise InterventionError("layer-out-of-range", layer=config.layer, last=num_layers - 1)
    if config.head is not None and not 0 <= config.head < num_heads:
        raise InterventionError("head-out-of-range", head=config.head, last=num_heads - 1)
    attention = session.attention(text, config.pair)
    print_result(
        config, session, attention, lambda: attention_lines(attention, config.layer, config.head, config.specials)
    )


@dataclass(frozen=True)
class Heads(QueryOptions):
    """Measure the effect of each attention head on a prediction, or with --intervention show the prediction before and
    after.

    The effect of a head is how much the log-odds of the model's prediction change when only that head is ablated.

    Examples:
      bertlab heads "He opened the window and looked out at the [MASK]."
      bertlab heads "The oven was cold." "The bread took an hour." --prediction sentence_pair --intervention 0.3,4
      bertlab heads "The [MASK] sang." --intervention r1.2.5-u --json
    """

    text: Text
    """The text with [MASK], sentence A, the question, or the text to classify; - reads it from standard input."""
    pair: OptionalText = None
    """Sentence B, or the passage."""
    ask: Annotated[
        str,
        tyro.conf.arg(name="prediction", aliases=("--ask",), metavar="masked_lm|sentence_pair|span|classification"),
    ] = "masked_lm"
    """The prediction: a masked token, the next sentence, the answer span in a passage, or a label."""
    mask: int = 0
    """Which [MASK] to predict, counted from 0."""
    change: Annotated[str, tyro.conf.arg(name="intervention", aliases=("--change",))] = ""
    """The intervention: 0.3 ablates head 3 of layer 0, 4 ablates all heads of layer 4. The full syntax is described in
    `bertlab.explore.intervention_syntax`."""
    other: Annotated[str | None, tyro.conf.arg(metavar="TEXT")] = None
    """For activation patching: the text whose hidden states are inserted."""


def heads(config: Heads) -> None:
    from bertlab.tasks.registry import TASK_TYPES
    from bertlab.views.terminal_change import effect_lines, prediction_change_lines

    (text,) = read_texts(config.text)
    session = open_session(config, TASK_TYPES[config.ask].command if config.ask in TASK_TYPES else "fill-mask", text)
    if config.change:
        operation = session.intervene(
            config.ask, text, config.pair, changes=config.change, other=config.other, mask=config.mask
        )
        print_result(config, session, operation, lambda: prediction_change_lines(operation))
    else:
        effects = session.head_effects(config.ask, text, config.pair, mask=config.mask)
        print_result(config, session, effects, lambda: effect_lines(effects))


@dataclass(frozen=True)
class LensOptions(PairQuery):
    """Show what each layer would predict at every position: the logit lens.

    The output layer was trained on the last layer only, so the predictions for earlier layers are approximate.

    Examples:
      bertlab lens "He opened the window and looked out at the [MASK]."
      bertlab lens "She drank a cup of [MASK] [MASK]." --beams 5
    """

    beams: int = 0
    """Fill all masks jointly with a beam search of this width instead of showing the layers; 0 shows the layers."""


def lens(config: LensOptions) -> None:
    from bertlab.views.terminal_change import joint_lines, lens_lines

    (text,) = read_texts(config.text)
    session = open_session(config, "fill-mask", text)
    if config.beams:
        fills = session.fill_jointly(text, config.beams, config.pair)
        print_result(config, session, fills, lambda: joint_lines(fills))
    else:
        layers = session.lens(text, config.pair)
        print_result(config, session, layers, lambda: lens_lines(layers))
