"""The parts of the answer x-ray: threshold, spans, windows, probabilities of start and end, heads. Computes nothing."""

import streamlit as st

from bertlab.app import calls, components, display, fields, frame, plots, selection, url
from bertlab.app.data import sessions
from bertlab.app.i18n import language, t
from bertlab.explore.facts import SpanXray, WindowReading
from bertlab.views import columns, xray
from bertlab.views.passage import escape_html

SCROLL_LENGTH = 2_500  # characters; a longer passage is shown in a scrolling box


def decision(checkpoint: sessions.Checkpoint, reading: calls.Expression) -> None:
    """Show the answer at the chosen threshold, and the threshold at which it changes."""
    seen, tau = reading.result, fields.threshold(st, checkpoint)
    best = seen.answers.answers[0]
    if seen.margin <= tau:
        st.html(f'<p class="say">{t("xray-answer-at", tau=tau)} <b dir="auto">{escape_html(best.text)}</b></p>')
    else:
        st.html(f'<p class="say">{t("xray-no-answer-at", tau=tau)}</p>')
    plots.draw("threshold", xray.threshold_strip, reading, tau, fields.MAX_TAU, lang=language())
    values = {"margin": seen.margin, "none": seen.answers.no_answer_score, "best": best.score}
    st.caption(t("xray-result-changes-at", **values))
    display.explain("tau", "no_answer", "span_score")


def windows(reading: calls.Expression, passage: calls.Expression) -> int:
    """Show the windows and their scores.

    Returns:
        the number of the selected window, counted from zero.
    """
    st.subheader(t("xray-windows"), anchor=False)
    seen = reading.result
    count, best = len(seen.readings), seen.answers.best_window
    if count == 1:
        st.caption(t("xray-windows-one"))
        return 0
    st.caption(t("xray-windows-lead", count=count, best=best + 1))
    data = columns.windows(seen, passage.result)
    plots.draw("windows", xray.windows_figure, reading, passage, data=data, lang=language())
    return url.number(st.number_input, t("xray-window"), 1, count, best + 1, key="window") - 1


def spans(text: str, seen: SpanXray) -> None:
    """Underline the n best spans in the passage."""
    st.subheader(t("xray-spans"), anchor=False)
    st.caption(t("xray-spans-lead"))
    show = url.number(st.slider, t("xray-candidate-count"), 1, 10, 4, key="show")
    box = "passage" if len(text) > SCROLL_LENGTH else "whole"
    with st.container(key="spans"):
        st.html(f'<div class="{box}">{xray.spans_html(text, seen.answers.answers, show=show)}</div>')
        components.scroll_to_answer("spans")
    display.explain("answer_probability", "span_score")


def probability_columns(text: str, reading: WindowReading) -> None:
    """Show the probabilities of start and end at the words of one window."""
    st.subheader(t("xray-columns"), anchor=False)
    most = float(max(reading.start_probs_T.max(), reading.end_probs_T.max()))
    st.caption(t("xray-columns-lead", most=most))
    scale = url.choice(
        st.segmented_control, t("xray-scale"), ["linear", "logarithmic"], key="columns", required=True,
        format_func=lambda name: t(f"xray-scale-{name}"), label_visibility="collapsed",
    )  # fmt: skip
    shown = xray.columns_html(text, reading, logarithmic=scale == "logarithmic", lang=language())
    st.html(f'<div class="whole">{shown}</div>')
    display.explain("start_end")


@st.fragment
@frame.show_errors()
def heads(checkpoint: sessions.Checkpoint, question: str, text: str, seen: SpanXray) -> None:
    """Show the attention between question and answer by head; a click on a head shows its words."""
    st.subheader(t("xray-heads"), anchor=False)
    side, rank = st.columns([3, 1], vertical_alignment="bottom")
    look = url.choice(
        side.segmented_control, t("xray-direction"), ["question", "answer"], key="direction", required=True,
        format_func=lambda name: t(f"xray-direction-{name}"),
    )  # fmt: skip
    number = url.number(rank.number_input, t("xray-candidate"), 1, len(seen.answers.answers), 1, key="rank") - 1
    answer, window = seen.answers.answers[number], seen.answer_windows[number]
    arguments = (question, text, window, answer.start, answer.end)
    span_attention = calls.call_session(checkpoint, "span_attention", *arguments)
    found = span_attention.result
    from_answer = look == "answer"
    share = span_attention.field("answer_to_question_LN" if from_answer else "question_to_answer_LN")
    share_LN = share.result
    uniform = len(found.question if from_answer else found.answer) / len(found.tokens)
    strongest = divmod(int(share_LN.argmax()), share_LN.shape[1])
    layer, head = fields.layer_and_head(sessions.open_session(checkpoint).config, strongest, "between.")

    def choose(place: list) -> None:
        for part, value in zip(("layer", "head"), place[:2], strict=True):
            st.session_state[f"neuron.between.{part}"] = int(value)

    data = columns.heads({"share": share_LN, "times_uniform": share_LN / uniform})
    plots.draw("heads", xray.heads_map, share, uniform, (layer, head), data=data, on_click=choose, lang=language())
    values = {"share": float(share_LN[layer, head]), "ratio": float(share_LN[layer, head]) / uniform}
    st.html(f'<p class="small">{t("xray-head-share", layer=layer, head=head, **values)}</p>')
    st.html(xray.attended_tokens_html(found, layer, head, from_answer=from_answer))
    display.explain("attention_mass", "attention")
    if st.button(t("xray-open-head-in-attention"), icon=":material/hub:"):
        reading = seen.readings[window]
        queries = list(found.answer if from_answer else found.question)
        selection.open_attention_page(
            checkpoint, question, text[reading.start : reading.end],
            layer=layer, heads=[head], head=head, tokens=queries,
        )  # fmt: skip
    url.write_address()
