"""The app: draws the menu and the sidebar, and runs the script of the current page."""

import sys
from contextlib import nullcontext

import streamlit as st

from bertlab_app import skeleton


def run() -> None:
    """Draw the app. The script that Streamlit runs calls this function with every change."""
    page_container, skeleton_container = st.container(key="page"), st.empty()  # the skeleton is below the previous page
    if "torch" not in sys.modules:  # at the first visit after a start of the server, the imports below take seconds
        skeleton.draw(skeleton_container)

    # Plotly and Streamlit look for pandas among the loaded modules, and fail if its import is not complete. Therefore
    # every run waits here until pandas is imported, and no page is drawn before that.
    import pandas  # noqa: F401

    from bertlab_app import server, url, view_state
    from bertlab_app.classroom import panel, roles
    from bertlab_app.i18n import t
    from bertlab_app.registry import PAGES, menu
    from bertlab_app.widgets import components, frame

    server.prepare()
    st.set_page_config("bertlab", components.STATIC / "icon.svg", layout="wide")
    st.logo(components.STATIC / "logo.svg", size="large")
    components.apply_style()
    components.merge_history_entries()
    url.read_address()
    roles.identify_visitor()
    # The script that Streamlit runs is not beside the folder "pages". If it were, Streamlit would open a link to a page
    # by running only the script of that page, without this module.
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
    page = st.navigation(sections, expanded=True)
    is_in_lesson = roles.is_in_class() or url.recall("lesson") or url.used_browser_history()
    if is_in_lesson:
        panel.follow(page.url_path or "start")
    url.enter_page(page.url_path)
    view_state.enter_page()
    frame.draw_language_and_undo()
    components.translate_upload_fields()
    frame.draw_checkpoint(is_used=PAGES[page.url_path or "start"].uses_checkpoint)
    try:
        with page_container:
            if is_in_lesson:
                panel.draw()
            if url.is_new_page():  # otherwise the previous state of the page stays in sight
                skeleton.draw(skeleton_container, t("page-loading"))
            if not (is_in_lesson and panel.hide_page()):
                with panel.take_turn() if is_in_lesson else nullcontext(), frame.show_errors():
                    page.run()
    finally:
        skeleton_container.empty()
    frame.draw_link()
    url.write_address(is_last=True)
    server.import_in_background()
