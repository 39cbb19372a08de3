"""Attention: all heads for one input, one head and its layer step by step, rollout, and bertviz for short inputs."""

from functools import partial

import streamlit as st
from bertlab_app import calls, view_state
from bertlab_app.data import cached_results, html_pages, sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import components, display, fields, frame, plots, selection, sentences

from bertlab.abilities.attention import block_figures as block
from bertlab.abilities.attention.roles import PATTERNS
from bertlab.abilities.attention.summary import AttentionSummary, summarise_attention
from bertlab.abilities.results import AttentionMap, TokenRow
from bertlab.config.config import ModelConfig
from bertlab.config.sparse import BlockAttention, WindowAttention
from bertlab.views import columns, figures, html, payload
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html
from bertlab.views.token_labels import token_labels

SEGMENTS = {"a": 0, "b": 1}  # sentence letter in the canvas filter -> segment id
# On a narrow screen, the rollout map scrolls sideways instead of drawing the names of the tokens over each other.
ROLLOUT_STYLE = "<style>.st-key-rollout > * {{ min-width: {}px; }}</style>"
ROLLOUT_MARGIN, ROLLOUT_TOKEN_WIDTH = 80, 14  # pixels for the names of the tokens, and for each column of the map
# view -> the explanations below it, as keys of `display.NUMBERS`; other views explain attention and entropy
EXPLANATIONS = {"neuron": ["attention", "attention_score", "entropy"], "rollout": ["rollout"], "bertviz": ["attention"]}


def open_with_most_striking_head(checkpoint: sessions.CheckpointKey, texts: tuple[str, str | None]) -> None:
    """Open the page with the head and token of the most striking weight, unless the link or user has set others."""
    summary = cached_results.find_most_striking_weight(checkpoint, *texts)
    heads = [summary.head] if sessions.open_session(checkpoint).config.num_heads > 1 else None
    selection = {"layer": summary.layer, "head": summary.head, "heads": heads}
    if view_state.open_with(selection | {"tokens": [summary.query], "side": "query", "token": summary.query}):
        fields.forget_layer_and_head()


def show_sentence(attention: AttentionMap, state: dict, *, opens_as_grid: bool) -> None:
    """Show the largest weight among the chosen heads and visible tokens of the attention canvas, as a sentence."""
    num_layers, num_heads = attention.probs_LNTT.shape[:2]
    layer, head = clamp(state["layer"], num_layers), clamp(state["head"], num_heads)
    shows_one_head = state["view"] in ("grid", "matrix") or (state["view"] != "lines" and opens_as_grid)
    all_heads = list(range(num_heads))
    selected_heads = [index for index in all_heads if index in as_list(state["heads"])] or all_heads
    visible_heads = [head] if shows_one_head else selected_heads
    query_sentence, key_sentence = state["filter"] if state["filter"] in ("aa", "ab", "ba", "bb") else ("", "")
    queries = list_visible_positions(attention.tokens, query_sentence, hide=state["hide"])
    keys = list_visible_positions(attention.tokens, key_sentence, hide=state["hide"])
    pinned_positions = [position for position in as_list(state["tokens"]) if position in range(len(attention.tokens))]
    if pinned_positions and state["side"] == "key":
        keys = [position for position in keys if position in pinned_positions]
    elif pinned_positions:
        queries = [position for position in queries if position in pinned_positions]
    else:
        queries = [position for position in queries if not attention.tokens[position].special]
    if queries and keys:
        write_sentence(attention.tokens, summarise_attention(attention, layer, visible_heads, queries, keys))


def show_pattern(config: ModelConfig, layer: int, num_tokens: int) -> None:
    """Say in a caption to which tokens a layer attends, if its attention is limited to some of them."""
    layer = clamp(layer, config.num_layers)
    match config.sparse:
        case WindowAttention(windows=windows):
            st.caption(t("attention-pattern-window-global", layer=layer, side=windows[layer] // 2))
        case BlockAttention() as blocks if blocks.has_full_attention(num_tokens):
            if blocks.is_sparse:
                st.caption(t("attention-pattern-block-full", limit=blocks.full_length))
        case BlockAttention(block_size=size):
            st.caption(t("attention-pattern-block", size=size))
        case None:
            if config.rotary and config.rotary.is_local(layer):
                st.caption(t("attention-pattern-window", layer=layer, side=config.rotary.window // 2))


def choose_position(tokens: tuple[TokenRow, ...]) -> int:
    """Return the position that the view of one head shows: the stored one, else that of the first non-special token."""
    default = next((row.position for row in tokens if not row.special), 0)
    position = view_state.read()["token"]
    return position if type(position) is int and 0 <= position < len(tokens) else default


def draw_block(
    checkpoint: sessions.CheckpointKey, texts: tuple[str, str | None], layer: int, head: int, position: int
) -> None:
    """Draw the steps of a layer after the softmax, and how much each layer adds to the vector of the token."""
    block_map = calls.call_session(checkpoint, "block", *texts, layer=layer, head=head, position=position)
    token = escape_html(token_labels(block_map.result.tokens)[position])
    st.subheader(t("attention-block", layer=layer), anchor=False)
    st.html(f'<p class="small" dir="auto">{t("attention-block-lead", token=f"<b>{token}</b>", head=head)}</p>')
    data = columns.block_steps(block_map.result)
    plots.draw("block", block.block_steps, block_map, data=data, is_shared=True, lang=language())
    display.sentence(sentences.block(block_map.result))
    display.explain("head_output", "residual", "feed_forward")
    st.subheader(t("attention-layers"), anchor=False)
    has_predictions = block_map.result.layers[0].prediction is not None
    st.caption(t("attention-layers-lead" if has_predictions else "attention-layers-lead-without-lens"))
    data = columns.residual_norms(block_map.result)
    plots.draw("layers", block.layer_norms, block_map, data=data, is_shared=True, lang=language())
    display.sentence(sentences.layer_norms(block_map.result))
    display.explain(*(["residual", "layer_probability"] if has_predictions else ["residual"]))


@frame.show_errors()
def draw_rollout(checkpoint: sessions.CheckpointKey) -> None:
    """Draw the rollout of one token: how much of its hidden state after each layer comes from each input token."""
    view_state.store(view_state.read())
    rollout = calls.call_session(checkpoint, "rollout", *texts)
    tokens = token_labels(rollout.result.tokens)
    default_position = min(cached_results.find_most_striking_weight(checkpoint, *texts).query, len(tokens) - 1)
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    position = fields.position(left, t("attention-rollout-position"), tokens, default_position, key="flow")
    right.caption(t("attention-rollout-lead"))
    data = columns.rollout(rollout.result, position)
    st.html(ROLLOUT_STYLE.format(ROLLOUT_MARGIN + ROLLOUT_TOKEN_WIDTH * min(len(tokens), block.MAX_TOKEN_NAMES)))
    plots.draw("rollout", block.rollout_map, rollout, position, data=data, is_shared=True, lang=language())
    source, shares_T = rollout.result.find_largest_source(position), rollout.result.shares_LTT[-1, position]
    names = {name: f"<b>{escape_html(tokens[index])}</b>" for name, index in (("token", position), ("source", source))}
    shares = {"itself": percent(float(shares_T[position])), "share": percent(float(shares_T[source]))}
    layer = len(rollout.result.shares_LTT) - 1
    st.html(f'<p class="say" dir="auto">{t("attention-rollout-sentence", layer=layer, **names, **shares)}</p>')


def write_sentence(tokens: tuple[TokenRow, ...], summary: AttentionSummary) -> None:
    """Write a summary as one sentence, followed by the role of the head and the entropy of the attention."""
    names = token_labels(tokens)
    query, key = (f"<b>{escape_html(names[position])}</b>" for position in (summary.query, summary.key))
    head_index = {"layer": summary.layer, "head": summary.head}
    sentence = t("attention-sentence", query=query, key=key, share=percent(summary.share), **head_index)
    role = t(f"heads-role-{summary.role}") if summary.role in PATTERNS else summary.role
    details = [
        t("attention-sentence-role", role=role, share=percent(summary.role_share), **head_index),
        t("attention-sentence-entropy", query=query, bits=summary.entropy, most=summary.max_entropy),
    ]
    st.html(f'<p class="say" dir="auto">{sentence}</p><p class="small" dir="auto">{" ".join(details)}</p>')


def list_visible_positions(tokens: tuple[TokenRow, ...], sentence: str, *, hide: bool) -> list[int]:
    """List the positions that the canvas shows, of one sentence ("a" or "b") or of both ("")."""
    has_pair = any(row.segment for row in tokens)
    return [
        row.position
        for row in tokens
        if (not sentence or not has_pair or row.segment == SEGMENTS[sentence]) and not (hide is True and row.special)
    ]


def as_list(value) -> list:
    """Return a value that was read from a link; [] if it is not a list."""
    return value if isinstance(value, list) else []


def clamp(value, count: int) -> int:
    """Return a number that was read from a link, limited to 0..count - 1; 0 if it is no integer."""
    return min(max(value, 0), count - 1) if type(value) is int else 0


components.apply_further_style("page-attention")
with st.container(key="attention-top"):
    left, right = st.columns([11, 9], vertical_alignment="bottom")
    with left:
        frame.heading("attention")
    view = fields.choice(
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
    show_sentence(attention.result, state, opens_as_grid=packed_attention.has_overview)
    config = sessions.open_session(checkpoint).config
    show_pattern(config, state["layer"], len(attention.result.tokens))
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
    position = choose_position(neuron_map.result.tokens)
    summary = summarise_attention(calls.compute(checkpoint, "attention", *texts), layer, [head], [position])
    write_sentence(neuron_map.result.tokens, summary)
    page_options = components.canvas_options() | {"state": view_state.read()}
    make_page = partial(html_pages.render_neuron_page, checkpoint, *texts, layer, head, page_options)
    components.draw_html_button(make_page, "head.html")
    draw_block(checkpoint, texts, layer, head, position)


@frame.show_errors()
def draw_bertviz(checkpoint: sessions.CheckpointKey) -> None:
    """Draw one of bertviz's views in an iframe if the input is short enough."""
    state = view_state.read()
    view_state.store(state)
    bertviz_view = fields.choice(
        st.segmented_control, t("view-bertviz"), ["head", "model", "neuron"], key="bertviz", required=True,
        format_func=lambda name: t(f"view-bertviz-{name}"), label_visibility="collapsed",
    )  # fmt: skip
    st.caption(t(f"view-bertviz-{bertviz_view}-lead"))
    num_tokens = len(calls.compute(checkpoint, "encode", *texts))
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
    open_with_most_striking_head(checkpoint, texts)
    draw_view(checkpoint)
    display.explain(*EXPLANATIONS.get(view, ["attention", "entropy"]))
