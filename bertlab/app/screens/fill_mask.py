"""Fill mask: mask words by clicking them, and see the most probable tokens for each mask."""

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
    """Store which words are masked. If the text is too long for the address, the address does not hold them either."""
    url.store("mask", ".".join(map(str, sorted(numbers))), default, in_address=len(text) <= url.MAX_TEXT_LENGTH)


# compared as strings, because a number in a link may have any number of digits
numbers = set(url.recall("mask", default).split("."))
current_words = [text[start:end] for start, end in word_spans]
previous_words = url.swap_previous("mask", current_words)
if previous_words != current_words:  # the text was edited: a masked word stays masked at its new place
    masked_before = {number for number in range(len(previous_words)) if str(number) in numbers}
    masked_now = update_word_numbers(masked_before, previous_words, current_words)
    # if the user typed the example sentence again, its word is masked as at first
    numbers = set(default.split(".")) if default else set(map(str, masked_now))
masked_words = {number for number, word in enumerate(current_words) if str(number) in numbers and word != MASK}
store_masked_words(masked_words)
components.draw_words(text, masked_words, on_click=lambda number: store_masked_words(masked_words ^ {number}))
left, right = st.columns([3, 2], vertical_alignment="center")
left.button(
    t("fill-mask-reset"), on_click=store_masked_words, args=(set(),), disabled=not masked_words, icon=":material/undo:"
)
top_k = url.number(right.slider, t("fill-mask-candidate-count"), 3, 20, 8, key="top")

with st.container(key="proposals"), frame.show_errors():
    checkpoint = selection.open_checkpoint("fill-mask", text)
    masked_text = mask_spans(text, [word_spans[number] for number in masked_words])
    originals = [
        text[start:end]
        for number, (start, end) in enumerate(word_spans)
        if number in masked_words or text[start:end] == MASK
    ]
    options = {"top_k": top_k, "originals": ["" if word == MASK else word for word in originals]}
    filled = calls.call_session(checkpoint, "fill_mask", masked_text, **options) if MASK in masked_text else None
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
