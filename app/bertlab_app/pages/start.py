"""Start: one sentence with its attention and a masked word, links to all pages, and the shipped checkpoints."""

import streamlit as st
from bertlab_app import calls
from bertlab_app.classroom import current
from bertlab_app.data import sessions
from bertlab_app.i18n import language, t
from bertlab_app.registry import PAGES, find_page, menu
from bertlab_app.widgets import components, display, frame, plots, selection, sentences
from bertlab_app.widgets.masked_text import MaskedText, describe_original, draw_masked_text

from bertlab.abilities.attention.summary import find_most_striking_weight
from bertlab.abilities.results import AttentionMap
from bertlab.checkpoints.locate import find_shipped_checkpoints
from bertlab.config.languages import list_message_ids
from bertlab.text.word_spans import MASK
from bertlab.views import figures
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html

MIN_WEIGHT = 0.08  # smaller attention weights are not drawn
LETTER_WIDTH, WORD_GAP = 11, 20  # the width of a letter and of the gap between words, in units of the SVG drawing
CARDS_PER_ROW = 3
TOUR = "tour"  # the name of the lesson that is the guided tour
TOP_K = 5  # how many candidates are shown for the mask
MAX_ARC_TOKENS = 32  # with more tokens, the arcs of attention would be too small to see
# metric -> the format of its value; a card shows the first two of these metrics that its checkpoint has
METRIC_FORMATS = {
    "masked_accuracy": "{:.0%}", "nsp_accuracy": "{:.0%}", "f1": "{:.1f}%", "exact_match": "{:.1f}%",
    "accuracy": "{:.1f}%", "entity_f1": "{:.1f}%", "spearman": "{:.1f}",
}  # fmt: skip
# keys of the explanations of the metrics that the cards show
EXPLANATIONS = ("masked_accuracy", "nsp_accuracy", "f1", "exact_match", "accuracy", "f1_entity", "spearman")


def make_arcs(attention: AttentionMap, layer: int) -> dict:
    """Compute the positions of the words and one arc for each large attention weight, for `static/arcs.js`."""
    words, centres, total_width = [], {}, 0.0
    for token in attention.tokens:
        if not token.special:
            width = LETTER_WIDTH * len(token.token) + WORD_GAP
            centres[token.position] = total_width + width / 2
            words.append({"x": total_width + width / 2, "text": token.token})
            total_width += width
    arcs = [
        {"from": centres[row], "to": centres[column], "head": head, "weight": round(float(probs_TT[row, column]), 3)}
        for head, probs_TT in enumerate(attention.probs_LNTT[layer])
        for row, column in zip(*(probs_TT > MIN_WEIGHT).nonzero(), strict=True)
        if row != column and row in centres and column in centres
    ]
    return {"words": words, "arcs": arcs, "width": total_width}


def select_checkpoint(name: str) -> None:
    st.session_state["checkpoint"] = name


def draw_card(name: str) -> None:
    """Draw the card of a shipped checkpoint: description, metrics, size, and a button that selects it."""
    config, record = sessions.read_description(name)
    is_selected = st.session_state.get("opened") == name
    mark = f"<span>✓ {t('start-checkpoint-selected')}</span>" if is_selected else ""
    st.html(f'<p class="name">{escape_html(name)}{mark}</p>')
    if f"card-{name}" in list_message_ids():
        st.html(f'<p class="small">{t(f"card-{name}")}</p>')
    metrics = record.get("validation") or {}
    metric_texts = [
        (number_format.format(metrics[key]), t(f"card-metric-{key}"))
        for key, number_format in METRIC_FORMATS.items()
        if key in metrics
    ]
    cells = "".join(f"<div><b>{value}</b><span>{label}</span></div>" for value, label in metric_texts[:2])
    st.html(f'<div class="figures">{cells}</div>' if cells else "<div></div>")
    st.html(f'<p class="small">{selection.describe_size(config)}</p>')
    st.space("stretch")  # aligns the buttons of all cards
    if is_selected:
        page = find_page(sessions.open_session(sessions.find_checkpoint(name)).heads)
        with st.container(key="chosen"):
            st.page_link(page.script, label=t(page.name), icon=page.icon, width="stretch")
    else:
        st.button(
            t("start-select-checkpoint"), key=f"open-{name}", width="stretch", on_click=select_checkpoint, args=(name,)
        )


def show_predictions(checkpoint: sessions.CheckpointKey, masked_input: MaskedText) -> None:
    """Show the most probable tokens of the first mask, and a link to the page Fill mask."""
    if MASK not in masked_input.masked_text:
        frame.note(t("fill-mask-no-mask" if masked_input.text.strip() else "fill-mask-empty"))
        return
    fills = calls.call_session(
        checkpoint, "fill_mask", masked_input.masked_text, top_k=TOP_K, originals=masked_input.originals
    )
    word, fill = masked_input.originals[0], fills.result[0]
    line = describe_original(word, fill.original) if word else t("fill-mask-mask-number", number=1)
    st.html(f'<p class="small" dir="auto">{escape_html(line)}</p>')
    data = {name: [getattr(row, name) for row in fill.candidates] for name in ("token", "id", "probability")}
    plots.draw("mask-0", figures.mask_bars, fills[0], data=data, is_shared=True, lang=language())
    display.sentence(sentences.candidates(fill.candidates))
    page = PAGES["fill-mask"]
    st.page_link(page.script, label=t("start-open-fill-mask"), icon=page.icon)


def show_attention(checkpoint: sessions.CheckpointKey, text: str) -> None:
    """Draw the heads of the layer with the attention weight that stands out most, and state this weight."""
    attention = calls.compute(checkpoint, "attention", text)
    if (count := len(attention.tokens)) > MAX_ARC_TOKENS:
        frame.note(t("start-too-long", limit=MAX_ARC_TOKENS, count=count))
        return
    summary = find_most_striking_weight(attention)
    components.draw_arcs(make_arcs(attention, summary.layer))
    query, key = (attention.tokens[position].token for position in (summary.query, summary.key))
    values = {"query": query, "key": key, "share": percent(summary.share)}
    line = t("start-arcs", layer=summary.layer, head=summary.head, **values)
    st.html(f'<p class="small" dir="auto">{escape_html(line)}</p>')


def draw_tour_button() -> None:
    """Draw the button that starts the guided tour, unless the session is in a lesson already."""
    with frame.show_errors():
        if current.find_place() is None:
            label = t("start-tour", count=len(current.load_lesson(TOUR).steps))
            st.button(
                label, key="start-tour", icon=":material/tour:", type="primary", on_click=current.store_place,
                args=(TOUR, 0),
            )  # fmt: skip


with st.container(key="start-top"):
    left, right = st.columns([7, 3], vertical_alignment="center")
    with left:
        frame.heading("start")
    with right:
        draw_tour_button()
masked_input = draw_masked_text(selection.examples_for("fill-mask"))
with frame.show_errors():
    checkpoint = selection.open_checkpoint("fill-mask", masked_input.text)
    left, right = st.columns([3, 2], gap="large")
    with left:
        show_attention(checkpoint, masked_input.masked_text)
    with right:
        show_predictions(checkpoint, masked_input)

st.subheader(t("start-pages"), anchor=False)
for section, pages in menu().items():
    if not section:
        continue
    st.html(f'<p class="small">{escape_html(t(f"section-{section}"))}</p>')
    # new columns for every row, so that its cards have the same height and a phone shows them in the order of the menu
    for row in (pages[n : n + CARDS_PER_ROW] for n in range(0, len(pages), CARDS_PER_ROW)):
        for page, cell in zip(row, st.columns(CARDS_PER_ROW), strict=False):
            with cell.container(border=True, height="stretch", gap="xsmall"):
                st.page_link(page.script, label=t(page.name), icon=page.icon)
                st.html(f'<p class="small">{t(f"start-{page.name}")}</p>')

with st.expander(t("start-choose-checkpoint"), icon=":material/inventory_2:"):
    shipped = list(find_shipped_checkpoints())
    if not shipped:
        frame.note(t("checkpoint-none-installed"))
    for row in (shipped[n : n + CARDS_PER_ROW] for n in range(0, len(shipped), CARDS_PER_ROW)):
        for name, cell in zip(row, st.columns(CARDS_PER_ROW), strict=False):
            with cell.container(border=True, height="stretch"), frame.show_errors():
                draw_card(name)
    display.explain(*EXPLANATIONS)
    st.caption(t("start-own-checkpoint"))
