"""Before and after: two checkpoints on one input, or two inputs to one checkpoint, held against each other."""

import streamlit as st

import bertlab
from bertlab.app import components, loaders, url
from bertlab.app.examples import examples as examples_in
from bertlab.app.i18n import language, t
from bertlab.app.parts import compare

SIDES = {"before": "strongest", "after": "squad"}  # before and after fine-tuning


def side(place, key: str) -> loaders.Checkpoint:
    """One of the two checkpoints, picked here and not in the sidebar."""
    shipped = list(bertlab.shipped())
    default = SIDES[key] if SIDES[key] in shipped else loaders.AUTO
    picked = url.text(
        place.selectbox, t(f"compare-{key}"), default, key=key, options=[loaders.AUTO, *shipped],
        accept_new_options=True, help=t("checkpoint-help"),
    )  # fmt: skip
    return loaders.fitting("attend", language()) if picked == loaders.AUTO else loaders.checkpoint(picked)


components.heading("compare")
between = url.choice(
    st.segmented_control, t("compare-between"), ["checkpoints", "inputs"], key="between", required=True,
    format_func=lambda what: t(f"compare-{what}"), label_visibility="collapsed",
)  # fmt: skip
with components.told():
    others = None
    if between == "checkpoints":
        left, right = st.columns(2)
        first, second = side(left, "before"), side(right, "after")
        examples = examples_in(loaders.session(first).language)
        texts = components.sentences(*examples.pair)
    else:
        first = second = components.chosen("attend")
        examples = examples_in(loaders.session(first).language)
        st.html(f'<p class="small">{t("compare-first")}</p>')
        texts = components.sentences(*examples.pair)
        st.html(f'<p class="small">{t("compare-second")}</p>')
        left, right = st.columns(2)
        others = (
            components.line(left, t("sentence-a"), examples.pair[0], key="a2"),
            components.line(right, t("sentence-b"), examples.changed, key="b2"),
        )
    with st.container(key="comparison"), components.told(), st.spinner(t("compare-working")):
        found = loaders.comparison(first, second, texts, others)
        code = compare.steps(second, texts, others)
        compare.remarks(found, of_inputs=others is not None)
        compare.heads(found, loaders.session(first).config, first, code)
        compare.layers(found, first, code)
