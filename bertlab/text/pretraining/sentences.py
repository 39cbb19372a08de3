"""Split texts into sentences, for sentence pairs and for summaries.

A period does not end a sentence if it belongs to an abbreviation, an initial, a date or the number of a list item. The
lists contain only frequent abbreviations. If an abbreviation may also end a sentence, the next word decides.
"""

import re

# A sentence ends with . ! ? or their full-width forms, then optional closing quotes and brackets, then white space.
SENTENCE_END = re.compile(r"""(?<=[.!?。！？])["'”’)\]]*\s+""")

# Abbreviations, without their last period, after which the sentence goes on: in the first set, before any word; in the
# second set, before a number.
_BEFORE_ANY_WORD = {
    "Mr", "Mrs", "Ms", "Mx", "Dr", "Prof", "St", "Mt", "Ft", "Gen", "Adm", "Col", "Maj", "Capt", "Lt", "Sgt", "Rev",
    "Fr", "Hon", "Pres", "Gov", "Sen", "Rep", "vs", "e.g", "i.e", "cf",
}  # fmt: skip
_BEFORE_NUMBER = {
    "No", "Nos", "Vol", "vol", "Fig", "Figs", "fig", "figs", "Eq", "Ch", "Sec", "Art", "p", "pp", "c", "ca",
    "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec",
}  # fmt: skip
# After these abbreviations, the sentence goes on if the next word is in lower case. It also goes on before Hangul,
# because Korean sentences seldom end with such an abbreviation.
_BEFORE_LOWER_CASE = {
    "etc", "Inc", "Ltd", "Co", "Corp", "Bros", "Jr", "Sr", "al", "Ph.D", "Dept", "approx", "est", "a.m", "p.m",
}  # fmt: skip
_INITIALS = re.compile("(?:[A-Z][.]-?)*[A-Z]")  # J, J.K, U.S
# Words that often begin a sentence, and seldom a name: "the U.S. Army" goes on, "the U.S. The" does not.
_FIRST_WORDS = {
    "A", "An", "After", "All", "Also", "And", "As", "At", "Because", "Before", "But", "By", "Each", "For", "From", "He",
    "Her", "His", "How", "However", "I", "If", "In", "It", "Its", "Many", "Most", "My", "No", "Not", "Now", "On", "One",
    "Or", "Our", "She", "So", "Some", "That", "The", "Their", "Then", "There", "These", "They", "This", "Those", "To",
    "Two", "We", "What", "When", "Where", "Which", "While", "Who", "Why", "With", "You", "Your",
}  # fmt: skip
_ITEM_NUMBER = re.compile(r"\(?(?:\d{1,3}|[가나다라마바사아자차카타파하])")  # the number of a list item: 1, (12, 가
# a year before a period, and a month after it: 2024. 5.
_YEAR, _MONTH = re.compile(r"(?<!\d)\d{4}$"), re.compile(r"\d{1,2}\.")
_DATE_PART = re.compile(r"(?<!\d)\d{4}(?:\. ?\d{1,2}){1,2}$")  # 2024. 5 and 2024. 5. 3
_DATE_LENGTH = 12  # the maximum number of characters that `_DATE_PART` matches
_NEXT_LENGTH = 12  # how many characters after a period are examined; more than any word of `_FIRST_WORDS` has
_OPENING_MARKS = "\"'“‘([{"  # quotation marks and brackets that may stand before a word


def split_sentences(text: str) -> list[str]:
    """Split a text into lines, and the lines into sentences.

    >>> split_sentences('It rains. "Come in!" she said.\\nThe door closed.')
    ['It rains.', '"Come in!"', 'she said.', 'The door closed.']
    >>> split_sentences("Dr. J. Oh saw it on Nov. 3. He left. 2024. 5. 3. 비가 왔다. 차를 마셨다.")
    ['Dr. J. Oh saw it on Nov. 3.', 'He left.', '2024. 5. 3. 비가 왔다.', '차를 마셨다.']
    """
    sentences = []
    for line in text.splitlines():
        start = 0
        for end in SENTENCE_END.finditer(line):
            period = end.start() - 1
            if line[period] == "." and line[end.start()].isspace() and _is_continued(line, start, period, end.end()):
                continue
            sentences.append(line[start : end.end()].strip())
            start = end.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def find_sentences(text: str) -> list[tuple[int, int]]:
    """Find where each sentence starts and ends, in characters; sentences without letters and digits are left out.

    >>> find_sentences("Rain fell. ***\\nIt stopped.")
    [(0, 10), (15, 26)]
    """
    spans, end = [], 0
    for sentence in split_sentences(text):
        start = text.index(sentence, end)
        end = start + len(sentence)
        if any(character.isalnum() for character in sentence):
            spans.append((start, end))
    return spans


def _is_continued(line: str, start: int, period: int, next_start: int) -> bool:
    """Whether a sentence that begins at `start` goes on after the period; `next_start`: where the next word begins."""
    word = line[max(start, line.rfind(" ", start, period) + 1) : period].lstrip(_OPENING_MARKS)
    next_text = line[next_start : next_start + _NEXT_LENGTH].lstrip(_OPENING_MARKS)
    if not word or not next_text:
        return False
    next_character = next_text[0]
    if word in _BEFORE_ANY_WORD or (next_character.isdigit() and word in _BEFORE_NUMBER):
        return True
    if word in _BEFORE_LOWER_CASE:
        return next_character.isalpha() and not next_character.isupper()
    if word[-1].isupper():
        is_initial = _INITIALS.fullmatch(word) is not None
        return is_initial and next_character.isalpha() and next_text.split()[0] not in _FIRST_WORDS
    if word[-1].isdigit():
        tail = line[max(start, period - _DATE_LENGTH - 1) : period]
        if _DATE_PART.search(tail) or (_YEAR.search(tail) and _MONTH.match(next_text)):
            return True
    return period - start <= len("(100") and bool(_ITEM_NUMBER.fullmatch(line, start, period))
