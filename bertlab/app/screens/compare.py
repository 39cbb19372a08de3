"""Before and after: compare two checkpoints on one text, or one checkpoint on two texts."""

import streamlit as st

import bertlab
from bertlab.app import fields, frame, selection, url
from bertlab.app.data import sessions
from bertlab.app.examples import read_examples
from bertlab.app.i18n import language, t
from bertlab.app.parts import compare

DEFAULTS = {"before": "strongest", "after": "squad"}  # the same model before and after fine-tuning


def choose_checkpoint(place, label: str, key: str) -> sessions.CheckpointKey:
    """Let the user choose one of the two checkpoints to compare.

    The comparison of two texts uses the checkpoint of the sidebar instead.

    Args:
        place: the column of the field.
        label: the label of the field.
        key: its name in the address, a key of `DEFAULTS`.
    """
    shipped = list(bertlab.shipped())
    default = DEFAULTS[key] if DEFAULTS[key] in shipped else sessions.AUTO
    picked = url.text(
        place.selectbox, label, default, key=key, options=[sessions.AUTO, *shipped],
        accept_new_options=True, help=t("checkpoint-help"),
    )  # fmt: skip
    if picked == sessions.AUTO:
        return sessions.select_checkpoint("attend", language())
    return sessions.find_checkpoint(picked)


frame.heading("compare")
compared = url.choice(
    st.segmented_control, t("compare-between"), ["checkpoints", "inputs"], key="between", required=True,
    format_func=lambda kind: t(f"compare-{kind}"), label_visibility="collapsed",
)  # fmt: skip
with frame.show_errors():
    second_texts = None
    if compared == "checkpoints":
        left, right = st.columns(2)
        first = choose_checkpoint(left, t("compare-checkpoint-before"), "before")
        second = choose_checkpoint(right, t("compare-checkpoint-after"), "after")
        examples = read_examples(sessions.open_session(first).language)
        texts = fields.sentence_pair(*examples.pair)
    else:
        first = second = selection.open_checkpoint("attend")
        examples = read_examples(sessions.open_session(first).language)
        st.html(f'<p class="small">{t("compare-first-text")}</p>')
        texts = fields.sentence_pair(*examples.pair)
        st.html(f'<p class="small">{t("compare-second-text")}</p>')
        left, right = st.columns(2)
        second_texts = (
            fields.text_line(left, t("sentence-a"), examples.pair[0], key="a2"),
            fields.text_line(right, t("sentence-b"), examples.changed_second_sentence, key="b2"),
        )
    with st.container(key="comparison"), frame.show_errors(), st.spinner(t("compare-progress")):
        comparison = compare.compare_inputs(first, second, texts, second_texts)
        compare.show_alignment(comparison.result, two_texts=second_texts is not None)
        compare.draw_heads(comparison, sessions.open_session(first).config)
        compare.draw_layers(comparison)
