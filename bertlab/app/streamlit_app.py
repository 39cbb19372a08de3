"""The window: which page, which checkpoint, which language. Knows no page from inside.

Start it with `streamlit run bertlab/app/streamlit_app.py`, or `bertlab app`.
"""

import sys
from pathlib import Path

import streamlit as st

# Streamlit puts this file's own folder on the path; a clone need not be installed.
ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bertlab.app import components, sidebar, url  # noqa: E402
from bertlab.app.i18n import t  # noqa: E402
from bertlab.app.pages import OWN_CHOICE, SECTIONS, script  # noqa: E402

st.set_page_config("bertlab", components.STATIC / "icon.svg", layout="wide")
st.logo(components.STATIC / "logo.svg", size="large")
st.html(components.STATIC / "app.css")
url.read()
# The folder is not called "pages": the first deep link would make Streamlit run a file of it alone, without this one.
sections = {
    section and t(f"section-{section}"): [
        st.Page(script(page), title=t(page), icon=icon, url_path=page, default=page == "start")
        for page, icon in pages.items()
    ]
    for section, pages in SECTIONS.items()
    if pages
}
page = st.navigation(sections, expanded=True)
url.arrive(page.url_path)
sidebar.language_and_undo()
sidebar.checkpoint(used=page.url_path not in OWN_CHOICE)
page.run()
url.write(last=True)
