"""Single changes of the letters of a word, which undo or make a spelling error.

Latin letters are replaced, dropped, inserted, or swapped with a neighbour. A Hangul syllable is taken apart into its
letters (initial consonant, vowel, final consonant; Unicode's canonical decomposition): a letter is replaced by another
one of its class, a final consonant is dropped or inserted, and a final consonant is swapped with the initial one of the
next syllable. If that initial consonant is the silent ㅇ, the final consonant moves to its place: 먹어 becomes 머거.
"""

import random
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

LATIN = "abcdefghijklmnopqrstuvwxyz"
# The letters of modern syllables in Unicode's decomposition: initial consonants, vowels, final consonants.
INITIALS = tuple(map(chr, range(0x1100, 0x1113)))
VOWELS = tuple(map(chr, range(0x1161, 0x1176)))
FINALS = tuple(map(chr, range(0x11A8, 0x11C3)))
SILENT = INITIALS[11]  # ㅇ
# letter of a syllable -> all letters of its class (initial consonants, vowels or final consonants)
_CLASS_OF = {letter: letters for letters in (INITIALS, VOWELS, FINALS) for letter in letters}


def _pair_consonants() -> dict[str, str]:
    """Map each final consonant to the same consonant as an initial one, by their Unicode names."""
    initials = {unicodedata.name(letter).partition("CHOSEONG ")[2]: letter for letter in INITIALS}
    names = {letter: unicodedata.name(letter).partition("JONGSEONG ")[2] for letter in FINALS}
    return {letter: initials[name] for letter, name in names.items() if name in initials}


# final consonant -> the same consonant as an initial one, and the reverse
_INITIAL_OF = _pair_consonants()
_FINAL_OF = {initial: final for final, initial in _INITIAL_OF.items()}


def is_syllable(character: str) -> bool:
    """Whether a character is a modern Hangul syllable.

    >>> is_syllable("각"), is_syllable("ㄱ"), is_syllable("a")
    (True, False, False)
    """
    return "가" <= character <= "힣"


def list_edits(word: str) -> list[tuple[str, str]]:
    """List the words that differ from a word by one letter, each with the kind of the change.

    The kind is "replace", "drop", "insert" or "swap"; it says what was done to `word`. If several changes give the same
    word, it is listed once, with the first kind.

    >>> [(edited, kind) for edited, kind in list_edits("ox") if edited in ("xo", "o", "fox", "ax")]
    [('ax', 'replace'), ('o', 'drop'), ('fox', 'insert'), ('xo', 'swap')]
    >>> {edited for edited, _ in list_edits("먹어")} >= {"머거", "막어", "머어"}
    True
    """
    is_hangul = any(map(is_syllable, word))
    edits: dict[str, str] = {}
    for edited, kind in _edit_syllables(word) if is_hangul else _edit_latin(word):
        if edited != word and edited:
            edits.setdefault(edited, kind)
    return list(edits.items())


def _edit_latin(word: str) -> Iterator[tuple[str, str]]:
    """Yield each change of a Latin letter as (changed word, kind of the change); words may repeat."""
    indices = [number for number, letter in enumerate(word) if letter.lower() in LATIN]
    for number in indices:
        for letter in LATIN:
            new_letter = letter.upper() if word[number].isupper() else letter
            yield word[:number] + new_letter + word[number + 1 :], "replace"
    for number in indices:
        yield word[:number] + word[number + 1 :], "drop"
    for number in range(len(word) + 1):
        for letter in LATIN:
            yield word[:number] + letter + word[number:], "insert"
    for first, second in pairwise(indices):
        if second == first + 1:
            yield word[:first] + word[second] + word[first] + word[second + 1 :], "swap"


def _edit_syllables(word: str) -> Iterator[tuple[str, str]]:
    """Yield each change of a Hangul letter as (changed word, kind of the change); words may repeat."""
    # the two or three letters of each syllable; one element for any other character
    parts = [list(unicodedata.normalize("NFD", each)) if is_syllable(each) else [each] for each in word]

    def join(number: int, *syllables: list[str]) -> str:
        """Return the word in which `syllables` replace the same number of syllables from index `number` on."""
        changed = [*parts[:number], *syllables, *parts[number + len(syllables) :]]
        return unicodedata.normalize("NFC", "".join(letter for part in changed for letter in part))

    for number, part in enumerate(parts):
        if len(part) == 1:
            continue
        for index, letter in enumerate(part):
            for other in _CLASS_OF[letter]:
                yield join(number, [*part[:index], other, *part[index + 1 :]]), "replace"
        if len(part) == 3:
            yield join(number, part[:2]), "drop"
        else:
            for final in FINALS:
                yield join(number, [*part, final]), "insert"
        if number + 1 < len(parts) and len(parts[number + 1]) > 1:
            yield from ((join(number, *pair), "swap") for pair in _swap_consonants(part, parts[number + 1]))


def _swap_consonants(first: list[str], second: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Swap the final consonant of a syllable with the initial one of the next; the silent ㅇ counts as no consonant.

    Yields:
        the letters of both syllables after the swap, or nothing if it is impossible.
    """
    initial, other_letters = second[0], second[1:]
    if len(first) == 3:
        if first[2] in _INITIAL_OF and initial == SILENT:
            yield first[:2], [_INITIAL_OF[first[2]], *other_letters]
        elif first[2] in _INITIAL_OF and initial in _FINAL_OF:
            yield [*first[:2], _FINAL_OF[initial]], [_INITIAL_OF[first[2]], *other_letters]
    elif initial in _FINAL_OF and initial != SILENT:
        yield [*first, _FINAL_OF[initial]], [SILENT, *other_letters]


# the kinds of errors that `corrupt` can make; the first four are those of `list_edits`
KINDS = ("replace", "drop", "insert", "swap", "space removed", "space inserted")


def corrupt(sentence: str, rng: random.Random, kind: str) -> str | None:
    """Make one spelling or spacing error of a kind in a sentence.

    Args:
        sentence: the sentence.
        rng: the source of randomness.
        kind: one of `KINDS`.

    Returns:
        The sentence with the error; None if it has no place for an error of this kind.
    """
    if kind == "space removed":
        indices = [n for n in range(1, len(sentence) - 1)
                  if sentence[n] == " " and sentence[n - 1].isalpha() and sentence[n + 1].isalpha()]  # fmt: skip
        return _choose(rng, [sentence[:n] + sentence[n + 1 :] for n in indices])
    if kind == "space inserted":
        indices = [n for n in range(1, len(sentence)) if sentence[n - 1].isalpha() and sentence[n].isalpha()]
        return _choose(rng, [f"{sentence[:n]} {sentence[n:]}" for n in indices])
    words = sentence.split(" ")
    for number in rng.sample(range(len(words)), len(words)):
        core = words[number].rstrip(".,!?\"'”’)")
        if len(core) > 1 and core.isalpha():
            edited = _choose(rng, [each for each, edit_kind in list_edits(core) if edit_kind == kind])
            if edited is not None:
                words[number] = edited + words[number][len(core) :]
                return " ".join(words)
    return None


def _choose(rng: random.Random, options: list[str]) -> str | None:
    """Choose one of the options at random; None if there are none."""
    return rng.choice(options) if options else None
