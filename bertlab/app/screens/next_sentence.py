"""Next sentence: the probability that the second sentence follows the first."""

import streamlit as st

from bertlab.app import calls, display, fields, frame, plots, selection
from bertlab.app.i18n import t
from bertlab.views import figures
from bertlab.views.numbers import percent


def fill_fields(first: str, second: str) -> None:
    """Replace the text of both fields."""
    st.session_state["first"], st.session_state["second"] = first, second


frame.heading("next-sentence")
examples = selection.examples_for("next-sentence").next_sentence_pairs
first = fields.text_line(st, t("next-sentence-first"), examples["follow"][0], key="first")
second = fields.text_line(st, t("next-sentence-second"), examples["follow"][1], key="second")
with st.container(horizontal=True, vertical_alignment="center"):
    st.button(t("next-sentence-swap"), on_click=fill_fields, args=(second, first), icon=":material/swap_vert:")
    for name, pair in examples.items():
        st.button(t(f"next-sentence-{name}"), on_click=fill_fields, args=pair, type="tertiary")

with st.container(key="verdict"), frame.show_errors():
    checkpoint = selection.open_checkpoint("next-sentence", first, second)
    prediction = calls.call_session(checkpoint, "next_sentence", first, second)
    answer = prediction.result
    labels = (t(f"next-sentence-yes-{answer.objective}"), t(f"next-sentence-no-{answer.objective}"))
    probabilities = (answer.probability, 1 - answer.probability)
    parts = [f"{label} {percent(probability)}" for label, probability in zip(labels, probabilities, strict=True)]
    more_probable = probabilities.index(max(probabilities))
    parts[more_probable] = f"<b>{parts[more_probable]}</b>"
    st.html(f'<p class="say">{" · ".join(parts)}</p>')
    data = {"label": labels, "probability": probabilities}
    plots.draw("gauge", figures.nsp_gauge, prediction, labels=labels, data=data, layout={"showlegend": False})
    if answer.objective == "order":
        frame.note(t("next-sentence-order-note"))
    display.explain("nsp_probability")
