"""Which language the window speaks, and its words. Knows no page and no model."""

import streamlit as st

from bertlab.app import url
from bertlab.app.i18n.refusals import korean
from bertlab.app.i18n.strings import STRINGS
from bertlab.views.numbers import Told

LANGUAGES = {"en": "English", "ko": "한국어"}


def t(key: str, **values) -> str:
    """The interface text of this name in the language of this session, English until one is chosen.

    Raises:
        KeyError: there is no such text.
    """
    told = {name: Told(value) if isinstance(value, float) else value for name, value in values.items()}
    return STRINGS[key][list(LANGUAGES).index(language())].format(**told)


def refusal(error: Exception | str) -> str:
    """What the library refuses, in the language of this session."""
    return korean(str(error)) if language() == "ko" else str(error)


def language() -> str:
    """The language of this session, as `LANGUAGES` has it."""
    # the widget's state is what was just clicked; before it is drawn for the first time, the link counts
    chosen = st.session_state.get("lang") or url.recall("lang")
    return chosen if chosen in LANGUAGES else next(iter(LANGUAGES))
