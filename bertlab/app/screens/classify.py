"""Classify: the label or the value of a text or a pair as it is typed, and the words that speak for it."""

import streamlit as st

from bertlab.app import display, fields, frame, plots, selection, url
from bertlab.app.data import sessions
from bertlab.app.i18n import t
from bertlab.app.parts import batch
from bertlab.text.word_spans import words
from bertlab.views import labels
from bertlab.views.numbers import SignedNumber, percent
from bertlab.views.passage import escape_html

EAGER = 40  # words that are weighed at every keystroke; each takes a forward pass


def second(texts: int | None, example: str) -> str:
    """The second text. The field is not there for a checkpoint that was taught single texts, until a link brings such a
    text or the reader asks for one; then it stays, empty or not."""
    if texts == 1:
        wanted = "1" if url.recall("judged2") else url.recall("two")
        url.keep("two", wanted)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(t("classify-single"), width="content")
            if not wanted:
                st.button(t("classify-second"), type="tertiary", on_click=url.keep, args=("two", "1"))
        if not wanted:
            return ""
    empty = None if texts == 2 else t("sentence-b-empty")
    return fields.text_line(st, t("classify-pair"), example, key="judged2", placeholder=empty)


def answer(checkpoint: sessions.Checkpoint, text: str, pair: str) -> None:
    """What is said of the text, or of the two, and what every word does for it."""
    asked = (text, pair or None)
    said = sessions.ask(checkpoint, "classify", *asked)
    left, right = st.columns([2, 3], gap="large")
    opened = ("from bertlab.views import labels", f"said = session.classify(*{asked!r})")
    with left.container(key="label"):
        if said.value is None:
            best = said.best
            st.html(f'<p class="say"><b>{escape_html(best.label)}</b> · {percent(best.probability)}</p>')
            code = plots.python_lines(checkpoint, *opened, "figure = labels.label_bars(said)")
            data = {"label": [s.label for s in said.labels], "probability": [s.probability for s in said.labels]}
            plots.show(labels.label_bars(said), key="labels", code=code, data=data)
            display.explain("class_probability")
        else:
            taught = sessions.session(checkpoint).value_range
            scale = f" · {t('classify-scale', low=taught[0], high=taught[1])}" if taught else ""
            st.html(f'<p class="say"><b>{SignedNumber(said.value):.2f}</b>{scale}</p>')
            if taught:  # else nothing says how much a value is
                code = plots.python_lines(checkpoint, *opened, f"figure = labels.value_scale(said, {taught!r})")
                drawn = labels.value_scale(said, taught)
                plots.show(drawn, key="value", code=code, data={"value": [said.value]})
    with right.container(key="effects"):
        of = "classify" if said.value is None else "classify-value"
        st.subheader(t(f"{of}-words"), anchor=False, help=t(f"{of}-words-help"))
        count = len(words(text)) + len(words(pair))
        if count <= EAGER or st.button(t("classify-weigh", count=count), icon=":material/balance:", key="weigh"):
            effects = sessions.ask(checkpoint, "word_effects", *asked)
            st.html(labels.word_effects_html(text, effects))
            if pair:
                st.html(labels.word_effects_html(pair, effects, second=True))
            axis = t("classify-odds" if said.value is None else "classify-value")
            code = plots.python_lines(
                checkpoint, "from bertlab.views import labels", f"effects = session.word_effects(*{asked!r})",
                f"figure = labels.word_bars(effects, axis={axis!r})",
            )  # fmt: skip
            data = {"word": [w.text for w in effects.words], "effect": [w.effect for w in effects.words]}
            plots.show(labels.word_bars(effects, axis=axis), key="words-effects", code=code, data=data)
            display.explain("word_effect" if said.value is None else "word_effect_value")
    if st.button(t("classify-attention"), icon=":material/hub:"):
        selection.open_attention_page(checkpoint, text, pair)


reader, examples = selection.session_for("classify"), selection.examples_for("classify")
taught_texts = reader.texts if reader else None
first_example, second_example = examples.alike if taught_texts == 2 else (examples.judged, "")
frame.heading("classify-value" if reader and "regress" in reader.heads else "classify")
text = fields.text_line(st, t("classify-text"), first_example, key="judged")
pair = second(taught_texts, second_example)
with frame.show_errors():
    checkpoint = selection.open_checkpoint("classify", text, pair)
    if selection.needs_pair(checkpoint, "classify") and not pair.strip():
        frame.note(t("classify-compares"))
    else:
        answer(checkpoint, text, pair)
    batch.box(checkpoint, "classify")
