"""The results of the methods of `Session`, in caches that all users of the app share.

The key of a cached result consists of the arguments of the cached function. Streamlit leaves an argument out of the key
if its name begins with an underscore.
"""

import inspect
from collections.abc import Callable
from functools import cache

import streamlit as st

from bertlab.abilities.attention import summary as attention_summary
from bertlab.abilities.attention.summary import AttentionSummary
from bertlab.abilities.compare.compute import Comparison, compare
from bertlab.abilities.compare.side_by_side import ModelView, view_model
from bertlab.abilities.results import AttentionMap
from bertlab.session import Session
from bertlab.views import payload
from bertlab_app.data import stepwise_results
from bertlab_app.data.sessions import CheckpointKey, open_session, record_request

# How many results of a method are kept. Attention takes up to 150 MB for 512 tokens; two are enough for thirty
# students whose pages show the same head.
NUM_CACHED = {"attention": 2, "neuron": 2, "sentence_vectors": 8, "xray": 16}


def compute(checkpoint: CheckpointKey, method: str, *values, progress: Callable | None = None, **options):
    """Return the cached result of `Session.METHOD(*values, **options)`; `calls.call_session` adds the code."""
    # the first argument of `intervene` and `head_effects` is the task type
    texts = values[1:] if method in ("intervene", "head_effects") else values
    record_request(checkpoint, *(text for text in texts[:2] if isinstance(text, str)))
    if method in stepwise_results.METHODS:
        return stepwise_results.METHODS[method](checkpoint, *values, progress=progress, **options)
    # Streamlit cannot draw a progress bar from a cached function, so the cache holds lists that are filled here
    slot = _make_cache(NUM_CACHED.get(method, 256))(checkpoint, method, values, tuple(sorted(options.items())))
    if not slot:
        if progress and "progress" in inspect.signature(getattr(Session, method)).parameters:
            options["progress"] = progress
        slot.append(getattr(open_session(checkpoint), method)(*values, **options))
    return slot[0]


@cache
def _make_cache(max_entries: int) -> Callable[..., list]:
    def make_slot(checkpoint: CheckpointKey, method: str, values: tuple, options: tuple) -> list:
        return []

    make_slot.__qualname__ += f"_{max_entries}"  # Streamlit tells caches apart by the name of the function
    return st.cache_resource(max_entries=max_entries, show_spinner=False)(make_slot)


@st.cache_data(max_entries=64, show_spinner=False)
def find_most_striking_weight(checkpoint: CheckpointKey, first: str, second: str | None = None) -> AttentionSummary:
    """Find the attention weight that is furthest above the mean of its head for tokens at the same distance.

    The result is cached. The arguments are those of `Session.attention`.
    """
    return attention_summary.find_most_striking_weight(compute(checkpoint, "attention", first, second or None))


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
