"""The state of a page in its address: everything that the user typed or chose, so that a link reproduces the page."""

import json
import time
from collections.abc import Iterable, Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

# The address omits texts with more characters, because servers reject request lines of more than 64 kB, and a Hangul
# syllable takes 9 bytes.
MAX_TEXT_LENGTH = 4_000

# Names of the values that belong to the session rather than to a page. The browser's back button does not change them.
SESSION_WIDE = ("lang", "checkpoint", "lesson", "present")
KEPT_BY_LINKS = ("lang", "lesson", "present")  # names of the values that a link inside the app does not replace
# Changes to a field within this time of each other, such as typed letters, are undone together.
SAME_CHANGE_SECONDS = 1.0


def read_address() -> None:
    """Read the values of a new session from its link. Call this at the start of every run; only the first run reads."""
    if "url.values" not in st.session_state:
        st.session_state["url.values"] = st.query_params.to_dict()
        st.session_state["url.defaults"], st.session_state["url.page_values"] = {}, set()


def enter_page(page: str) -> None:
    """Record the current page.

    If the browser's back or forward button was used, restore the values from the address.
    """
    state = st.session_state
    page_changed, used_history = state.get("url.page") != page, used_browser_history()
    opened_by_link = state.pop("url.opened_by_link", False)
    if used_history:
        if not page_changed:
            for name in state["url.address"].keys() - SESSION_WIDE:
                state["url.values"].pop(name, None)
        state["url.values"] |= {
            name: value for name, value in st.query_params.to_dict().items() if name not in SESSION_WIDE
        }
    after_undo = state.pop("url.after_undo", False)
    state["url.page"], state["url.address"] = page, {}
    # whether the fields show the stored values in this run, instead of their own values from the previous run
    state["url.fresh"] = page_changed or used_history or after_undo or opened_by_link
    # a link within the session replaces all values, as the back button does
    state["url.values_replaced"], state["url.page_values"] = used_history or opened_by_link, set()
    if opened_by_link:  # earlier changes cannot be undone in values that the link has replaced
        state.get("url.undo_stacks", {}).pop(page, None)
    state["url.is_new_page"] = page_changed
    state.pop("figures.request", None)  # what the figures of the previous run were drawn for
    # values that changed in one of these ways were not edited on this page, so undo must not revert them here
    state["url.skip_undo"] = page_changed or used_history or opened_by_link


def replace_values(values: Mapping[str, str]) -> dict[str, str]:
    """Replace the session's values with those of a link, except the values in `KEPT_BY_LINKS`.

    Call this before `st.switch_page`. The page then opens as if a new session had opened the link.
    """
    state = st.session_state
    kept_values = {name: state["url.values"][name] for name in KEPT_BY_LINKS if name in state["url.values"]}
    state["url.values"] = dict(values) | kept_values
    state["url.opened_by_link"] = True
    return make_address(values)


def make_address(values: Mapping[str, str]) -> dict[str, str]:
    """Make the parameters of a link within the session: the given values, and those named in `KEPT_BY_LINKS`."""
    stored_values, defaults = st.session_state["url.values"], st.session_state["url.defaults"]
    kept_values = {
        name: stored_values[name] for name in KEPT_BY_LINKS if stored_values.get(name, "") != defaults.get(name, "")
    }
    return dict(values) | kept_values


def is_new_page() -> bool:
    """Whether this run is the first one of the page since the user opened it or came from another page."""
    return st.session_state["url.is_new_page"]


def used_browser_history() -> bool:
    """Whether the browser's back or forward button caused this run; false for the first run of a session."""
    context = get_script_run_ctx()  # Streamlit has no public function for this
    return bool(getattr(context, "is_history_navigation", False)) and "url.page" in st.session_state


def write_address(*, is_last: bool = False) -> None:
    """Write the stored values to the address."""
    address = st.session_state["url.address"]
    if address != st.query_params.to_dict():
        st.query_params.from_dict(address)
    if is_last or getattr(get_script_run_ctx(), "fragment_ids_this_run", None):
        _record_changes()
    if is_last:
        st.session_state["url.fresh"] = False


def _record_changes() -> None:
    """Push the previous values of all fields that changed since the last run onto the undo stack of this page."""
    state, page = st.session_state, st.session_state["url.page"]
    snapshots, stacks = state.setdefault("url.page_snapshots", {}), state.setdefault("url.undo_stacks", {})
    previous = snapshots.get(page, {})  # {name: its value after the previous run}
    current = {name: state["url.values"][name] for name in state["url.page_values"]}
    old_values = {name: old for name, old in previous.items() if current.get(name, old) != old and name != "lang"}
    snapshots[page] = previous | current
    if old_values and not state["url.skip_undo"]:
        last_change, last_time = state.get("url.last_change", ((), 0.0))
        stack = stacks.setdefault(page, [])
        is_same_change = last_change == (page, *old_values) and time.monotonic() - last_time < SAME_CHANGE_SECONDS
        if not (stack and is_same_change):
            stack.append(old_values)
        state["url.last_change"] = ((page, *old_values), time.monotonic())


def undo() -> bool:
    """Undo the latest change on this page, except a change of language.

    Call this from a widget's callback, which Streamlit runs before the script.
    """
    state = st.session_state
    stack = state.get("url.undo_stacks", {}).get(state["url.page"], [])
    if not stack:
        return False
    previous_values = stack.pop()
    state["url.values"] |= previous_values
    state["url.page_snapshots"][state["url.page"]] |= previous_values
    state["url.after_undo"], state["url.last_change"] = True, ((), 0.0)
    return True


def recall(name: str, default: str = "") -> str:
    """Return the value that is stored under a name, or the default if there is none."""
    return st.session_state["url.values"].get(name, default)


def store(name: str, value: str, default: str | None = "", *, in_address: bool = True) -> None:
    """Store a value in the session, and write it to the address of this run.

    Every run builds the address anew, so it must store all values of its page again.
    """
    state = st.session_state
    state["url.values"][name] = value
    if default is None:
        state["url.defaults"].pop(name, None)
    else:
        state["url.defaults"][name] = default
    state["url.page_values"].add(name)
    address = state["url.address"]
    address.pop(name, None)
    if in_address and value != default and len(value) <= MAX_TEXT_LENGTH:
        address[name] = value


def forget_previous(names: Iterable[str]) -> None:
    """Forget the previous values stored under some names, so that undo skips a change that the user did not make."""
    state = st.session_state
    snapshot = state.get("url.page_snapshots", {}).get(state["url.page"], {})
    for name in names:
        snapshot.pop(name, None)


def swap_previous(name: str, value):
    """Return the value that was passed under a name in the previous run, and store the current one for the next run."""
    state = st.session_state
    previous = value if state["url.fresh"] else state.get(f"{name}.last", value)
    state[f"{name}.last"] = value
    return previous


def write_value(value) -> str:
    """Write a value as text for the address: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def parse_value(text: str, default):
    if isinstance(default, str):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return default
    if isinstance(default, float):
        return float(value) if type(value) in (int, float) and abs(value) < 1e9 else default
    return value if type(default) is not int or type(value) is int else default
