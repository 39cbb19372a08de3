"""Results that are computed in parts, with a progress bar, and cached for all users of the app.

The functions with a progress bar are not cached themselves, because Streamlit could not draw the bar from a cached
function. They store their results in a list or dictionary that a cached function returns.
"""

from collections.abc import Callable
from functools import partial

import streamlit as st

from bertlab.abilities.pretraining_example.results import ExampleLosses
from bertlab.abilities.results import HeadEffects, SpanXray
from bertlab.abilities.sentences.vectors import SentenceVectors
from bertlab.abilities.summary.compute import Summary
from bertlab.abilities.surgery import compute as interventions
from bertlab.abilities.writing.corrections import Correction
from bertlab.abilities.writing.surprise import TextSurprise
from bertlab_app.data.sessions import CheckpointKey, open_session

MAX_ANSWERS = 10  # how many candidate answers the pages about questions compute at most
# How many randomly drawn examples are computed between two updates of the progress bar (Pre-training by hand).
DRAWS_PER_GROUP = 5
# How many windows of a passage are computed between two updates. Larger batches are no faster on one core.
WINDOWS_PER_BATCH = 2


def compute_head_effects(
    checkpoint: CheckpointKey, *values, mask: int = 0, progress: Callable[[float], None] | None = None
) -> HeadEffects:
    """Compute the effect of every head on one prediction, layer by layer.

    Finished layers are cached, so that an interrupted computation continues where it stopped.

    Args:
        checkpoint: the checkpoint.
        values: the positional arguments of `Session.head_effects`.
        mask: which [MASK] of the text to predict, counted from 0.
        progress: called after each layer with the share of the layers that are finished, from 0 to 1.

    Raises:
        BertlabError: the checkpoint cannot be opened, or `Session.head_effects` raises an error.
    """
    effects_by_layer = _cached_effects_by_layer(checkpoint, values, mask)
    num_layers = open_session(checkpoint).config.num_layers
    missing_layers = [layer for layer in range(num_layers) if layer not in effects_by_layer]
    if missing_layers:
        for part in open_session(checkpoint).head_effects_by_layer(*values, mask=mask, layers=missing_layers):
            effects_by_layer[part.layers[0]] = part
            if progress:
                progress(len(effects_by_layer) / num_layers)
    return interventions.join_effects([effects_by_layer[layer] for layer in range(num_layers)])


@st.cache_resource(max_entries=64, show_spinner=False)
def _cached_effects_by_layer(checkpoint: CheckpointKey, values: tuple, mask: int) -> dict:
    """Return the dictionary in which `compute_head_effects` stores the effects of each layer."""
    return {}


def compute_pretraining_losses(
    checkpoint: CheckpointKey, text: str, draws: int, progress: Callable | None = None, **settings
) -> tuple[ExampleLosses, ...]:
    """Compute the losses of several pre-training examples, each a random draw from the same document.

    A draw consists of a sentence pair and the masks in it. Finished draws are cached, so that an additional draw takes
    one forward pass, and an interrupted computation continues where it stopped.

    Args:
        checkpoint: the checkpoint.
        text: the document.
        draws: the number of draws. They are numbered from 1.
        progress: wraps the sequence of the groups of draws that are not cached yet, and reports the progress.
        settings: fields of `explore.pretraining_example.DrawSettings`.

    Returns:
        The losses of all draws, in the order of their numbers.

    Raises:
        BertlabError: the checkpoint cannot be opened, or `Session.pretraining_losses` raises an error.
    """
    cached_losses = _cached_draw_losses(checkpoint, text, tuple(sorted(settings.items())))
    missing_draws = [number for number in range(1, draws + 1) if number not in cached_losses]
    groups = [missing_draws[first : first + DRAWS_PER_GROUP] for first in range(0, len(missing_draws), DRAWS_PER_GROUP)]
    for group in (progress or iter)(groups):
        for losses in open_session(checkpoint).pretraining_losses(text, group, **settings):
            cached_losses[losses.seed] = losses
    return tuple(cached_losses[number] for number in range(1, draws + 1))


def store_draw_losses(checkpoint: CheckpointKey, text: str, draw: int, losses: ExampleLosses, **settings) -> None:
    """Store the losses of one draw that were computed together with its example, so that
    `compute_pretraining_losses` does not compute them again."""
    _cached_draw_losses(checkpoint, text, tuple(sorted(settings.items())))[draw] = losses


@st.cache_resource(max_entries=64, show_spinner=False)
def _cached_draw_losses(checkpoint: CheckpointKey, text: str, settings: tuple) -> dict[int, ExampleLosses]:
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
    cached_list = _cached_vectors(checkpoint, lines)
    if not cached_list:
        cached_list.append(open_session(checkpoint).sentence_vectors(lines, progress=progress or iter))
    return cached_list[0]


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
    cached_list = _cached_summary(checkpoint, text, num_sentences, tuple(sorted(options.items())))
    if not cached_list:
        session = open_session(checkpoint)
        cached_list.append(session.summarise(text, num_sentences, progress=progress or iter, **options))
    return cached_list[0]


@st.cache_resource(max_entries=32, show_spinner=False)
def _cached_summary(checkpoint: CheckpointKey, text: str, num_sentences: int, options: tuple) -> list:
    """Return the list in which `compute_summary` stores its result."""
    return []


def compute_writing_aid(
    method: str, checkpoint: CheckpointKey, *values, progress: Callable | None = None, **options
) -> TextSurprise | tuple[Correction, ...]:
    """Compute the surprise of the words of a text, or corrections of its spelling and spacing. The result is cached.

    Args:
        method: "surprise" or "suggest_corrections".
        checkpoint: the checkpoint.
        values: the positional arguments of the method of `Session`.
        progress: wraps the sequence of batches of inputs, and reports the progress.
        options: the keyword arguments of the method.

    Raises:
        BertlabError: the checkpoint cannot be opened, or the method raises an error.
    """
    cached_list = _cached_writing(checkpoint, method, values, tuple(sorted(options.items())))
    if not cached_list:
        cached_list.append(getattr(open_session(checkpoint), method)(*values, progress=progress or iter, **options))
    return cached_list[0]


@st.cache_resource(max_entries=64, show_spinner=False)
def _cached_writing(checkpoint: CheckpointKey, method: str, values: tuple, options: tuple) -> list:
    """Return the list in which `compute_writing_aid` stores its result."""
    return []


def compute_xray(
    checkpoint: CheckpointKey, question: str, text: str, progress: Callable | None = None, n_best: int = MAX_ANSWERS
) -> SpanXray:
    """Find the answers to a question in a passage, with the scores behind them. Two pages share the cached result.

    Args:
        checkpoint: a checkpoint with the output layer that predicts answer spans.
        question: the question.
        text: the passage.
        progress: wraps the sequence of windows of a long passage and reports the progress.
        n_best: the maximum number of answers.

    Returns:
        The result of `Session.xray`: the answers, their scores and the windows that they were found in.

    Raises:
        BertlabError: the checkpoint cannot be opened, or `Session.xray` raises an error.
    """
    cached_list = _cached_xray(checkpoint, question, text, n_best)
    if not cached_list:
        options = {"batch_size": WINDOWS_PER_BATCH, "progress": progress or iter}
        cached_list.append(open_session(checkpoint).xray(question, text, n_best, **options))
    return cached_list[0]


@st.cache_resource(max_entries=16, show_spinner=False)
def _cached_xray(checkpoint: CheckpointKey, question: str, text: str, n_best: int) -> list:
    """Return the list in which `compute_xray` stores its result."""
    return []


METHODS: dict[str, Callable] = {
    "head_effects": compute_head_effects,
    "pretraining_losses": compute_pretraining_losses,
    "sentence_vectors": compute_vectors,
    "suggest_corrections": partial(compute_writing_aid, "suggest_corrections"),
    "summarise": compute_summary,
    "surprise": partial(compute_writing_aid, "surprise"),
    "xray": compute_xray,
}
"""Method of `Session` -> function that computes and caches its result: (checkpoint, *values, progress, **options)."""
