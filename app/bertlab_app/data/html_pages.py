"""Self-contained HTML pages that the app shows or offers for download."""

import os
import textwrap

import streamlit as st

from bertlab.abilities.attention import bertviz_view
from bertlab.abilities.live import export as live
from bertlab.views import html
from bertlab_app.calls import compute
from bertlab_app.data.sessions import CheckpointKey, open_session


@st.cache_data(max_entries=8, show_spinner=False)
def render_bertviz(
    checkpoint: CheckpointKey, first: str, second: str | None, view: str, layer: int, head: int, lang: str
) -> str:
    """Render the HTML page of one of bertviz's views for one input."""
    if view == "neuron":
        vectors = compute(checkpoint, "head_vectors", first, second)
        return bertviz_view.neuron_view_html(vectors, layer=layer, head=head, lang=lang)
    attention = compute(checkpoint, "attention", first, second or None)
    if view == "model":
        return bertviz_view.model_view_html(attention, lang=lang)
    return bertviz_view.head_view_html(attention, layer=layer, lang=lang)


def render_attention_page(checkpoint: CheckpointKey, first: str, second: str | None, options: dict) -> str:
    """Render the attention view as one offline HTML file. Its title contains the checkpoint and the texts."""
    title = _make_title(checkpoint, first, second)
    return html.attention_html(compute(checkpoint, "attention", first, second or None), title=title, options=options)


@st.cache_data(max_entries=16, show_spinner=False)
def can_render_model_page(checkpoint: CheckpointKey) -> bool:
    return live.can_export(open_session(checkpoint))


def render_model_page(checkpoint: CheckpointKey) -> str:
    """Render one HTML file, in which the model of a checkpoint computes predictions in the browser."""
    return live.live_html(open_session(checkpoint))


def render_neuron_page(
    checkpoint: CheckpointKey, first: str, second: str | None, layer: int, head: int, options: dict
) -> str:
    """Render the view of the computation inside one head as one offline HTML file.

    Its title contains the checkpoint and the texts.
    """
    neuron_map = open_session(checkpoint).neuron(first, second, layer=layer, head=head)
    return html.neuron_html(neuron_map, title=_make_title(checkpoint, first, second), options=options)


def _make_title(checkpoint: CheckpointKey, first: str, second: str | None) -> str:
    """Make the title of an HTML file from the checkpoint and the texts, in at most 160 characters."""
    name = os.path.basename(open_session(checkpoint).name)
    title = textwrap.shorten(" · ".join(part for part in (name, first, second) if part), 160, placeholder=" …")
    # a surrogate without its other half cannot be encoded as UTF-8
    return title.encode("utf-8", "replace").decode()
