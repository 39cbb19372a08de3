"""Fill mask: mask words by clicking them, and see the most probable tokens for each mask."""

import streamlit as st
from bertlab_app import calls
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, masked_text, plots, selection, sentences

from bertlab.text.word_spans import MASK
from bertlab.views import figures
from bertlab.views.passage import escape_html

frame.heading("fill-mask")
left, right = st.columns([3, 2])
second = fields.text_line(right, t("fill-mask-second"), "", key="text2", placeholder=t("sentence-b-optional"))
masked_input = masked_text.draw_masked_text(
    selection.examples_for("fill-mask"), container=left, help=t("fill-mask-text-help")
)
left, right = st.columns([3, 2], vertical_alignment="center")
left.button(
    t("fill-mask-reset"), on_click=masked_input.store, args=(frozenset(),), disabled=not masked_input.masked_indices,
    icon=":material/undo:",
)  # fmt: skip
top_k = fields.number(right.slider, t("fill-mask-candidate-count"), 3, 20, 8, key="top")

with st.container(key="proposals"), frame.show_errors():
    checkpoint = selection.open_checkpoint("fill-mask", masked_input.text, second)
    if MASK not in masked_input.masked_text + second:
        frame.note(t("fill-mask-no-mask" if masked_input.text.strip() else "fill-mask-empty"))
    else:
        options = {"top_k": top_k, "originals": masked_input.originals} | ({"pair": second} if second else {})
        fills = calls.call_session(checkpoint, "fill_mask", masked_input.masked_text, **options)
        zoom = fields.zoom_switch(st)
        # every [MASK] in the second sentence was typed by the user, so it replaced no word
        words = [*masked_input.originals, *[""] * len(fills.result)]
        cells = st.columns(min(len(fills.result), 2))
        for index, (fill, word) in enumerate(zip(fills.result, words, strict=False)):
            title = t("fill-mask-masked-word", word=word) if word else t("fill-mask-mask-number", number=index + 1)
            with cells[index % len(cells)]:
                st.html(f'<p class="say" dir="auto">{escape_html(title)}</p>')
                if word:
                    line = masked_text.describe_original(word, fill.original)
                    st.html(f'<p class="small" dir="auto">{escape_html(line)}</p>')
                data = {
                    name: [getattr(row, name) for row in fill.candidates] for name in ("token", "id", "probability")
                }
                plots.draw(f"mask-{index}", figures.mask_bars, fills[index], data=data, lang=language(), zoom=zoom)
                display.sentence(sentences.candidates(fill.candidates))
        display.explain("mask_probability", "rank", "token_loss")
