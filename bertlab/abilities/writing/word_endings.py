"""List the content words of texts, which are used to name clusters.

Function words are left out, and Korean nouns are listed without their particles.
"""

from collections import defaultdict
from collections.abc import Sequence

from bertlab.config.languages import languages, read_data
from bertlab.text.word_spans import find_words

MIN_STEM = 2  # the minimum number of letters that remain of a word when a particle is removed


def list_content_words(texts: Sequence[str]) -> list[list[str]]:
    """List the content words of each text, in lower case.

    The lists of function words and of particles are those of all languages (`locales/*/word_endings.toml`), because
    texts may mix languages. Some particles are always removed. The others are removed only if the rest of the word also
    occurs alone or with another particle, so that a noun that only seems to end with a particle remains whole.

    >>> list_content_words(["도서관이 문을 열었다", "도서관은 조용했다", "고양이가 공원에서 잔다", "the new library"])
    [['도서관', '문을', '열었다'], ['도서관', '조용했다'], ['고양이가', '공원', '잔다'], ['new', 'library']]
    """
    tables = [read_data("word_endings", code) for code in languages()]
    stop_words, sure_endings, endings = (
        {word for table in tables for word in table[name]} for name in ("stop_words", "sure_endings", "endings")
    )
    function_words = stop_words | sure_endings | endings  # a particle stands alone after a parenthesis: "쌀(米)은"
    words_of_text = [
        [_remove_ending(word, sure_endings) for word in _find_words(text, function_words)] for text in texts
    ]
    all_words = {word for words in words_of_text for word in words}
    forms = defaultdict(set)  # stem -> the words that may be forms of it
    for word in all_words:
        for stem in _list_possible_stems(word, endings):
            forms[stem].add(word)
    stem_of_word = {
        word: max(
            (stem for stem in _list_possible_stems(word, endings) if stem == word or len(forms[stem]) > 1),
            key=lambda stem: (len(forms[stem]), -len(stem)),
        )
        for word in all_words
    }
    return [[stem_of_word[word] for word in words] for words in words_of_text]


def _find_words(text: str, function_words: set[str]) -> list[str]:
    """List the words that contain a letter, converted to lower case; function words are left out."""
    words = (text[start:end].lower() for start, end in find_words(text))
    return [word for word in words if any(map(str.isalpha, word)) and word not in function_words]


def _remove_ending(word: str, endings: set[str]) -> str:
    """Remove the longest of `endings` from the end of a word; a word with none of them stays unchanged."""
    return next((word[:length] for length in range(MIN_STEM, len(word)) if word[length:] in endings), word)


def _list_possible_stems(word: str, endings: set[str]) -> list[str]:
    """List the word itself, and the word without each ending that it may have."""
    return [word, *(word[:length] for length in range(MIN_STEM, len(word)) if word[length:] in endings)]
