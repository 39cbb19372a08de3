"""X-ray of an answer: start and end at every word, the spans weighed, the threshold, the windows, the heads between."""

import streamlit as st

from bertlab.app import components, loaders, url
from bertlab.app.i18n import t
from bertlab.app.parts import xray

components.heading("xray")
left, right = st.columns(2, gap="large")
examples = components.said("answer")
question = components.line(left, t("question-question"), examples.questions[0], key="question")
text = url.text(left.text_area, t("question-passage"), examples.passage, key="passage", height=250)
components.too_long_for_a_link(left, text)

seen = None
with right.container(key="decision"), components.told():
    checkpoint = components.chosen("answer")
    with st.spinner(t("question-reading")):
        seen = loaders.reading(checkpoint, question, text, components.steps(st.empty(), "question-parts"))
    if seen.answers.answers:
        xray.decision(checkpoint, question, text, seen)
    else:
        components.note(t("xray-nothing"))

if seen and seen.answers.answers:
    xray.spans(text, seen)
    window = xray.windows(checkpoint, question, text, seen)
    xray.columns(text, seen.readings[window])
    xray.heads(checkpoint, question, text, seen)
