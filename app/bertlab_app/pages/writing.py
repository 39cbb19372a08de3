"""Writing: which words do not fit, suggestions for spelling and spacing, and what could be written next."""

import streamlit as st
from bertlab_app import fields, frame, selection, url_fields
from bertlab_app.i18n import t
from bertlab_app.parts import writing

# writing aid -> function that shows its results
AIDS = {"surprise": writing.show_surprise, "spelling": writing.show_corrections, "next": writing.show_type_ahead}

frame.heading("writing")
names = {aid: t(f"writing-aid-{aid}") for aid in AIDS}
aid = url_fields.choice(
    st.segmented_control, t("writing-aid"), list(names), key="aid", format_func=names.get, required=True,
    label_visibility="collapsed",
)  # fmt: skip
with frame.show_errors():
    examples = selection.examples_for("fill-mask")
    if aid == "next":
        text = fields.text_line(
            st, t("writing-start"), examples.draft_start, key=writing.START, help=t("writing-start-help")
        )
    else:
        text = url_fields.text(st.text_area, t("writing-text"), examples.draft, key=writing.DRAFT, height=120)
        fields.note_too_long_for_link(st, text)
        text = writing.cut_text(text)
    if not any(map(str.isalnum, text)):
        frame.note(t("writing-empty"))
    else:
        checkpoint = selection.open_checkpoint("fill-mask", text)
        AIDS[aid](checkpoint, text)
