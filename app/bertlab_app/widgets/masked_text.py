"""A text whose words are masked by clicking them, on the pages Start and Fill mask.

Both pages store the text and the masked words under the same keys, so the text is kept when the user changes the page.
"""

from dataclasses import dataclass

import streamlit as st

from bertlab.tasks.masked_lm import Original
from bertlab.text.tokenizers.encoding import MASK_NAMES
from bertlab.text.word_spans import MASK, find_words, mask_spans, update_word_indices
from bertlab.views.numbers import percent
from bertlab_app import url
from bertlab_app.examples import Examples
from bertlab_app.i18n import t
from bertlab_app.widgets import components, fields


@dataclass(frozen=True)
class MaskedText:
    """A text, and which of its words are masked."""

    text: str  # the text as typed. It may contain [MASK].
    default: str
    """The initially masked words, as the address writes them: the index of one word of the example, and "" for any
    other text."""
    masked_indices: frozenset[int]  # the indices of the words masked by clicking, counted from 0

    @property
    def masked_text(self) -> str:
        """The text with [MASK] in place of every masked word."""
        spans = find_words(self.text)
        return mask_spans(self.text, [spans[index] for index in self.masked_indices])

    @property
    def originals(self) -> list[str]:
        """The words that the masks replaced, in the order of the text; "" for a [MASK] that was typed."""
        words = (self.text[start:end] for start, end in find_words(self.text))
        return [
            "" if word == MASK else word
            for index, word in enumerate(words)
            if index in self.masked_indices or word == MASK
        ]

    def store(self, indices: frozenset[int]) -> None:
        """Store which words are masked. If the text is too long for the address, the address omits the indices too."""
        joined_indices = ".".join(map(str, sorted(indices)))
        url.store("mask", joined_indices, self.default, in_address=len(self.text) <= url.MAX_TEXT_LENGTH)


def draw_masked_text(examples: Examples, *, container=st, help: str | None = None) -> MaskedText:
    """Draw a text field and, below it, a button for each word of the text, which masks the word."""
    text = fields.text_line(container, t("fill-mask-text"), examples.sentence, key="text", help=help)
    text = text.replace(MASK_NAMES[1], MASK)  # the name of the mask token in RoBERTa's vocabulary
    default = examples.masked_word if text == examples.sentence else ""
    # compared as strings, because `int` fails on a very long number, which a link may contain
    stored_indices = set(url.recall("mask", default).split("."))
    words = [text[start:end] for start, end in find_words(text)]
    previous_words = url.swap_previous("mask", words)
    if previous_words != words:  # the text was edited: a masked word stays masked at its new position
        masked_before = {index for index in range(len(previous_words)) if str(index) in stored_indices}
        masked_now = update_word_indices(masked_before, previous_words, words)
        # if the user typed the example sentence again, its default word is masked again
        stored_indices = set(default.split(".")) if default else set(map(str, masked_now))
    masked_indices = frozenset(
        index for index, word in enumerate(words) if str(index) in stored_indices and word != MASK
    )
    masked_text = MaskedText(text, default, masked_indices)
    masked_text.store(masked_indices)
    components.draw_words(text, set(masked_indices), on_click=lambda index: masked_text.store(masked_indices ^ {index}))
    return masked_text


def describe_original(word: str, original: Original | None) -> str:
    """Describe what the model predicts for the word that a mask replaced: its probability p, its rank and -ln p."""
    if original is None:
        return t("fill-mask-word-not-one-token", word=word)
    values = {"word": word, "probability": percent(original.probability), "rank": original.rank, "loss": original.loss}
    return t("fill-mask-word-probability", **values)
