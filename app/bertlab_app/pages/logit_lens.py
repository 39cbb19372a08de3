"""Logit lens: what every layer predicts, how it ranks the final prediction, and several masks filled jointly."""

import streamlit as st
from bertlab_app import calls
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, plots, selection, sentences

from bertlab.abilities.surgery import figures as change_figures
from bertlab.text.tokenizers.encoding import MASK_NAMES
from bertlab.views import columns
from bertlab.views.passage import escape_html
from bertlab.views.token_labels import token_labels

CELL_WIDTH = 52  # the width of a column of the grid, in pixels
NAMES_WIDTH = 110  # the width of the column with the names of the layers, in pixels
# A style sheet with two placeholders, both in pixels: the width of the grid, and the position to which a browser that
# supports `scroll-initial-target` scrolls the grid.
GRID_STYLE = """<style>.st-key-lens > * {{ min-width: {}px; }} .st-key-lens {{ position: relative; }}
.st-key-lens::after {{ content: ""; position: absolute; left: {}px; width: 1px; height: 1px;
scroll-initial-target: nearest; }}</style>"""
MAX_COLUMNS = 48  # for a longer text, the grid shows only the positions around the selected one

frame.heading("logit-lens")
text = fields.text_line(
    st, t("heads-text"), selection.examples_for("fill-mask").masked_sentence, key="masked", help=t("heads-text-help")
)
frame.note(t("logit-lens-caution"))
with frame.show_errors():
    checkpoint = selection.open_checkpoint("fill-mask", text)
    lens_call = calls.call_session(checkpoint, "lens", text)
    lens = lens_call.result
    tokens = token_labels(lens.tokens)
    mask_positions = [index for index, token in enumerate(tokens) if token in MASK_NAMES]
    default = mask_positions[0] if mask_positions else min(1, len(tokens) - 1)
    position = fields.position(st, t("logit-lens-position"), tokens, default, key="at")
    first_position = max(0, min(position - MAX_COLUMNS // 2, len(tokens) - MAX_COLUMNS))
    shown_positions = range(first_position, min(first_position + MAX_COLUMNS, len(tokens)))
    if len(shown_positions) < len(tokens):
        st.caption(
            t("logit-lens-positions-shown", first=shown_positions[0], last=shown_positions[-1], count=len(tokens))
        )
    grid_options = {"chosen": position, "first": shown_positions[0], "count": len(shown_positions), "lang": language()}
    width, right_edge = (
        NAMES_WIDTH + CELL_WIDTH * count for count in (len(shown_positions), position - shown_positions[0] + 1)
    )
    st.html(GRID_STYLE.format(width, right_edge))
    data = columns.lens(lens)
    plots.draw("lens", change_figures.lens_grid, lens_call, data=data, is_shared=True, **grid_options)
    display.sentence(sentences.lens(lens))
    display.explain("layer_probability", "rank")

    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(t("logit-lens-by-layer"), anchor=False)
        sentence = t("logit-lens-final-prediction", word=escape_html(lens.final_T[position]), position=position)
        st.html(f'<p class="small" dir="auto">{sentence}</p>')
        data = columns.lens_at(lens, position)
        plots.draw("rank", change_figures.lens_rank, lens_call, position, data=data, lang=language())
        display.sentence(sentences.lens_at(lens, position))
    with right:
        st.subheader(t("logit-lens-joint"), anchor=False, help=t("logit-lens-joint-help"))
        if len(mask_positions) < 2:
            frame.note(t("logit-lens-joint-too-few-masks"))
        else:
            beam_size = fields.number(st.slider, t("logit-lens-beam-size"), 1, 20, 5, key="beams")
            joint_fill = calls.compute(checkpoint, "fill_jointly", text, beam_size)
            fillings = (*joint_fill.fillings, joint_fill.independent)
            together, independently = t("logit-lens-joint-together"), t("logit-lens-joint-independently")
            rows = {
                t("logit-lens-probability"): [100 * filling.probability for filling in fillings],
                t("logit-lens-joint-words"): [" · ".join(filling.tokens) for filling in fillings],
                t("logit-lens-joint-method"): [*[together] * len(joint_fill.fillings), independently],
            }
            percentage_column = st.column_config.NumberColumn(format="%.3g%%", width=90)
            st.dataframe(rows, hide_index=True, column_config={t("logit-lens-probability"): percentage_column})
            independent_is_best = joint_fill.independent.tokens == joint_fill.fillings[0].tokens
            ratio = joint_fill.fillings[0].probability / max(joint_fill.independent.probability, 1e-300)
            better_text = t("logit-lens-joint-better", ratio=f"{ratio:.3g}")
            st.caption(t("logit-lens-joint-same") if independent_is_best else better_text)
            display.explain("joint_probability")
