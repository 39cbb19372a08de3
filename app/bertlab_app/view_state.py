"""The settings of the canvas views in the address of a page, and the settings with which a page opens its views.

A page such as Attention opens with the head and token that stand out most in its text. These computed settings are
called the opening of the page. `bertlab_app.url` stores the values. This module depends on no page and no model.
"""

import streamlit as st

from bertlab_app import url

# The settings of the canvas views and their defaults, under the names that `views/static` uses.
DEFAULTS = {
    "view": "auto", "layer": 0, "head": 0, "heads": None, "filter": "all", "hide": False, "renorm": False, "fit": False,
    "tokens": [], "side": "query", "merge": False, "zoom": 100, "find": "", "token": None,
    "at": None, "against": None,
}  # fmt: skip
# The settings that only the Time machine page has. On other pages, these names in the address belong to fields.
TIME_MACHINE_SETTINGS = {"at", "against"}


def read() -> dict:
    """Read the current settings of the canvas views: the defaults, replaced by values of the link and of the user."""
    return {
        name: url.parse_value(url.recall(name, url.write_value(default)), default) for name, default in DEFAULTS.items()
    }


def initial_settings() -> dict:
    """Return the settings that the app last gave to the view, for example when the view was created.

    What the user changes in the view later is not included.
    """
    return st.session_state["view.initial"]


def store(view_state: dict) -> None:
    opening = st.session_state.get("view.opening")
    texts = {name: url.write_value(view_state.get(name, default)) for name, default in DEFAULTS.items()}
    defaults = {name: url.write_value(default) for name, default in DEFAULTS.items()}
    if opening is not None:
        defaults = texts if texts == defaults | opening else defaults | {"layer": ""}
    for name, text in texts.items():
        url.store(name, text, defaults[name])


def enter_page() -> None:
    """Prepare the settings for a run of the current page. Call this after `url.enter_page`."""
    state = st.session_state
    # whether the link or the user has chosen settings, which an opening must not replace
    state.setdefault("view.chosen", _has_settings(state["url.values"]))
    if state.get("view.page") != state["url.page"]:
        _leave_opening()
        state["view.page"] = state["url.page"]
    if state["url.values_replaced"]:
        state["view.chosen"], state["view.opening"] = _has_settings(st.query_params), None
        if not state["view.chosen"]:
            for name in DEFAULTS.keys() - TIME_MACHINE_SETTINGS:
                state["url.values"].pop(name, None)
    if state["url.fresh"]:
        state["view.initial"] = read()


def enter_view(view: str) -> None:
    """Record which view of a page is drawn. A view that replaces another one starts with the current settings."""
    state = st.session_state
    if state.get("view.name") != view:
        state["view.name"], state["view.initial"] = view, read()


def open_with(selection: dict) -> bool:
    """Open the views of this page with computed settings. Settings that the link or the user has chosen are kept.

    While the user changes only the text, the settings follow the text. The undo button does not undo this.
    """
    state = st.session_state
    opening = {name: url.write_value(value) for name, value in selection.items()}
    previous, values = state.get("view.opening"), state["url.values"]
    is_untouched = not state["view.chosen"] if previous is None else _is_current(previous)
    state["view.opening"] = opening
    if not is_untouched or opening == previous:
        return False
    values |= opening
    url.forget_previous(opening)
    state["view.initial"] = read()
    return True


def _is_current(opening: dict[str, str]) -> bool:
    """Whether the stored settings equal an opening."""
    return all(url.recall(name) == text for name, text in opening.items())


def _leave_opening() -> None:
    """Forget the opening of the previous page and, if the user has not changed its settings, the stored settings."""
    state = st.session_state
    opening = state.get("view.opening")
    state["view.opening"] = None
    if opening is None:
        return
    if not _is_current(opening):
        state["view.chosen"] = True
        return
    for name in opening:
        state["url.values"].pop(name, None)


def _has_settings(values) -> bool:
    """Whether stored values, or the parameters of an address, contain a setting other than `TIME_MACHINE_SETTINGS`."""
    return any(name in values for name in DEFAULTS.keys() - TIME_MACHINE_SETTINGS)
