"""The scripts that make Korean rows. The analyses are those of mecab-ko, which the tests do not need."""

import random
import re

import pytest

from scripts.korean_clauses import parse_sentence, parse_verb, split_clauses
from scripts.made_korean_nli import CONTRADICTION, ENTAILMENT, HypothesisMaker
from scripts.made_korean_questions import find_answers, find_passages, make_rows

# a morpheme, its tag, its class if it is a name, and the parts of merged morphemes
ANALYSES = {
    "1971년 번디는 시애틀(미국)에서 새 일을 구했다.": [
        ("1971", "SN"), ("년", "NNBC"), ("번디", "NNG"), ("는", "JX"), ("시애틀", "NNP", "지명"), ("(", "SSO"),
        ("미국", "NNP", "지명"), (")", "SSC"), ("에서", "JKB"), ("새", "MM"), ("일", "NNG"), ("을", "JKO"),
        ("구했", "VV+EP", "*", "구하/VV/*+ㅕㅆ/EP/*"), ("다", "EF"), (".", "SF"),
    ],
    "그녀는 2002년에 뉴욕에서 상을 받았고 남편은 책을 썼다.": [
        ("그녀", "NP"), ("는", "JX"), ("2002", "SN"), ("년", "NNBC"), ("에", "JKB"), ("뉴욕", "NNP", "지명"),
        ("에서", "JKB"), ("상", "NNG"), ("을", "JKO"), ("받", "VV"), ("았", "EP"), ("고", "EC"), ("남편", "NNG"),
        ("은", "JX"), ("책", "NNG"), ("을", "JKO"), ("썼", "VV+EP", "*", "쓰/VV/*+었/EP/*"), ("다", "EF"), (".", "SF"),
    ],
}  # fmt: skip
FIRST, SECOND = ANALYSES


def analyse(sentence: str) -> str:
    rows = []
    for text, tag, *more in ANALYSES[sentence]:
        kind, parts = (*more, "*", "*")[:2]
        merged = "Inflect" if "+" in tag else "*"
        rows.append(f"{text}\t{tag},{kind},*,{text},{merged},*,*,{parts if merged == 'Inflect' else '*'}")
    return "\n".join([*rows, "EOS"])


def clauses(sentence: str):
    return list(split_clauses(parse_sentence(sentence, analyse(sentence))))


def test_a_sentence_is_split_into_clauses_without_brackets():
    ((phrases, verb),) = clauses(FIRST)
    assert [phrase.text for phrase in phrases] == ["1971년", "번디는", "시애틀에서", "새 일을"]
    assert parse_verb(verb, False) == ("", "구하", "VV", True, "구했")
    first, second = clauses(SECOND)
    assert [phrase.text for phrase in first[0]] == ["그녀는", "2002년에", "뉴욕에서", "상을"]
    assert [phrase.text for phrase in second[0]] == ["남편은", "책을"]


def test_answers_have_a_kind_and_no_particle():
    ((phrases, _),) = clauses(FIRST)
    answers = [(phrases[a.phrase].morphemes[a.first].text, a.kind) for a in find_answers(phrases)]
    assert answers == [("1971", "date"), ("번디", "thing"), ("시애틀", "place")]


@pytest.mark.parametrize("seed", range(40))
def test_made_questions_have_their_answer_in_the_passage_and_not_in_the_question(seed):
    passage = f"{FIRST} {SECOND}"
    for row in make_rows("앤 룰 (작가)", passage, analyse, random.Random(seed)):
        assert row["context"] == passage
        assert passage[row["start"] :].startswith(row["text"])
        assert row["text"] not in row["question"]
        assert row["question"].endswith("?")
        assert "그녀" not in row["question"]


def test_questions_of_several_kinds_are_made():
    rows = [
        r for seed in range(40) for r in make_rows("앤 룰 (작가)", f"{FIRST} {SECOND}", analyse, random.Random(seed))
    ]
    assert {"1971년", "2002년", "뉴욕"} <= {row["text"] for row in rows}
    assert any("앤 룰" in row["question"] for row in rows)


def test_passages_end_with_a_sentence():
    line = "번디는 일을 구했다. " * 60
    passages = list(find_passages(line))
    assert len(passages) == 2
    assert all(passage.startswith("번디는") and passage.endswith("구했다.") for passage in passages)


@pytest.mark.parametrize("sentence", ANALYSES)
def test_made_hypotheses_follow_their_label(sentence):
    for seed in range(20):
        rows = {label: text for text, label in HypothesisMaker(analyse, random.Random(seed)).make(sentence)}
        entailed, contradicted = rows.get(ENTAILMENT), rows[CONTRADICTION]
        negated = any(word in contradicted for word in ("구하지 않았다", "받지 않았다", "쓰지 않았다"))
        assert negated or not set(re.findall(r"\d{4}", contradicted)) & {"1971", "2002"}
        if entailed is not None:
            assert set("".join(entailed.split())) <= set(sentence + "다.")
