"""The canvas views as widgets of JupyterLab: `AttentionWidget(session.attention(text))` as the last line of a cell.

A widget holds one result and the state of its view, which is synchronised with the browser in both directions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anywidget
import plotly.graph_objects as go
import traitlets

from bertlab.config.languages import DEFAULT
from bertlab.views import assets, figures, html
from bertlab.views.payload import AttentionPack, neuron_bytes, timeline_bytes

if TYPE_CHECKING:
    from bertlab.abilities.results import AttentionMap, NeuronMap
    from bertlab.abilities.timeline.compute import Timeline


class AttentionWidget(anywidget.AnyWidget):
    """The attention view of an AttentionMap.

    `state` is the state of the view; it can be assigned: `widget.state = {"layer": 3, "heads": [5]}`.
    """

    _esm = assets.bundle_for_host("attention", "jupyter")
    _css = assets.css()
    payload = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, attention: AttentionMap, *, state: dict | None = None, lang: str = DEFAULT, **traits):
        self._options = {"lang": lang}
        state = state or {}
        super().__init__(payload=self._pack_attention(attention).bytes(state, self._options), state=state, **traits)
        self.observe(self._send_visible_heads, "state")

    def show(self, attention: AttentionMap) -> None:
        """Show the attention of another input; the state of the view is kept."""
        self.payload = self._pack_attention(attention).bytes(self.state, self._options)

    def figure(self) -> go.Figure:
        """Draw the open head as a Plotly figure; in the line view, the first of the selected heads."""
        layer, heads = self._pack.visible_heads(self.state)
        head = (self.state.get("heads") or [heads[0]])[0] if self.state.get("view") == "lines" else heads[0]
        return figures.attention_map(self._attention, layer, head, **self._options)

    def html(self) -> str:
        """Write the view in its current state as one HTML page that works offline."""
        return html.attention_html(self._attention, options=self._options | {"state": self.state})

    def _pack_attention(self, attention: AttentionMap) -> AttentionPack:
        """Compress an attention map, store both the map and its compressed form, and return the compressed form."""
        self._attention, self._pack = attention, AttentionPack(attention)
        return self._pack

    def _send_visible_heads(self, change) -> None:
        """Send the heads that the view shows after a change of its state and did not show before the change."""
        visible = self._pack.visible_heads(change["new"])
        if visible != self._pack.visible_heads(change["old"]) and self._pack.is_sent_in_parts:
            self.payload = self._pack.bytes(change["new"], self._options)


class NeuronWidget(anywidget.AnyWidget):
    """The inside of one attention head (queries, keys, scores), known from BertViz as the neuron view.

    `state["token"]` is the position of the query token.
    """

    _esm = assets.bundle_for_host("neuron", "jupyter")
    _css = assets.css()
    payload = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, neuron: NeuronMap, *, state: dict | None = None, lang: str = DEFAULT, **traits):
        self._neuron, self._options = neuron, {"lang": lang}
        super().__init__(payload=neuron_bytes(neuron, options=self._options), state=state or {}, **traits)

    def show(self, neuron: NeuronMap) -> None:
        """Show another head or input; the position of the query token is kept."""
        self._neuron = neuron
        self.payload = neuron_bytes(neuron, options=self._options)

    def figure(self) -> go.Figure:
        """Draw the scores and probabilities of the query token as a Plotly figure."""
        return figures.query_token_figure(self._neuron, self.state.get("token"), **self._options)

    def html(self) -> str:
        """Write the view in its current state as one HTML page that works offline."""
        return html.neuron_html(self._neuron, options=self._options | {"state": self.state})


class TimelineWidget(anywidget.AnyWidget):
    """The view of a Timeline: what a model computes at one training step, with a slider over the steps.

    `state["at"]` is the training step shown, `state["against"]` the one that is shown next to it (None for none).

    Args:
        timeline: from `explore.timeline.timeline`.
        log: rows of the run's log, for the training curve.
        state: the initial state of the view.
        lang: the language of the texts.
        traits: other traits of the widget.
    """

    _esm = assets.bundle_for_host("timeline", "jupyter")
    _css = assets.css()
    payload = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, timeline: Timeline, *, log=(), state: dict | None = None, lang: str = DEFAULT, **traits):
        super().__init__(payload=timeline_bytes(timeline, log=log, options={"lang": lang}), state=state or {}, **traits)
