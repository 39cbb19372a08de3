"""WordPiece: how a word is split into tokens, the merges behind them, two vocabularies, and position vectors."""

import os

import streamlit as st
from bertlab_app import calls
from bertlab_app.data import sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import components, display, fields, frame, plots, selection, sentences

from bertlab.abilities.wordpiece import figures as wordpiece
from bertlab.abilities.wordpiece import position_figures as positions
from bertlab.checkpoints.locate import find_shipped_checkpoints
from bertlab.config.languages import languages
from bertlab.views import export

MAX_WORDS = 12  # the number of words that are drawn; the comparison of two vocabularies uses all words


def show_search(checkpoint: sessions.CheckpointKey, text: str) -> None:
    """Draw how WordPiece finds the tokens of the first `MAX_WORDS` words."""
    search = calls.call_session(checkpoint, "search_tokens", text)
    shown_words = search.result[:MAX_WORDS]
    if len(shown_words) < len(search.result):
        frame.note(t("wordpiece-words-shown", shown=len(shown_words), total=len(search.result)))
    html = calls.call_function(wordpiece.search_html, search)
    data = export.tidy(wordpiece.search_columns(search.result))
    with components.menu_for_saving("search", data=data, code=html.script(html.code)):
        st.html(wordpiece.search_html(shown_words, language()))


def show_merges(checkpoint: sessions.CheckpointKey, text: str) -> None:
    """Draw the merges that built the tokens, or say that the order of the merges is unknown."""
    merges = calls.call_session(checkpoint, "merges", text)
    if merges.result is None:
        frame.note(t("wordpiece-order-unknown"))
        return
    html = calls.call_function(wordpiece.merges_html, merges)
    data = export.tidy(wordpiece.merge_columns(merges.result))
    with components.menu_for_saving("merges", data=data, code=html.script(html.code)):
        st.html(wordpiece.merges_html(merges.result, language()))


def show_comparison(checkpoint: sessions.CheckpointKey, text: str) -> None:
    """Compare the tokens of two vocabularies for the same text: that of the checkpoint, and one chosen by the user."""
    own_name = os.path.basename(checkpoint.source)
    other_names = [name for name in find_shipped_checkpoints() if name != own_name]
    if not other_names:
        frame.note(t("checkpoint-none-installed"))
        return
    # vocabularies of other languages come first, because they differ most
    foreign_names = {
        name
        for code in languages()
        if code != language()
        for name in languages()[code].checkpoints.get("pretrained", ())
    }
    other_names.sort(key=lambda name: name not in foreign_names)
    other_name = fields.choice(st.selectbox, t("wordpiece-other"), {name: name for name in other_names}, "vocab2")
    rates = {}  # name of a vocabulary -> (tokens per word, share of words that became [UNK])
    for compared_checkpoint in (checkpoint, sessions.find_checkpoint(other_name)):
        searches = calls.compute(compared_checkpoint, "search_tokens", text)
        name = os.path.basename(compared_checkpoint.source)
        rates[name] = wordpiece.compute_token_rates(searches)
        size = sessions.open_session(compared_checkpoint).tokenizer.vocab_size
        tokens = [token for search in searches for token in search.tokens]
        st.html(f'<p class="small">{t("wordpiece-vocabulary", name=name, size=size, count=len(tokens))}</p>')
        st.html(wordpiece.token_row_html(tokens))
    data = {"vocabulary": list(rates), "tokens_per_word": [rate for rate, _ in rates.values()],
            "unknown_share": [share for _, share in rates.values()]}  # fmt: skip
    plots.draw("vocabularies", wordpiece.vocabulary_bars, rates, data=data, lang=language())
    display.sentence(sentences.token_rates(rates))
    display.explain("tokens_per_word")


def show_positions(checkpoint: sessions.CheckpointKey) -> None:
    """Draw the similarity of the position vectors."""
    similarity = calls.call_session(checkpoint, "position_similarity")
    plots.draw("position-maps", positions.position_maps, similarity, lang=language())
    plots.draw("position-distance", positions.similarity_by_distance, similarity, lang=language())
    display.sentence(sentences.positions(similarity.result))
    display.explain("position_similarity", "sinusoid")


frame.heading("wordpiece")
text = fields.text_line(st, t("wordpiece-text"), selection.examples_for("attention").long_words, key="words")
view = fields.choice(
    st.segmented_control, t("view"), ["search", "merges", "compare", "positions"], key="part", required=True,
    format_func=lambda name: t(f"wordpiece-{name}"), label_visibility="collapsed",
)  # fmt: skip
st.caption(t(f"wordpiece-{view}-lead"))
with st.container(key="wordpiece"), frame.show_errors():
    checkpoint = selection.open_checkpoint("attention", text)
    if view == "search":
        show_search(checkpoint, text)
    elif view == "merges":
        show_merges(checkpoint, text)
    elif view == "compare":
        show_comparison(checkpoint, text)
    else:
        show_positions(checkpoint)
