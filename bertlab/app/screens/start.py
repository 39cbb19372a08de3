"""Start: the attention of a short sentence, links to all pages, and the shipped checkpoints to choose from."""

import streamlit as st

import bertlab
from bertlab.app import components, display, frame, selection
from bertlab.app.data import sessions
from bertlab.app.i18n import t
from bertlab.app.pages import find_page, menu
from bertlab.app.parts import preview
from bertlab.config.languages import message_ids
from bertlab.views.passage import escape_html

CARDS_PER_ROW = 3
METRIC_FORMATS = {
    "masked_accuracy": "{:.0%}", "nsp_accuracy": "{:.0%}", "f1": "{:.1f}%", "exact_match": "{:.1f}%",
    "accuracy": "{:.1f}%", "entity_f1": "{:.1f}%", "spearman": "{:.1f}",
}  # fmt: skip
EXPLAINED = ("masked_accuracy", "nsp_accuracy", "f1", "exact_match", "accuracy", "f1_entity", "spearman")


def open_checkpoint(name: str) -> None:
    """Select a checkpoint for every page."""
    st.session_state["checkpoint"] = name


def draw_card(name: str) -> None:
    """Draw the card of a shipped checkpoint: description, metrics, size, and a button that selects it.

    The card of the selected checkpoint has a link to a page that uses it instead of the button.
    """
    config, record = sessions.read_description(name)
    is_selected = st.session_state.get("opened") == name
    mark = f"<span>✓ {t('start-checkpoint-selected')}</span>" if is_selected else ""
    st.html(f'<p class="name">{escape_html(name)}{mark}</p>')
    if f"card-{name}" in message_ids():
        st.html(f'<p class="small">{t(f"card-{name}")}</p>')
    metrics = record.get("validation") or {}
    formatted = [
        (form.format(metrics[key]), t(f"card-metric-{key}")) for key, form in METRIC_FORMATS.items() if key in metrics
    ]
    cells = "".join(f"<div><b>{value}</b><span>{label}</span></div>" for value, label in formatted[:2])
    st.html(f'<div class="figures">{cells}</div>' if cells else "<div></div>")
    st.html(f'<p class="small">{selection.describe_size(config)}</p>')
    st.space("stretch")  # aligns the buttons of all cards
    if is_selected:
        page = find_page(sessions.open_session(sessions.find_checkpoint(name)).heads)
        with st.container(key="chosen"):
            st.page_link(page.script, label=t(page.name), icon=page.icon, width="stretch")
    else:
        st.button(
            t("start-select-checkpoint"), key=f"open-{name}", width="stretch", on_click=open_checkpoint, args=(name,)
        )


frame.heading("start")
with frame.show_errors():
    attention = sessions.compute_attention(selection.open_checkpoint("attend"), selection.examples_for("attend").short)
    layer = len(attention.probs_LNTT) // 2
    components.draw_arcs(preview.make_arcs(attention, layer))
    st.caption(t("start-arcs", layer=layer))

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

st.subheader(t("start-choose-checkpoint"), anchor=False)
shipped = list(bertlab.shipped())
if not shipped:
    frame.note(t("checkpoint-none-installed"))
for row in (shipped[n : n + CARDS_PER_ROW] for n in range(0, len(shipped), CARDS_PER_ROW)):
    for name, cell in zip(row, st.columns(CARDS_PER_ROW), strict=False):
        with cell.container(border=True, height="stretch"), frame.show_errors():
            draw_card(name)
display.explain(*EXPLAINED)
st.caption(t("start-own-checkpoint"))
