"""The parts of the comparison page: differences by head, by layer and by token. Computes nothing."""

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bertlab.app import calls, display, fields, frame, plots
from bertlab.app.data import sessions
from bertlab.app.i18n import language, t
from bertlab.config.config import ModelConfig
from bertlab.explore.compare import Comparison, compare
from bertlab.views import columns, differences

MAX_SAVED_TOKENS = 100  # the page of a longer text does not contain the data of its figures


def compare_inputs(
    first: sessions.Checkpoint, second: sessions.Checkpoint, texts: tuple[str, str], others: tuple[str, str] | None
) -> calls.Expression:
    """Compare two checkpoints on one input, or on one input each.

    Args:
        first: the checkpoint of one side.
        second: the checkpoint of the other side.
        texts: the input of both sides, or of the first.
        others: the input of the second side; None for the same one.

    Raises:
        BertlabError: what `explore.compare.compare` raises.
    """
    # `sessions.compare_checkpoints` takes the checkpoints where `compare` takes their sessions
    session = calls.Expression(first, "session", checkpoint=first)
    other = calls.Expression(second, "other", (f"other = bertlab.load({sessions.short_name(second)!r})",))
    arguments = [texts[0], texts[1] or None, *((others[0], others[1] or None) if others else ())]
    call = calls.call_function(compare, session, other, *arguments, implementation=sessions.compare_checkpoints)
    return calls.assign("comparison", call)


def notes(found: Comparison, *, of_inputs: bool) -> None:
    """Show notes on what could not be compared token by token."""
    if found.by == "words":
        frame.note(t("compare-by-word"))
    first, second = found.left_out
    if first or second:
        frame.note(t("compare-tokens-left-out", first=first, second=second))
    elif of_inputs:
        frame.note(t("compare-same-length"))  # also one line, so that the figures do not move


def heads(comparison: calls.Expression, config: ModelConfig) -> None:
    """Show the difference of every head, and one head in full: by default the one that differs most."""
    found = comparison.result
    if not found.same_heads:
        frame.note(t("compare-different-head-counts"))
        return
    most = np.unravel_index(int(found.js_LN.argmax()), found.js_LN.shape)
    left, right = st.columns(2, gap="large")
    with right:
        st.subheader(t("compare-head"), anchor=False)
        chosen = fields.layer_and_head(config, tuple(map(int, most)), "compare.")
        _draw("head", differences.head_difference, comparison, *chosen, lang=language())
    with left:
        st.subheader(t("compare-heads"), anchor=False, help=t("compare-heads-help"))
        figure = differences.head_differences
        _draw("heads", figure, comparison, chosen=chosen, lang=language(), on_click=_choose_head)
    display.explain("js_distance", "attention_difference")


def layers(comparison: calls.Expression) -> None:
    """Show the drift by layer and the tokens that moved most; unpaired layers are compared each with each."""
    found = comparison.result
    if found.drift_LU is None:
        st.subheader(t("compare-layers"), anchor=False)
        _draw("similarity", differences.layer_similarity, comparison, lang=language())
        display.explain("cka")
        return
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(t("compare-layers"), anchor=False)
        _draw("drift", differences.layer_drift, comparison, lang=language())
    with right:
        st.subheader(t("compare-changed-tokens"), anchor=False)
        last = len(found.drift_LU) - 1
        layer = fields.hidden_state(st.select_slider, t("compare-at-layer"), last, last, key="moved")
        _draw("moved-most", differences.most_changed_tokens, comparison, layer, lang=language())
    display.explain("cka", "cosine_distance")


def _choose_head(place: list) -> None:
    """Select the clicked head."""
    for part, value in zip(("layer", "head"), place[:2], strict=True):
        st.session_state[f"neuron.compare.{part}"] = int(value)


def _draw(
    key: str,
    function: Callable[..., go.Figure],
    comparison: calls.Expression,
    *values,
    on_click: Callable[[list], None] | None = None,
    **options,
) -> None:
    """Draw a figure of the comparison with the columns of its CSV file."""
    found = comparison.result
    # every pair of tokens of a long text would slow the page down: the browser then saves the data it drew
    data = getattr(columns, function.__name__)(found, *values) if len(found.units) <= MAX_SAVED_TOKENS else None
    plots.draw(key, function, comparison, *values, data=data, on_click=on_click, **options)
