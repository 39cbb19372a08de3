"""The state of the canvas views in the address, and the computed selection with which the attention page opens.

`bertlab.app.url` stores the values. This module depends on no page and no model.
"""

import streamlit as st

from bertlab.app import url

# The settings of the canvas views and their defaults, under the names that `views/static` uses.
DEFAULTS = {
    "view": "auto", "layer": 0, "head": 0, "heads": None, "filter": "all", "hide": False, "renorm": False, "fit": False,
    "tokens": [], "side": "query", "merge": False, "zoom": 100, "find": "", "token": None,
    "at": None, "against": None,
}  # fmt: skip
TIME_MACHINE = {"at", "against"}  # settings of the time machine alone; other pages have fields of these names


def read() -> dict:
    """Return the state of the canvas views: the defaults, changed by the link and the user."""
    return {
        name: url.parse_value(url.recall(name, url.write_value(default)), default) for name, default in DEFAULTS.items()
    }


def initial() -> dict:
    """Return the state with which the view opened. The view receives it once and reports changes afterwards."""
    return st.session_state["view.initial"]


def store(view_state: dict) -> None:
    """Store the state of a canvas view.

    The address omits a state that is the opening of the page. Any other state of such a page has the layer in the
    address, even if it is the default, so that a link to it does not open with the computed selection.
    """
    opening = st.session_state.get("view.opening")
    texts = {name: url.write_value(view_state.get(name, default)) for name, default in DEFAULTS.items()}
    defaults = {name: url.write_value(default) for name, default in DEFAULTS.items()}
    if opening is not None:
        defaults = texts if texts == defaults | opening else defaults | {"layer": ""}
    for name, text in texts.items():
        url.store(name, text, defaults[name])


def enter_page() -> None:
    """Record the current page. Call this after `url.enter_page`."""
    state = st.session_state
    # whether the link or the user has chosen a state, which a computed selection must not replace
    state.setdefault("view.chosen", _has_any(state["url.values"]))
    if state.get("view.page") != state["url.page"]:
        _leave_opening()
        state["view.page"] = state["url.page"]
    if state["url.went_back"]:
        state["view.chosen"], state["view.opening"] = _has_any(st.query_params), None
        if not state["view.chosen"]:
            for name in DEFAULTS.keys() - TIME_MACHINE:
                state["url.values"].pop(name, None)
    if state["url.fresh"]:
        state["view.initial"] = read()


def enter_view(view: str) -> None:
    """Record which view of a page is drawn. A view that was not drawn before starts with the current state."""
    state = st.session_state
    if state.get("view.name") != view:
        state["view.name"], state["view.initial"] = view, read()


def open_with(selection: dict) -> bool:
    """Open the views of this page with a computed selection, unless the link or the user has chosen another one.

    While the user changes only the text, the selection follows the text. This is no change that can be undone.

    Args:
        selection: the settings that were computed; they may differ in every run.

    Returns:
        Whether the settings have changed.
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
    """Whether the stored values are those of an opening."""
    return all(url.recall(name) == text for name, text in opening.items())


def _leave_opening() -> None:
    """Forget the opening of the previous page, and its values unless the user has changed them."""
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


def _has_any(values) -> bool:
    """Whether values, or parameters of an address, contain a setting of the canvas views."""
    return any(name in values for name in DEFAULTS.keys() - TIME_MACHINE)
