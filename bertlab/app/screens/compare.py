"""Comparison: two checkpoints on one input, or two inputs of one checkpoint."""

import streamlit as st

import bertlab
from bertlab.app import fields, frame, selection, url
from bertlab.app.data import sessions
from bertlab.app.examples import read_examples
from bertlab.app.i18n import language, t
from bertlab.app.parts import compare

SIDES = {"before": "strongest", "after": "squad"}  # before and after fine-tuning


def side(place, key: str) -> sessions.Checkpoint:
    """One of the two checkpoints. It is chosen on this page, not in the sidebar."""
    shipped = list(bertlab.shipped())
    default = SIDES[key] if SIDES[key] in shipped else sessions.AUTO
    picked = url.text(
        place.selectbox, t(f"compare-checkpoint-{key}"), default, key=key, options=[sessions.AUTO, *shipped],
        accept_new_options=True, help=t("checkpoint-help"),
    )  # fmt: skip
    return (
        sessions.select_checkpoint("attend", language())
        if picked == sessions.AUTO
        else sessions.find_checkpoint(picked)
    )


frame.heading("compare")
between = url.choice(
    st.segmented_control, t("compare-between"), ["checkpoints", "inputs"], key="between", required=True,
    format_func=lambda what: t(f"compare-{what}"), label_visibility="collapsed",
)  # fmt: skip
with frame.show_errors():
    other_texts = None
    if between == "checkpoints":
        left, right = st.columns(2)
        first, second = side(left, "before"), side(right, "after")
        examples = read_examples(sessions.open_session(first).language)
        texts = fields.sentence_pair(*examples.pair)
    else:
        first = second = selection.open_checkpoint("attend")
        examples = read_examples(sessions.open_session(first).language)
        st.html(f'<p class="small">{t("compare-first-text")}</p>')
        texts = fields.sentence_pair(*examples.pair)
        st.html(f'<p class="small">{t("compare-second-text")}</p>')
        left, right = st.columns(2)
        other_texts = (
            fields.text_line(left, t("sentence-a"), examples.pair[0], key="a2"),
            fields.text_line(right, t("sentence-b"), examples.changed_second_sentence, key="b2"),
        )
    with st.container(key="comparison"), frame.show_errors(), st.spinner(t("compare-progress")):
        comparison = compare.compare_inputs(first, second, texts, other_texts)
        compare.notes(comparison.result, of_inputs=other_texts is not None)
        compare.heads(comparison, sessions.open_session(first).config)
        compare.layers(comparison)
