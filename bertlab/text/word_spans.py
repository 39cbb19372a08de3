"""Find the words of a text, and mask some of them.

Words are those of BERT's pre-tokenizer, except that an apostrophe inside a word does not split it.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from bertlab.config.errors import TextError
from bertlab.config.languages import detect_language, has_latin_letters, languages
from bertlab.text.tokenizers.encoding import OTHER_SPECIAL_TOKENS, SPECIAL_TOKENS

MASK = "[MASK]"
# Matches a special token in a text.
_SPECIAL = re.compile("|".join(map(re.escape, (*SPECIAL_TOKENS, *OTHER_SPECIAL_TOKENS))))
# Matches a word in a string that has one letter for each character of the text: the letter that `_kind_of` returns or,
# in a special token that the user typed, S for the first character and s for the others.
_WORD = re.compile("w(?:(?:i*|q)w)*|q|p|Ss*")
# As in BERT's pre-tokenizer, each ideograph is a word of its own; kana and Hangul form longer words.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def detect_text_language(texts: Iterable[str]) -> str | None:
    """Detect the language of texts by their script; None if no word has letters of a known script.

    >>> [detect_text_language([text]) for text in ("The [MASK] sang.", "새가 [MASK].", "漢字 🙂")]
    ['en', 'ko', None]
    """
    script_tests = [each.uses_script for each in languages().values()]
    words = [word for text in texts for word in text.replace(MASK, " ").split()]
    words = [
        word for word in words if has_latin_letters(word) or any(uses_script(word) for uses_script in script_tests)
    ]
    return detect_language(words) if words else None


def find_words(text: str) -> list[tuple[int, int]]:
    """Find where each word starts and ends, in characters; punctuation marks and ideographs are words by themselves.

    >>> text = "Don't pour tea_pots: [MASK]!"
    >>> [text[start:end] for start, end in find_words(text)]
    ["Don't", 'pour', 'tea', '_', 'pots', ':', '[MASK]', '!']
    """
    kinds = [_kind_of(character) for character in text]
    for special in _SPECIAL.finditer(text):
        kinds[special.start() : special.end()] = "S" + "s" * (len(special.group()) - 1)
    return [word.span() for word in _WORD.finditer("".join(kinds))]


def mask_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace every span (character start, end) of a text with [MASK].

    >>> mask_spans("Green tea, please.", [(6, 9)])
    'Green [MASK], please.'
    """
    parts, cursor = [], 0
    for start, end in sorted(spans):
        if not cursor <= start < end <= len(text):
            raise TextError("mask-span-invalid", start=start, end=end)
        parts += [text[cursor:start], MASK]
        cursor = end
    return "".join([*parts, text[cursor:]])


def update_word_indices(indices: Iterable[int], before: Sequence[str], after: Sequence[str]) -> set[int]:
    """Return the new indices of some words after the text was edited; words that were deleted are left out.

    The result is empty if the two texts have no word in common.

    >>> before = ["She", "opened", "the", "window"]
    >>> update_word_indices({3}, before, ["Today", *before]), update_word_indices({3}, before, [*before[:3], "windows"])
    ({4}, {3})
    >>> update_word_indices({3}, before, ["Rain", "falls", "on", "tea"])
    set()
    """
    edits = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    if all(operation != "equal" for operation, *_ in edits):
        return set()
    new_indices = {}
    for _, start, end, new_start, new_end in edits:
        # In this part, both texts have the same number of words: equal ones, or one edited word for each old word.
        if end - start == new_end - new_start:
            new_indices |= zip(range(start, end), range(new_start, new_end), strict=True)
    return {new_indices[index] for index in indices if index in new_indices}


def has_visible_characters(text: str) -> bool:
    """Whether a text has characters other than spaces and invisible ones, which BERT's tokenizer removes.

    >>> has_visible_characters("🙂"), has_visible_characters(" \\u200b")
    (True, False)
    """
    return any(_kind_of(character) not in "i " for character in text)


def _kind_of(character: str) -> str:
    """Return a letter for the kind of a character.

    w: part of a word; q: an apostrophe; p: a word by itself; i: invisible, which does not split a word; " ": a space.
    """
    if character in "'’":
        return "q"
    category = unicodedata.category(character)
    if category[0] == "Z" or character in "\t\n\r":
        return " "
    if category[0] == "C" or character == "\ufffd":
        return "i"
    if category[0] == "P" or (character.isascii() and not character.isalnum()):
        return "p"
    return "p" if any(first <= ord(character) <= last for first, last in _IDEOGRAPHS) else "w"
