"""`bertlab attention`, `heads` and `logit-lens`: attention, effects of heads, and the prediction of each layer."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from bertlab.cli.query import OptionalText, PairQuery, QueryOptions, Text, open_session, print_result, read_texts
from bertlab.config.errors import InterventionError


@dataclass(frozen=True)
class AttentionOptions(PairQuery):
    """Show, for each attention head, the pair of tokens with the highest attention weight.

    With both --layer and --head, show for every token which tokens it attends to most in this head.

    Examples:
      bertlab attention "The keeper carried the lantern because it was dark."
      bertlab attention "She poured the tea." "It was hot." --layer 2 --head 5
      bertlab attention "She poured the tea." --json > attention.json
    """

    layer: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Show only this layer, counted from 0."""
    head: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None
    """Show only this head, counted from 0."""
    special_tokens: Annotated[bool, tyro.conf.arg(aliases=("--specials",))] = False
    """Include [CLS] and [SEP]; many heads put most of their attention there."""


def attention(config: AttentionOptions) -> None:
    """Print attention weights.

    Raises:
        InterventionError: the checkpoint has no such layer or head.
    """
    from bertlab.views.terminal import attention_lines

    (text,) = read_texts(config.text)
    session = open_session(config, "attention", text)
    num_layers, num_heads = session.config.num_layers, session.config.num_heads
    if config.layer is not None and not 0 <= config.layer < num_layers:
        raise InterventionError("layer-out-of-range", layer=config.layer, last=num_layers - 1)
    if config.head is not None and not 0 <= config.head < num_heads:
        raise InterventionError("head-out-of-range", head=config.head, last=num_heads - 1)
    result = session.attention(text, config.pair)
    print_result(
        config, session, result, lambda: attention_lines(result, config.layer, config.head, config.special_tokens)
    )


@dataclass(frozen=True)
class HeadsOptions(QueryOptions):
    """Measure the effect of each attention head on a prediction.

    The effect of a head is the change in the log-odds of the prediction when only that head is ablated. With
    --intervention, show the probabilities before and after that intervention instead.

    Examples:
      bertlab heads "He opened the window and looked out at the [MASK]."
      bertlab heads "The oven was cold." "The bread took an hour." --prediction sentence_pair --intervention 0.3,4
      bertlab heads "The [MASK] sang." --intervention r1.2.5-u    # position 5 in head 2 of layer 1 attends uniformly
    """

    text: Text
    """The text; --prediction decides what it has to be. masked_lm: a text with [MASK]; sentence_pair: sentence A;
    span: the question; classification: the text to classify. Use "-" to read it from standard input."""
    pair: OptionalText = None
    """Sentence B, or the passage."""
    prediction: Annotated[
        str, tyro.conf.arg(aliases=("--ask",), metavar="masked_lm|sentence_pair|span|classification")
    ] = "masked_lm"
    """What to predict: a masked token, the next sentence, the answer span in a passage, or a label."""
    mask: int = 0
    """Index of the [MASK] to predict, counted from 0."""
    intervention: Annotated[str, tyro.conf.arg(aliases=("--change",), metavar="TEXT")] = ""
    """The intervention: one part, or several separated by commas. Layers, heads and positions are counted from 0. The
    part 0.3 ablates head 3 of layer 0, and 4 ablates all heads of layer 4. r1.2.5-u makes position 5 attend uniformly
    in head 2 of layer 1, and r1.2.5-7:1 makes it attend only to position 7 (with weight 1). A part such as
    h2.5-1.4 copies a hidden state from another text: see --other."""
    other: Annotated[str | None, tyro.conf.arg(metavar="TEXT")] = None
    """Another text, from which --intervention copies hidden states (activation patching): h2.5-1.4 replaces the hidden
    state after layer 2 at position 5 by the hidden state of the other text after layer 1 at position 4."""


def heads(config: HeadsOptions) -> None:
    """Print the effect of each head or, with --intervention, the prediction before and after the intervention."""
    from bertlab.abilities.surgery.lines import effect_lines, prediction_change_lines
    from bertlab.tasks.registry import TASK_TYPES

    (text,) = read_texts(config.text)
    session = open_session(
        config, TASK_TYPES[config.prediction].command if config.prediction in TASK_TYPES else "fill-mask", text
    )
    if config.intervention:
        change = session.intervene(
            config.prediction, text, config.pair, changes=config.intervention, other=config.other, mask=config.mask
        )
        print_result(config, session, change, lambda: prediction_change_lines(change))
    else:
        effects = session.head_effects(config.prediction, text, config.pair, mask=config.mask)
        print_result(config, session, effects, lambda: effect_lines(effects))


@dataclass(frozen=True)
class LogitLensOptions(PairQuery):
    """Show what each layer would predict at every position (logit lens).

    The MLM output layer was trained on the output of the last layer only, so the predictions of earlier layers may be
    misleading.

    Examples:
      bertlab logit-lens "He opened the window and looked out at the [MASK]."
      bertlab logit-lens "She drank a cup of [MASK] [MASK]." --beams 5
    """

    beams: int = 0
    """If this is more than 0, fill all masks together by a beam search of this width, instead of showing the layers."""


def logit_lens(config: LogitLensOptions) -> None:
    """Print the prediction of each layer or, with --beams, the best ways to fill all masks together."""
    from bertlab.abilities.surgery.lines import joint_lines, lens_lines

    (text,) = read_texts(config.text)
    session = open_session(config, "fill-mask", text)
    if config.beams:
        fills = session.fill_jointly(text, config.beams, config.pair)
        print_result(config, session, fills, lambda: joint_lines(fills))
    else:
        result = session.lens(text, config.pair)
        print_result(config, session, result, lambda: lens_lines(result))
