"""Parts of the page Next sentence: the attention between the sentences, candidates for B, and fixed test pairs."""

import random

import streamlit as st

from bertlab.abilities.answer import span_attention
from bertlab.abilities.next_sentence import figures as pair_laboratory
from bertlab.abilities.next_sentence.laboratory import TEST_PAIR_KINDS
from bertlab.views import columns
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html
from bertlab_app import calls, display, fields, plots, selection, sentences, url, url_fields
from bertlab_app.data import sessions
from bertlab_app.examples import Examples
from bertlab_app.i18n import language, t

VIEW_KEY = "nsp"  # the key of the field that selects the view of the page, also in the address


def shuffle_words(text: str) -> str:
    """Shuffle the words of a text. The same text always gives the same result.

    The order of the words changes, except if all words are equal.

    >>> sorted(shuffle_words("a b c").split()), shuffle_words("a b") == shuffle_words("a b")
    (['a', 'b', 'c'], True)
    """
    words = text.split()
    shuffled_words, rng = list(words), random.Random(text)
    while len(set(words)) > 1 and shuffled_words == words:
        rng.shuffle(shuffled_words)
    return " ".join(shuffled_words)


def draw_attention(checkpoint: sessions.CheckpointKey, first: str, second: str) -> None:
    """Draw how much attention of each head goes from B to A. A click chooses a head to open on the page Attention."""
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
    kind = url_fields.choice(
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
        right.button(t("next-sentence-test-pairs-open"), key=f"test-pair-{index}", on_click=_open_pair, args=(values,))


def _open_pair(values: dict[str, str]) -> None:
    """Put a pair into the fields of the view "pair", and show this view."""
    for name, value in values.items():
        st.session_state[name] = value
        url.store(name, value)
