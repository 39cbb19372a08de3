"""The results of the methods of `Session`, in caches that all users of the app share.

The key of a cached result consists of the arguments of the cached function. Streamlit leaves an argument out of the key
if its name begins with an underscore.
"""

from collections.abc import Callable

import streamlit as st

from bertlab.abilities.attention import summary as attention_summary
from bertlab.abilities.attention.summary import AttentionSummary
from bertlab.abilities.compare.compute import Comparison, compare
from bertlab.abilities.compare.side_by_side import ModelView, view_model
from bertlab.abilities.results import AttentionMap, NeuronMap
from bertlab.views import payload
from bertlab_app.data import stepwise_results
from bertlab_app.data.sessions import CheckpointKey, open_session, record_request


def compute(checkpoint: CheckpointKey, method: str, *values, progress: Callable | None = None, **options):
    """Return the cached result of `Session.METHOD(*values, **options)`.

    `calls.call_session` returns the same result together with the Python code that computes it.

    Args:
        checkpoint: the checkpoint to open.
        method: the name of the method.
        values: its positional arguments.
        progress: reports the progress of the methods in `stepwise_results.METHODS`; other methods ignore it. It wraps
            the sequence of the parts of the computation, as `frame.progress_bar` does. A part is a window of a passage,
            or a group of random draws, texts, sentences or inputs; parts whose result is cached are left out. In the
            case of `head_effects`, `progress` is called after each layer with the share of the layers that are
            finished, from 0 to 1.
        options: its keyword arguments.

    Raises:
        BertlabError: the checkpoint cannot be opened, or the method raises an error.
    """
    # the first argument of `intervene` and `head_effects` is the task type
    texts = values[1:] if method in ("intervene", "head_effects") else values
    record_request(checkpoint, *(text for text in texts[:2] if isinstance(text, str)))
    if method == "attention":
        return compute_attention(checkpoint, *values, **options)
    if method == "neuron":
        return _compute_neuron(checkpoint, *values, **options)
    if method in stepwise_results.METHODS:
        return stepwise_results.METHODS[method](checkpoint, *values, progress=progress, **options)
    if method == "pretraining_example":
        example = _compute_cached(checkpoint, method, *values, **options)
        stepwise_results.store_draw_losses(checkpoint, values[0], example.seed, example.losses, **options)
        return example
    return _compute_cached(checkpoint, method, *values, **options)


@st.cache_data(max_entries=256, show_spinner=False)
def _compute_cached(checkpoint: CheckpointKey, method: str, *values, **options):
    """Call a method of `Session`. The result is cached."""
    return getattr(open_session(checkpoint), method)(*values, **options)


@st.cache_resource(max_entries=2, show_spinner=False)
def _compute_neuron(checkpoint: CheckpointKey, *texts: str | None, **options) -> NeuronMap:
    # a result takes several MB, so only two are cached: enough for thirty students whose pages show the same head
    return open_session(checkpoint).neuron(*texts, **options)


@st.cache_resource(max_entries=2, show_spinner=False)
def compute_attention(checkpoint: CheckpointKey, first: str, second: str | None = None) -> AttentionMap:
    """Compute the attention of every head for one input. The result is cached.

    Args:
        checkpoint: the checkpoint.
        first: the text.
        second: the second text; None or "" if there is no second text.

    Raises:
        BertlabError: the checkpoint cannot be opened, or the input is empty or too long for the model.
    """
    # a result takes up to 150 MB for 512 tokens, so only two of them are cached, and they are not copied
    return open_session(checkpoint).attention(first, second or None)


@st.cache_data(max_entries=64, show_spinner=False)
def find_most_striking_weight(checkpoint: CheckpointKey, first: str, second: str | None = None) -> AttentionSummary:
    """Find the attention weight that is furthest above the mean of its head for tokens at the same distance.

    The result is cached. The arguments and errors are those of `compute_attention`.
    """
    return attention_summary.find_most_striking_weight(compute_attention(checkpoint, first, second))


@st.cache_resource(max_entries=8, show_spinner=False)
def pack_attention(
    checkpoint: CheckpointKey, first: str, second: str | None, _attention: AttentionMap
) -> payload.AttentionPack:
    """Pack the result of `compute_attention` for the canvas view: 40 MB for 512 tokens and 12 x 12 heads."""
    return payload.AttentionPack(_attention)


def view_checkpoints(
    checkpoints: tuple[CheckpointKey, ...], text: str, top_k: int, originals: tuple[str, ...]
) -> tuple[ModelView, ...]:
    """Compute the tokens, attention and candidates of several checkpoints for one sentence. Each result is cached.

    Args:
        checkpoints: the checkpoints.
        text: the sentence.
        top_k: how many candidates to compute for each [MASK].
        originals: the words that were replaced by [MASK], in text order.

    Raises:
        BertlabError: a checkpoint cannot be opened, or `explore.side_by_side.view_model` raises an error.
    """
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
    """Return the cached result of `explore.compare.compare`, which takes sessions instead of checkpoints.

    Raises:
        BertlabError: a checkpoint cannot be opened, or `explore.compare.compare` raises an error.
    """
    record_request(first, text, pair, *(() if other is None else (other, other_pair)), other=second)
    return _compare_cached(first, second, text, pair, other, other_pair)


@st.cache_resource(max_entries=4, show_spinner=False)
def _compare_cached(first: CheckpointKey, second: CheckpointKey, *texts: str | None) -> Comparison:
    return compare(open_session(first), open_session(second), *texts)
