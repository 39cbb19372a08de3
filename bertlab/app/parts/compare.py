"""The parts of the comparison page: differences by head, by layer and by token. Computes nothing."""

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bertlab.app import display, fields, frame, plots
from bertlab.app.data import sessions
from bertlab.app.i18n import t
from bertlab.config.config import ModelConfig
from bertlab.explore.compare import Comparison
from bertlab.views import columns, differences

MAX_SAVED_TOKENS = 100  # the page of a longer text does not contain the data of its figures


def steps(second: sessions.Checkpoint, texts: tuple[str, str], others: tuple[str, str] | None) -> list[str]:
    """The Python lines that compute the comparison, for the code of the figures."""
    arguments = [texts[0], texts[1] or None, *((others[0], others[1] or None) if others else ())]
    return [
        "from bertlab.explore.compare import compare",
        "from bertlab.views import differences",
        f"other = bertlab.load({sessions.short_name(second)!r})",
        f"found = compare(session, other, {', '.join(map(repr, arguments))})",
    ]


def remarks(found: Comparison, *, of_inputs: bool) -> None:
    """Show notes on what could not be compared token by token."""
    if found.by == "words":
        frame.note(t("compare-words"))
    first, second = found.left_out
    if first or second:
        frame.note(t("compare-left-out", first=first, second=second))
    elif of_inputs:
        frame.note(t("compare-whole"))  # also one line, so that the figures do not move


def heads(found: Comparison, config: ModelConfig, first: sessions.Checkpoint, code: list[str]) -> None:
    """Show the difference of every head, and one head in full: by default the one that differs most."""
    if not found.same_heads:
        frame.note(t("compare-other-heads"))
        return
    most = np.unravel_index(int(found.js_LN.argmax()), found.js_LN.shape)
    left, right = st.columns(2, gap="large")
    with right:
        st.subheader(t("compare-head"), anchor=False)
        chosen = fields.layer_and_head(config, tuple(map(int, most)), "compare.")
        _draw(differences.head_difference, found, (first, code), "head", *chosen, label=t("compare-less-more"))
    with left:
        st.subheader(t("compare-heads"), anchor=False, help=t("compare-heads-help"))
        labels = (t("layer"), t("head"), t("compare-farther"))
        _draw(
            differences.head_differences, found, (first, code), "heads", chosen=chosen, labels=labels,
            on_click=_choose_head,
        )  # fmt: skip
    display.explain("js_distance", "attention_difference")


def layers(found: Comparison, first: sessions.Checkpoint, code: list[str]) -> None:
    """Show the drift by layer and the tokens that moved most; unpaired layers are compared each with each."""
    if found.drift_LU is None:
        st.subheader(t("compare-layers"), anchor=False)
        axes, embeddings = (t("compare-layer-second"), t("compare-layer-first")), t("depth-embeddings")
        _draw(differences.layer_similarity, found, (first, code), "similarity", axes=axes, embeddings=embeddings)
        display.explain("cka")
        return
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(t("compare-layers"), anchor=False)
        labels = (t("compare-cka"), t("compare-drift"))
        words = {"axis": t("compare-layer"), "embeddings": t("depth-embeddings")}
        _draw(differences.layer_drift, found, (first, code), "drift", labels=labels, **words)
    with right:
        st.subheader(t("compare-moved"), anchor=False)
        last = len(found.drift_LU) - 1
        layer = fields.hidden_state(st.select_slider, t("compare-at"), last, last, key="moved")
        _draw(differences.moved_most, found, (first, code), "moved-most", layer, axis=t("compare-drift"))
    display.explain("cka", "cosine_drift")


def _choose_head(place: list) -> None:
    """Select the clicked head."""
    for part, value in zip(("layer", "head"), place[:2], strict=True):
        st.session_state[f"neuron.compare.{part}"] = int(value)


def _draw(
    figure: Callable[..., go.Figure], found: Comparison, source: tuple[sessions.Checkpoint, list[str]], key: str,
    *values, on_click: Callable[[list], None] | None = None, **options,
) -> None:  # fmt: skip
    """Draw a figure, with the Python lines that draw it again."""
    first, code = source
    arguments = "".join(f", {value!r}" for value in values) + "".join(f", {name}={options[name]!r}" for name in options)
    lines = plots.python_lines(first, *code, f"figure = differences.{figure.__name__}(found{arguments})")
    # every pair of tokens of a long text would slow the page down: the browser then saves the data it drew
    data = getattr(columns, figure.__name__)(found, *values) if len(found.units) <= MAX_SAVED_TOKENS else None
    plots.show(figure(found, *values, **options), key=key, code=lines, data=data, on_click=on_click)
