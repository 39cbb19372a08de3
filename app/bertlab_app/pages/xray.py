"""Answer x-ray: the threshold, candidate answers, windows, start and end probabilities, and the answer's attention."""

import streamlit as st
from bertlab_app import fields, frame, selection
from bertlab_app.i18n import t
from bertlab_app.parts import xray
from bertlab_app.parts.reading import call_xray

frame.heading("xray")
left, right = st.columns(2, gap="large")
examples = selection.examples_for("answer")
question = fields.text_line(left, t("answer-question"), examples.questions[0], key="question")
text = fields.passage(left, examples.passage, 250)

xray_result = None
with right.container(key="decision"), frame.show_errors():
    checkpoint = selection.open_checkpoint("answer", question, text)
    passage, span_xray = call_xray(checkpoint, question, text)
    xray_result = span_xray.result
    if xray_result.answers.answers:
        xray.show_result(checkpoint, span_xray)
    else:
        frame.note(t("xray-no-possible-start"))

if xray_result and xray_result.answers.answers:
    xray.show_candidates(text, xray_result)
    window = xray.draw_windows(span_xray, passage)
    xray.draw_probabilities(text, xray_result.readings[window])
    xray.draw_heads(checkpoint, question, text, xray_result)
