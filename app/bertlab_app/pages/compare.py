"""Before and after: compare two checkpoints on one text, one checkpoint on two texts, or several checkpoints."""

import streamlit as st
from bertlab_app import fields, frame, selection, url_fields
from bertlab_app.data import sessions
from bertlab_app.examples import read_examples
from bertlab_app.i18n import language, t
from bertlab_app.parts import compare, side_by_side

import bertlab


def choose_checkpoint(container, label: str, key: str, default: str) -> sessions.CheckpointKey:
    """Let the user choose a checkpoint to compare."""
    checkpoint_name = url_fields.text(
        container.selectbox, label, default, key=key, options=[sessions.AUTO, *bertlab.find_shipped_checkpoints()],
        accept_new_options=True, help=t("checkpoint-help"),
    )  # fmt: skip
    if checkpoint_name == sessions.AUTO:
        return sessions.select_checkpoint("attention", language())
    return sessions.find_checkpoint(checkpoint_name)


def compare_two(comparison_kind: str) -> None:
    """Draw the fields and the figures of two checkpoints or two texts."""
    second_texts = None
    if comparison_kind == "checkpoints":
        left, right = st.columns(2)
        # "auto" takes the place of a checkpoint that is not shipped
        before, after = [*selection.list_shipped("comparison")[:2], sessions.AUTO, sessions.AUTO][:2]
        first = choose_checkpoint(left, t("compare-checkpoint-before"), "before", before)
        second = choose_checkpoint(right, t("compare-checkpoint-after"), "after", after)
        examples = read_examples(sessions.open_session(first).language)
        texts = fields.sentence_pair(*examples.pair)
    else:
        # the sidebar's field is disabled on this page, but the checkpoint selected in it is the default of this field
        default = st.session_state.get("opened", sessions.AUTO)
        first = second = choose_checkpoint(st.columns(2)[0], t("checkpoint"), "compare.checkpoint", default)
        examples = read_examples(sessions.open_session(first).language)
        st.html(f'<p class="small">{t("compare-first-text")}</p>')
        texts = fields.sentence_pair(*examples.pair)
        st.html(f'<p class="small">{t("compare-second-text")}</p>')
        left, right = st.columns(2)
        second_texts = (
            fields.text_line(left, t("sentence-a"), examples.pair[0], key="a2"),
            fields.text_line(right, t("sentence-b"), examples.changed_second_sentence, key="b2"),
        )
    filled_texts = [text for text in (*texts, *(second_texts or ())) if text]
    for checkpoint in dict.fromkeys((first, second)):
        selection.note_other_language(checkpoint, "attention", filled_texts)
    with st.container(key="comparison"), frame.show_errors(), st.spinner(t("compare-progress")):
        comparison = compare.compare_inputs(first, second, texts, second_texts)
        compare.show_alignment(comparison.result, compares_texts=second_texts is not None)
        compare.draw_heads(comparison, sessions.open_session(first).config)
        compare.draw_layers(comparison)


frame.heading("compare")
comparison_kind = url_fields.choice(
    st.segmented_control, t("compare-between"), ["checkpoints", "inputs", "models"], key="between", required=True,
    format_func=lambda kind: t(f"compare-{kind}"), label_visibility="collapsed",
)  # fmt: skip
with frame.show_errors():
    if comparison_kind == "models":
        side_by_side.draw_models()
    else:
        compare_two(comparison_kind)
