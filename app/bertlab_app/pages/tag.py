"""Tag: the named entities of a text, highlighted in the text, and the probability of every tag for each word."""

import streamlit as st
from bertlab_app import calls
from bertlab_app.data import sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import batch, display, fields, files, frame, plots, selection, sentences

from bertlab.tasks.tag_prediction import merge_tokens
from bertlab.views import labels

frame.heading("tag")
text = fields.text_line(st, t("tag-text"), selection.examples_for("tag").text_with_names, key="named")
with frame.show_errors():
    checkpoint = selection.open_checkpoint("tag", text)
    tagging = calls.call_session(checkpoint, "tag", text)
    tags = tagging.result
    with st.container(key="entities"):
        st.html(labels.tagged_html(text, tags, lang=language()))
        descriptions = labels.describe_entity_types(tags, language())
        if descriptions:
            st.caption(" · ".join(descriptions.values()))
        st.caption(t("tag-hint"))
        if tags.entities:
            rows = {
                t("tag-entity"): [entity.text for entity in tags.entities],
                t("tag-entity-type"): [descriptions.get(entity.label, entity.label) for entity in tags.entities],
                t("tag-probability"): [100 * entity.probability for entity in tags.entities],
            }
            percentage_column = st.column_config.ProgressColumn(format="%.1f%%", min_value=0, max_value=100, width=100)
            st.dataframe(rows, hide_index=True, column_config={t("tag-probability"): percentage_column})
        else:
            frame.note(t("tag-no-names"))
    shown_tagging, heading_id = tagging, "tag-all-tags"
    if sessions.open_session(checkpoint).predicts_token_tags:
        left, right = st.columns([3, 2], vertical_alignment="bottom")
        unit = fields.choice(
            right.segmented_control, t("tag-unit"), ["word", "token"], key="unit", required=True,
            format_func=lambda name: t(f"tag-unit-{name}"), label_visibility="collapsed",
        )  # fmt: skip
        if unit == "word":
            shown_tagging = calls.call_function(merge_tokens, tagging, text)
        else:
            heading_id = "tag-all-token-tags"
        left.subheader(t(heading_id), anchor=False)
        st.caption(t("tag-unit-hint"))
    else:
        st.subheader(t(heading_id), anchor=False)
    words = shown_tagging.result.words
    data = {"word": [word.text for word in words], "tag": [word.tag for word in words]}
    data |= {label: [word.probabilities[k] for word in words] for k, label in enumerate(tags.labels)}
    plots.draw("tags", labels.tag_heat, shown_tagging, data=data)
    display.sentence(sentences.tags(shown_tagging.result))
    display.explain("tag_probability")
    if st.button(t("open-in-attention"), icon=":material/hub:"):
        selection.open_attention_page(checkpoint, text)
    batch.draw_panel(checkpoint, "tag")
files.draw_panel("tag")
