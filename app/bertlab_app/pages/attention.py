"""Attention: all heads for one input, one head and its layer step by step, rollout, and bertviz for short inputs."""

from functools import partial

import streamlit as st
from bertlab_app import calls, components, display, fields, frame, selection, url_fields, view_state
from bertlab_app.data import cached_results, html_pages, sessions
from bertlab_app.i18n import language, t
from bertlab_app.parts import attention as parts

from bertlab.views import figures, html, payload

# view -> the explanations below it, as keys of `numbers.NUMBERS`; other views explain attention and entropy
EXPLANATIONS = {"neuron": ["attention", "attention_score", "entropy"], "rollout": ["rollout"], "bertviz": ["attention"]}

components.apply_further_style("page-attention")
with st.container(key="attention-top"):
    left, right = st.columns([11, 9], vertical_alignment="bottom")
    with left:
        frame.heading("attention")
    view = url_fields.choice(
        right.segmented_control, t("view"), ["heads", "neuron", "rollout", "bertviz"], key="look", required=True,
        format_func=lambda name: t(f"view-{name}"), label_visibility="collapsed",
    )  # fmt: skip
    a, b = fields.sentence_pair(*selection.examples_for("attention").pair)
texts = (a, b or None)
view_state.enter_view(view)


@st.fragment
@frame.show_errors()
def draw_heads(checkpoint: sessions.CheckpointKey) -> None:
    """Draw all heads on the attention canvas."""
    state = view_state.read()
    attention = calls.call_session(checkpoint, "attention", *texts)
    code = calls.write_canvas_code(
        attention, html.attention_html, "attention.html", figures.attention_map, "layer", "head"
    )  # fmt: skip
    packed_attention = cached_results.pack_attention(checkpoint, *texts, attention.result)
    subject = sessions.describe_request(checkpoint, *texts)
    options = components.canvas_options() | {"code": code, "subject": subject}
    components.draw_canvas("attention", packed_attention.bytes(state, options))
    parts.show_sentence(attention.result, state, opens_as_grid=packed_attention.has_overview)
    config = sessions.open_session(checkpoint).config
    parts.show_pattern(config, state["layer"], len(attention.result.tokens))
    page_options = components.canvas_options() | {"state": state}
    make_page = partial(html_pages.render_attention_page, checkpoint, *texts, page_options)
    with st.container(horizontal=True):
        components.draw_html_button(make_page, "attention.html")
        if html_pages.can_render_model_page(checkpoint):
            components.draw_model_html_button(partial(html_pages.render_model_page, checkpoint), "bert.html")


@st.fragment
@frame.show_errors()
def draw_head_computation(checkpoint: sessions.CheckpointKey) -> None:
    """Draw the computation in one head and the further steps of its layer, with fields to choose the head."""
    state = view_state.read()
    config = sessions.open_session(checkpoint).config
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    with left:
        layer, head = fields.layer_and_head(config, (state["layer"], state["head"]))
    right.caption(t("view-neuron-lead"))
    neuron_map = calls.call_session(checkpoint, "neuron", *texts, layer=layer, head=head)
    code = calls.write_canvas_code(neuron_map, html.neuron_html, "head.html", figures.query_token_figure, "token")
    subject = sessions.describe_request(checkpoint, *texts)
    options = components.canvas_options() | {"code": code, "subject": subject}
    components.draw_canvas("neuron", payload.neuron_bytes(neuron_map.result, options=options))
    position = parts.choose_position(neuron_map.result.tokens)
    parts.show_row_sentence(cached_results.compute(checkpoint, "attention", *texts), layer, head, position)
    page_options = components.canvas_options() | {"state": view_state.read()}
    make_page = partial(html_pages.render_neuron_page, checkpoint, *texts, layer, head, page_options)
    components.draw_html_button(make_page, "head.html")
    parts.draw_block(checkpoint, texts, layer, head, position)


@frame.show_errors()
def draw_rollout(checkpoint: sessions.CheckpointKey) -> None:
    """Draw the attention rollout of one token."""
    view_state.store(view_state.read())
    parts.draw_rollout(checkpoint, texts)


@frame.show_errors()
def draw_bertviz(checkpoint: sessions.CheckpointKey) -> None:
    """Draw one of bertviz's views in an iframe if the input is short enough."""
    state = view_state.read()
    view_state.store(state)
    bertviz_view = url_fields.choice(
        st.segmented_control, t("view-bertviz"), ["head", "model", "neuron"], key="bertviz", required=True,
        format_func=lambda name: t(f"view-bertviz-{name}"), label_visibility="collapsed",
    )  # fmt: skip
    st.caption(t(f"view-bertviz-{bertviz_view}-lead"))
    num_tokens = len(cached_results.compute(checkpoint, "encode", *texts))
    config = sessions.open_session(checkpoint).config
    page = html_pages.render_bertviz(checkpoint, *texts, bertviz_view, state["layer"], state["head"], language())
    # Heights in pixels. The neuron view grows when a token is opened; the model view has a row of pictures per layer.
    heights = {
        "head": 104 + 23 * num_tokens, "model": 120 + 160 * config.num_layers, "neuron": 160 + 30 * num_tokens,
    }  # fmt: skip
    st.iframe(page, height=heights[bertviz_view])


with st.container(key="picture"), frame.show_errors():
    draw_view = {
        "heads": draw_heads, "neuron": draw_head_computation, "rollout": draw_rollout, "bertviz": draw_bertviz,
    }[view]  # fmt: skip
    checkpoint = selection.open_checkpoint("attention", a, b)
    parts.open_with_most_striking_head(checkpoint, texts)
    draw_view(checkpoint)
    display.explain(*EXPLANATIONS.get(view, ["attention", "entropy"]))
