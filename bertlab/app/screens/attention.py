"""Attention: all heads for one input, the computation inside one head, and bertviz for short inputs."""

from functools import partial

import streamlit as st

from bertlab.app import calls, components, display, fields, frame, selection, url
from bertlab.app.data import sessions
from bertlab.app.i18n import language, t
from bertlab.views import bertviz_view, figures, html, payload

frame.heading("attention")
a, b = fields.sentence_pair(*selection.examples_for("attend").pair)
texts = (a, b or None)
view = url.choice(
    st.segmented_control, t("view"), ["heads", "neuron", "bertviz"], key="look", required=True,
    format_func=lambda name: t(f"view-{name}"), label_visibility="collapsed",
)  # fmt: skip
url.enter_view(view)


@st.fragment
@frame.show_errors()
def draw_heads(checkpoint: sessions.Checkpoint) -> None:
    """Draw all heads on the attention canvas."""
    state = url.view_state()
    attention = calls.call_session(checkpoint, "attention", *texts)
    code = calls.write_canvas_code(
        attention, html.attention_html, "attention.html", figures.attention_map, "layer", "head"
    )  # fmt: skip
    pack = sessions.pack_attention(checkpoint, *texts, attention.result)
    subject = sessions.describe_query(checkpoint, *texts)
    options = components.canvas_options() | {"code": code, "subject": subject}
    components.draw_canvas("attention", pack.bytes(state, options))
    page = partial(sessions.render_attention_page, checkpoint, *texts, components.canvas_options() | {"state": state})
    components.draw_html_button(page, "attention.html")


@st.fragment
@frame.show_errors()
def draw_head_computation(checkpoint: sessions.Checkpoint) -> None:
    """Draw the computation inside one head, with fields to choose the head."""
    st.caption(t("view-neuron-lead"))
    layer, head = fields.layer_and_head(sessions.open_session(checkpoint).config)
    neuron_map = calls.call_session(checkpoint, "neuron", *texts, layer=layer, head=head)
    code = calls.write_canvas_code(neuron_map, html.neuron_html, "head.html", figures.query_token_figure, "token")
    subject = sessions.describe_query(checkpoint, *texts)
    options = components.canvas_options() | {"code": code, "subject": subject}
    components.draw_canvas("neuron", payload.neuron_bytes(neuron_map.result, options=options))
    page_options = components.canvas_options() | {"state": url.view_state()}
    page = partial(sessions.render_neuron_page, checkpoint, *texts, layer, head, page_options)
    components.draw_html_button(page, "head.html")


@frame.show_errors()
def draw_bertviz(checkpoint: sessions.Checkpoint) -> None:
    """Draw bertviz in an iframe if the input is short enough."""
    count = len(sessions.compute(checkpoint, "encode", *texts))
    if count > bertviz_view.MAX_TOKENS:
        frame.note(t("bertviz-too-long", limit=bertviz_view.MAX_TOKENS, count=count))
    else:
        st.caption(t("view-bertviz-lead"))
        page = sessions.render_bertviz(checkpoint, *texts, url.view_state()["layer"], language())
        st.iframe(page, height=104 + 23 * count)


with st.container(key="picture"), frame.show_errors():
    draw_view = {"heads": draw_heads, "neuron": draw_head_computation, "bertviz": draw_bertviz}[view]
    draw_view(selection.open_checkpoint("attend", a, b))
    display.explain(*(["attention", "attention_score"] if view == "neuron" else ["attention"]))
