"""The interface language of a session, and the texts in it."""

import streamlit as st

from bertlab.app import url
from bertlab.config.errors import BertlabError
from bertlab.config.languages import DEFAULT, languages, render


def t(id: str, **values: object) -> str:
    """An interface text in the language of this session.

    Args:
        id: the id of a message in `bertlab/locales/*/app`.
        values: what the message puts in.

    Raises:
        LookupError: no catalogue has this message.
    """
    return render(id, language(), **values)


def error_text(error: Exception | str) -> str:
    """An error in the language of this session, one line; another library's error as that library words it."""
    return error.render(language()) if isinstance(error, BertlabError) else str(error)


def language() -> str:
    """The code of this session's language: what was chosen, else what the link says, else English."""
    # the widget's state is what was just clicked; before it is drawn for the first time, the link counts
    chosen = st.session_state.get("lang") or url.recall("lang")
    return chosen if chosen in languages() else DEFAULT
