"""Changes inside a model and the depth lens as lines for a terminal, as `terminal` has them. Knows no model.

Shape legend: T tokens, N heads, L layers.
"""

from math import exp

from bertlab.explore.facts import HeadEffects, JointFill, Lens, PredictionChange
from bertlab.views.numbers import percent
from bertlab.views.pieces import piece_labels
from bertlab.views.terminal import bar, printable, shorten, table


def effect_lines(found: HeadEffects) -> list[str]:
    """Layers down, heads across: the change of the log-odds without that head."""
    before = 1 / (1 + exp(-found.log_odds))
    title = f"{printable(found.label) or '(no answer)'}  {percent(before)}; change of its log-odds without each head"
    rows = [("layer", *(str(head) for head in range(found.effects_LN.shape[1])))]
    rows += [
        (str(layer), *(f"{effect:+.2f}" for effect in effects_N))
        for layer, effects_N in zip(found.layers, found.effects_LN, strict=True)
    ]
    return [title, "", *table(rows, ">" * len(rows[0]))]


def operation_lines(found: PredictionChange) -> list[str]:
    """Every outcome before and after, with the change of its log-odds; > marks the prediction after."""
    rows = [("", "", "before", "after", "", "log-odds")]
    for number, outcome in enumerate(found.outcomes):
        mark, change = ">" if number == found.top else "", outcome.log_odds_after - outcome.log_odds_before
        name = shorten(printable(outcome.label) or "(no answer)", 40)
        rows.append((mark, name, percent(outcome.before), percent(outcome.after), bar(outcome.after), f"{change:+.2f}"))
    return table(rows, "<<>><>")


def lens_lines(found: Lens) -> list[str]:
    """Positions down, layers across: the likeliest piece of each, and the rank of the last layer's."""
    names = ["token", "embeddings", *(f"layer {n}" for n in range(len(found.pieces_LT) - 1))]
    rows = [names]
    for at, label in enumerate(piece_labels(found.tokens)):
        layers = zip(found.pieces_LT, found.rank_LT, strict=True)
        rows.append([printable(label), *(f"{shorten(printable(row[at]), 12)} ({rank[at]})" for row, rank in layers)])
    return [*table(rows, "<" * len(names)), "", "in brackets: the rank of the last layer's word in that layer"]


def joint_lines(found: JointFill) -> list[str]:
    """The likeliest together, best first, then what each mask would take alone."""
    rows = [(printable(filling.text), f"{filling.probability:.3g}", "") for filling in found.fillings]
    rows.append((printable(found.alone.text), f"{found.alone.probability:.3g}", "each mask alone"))
    return table(rows, "<><")
