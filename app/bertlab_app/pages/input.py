"""Input: the tokens of a text, their ids, and the three embeddings of each token."""

import streamlit as st
from bertlab_app import calls
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, plots, selection, sentences

from bertlab.views import figures, passage

frame.heading("input")
a, b = fields.sentence_pair(*selection.examples_for("attention").pair)
with frame.show_errors():
    checkpoint = selection.open_checkpoint("attention", a, b)
    tokens = calls.compute(checkpoint, "encode", a, b or None)
    embeddings = calls.call_session(checkpoint, "embeddings", a, b or None)
    st.html(f'<p class="small">{t("input-tokens", count=len(tokens))}</p>')
    st.html(f'<div class="tokens">{passage.tokens_html(tokens)}</div>')
    st.subheader(t("input-embeddings"), anchor=False, help=t("input-embeddings-help"))
    plots.draw("embeddings", figures.embedding_strips, embeddings, lang=language())
    display.sentence(sentences.embeddings(embeddings.result))
    if not embeddings.result.position_TH.any():
        st.caption(t("input-without-position"))
    if not embeddings.result.token_type_TH.any():
        st.caption(t("input-without-segment"))
    display.explain("embedding")
    st.subheader(t("input-table"), anchor=False)
    rows = {
        t("input-position"): [token.position for token in tokens],
        t("input-token"): [token.token for token in tokens],
        t("input-id"): [token.id for token in tokens],
        t("input-start"): ["" if token.special else str(token.start) for token in tokens],
        t("input-end"): ["" if token.special else str(token.end) for token in tokens],
        t("input-segment"): ["AB"[token.segment] for token in tokens],
    }
    right_aligned_column = st.column_config.TextColumn(alignment="right")
    columns = dict.fromkeys((t("input-start"), t("input-end")), right_aligned_column)
    st.dataframe(rows, hide_index=True, column_config=columns)
