"""Depth lens: what every layer would say at every position, how the last word fares on the way, and several masks
filled together."""

import streamlit as st

from bertlab.app import display, fields, frame, plots, selection, url
from bertlab.app.data import sessions
from bertlab.app.i18n import t
from bertlab.text.word_spans import MASK
from bertlab.views import change_figures, columns
from bertlab.views.passage import escape_html
from bertlab.views.pieces import piece_labels

CELL = 52  # pixels for a word
# as wide as its words need, and opened where the one that is followed is in sight (browsers that know how)
WIDTH = """<style>.st-key-lens > * {{ min-width: {}px; }} .st-key-lens {{ position: relative; }}
.st-key-lens::after {{ content: ""; position: absolute; left: {}px; width: 1px; height: 1px;
scroll-initial-target: nearest; }}</style>"""
LONGEST = 48  # pieces whose grid is drawn at once; a longer text is seen through a window

frame.heading("depth")
text = fields.text_line(
    st, t("heads-text"), selection.examples_for("fill-mask").masked, key="masked", help=t("heads-text-help")
)
frame.note(t("depth-honest"))
with frame.show_errors():
    checkpoint = selection.open_checkpoint("fill-mask", text)
    lens = sessions.ask(checkpoint, "lens", text)
    pieces = piece_labels(lens.tokens)
    masks = [at for at, piece in enumerate(pieces) if piece == MASK]
    default = masks[0] if masks else min(1, len(pieces) - 1)
    position = fields.position(st, t("depth-position"), pieces, default, key="at")
    first = max(0, min(position - LONGEST // 2, len(pieces) - LONGEST))
    shown = range(first, min(first + LONGEST, len(pieces)))
    if len(shown) < len(pieces):
        st.caption(t("depth-part", first=shown[0], last=shown[-1], count=len(pieces)))
    words = {
        "rows": (t("depth-layer"), t("depth-embeddings")),
        "labels": (t("depth-says"), t("depth-probability"), t("depth-rank-final")),
    }  # fmt: skip
    opened = (
        "from bertlab.views import change_figures", f"lens = session.lens({text!r})",
    )  # fmt: skip
    grid = {"chosen": position, "first": shown[0], "count": len(shown), **words}
    code = plots.python_lines(checkpoint, *opened, f"figure = change_figures.lens_grid(lens, **{grid!r})")
    st.html(WIDTH.format(110 + CELL * len(shown), 110 + CELL * (position - shown[0] + 1)))
    plots.show(change_figures.lens_grid(lens, **grid), key="lens", code=code, data=columns.lens(lens))
    display.explain("depth_probability", "rank")

    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(t("depth-depth"), anchor=False)
        said = t("depth-final", word=escape_html(lens.final_T[position]), at=position)
        st.html(f'<p class="small" dir="auto">{said}</p>')
        names = {
            "labels": (t("depth-probability"), t("depth-rank")),
            "rows": ("{}", "0"),
            "axis": t("compare-layer"),
        }
        code = plots.python_lines(
            checkpoint, *opened, f"figure = change_figures.lens_depth(lens, {position}, **{names!r})"
        )  # fmt: skip
        plots.show(
            change_figures.lens_depth(lens, position, **names),
            key="depth",
            code=code,
            data=columns.lens_at(lens, position),
        )
    with right:
        st.subheader(t("depth-joint"), anchor=False, help=t("depth-joint-help"))
        if len(masks) < 2:
            frame.note(t("depth-joint-few"))
        else:
            beams = url.number(st.slider, t("depth-beams"), 1, 20, 5, key="beams")
            found = sessions.ask(checkpoint, "fill_jointly", text, beams)
            rows = {
                t("depth-probability"): [100 * filling.probability for filling in (*found.fillings, found.alone)],
                t("depth-joint-words"): [" · ".join(filling.pieces) for filling in (*found.fillings, found.alone)],
                t("depth-joint-how"): [*[t("depth-joint-beam")] * len(found.fillings), t("depth-joint-alone")],
            }
            number = st.column_config.NumberColumn(format="%.3g%%", width=90)
            st.dataframe(rows, hide_index=True, column_config={t("depth-probability"): number})
            same = found.alone.pieces == found.fillings[0].pieces
            better = found.fillings[0].probability / max(found.alone.probability, 1e-300)
            st.caption(t("depth-joint-same") if same else t("depth-joint-better", times=f"{better:.3g}"))
            display.explain("joint_probability")
