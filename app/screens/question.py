"""Question answering: the answer lit up in its passage, the other spans weighed, and the two curves behind them."""

import streamlit as st

from app import components, examples, loaders, url
from app.i18n import t
from bertlab.views import figures, passage

components.heading("question")
left, right = st.columns(2, gap="large")
with left:
    question = url.text(st.text_input, t("question.question"), examples.QUESTIONS[0], key="question", live="300ms")
    text = url.text(st.text_area, t("question.passage"), examples.PASSAGE, key="passage", height=220)
    if len(text) > url.LONGEST:
        st.caption(t("long.link"))
    with st.container(horizontal=True, gap="xsmall"):
        for example in examples.QUESTIONS:
            st.button(
                example, type="tertiary", on_click=st.session_state.update,
                args=({"question": example, "passage": examples.PASSAGE},),
            )  # fmt: skip

found = None
with right.container(key="answers"), components.told():
    found = loaders.ask(components.chosen("answer"), "answer", question, text, 10)
    best = found.answers[0]
    st.html(f'<p class="say" dir="auto"><b>{components.plain(best.text)}</b> · {best.probability:.0%}</p>')
    st.html(f'<div class="passage">{passage.highlight(text, found.answers)}</div>')
    if len(found.windows) > 1:
        st.caption(t("question.windows", count=len(found.windows), best=found.best_window + 1))
    st.caption(t("question.none", probability=found.no_answer_probability))

if found:
    lower, curves = st.columns(2, gap="large")
    with lower:
        st.subheader(t("question.more"), anchor=False)
        rows = {
            t("question.answer"): [answer.text for answer in found.answers],
            t("question.probability"): [answer.probability for answer in found.answers],
            t("question.score"): [answer.score for answer in found.answers],
        }
        columns = {
            t("question.answer"): st.column_config.TextColumn(width=180),
            t("question.probability"): st.column_config.ProgressColumn(
                format="percent", min_value=0, max_value=1, width=110
            ),
            t("question.score"): st.column_config.NumberColumn(format="%.2f", width=70),
        }
        st.dataframe(rows, hide_index=True, column_config=columns)
    with curves:
        st.subheader(t("question.curves"), anchor=False)
        labels = (t("question.start"), t("question.end"))
        components.figure(figures.span_curves(found, text, labels=labels), key="curves")
