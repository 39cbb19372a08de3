"""Answer x-ray: start and end probabilities, spans, threshold, windows, and heads."""

import streamlit as st

from bertlab.app import fields, frame, selection, url
from bertlab.app.i18n import t
from bertlab.app.parts import xray
from bertlab.app.parts.reading import read_passage

frame.heading("xray")
left, right = st.columns(2, gap="large")
examples = selection.examples_for("answer")
question = fields.text_line(left, t("question-question"), examples.questions[0], key="question")
text = url.text(left.text_area, t("question-passage"), examples.passage, key="passage", height=250)
fields.note_too_long_for_link(left, text)

seen = None
with right.container(key="decision"), frame.show_errors():
    checkpoint = selection.open_checkpoint("answer", question, text)
    passage, reading = read_passage(checkpoint, question, text)
    seen = reading.result
    if seen.answers.answers:
        xray.decision(checkpoint, reading)
    else:
        frame.note(t("xray-no-possible-start"))

if seen and seen.answers.answers:
    xray.spans(text, seen)
    window = xray.windows(reading, passage)
    xray.probability_columns(text, seen.readings[window])
    xray.heads(checkpoint, question, text, seen)
