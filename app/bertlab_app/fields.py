"""Input fields that several pages share. Their values are stored in the address by `bertlab_app.url`.

As in Streamlit, a function named after a kind of field (`position`, `threshold`) draws such a field and returns its
value.
"""

from collections.abc import Callable, Sequence

import streamlit as st

from bertlab.config.config import ModelConfig
from bertlab_app import url, url_fields
from bertlab_app.data import sessions
from bertlab_app.i18n import t

MAX_TAU = 30.0  # the threshold τ of "no answer", a difference of logits, ranges from -MAX_TAU to MAX_TAU
NUMBER_WIDTH = 150  # pixels; two number fields of this width fit side by side on a phone
# The maximum length of a passage, about 100 windows. Without this limit, a visitor could paste a book.
MAX_PASSAGE_CHARACTERS = 100_000
TYPING_PAUSE = "120ms"  # the page is updated when the user stops typing for this long


def text_line(container, label: str, default: str, *, key: str, **settings) -> str:
    """Draw a one-line text field. The page is updated while the user types."""
    value = url_fields.text(container.text_input, label, default, key=key, live=TYPING_PAUSE, **settings)
    note_too_long_for_link(container, value)
    return value


def note_too_long_for_link(container, text: str) -> None:
    """Show a caption if a text is too long to be part of the address."""
    if len(text) > url.MAX_TEXT_LENGTH:
        container.caption(t("text-too-long-for-link"))


def passage(container, default: str, height: int) -> str:
    """Draw the text field of a passage, and return its first `MAX_PASSAGE_CHARACTERS` characters."""
    text = url_fields.text(container.text_area, t("answer-passage"), default, key="passage", height=height)
    note_too_long_for_link(container, text)
    if len(text) > MAX_PASSAGE_CHARACTERS:
        container.caption(t("answer-passage-cut", count=len(text), limit=MAX_PASSAGE_CHARACTERS))
    return text[:MAX_PASSAGE_CHARACTERS]


def sentence_pair(first: str, second: str) -> tuple[str, str]:
    """Draw the text fields of sentence A and sentence B, which several pages share."""
    left, right = st.columns(2)
    a = text_line(left, t("sentence-a"), first, key="a")
    b = text_line(right, t("sentence-b"), second, key="b", placeholder=t("sentence-b-optional"))
    return a, b


def choice(widget: Callable, label: str, names: dict[str, str], key: str, **settings) -> str:
    """Draw a choice whose options may change while the page is open, for example when a different file is read."""
    options = list(names)
    if st.session_state.get(key, options[0]) not in options:
        del st.session_state[key]
    return url_fields.choice(widget, label, options, key=key, format_func=names.get, **settings)


def column(container, label: str, guess: str, names: Sequence[str], key: str) -> str:
    """Draw a choice of a column of a table."""
    return choice(container.selectbox, label, {name: name or t("no-column") for name in (guess, *names)}, key)


def position(container, label: str, tokens: Sequence[str], default: int, *, key: str) -> int:
    """Draw a choice of a token of a text. Each option shows the position of a token, counted from 0, and the token."""
    names = [f"{position} · {token}" for position, token in enumerate(tokens)]
    return url_fields.integer_choice(
        container.selectbox, label, range(len(tokens)), default, key=key, format_func=names.__getitem__
    )


def hidden_state(widget: Callable, label: str, layers: int, default: int, *, key: str, **settings) -> int:
    """Draw a choice of a hidden state: the embeddings, or the output of a layer."""
    names = [name_hidden_state(state) for state in range(layers + 1)]
    return url_fields.integer_choice(
        widget, label, range(layers + 1), default, key=key, format_func=names.__getitem__, **settings
    )


def name_hidden_state(state: int) -> str:
    """Name a hidden state for the page: 0 stands for the embeddings, n + 1 for the output of layer n."""
    return t("figure-layer-number", layer=state - 1) if state else t("figure-embeddings")


def layer_and_head(config: ModelConfig, default: tuple[int, int] = (0, 0), prefix: str = "") -> tuple[int, int]:
    """Draw two number fields for a layer and a head, counted from 0 as in the figures."""
    with st.container(horizontal=True):
        counts = {"layer": config.num_layers, "head": config.num_heads}
        layer, head = (
            url_fields.number(
                st.number_input, t(part), 0, count - 1, default_number, key=_layer_or_head_key(part, prefix),
                name=f"{prefix}{part}", width=NUMBER_WIDTH,
            )
            for (part, count), default_number in zip(counts.items(), default, strict=True)
        )  # fmt: skip
    return layer, head


def set_layer_and_head(layer: int, head: int, prefix: str = "") -> None:
    """Set the values of the fields of `layer_and_head` with this prefix, for example after a click in a figure."""
    for part, value in (("layer", layer), ("head", head)):
        st.session_state[_layer_or_head_key(part, prefix)] = int(value)


def forget_layer_and_head() -> None:
    """Forget the state of the fields of `layer_and_head`, so that they start with the stored layer and head.

    Call this after `view_state.open_with` has stored a new layer and head.
    """
    for part in ("layer", "head"):
        st.session_state.pop(_layer_or_head_key(part), None)


def _layer_or_head_key(part: str, prefix: str = "") -> str:
    """Return the key of a field of `layer_and_head` in `st.session_state`."""
    return f"neuron.{prefix}{part}"


def threshold(container, checkpoint: sessions.CheckpointKey) -> float:
    """Draw the slider of the threshold τ of "no answer".

    The default is the threshold that the checkpoint stores, or 0 if the checkpoint stores none.
    """
    stored_threshold = sessions.open_session(checkpoint).loaded.null_threshold or 0.0
    default = round(min(max(stored_threshold, -MAX_TAU), MAX_TAU), 1)
    return url_fields.number(
        container.slider, t("tau"), -MAX_TAU, MAX_TAU, default, key="tau", step=0.1, format="%.1f", help=t("tau-help")
    )


def zoom_switch(container) -> bool:
    """Draw a choice between two scales of probability bars."""
    names = {"full": t("bars-full"), "zoom": t("bars-zoom")}
    scale = url_fields.choice(
        container.segmented_control, t("bars-scale"), list(names), key="bars", format_func=names.get, required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    return scale == "zoom"
