"""Figures of the predictions of fine-tuned models: label probabilities, effects of words, entities in their text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from rich.cells import cell_len

from bertlab.config.languages import DEFAULT, list_message_ids, render
from bertlab.tasks.classification import Classification
from bertlab.tasks.entity_spans import is_entity_scheme
from bertlab.tasks.tag_prediction import Tags
from bertlab.views.figures import BLUE, FAINT_TO_BLUE, GREY, GRID, ORANGE, add_bars, empty_figure, escape_markup
from bertlab.views.numbers import SignedNumber, percent
from bertlab.views.palette import PALETTE, transparent
from bertlab.views.passage import PASSAGE_STYLE, escape_html
from bertlab.views.shortening import shorten

if TYPE_CHECKING:
    from bertlab.abilities.results import WordEffects

# (colour, line style) of an entity type. Six types have distinct colours; the line styles, for readers who cannot tell
# colours apart, repeat after four.
_MARKS = tuple(zip(PALETTE["marks"], ("solid", "dashed", "dotted", "double", "solid", "dashed"), strict=False))


def label_bars(prediction: Classification) -> go.Figure:
    """Draw the probability of every label as a bar, in the checkpoint's order; the most probable one is blue."""
    label_shares = prediction.labels[::-1]
    probabilities = [share.probability for share in label_shares]
    figure = empty_figure(height=44 + 40 * len(label_shares))
    colours = [BLUE if share == prediction.best else GREY for share in label_shares]
    names = [share.label for share in label_shares]
    add_bars(figure, probabilities, names, list(map(percent, probabilities)), colours)
    figure.update_yaxes(ticktext=[escape_markup(shorten(name, 28)) for name in names])
    return figure.update_xaxes(range=[0, 1.18], visible=False)


def value_scale(prediction: Classification, value_range: tuple[float, float]) -> go.Figure:
    """Draw a predicted value on the scale of the training data; a value outside it is drawn at the nearer end."""
    figure = empty_figure(height=104)
    low, high = value_range
    position = min(max(prediction.value, low), high)
    figure.add_scatter(
        x=[low, high], y=[0, 0], mode="lines", line={"color": GRID, "width": 10}, hoverinfo="skip", showlegend=False
    )
    figure.add_scatter(
        x=[position], y=[0], mode="markers+text", marker={"size": 20, "color": BLUE},
        text=[f"{SignedNumber(prediction.value):.2f}"],
        textposition="top center", cliponaxis=False, hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    figure.update_yaxes(visible=False, range=[-0.6, 1])
    figure.update_xaxes(
        range=[low - 0.03 * (high - low), high + 0.03 * (high - low)], showgrid=False, tickvals=[low, high],
        ticktext=[f"{SignedNumber(end):.4g}" for end in (low, high)],
    )  # fmt: skip
    return figure


def word_bars(effects: WordEffects, *, axis: str | None = None, lang: str = DEFAULT) -> go.Figure:
    """Draw one bar for each word: upward and blue if the word helps the prediction, downward and orange if it hurts."""
    word_effects = [word.effect for word in effects.words]
    figure = empty_figure(height=280)
    figure.add_bar(
        x=list(range(len(word_effects))), y=word_effects,
        marker={"color": [BLUE if effect >= 0 else ORANGE for effect in word_effects], "cornerradius": 3},
        customdata=[escape_markup(word.text) for word in effects.words],
        hovertemplate="%{customdata}: %{y:+.2f}<extra></extra>",
    )  # fmt: skip
    _label_columns(figure, [word.text for word in effects.words])
    title = escape_markup(axis or render("figure-log-odds-decrease", lang))
    figure.update_yaxes(title=title, zeroline=True, zerolinecolor=GRID, showgrid=True, gridcolor=GRID, nticks=5)
    return figure


def word_effects_html(text: str, effects: WordEffects, *, second: bool = False) -> str:
    """Write the text (the `second` one of a pair), with every word shaded by its effect on the prediction.

    A word that helps is blue with a solid underline, one that hurts is orange with a dotted underline.
    """
    largest = max((abs(word.effect) for word in effects.words), default=0.0) or 1.0
    parts, cursor = [], 0
    for word in effects.words:
        if word.second == second:
            share = abs(word.effect) / largest
            colour, line = (BLUE, "solid") if word.effect >= 0 else (ORANGE, "dotted")
            style = (
                f"color: inherit; background: {transparent(colour, round(0.5 * share, 3))}; border-radius: 3px; "
                f"padding: 1px 0; border-bottom: 3px {line} {transparent(colour, round(share, 3))};"
            )
            parts.append(escape_html(text[cursor : word.start]))
            parts.append(f'<mark style="{style}" title="{word.effect:+.2f}">{escape_html(word.text)}</mark>')
            cursor = word.end
    return (
        f'<div class="bl-passage" dir="auto" style="{PASSAGE_STYLE}">{"".join(parts)}{escape_html(text[cursor:])}</div>'
    )


def tagged_html(text: str, tags: Tags, *, lang: str = DEFAULT) -> str:
    """Write the text with its entities marked and named, or every word with its tag if the tags mark no entities.

    The title of a marked part is the meaning of its entity type and the probabilities of its tags.
    """
    descriptions = describe_entity_types(tags, lang)
    probabilities_by_span = {
        (word.start, word.end): dict(zip(tags.labels, word.probabilities, strict=True)) for word in tags.words
    }
    spans = [(entity.start, entity.end, entity.label) for entity in tags.entities]
    if not spans and not any(label.startswith(("B-", "I-")) for label in tags.labels):
        spans = [(word.start, word.end, word.tag) for word in tags.words]
    type_indices = {label: index for index, label in enumerate(entity_types(tags))}
    parts, cursor = [], 0
    for start, end, label in spans:
        colour, line = _MARKS[type_indices.get(label, 0) % len(_MARKS)]
        probabilities_of_words = [
            probabilities
            for (left, right), probabilities in probabilities_by_span.items()
            if start <= left and right <= end
        ]
        style = (
            f"color: inherit; background: {transparent(colour, 0.2)}; border-bottom: 3px {line} {colour}; "
            f"border-radius: 4px 4px 0 0; padding: 2px 3px;"
        )
        tooltip_parts = [descriptions[label]] if label in descriptions else []
        tooltip_parts += [_format_top_labels(probabilities) for probabilities in probabilities_of_words]
        tooltip = escape(" | ".join(tooltip_parts))
        name = f'<small style="font-weight: 600; opacity: 0.85; margin-left: 4px;">{escape_html(label)}</small>'
        parts.append(escape_html(text[cursor:start]))
        parts.append(
            f'<mark tabindex="0" style="{style}" title="{tooltip}">{escape_html(text[start:end])}{name}</mark>'
        )
        cursor = end
    return (
        f'<div class="bl-passage" dir="auto" style="{PASSAGE_STYLE}">{"".join(parts)}{escape_html(text[cursor:])}</div>'
    )


def entity_types(tags: Tags) -> Sequence[str]:
    """List the entity types of a tagger, in the order of its labels.

    >>> entity_types(Tags(("O", "B-PER", "I-PER", "B-LOC", "I-LOC"), (), ()))
    ['PER', 'LOC']
    """
    return list(dict.fromkeys(label.removeprefix("B-").removeprefix("I-") for label in tags.labels if label != "O"))


def describe_entity_types(tags: Tags, lang: str = DEFAULT) -> dict[str, str]:
    """Explain the abbreviations that a tagger uses for entity types -> {type: description}.

    >>> describe_entity_types(Tags(("O", "B-PS", "I-PS", "B-product"), (), ()))
    {'PS': 'PS: person'}
    """
    if not is_entity_scheme(tags.labels):  # in some treebanks, these abbreviations are parts of speech
        return {}
    message_ids = {entity_type: f"entity-type-{entity_type}" for entity_type in entity_types(tags)}
    return {
        entity_type: f"{entity_type}: {render(id, lang)}"
        for entity_type, id in message_ids.items()
        if id in list_message_ids()
    }


def tag_heat(tags: Tags) -> go.Figure:
    """Draw the probability of every tag (rows) for every word (columns)."""
    figure = empty_figure(height=90 + 30 * len(tags.labels))
    figure.add_heatmap(
        z=[[word.probabilities[k] for word in tags.words] for k in range(len(tags.labels))],
        zmin=0, zmax=1, xgap=1, ygap=1, colorscale=FAINT_TO_BLUE,
        customdata=[[escape_markup(word.text) for word in tags.words]] * len(tags.labels),
        text=[[escape_markup(label)] * len(tags.words) for label in tags.labels], showscale=False,
        hovertemplate="%{customdata} · %{text}: %{z:.1%}<extra></extra>",
    )  # fmt: skip
    _label_columns(figure, [word.text for word in tags.words])
    labels = [escape_markup(label) for label in tags.labels]
    figure.update_yaxes(tickvals=list(range(len(labels))), ticktext=labels, autorange="reversed", ticklabelstandoff=6)
    return figure


def _label_columns(figure: go.Figure, words: Sequence[str]) -> None:
    """Label columns with words, which are rotated if they would not fit on a phone."""
    names = [shorten(word, 14) for word in words]
    total_width = sum(cell_len(name) + 2 for name in names)
    angle = 0 if total_width <= 36 else -60 if len(names) <= 16 else -90
    figure.update_xaxes(
        tickvals=list(range(len(names))), ticktext=list(map(escape_markup, names)), tickangle=angle,
        tickfont={"size": 14 if angle == 0 else 12 if len(names) <= 22 else 10},
    )  # fmt: skip


def _format_top_labels(probabilities: dict[str, float]) -> str:
    best = sorted(probabilities.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{label} {percent(probability)}" for label, probability in best)
