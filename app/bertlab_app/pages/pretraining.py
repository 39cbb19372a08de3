"""Pre-training by hand: draw a sentence pair and its masks from a text, and see the predictions and the losses."""

import streamlit as st
from bertlab_app import calls, display, fields, frame, selection, url_fields
from bertlab_app.data import sessions
from bertlab_app.i18n import t
from bertlab_app.parts import pretraining

from bertlab.abilities.pretraining_example.compute import DrawSettings, read_documents
from bertlab.config.languages import DEFAULT

frame.heading("pretraining")
session = selection.find_session("fill-mask")
example_text = read_documents(session.language if session else DEFAULT)[0]
text = url_fields.text(
    st.text_area, t("pretraining-document"), example_text, key="document", height=120,
    help=t("pretraining-document-help"),
)  # fmt: skip
fields.note_too_long_for_link(st, text)
button_container = st.empty()  # reserves space, so that the page below is not redrawn when the button appears
if text != example_text:
    button_container.button(
        t("pretraining-example-text"), key="example-text", type="tertiary",
        on_click=st.session_state.__setitem__, args=("document", example_text),
    )  # fmt: skip
draw_number = pretraining.choose_draw()
settings = pretraining.choose_settings(session.loaded.pair_objective if session else "next")

with st.container(key="drawn"), frame.show_errors():
    checkpoint = selection.open_checkpoint("fill-mask", text)
    example = calls.call_session(checkpoint, "pretraining_example", text, draw_number, **settings)
    limit = min(DrawSettings.max_tokens, sessions.open_session(checkpoint).config.max_tokens)
    pretraining.show_pair(example.result, limit)
    pretraining.show_losses(example.result)
    pretraining.show_predictions(example)
    display.explain("mask_shares", "mask_probability", "rank", "token_loss", "nsp_probability", "pretraining_loss")
    pretraining.show_running_mean(checkpoint, text, draw_number, settings)
