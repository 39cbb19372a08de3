"""Classify: the label or the value of a text or a pair as it is typed, and the effect of every word on it."""

import streamlit as st

from bertlab.app import calls, display, fields, frame, plots, selection, url
from bertlab.app.data import sessions
from bertlab.app.i18n import t
from bertlab.app.parts import batch
from bertlab.text.word_spans import find_words
from bertlab.views import labels
from bertlab.views.numbers import SignedNumber, percent
from bertlab.views.passage import escape_html

MAX_IMMEDIATE_WORDS = 40  # word effects of longer texts are computed on a click: each word takes a forward pass


def second_text(texts: int | None, example: str) -> str:
    """The field of the second text.

    For a checkpoint that was trained on single texts it is hidden until a link has a second text or the user clicks on
    the button; then it stays, empty or not.

    Args:
        texts: how many texts the checkpoint was trained to read, None if unknown.
    """
    if texts == 1:
        visible = "1" if url.recall("judged2") else url.recall("two")
        url.store("two", visible)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(t("classify-trained-on-single-texts"), width="content")
            if not visible:
                st.button(t("classify-add-second-text"), type="tertiary", on_click=url.store, args=("two", "1"))
        if not visible:
            return ""
    empty = None if texts == 2 else t("sentence-b-optional")
    return fields.text_line(st, t("classify-pair"), example, key="judged2", placeholder=empty)


def show_prediction(checkpoint: sessions.Checkpoint, text: str, pair: str) -> None:
    """Show the prediction for a text or a pair, and the effect of every word on it."""
    texts = (text, pair or None)
    classification = calls.call_session(checkpoint, "classify", *texts)
    prediction = classification.result
    left, right = st.columns([2, 3], gap="large")
    with left.container(key="label"):
        if prediction.value is None:
            best = prediction.best
            st.html(f'<p class="say"><b>{escape_html(best.label)}</b> · {percent(best.probability)}</p>')
            data = {
                "label": [s.label for s in prediction.labels],
                "probability": [s.probability for s in prediction.labels],
            }
            plots.draw("labels", labels.label_bars, classification, data=data)
            display.explain("class_probability")
        else:
            value_range = sessions.open_session(checkpoint).value_range
            scale = f" · {t('classify-value-range', low=value_range[0], high=value_range[1])}" if value_range else ""
            st.html(f'<p class="say"><b>{SignedNumber(prediction.value):.2f}</b>{scale}</p>')
            if value_range:  # without it, the scale of the values is unknown
                data = {"value": [prediction.value]}
                plots.draw("value", labels.value_scale, classification, value_range, data=data)
    with right.container(key="effects"):
        id = "classify" if prediction.value is None else "classify-value"
        st.subheader(t(f"{id}-words"), anchor=False, help=t(f"{id}-words-help"))
        count = len(find_words(text)) + len(find_words(pair))
        if count <= MAX_IMMEDIATE_WORDS or st.button(
            t("classify-measure-words", count=count), icon=":material/balance:", key="weigh"
        ):
            word_effects = calls.call_session(checkpoint, "word_effects", *texts)
            effects = word_effects.result
            st.html(labels.word_effects_html(text, effects))
            if pair:
                st.html(labels.word_effects_html(pair, effects, second=True))
            axis = t("classify-log-odds-axis" if prediction.value is None else "classify-value-axis")
            data = {"word": [w.text for w in effects.words], "effect": [w.effect for w in effects.words]}
            plots.draw("words-effects", labels.word_bars, word_effects, axis=axis, data=data)
            display.explain("word_effect" if prediction.value is None else "word_effect_value")
    if st.button(t("open-in-attention"), icon=":material/hub:"):
        selection.open_attention_page(checkpoint, text, pair)


reader, examples = selection.find_session("classify"), selection.examples_for("classify")
trained_texts = reader.num_texts if reader else None
first_example, second_example = examples.similar_pair if trained_texts == 2 else (examples.review, "")
frame.heading("classify-value" if reader and selection.predicts_value(reader) else "classify")
text = fields.text_line(st, t("classify-text"), first_example, key="judged")
pair = second_text(trained_texts, second_example)
with frame.show_errors():
    checkpoint = selection.open_checkpoint("classify", text, pair)
    if selection.needs_pair(checkpoint, "classify") and not pair.strip():
        frame.note(t("classify-second-text-missing"))
    else:
        show_prediction(checkpoint, text, pair)
    batch.batch_panel(checkpoint, "classify")
