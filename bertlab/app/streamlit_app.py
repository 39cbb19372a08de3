"""The frame around every page: menu, language, undo and checkpoint.

Start it with `streamlit run bertlab/app/streamlit_app.py`, or `bertlab app`.
"""

import sys
from pathlib import Path

import streamlit as st

# Streamlit puts this file's own folder on the path; a clone need not be installed.
ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bertlab.app import components, frame, server, sidebar, url  # noqa: E402
from bertlab.app.i18n import t  # noqa: E402
from bertlab.app.pages import PAGES, SECTIONS, in_section  # noqa: E402

server.prepare()
st.set_page_config("bertlab", components.STATIC / "icon.svg", layout="wide")
st.logo(components.STATIC / "logo.svg", size="large")
components.page_style()
url.read_address()
# The folder of the pages is not called "pages": a deep link would make Streamlit run a file of it without this one.
sections = {
    section and t(f"section-{section}"): [
        st.Page(page.script, title=t(page.name), icon=page.icon, url_path=page.name, default=page.name == "start")
        for page in in_section(section)
    ]
    for section in SECTIONS
}
page = st.navigation(sections, expanded=True)
url.enter_page(page.url_path)
sidebar.language_and_undo()
sidebar.checkpoint(used=PAGES[page.url_path or "start"].uses_checkpoint)
with frame.show_errors():
    page.run()
url.write_address(last=True)
