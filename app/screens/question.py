"""Question answering: the answer lit up in its passage, the other spans weighed, and the two curves behind them."""

import streamlit as st

from app import components, examples, loaders, url
from app.i18n import t
from bertlab.views import figures, passage

MAX_QUESTION = 64  # pieces of a question that `Session.answer` reads

components.heading("question")
left, right = st.columns(2, gap="large")
with left:
    question = components.line(st, t("question.question"), examples.QUESTIONS[0], key="question")
    text = url.text(st.text_area, t("question.passage"), examples.PASSAGE, key="passage", height=220)
    components.too_long_for_a_link(st, text)
    with st.container(horizontal=True, gap="xsmall"):
        for example in examples.QUESTIONS:
            st.button(
                example, type="tertiary", on_click=st.session_state.update,
                args=({"question": example, "passage": examples.PASSAGE},),
            )  # fmt: skip

found = None
with right.container(key="answers"), components.told():
    checkpoint = components.chosen("answer")
    if loaders.pieces(checkpoint, question) > MAX_QUESTION:
        st.caption(t("question.long", limit=MAX_QUESTION))
    with st.spinner(t("question.reading")):
        found = loaders.ask(checkpoint, "answer", question, text, 10)
    best = found.answers[0]
    st.html(f'<p class="say" dir="auto"><b>{components.plain(best.text)}</b> · {best.probability:.0%}</p>')
    st.html(f'<div class="passage">{passage.highlight(text, found.answers)}</div>')
    if len(found.windows) > 1:
        st.caption(t("question.windows", count=len(found.windows), best=found.best_window + 1))
    st.caption(t("question.none", probability=found.no_answer_probability))
    if found.no_answer_probability > best.probability:
        components.note(t("question.doubt"))

if found:
    components.explain("answer_probability", "span_score", "no_answer", "start_end")
    lower, curves = st.columns([5, 4], gap="medium")
    with lower:
        st.subheader(t("question.more"), anchor=False, help=t("question.more.help"))
        # the numbers first: on a narrow screen a long answer runs out to the right
        rows = {
            t("question.probability"): [answer.probability for answer in found.answers],
            t("question.score"): [answer.score for answer in found.answers],
            t("question.answer"): [answer.text for answer in found.answers],
        }
        columns = {
            t("question.probability"): st.column_config.ProgressColumn(
                format="percent", min_value=0, max_value=1, width=100
            ),
            t("question.score"): st.column_config.NumberColumn(format="%.2f", width=60),
        }
        st.dataframe(rows, hide_index=True, column_config=columns)
    with curves:
        st.subheader(t("question.curves"), anchor=False)
        names = {
            "labels": (t("question.start"), t("question.end")), "shade": t("question.best"),
            "axes": (t("question.word"), t("question.probability")),
        }  # fmt: skip
        code = components.lines(
            checkpoint, f"passage = {text!r}", f"answers = session.answer({question!r}, passage, n_best=10)",
            f"figure = figures.span_curves(answers, passage, **{names!r})",
        )  # fmt: skip
        data = {
            "word": [text[start:end] for start, end in found.words], "start": found.start_probs, "end": found.end_probs
        }  # fmt: skip
        components.figure(figures.span_curves(found, text, **names), key="curves", code=code, data=data)
