"""Format head effects, interventions and the logit lens as lines for a terminal; `terminal` formats the other results.

Shape legend: T tokens, N heads, L layers.
"""

from math import exp

from bertlab.abilities.results import HeadEffects, JointFill, Lens, PredictionChange
from bertlab.config.text_table import format_table
from bertlab.views.numbers import percent
from bertlab.views.shortening import shorten_to_width
from bertlab.views.terminal import bar, make_printable
from bertlab.views.token_labels import token_labels


def effect_lines(effects: HeadEffects) -> list[str]:
    """Format the change in log-odds if one head is ablated, with a row for each layer and a column for each head."""
    before = 1 / (1 + exp(-effects.log_odds))
    label = make_printable(effects.label) or "(no answer)"
    title = f"{label}  {percent(before)}; change of its log-odds when one head is switched off"
    rows = [("layer", *(str(head) for head in range(effects.effects_LN.shape[1])))]
    rows += [
        (str(layer), *(f"{effect:+.2f}" for effect in effects_N))
        for layer, effects_N in zip(effects.layers, effects.effects_LN, strict=True)
    ]
    return [title, "", *format_table(rows, ">" * len(rows[0]))]


def prediction_change_lines(change: PredictionChange) -> list[str]:
    """List every outcome before and after the interventions; > marks the prediction after them."""
    rows = [("", "", "before", "after", "", "log-odds")]
    for index, outcome in enumerate(change.outcomes):
        mark = ">" if index == change.top else ""
        difference = outcome.log_odds_after - outcome.log_odds_before
        name = shorten_to_width(make_printable(outcome.label) or "(no answer)", 40)
        rows.append(
            (mark, name, percent(outcome.before), percent(outcome.after), bar(outcome.after), f"{difference:+.2f}")
        )
    return format_table(rows, "<<>><>")


def lens_lines(lens: Lens) -> list[str]:
    """Format each layer's top token at each position, and the rank of the last layer's top token in this layer."""
    names = ["token", "embeddings", *(f"layer {n}" for n in range(len(lens.tokens_LT) - 1))]
    rows = [names]
    for position, label in enumerate(token_labels(lens.tokens)):
        layers = zip(lens.tokens_LT, lens.rank_LT, strict=True)
        rows.append(
            [
                make_printable(label),
                *(
                    f"{shorten_to_width(make_printable(tokens_T[position]), 12)} ({rank_T[position]})"
                    for tokens_T, rank_T in layers
                ),
            ]
        )
    note = "in brackets: the rank that a layer gives to the token that the last layer predicts"
    return [*format_table(rows, "<" * len(names)), "", note]


def joint_lines(fills: JointFill) -> list[str]:
    """List the most probable fillings of all masks together, then the one in which each mask is filled on its own."""
    rows = [(make_printable(filling.text), f"{filling.probability:.3g}", "") for filling in fills.fillings]
    independent = fills.independent
    rows.append(
        (make_printable(independent.text), f"{independent.probability:.3g}", "each mask predicted independently")
    )
    return format_table(rows, "<><")
