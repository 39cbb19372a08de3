"""The canvas views as widgets of JupyterLab: `AttentionWidget(session.attention(text))` in the last line of a cell.

Knows nothing of models; a widget holds one fact and the view's state, which follows the reader's choices both ways.
"""

import anywidget
import traitlets

from bertlab.explore.facts import AttentionMap, NeuronMap
from bertlab.views import assets
from bertlab.views.payload import WHOLE, attention_bytes, neuron_bytes


class AttentionWidget(anywidget.AnyWidget):
    """An AttentionMap to look at. `state` is what the reader sees, and can be set: `widget.state = {"layer": 3,
    "heads": [5]}`.
    """

    _esm = assets.hosted("attention", "jupyter")
    _css = assets.css()
    payload = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, attention: AttentionMap, *, state: dict | None = None, lang: str = "en", **options):
        self._attention = attention
        self._options = {"lang": lang}
        state = state or {}
        super().__init__(payload=self._pack(state), state=state, **options)
        self.observe(self._fetch, "state")

    def show(self, attention: AttentionMap) -> None:
        """Draw another input in the same place; the reader's choices stay."""
        self._attention = attention
        self.payload = self._pack(self.state)

    def _pack(self, state: dict) -> bytes:
        return attention_bytes(self._attention, layer=state.get("layer", 0), options=self._options)

    def _fetch(self, change) -> None:
        if change["new"].get("layer", 0) != change["old"].get("layer", 0) and (self._attention.probs_LNTT.size > WHOLE):
            self.payload = self._pack(change["new"])


class NeuronWidget(anywidget.AnyWidget):
    """A NeuronMap to look at; `state["token"]` is the position of the token that asks."""

    _esm = assets.hosted("neuron", "jupyter")
    _css = assets.css()
    payload = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, neuron: NeuronMap, *, state: dict | None = None, lang: str = "en", **options):
        super().__init__(payload=neuron_bytes(neuron, options={"lang": lang}), state=state or {}, **options)
