"""The role of a visitor of a class: the teacher, who has the key, or a participant, who has a random token."""

import hashlib
import hmac
import os
import re
import secrets

import streamlit as st

from bertlab.cli.app import CLASSROOM_KEY, CLASSROOM_LESSON
from bertlab_app.widgets import components

TEACHER_COOKIE, PARTICIPANT_COOKIE = "bertlab-teacher", "bertlab-participant"  # names of cookies
_TOKEN_PATTERN = re.compile(r"[0-9a-f]{32}")


def is_in_class() -> bool:
    """Whether this session belongs to a class: the app was started with `bertlab app --class`."""
    return bool(os.environ.get(CLASSROOM_LESSON))


def is_teacher() -> bool:
    """Whether this session has sent the teacher's key."""
    return is_in_class() and st.session_state.get("class.is_teacher", False)


def identify_visitor() -> None:
    """Determine the role of this visitor."""
    state = st.session_state
    key = state["url.values"].pop("key", "")
    if not is_in_class():
        return
    if not state.get("class.is_teacher"):
        state["class.is_teacher"] = is_key(key) or _equal(read_cookie(TEACHER_COOKIE), _digest_key())
    if "class.token" not in state:
        stored_token = read_cookie(PARTICIPANT_COOKIE)
        state["class.token"] = stored_token if is_token(stored_token) else secrets.token_hex(16)
    cookie = (
        {"name": TEACHER_COOKIE, "value": _digest_key()}
        if is_teacher()
        else {"name": PARTICIPANT_COOKIE, "value": state["class.token"]}
    )
    components.set_cookie(**cookie)


def token() -> str:
    """Return the random token of this participant."""
    return st.session_state["class.token"]


def is_token(text: str) -> bool:
    """Whether a text has the form of a participant's token."""
    return bool(_TOKEN_PATTERN.fullmatch(text))


def read_cookie(name: str) -> str:
    """Return the value of a cookie of this visitor's browser; "" if there is none."""
    return st.context.cookies.get(name, "")


def is_key(key: str) -> bool:
    """Whether a text is the teacher's key."""
    return bool(os.environ.get(CLASSROOM_KEY)) and _equal(key, os.environ[CLASSROOM_KEY])


def _equal(first: str, second: str) -> bool:
    """Whether two texts are equal."""
    return hmac.compare_digest(first.encode(), second.encode())


def _digest_key() -> str:
    """Return the digest of the key for the teacher's cookie."""
    return hmac.new(os.environ.get(CLASSROOM_KEY, "").encode(), b"teacher", hashlib.sha256).hexdigest()
