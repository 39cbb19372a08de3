"""Start: what this is, what it can do, and which BERT to look into."""

import streamlit as st

import bertlab
from bertlab.app import components, display, frame, selection
from bertlab.app.data import sessions
from bertlab.app.i18n import t
from bertlab.app.pages import SECTIONS, in_section, page_for
from bertlab.app.parts import preview
from bertlab.config.languages import message_ids
from bertlab.views.passage import escape_html

PAGES_IN_A_ROW = 3
FIGURES = {
    "masked_accuracy": "{:.0%}", "nsp_accuracy": "{:.0%}", "f1": "{:.1f}%", "exact_match": "{:.1f}%",
    "accuracy": "{:.1f}%", "entity_f1": "{:.1f}%", "spearman": "{:.1f}",
}  # fmt: skip
EXPLAINED = ("masked_accuracy", "nsp_accuracy", "f1", "exact_match", "accuracy", "f1_entity", "spearman")


def open_checkpoint(name: str) -> None:
    """Make a checkpoint the one that every page reads."""
    st.session_state["checkpoint"] = name


def card(name: str) -> None:
    """A shipped checkpoint: what it is, what was measured on it, and a button that opens it; in the place of the
    button, where it is open, the way to a page that asks it."""
    config, record = sessions.about(name)
    opened = st.session_state.get("opened") == name
    mark = f"<span>✓ {t('start-open')}</span>" if opened else ""
    st.html(f'<p class="name">{escape_html(name)}{mark}</p>')
    if f"card-{name}" in message_ids():
        st.html(f'<p class="small">{t(f"card-{name}")}</p>')
    measured = record.get("validation") or {}
    shown = [(form.format(measured[key]), t(f"figure-{key}")) for key, form in FIGURES.items() if key in measured]
    cells = "".join(f"<div><b>{value}</b><span>{label}</span></div>" for value, label in shown[:2])
    st.html(f'<div class="figures">{cells}</div>' if cells else "<div></div>")
    st.html(f'<p class="small">{selection.describe_size(config)}</p>')
    st.space("stretch")  # the buttons of all cards stand on one line
    if opened:
        page = page_for(sessions.session(sessions.checkpoint(name)).heads)
        with st.container(key="chosen"):
            st.page_link(page.script, label=t(page.name), icon=page.icon, width="stretch")
    else:
        st.button(t("start-use"), key=f"open-{name}", width="stretch", on_click=open_checkpoint, args=(name,))


frame.heading("start")
with frame.show_errors():
    attention = sessions.attention_map(selection.open_checkpoint("attend"), selection.examples_for("attend").short, "")
    layer = len(attention.probs_LNTT) // 2
    components.arcs(preview.arcs(attention, layer))
    st.caption(t("start-arcs", layer=layer))

for section in SECTIONS[1:]:
    st.html(f'<p class="small">{escape_html(t(f"section-{section}"))}</p>')
    # columns for every row: cards of a row are alike high, and a telephone shows them in the menu's order
    pages = in_section(section)
    for row in (pages[n : n + PAGES_IN_A_ROW] for n in range(0, len(pages), PAGES_IN_A_ROW)):
        for page, cell in zip(row, st.columns(PAGES_IN_A_ROW), strict=False):
            with cell.container(border=True, height="stretch", gap="xsmall"):
                st.page_link(page.script, label=t(page.name), icon=page.icon)
                st.html(f'<p class="small">{t(f"start-{page.name}")}</p>')

st.subheader(t("start-choose"), anchor=False)
shipped = list(bertlab.shipped())
if not shipped:
    frame.note(t("checkpoint-none"))
for row in (shipped[n : n + PAGES_IN_A_ROW] for n in range(0, len(shipped), PAGES_IN_A_ROW)):
    for name, cell in zip(row, st.columns(PAGES_IN_A_ROW), strict=False):
        with cell.container(border=True, height="stretch"), frame.show_errors():
            card(name)
display.explain(*EXPLAINED)
st.caption(t("start-own"))
