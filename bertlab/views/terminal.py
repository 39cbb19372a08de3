"""Format predictions and attention as lines for a terminal: aligned columns, bars, answers marked in their passage.

Control characters in a text are replaced, so that the text cannot move the cursor or change colours.

Shape legend: T tokens, N heads, L layers.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertlab.config.text_table import format_table, measure_display_width
from bertlab.tasks.classification import Classification
from bertlab.tasks.entity_spans import is_entity_scheme
from bertlab.tasks.masked_lm import MaskFill
from bertlab.tasks.multiple_choice import Choice
from bertlab.tasks.sentence_pair import NextSentence
from bertlab.tasks.span.answer import Answers
from bertlab.tasks.tag_prediction import Tags
from bertlab.views.numbers import percent
from bertlab.views.token_labels import token_labels

if TYPE_CHECKING:
    from bertlab.abilities.results import AttentionMap

BAR_WIDTH = 24  # maximum width of a bar, in columns of the terminal
CONTEXT_CHARACTERS = 160  # characters of the passage that are shown before an answer, and as many after it
_EIGHTHS = " ▏▎▍▌▋▊▉"  # index n: a bar of n eighths of a column


def mask_lines(text: str, fills: Sequence[MaskFill]) -> list[str]:
    """Write the text, then list the candidates for every mask."""
    lines = [make_printable(text)]
    for number, fill in enumerate(fills, 1):
        lines += ["", *([f"[MASK] number {number}"] if len(fills) > 1 else [])]
        rows = [(make_printable(c.token), bar(c.probability), percent(c.probability)) for c in fill.candidates]
        lines += format_table(rows, "<<>")
    return lines


def next_sentence_lines(first: str, second: str, prediction: NextSentence) -> list[str]:
    """Write both sentences, then the probabilities that B follows A and that it does not."""
    probabilities = (prediction.probability, 1 - prediction.probability)
    rows = [(label, bar(p), percent(p)) for label, p in zip(prediction.outcomes, probabilities, strict=True)]
    return [f"A  {make_printable(first)}", f"B  {make_printable(second)}", "", *format_table(rows, "<<>")]


def answer_lines(passage: str, answers: Answers, mark: tuple[str, str] = ("»", "«")) -> list[str]:
    """Mark the best answer in the passage, or say that there is no answer; then list all candidate answers.

    Args:
        passage: the text that was searched.
        answers: from `Session.answer`.
        mark: the strings written before and after the best answer.
    """
    lines = []
    if answers.refused:
        margin, min_margin = -answers.no_answer_margin, -answers.null_threshold
        lines = [
            f"no answer: the score of the best answer is {margin:+.2f} relative to that of no answer, but at least "
            f"{min_margin:+.2f} is required",
            "",
        ]
    elif answers.answers:
        best = answers.answers[0]
        before, after = passage[: best.start][-CONTEXT_CHARACTERS:], passage[best.end :][:CONTEXT_CHARACTERS]
        left_ellipsis = "…" if best.start > CONTEXT_CHARACTERS else ""
        right_ellipsis = "…" if len(passage) - best.end > CONTEXT_CHARACTERS else ""
        lines = [
            left_ellipsis
            + make_printable(before)
            + mark[0]
            + make_printable(best.text)
            + mark[1]
            + make_printable(after)
            + right_ellipsis,
            "",
        ]
    rows = [("answer", "", "probability", "score", "characters")]
    for answer in answers.answers:
        characters = f"{answer.start}-{answer.end}"
        rows.append((shorten(make_printable(answer.text), 48), bar(answer.probability), percent(answer.probability),
                     f"{answer.score:.2f}", characters))  # fmt: skip
    share = answers.no_answer_probability
    rows.append(("(no answer)", bar(share), percent(share), f"{answers.no_answer_score:.2f}", ""))
    lines += format_table(rows, "<<>>>")
    if len(answers.windows) > 1:
        lines += ["", f"the best answer is in window {answers.best_window + 1} of {len(answers.windows)}"]
    return lines


def classification_lines(texts: Sequence[str], prediction: Classification) -> list[str]:
    """Write the text or the pair; then list the labels, the most probable first, or write the value of a regression."""
    prefixes = ("",) if len(texts) == 1 else ("A  ", "B  ")
    lines = [prefix + make_printable(text) for prefix, text in zip(prefixes, texts, strict=True)]
    if prediction.value is not None:
        return [*lines, "", f"value  {prediction.value:.3f}"]
    ranked = sorted(prediction.labels, key=lambda label: -label.probability)
    rows = [(make_printable(label.label), bar(label.probability), percent(label.probability)) for label in ranked]
    return [*lines, "", *format_table(rows, "<<>")]


def choice_lines(context: str, choices: Sequence[Choice]) -> list[str]:
    """Write the context, then list the choices in their original order with their probabilities."""
    rows = [(shorten(make_printable(c.text), 64), bar(c.probability), percent(c.probability)) for c in choices]
    return [make_printable(context), "", *format_table(rows, "<<>")]


def tag_lines(text: str, tags: Tags, by_word: bool = False) -> list[str]:
    """Write each entity of the text, with its type, in brackets; then one row for each entity.

    Args:
        text: the text that was tagged.
        tags: from `Session.tag`.
        by_word: show one row for each word, not for each entity; this is always done if the tags do not mark entities.
    """
    marked_text, end = "", 0
    for entity in tags.entities:
        marked_text += f"{text[end : entity.start]}[{text[entity.start : entity.end]} {entity.label}]"
        end = entity.end
    lines = [make_printable(marked_text + text[end:]), ""]
    if by_word or not is_entity_scheme(tags.labels):
        rows = [("word", "tag", "", "", "characters")]
        for word in tags.words:
            best = max(word.probabilities)
            rows.append((make_printable(word.text), word.tag, bar(best), percent(best), f"{word.start}-{word.end}"))
    else:
        rows = [("entity", "type", "", "", "characters")]
        for entity in tags.entities:
            share = entity.probability
            rows.append(
                (make_printable(entity.text), entity.label, bar(share), percent(share), f"{entity.start}-{entity.end}")
            )
    return [*lines, *(format_table(rows, "<<<>>") if len(rows) > 1 else ["no entities found"])]


def attention_lines(
    attention: AttentionMap, layer: int | None = None, head: int | None = None, special_tokens: bool = False
) -> list[str]:
    """Format the largest attention weight of every head, or, for a single head, the three largest of every token.

    Args:
        attention: from `Session.attention`.
        layer: show only this layer; all layers if None.
        head: show only this head of each layer; all heads if None.
        special_tokens: include [CLS] and [SEP], which receive most of the attention of many heads.
    """
    names = [make_printable(label) for label in token_labels(attention.tokens)]
    positions = [row.position for row in attention.tokens if special_tokens or not row.special]
    probs_LNTT = attention.probs_LNTT[:, :, positions][:, :, :, positions]
    names = [names[position] for position in positions]
    if layer is not None and head is not None:
        rows = [("token", "attends to", "", "", "then to")]
        for name, probs_T in zip(names, probs_LNTT[layer, head], strict=True):
            first, *others = np.argsort(-probs_T, kind="stable")[:3]
            next_keys = "  ".join(f"{names[other]} {probs_T[other]:.2f}" for other in others)
            rows.append((name, names[first], bar(probs_T[first]), f"{probs_T[first]:.2f}", next_keys))
        return format_table(rows, "<<<><")
    rows = [("layer", "head", "token", "attends to", "", "")]
    for l, n in np.ndindex(probs_LNTT.shape[:2]):  # noqa: E741
        if layer in (None, l) and head in (None, n):
            query, key = np.unravel_index(probs_LNTT[l, n].argmax(), probs_LNTT[l, n].shape)
            prob = probs_LNTT[l, n, query, key]
            rows.append((str(l), str(n), names[query], names[key], bar(prob), f"{prob:.2f}"))
    return format_table(rows, ">><<<>")


def bar(share: float, width: int = BAR_WIDTH) -> str:
    """Draw a share in 0..1 as a bar of at most `width` columns. NaN, the result of an overflow, has no bar.

    >>> bar(0.5, 3), bar(1.0, 3), bar(float("nan"))
    ('█▌', '███', '')
    """
    if math.isnan(share):
        return ""
    full, eighths = divmod(round(float(share) * width * 8), 8)
    return "█" * full + _EIGHTHS[eighths].strip()


def shorten(text: str, width: int) -> str:
    """Shorten a text to at most `width` columns, with an ellipsis.

    >>> shorten("a green teapot", 8)
    'a green…'
    """
    if measure_display_width(text) <= width:
        return text
    while measure_display_width(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def make_printable(text: str) -> str:
    """Return a text as one printable line: tabs and line breaks become spaces, control characters become �.

    >>> make_printable("red\\x1b[31m\\nand\\tgreen \\u202e.")
    'red�[31m and green �.'
    """
    return "".join(" " if c.isspace() else "�" if _is_control(c) else c for c in text)


def _is_control(character: str) -> bool:
    """Whether a character is a control character, a lone surrogate, or one that changes the direction of a text."""
    return (
        unicodedata.category(character) in ("Cc", "Cs")
        or character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )
