"""Figures and tables of what a BERT costs: parts as bars, and growth with the sequence length."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from bertlab.abilities.cost.estimate import Cost
from bertlab.config.languages import DEFAULT, render
from bertlab.views.export import Columns
from bertlab.views.figures import COLOURS, GREY, GRID, TEMPLATE, empty_figure, escape_markup
from bertlab.views.numbers import percent
from bertlab.views.palette import transparent

QUADRATIC = "attention-scores"  # name of the part of a cost that grows with the square of the sequence length
# (factor, decimal prefix), the largest factor first
PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
# unit -> (the duration from which the next longer unit is used, the length of the unit), both in seconds
DURATIONS = {"ms": (1, 1e-3), "seconds": (120, 1), "minutes": (7_200, 60), "hours": (2 * 86_400, 3_600)}
DAY, YEAR = 86_400, 365.25 * 86_400  # seconds


def part_bars(parts: Mapping[str, float], unit: str = "", *, lang: str = DEFAULT) -> go.Figure:
    """Draw the parts of a cost as horizontal bars, each with its amount and its share.

    Args:
        parts: {part: amount}, such as `Cost.parameters`, in any order; the bar of the largest part is at the top.
        unit: the unit of the amounts: "" (a count), "FLOP" or "B".
        lang: the language.
    """
    total = sum(parts.values()) or 1
    rows = sorted(((amount, name) for name, amount in parts.items() if amount), reverse=True)[::-1]
    figure = empty_figure(height=30 + 34 * max(1, len(rows)))
    labels = [escape_markup(name_part(name, lang)) for _, name in rows]
    figure.add_bar(
        x=[amount for amount, _ in rows],
        y=list(range(len(rows))),
        orientation="h",
        marker={"color": [COLOURS[1] if name == QUADRATIC else COLOURS[0] for _, name in rows], "cornerradius": 4},
        text=[f"{format_quantity(amount, unit)} · {percent(amount / total)}" for amount, _ in rows],
        textposition="outside",
        cliponaxis=False,
        customdata=labels,
        hovertemplate="%{customdata}: %{text}<extra></extra>",
    )
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=labels, ticklabelstandoff=6)
    figure.update_xaxes(range=[0, 2.5 * max((amount for amount, _ in rows), default=1)], visible=False)
    return figure


def growth_curve(costs: Sequence[Cost], quantity: str = "flop", *, lang: str = DEFAULT) -> go.Figure:
    """Draw how a cost grows with the sequence length, as one area for each part, stacked on one another.

    Args:
        costs: the results of `estimate_growth`.
        quantity: "flop", "training-memory" or "inference-memory".
        lang: the language.
    """
    columns, unit = growth_columns(costs, quantity), "FLOP" if quantity == "flop" else "B"
    lengths = columns.pop("tokens")
    figure = go.Figure(layout={"template": TEMPLATE, "height": 380})
    # the quadratic part is drawn on top, so that its curve is visible
    names = sorted(columns, key=lambda name: name == QUADRATIC)
    colours = [colour for colour in (*COLOURS, GREY) if colour != COLOURS[1]]
    for index, name in enumerate(names):
        colour = COLOURS[1] if name == QUADRATIC else colours[index % len(colours)]
        label = escape_markup(name_part(name, lang))
        figure.add_scatter(
            x=lengths, y=columns[name], name=label, stackgroup="parts", mode="lines",
            line={"width": 1, "color": colour}, fillcolor=transparent(colour, 0.55),
            customdata=[format_quantity(amount, unit) for amount in columns[name]],
            hovertemplate=f"{label}: %{{customdata}}<extra></extra>",
        )  # fmt: skip
    totals = [sum(columns[name][index] for name in names) for index in range(len(lengths))]
    return _add_growth_axes(figure, max(totals), unit, lang)


def score_curves(columns: Columns, *, lang: str = DEFAULT) -> go.Figure:
    """Draw how the FLOP of full and of sparse attention grow with the sequence length, one line for each kind.

    Args:
        columns: the result of `count_score_flop`.
        lang: the language.
    """
    figure = go.Figure(layout={"template": TEMPLATE, "height": 340})
    names = [name for name in columns if name != "tokens"]
    for colour, dash, name in zip((COLOURS[1], COLOURS[0], COLOURS[2]), ("solid", "dash", "dot"), names, strict=True):
        label = escape_markup(name_part(f"scores-{name}", lang))
        figure.add_scatter(
            x=columns["tokens"], y=columns[name], name=label, mode="lines",
            line={"width": 2.5, "color": colour, "dash": dash},
            customdata=[format_quantity(amount, "FLOP") for amount in columns[name]],
            hovertemplate=f"{label}: %{{customdata}}<extra></extra>",
        )  # fmt: skip
    return _add_growth_axes(figure, max(columns["full"]), "FLOP", lang)


def _add_growth_axes(figure: go.Figure, largest: float, unit: str, lang: str) -> go.Figure:
    """Add the axes of a figure that shows growth with the sequence length, up to the amount `largest`."""
    ticks = [largest * share for share in (0, 0.25, 0.5, 0.75, 1)]
    figure.update_yaxes(
        showgrid=True, gridcolor=GRID, tickvals=ticks, ticktext=[format_quantity(tick, unit) for tick in ticks]
    )
    axis = escape_markup(render("figure-cost-tokens", lang))
    figure.update_xaxes(title={"text": axis, "font": {"size": 13}}, showgrid=True, gridcolor=GRID, nticks=6)
    return figure.update_layout(hovermode="x unified", margin={"t": 48})


def growth_columns(costs: Sequence[Cost], quantity: str) -> Columns:
    """Return the data that `growth_curve` draws as columns: the length, then one column for each part that is not 0."""
    get_parts = {
        "flop": lambda cost: cost.training_flop,
        "training-memory": lambda cost: cost.training_memory.parts,
        "inference-memory": lambda cost: cost.inference_memory.parts,
    }[quantity]
    part_amounts = [get_parts(cost) for cost in costs]
    names = [name for name in part_amounts[0] if any(amounts[name] for amounts in part_amounts)]
    return {"tokens": [cost.workload.tokens for cost in costs]} | {
        name: [amounts[name] for amounts in part_amounts] for name in names
    }


def name_part(name: str, lang: str = DEFAULT) -> str:
    """Return the name of a part of a cost in a language."""
    return render(f"figure-cost-{name}", lang)


def format_quantity(amount: float, unit: str = "") -> str:
    """Format a large number with three digits, a decimal prefix and its unit.

    >>> format_quantity(110_106_428), format_quantity(2.283e19, "FLOP"), format_quantity(0, "B")
    ('110 M', '22.8 EFLOP', '0 B')
    """
    for factor, prefix in PREFIXES:
        if amount >= factor:
            number = amount / factor
            decimals = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
            return f"{number:,.{decimals}f} {prefix}{unit}".strip()
    return f"{amount:.0f} {unit}".strip()


def format_duration(seconds: float, lang: str = DEFAULT) -> str:
    """Format a duration, given in seconds, in a unit that suits its length, from milliseconds to years.

    >>> format_duration(0.25), format_duration(90), format_duration(3 * 86_400)
    ('250 ms', '90.0 s', '3.0 days')
    """
    for unit, (limit, length) in DURATIONS.items():
        if seconds < limit:
            number = seconds / length
            return render(
                f"figure-cost-{unit}",
                lang,
                number=f"{number:.0f}" if unit == "ms" and number >= 10 else f"{number:.1f}",
            )
    unit, length = ("years", YEAR) if seconds >= 2 * YEAR else ("days", DAY)
    return render(f"figure-cost-{unit}", lang, number=f"{seconds / length:,.1f}")


def format_money(dollars: float) -> str:
    """Format a price in US dollars; with cents if it is below $100.

    >>> format_money(0.004), format_money(12.5), format_money(56_789.3)
    ('< $0.01', '$12.50', '$56,789')
    """
    if 0 < dollars < 0.01:
        return "< $0.01"
    return f"${dollars:,.0f}" if dollars >= 100 else f"${dollars:,.2f}"
