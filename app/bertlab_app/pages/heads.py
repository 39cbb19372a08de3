"""Head surgery: ablate heads, edit attention or patch hidden states, and compare one prediction before and after."""

import streamlit as st
from bertlab_app import calls, display, fields, frame, plots, selection, sentences, url, url_fields
from bertlab_app.data import cached_results, sessions
from bertlab_app.i18n import language, t
from bertlab_app.parts import surgery, surgery_tools

from bertlab.abilities.surgery import figures as change_figures
from bertlab.tasks.registry import TASK_TYPES
from bertlab.views import columns

# The values of `tool` in the address: "row" edits attention, "patch" replaces hidden states, "keep" shows the
# command that exports the pruned model, "map" draws the effects of all heads.
TOOLS = ("none", "row", "patch", "keep", "map")

frame.heading("heads")
surgery_input, changes = surgery.choose_surgery_input(), surgery.recall_changes()
with frame.show_errors():
    checkpoint = selection.open_checkpoint(
        TASK_TYPES[surgery_input.kind].command, surgery_input.text, surgery_input.pair or ""
    )
    config = sessions.open_session(checkpoint).config
    # predict before anything is drawn, so that an error in the text is shown only once
    cached_results.compute(checkpoint, "intervene", *surgery_input.positional_arguments, mask=surgery_input.mask)
    tokens = cached_results.compute(checkpoint, "encode", surgery_input.text, surgery_input.pair)
    effects = surgery.recall_effects(checkpoint, surgery_input)
    left, right = st.columns([3, 2], gap="medium")
    with left.container(key="heads-measured"):
        progress_container = st.empty()  # the style sheet lays this first element over the grid
        surgery.draw_grid(
            changes,
            config,
            effects and effects.result,
            cached_results.compute(checkpoint, "head_roles", surgery_input.text, surgery_input.pair),
        )
        surgery.draw_change_buttons(changes, config)
        display.explain("head_effect", "patch_effect")
    tool = url_fields.choice(
        st.segmented_control, t("heads-tool"), list(TOOLS), key="tool", required=True,
        format_func=lambda tool: t(f"heads-tool-{tool}"),
    )  # fmt: skip
    example = selection.examples_for(TASK_TYPES[surgery_input.kind].command).other_masked_sentence
    other_text = url.recall("other", example)
    with frame.show_errors():
        if tool == "row":
            surgery_tools.edit_attention(changes, checkpoint, surgery_input, tokens, other_text)
        elif tool == "patch":
            st.caption(t("heads-patch-lead"))
            other_text = fields.text_line(st, t("heads-patch-other"), example, key="other")
            surgery_tools.patch_hidden_states(changes, checkpoint, surgery_input, tokens, other_text)
        elif tool == "keep":
            surgery_tools.show_export_command(changes, checkpoint)
        elif tool == "map" and effects is not None:
            data = columns.head_effects(effects.result)
            plots.draw("head-map", change_figures.head_map, effects, data=data, lang=language())
            display.sentence(
                sentences.head_effects(effects.result, surgery.name_outcome(effects.result.kind, effects.result.label))
            )
    url.store("other", other_text, example)
    with right.container(key="heads-result"), frame.show_errors():
        arguments = {"changes": changes, "other": other_text, "mask": surgery_input.mask}
        change = calls.call_session(checkpoint, "intervene", *surgery_input.positional_arguments, **arguments)
        st.html(surgery.prediction_html(change.result))
        names = surgery.list_outcome_names(change.result.kind)
        options = {
            "names": names,
            "zoom": fields.zoom_switch(st),
            "lang": language(),
        }
        data = columns.prediction_change(change.result)
        plots.draw("before-after", change_figures.before_after, change, data=data, is_shared=True, **options)
        if changes:
            display.sentence(sentences.prediction_change(change.result, names))
        if TASK_TYPES[surgery_input.kind].interventions_cover_all_candidates:
            st.caption(t("heads-span-probabilities"))
    if effects is None:
        surgery.measure_effects(checkpoint, surgery_input, progress_container)
