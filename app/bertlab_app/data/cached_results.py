"""Results that are computed from those of `Session`, in caches that all users of the app share.

The key of a cached result consists of the arguments of the cached function. Streamlit leaves an argument out of the key
if its name begins with an underscore.
"""

import streamlit as st

from bertlab.abilities.attention import summary as attention_summary
from bertlab.abilities.attention.summary import AttentionSummary
from bertlab.abilities.compare.compute import Comparison, compare
from bertlab.abilities.compare.side_by_side import ModelView, view_model
from bertlab.abilities.results import AttentionMap
from bertlab.views import payload
from bertlab_app import calls
from bertlab_app.data.sessions import CheckpointKey, open_session, record_request


@st.cache_data(max_entries=64, show_spinner=False)
def find_most_striking_weight(checkpoint: CheckpointKey, first: str, second: str | None = None) -> AttentionSummary:
    """Find the attention weight that is furthest above the mean of its head for tokens at the same distance.

    The result is cached. The arguments are those of `Session.attention`.
    """
    return attention_summary.find_most_striking_weight(calls.compute(checkpoint, "attention", first, second or None))


@st.cache_resource(max_entries=8, show_spinner=False)
def pack_attention(
    checkpoint: CheckpointKey, first: str, second: str | None, _attention: AttentionMap
) -> payload.AttentionPack:
    """Pack the result of `Session.attention` for the canvas view: 40 MB for 512 tokens and 12 x 12 heads."""
    return payload.AttentionPack(_attention)


def view_checkpoints(
    checkpoints: tuple[CheckpointKey, ...], text: str, top_k: int, originals: tuple[str, ...]
) -> tuple[ModelView, ...]:
    """Compute the tokens, attention and candidates of several checkpoints for one sentence. Each result is cached."""
    record_request(checkpoints[0], text)
    return tuple(_view_cached(checkpoint, text, top_k, originals) for checkpoint in checkpoints)


@st.cache_data(max_entries=64, show_spinner=False)
def _view_cached(checkpoint: CheckpointKey, text: str, top_k: int, originals: tuple[str, ...]) -> ModelView:
    return view_model(open_session(checkpoint), text, top_k, originals)


def compare_checkpoints(
    first: CheckpointKey,
    second: CheckpointKey,
    text: str,
    pair: str | None = None,
    other: str | None = None,
    other_pair: str | None = None,
) -> Comparison:
    """Return the cached result of `explore.compare.compare`, which takes sessions instead of checkpoints."""
    record_request(first, text, pair, *(() if other is None else (other, other_pair)), other=second)
    return _compare_cached(first, second, text, pair, other, other_pair)


@st.cache_resource(max_entries=4, show_spinner=False)
def _compare_cached(first: CheckpointKey, second: CheckpointKey, *texts: str | None) -> Comparison:
    return compare(open_session(first), open_session(second), *texts)
