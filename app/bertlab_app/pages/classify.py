"""Classify: the label or value of a text or text pair, updated while the user types, and the effect of every word."""

import streamlit as st
from bertlab_app import calls, url
from bertlab_app.data import sessions
from bertlab_app.i18n import t
from bertlab_app.widgets import batch, display, fields, files, frame, plots, selection, sentences

from bertlab.text.word_spans import find_words
from bertlab.views import labels
from bertlab.views.numbers import SignedNumber, percent
from bertlab.views.passage import escape_html

MAX_IMMEDIATE_WORDS = 40  # with more words, the effects need a click, because each takes a forward pass

# Keys of the address: the second text of a pair, and whether the field of this text is shown ("1" or "").
SECOND_TEXT, SHOWS_SECOND_TEXT = "judged2", "two"


def second_text_field(num_texts: int | None, example: str) -> str:
    if num_texts == 1:
        shows_field = "1" if url.recall(SECOND_TEXT) else url.recall(SHOWS_SECOND_TEXT)
        url.store(SHOWS_SECOND_TEXT, shows_field)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(t("classify-trained-on-single-texts"), width="content")
            if not shows_field:
                st.button(
                    t("classify-add-second-text"), type="tertiary", on_click=url.store, args=(SHOWS_SECOND_TEXT, "1")
                )
        if not shows_field:
            return ""
    placeholder = None if num_texts == 2 else t("sentence-b-optional")
    return fields.text_line(st, t("classify-pair"), example, key=SECOND_TEXT, placeholder=placeholder)


def show_prediction(checkpoint: sessions.CheckpointKey, text: str, second_text: str) -> None:
    """Show the prediction for a text or text pair, and the effect of every word on it."""
    texts = (text, second_text or None)
    classification = calls.call_session(checkpoint, "classify", *texts)
    prediction = classification.result
    left, right = st.columns([2, 3], gap="large")
    with left.container(key="label"):
        if prediction.value is None:
            best = prediction.best
            st.html(f'<p class="say"><b>{escape_html(best.label)}</b> · {percent(best.probability)}</p>')
            data = {
                "label": [row.label for row in prediction.labels],
                "probability": [row.probability for row in prediction.labels],
            }
            plots.draw("labels", labels.label_bars, classification, data=data)
            display.explain("class_probability")
        else:
            value_range = sessions.open_session(checkpoint).value_range
            range_text = ""
            if value_range:
                range_text = f" · {t('classify-value-range', low=value_range[0], high=value_range[1])}"
            st.html(f'<p class="say"><b>{SignedNumber(prediction.value):.2f}</b>{range_text}</p>')
            if value_range:  # without the range, there is no scale to draw
                data = {"value": [prediction.value]}
                plots.draw("value", labels.value_scale, classification, value_range, data=data)
    with right.container(key="effects"):
        heading = "classify-words" if prediction.value is None else "classify-value-words"
        st.subheader(t(heading), anchor=False, help=t(f"{heading}-help"))
        count = len(find_words(text)) + len(find_words(second_text))
        if count <= MAX_IMMEDIATE_WORDS or st.button(
            t("classify-measure-words", count=count), icon=":material/balance:", key="weigh"
        ):
            word_effects = calls.call_session(checkpoint, "word_effects", *texts)
            effects = word_effects.result
            st.html(labels.word_effects_html(text, effects))
            if second_text:
                st.html(labels.word_effects_html(second_text, effects, second=True))
            axis = t("classify-log-odds-axis" if prediction.value is None else "classify-value-axis")
            data = {"word": [word.text for word in effects.words], "effect": [word.effect for word in effects.words]}
            plots.draw("words-effects", labels.word_bars, word_effects, axis=axis, data=data)
            display.sentence(sentences.word_effects(effects))
            display.explain("word_effect" if prediction.value is None else "word_effect_value")
    if st.button(t("open-in-attention"), icon=":material/hub:"):
        selection.open_attention_page(checkpoint, text, second_text)


session, examples = selection.find_session("classify"), selection.examples_for("classify")
num_texts = session.num_texts if session else None  # 1, 2 or None
first_example, second_example = examples.similar_pair if num_texts == 2 else (examples.review, "")
frame.heading("classify-value" if session and selection.predicts_value(session) else "classify")
text = fields.text_line(st, t("classify-text"), first_example, key="judged")
second_text = second_text_field(num_texts, second_example)
with frame.show_errors():
    checkpoint = selection.open_checkpoint("classify", text, second_text)
    if selection.needs_pair(checkpoint, "classify") and not second_text.strip():
        frame.note(t("classify-second-text-missing"))
    else:
        show_prediction(checkpoint, text, second_text)
    batch.draw_panel(checkpoint, "classify")
files.draw_panel("classify")
