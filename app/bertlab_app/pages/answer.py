"""Question answering: the answer in its passage, other candidate answers, and start and end probabilities."""

from dataclasses import replace

import streamlit as st
from bertlab_app.data import sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import components, display, fields, files, frame, plots, selection, sentences
from bertlab_app.widgets.reading import call_xray

from bertlab.views import figures, passage
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html
from bertlab.views.shortening import shorten_to_width

MAX_QUESTION_TOKENS = 64  # `Session.answer` and `Session.xray` cut off the rest of a longer question

frame.heading("answer")
left, right = st.columns(2, gap="large")
examples = selection.examples_for("answer")
with left:
    question = fields.text_line(st, t("answer-question"), examples.questions[0], key="question")
    text = fields.passage(st, examples.passage, 250)
    with st.container(horizontal=True, gap="xsmall"):
        for example in examples.questions:
            values = {"question": example, "passage": examples.passage}
            st.button(example, type="tertiary", on_click=st.session_state.update, args=(values,))

answers = None
with right.container(key="answers"), frame.show_errors():
    checkpoint = selection.open_checkpoint("answer", question, text)
    if sessions.count_tokens(checkpoint, question) > MAX_QUESTION_TOKENS:
        st.caption(t("answer-question-too-long", limit=MAX_QUESTION_TOKENS))
    passage_expression, xray_expression = call_xray(checkpoint, question, text)
    answers = xray_expression.result.answers
    best, has_threshold = answers.answers[0], answers.null_threshold is not None
    allows_no_answer = has_threshold and fields.flag(
        st.toggle, t("answer-allow-no-answer"), key="refuse", help=t("answer-allow-no-answer-help")
    )
    threshold = fields.threshold(st, checkpoint) if allows_no_answer else None
    # whether the checkpoint's own threshold, rather than the one that the user sets, refuses the answer
    is_refused_by_default = has_threshold and answers.refused
    answers = replace(answers, null_threshold=threshold)
    style = " faint" * answers.refused
    line = f"<b>{escape_html(best.text)}</b> · {percent(best.probability)}"
    if answers.refused:
        st.html(f'<p class="say" role="status"><b>{t("answer-no-answer")}</b></p>')
        line = f"{t('answer-best-span-prefix')} {line}"
    st.html(f'<p class="{style or "say"}" dir="auto">{line}</p>')
    st.html(f'<div class="passage{style}">{passage.highlight(text, answers.answers)}</div>')
    components.scroll_to_answer("answer")
    if allows_no_answer:
        message_id = "answer-no-answer-score" if answers.refused else "answer-span-score"
        st.caption(t(message_id, margin=answers.no_answer_margin, tau=threshold))
    if len(answers.windows) > 1:
        st.caption(t("answer-windows", count=len(answers.windows), best=answers.best_window + 1))
    st.caption(t("answer-no-answer-probability", probability=answers.no_answer_probability))
    if is_refused_by_default and not allows_no_answer:
        frame.note(t("answer-would-give-no-answer"))
    elif not has_threshold and answers.no_answer_probability > best.probability:
        frame.note(t("answer-no-answer-likelier"))

if answers:
    display.explain("answer_probability", "span_score", "no_answer", "tau", "start_end")
    candidates, curves = st.columns([5, 4], gap="medium")
    with candidates:
        st.subheader(t("answer-candidates"), anchor=False, help=t("answer-candidates-help"))
        # the numbers come first, because a narrow screen cuts off the right of the table
        rows = {
            t("answer-probability"): [100 * answer.probability for answer in answers.answers],
            t("answer-score"): [answer.score for answer in answers.answers],
            # shortened in the middle, because answers may begin alike; the next column has the full answer
            t("answer-shortened"): [shorten_to_width(answer.text, 26, tail=10) for answer in answers.answers],
            t("answer-full"): [answer.text for answer in answers.answers],
        }
        columns = {
            t("answer-probability"): st.column_config.ProgressColumn(
                format="%.1f%%", min_value=0, max_value=100, width=100
            ),
            t("answer-score"): st.column_config.NumberColumn(format="%.2f", width=60),
            # narrow columns, so that the table fits beside the curves; a click on a cell shows its full text
            t("answer-shortened"): st.column_config.TextColumn(width=190),
            t("answer-full"): st.column_config.TextColumn(width=110),
        }
        st.dataframe(rows, hide_index=True, column_config=columns)
    with curves:
        st.subheader(t("answer-curves"), anchor=False)
        zoom = fields.zoom_switch(st)
        words = [text[start:end] for start, end in answers.words]
        data = {"word": words, "start": answers.start_probs, "end": answers.end_probs}
        answers_expression = xray_expression.field("answers")
        plots.draw(
            "curves", figures.span_curves, answers_expression, passage_expression, zoom=zoom, data=data, lang=language()
        )
        display.sentence(sentences.span(answers, text))
files.draw_panel("answer", question)
