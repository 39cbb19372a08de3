"""The canvas views as widgets of JupyterLab: `AttentionWidget(session.attention(text))` as the last line of a cell."""

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


class _CanvasWidget(anywidget.AnyWidget):
    _css = assets.css()
    payload = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)


class AttentionWidget(_CanvasWidget):
    """The attention view of an AttentionMap.

    `state` is the state of the view; it can be assigned: `widget.state = {"layer": 3, "heads": [5]}`.
    """

    _esm = assets.bundle_for_host("attention", "jupyter")

    def __init__(self, attention: AttentionMap, *, state: dict | None = None, lang: str = DEFAULT, **traits):
        self._options = {"lang": lang}
        state = state or {}
        super().__init__(payload=self._pack_attention(attention).bytes(state, self._options), state=state, **traits)
        self.observe(self._send_visible_heads, "state")

    def show(self, attention: AttentionMap) -> None:
        """Show the attention of another input; the state of the view is kept."""
        self.payload = self._pack_attention(attention).bytes(self.state, self._options)

    def figure(self) -> go.Figure:
        """Draw the open head; in the view of lines, the first of the selected heads."""
        layer, heads = self._pack.visible_heads(self.state)
        head = (self.state.get("heads") or [heads[0]])[0] if self.state.get("view") == "lines" else heads[0]
        return figures.attention_map(self._attention, layer, head, **self._options)

    def html(self) -> str:
        """Write the view in its current state as one HTML page that works offline."""
        return html.attention_html(self._attention, options=self._options | {"state": self.state})

    def _pack_attention(self, attention: AttentionMap) -> AttentionPack:
        self._attention, self._pack = attention, AttentionPack(attention)
        return self._pack

    def _send_visible_heads(self, change) -> None:
        """Send the heads that a change of the state made visible."""
        visible = self._pack.visible_heads(change["new"])
        if visible != self._pack.visible_heads(change["old"]) and self._pack.is_sent_in_parts:
            self.payload = self._pack.bytes(change["new"], self._options)


class NeuronWidget(_CanvasWidget):
    """The inside of one attention head (queries, keys, scores), known from BertViz as the neuron view.

    `state["token"]` is the position of the query token.
    """

    _esm = assets.bundle_for_host("neuron", "jupyter")

    def __init__(self, neuron: NeuronMap, *, state: dict | None = None, lang: str = DEFAULT, **traits):
        self._neuron, self._options = neuron, {"lang": lang}
        super().__init__(payload=neuron_bytes(neuron, options=self._options), state=state or {}, **traits)

    def show(self, neuron: NeuronMap) -> None:
        """Show another head or input; the position of the query token is kept."""
        self._neuron = neuron
        self.payload = neuron_bytes(neuron, options=self._options)

    def figure(self) -> go.Figure:
        return figures.query_token_figure(self._neuron, self.state.get("token"), **self._options)

    def html(self) -> str:
        """Write the view in its current state as one HTML page that works offline."""
        return html.neuron_html(self._neuron, options=self._options | {"state": self.state})


class TimelineWidget(_CanvasWidget):
    """What a model computes at one training step, with a slider over the steps; `log` are rows of the run's log.

    `state["at"]` is the training step shown, `state["against"]` the one that is shown next to it (None for none).
    """

    _esm = assets.bundle_for_host("timeline", "jupyter")

    def __init__(self, timeline: Timeline, *, log=(), state: dict | None = None, lang: str = DEFAULT, **traits):
        super().__init__(payload=timeline_bytes(timeline, log=log, options={"lang": lang}), state=state or {}, **traits)
