"""Change one letter of a word, to undo a spelling error or to make one.

Latin letters are replaced, dropped, inserted, or swapped with a neighbour. A Hangul syllable is taken apart into its
letters (initial consonant, vowel, final consonant; Unicode's canonical decomposition): a letter is replaced by another
one of the same kind, a final consonant is dropped or inserted, and a final consonant is swapped with the initial one of
the next syllable. If that initial consonant is the silent ㅇ, the final one moves to its place: 먹어 becomes 머거.
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
# letter of a syllable -> all letters that can stand in its place: all initial consonants, all vowels or all final ones
_REPLACEMENTS = {letter: letters for letters in (INITIALS, VOWELS, FINALS) for letter in letters}


def _pair_consonants() -> dict[str, str]:
    """Map each final consonant that can also begin a syllable to its initial form, by their Unicode names."""
    initials = {unicodedata.name(letter).partition("CHOSEONG ")[2]: letter for letter in INITIALS}
    names = {letter: unicodedata.name(letter).partition("JONGSEONG ")[2] for letter in FINALS}
    return {letter: initials[name] for letter, name in names.items() if name in initials}


# final consonant -> its initial form, and the reverse
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
    """Yield each change of a Latin letter as (changed word, kind of the change); several may give the same word."""
    indices = [index for index, letter in enumerate(word) if letter.lower() in LATIN]
    for index in indices:
        for letter in LATIN:
            new_letter = letter.upper() if word[index].isupper() else letter
            yield word[:index] + new_letter + word[index + 1 :], "replace"
    for index in indices:
        yield word[:index] + word[index + 1 :], "drop"
    for index in range(len(word) + 1):
        for letter in LATIN:
            yield word[:index] + letter + word[index:], "insert"
    for first, second in pairwise(indices):
        if second == first + 1:
            yield word[:first] + word[second] + word[first] + word[second + 1 :], "swap"


def _edit_syllables(word: str) -> Iterator[tuple[str, str]]:
    # the two or three letters of each syllable; one element for any other character
    parts = [list(unicodedata.normalize("NFD", each)) if is_syllable(each) else [each] for each in word]

    def join(start: int, *syllables: list[str]) -> str:
        """Return the word after replacing its syllables from index `start` on with `syllables`, one for one."""
        changed = [*parts[:start], *syllables, *parts[start + len(syllables) :]]
        return unicodedata.normalize("NFC", "".join(letter for part in changed for letter in part))

    for start, part in enumerate(parts):
        if len(part) == 1:
            continue
        for index, letter in enumerate(part):
            for other in _REPLACEMENTS[letter]:
                yield join(start, [*part[:index], other, *part[index + 1 :]]), "replace"
        if len(part) == 3:
            yield join(start, part[:2]), "drop"
        else:
            for final in FINALS:
                yield join(start, [*part, final]), "insert"
        if start + 1 < len(parts) and len(parts[start + 1]) > 1:
            yield from ((join(start, *pair), "swap") for pair in _swap_consonants(part, parts[start + 1]))


def _swap_consonants(first: list[str], second: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the letters of both syllables after a swap, if possible; the silent ㅇ counts as no consonant."""
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
    """Make one error of a kind of `KINDS` in a sentence; None if the sentence has no place for it."""
    if kind == "space removed":
        indices = [n for n in range(1, len(sentence) - 1)
                  if sentence[n] == " " and sentence[n - 1].isalpha() and sentence[n + 1].isalpha()]  # fmt: skip
        return _choose(rng, [sentence[:n] + sentence[n + 1 :] for n in indices])
    if kind == "space inserted":
        indices = [n for n in range(1, len(sentence)) if sentence[n - 1].isalpha() and sentence[n].isalpha()]
        return _choose(rng, [f"{sentence[:n]} {sentence[n:]}" for n in indices])
    words = sentence.split(" ")
    for index in rng.sample(range(len(words)), len(words)):
        core = words[index].rstrip(".,!?\"'”’)")
        if len(core) > 1 and core.isalpha():
            edited = _choose(rng, [each for each, edit_kind in list_edits(core) if edit_kind == kind])
            if edited is not None:
                words[index] = edited + words[index][len(core) :]
                return " ".join(words)
    return None


def _choose(rng: random.Random, options: list[str]) -> str | None:
    return rng.choice(options) if options else None
