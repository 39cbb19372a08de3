"""The link at the end of a page: a button that copies the page's address, and a QR code of this address."""

import html
from urllib.parse import quote, urlencode, urlsplit

import streamlit as st

from bertlab.config.errors import BertlabError
from bertlab.views.qr_code import qr_code
from bertlab_app import access, components, frame
from bertlab_app.i18n import error_text, t

HOST_COMMAND = "bertlab app --host 0.0.0.0"  # starts an app that other devices, such as phones, can reach


def draw_link() -> None:
    """Draw the button that copies the address of the page, and the button that shows its QR code."""
    with st.container(key="link", horizontal=True, vertical_alignment="center"):
        components.draw_link_button()
        _draw_qr_code()


@st.fragment  # so that a click runs only this function again, not the whole page
def _draw_qr_code() -> None:
    """Draw the button that shows the QR code in a dialog."""
    if st.button(t("qr-code"), icon=":material/qr_code_2:", type="tertiary", key="qr-code"):
        st.dialog(t("qr-code"))(_show_qr_code)()


def _show_qr_code() -> None:
    """Show the QR code of the page's address, or a note that says why it cannot be made."""
    link = make_link(st.context.url or "", st.query_params.to_dict())
    try:
        st.html(f'<img class="qr-code" alt="{html.escape(t("qr-code-label"))}" src="{html.escape(qr_code(link))}">')
    except BertlabError as error:
        frame.note(error_text(error))
        return
    if access.is_loopback(urlsplit(link).hostname or ""):
        frame.note_with_command(t("qr-code-only-here"), HOST_COMMAND)
    else:
        st.caption(t("qr-code-lead"))


def make_link(address: str, parameters: dict[str, str]) -> str:
    """Make the link to a page from its address and its parameters.

    >>> make_link("http://localhost:8501/fill-mask", {"text": "a & b"}), make_link("http://localhost:8501/", {})
    ('http://localhost:8501/fill-mask?text=a%20%26%20b', 'http://localhost:8501/')
    """
    return f"{address}?{urlencode(parameters, quote_via=quote)}" if parameters else address
