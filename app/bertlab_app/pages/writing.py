"""Writing: which words do not fit, suggestions for spelling and spacing, and what could be written next."""

from collections.abc import Sequence

import streamlit as st
from bertlab_app import calls, url
from bertlab_app.data import sessions
from bertlab_app.i18n import language, t
from bertlab_app.widgets import components, display, fields, frame, plots, selection, sentences
from bertlab_app.widgets.batch import draw_csv_button

from bertlab.abilities.writing.corrections import MARGIN, Correction
from bertlab.abilities.writing.figures import corrections_html, gain_bars, proposal_bars, surprise_bars
from bertlab.abilities.writing.surprise import ProposedWord, ScoredWord, TextSurprise, match_case
from bertlab.config.languages import languages
from bertlab.text.word_spans import find_words, update_word_indices
from bertlab.views.numbers import percent
from bertlab.views.passage import escape_html

# The keys of the two text fields (a draft, and the beginning of a text), which are also their names in the address.
DRAFT, START = "draft", "begin"
MAX_WORDS = 200  # the rest of a longer text is left out, because all users share the CPU cores
MAX_THRESHOLD, MAX_MARGIN = 25.0, 30.0  # the highest values of the two sliders, in nats
MAX_OPACITY = 0.55  # the opacity of the shade of a word whose surprise reaches the threshold; other words are fainter


def cut_text(text: str) -> str:
    """Return the first `MAX_WORDS` words of a text."""
    spans = [span for span in find_words(text) if text[slice(*span)].isalnum()]
    if len(spans) <= MAX_WORDS:
        return text
    frame.note(t("writing-too-long", count=len(spans), limit=MAX_WORDS))
    return text[: spans[MAX_WORDS - 1][1]]


def show_surprise(checkpoint: sessions.CheckpointKey, text: str) -> None:
    """Show the surprise of every word of a text, and proposals for the words that do not fit."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    default = languages()[sessions.open_session(checkpoint).language].surprise_threshold
    threshold = fields.number(
        left.slider, t("writing-threshold"), 0.0, MAX_THRESHOLD, default, key="threshold", step=0.5, format="%.1f",
        help=t("writing-threshold-help"),
    )  # fmt: skip
    masks_whole_words = fields.flag(
        right.toggle, t("writing-whole-words"), key="whole", default=True, help=t("writing-whole-words-help")
    )
    draft, progress = calls.assign("text", text), frame.progress_bar(st.empty(), "writing-progress")
    masking = {} if masks_whole_words else {"masking": "token"}
    surprise_call = calls.call_session(checkpoint, "surprise", draft, progress=progress, **masking)
    surprise: TextSurprise = surprise_call.result
    misfits = surprise.find_misfits(threshold)
    chosen_index = choose_word(surprise, misfits)
    draw_words(text, surprise, misfits, threshold, chosen_index)
    st.caption(t("writing-legend"))
    num_unknown = sum(word.is_unknown for word in surprise.words)
    if num_unknown:
        frame.note(t("writing-unknown", count=num_unknown))
    display.sentence(sentences.surprise(surprise, len(misfits), threshold))
    if chosen_index is not None:
        show_word(checkpoint, text, surprise.words[chosen_index], chosen_index)
    rows = [
        {"word": word.text, "tokens": " ".join(token.token for token in word.tokens), "surprise": word.surprise,
         "misfit": index in misfits}
        for index, word in enumerate(surprise.words)
    ]  # fmt: skip
    plots.draw(
        "surprise", surprise_bars, surprise_call, threshold, lang=language(),
        on_click=lambda point: store_word(point[0]), data={name: [row[name] for row in rows] for name in rows[0]},
    )  # fmt: skip
    draw_csv_button([{t(f"writing-{name}"): cell for name, cell in row.items()} for row in rows], "writing")
    display.explain("word_surprise", "pseudo_log_likelihood", "mask_probability")


def show_corrections(checkpoint: sessions.CheckpointKey, text: str) -> None:
    """Show suggestions for the spelling and spacing of a text, each with a button that applies it."""
    margin = fields.number(
        st.slider, t("writing-margin"), 0.0, MAX_MARGIN, MARGIN, key="margin", step=0.5, format="%.1f",
        help=t("writing-margin-help"),
    )  # fmt: skip
    draft, progress = calls.assign("text", text), frame.progress_bar(st.empty(), "writing-progress")
    # All suggestions with a positive gain are computed, so that moving the slider needs no further computation.
    corrections_call = calls.call_session(checkpoint, "suggest_corrections", draft, 0.0, progress=progress)
    suggestions = [correction for correction in corrections_call.result if correction.gain > margin]
    with st.container(key="corrections"):
        st.html(corrections_html(text, suggestions))
    st.caption(t("writing-corrections-legend"))
    display.sentence(sentences.corrections(suggestions, margin))
    with st.container(horizontal=True, gap="small", key="correction-buttons"):
        for index, correction in enumerate(suggestions):
            values = {name: getattr(correction, name) for name in ("original", "replacement", "gain")}
            label = t("writing-correction", **values)
            st.button(
                display.escape_markdown(label), key=f"proposed-correction-{index}", on_click=apply_corrections,
                args=([correction],),
            )  # fmt: skip
        if len(suggestions) > 1:
            st.button(
                t("writing-apply-all", count=len(suggestions)), key="apply-all", icon=":material/done_all:",
                on_click=apply_corrections, args=(suggestions,),
            )  # fmt: skip
    if corrections_call.result:
        data = {
            name: [getattr(correction, name) for correction in corrections_call.result]
            for name in ("original", "replacement", "kind", "gain")
        }
        plots.draw("gains", gain_bars, corrections_call, margin, lang=language(), data=data)
    st.caption(t("writing-corrections-note"))
    display.explain("correction_gain", "pseudo_log_likelihood")


def show_type_ahead(checkpoint: sessions.CheckpointKey, text: str) -> None:
    """Show the most probable next words of a text, endings of its last word, and words for its gaps."""
    call = calls.call_session(checkpoint, "type_ahead", text)
    type_ahead = call.result
    end = len(text.rstrip())
    for number, gap in enumerate(type_ahead.gaps, 1):
        heading = t("writing-gap", number=number)
        draw_proposals(f"gap-{number}", heading, gap.words, START, text, (gap.start, gap.end))
    if type_ahead.endings:
        draw_proposals("endings", t("writing-endings"), type_ahead.endings, START, text, (end, end))
    for name, words in (("next-words", type_ahead.words), ("last-words", type_ahead.last_words)):
        draw_proposals(name, t(f"writing-{name}"), words, START, text, (end, end), separator=" ")
    display.sentence(sentences.type_ahead(type_ahead))
    if type_ahead.words:
        data = {name: [getattr(row, name) for row in type_ahead.words] for name in ("text", "probability")}
        plots.draw("next", proposal_bars, call.field("words"), data=data)
    st.caption(t("writing-left-to-right"))
    display.explain("mask_probability")


def choose_word(surprise: TextSurprise, misfits: Sequence[int]) -> int | None:
    """Find the word whose details are shown: the one that the user clicked or, by default, the first of `misfits`."""
    words = [word.text for word in surprise.words]
    # only nine digits of the index are read below, because `int` fails on a very long number, which a link may contain
    stored_index, previous_words = url.recall("word"), url.swap_previous("writing-words", words)
    if previous_words != words and stored_index.isdecimal():  # the text was edited: the same word stays chosen
        stored_index = str(next(iter(update_word_indices({int(stored_index[:9])}, previous_words, words)), ""))
    is_valid = stored_index.isdecimal() and int(stored_index[:9]) < len(words)
    url.store("word", stored_index if is_valid else "")
    return int(stored_index) if is_valid else next(iter(misfits), None)


def store_word(index: object) -> None:
    """Store the index of the word that the user clicked, whose details the page then shows."""
    url.store("word", str(index))


def draw_words(text: str, surprise: TextSurprise, misfits: Sequence[int], threshold: float, chosen: int | None) -> None:
    full_shade_surprise = max(threshold, 1.0)
    words = [
        {"start": word.start, "end": word.end, "misfit": index in misfits,
         "strength": MAX_OPACITY * min(word.surprise / full_shade_surprise, 1.0),
         "title": t("writing-word-title", word=word.text, surprise=word.surprise)}
        for index, word in enumerate(surprise.words)
    ]  # fmt: skip
    components.draw_scored_words(text, words, chosen, on_click=store_word)


def show_word(checkpoint: sessions.CheckpointKey, text: str, word: ScoredWord, index: int) -> None:
    """Show the tokens of a word with their surprise, and words that could replace the word."""
    (proposals,) = calls.call_session(checkpoint, "propose_words", text, (index,)).result
    with st.container(border=True, key="chosen-word"):
        heading = t("writing-chosen", word=word.text, surprise=word.surprise)
        span = (word.start, word.end)
        draw_proposals("proposals", heading, proposals.proposals, DRAFT, text, span, word=word.text)
        st.caption(t("writing-proposals-note"))
        if len(word.tokens) > 1:
            display.table(
                {
                    t("writing-token"): [token.token for token in word.tokens],
                    t("writing-probability"): [percent(token.probability) for token in word.tokens],
                    t("writing-surprise"): [f"{token.surprise:.2f}" for token in word.tokens],
                }
            )


def draw_proposals(
    name: str, heading: str, words: Sequence[ProposedWord], field: str, text: str, span: tuple[int, int],
    *, separator: str = "", word: str = "",
) -> None:  # fmt: skip
    st.html(f'<p class="say" dir="auto">{escape_html(heading)}</p>')
    if not words:
        st.caption(t("writing-no-words"))
        return
    with st.container(horizontal=True, gap="small", key=f"{name}-buttons"):
        for index, proposal in enumerate(words):
            label = t("writing-proposal", word=proposal.text, probability=percent(proposal.probability))
            st.button(
                display.escape_markdown(label), key=f"proposed-{name}-{index}", on_click=replace_characters,
                args=(field, *span, separator + match_case(proposal.text, word)),
            )  # fmt: skip


def apply_corrections(corrections: Sequence[Correction]) -> None:
    """Apply corrections to the draft; the page's undo button undoes them together."""
    # from the end of the draft to its beginning, so that the positions of the other corrections stay valid
    for correction in sorted(corrections, key=lambda correction: correction.start, reverse=True):
        replace_characters(DRAFT, correction.start, correction.end, correction.replacement)


def replace_characters(field: str, start: int, end: int, word: str) -> None:
    """Replace characters of a text field; the page's undo button undoes this change."""
    text = st.session_state[field]
    st.session_state[field] = text[:start] + word + text[end:]


# writing aid -> function that shows its results
AIDS = {"surprise": show_surprise, "spelling": show_corrections, "next": show_type_ahead}

frame.heading("writing")
names = {aid: t(f"writing-aid-{aid}") for aid in AIDS}
aid = fields.choice(
    st.segmented_control, t("writing-aid"), names, key="aid", required=True,
    label_visibility="collapsed",
)  # fmt: skip
with frame.show_errors():
    examples = selection.examples_for("fill-mask")
    if aid == "next":
        text = fields.text_line(st, t("writing-start"), examples.draft_start, key=START, help=t("writing-start-help"))
    else:
        text = fields.text(st.text_area, t("writing-text"), examples.draft, key=DRAFT, height=120)
        fields.note_too_long_for_link(st, text)
        text = cut_text(text)
    if not any(map(str.isalnum, text)):
        frame.note(t("writing-empty"))
    else:
        checkpoint = selection.open_checkpoint("fill-mask", text)
        AIDS[aid](checkpoint, text)
