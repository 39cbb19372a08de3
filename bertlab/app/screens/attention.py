"""Attention: every head over one input, the computation inside one head, and bertviz for short inputs."""

from functools import partial

import streamlit as st

from bertlab.app import components, display, fields, frame, plots, selection, url
from bertlab.app.data import sessions
from bertlab.app.i18n import t
from bertlab.views import bertviz_view

frame.heading("attention")
a, b = fields.sentence_pair(*selection.examples_for("attend").pair)
look = url.choice(
    st.segmented_control, t("view"), ["heads", "neuron", "bertviz"], key="look", required=True,
    format_func=lambda view: t(f"view-{view}"), label_visibility="collapsed",
)  # fmt: skip
url.enter_view(look)


@st.fragment
@frame.show_errors()
def heads(checkpoint: sessions.Checkpoint) -> None:
    """All heads on the canvas of bertlab."""
    state = url.view_state()
    code = plots.python_lines(
        checkpoint, "from pathlib import Path", "from bertlab.views import html", "from bertlab.views import figures",
        "state = STATE  # as on the screen", f"attention = session.attention({a!r}, {b or None!r})",
        'page = html.attention_html(attention, options={"state": state})',
        'Path("attention.html").write_text(page, encoding="utf-8")',
        'figure = figures.attention_map(attention, state["layer"], state["head"])',
    )  # fmt: skip
    components.canvas(
        "attention", sessions.attention(checkpoint, a, b, state, components.canvas_options() | {"code": code})
    )
    page = partial(sessions.attention_page, checkpoint, a, b, components.canvas_options() | {"state": state})
    components.html_button(page, "attention.html")


@st.fragment
@frame.show_errors()
def neuron(checkpoint: sessions.Checkpoint) -> None:
    """The computation inside one head, which is chosen above."""
    st.caption(t("view-neuron-lead"))
    layer, head = fields.layer_and_head(sessions.session(checkpoint).config)
    code = plots.python_lines(
        checkpoint, "from pathlib import Path", "from bertlab.views import html", "from bertlab.views import figures",
        "state = STATE  # as on the screen",
        f"neuron = session.neuron({a!r}, {b or None!r}, layer={layer}, head={head})",
        'page = html.neuron_html(neuron, options={"state": state})',
        'Path("head.html").write_text(page, encoding="utf-8")',
        'figure = figures.query_token_figure(neuron, state["token"])',
    )  # fmt: skip
    options = components.canvas_options() | {"code": code}
    components.canvas("neuron", sessions.neuron(checkpoint, a, b, layer, head, options))
    page = partial(
        sessions.neuron_page, checkpoint, a, b, layer, head, components.canvas_options() | {"state": url.view_state()}
    )
    components.html_button(page, "head.html")


@frame.show_errors()
def bertviz(checkpoint: sessions.Checkpoint) -> None:
    """bertviz in an iframe, if the input is short enough."""
    count = len(sessions.ask(checkpoint, "encode", a, b or None))
    if count > bertviz_view.MAX_TOKENS:
        frame.note(t("bertviz-long", limit=bertviz_view.MAX_TOKENS, count=count))
    else:
        st.caption(t("view-bertviz-lead"))
        st.iframe(sessions.bertviz(checkpoint, a, b, url.view_state()["layer"]), height=104 + 23 * count)


with st.container(key="picture"), frame.show_errors():
    {"heads": heads, "neuron": neuron, "bertviz": bertviz}[look](selection.open_checkpoint("attend", a, b))
    display.explain(*(["attention", "attention_score"] if look == "neuron" else ["attention"]))
