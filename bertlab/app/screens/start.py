"""Start: what this is, what it can do, and which BERT to look into."""

import streamlit as st

import bertlab
from bertlab.app import components, loaders
from bertlab.app.i18n import t
from bertlab.app.pages import SECTIONS, answering, script
from bertlab.app.parts import preview
from bertlab.config.languages import message_ids

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
    config, record = loaders.about(name)
    opened = st.session_state.get("opened") == name
    mark = f"<span>✓ {t('start-open')}</span>" if opened else ""
    st.html(f'<p class="name">{components.plain(name)}{mark}</p>')
    if f"card-{name}" in message_ids():
        st.html(f'<p class="small">{t(f"card-{name}")}</p>')
    measured = record.get("validation") or {}
    shown = [(form.format(measured[key]), t(f"figure-{key}")) for key, form in FIGURES.items() if key in measured]
    cells = "".join(f"<div><b>{value}</b><span>{label}</span></div>" for value, label in shown[:2])
    st.html(f'<div class="figures">{cells}</div>' if cells else "<div></div>")
    st.html(f'<p class="small">{components.size(config)}</p>')
    st.space("stretch")  # the buttons of all cards stand on one line
    if opened:
        page = answering(loaders.session(loaders.checkpoint(name)).heads)
        icon = next(pages[page] for pages in SECTIONS.values() if page in pages)
        with st.container(key="chosen"):
            st.page_link(script(page), label=t(page), icon=icon, width="stretch")
    else:
        st.button(t("start-use"), key=f"open-{name}", width="stretch", on_click=open_checkpoint, args=(name,))


components.heading("start")
with components.told():
    attention = loaders.attention_map(components.chosen("attend"), components.said("attend").short, "")
    layer = len(attention.probs_LNTT) // 2
    components.arcs(preview.arcs(attention, layer))
    st.caption(t("start-arcs", layer=layer))

for section, pages in SECTIONS.items():
    if not section:
        continue
    st.html(f'<p class="small">{components.plain(t(f"section-{section}"))}</p>')
    # columns for every row: cards of a row are alike high, and a telephone shows them in the menu's order
    rows = [list(pages.items())[n : n + PAGES_IN_A_ROW] for n in range(0, len(pages), PAGES_IN_A_ROW)]
    for row in rows:
        for (name, icon), cell in zip(row, st.columns(PAGES_IN_A_ROW), strict=False):
            with cell.container(border=True, height="stretch", gap="xsmall"):
                st.page_link(script(name), label=t(name), icon=icon)
                st.html(f'<p class="small">{t(f"start-{name}")}</p>')

st.subheader(t("start-choose"), anchor=False)
shipped = list(bertlab.shipped())
if not shipped:
    components.note(t("checkpoint-none"))
for row in (shipped[n : n + PAGES_IN_A_ROW] for n in range(0, len(shipped), PAGES_IN_A_ROW)):
    for name, cell in zip(row, st.columns(PAGES_IN_A_ROW), strict=False):
        with cell.container(border=True, height="stretch"), components.told():
            card(name)
components.explain(*EXPLAINED)
st.caption(t("start-own"))
