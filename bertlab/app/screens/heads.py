"""Head surgery: knock out heads, write a row of attention, patch a hidden state, and see one prediction before and
after; a map of what every head does for it."""

import streamlit as st

from bertlab.app import display, fields, frame, plots, selection, url
from bertlab.app.data import sessions
from bertlab.app.i18n import t
from bertlab.app.parts import surgery
from bertlab.tasks.registry import TASK_TYPES
from bertlab.views import change_figures, columns

TOOLS = ("none", "row", "patch", "keep", "map")

frame.heading("heads")
asked, line = surgery.question(), surgery.kept()
names = {name: t(f"heads-name-{name or 'none'}") for name in ("", "IsNext", "NotNext")}
with frame.show_errors():
    checkpoint = selection.open_checkpoint(TASK_TYPES[asked.kind].command, asked.text, asked.pair or "")
    config = sessions.session(checkpoint).config
    # a mistake in the text is said here once, before anything is drawn
    sessions.ask(checkpoint, "intervene", *asked.values, mask=asked.mask)
    tokens = sessions.ask(checkpoint, "encode", asked.text, asked.pair)
    effects = surgery.measured(checkpoint, asked)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        surgery.grid(line, config, effects, sessions.ask(checkpoint, "head_roles", asked.text, asked.pair))
        surgery.chips(line, config)
        display.explain("knockout", "patch")
        progress = st.container(key="heads-progress")
    tool = url.choice(
        st.segmented_control, t("heads-tool"), list(TOOLS), key="tool", required=True,
        format_func=lambda tool: t(f"heads-tool-{tool}"),
    )  # fmt: skip
    example = selection.examples_for(TASK_TYPES[asked.kind].command).other
    other = url.recall("other", example)
    with frame.show_errors():
        if tool == "row":
            surgery.row_tool(line, checkpoint, asked, tokens)
        elif tool == "patch":
            st.caption(t("heads-patch-lead"))
            other = fields.text_line(st, t("heads-patch-other"), example, key="other")
            surgery.patch_tool(line, checkpoint, other, tokens)
        elif tool == "keep":
            surgery.keep_tool(line, checkpoint)
        elif tool == "map" and effects is not None:
            axes = (t("head"), t("layer"))
            code = plots.python_lines(
                checkpoint, "from bertlab.views import change_figures",
                f"effects = session.head_effects(*{asked.values!r}, mask={asked.mask})",
                f"figure = change_figures.head_map(effects, axes={axes!r}, odds={t('heads-odds')!r})",
            )  # fmt: skip
            drawing = change_figures.head_map(effects, axes=axes, odds=t("heads-odds"))
            plots.show(drawing, key="head-map", code=code, data=columns.head_effects(effects))
    url.keep("other", other, example)
    with right.container(key="heads-result"), frame.show_errors():
        options = {"changes": line, "other": other, "mask": asked.mask}
        found = sessions.ask(checkpoint, "intervene", *asked.values, **options)
        st.html(surgery.said(found, names))
        words = {"labels": (t("heads-before"), t("heads-after")), "names": names, "zoom": fields.zoomed(st)}
        code = plots.python_lines(
            checkpoint, "from bertlab.views import change_figures",
            f"change = session.intervene(*{asked.values!r}, **{options!r})",
            f"figure = change_figures.before_after(change, **{words!r})",
        )  # fmt: skip
        plots.show(
            change_figures.before_after(found, **words),
            key="before-after",
            code=code,
            data=columns.prediction_change(found),
        )
        if asked.kind == "span":
            st.caption(t("heads-spans"))
    if effects is None:
        surgery.measure(checkpoint, asked, progress)
