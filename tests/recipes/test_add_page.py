"""Recipe of CONTRIBUTING.md: a page of the app, added with a script and its texts."""

import shutil

import pytest
from bertlab_app import registry
from support.pages import open_page

from bertlab.config import languages

SCRIPT = """
import streamlit as st

from bertlab_app import calls
from bertlab_app.i18n import t
from bertlab_app.widgets import fields, frame, selection

frame.heading("longest-token")
text = fields.text_line(st, t("longest-token-text"), "green tea", key="a")
with frame.show_errors():
    checkpoint = selection.open_checkpoint("attention", text)
    tokens = calls.compute(checkpoint, "attention", text).tokens
    st.metric(t("longest-token-title"), max((row.token for row in tokens), key=len))
"""
TEXTS = """longest-token = Longest token
longest-token-title = Longest token
longest-token-lead = Type a text to see its longest token.
longest-token-text = Text
start-longest-token = The longest token of a text
"""


@pytest.fixture
def longest_token(tmp_path, monkeypatch):
    script = tmp_path / "longest_token.py"
    script.write_text(SCRIPT)
    shutil.copytree(languages.LOCALES / "en", tmp_path / "locales" / "en")
    (tmp_path / "locales" / "en" / "app" / "longest-token.ftl").write_text(TEXTS)
    monkeypatch.setenv("BERTLAB_LOCALES", str(tmp_path / "locales"))
    for cached in (languages.languages, languages._load_bundle):
        cached.cache_clear()
    registry.register("longest-token", ":material/straighten:", "inspect", script)
    yield
    del registry.PAGES["longest-token"]
    monkeypatch.undo()
    for cached in (languages.languages, languages._load_bundle):
        cached.cache_clear()


def test_a_new_page_opens_and_shows_its_result(longest_token, shipped):
    page = open_page("longest_token", a="harbour tea")
    assert not page.exception
    (metric,) = page.metric
    assert len(metric.value) > 1
    assert "longest-token" in [page.name for page in registry.list_pages("inspect")]
