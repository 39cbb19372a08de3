"""Next sentence: whether sentence B follows A and what decides it, candidates for B, test pairs, and lists of pairs."""

import streamlit as st
from bertlab_app import calls, display, fields, frame, plots, selection, url, url_fields
from bertlab_app.data import cached_results, sessions
from bertlab_app.i18n import t
from bertlab_app.parts import batch, files, pair_laboratory

from bertlab.views import figures, passage
from bertlab.views.numbers import percent

# the views of the page, as the address contains them; the first one is the default
VIEWS = ["pair", "candidates", "test-pairs", "list"]


def fill_fields(first: str, second: str) -> None:
    """Write two sentences into the fields of the page."""
    st.session_state["first"], st.session_state["second"] = first, second


def show_verdict(checkpoint: sessions.CheckpointKey, first: str, second: str) -> None:
    """Show the probability that B follows A or, with the objective SOP, that both are in the right order."""
    prediction = calls.call_session(checkpoint, "next_sentence", first, second)
    answer = prediction.result
    labels = (t(f"next-sentence-yes-{answer.objective}"), t(f"next-sentence-no-{answer.objective}"))
    probabilities = (answer.probability, 1 - answer.probability)
    parts = [f"{label} {percent(probability)}" for label, probability in zip(labels, probabilities, strict=True)]
    more_probable = probabilities.index(max(probabilities))
    parts[more_probable] = f"<b>{parts[more_probable]}</b>"
    st.html(f'<p class="say">{" · ".join(parts)}</p>')
    data = {"label": labels, "probability": probabilities}
    plots.draw("gauge", figures.nsp_gauge, prediction, labels=labels, data=data, layout={"showlegend": False})
    if answer.objective == "order":
        frame.note(t("next-sentence-order-note"))
    display.explain("nsp_probability")


frame.heading("next-sentence")
if url.recall(pair_laboratory.VIEW_KEY) == "probes":  # the name of the view in older links
    url.store(pair_laboratory.VIEW_KEY, "test-pairs")
view = url_fields.choice(
    st.segmented_control, t("view"), VIEWS, key=pair_laboratory.VIEW_KEY, required=True,
    format_func=lambda name: t(f"next-sentence-view-{name}"), label_visibility="collapsed",
)  # fmt: skip
examples = selection.examples_for("next-sentence")
pairs = examples.next_sentence_pairs
first = second = ""
if view in ("pair", "candidates"):
    first = fields.text_line(st, t("next-sentence-first"), pairs["follow"][0], key="first")
if view == "pair":
    second = fields.text_line(st, t("next-sentence-second"), pairs["follow"][1], key="second")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(t("next-sentence-swap"), on_click=fill_fields, args=(second, first), icon=":material/swap_vert:")
        shuffled = pair_laboratory.shuffle_words(second)
        st.button(t("next-sentence-shuffle"), on_click=fill_fields, args=(first, shuffled), icon=":material/shuffle:")
        for name, pair in pairs.items():
            st.button(t(f"next-sentence-{name}"), on_click=fill_fields, args=pair, type="tertiary")

with st.container(key="verdict"), frame.show_errors():
    checkpoint = selection.open_checkpoint("next-sentence", first, second)
    if view == "pair":
        show_verdict(checkpoint, first, second)
        tokens = cached_results.compute(checkpoint, "encode", first, second)
        st.html(f'<div class="tokens">{passage.tokens_html(tokens)}</div>')
        pair_laboratory.draw_attention(checkpoint, first, second)
    elif view == "candidates":
        pair_laboratory.draw_candidates(checkpoint, first, examples)
    elif view == "test-pairs":
        st.caption(t("next-sentence-test-pairs-lead"))
        pair_laboratory.draw_test_pairs(checkpoint)
    else:
        st.caption(t("next-sentence-list-lead"))
        batch.draw_panel(checkpoint, "next-sentence", is_open=True)
if view == "list":
    files.draw_panel("next-sentence")
