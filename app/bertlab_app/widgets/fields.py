"""Input fields whose values are stored in the address of the page by `bertlab_app.url`.

As in Streamlit, a function named after a kind of field (`position`, `threshold`) draws such a field and returns its
value.
"""

import inspect
import unicodedata
from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from bertlab.config.config import ModelConfig
from bertlab_app import url
from bertlab_app.data import sessions
from bertlab_app.i18n import t

MAX_TAU = 30.0  # the threshold τ of "no answer", a difference of logits, ranges from -MAX_TAU to MAX_TAU
NUMBER_WIDTH = 150  # pixels; two number fields of this width fit side by side on a phone
# The maximum length of a passage, about 100 windows. Without this limit, a visitor could paste a book.
MAX_PASSAGE_CHARACTERS = 100_000
TYPING_PAUSE = "120ms"  # the page is updated when the user stops typing for this long


def text(widget: Callable, label: str, default: str, *, key: str, is_path: bool = False, **settings) -> str:
    """Draw a text field, or a select box that also accepts typed text.

    The text of a field is normalised to NFC, because some systems paste Hangul decomposed into letters, which
    vocabularies do not contain.
    """
    _replace_old_default(key, default, key)
    _initialise_widget(key, url.recall(key, default))
    value = _draw_widget(widget, label, key=key, **settings) or ""  # a select box without options returns None
    value = value if is_path or "options" in settings else unicodedata.normalize("NFC", value)
    url.store(key, value, default)
    return value


def flag(widget: Callable, label: str, *, key: str, default: bool = False, **settings) -> bool:
    """Draw a toggle or checkbox. The address contains "1" or "0" only if the value differs from the default."""
    default_text = str(int(default))
    _initialise_widget(key, url.recall(key, default_text) == "1")
    value = _draw_widget(widget, label, key=key, **settings)
    url.store(key, str(int(value)), default_text)
    return value


def number(
    widget: Callable, label: str, low: float, high: float, default: float, *, key: str, name: str = "", **settings
) -> float:
    """Draw a slider or a number field. Its values are integers if its default is an integer."""
    name = name or key
    _initialise_number(low, high, default, key, name)
    value = _draw_widget(widget, label, low, high, key=key, **settings)
    url.store(name, str(value), str(default))
    return value


def integer_choice(widget: Callable, label: str, numbers: range, default: int, *, key: str, **settings) -> int:
    """Draw a choice from a range of integers; with `format_func` in `settings`, the options have names."""
    _initialise_number(numbers[0], numbers[-1], default, key, key)
    value = _draw_widget(widget, label, key=key, options=numbers, **settings)
    url.store(key, str(value), str(default))
    return value


def choice(widget: Callable, label: str, options: Sequence[str] | Mapping[str, str], key: str, **settings) -> str:
    """Draw a choice, such as radio buttons or a segmented control. A mapping gives the options their names."""
    if isinstance(options, Mapping):
        settings["format_func"] = options.get
    options = list(options)
    if st.session_state.get(key, options[0]) not in options:  # the options have changed while the page is open
        del st.session_state[key]
    _replace_old_default(key, options[0], key)
    stored_option = url.recall(key, options[0])
    _initialise_widget(key, stored_option if stored_option in options else options[0])
    value = _draw_widget(widget, label, key=key, options=options, **settings)
    url.store(key, value, options[0])
    return value


def multiple_choice(
    widget: Callable, label: str, options: list[str], default: list[str], *, key: str, source: str = "", **settings
) -> list[str]:
    default_text = url.write_value(default)
    if url.swap_previous(f"{key}.source", source) != source:
        st.session_state["url.values"].pop(key, None)
        st.session_state.pop(key, None)
    stored = url.parse_value(url.recall(key, default_text), default)
    stored_options = [option for option in stored if option in options] if isinstance(stored, list) else default
    _initialise_widget(key, stored_options)
    st.session_state[key] = [option for option in st.session_state[key] if option in options]
    value = _draw_widget(widget, label, key=key, options=options, **settings)
    url.store(key, url.write_value(value), default_text)
    return value


def text_line(container, label: str, default: str, *, key: str, **settings) -> str:
    value = text(container.text_input, label, default, key=key, live=TYPING_PAUSE, **settings)
    note_too_long_for_link(container, value)
    return value


def note_too_long_for_link(container, text: str) -> None:
    if len(text) > url.MAX_TEXT_LENGTH:
        container.caption(t("text-too-long-for-link"))


def passage(container, default: str, height: int) -> str:
    """Draw the text field of a passage, and return its first `MAX_PASSAGE_CHARACTERS` characters."""
    value = text(container.text_area, t("answer-passage"), default, key="passage", height=height)
    note_too_long_for_link(container, value)
    if len(value) > MAX_PASSAGE_CHARACTERS:
        container.caption(t("answer-passage-cut", count=len(value), limit=MAX_PASSAGE_CHARACTERS))
    return value[:MAX_PASSAGE_CHARACTERS]


def sentence_pair(first: str, second: str) -> tuple[str, str]:
    """Draw the text fields of sentence A and sentence B, which several pages share."""
    left, right = st.columns(2)
    a = text_line(left, t("sentence-a"), first, key="a")
    b = text_line(right, t("sentence-b"), second, key="b", placeholder=t("sentence-b-optional"))
    return a, b


def column(container, label: str, guess: str, names: Sequence[str], key: str) -> str:
    """Draw a choice of a column of a table."""
    return choice(container.selectbox, label, {name: name or t("no-column") for name in (guess, *names)}, key)


def position(container, label: str, tokens: Sequence[str], default: int, *, key: str) -> int:
    """Draw a choice of a token of a text. Each option shows the position of a token, counted from 0, and the token."""
    names = [f"{position} · {token}" for position, token in enumerate(tokens)]
    return integer_choice(
        container.selectbox, label, range(len(tokens)), default, key=key, format_func=names.__getitem__
    )


def hidden_state(widget: Callable, label: str, layers: int, default: int, *, key: str, **settings) -> int:
    names = [name_hidden_state(state) for state in range(layers + 1)]
    return integer_choice(widget, label, range(layers + 1), default, key=key, format_func=names.__getitem__, **settings)


def name_hidden_state(state: int) -> str:
    """Name a hidden state for the page: 0 stands for the embeddings, n + 1 for the output of layer n."""
    return t("figure-layer-number", layer=state - 1) if state else t("figure-embeddings")


def layer_and_head(config: ModelConfig, default: tuple[int, int] = (0, 0), prefix: str = "") -> tuple[int, int]:
    """Draw two number fields for a layer and a head, counted from 0 as in the figures."""
    with st.container(horizontal=True):
        counts = {"layer": config.num_layers, "head": config.num_heads}
        layer, head = (
            number(
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
    return number(
        container.slider, t("tau"), -MAX_TAU, MAX_TAU, default, key="tau", step=0.1, format="%.1f", help=t("tau-help")
    )


def zoom_switch(container) -> bool:
    """Draw a choice between two scales of probability bars."""
    names = {"full": t("bars-full"), "zoom": t("bars-zoom")}
    scale = choice(
        container.segmented_control, t("bars-scale"), names, key="bars", required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    return scale == "zoom"


def _initialise_widget(key: str, value) -> None:
    """Set the value of a widget if it is new on the page, or after a page change, browser navigation or undo."""
    if st.session_state["url.fresh"] or key not in st.session_state:
        st.session_state[key] = value


def _initialise_number(low: float, high: float, default: float, key: str, name: str) -> None:
    """Set the value of a number widget as `_initialise_widget` does, then clamp it to the bounds of the widget."""
    _replace_old_default(name, str(default), key)
    _initialise_widget(key, url.parse_value(url.recall(name, str(default)), default))
    st.session_state[key] = min(max(st.session_state[key], low), high)


def _replace_old_default(name: str, default: str, key: str) -> None:
    """Replace an old default with the new one in a field that the user has not changed."""
    state = st.session_state
    old_default = state["url.defaults"].get(name, default)
    is_untouched = key not in state or str(state[key]) == old_default
    if old_default != default and state["url.values"].get(name) == old_default and is_untouched:
        state["url.values"][name] = default
        url.forget_previous([name])
        state.pop(key, None)


def _draw_widget(widget: Callable, label: str, *bounds, key: str, **settings):
    """Draw a widget with its value in the session, and pass this value as its default too."""
    value, parameters = st.session_state[key], inspect.signature(widget).parameters
    if "index" in parameters:
        options = settings.pop("options")
        if value and value not in options:  # the user typed it, for example a path
            options = [*options, value]
        settings |= {"options": options, "index": options.index(value) if value in options else None}
    else:
        settings["value" if "value" in parameters else "default"] = value
    return widget(label, *bounds, key=key, **settings)
