"""Checkpoints and the results of their models, in caches that all users of the app share.

A cached model is immutable, so many threads can use it at once. The key of a cached result consists of the arguments of
the cached function. Streamlit leaves an argument out of the key if its name begins with an underscore.
"""

import json
import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
import torch

import bertlab
from bertlab.app import access
from bertlab.checkpoints.files import read_config
from bertlab.checkpoints.locate import resolve_run
from bertlab.config.config import ModelConfig
from bertlab.config.languages import DEFAULT
from bertlab.explore import attention_summary, interventions
from bertlab.explore.attention_summary import AttentionSummary
from bertlab.explore.compare import Comparison, compare
from bertlab.explore.pretraining_results import DrawLosses
from bertlab.explore.results import AttentionMap, HeadEffects, NeuronMap, SpanXray
from bertlab.explore.sentence_vectors import SentenceVectors
from bertlab.explore.session import Session
from bertlab.explore.side_by_side import ModelView, view_model
from bertlab.explore.summary import Summary
from bertlab.views import bertviz_view, html, live, payload

AUTO = "auto"  # the menu option that lets the app pick the checkpoint that suits the page
MAX_ANSWERS = 10  # the number of candidate answers that the pages about questions compute
DRAWS_PER_GROUP = 5  # random draws per step of the progress bar on the page Pre-training by hand
WINDOWS_PER_BATCH = 2  # windows of a passage per step of the progress bar; larger batches are no faster on one core


@dataclass(frozen=True)
class CheckpointKey:
    """The identity of a checkpoint, used as a cache key."""

    source: str
    """Its directory or hub id."""
    modified_at: float
    """When its files were last changed, in seconds since 1970; 0 for a hub id."""


def find_checkpoint(name: str) -> CheckpointKey:
    """Find a checkpoint without opening it.

    Args:
        name: the name of a shipped checkpoint, a directory, or a hub id.

    Raises:
        CheckpointError: visitors are not allowed to open it.
    """
    access.check_checkpoint(name)
    path = Path(os.path.expanduser(bertlab.shipped().get(name, name)))
    files = [
        resolve_run(path) / file for file in ("config.json", "model.safetensors", "pytorch_model.bin", "bertlab.json")
    ]
    return CheckpointKey(
        str(path) if os.path.isdir(path) else name, max(read_modification_time(file) for file in files)
    )


def loadable_name(checkpoint: CheckpointKey) -> str:
    """Return what `bertlab.load` accepts for a checkpoint: the name of a shipped one, a directory, or a hub id."""
    return next((name for name, path in bertlab.shipped().items() if str(path) == checkpoint.source), checkpoint.source)


def select_checkpoint(command: str, language: str = DEFAULT) -> CheckpointKey:
    """Select the shipped checkpoint that suits a command best.

    Args:
        command: the name of a command such as "fill-mask", as in `bertlab.default_checkpoint`.
        language: the preferred language. If no checkpoint for this language is shipped, an English one is selected.

    Raises:
        CheckpointError: no shipped checkpoint supports the command.
    """
    return find_checkpoint(str(bertlab.default_checkpoint(command, language)))


def read_modification_time(file: Path) -> float:
    """Read when a file was last changed, in seconds since 1970. Return 0 if the file cannot be accessed."""
    try:
        return file.stat().st_mtime
    except (OSError, ValueError):
        return 0.0


# Enough for the checkpoints that the pages open in one language: a visit to all pages then opens each of them once.
@st.cache_resource(max_entries=8, show_spinner=False)
def open_session(checkpoint: CheckpointKey) -> Session:
    """Open a checkpoint. All users share the session.

    Raises:
        CheckpointError: the checkpoint is missing, damaged, or has an unsupported architecture.
    """
    # All users share the cores. With one core per forward pass, the sum of their waiting times is shortest.
    torch.set_num_threads(1)
    return bertlab.load(checkpoint.source)


def read_description(name: str) -> tuple[ModelConfig, dict]:
    """Read the configuration and the `bertlab.json` of a shipped checkpoint, but not its weights.

    Args:
        name: the name of the checkpoint.

    Returns:
        The configuration, and the contents of `bertlab.json`; {} if that file is missing or damaged.

    Raises:
        CheckpointError: the configuration is missing or damaged.
        KeyError: no shipped checkpoint has this name.
    """
    path = Path(bertlab.shipped()[name])
    try:
        record = json.loads((path / "bertlab.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = {}
    return read_config(path), record


def _record_request(checkpoint: CheckpointKey, *texts: str | None, other: CheckpointKey | None = None) -> None:
    """Record the checkpoints and texts of a request, which the saved files of the figures drawn next will contain."""
    st.session_state["figures.request"] = describe_request(checkpoint, *texts, other=other)


def describe_request(
    checkpoint: CheckpointKey, *texts: str | None, other: CheckpointKey | None = None
) -> dict[str, str]:
    """Describe a request by its checkpoints and texts.

    Args:
        checkpoint: the checkpoint.
        texts: the texts; None and "" are left out.
        other: the second checkpoint of a comparison; None if only one checkpoint is used.

    Returns:
        {name of a column: its value}. The saved files of a figure contain these columns.
    """
    names = {"checkpoint": loadable_name(checkpoint)}
    if other is not None and other != checkpoint:
        names["second_checkpoint"] = loadable_name(other)
    return names | {f"text_{number}" if number > 1 else "text": text for number, text in enumerate(texts, 1) if text}


def latest_request() -> dict[str, str]:
    """Return the description of the latest request in this run of the page; {} before the first request."""
    return st.session_state.get("figures.request", {})


def compute(checkpoint: CheckpointKey, method: str, *values, progress: Callable | None = None, **options):
    """Return the cached result of `Session.METHOD(*values, **options)`. `calls.call_session` adds its Python code.

    Args:
        checkpoint: the checkpoint to open.
        method: the name of the method.
        values: its positional arguments.
        progress: reports the progress of seven methods; the others ignore it. For `xray`, `pretraining_losses`,
            `sentence_vectors`, `summarise`, `surprise` and `suggest_corrections` it wraps the sequence of the parts
            that are computed one after another, as `frame.progress_bar` does: the windows, or groups of draws, texts,
            sentences or inputs that are not cached yet. For `head_effects` it is called after each layer with the
            share of the layers that are finished, from 0 to 1.
        options: its keyword arguments.

    Raises:
        BertlabError: the checkpoint cannot be opened, or the method raises the error.
    """
    # the first argument of these two methods is the task type
    texts = values[1:] if method in ("intervene", "head_effects") else values
    _record_request(checkpoint, *(text for text in texts[:2] if isinstance(text, str)))
    if method == "attention":
        return compute_attention(checkpoint, *values, **options)
    if method == "neuron":
        return _compute_neuron(checkpoint, *values, **options)
    if method == "xray":
        return compute_xray(checkpoint, *values, progress=progress, **options)
    if method == "head_effects":
        return compute_head_effects(checkpoint, values, on_progress=progress, **options)
    if method == "pretraining_example":
        example = _compute_cached(checkpoint, method, *values, **options)
        _cached_draw_losses(checkpoint, values[0], tuple(sorted(options.items())))[example.draw] = example.losses
        return example
    if method == "sentence_vectors":
        return compute_vectors(checkpoint, *values, progress=progress, **options)
    if method == "summarise":
        return compute_summary(checkpoint, *values, progress=progress, **options)
    if method in ("surprise", "suggest_corrections"):
        cached = _cached_writing(checkpoint, method, values, tuple(sorted(options.items())))
        if not cached:
            cached.append(getattr(open_session(checkpoint), method)(*values, progress=progress or iter, **options))
        return cached[0]
    if method == "pretraining_losses":
        return compute_pretraining_losses(checkpoint, *values, progress=progress, **options)
    return _compute_cached(checkpoint, method, *values, **options)


@st.cache_data(max_entries=256, show_spinner=False)
def _compute_cached(checkpoint: CheckpointKey, method: str, *values, **options):
    return getattr(open_session(checkpoint), method)(*values, **options)


# -- attention -------------------------------------------------------------------------------------------------


@st.cache_resource(max_entries=2, show_spinner=False)
def _compute_neuron(checkpoint: CheckpointKey, *texts: str | None, **options) -> NeuronMap:
    # a result takes several MB and is computed in milliseconds, but a class asks for the same one thirty times
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
def find_telling_attention(checkpoint: CheckpointKey, first: str, second: str | None = None) -> AttentionSummary:
    """Find the attention weight that stands out most in one input. The result is cached.

    The arguments and errors are those of `compute_attention`.
    """
    return attention_summary.find_telling_attention(compute_attention(checkpoint, first, second))


@st.cache_resource(max_entries=8, show_spinner=False)
def pack_attention(
    checkpoint: CheckpointKey, first: str, second: str | None, _attention: AttentionMap
) -> payload.AttentionPack:
    """Pack the result of `compute_attention` for the canvas view: 40 MB for 512 tokens and 12 x 12 heads."""
    return payload.AttentionPack(_attention)


@st.cache_data(max_entries=8, show_spinner=False)
def render_bertviz(
    checkpoint: CheckpointKey, first: str, second: str | None, view: str, layer: int, head: int, lang: str
) -> str:
    """Render the HTML page of one of bertviz's views for one input.

    Args:
        checkpoint: the checkpoint.
        first: the text.
        second: the second text; None if there is no second text.
        view: "head", "model" or "neuron".
        layer: the layer that is shown initially.
        head: the head that is shown initially.
        lang: the language of the HTML page.

    Raises:
        BertlabError: the checkpoint cannot be opened, or the input is empty or too long for the model or this view.
    """
    if view == "neuron":
        vectors = compute(checkpoint, "head_vectors", first, second)
        return bertviz_view.neuron_view_html(vectors, layer=layer, head=head, lang=lang)
    attention = compute_attention(checkpoint, first, second)
    if view == "model":
        return bertviz_view.model_view_html(attention, lang=lang)
    return bertviz_view.head_view_html(attention, layer=layer, lang=lang)


def render_attention_page(checkpoint: CheckpointKey, first: str, second: str | None, options: dict) -> str:
    """Render the attention view as one offline HTML file. Its title contains the checkpoint and the texts."""
    title = _make_title(checkpoint, first, second)
    return html.attention_html(compute_attention(checkpoint, first, second), title=title, options=options)


@st.cache_data(max_entries=16, show_spinner=False)
def can_render_live_page(checkpoint: CheckpointKey) -> bool:
    """Whether a checkpoint can become one HTML file that runs it."""
    return live.can_export(open_session(checkpoint))


def render_live_page(checkpoint: CheckpointKey) -> str:
    """Render a checkpoint as one HTML file that runs it in the browser."""
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


# -- long computations -----------------------------------------------------------------------------------------


def compute_head_effects(
    checkpoint: CheckpointKey, values: tuple, mask: int = 0, on_progress: Callable[[float], None] | None = None
) -> HeadEffects:
    """Compute the effect of every head on one prediction, layer by layer.

    Finished layers are cached, so that an interrupted computation continues where it stopped.

    Args:
        checkpoint: the checkpoint.
        values: the positional arguments of `Session.head_effects`.
        mask: the index of the [MASK] of the text that is predicted, counted from 0.
        on_progress: called after each layer with the share of the layers that are finished, from 0 to 1.

    Raises:
        BertlabError: the checkpoint cannot be opened, or `Session.head_effects` raises the error.
    """
    _record_request(checkpoint, *values[1:])
    by_layer = _cached_effects_by_layer(checkpoint, values, mask)
    layers = open_session(checkpoint).config.num_layers
    missing = [layer for layer in range(layers) if layer not in by_layer]
    if missing:
        for part in open_session(checkpoint).head_effects_by_layer(*values, mask=mask, layers=missing):
            by_layer[part.layers[0]] = part
            if on_progress:
                on_progress(len(by_layer) / layers)
    return interventions.join_effects([by_layer[layer] for layer in range(layers)])


@st.cache_resource(max_entries=64, show_spinner=False)
def _cached_effects_by_layer(checkpoint: CheckpointKey, values: tuple, mask: int) -> dict:
    """Return the dictionary in which `compute_head_effects` stores the effects of each layer."""
    return {}


def compute_pretraining_losses(
    checkpoint: CheckpointKey, text: str, draws: int, progress: Callable | None = None, **settings
) -> tuple[DrawLosses, ...]:
    """Compute the losses of the first draws of a pre-training example: random sentence pairs and masks of one document.

    Finished draws are cached, so that an additional draw takes one forward pass, and an interrupted computation
    continues where it stopped.

    Args:
        checkpoint: the checkpoint.
        text: the document.
        draws: the number of draws.
        progress: wraps the sequence of the groups of draws that are not cached yet, and reports the progress.
        settings: fields of `explore.pretraining_example.DrawSettings`.

    Returns:
        The losses of draws 1 to `draws`, in this order.

    Raises:
        BertlabError: the checkpoint cannot be opened, or `Session.pretraining_losses` raises the error.
    """
    _record_request(checkpoint, text)
    cached = _cached_draw_losses(checkpoint, text, tuple(sorted(settings.items())))
    missing = [number for number in range(1, draws + 1) if number not in cached]
    groups = [missing[first : first + DRAWS_PER_GROUP] for first in range(0, len(missing), DRAWS_PER_GROUP)]
    for group in (progress or iter)(groups):
        for losses in open_session(checkpoint).pretraining_losses(text, group, **settings):
            cached[losses.draw] = losses
    return tuple(cached[number] for number in range(1, draws + 1))


@st.cache_resource(max_entries=64, show_spinner=False)
def _cached_draw_losses(checkpoint: CheckpointKey, text: str, settings: tuple) -> dict[int, DrawLosses]:
    """Return the dictionary in which `compute_pretraining_losses` stores the losses of each draw."""
    return {}


def compute_vectors(
    checkpoint: CheckpointKey, lines: tuple[str, ...], progress: Callable | None = None
) -> SentenceVectors:
    """Compute the sentence vectors of some lines. The result is cached in memory, and each vector on the disk.

    Args:
        checkpoint: the checkpoint.
        lines: the lines.
        progress: wraps the sequence of groups of lines that have no vector yet, and reports the progress.

    Raises:
        BertlabError: the checkpoint cannot be opened, or a line has no tokens.
    """
    cached = _cached_vectors(checkpoint, lines)
    if not cached:
        cached.append(open_session(checkpoint).sentence_vectors(lines, progress=progress or iter))
    return cached[0]


@st.cache_resource(max_entries=8, show_spinner=False)
def _cached_vectors(checkpoint: CheckpointKey, lines: tuple[str, ...]) -> list:
    """Return the list in which `compute_vectors` stores its result."""
    return []


def compute_summary(
    checkpoint: CheckpointKey, text: str, num_sentences: int, progress: Callable | None = None, **options
) -> Summary:
    """Choose the sentences that summarise a text. The result is cached in memory, and sentence vectors on the disk.

    Args:
        checkpoint: the checkpoint.
        text: the text.
        num_sentences: the maximum number of sentences.
        progress: wraps the sequence of groups of sentences that have no vector yet, and reports the progress.
        options: further keyword arguments of `Session.summarise`.

    Raises:
        BertlabError: the checkpoint cannot be opened, or the text has no sentence.
    """
    cached = _cached_summary(checkpoint, text, num_sentences, tuple(sorted(options.items())))
    if not cached:
        session = open_session(checkpoint)
        cached.append(session.summarise(text, num_sentences, progress=progress or iter, **options))
    return cached[0]


@st.cache_resource(max_entries=32, show_spinner=False)
def _cached_summary(checkpoint: CheckpointKey, text: str, num_sentences: int, options: tuple) -> list:
    """Return the list in which `compute_summary` stores its result."""
    return []


@st.cache_resource(max_entries=64, show_spinner=False)
def _cached_writing(checkpoint: CheckpointKey, method: str, values: tuple, options: tuple) -> list:
    """Return the list in which `compute` stores the result of a writing aid that reports its progress."""
    return []


def compute_xray(
    checkpoint: CheckpointKey, question: str, text: str, progress: Callable | None = None, n_best: int = MAX_ANSWERS
) -> SpanXray:
    """Find the answers to a question in a passage, with the scores behind them. Two pages share the cached result.

    Args:
        checkpoint: a checkpoint with the task head that predicts answer spans.
        question: the question.
        text: the passage.
        progress: wraps the sequence of windows of a long passage and reports the progress.
        n_best: the maximum number of answers.

    Returns:
        The result of `Session.xray`: the answers, their scores and the windows that they were found in.

    Raises:
        BertlabError: the checkpoint cannot be opened, or `Session.xray` raises the error.
    """
    _record_request(checkpoint, question, text)
    cached = _cached_xray(checkpoint, question, text, n_best)
    if not cached:
        options = {"batch_size": WINDOWS_PER_BATCH, "progress": progress or iter}
        cached.append(open_session(checkpoint).xray(question, text, n_best, **options))
    return cached[0]


@st.cache_resource(max_entries=16, show_spinner=False)
def _cached_xray(checkpoint: CheckpointKey, question: str, text: str, n_best: int) -> list:
    """Return the list in which `compute_xray` stores its result.

    `compute_xray` itself is not cached, because Streamlit could not draw a progress bar from a cached function.
    """
    return []


def count_tokens(checkpoint: CheckpointKey, text: str) -> int:
    """Count the tokens of a text of any length, without special tokens.

    Raises:
        CheckpointError: the checkpoint cannot be opened.
    """
    return len(open_session(checkpoint).tokenizer.encode_ids([text])[0])


def view_checkpoints(
    checkpoints: tuple[CheckpointKey, ...], text: str, top_k: int, originals: tuple[str, ...]
) -> tuple[ModelView, ...]:
    """Compute the tokens, attention and candidates of several checkpoints for one sentence. Each result is cached.

    Args:
        checkpoints: the checkpoints.
        text: the sentence.
        top_k: the number of candidates for each mask.
        originals: the words that the masks replaced.

    Raises:
        BertlabError: a checkpoint cannot be opened, or `explore.side_by_side.view_model` raises the error.
    """
    _record_request(checkpoints[0], text)
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
    """Compare two checkpoints on one input, or on one input each. The result is cached.

    Args:
        first: the first checkpoint.
        second: the second checkpoint.
        text: the text for both checkpoints, or only for the first one if `other` is given.
        pair: the second text that belongs to `text`; None if there is no second text.
        other: the text for the second checkpoint; None if both checkpoints read `text` and `pair`.
        other_pair: the second text that belongs to `other`; None if there is no second text.

    Raises:
        BertlabError: a checkpoint cannot be opened, or `explore.compare.compare` raises the error.
    """
    _record_request(first, text, pair, *(() if other is None else (other, other_pair)), other=second)
    return _compare_cached(first, second, text, pair, other, other_pair)


@st.cache_resource(max_entries=4, show_spinner=False)
def _compare_cached(first: CheckpointKey, second: CheckpointKey, *texts: str | None) -> Comparison:
    return compare(open_session(first), open_session(second), *texts)
