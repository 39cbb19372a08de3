"""The state in the address: everything the user has typed or chosen, so that a copied link reproduces the screen.

Values are stored as strings under short names. At first they come from the link; within a session they survive a
change of page, and the browser's back button restores earlier ones. This module depends on no page and no model.

Streamlit's own binding of widgets (`bind="query-params"`) is not used: it loses the value of a link when the next page
has a field of the same name, and it cannot leave out a text that is too long for a link.
"""

import inspect
import json
import time
from collections.abc import Callable

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

# A longer text is left out: a server refuses a request line of more than 64 kB, and a Hangul syllable takes nine bytes.
MAX_TEXT_LENGTH = 4_000

# The browser's back button does not change these: they belong to the session, not to a page.
SESSION_WIDE = ("lang", "checkpoint")
SAME_CHANGE_SECONDS = 1.0  # changes of the same fields within this time, such as typed letters, are undone as one

# What can be set in the canvas views, as `views/static` reports it, with the initial values.
VIEW_STATE = {
    "view": "auto", "layer": 0, "head": 0, "heads": None, "filter": "all", "hide": False, "renorm": False, "fit": False,
    "tokens": [], "side": "query", "merge": False, "zoom": 100, "find": "", "token": None,
    "at": None, "against": None,
}  # fmt: skip


# -- the stages of a script run ----------------------------------------------------------------------------------


def read_address() -> None:
    """Fill the values of a new session from its link. Called at the start of a run."""
    if "url.values" not in st.session_state:
        st.session_state["url.values"] = values = st.query_params.to_dict()
        if "tau" in values:  # links from before this switch existed always allowed "no answer"
            values.setdefault("refuse", "1")
        st.session_state["url.defaults"], st.session_state["url.page_values"] = {}, set()


def enter_page(page: str) -> None:
    """Record the current page; after a step back, restore the values of the address."""
    state = st.session_state
    moved, back = state.get("url.page") != page, _went_back()
    if back:
        if not moved:
            for name in state["url.address"].keys() - SESSION_WIDE:
                state["url.values"].pop(name, None)
        state["url.values"] |= {
            name: value for name, value in st.query_params.to_dict().items() if name not in SESSION_WIDE
        }
    undone = state.pop("url.after_undo", False)
    state["url.page"], state["url.fresh"], state["url.address"] = page, moved or back or undone, {}
    state["url.page_values"] = set()
    state.pop("figures.subject", None)  # left from the previous run
    state["url.skip_undo"] = moved or back  # differences are not changes made on this page
    if state["url.fresh"]:
        state["url.initial_view_state"] = view_state()


def enter_view(view: str) -> None:
    """Record which view of a page is on screen. A view that newly appears starts with the current state."""
    state = st.session_state
    if state.get("url.view") != view:
        state["url.view"], state["url.initial_view_state"] = view, view_state()


def _went_back() -> bool:
    """Whether the browser's back or forward button caused this run. Streamlit has no public function for it."""
    context = get_script_run_ctx()
    return bool(getattr(context, "is_history_navigation", False)) and "url.page" in st.session_state


def write_address(*, last: bool = False) -> None:
    """Write the stored values to the address.

    Args:
        last: whether the run ends here. A fragment is a run of its own.
    """
    address = st.session_state["url.address"]
    if address != st.query_params.to_dict():
        st.query_params.from_dict(address)
    if last or getattr(get_script_run_ctx(), "fragment_ids_this_run", None):
        _record_changes()
    if last:
        st.session_state["url.fresh"] = False


# -- undo ------------------------------------------------------------------------------------------------------


def _record_changes() -> None:
    """Push the previous values of what changed since the last run onto this page's undo stack."""
    state, page = st.session_state, st.session_state["url.page"]
    snapshots, stacks = state.setdefault("url.page_snapshots", {}), state.setdefault("url.undo_stacks", {})
    before, now = snapshots.get(page, {}), {name: state["url.values"][name] for name in state["url.page_values"]}
    changed = {name: old for name, old in before.items() if now.get(name, old) != old and name != "lang"}
    snapshots[page] = before | now
    if changed and not state["url.skip_undo"]:
        last, at = state.get("url.last_change", ({}, 0.0))
        stack = stacks.setdefault(page, [])
        if not (stack and last == (page, *changed) and time.monotonic() - at < SAME_CHANGE_SECONDS):
            stack.append(changed)
        state["url.last_change"] = ((page, *changed), time.monotonic())


def undo() -> bool:
    """Take back the latest change made on this page. Called before a run; the language stays.

    Returns:
        whether there was a change to take back.
    """
    state = st.session_state
    stack = state.get("url.undo_stacks", {}).get(state["url.page"], [])
    if not stack:
        return False
    previous = stack.pop()
    state["url.values"] |= previous
    state["url.page_snapshots"][state["url.page"]] |= previous
    state["url.after_undo"], state["url.last_change"] = True, ((), 0.0)
    return True


# -- values ----------------------------------------------------------------------------------------------------


def recall(name: str, default: str = "") -> str:
    """The stored value of a name."""
    return st.session_state["url.values"].get(name, default)


def store(name: str, value: str, default: str = "", *, shown: bool = True) -> None:
    """Store a value. The address omits defaults, texts too long for it, and values that are not `shown`."""
    state = st.session_state
    state["url.values"][name], state["url.defaults"][name] = value, default
    state["url.page_values"].add(name)
    address = state["url.address"]
    address.pop(name, None)
    if shown and value != default and len(value) <= MAX_TEXT_LENGTH:
        address[name] = value


def _follow(name: str, default: str, key: str) -> None:
    """Give a field that still holds its old default the new one, such as the example in another language."""
    state = st.session_state
    old = state["url.defaults"].get(name, default)
    untouched = key not in state or str(state[key]) == old
    if old != default and state["url.values"].get(name) == old and untouched:
        state["url.values"][name] = default
        state.get("url.page_snapshots", {}).get(state["url.page"], {}).pop(
            name, None
        )  # the user did not change it: no undo
        state.pop(key, None)


def _seed(key: str, value) -> None:
    """Set a widget's value when it appears, or when the user comes from another page."""
    if st.session_state["url.fresh"] or key not in st.session_state:
        st.session_state[key] = value


def _drawn(widget: Callable, label: str, *place, key: str, **settings):
    """Draw a widget whose default is its value in the session.

    A browser that is still loading the code of the field when the user clicks on another misses a value set in the
    session, and draws the default.
    """
    value, parameters = st.session_state[key], inspect.signature(widget).parameters
    if "index" in parameters:
        options = settings.pop("options")
        options = [*options, value] if value and value not in options else options  # a typed path
        settings |= {"options": options, "index": options.index(value) if value in options else None}
    else:
        settings["value" if "value" in parameters else "default"] = value
    return widget(label, *place, key=key, **settings)


def text(widget: Callable, label: str, default: str, *, key: str, **settings) -> str:
    """A text field, or a choice that accepts new options."""
    _follow(key, default, key)
    _seed(key, recall(key, default))
    value = _drawn(widget, label, key=key, **settings) or ""  # a choice without options is None
    store(key, value, default)
    return value


def flag(widget: Callable, label: str, *, key: str, **settings) -> bool:
    """A toggle that is off by default; "1" in the address while it is on."""
    _seed(key, recall(key, "0") == "1")
    value = _drawn(widget, label, key=key, **settings)
    store(key, str(int(value)), "0")
    return value


def number(
    widget: Callable, label: str, low: float, high: float, default: float, *, key: str, name: str = "", **settings
) -> float:
    """A slider or number field, of whole numbers if its default is one.

    Args:
        name: its name in the address. Default: its key.
    """
    name = name or key
    _seed_within(low, high, default, key, name)
    value = _drawn(widget, label, low, high, key=key, **settings)
    store(name, str(value), str(default))
    return value


def integer_choice(widget: Callable, label: str, numbers: range, default: int, *, key: str, **settings) -> int:
    """A choice from a range of whole numbers, which `format_func` may name."""
    _seed_within(numbers[0], numbers[-1], default, key, key)
    value = _drawn(widget, label, key=key, options=numbers, **settings)
    store(key, str(value), str(default))
    return value


def _seed_within(low: float, high: float, default: float, key: str, name: str) -> None:
    """Set a number widget's value, limited to its bounds."""
    _follow(name, str(default), key)
    _seed(key, _read(recall(name, str(default)), default))
    st.session_state[key] = min(max(st.session_state[key], low), high)


def choice(widget: Callable, label: str, options: list[str], *, key: str, **settings) -> str:
    """A choice (radio, segmented control). The address holds its value, not the translated label.

    The first option is the default, also for a link with an unknown option.
    """
    _follow(key, options[0], key)
    stored = recall(key, options[0])
    _seed(key, stored if stored in options else options[0])
    value = _drawn(widget, label, key=key, options=options, **settings)
    store(key, value, options[0])
    return value


def multiple_choice(
    widget: Callable, label: str, options: list[str], default: list[str], *, key: str, of: str = "", **settings
) -> list[str]:
    """A choice of any number of options. Options of a link that do not exist are ignored.

    Args:
        of: what the options belong to, such as a directory. When it changes, the choice returns to the default.
    """
    written = _written(default)
    if swap_previous(f"{key}.of", of) != of:
        st.session_state["url.values"].pop(key, None)
        st.session_state.pop(key, None)
    stored = _read(recall(key, written), default)
    stored = [option for option in stored if option in options] if isinstance(stored, list) else default
    _seed(key, stored)
    st.session_state[key] = [option for option in st.session_state[key] if option in options]
    value = _drawn(widget, label, key=key, options=options, **settings)
    store(key, _written(value), written)
    return value


def swap_previous(name: str, now):
    """Return the value of a name in the previous run, and store `now` for the next one.

    Returns:
        the previous value; `now` where the user has come from another page or undone a change.
    """
    state = st.session_state
    before = now if state["url.fresh"] else state.get(f"{name}.last", now)
    state[f"{name}.last"] = now
    return before


# -- the state of the canvas views -------------------------------------------------------------------------------


def view_state() -> dict:
    """The state of the attention and neuron views: `VIEW_STATE` with the changes of the link and the user."""
    return {name: _read(recall(name, _written(default)), default) for name, default in VIEW_STATE.items()}


def initial_view_state() -> dict:
    """The state with which the view opened. It receives this once, and reports changes from then on."""
    return st.session_state["url.initial_view_state"]


def store_view_state(state: dict) -> None:
    """Store the state of a view."""
    for name, default in VIEW_STATE.items():
        store(name, _written(state.get(name, default)), _written(default))


def _written(value) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _read(text: str, default):
    """Parse a value of the default's type; return the default for anything else. The views check lists and None."""
    if isinstance(default, str):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return default
    if isinstance(default, float):
        return float(value) if type(value) in (int, float) and abs(value) < 1e9 else default
    return value if type(default) is not int or type(value) is int else default
