"""Fields whose values are stored in the address of the page; see `url`."""

import inspect
import unicodedata
from collections.abc import Callable

import streamlit as st

from bertlab_app import url


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


def choice(widget: Callable, label: str, options: list[str], *, key: str, **settings) -> str:
    """Draw a choice, such as radio buttons or a segmented control."""
    _replace_old_default(key, options[0], key)
    stored_option = url.recall(key, options[0])
    _initialise_widget(key, stored_option if stored_option in options else options[0])
    value = _draw_widget(widget, label, key=key, options=options, **settings)
    url.store(key, value, options[0])
    return value


def multiple_choice(
    widget: Callable, label: str, options: list[str], default: list[str], *, key: str, source: str = "", **settings
) -> list[str]:
    """Draw a choice of any number of options. Unknown options in a link are ignored."""
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
