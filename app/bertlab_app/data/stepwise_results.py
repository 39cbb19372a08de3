"""Results that are computed in parts, with a progress bar, and cached for all users of the app.

The functions are not cached themselves, because Streamlit could not draw the bar from a cached function. They store
finished parts in a dictionary that a cached function returns, so that an interrupted computation continues.
"""

from collections.abc import Callable

import streamlit as st

from bertlab.abilities.pretraining_example.results import ExampleLosses, PretrainingExample
from bertlab.abilities.results import HeadEffects
from bertlab.abilities.surgery import compute as interventions
from bertlab_app.data.sessions import CheckpointKey, open_session

# How many randomly drawn examples are computed between two updates of the progress bar (Pre-training by hand).
DRAWS_PER_GROUP = 5


def compute_head_effects(
    checkpoint: CheckpointKey, *values, mask: int = 0, progress: Callable[[float], None] | None = None
) -> HeadEffects:
    """Compute the effect of every head on one prediction, layer by layer.

    Finished layers are cached, so that an interrupted computation continues where it stopped.
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
    """
    cached_losses = _cached_draw_losses(checkpoint, text, tuple(sorted(settings.items())))
    missing_draws = [number for number in range(1, draws + 1) if number not in cached_losses]
    groups = [missing_draws[first : first + DRAWS_PER_GROUP] for first in range(0, len(missing_draws), DRAWS_PER_GROUP)]
    for group in (progress or iter)(groups):
        for losses in open_session(checkpoint).pretraining_losses(text, group, **settings):
            cached_losses[losses.seed] = losses
    return tuple(cached_losses[number] for number in range(1, draws + 1))


def compute_pretraining_example(
    checkpoint: CheckpointKey, text: str, seed: int, progress: Callable | None = None, **settings
) -> PretrainingExample:
    example = _cached_example(checkpoint, text, seed, **settings)
    _cached_draw_losses(checkpoint, text, tuple(sorted(settings.items())))[example.seed] = example.losses
    return example


@st.cache_data(max_entries=256, show_spinner=False)
def _cached_example(checkpoint: CheckpointKey, text: str, seed: int, **settings) -> PretrainingExample:
    return open_session(checkpoint).pretraining_example(text, seed, **settings)


@st.cache_resource(max_entries=64, show_spinner=False)
def _cached_draw_losses(checkpoint: CheckpointKey, text: str, settings: tuple) -> dict[int, ExampleLosses]:
    """Return the dictionary in which `compute_pretraining_losses` stores the losses of each draw."""
    return {}


METHODS: dict[str, Callable] = {
    "head_effects": compute_head_effects,
    "pretraining_example": compute_pretraining_example,
    "pretraining_losses": compute_pretraining_losses,
}
"""Method of `Session` -> function that computes and caches its result: (checkpoint, *values, progress, **options)."""
