"""Next sentence: whether sentence B follows A and what decides it, candidates for B, test pairs, and lists of pairs."""

import random

import streamlit as st
from bertlab_app import calls, url
from bertlab_app.data import sessions
from bertlab_app.examples import Examples
from bertlab_app.i18n import language, t
from bertlab_app.widgets import batch, display, fields, files, frame, plots, selection, sentences

from bertlab.abilities.answer import span_attention
from bertlab.abilities.next_sentence import figures as pair_laboratory
from bertlab.abilities.next_sentence.laboratory import TEST_PAIR_KINDS
from bertlab.views import columns, figures, passage
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html

VIEW_KEY = "nsp"  # the key of the field that selects the view of the page, also in the address
# the views of the page, as the address contains them; the first one is the default
VIEWS = ["pair", "candidates", "test-pairs", "list"]


def shuffle_words(text: str) -> str:
    words = text.split()
    shuffled_words, rng = list(words), random.Random(text)
    while len(set(words)) > 1 and shuffled_words == words:
        rng.shuffle(shuffled_words)
    return " ".join(shuffled_words)


def draw_attention(checkpoint: sessions.CheckpointKey, first: str, second: str) -> None:
    """Draw how much attention of each head goes from B to A."""
    st.subheader(t("next-sentence-attention"), anchor=False)
    attention_call = calls.call_session(checkpoint, "pair_attention", first, second)
    attention = attention_call.result
    share_LN = attention.share_LN
    strongest_head = divmod(int(share_LN.argmax()), share_LN.shape[1])
    layer, head = fields.layer_and_head(sessions.open_session(checkpoint).config, strongest_head, "between.")

    def select_head(customdata: list) -> None:
        fields.set_layer_and_head(*customdata[:2], "between.")

    data = columns.heads({"share": share_LN, "times_uniform": share_LN / attention.uniform})
    share, uniform = attention_call.field("share_LN"), attention_call.field("uniform")
    plots.draw(
        "pair-heads", span_attention.heads_map, share, uniform, (layer, head), data=data, on_click=select_head,
        lang=language(),
    )  # fmt: skip
    values = {"share": float(share_LN[layer, head]), "ratio": float(share_LN[layer, head]) / attention.uniform}
    st.html(f'<p class="small">{t("next-sentence-head-share", layer=layer, head=head, **values)}</p>')
    display.explain("attention_mass")
    if st.button(t("open-in-attention"), icon=":material/hub:"):
        selection.open_attention_page(
            checkpoint, first, second, layer=layer, heads=[head], head=head, tokens=list(attention.queries)
        )


def draw_candidates(checkpoint: sessions.CheckpointKey, first: str, examples: Examples) -> None:
    """Draw fields for several candidates of sentence B, and rank them."""
    pairs = examples.next_sentence_pairs
    defaults = [pairs[name][1] for name in ("follow", "near", "other")]
    defaults += [shuffle_words(defaults[0]), ""]
    left, right = st.columns(2, gap="large")
    texts = [
        fields.text_line(left, t("next-sentence-candidate", number=number), default, key=f"b{number}")
        for number, default in enumerate(defaults, 1)
    ]
    candidates = [text for text in texts if text.strip()]
    with right:
        ranking = calls.call_session(checkpoint, "rank_next_sentences", first, candidates)
        data = {name: [getattr(row, name) for row in ranking.result] for name in ("text", "index", "probability")}
        zoom = fields.zoom_switch(st)
        plots.draw("candidates", pair_laboratory.candidate_bars, ranking, data=data, zoom=zoom)
        display.sentence(sentences.ranking(ranking.result))
        display.explain("nsp_probability")


def draw_test_pairs(checkpoint: sessions.CheckpointKey) -> None:
    """Predict the fixed test pairs, and show all predictions and how many are correct for each kind of pair."""
    with st.spinner(t("next-sentence-test-pairs-progress")):
        test_pairs = calls.call_session(checkpoint, "predict_test_pairs")
    results = test_pairs.result
    num_correct = sum(result.is_correct for result in results)
    st.html(f'<p class="say">{t("next-sentence-test-pairs-score", correct=num_correct, total=len(results))}</p>')
    names = ("first", "second", "kind", "probability", "is_correct")
    data = {name: [getattr(result, name) for result in results] for name in names}
    plots.draw("test-pairs", pair_laboratory.pair_kind_bars, test_pairs, data=data, lang=language())
    display.explain("nsp_accuracy")
    kind = fields.choice(
        st.segmented_control, t("next-sentence-test-pairs-kind"), list(TEST_PAIR_KINDS), key="kind", required=True,
        format_func=lambda kind: t(f"figure-test-pair-{kind.replace('_', '-')}"),
    )  # fmt: skip
    for index, result in enumerate(result for result in results if result.kind == kind):
        left, right = st.columns([5, 1], vertical_alignment="center")
        mark = "✓" if result.is_correct else "✗"
        left.html(
            f'<p class="small" dir="auto">{mark} {percent(result.probability)} · {escape_html(result.first)} '
            f"<b>{escape_html(result.second)}</b></p>"
        )
        values = {"first": result.first, "second": result.second, VIEW_KEY: "pair"}
        right.button(t("next-sentence-test-pairs-open"), key=f"test-pair-{index}", on_click=open_pair, args=(values,))


def open_pair(values: dict[str, str]) -> None:
    """Put a pair into the fields of the view "pair", and show this view."""
    for name, value in values.items():
        st.session_state[name] = value
        url.store(name, value)


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
view = fields.choice(
    st.segmented_control, t("view"), VIEWS, key=VIEW_KEY, required=True,
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
        shuffled = shuffle_words(second)
        st.button(t("next-sentence-shuffle"), on_click=fill_fields, args=(first, shuffled), icon=":material/shuffle:")
        for name, pair in pairs.items():
            st.button(t(f"next-sentence-{name}"), on_click=fill_fields, args=pair, type="tertiary")

with st.container(key="verdict"), frame.show_errors():
    checkpoint = selection.open_checkpoint("next-sentence", first, second)
    if view == "pair":
        show_verdict(checkpoint, first, second)
        tokens = calls.compute(checkpoint, "encode", first, second)
        st.html(f'<div class="tokens">{passage.tokens_html(tokens)}</div>')
        draw_attention(checkpoint, first, second)
    elif view == "candidates":
        draw_candidates(checkpoint, first, examples)
    elif view == "test-pairs":
        st.caption(t("next-sentence-test-pairs-lead"))
        draw_test_pairs(checkpoint)
    else:
        st.caption(t("next-sentence-list-lead"))
        batch.draw_panel(checkpoint, "next-sentence", is_open=True)
if view == "list":
    files.draw_panel("next-sentence")
