"""The interface language of a session, and texts in this language."""

import streamlit as st

from bertlab.config.errors import BertlabError
from bertlab.config.languages import DEFAULT, languages, render
from bertlab_app import url


def t(id: str, **values: object) -> str:
    """Translate: return an interface text in the language of this session."""
    return render(id, language(), **values)


def error_text(error: Exception | str) -> str:
    """Return the message of an error in the language of this session.

    The message of another library's error is returned unchanged.
    """
    return error.render(language()) if isinstance(error, BertlabError) else str(error)


def language() -> str:
    """Return the language code of this session: the one chosen in the sidebar, else the one in the link, else "en"."""
    # the field in the sidebar has a value only after it was drawn; before that, the link decides
    chosen = st.session_state.get("lang") or url.recall("lang")
    return chosen if chosen in languages() else DEFAULT
