"""Attention: every head over one input, one head opened up, and bertviz for short inputs."""

from functools import partial

import streamlit as st

from bertlab.app import components, loaders, url
from bertlab.app.i18n import t
from bertlab.views import bertviz_view

components.heading("attention")
a, b = components.sentences(*components.said("attend").pair)
look = url.choice(
    st.segmented_control, t("view"), ["heads", "neuron", "bertviz"], key="look", required=True,
    format_func=lambda view: t(f"view-{view}"), label_visibility="collapsed",
)  # fmt: skip
url.show(look)


@st.fragment
@components.told()
def heads(checkpoint: loaders.Checkpoint) -> None:
    """All heads on our canvas."""
    seen = url.picture()
    code = components.lines(
        checkpoint, "from pathlib import Path", "from bertlab.views import html", "from bertlab.views import figures",
        "state = STATE  # as on the screen", f"attention = session.attention({a!r}, {b or None!r})",
        'page = html.attention_html(attention, options={"state": state})',
        'Path("attention.html").write_text(page, encoding="utf-8")',
        'figure = figures.attention_map(attention, state["layer"], state["head"])',
    )  # fmt: skip
    components.canvas("attention", loaders.attention(checkpoint, a, b, seen, components.options() | {"code": code}))
    page = partial(loaders.attention_page, checkpoint, a, b, components.options() | {"state": seen})
    components.page_button(page, "attention.html")


@st.fragment
@components.told()
def neuron(checkpoint: loaders.Checkpoint) -> None:
    """One head from the inside: its layer and its number stand above."""
    st.caption(t("view-neuron-lead"))
    layer, head = components.layer_and_head(loaders.session(checkpoint).config)
    code = components.lines(
        checkpoint, "from pathlib import Path", "from bertlab.views import html", "from bertlab.views import figures",
        "state = STATE  # as on the screen",
        f"neuron = session.neuron({a!r}, {b or None!r}, layer={layer}, head={head})",
        'page = html.neuron_html(neuron, options={"state": state})',
        'Path("head.html").write_text(page, encoding="utf-8")',
        'figure = figures.asking_token(neuron, state["token"])',
    )  # fmt: skip
    options = components.options() | {"code": code}
    components.canvas("neuron", loaders.neuron(checkpoint, a, b, layer, head, options))
    page = partial(loaders.neuron_page, checkpoint, a, b, layer, head, components.options() | {"state": url.picture()})
    components.page_button(page, "head.html")


@components.told()
def bertviz(checkpoint: loaders.Checkpoint) -> None:
    """bertviz in a frame of its own, if the input is short enough for it."""
    count = len(loaders.ask(checkpoint, "encode", a, b or None))
    if count > bertviz_view.MAX_TOKENS:
        components.note(t("bertviz-long", limit=bertviz_view.MAX_TOKENS, count=count))
    else:
        st.caption(t("view-bertviz-lead"))
        st.iframe(loaders.bertviz(checkpoint, a, b, url.picture()["layer"]), height=104 + 23 * count)


with st.container(key="picture"), components.told():
    {"heads": heads, "neuron": neuron, "bertviz": bertviz}[look](components.chosen("attend"))
    components.explain(*(["attention", "attention_score"] if look == "neuron" else ["attention"]))
