"""Answer x-ray: the threshold, candidate answers, windows, start and end probabilities, and the answer's attention."""

import streamlit as st
from bertlab_app import calls, url
from bertlab_app.data import sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import components, display, fields, frame, plots, selection, sentences
from bertlab_app.widgets.reading import call_xray

from bertlab.abilities.answer import span_attention
from bertlab.abilities.answer import xray_figures as xray
from bertlab.abilities.results import SpanXray, WindowReading
from bertlab.views import columns
from bertlab.views.passage import escape_html

SCROLL_LENGTH = 2_500  # a passage with more characters is shown in a scrolling box


def show_result(checkpoint: sessions.CheckpointKey, span_xray: calls.Expression) -> None:
    """Draw the slider of the no-answer threshold, the result at this threshold, and where the result changes."""
    xray_result, tau = span_xray.result, fields.threshold(st, checkpoint)
    best = xray_result.answers.answers[0]
    if xray_result.margin <= tau:
        st.html(f'<p class="say">{t("xray-answer-at", tau=tau)} <b dir="auto">{escape_html(best.text)}</b></p>')
    else:
        st.html(f'<p class="say">{t("xray-no-answer-at", tau=tau)}</p>')
    plots.draw("threshold", xray.threshold_strip, span_xray, tau, fields.MAX_TAU, lang=language())
    values = {"margin": xray_result.margin, "no_answer": xray_result.answers.no_answer_score, "best": best.score}
    st.caption(t("xray-result-changes-at", **values))
    display.explain("tau", "no_answer", "span_score")


def draw_windows(span_xray: calls.Expression, passage: calls.Expression) -> int:
    """Draw the windows of the passage and their scores, and a field to choose a window."""
    st.subheader(t("xray-windows"), anchor=False)
    xray_result = span_xray.result
    count, best = len(xray_result.readings), xray_result.answers.best_window
    if count == 1:
        st.caption(t("xray-windows-one"))
        return 0
    st.caption(t("xray-windows-lead", count=count))
    data = columns.windows(xray_result, passage.result)
    plots.draw("windows", xray.windows_figure, span_xray, passage, data=data, lang=language())
    display.sentence(sentences.windows(xray_result))
    return fields.number(st.number_input, t("xray-window"), 1, count, best + 1, key="window") - 1


def show_candidates(passage_text: str, xray_result: SpanXray) -> None:
    """Draw the passage with its best candidate answers underlined, and a slider for the number of these answers."""
    st.subheader(t("xray-spans"), anchor=False)
    st.caption(t("xray-spans-lead"))
    count = fields.number(st.slider, t("xray-candidate-count"), 1, 10, 4, key="show")
    css_class = "passage" if len(passage_text) > SCROLL_LENGTH else "whole"
    with st.container(key="spans"):
        st.html(
            f'<div class="{css_class}">{xray.spans_html(passage_text, xray_result.answers.answers, show=count)}</div>'
        )
        components.scroll_to_answer("spans")
    display.explain("answer_probability", "span_score")


def draw_probabilities(passage_text: str, reading: WindowReading) -> None:
    """Draw the start and end probability of every token of one window."""
    st.subheader(t("xray-columns"), anchor=False)
    highest = float(max(reading.start_probs_T.max(), reading.end_probs_T.max()))
    st.caption(t("xray-columns-lead", highest=highest))
    scale = fields.choice(
        st.segmented_control, t("xray-scale"), ["linear", "logarithmic"], key="columns", required=True,
        format_func=lambda name: t(f"xray-scale-{name}"), label_visibility="collapsed",
    )  # fmt: skip
    html = xray.columns_html(passage_text, reading, logarithmic=scale == "logarithmic", lang=language())
    st.html(f'<div class="whole">{html}</div>')
    display.explain("start_end")


@st.fragment
@frame.show_errors()
def draw_heads(checkpoint: sessions.CheckpointKey, question: str, passage_text: str, xray_result: SpanXray) -> None:
    """Draw how much attention of each head goes from question to answer or back, and what one head attends to."""
    st.subheader(t("xray-heads"), anchor=False)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    direction = fields.choice(
        left.segmented_control, t("xray-direction"), ["question", "answer"], key="direction", required=True,
        format_func=lambda name: t(f"xray-direction-{name}"),
    )  # fmt: skip
    answers = xray_result.answers.answers
    answer_index = fields.number(right.number_input, t("xray-candidate"), 1, len(answers), 1, key="rank") - 1
    answer, window = answers[answer_index], xray_result.answer_windows[answer_index]
    arguments = (question, passage_text, window, answer.start, answer.end)
    attention_call = calls.call_session(checkpoint, "span_attention", *arguments)
    attention = attention_call.result
    from_answer = direction == "answer"
    share = attention_call.field("answer_to_question_LN" if from_answer else "question_to_answer_LN")
    share_LN = share.result
    # the share that a head with equal attention to all tokens would have
    uniform_share = len(attention.question if from_answer else attention.answer) / len(attention.tokens)
    strongest_head = divmod(int(share_LN.argmax()), share_LN.shape[1])
    # "between." begins the names of both fields in the address
    layer, head = fields.layer_and_head(sessions.open_session(checkpoint).config, strongest_head, "between.")

    def select_head(customdata: list) -> None:
        fields.set_layer_and_head(*customdata[:2], "between.")

    data = columns.heads({"share": share_LN, "times_uniform": share_LN / uniform_share})
    plots.draw(
        "heads", span_attention.heads_map, share, uniform_share, (layer, head), data=data, on_click=select_head,
        lang=language(),
    )  # fmt: skip
    values = {"share": float(share_LN[layer, head]), "ratio": float(share_LN[layer, head]) / uniform_share}
    st.html(f'<p class="small">{t("xray-head-share", layer=layer, head=head, **values)}</p>')
    st.html(span_attention.attended_tokens_html(attention, layer, head, from_answer=from_answer))
    display.explain("attention_mass", "attention")
    if st.button(t("xray-open-head-in-attention"), icon=":material/hub:"):
        reading = xray_result.readings[window]
        queries = list(attention.answer if from_answer else attention.question)
        selection.open_attention_page(
            checkpoint, question, passage_text[reading.start : reading.end],
            layer=layer, heads=[head], head=head, tokens=queries,
        )  # fmt: skip
    url.write_address()


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
        show_result(checkpoint, span_xray)
    else:
        frame.note(t("xray-no-possible-start"))

if xray_result and xray_result.answers.answers:
    show_candidates(text, xray_result)
    window = draw_windows(span_xray, passage)
    draw_probabilities(text, xray_result.readings[window])
    draw_heads(checkpoint, question, text, xray_result)
