"""Components of the Before and after page: differences by head, by layer and by token.

Shape legend: L layers, N attention heads, U compared units (tokens or words).
"""

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bertlab.abilities.compare import figures as differences
from bertlab.abilities.compare.compute import Comparison, compare
from bertlab.config.config import ModelConfig
from bertlab.views import columns
from bertlab_app import calls, display, fields, frame, plots, sentences
from bertlab_app.data import cached_results, sessions
from bertlab_app.i18n import language, t

MAX_LISTED_WORDS = 12  # further words that two vocabularies split differently are only counted
MAX_SAVED_TOKENS = 100  # for longer texts, the CSV files contain only what the figures show, not all token pairs


def compare_inputs(
    first: sessions.CheckpointKey,
    second: sessions.CheckpointKey,
    texts: tuple[str, str],
    second_texts: tuple[str, str] | None,
) -> calls.Expression:
    """Compare two checkpoints on the same input, or one checkpoint on two inputs."""
    # `cached_results.compare_checkpoints`, the cached version of `compare`, takes checkpoints instead of sessions
    session = calls.Expression(first, "session", checkpoint=first)
    other = calls.Expression(second, "other", (f"other = bertlab.load({sessions.loadable_name(second)!r})",))
    arguments = [texts[0], texts[1] or None, *((second_texts[0], second_texts[1] or None) if second_texts else ())]
    call = calls.call_function(compare, session, other, *arguments, compute_with=cached_results.compare_checkpoints)
    return calls.assign("comparison", call)


def show_alignment(comparison: Comparison, *, compares_texts: bool) -> None:
    """Show notes about the compared units: whether they are words instead of tokens, and how many are left out."""
    if comparison.unit_kind == "words":
        frame.note(t("compare-by-word"))
        _list_words_split_differently(comparison)
    first, second = comparison.num_left_out
    if first or second:
        frame.note(t("compare-tokens-left-out", first=first, second=second))
    elif compares_texts:
        # one of the two notes is always shown, so that the figures do not move while the user types
        frame.note(t("compare-same-length"))


def _list_words_split_differently(comparison: Comparison) -> None:
    """List the words that the two vocabularies split differently, with their tokens in each vocabulary."""
    units = {unit.label: unit for unit in comparison.units if unit.is_split_differently}
    if not units:
        frame.note(t("compare-words-split-alike"))
        return
    listed_units = list(units.values())[:MAX_LISTED_WORDS]
    display.table(
        {
            t("compare-split-word"): [unit.label for unit in listed_units],
            t("compare-checkpoint-before"): [" ".join(unit.first_tokens) for unit in listed_units],
            t("compare-checkpoint-after"): [" ".join(unit.second_tokens) for unit in listed_units],
        }
    )
    if len(units) > len(listed_units):
        frame.note(t("compare-more-words-split", count=len(units) - len(listed_units)))


def draw_heads(comparison: calls.Expression, config: ModelConfig) -> None:
    """Draw how much every head differs, and how the attention of one head differs.

    The user chooses this head in two fields; by default, it is the head that differs most.
    """
    result = comparison.result
    if not result.has_comparable_heads:
        frame.note(t("compare-different-head-counts"))
        return
    most_different_head = np.unravel_index(int(result.js_LN.argmax()), result.js_LN.shape)
    left, right = st.columns(2, gap="large")
    with right:
        st.subheader(t("compare-head"), anchor=False)
        chosen_head = fields.layer_and_head(config, tuple(map(int, most_different_head)), "compare.")
        _draw_figure("head", differences.head_difference, comparison, *chosen_head, lang=language())
        display.sentence(sentences.compared_head(result, *chosen_head))
    with left:
        st.subheader(t("compare-heads"), anchor=False, help=t("compare-heads-help"))
        figure = differences.head_differences
        _draw_figure("heads", figure, comparison, chosen=chosen_head, lang=language(), on_click=_choose_head)
        display.sentence(sentences.compared_heads(result))
    display.explain("js_distance", "attention_difference")


def draw_layers(comparison: calls.Expression) -> None:
    """Draw the difference of every layer, and the tokens whose hidden states differ most.

    If the two models have different numbers of layers or hidden sizes, every layer of one is compared with every layer
    of the other.
    """
    result = comparison.result
    if result.cosine_distance_LU is None:
        st.subheader(t("compare-layers"), anchor=False)
        _draw_figure("similarity", differences.layer_similarity, comparison, lang=language())
        display.sentence(sentences.compared_layers(result))
        display.explain("cka")
        return
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(t("compare-layers"), anchor=False)
        _draw_figure("drift", differences.layer_differences, comparison, lang=language())
        display.sentence(sentences.compared_layers(result))
    with right:
        st.subheader(t(f"compare-changed-{result.unit_kind}"), anchor=False)
        last_index = len(result.cosine_distance_LU) - 1
        hidden_index = fields.hidden_state(st.select_slider, t("compare-at-layer"), last_index, last_index, key="moved")
        _draw_figure("moved-most", differences.most_changed_tokens, comparison, hidden_index, lang=language())
        display.sentence(sentences.changed_tokens(result, hidden_index))
    display.explain("cka", "cosine_distance")


def _choose_head(customdata: list) -> None:
    """Set the fields of the layer and the head to the clicked head."""
    fields.set_layer_and_head(*customdata[:2], "compare.")


def _draw_figure(
    key: str,
    function: Callable[..., go.Figure],
    comparison: calls.Expression,
    *values,
    on_click: Callable[[list], None] | None = None,
    **options,
) -> None:
    result = comparison.result
    # all token pairs of a long text would slow the page down
    data = getattr(columns, function.__name__)(result, *values) if len(result.units) <= MAX_SAVED_TOKENS else None
    plots.draw(key, function, comparison, *values, data=data, on_click=on_click, **options)
