"""What the address remembers: everything a reader has typed or chosen, so that a copied link reproduces the screen.

Values are kept as strings under short names. A link brings them at first; within a session they outlive a change of
page; the browser's back button brings earlier ones again. Knows no page and no model.

Streamlit's own binding of widgets (`bind="query-params"`) is not used: it loses what a link brought when the next page
has a field of the same name, and it cannot leave out a text that is too long for a link.
"""

import inspect
import json
import time
from collections.abc import Callable

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

# A longer text is left out: a server refuses a request line of more than 64 kB, and Hangul takes nine bytes a letter.
LONGEST = 4_000

# What a step back of the browser leaves as it is: it belongs to the window, not to the page.
STAYING = ("lang", "checkpoint")
ONE_CHANGE = 1.0  # seconds within which changes of the same fields, letters typed one after another, are one to undo

# What a reader can set in the views, as `views/static` reports it, and where each begins.
PICTURE = {
    "view": "auto", "layer": 0, "head": 0, "heads": None, "filter": "all", "hide": False, "renorm": False, "fit": False,
    "tokens": [], "side": "query", "merge": False, "zoom": 100, "find": "", "token": None,
    "at": None, "against": None,
}  # fmt: skip


# -- the life of a run -----------------------------------------------------------------------------------------


def read() -> None:
    """At the start of a run: a new session takes what its link says."""
    if "url.kept" not in st.session_state:
        st.session_state["url.kept"] = kept = st.query_params.to_dict()
        if "tau" in kept:  # links of before there was a switch always let BERT refuse
            kept.setdefault("refuse", "1")
        st.session_state["url.defaults"], st.session_state["url.names"] = {}, set()


def arrive(page: str) -> None:
    """Once the page is known: find out whether the reader comes from another one, or went back; take what that says."""
    state = st.session_state
    moved, back = state.get("url.page") != page, _went_back()
    if back:
        if not moved:
            for name in state["url.want"].keys() - STAYING:
                state["url.kept"].pop(name, None)
        state["url.kept"] |= {name: value for name, value in st.query_params.to_dict().items() if name not in STAYING}
    undone = state.pop("url.undone", False)
    state["url.page"], state["url.fresh"], state["url.want"] = page, moved or back or undone, {}
    state["url.names"] = set()
    state.pop("figures.subject", None)  # of the run before
    state["url.quiet"] = moved or back  # what differs now was not changed on this page
    if state["url.fresh"]:
        state["url.arrived"] = picture()


def show(view: str) -> None:
    """Say which of a page's views is on screen: one that comes anew is told what is set by now."""
    state = st.session_state
    if state.get("url.view") != view:
        state["url.view"], state["url.arrived"] = view, picture()


def _went_back() -> bool:
    """Whether the browser's back or forward button asked for this run; no public function of Streamlit tells."""
    context = get_script_run_ctx()
    return bool(getattr(context, "is_history_navigation", False)) and "url.page" in st.session_state


def write(*, last: bool = False) -> None:
    """Show in the address what was kept. last: at the end of a run; a fragment is a run by itself."""
    want = st.session_state["url.want"]
    if want != st.query_params.to_dict():
        st.query_params.from_dict(want)
    if last or getattr(get_script_run_ctx(), "fragment_ids_this_run", None):
        _remember()
    if last:
        st.session_state["url.fresh"] = False


# -- undo ------------------------------------------------------------------------------------------------------


def _remember() -> None:
    """Put what was changed since the last run on the pile of this page, as it was before."""
    state, page = st.session_state, st.session_state["url.page"]
    seen, piles = state.setdefault("url.seen", {}), state.setdefault("url.piles", {})
    before, now = seen.get(page, {}), {name: state["url.kept"][name] for name in state["url.names"]}
    changed = {name: old for name, old in before.items() if now.get(name, old) != old and name != "lang"}
    seen[page] = before | now
    if changed and not state["url.quiet"]:
        last, at = state.get("url.last", ({}, 0.0))
        pile = piles.setdefault(page, [])
        if not (pile and last == (page, *changed) and time.monotonic() - at < ONE_CHANGE):
            pile.append(changed)
        state["url.last"] = ((page, *changed), time.monotonic())


def undo() -> bool:
    """Before a run: take back the latest change made on this page; whether there was one. Language stays."""
    state = st.session_state
    pile = state.get("url.piles", {}).get(state["url.page"], [])
    if not pile:
        return False
    was = pile.pop()
    state["url.kept"] |= was
    state["url.seen"][state["url.page"]] |= was
    state["url.undone"], state["url.last"] = True, ((), 0.0)
    return True


# -- values ----------------------------------------------------------------------------------------------------


def recall(name: str, default: str = "") -> str:
    """What was kept under this name."""
    return st.session_state["url.kept"].get(name, default)


def keep(name: str, value: str, default: str = "", *, shown: bool = True) -> None:
    """Remember a value; the address stays bare of defaults, of texts too long for it, and of what is not `shown`."""
    state = st.session_state
    state["url.kept"][name], state["url.defaults"][name] = value, default
    state["url.names"].add(name)
    want = state["url.want"]
    want.pop(name, None)
    if shown and value != default and len(value) <= LONGEST:
        want[name] = value


def _follow(name: str, default: str, key: str) -> None:
    """A field that still holds its default takes the new one when that has changed: an example in another language."""
    state = st.session_state
    old = state["url.defaults"].get(name, default)
    untouched = key not in state or str(state[key]) == old
    if old != default and state["url.kept"].get(name) == old and untouched:
        state["url.kept"][name] = default
        state.get("url.seen", {}).get(state["url.page"], {}).pop(name, None)  # not the reader's change: no undo
        state.pop(key, None)


def _seed(key: str, value) -> None:
    """Give a widget its value when it appears, or when the reader has come from elsewhere."""
    if st.session_state["url.fresh"] or key not in st.session_state:
        st.session_state[key] = value


def _drawn(widget: Callable, label: str, *place, key: str, **settings):
    """The widget, its value in the session also its own default: a browser that was still fetching the code of the
    field when somebody clicked on another has missed what was set, and draws the default."""
    value, taken = st.session_state[key], inspect.signature(widget).parameters
    if "index" in taken:
        options = settings.pop("options")
        options = [*options, value] if value and value not in options else options  # a path that somebody has typed
        settings |= {"options": options, "index": options.index(value) if value in options else None}
    else:
        settings["value" if "value" in taken else "default"] = value
    return widget(label, *place, key=key, **settings)


def text(widget: Callable, label: str, default: str, *, key: str, **settings) -> str:
    """A text field, or a choice that takes new options."""
    _follow(key, default, key)
    _seed(key, recall(key, default))
    value = _drawn(widget, label, key=key, **settings) or ""  # a choice without options is None
    keep(key, value, default)
    return value


def flag(widget: Callable, label: str, *, key: str, **settings) -> bool:
    """A toggle that is off by default; "1" in the address while it is on."""
    _seed(key, recall(key, "0") == "1")
    value = _drawn(widget, label, key=key, **settings)
    keep(key, str(int(value)), "0")
    return value


def number(
    widget: Callable, label: str, low: float, high: float, default: float, *, key: str, name: str = "", **settings
) -> float:
    """A slider or number field, of whole numbers if its default is one. name: what it is called in the address, if not
    as its key."""
    name = name or key
    _bound(low, high, default, key, name)
    value = _drawn(widget, label, low, high, key=key, **settings)
    keep(name, str(value), str(default))
    return value


def among(widget: Callable, label: str, numbers: range, default: int, *, key: str, **settings) -> int:
    """A choice of one of some neighbouring numbers, which `format_func` may give names."""
    _bound(numbers[0], numbers[-1], default, key, key)
    value = _drawn(widget, label, key=key, options=numbers, **settings)
    keep(key, str(value), str(default))
    return value


def _bound(low: float, high: float, default: float, key: str, name: str) -> None:
    """Seed the widget of a number, within its bounds."""
    _follow(name, str(default), key)
    _seed(key, _read(recall(name, str(default)), default))
    st.session_state[key] = min(max(st.session_state[key], low), high)


def choice(widget: Callable, label: str, options: list[str], *, key: str, **settings) -> str:
    """A choice (radio, segmented control) whose value, not its translated label, is in the address.

    The first option is the default, and what a link with an unknown option gets.
    """
    _follow(key, options[0], key)
    kept = recall(key, options[0])
    _seed(key, kept if kept in options else options[0])
    value = _drawn(widget, label, key=key, options=options, **settings)
    keep(key, value, options[0])
    return value


def several(
    widget: Callable, label: str, options: list[str], default: list[str], *, key: str, of: str = "", **settings
) -> list[str]:
    """A choice of any number of options; those of a link that are not there are passed over.

    of: what the options belong to, a directory say; when the reader goes to another, the choice begins anew.
    """
    written = _written(default)
    if last(f"{key}.of", of) != of:
        st.session_state["url.kept"].pop(key, None)
        st.session_state.pop(key, None)
    kept = _read(recall(key, written), default)
    kept = [option for option in kept if option in options] if isinstance(kept, list) else default
    _seed(key, kept)
    st.session_state[key] = [option for option in st.session_state[key] if option in options]
    value = _drawn(widget, label, key=key, options=options, **settings)
    keep(key, _written(value), written)
    return value


def last(name: str, now):
    """What this was when the page was drawn last, and from now on `now`; that itself where the reader has come from
    elsewhere or took something back."""
    state = st.session_state
    before = now if state["url.fresh"] else state.get(f"{name}.last", now)
    state[f"{name}.last"] = now
    return before


# -- what is set in a picture ----------------------------------------------------------------------------------


def picture() -> dict:
    """What is set in the attention and neuron views: `PICTURE` with what the link or the reader changed."""
    return {name: _read(recall(name, _written(default)), default) for name, default in PICTURE.items()}


def arrived() -> dict:
    """What was set as the view opened: it is told it once, and from then on reports what is changed."""
    return st.session_state["url.arrived"]


def keep_picture(state: dict) -> None:
    """Keep what is set in a view."""
    for name, default in PICTURE.items():
        keep(name, _written(state.get(name, default)), _written(default))


def _written(value) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _read(text: str, default):
    """A value of the default's kind; the default for anything else. Lists and None are checked by the views."""
    if isinstance(default, str):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return default
    if isinstance(default, float):
        return float(value) if type(value) in (int, float) and abs(value) < 1e9 else default
    return value if type(default) is not int or type(value) is int else default
