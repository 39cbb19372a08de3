"""The app: draws the menu and the sidebar, and runs the script of the current page.

Start it with `bertlab app` or `streamlit run bertlab/app/streamlit_app.py`.
"""

import sys
from pathlib import Path

import streamlit as st

# Streamlit adds only the folder of this file to `sys.path`. If the root of the repository is added too, the app also
# runs from an uninstalled clone.
ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bertlab.app import skeleton  # noqa: E402

page_container, skeleton_container = st.container(key="page"), st.empty()  # the skeleton is below the previous page
if "torch" not in sys.modules:  # at the first visit after a start of the server, the imports below take seconds
    skeleton.draw(skeleton_container)

# Plotly and Streamlit look for pandas among the loaded modules, and fail if its import is not complete. Therefore every
# run of this script waits here until pandas is imported, and no page is drawn before that.
import pandas  # noqa: E402, F401

from bertlab.app import components, frame, link, server, sidebar, url, view_state  # noqa: E402
from bertlab.app.classroom import panel, roles  # noqa: E402
from bertlab.app.i18n import t  # noqa: E402
from bertlab.app.pages import PAGES, menu  # noqa: E402
from bertlab.config.renamed_keys import RENAMED_PAGES  # noqa: E402

server.prepare()
st.set_page_config("bertlab", components.STATIC / "icon.svg", layout="wide")
st.logo(components.STATIC / "logo.svg", size="large")
components.apply_style()
components.merge_history_entries()
url.read_address()
roles.identify_visitor()
# The folder of the page scripts is not called "pages". If it were, Streamlit would open a link to a page by running
# only the script of that page, without this module.
sections = {
    section and t(f"section-{section}"): [
        st.Page(
            page.script,
            title=t(page.name),
            icon=page.icon,
            url_path=page.name,
            default=page.name == "start",
            visibility="visible" if page.is_in_menu else "hidden",
        )
        for page in pages
    ]
    for section, pages in menu().items()
}
for former_name in RENAMED_PAGES:
    former_page = st.Page(lambda: None, title=former_name, url_path=former_name, visibility="hidden")
    sections[""].append(former_page)
page = st.navigation(sections, expanded=True)
if page.url_path in RENAMED_PAGES:  # an old link
    st.switch_page(PAGES[RENAMED_PAGES[page.url_path]].script, query_params=st.query_params.to_dict())
panel.follow(page.url_path or "start")
url.enter_page(page.url_path)
view_state.enter_page()
sidebar.draw_language_and_undo()
components.translate_upload_fields()
sidebar.draw_checkpoint(is_used=PAGES[page.url_path or "start"].uses_checkpoint)
try:
    with page_container:
        panel.draw()
        if url.is_new_page():  # otherwise the previous state of the page stays in sight
            skeleton.draw(skeleton_container, t("page-loading"))
        if not panel.hide_page():
            with panel.take_turn(), frame.show_errors():
                page.run()
finally:
    skeleton_container.empty()
link.draw_link()
url.write_address(is_last=True)
server.import_in_background()
