"""Fill mask: mask words by clicking them, and see the predictions for each."""

import streamlit as st

from bertlab.app import calls, components, display, fields, frame, plots, selection, url
from bertlab.app.i18n import language, t
from bertlab.text.word_spans import MASK, find_words, mask_spans, update_word_numbers
from bertlab.views import figures
from bertlab.views.passage import escape_html

frame.heading("fill-mask")
examples = selection.examples_for("fill-mask")
text = fields.text_line(st, t("fill-mask-text"), examples.sentence, key="text", help=t("fill-mask-text-help"))
word_spans = find_words(text)
default = examples.masked_word if text == examples.sentence else ""


def store_masked_words(numbers: set[int]) -> None:
    """Store which words are masked. The address holds them only together with the text."""
    url.store("mask", ".".join(map(str, sorted(numbers))), default, in_address=len(text) <= url.MAX_TEXT_LENGTH)


# compared as strings: a link may hold any number of digits
numbers = set(url.recall("mask", default).split("."))
now = [text[start:end] for start, end in word_spans]
before = url.swap_previous("mask", now)
if before != now:  # the text was edited: a masked word stays masked at its new place
    carried = update_word_numbers({number for number in range(len(before)) if str(number) in numbers}, before, now)
    numbers = set(default.split(".")) if default else set(map(str, carried))
hidden = {number for number, word in enumerate(now) if str(number) in numbers and word != MASK}
store_masked_words(hidden)
components.draw_words(text, hidden, on_click=lambda number: store_masked_words(hidden ^ {number}))
left, right = st.columns([3, 2], vertical_alignment="center")
left.button(
    t("fill-mask-reset"), on_click=store_masked_words, args=(set(),), disabled=not hidden, icon=":material/undo:"
)
top_k = url.number(right.slider, t("fill-mask-candidate-count"), 3, 20, 8, key="top")

with st.container(key="proposals"), frame.show_errors():
    checkpoint = selection.open_checkpoint("fill-mask", text)
    masked = mask_spans(text, [word_spans[number] for number in hidden])
    originals = [
        text[start:end] for number, (start, end) in enumerate(word_spans) if number in hidden or text[start:end] == MASK
    ]
    options = {"top_k": top_k, "originals": ["" if word == MASK else word for word in originals]}
    filled = calls.call_session(checkpoint, "fill_mask", masked, **options) if MASK in masked else None
    fills = filled.result if filled else []
    if not fills:
        frame.note(t("fill-mask-no-mask" if word_spans else "fill-mask-empty"))
    bars = {"zoom": fields.zoom_switch(st)} if fills else {}
    cells = st.columns(min(len(fills), 2)) if fills else []
    for number, (fill, word) in enumerate(zip(fills, originals, strict=False)):
        title = t("fill-mask-mask-number", number=number + 1) if word == MASK else t("fill-mask-masked-word", word=word)
        with cells[number % len(cells)]:
            st.html(f'<p class="say" dir="auto">{escape_html(title)}</p>')
            data = {name: [getattr(row, name) for row in fill.candidates] for name in ("token", "id", "probability")}
            plots.draw(f"mask-{number}", figures.mask_bars, filled[number], data=data, lang=language(), **bars)
    if fills:
        display.explain("mask_probability")
