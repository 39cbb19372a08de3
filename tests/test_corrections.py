"""Suggestions for spelling and spacing: edits of letters, artificial errors, the gain of a change, benchmark."""

import random
import unicodedata
from itertools import pairwise

import pytest

import bertlab
from benchmarks.writing import Row, make_rows, score, tune_margin
from bertlab.abilities.writing.corrections import Correction
from bertlab.checkpoints.locate import find_shipped_checkpoints
from bertlab.text.letter_edits import KINDS, corrupt, is_syllable, list_edits

SENTENCES = ["등대지기가 낡은 등불을 켰다.", "The keeper carried an old lantern."]


def distance(a: str, b: str) -> int:
    """The Damerau-Levenshtein distance (optimal string alignment) by its table."""
    table = [[i + j if i * j == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(
                table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1])
            )  # fmt: skip
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


def test_latin_edits_are_all_words_at_distance_one():
    edits = [edited for edited, _ in list_edits("rain")]
    assert len(edits) == len(set(edits))
    assert all(distance("rain", edited) == 1 for edited in edits)
    assert len(edits) == 25 * 4 + 4 + (26 * 5 - 4) + 3  # replaced, dropped, inserted, swapped
    assert ("Tain", "replace") in list_edits("Rain")


def test_hangul_edits_are_syllables_that_differ_by_a_letter():
    edits = dict(list_edits("각오"))
    assert all(map(is_syllable, "".join(edits)))
    assert edits["가고"] == "swap"
    assert edits["가오"] == "drop"
    assert edits["각옥"] == "insert"
    assert edits["강오"] == "replace"
    assert len(edits) == (18 + 20 + 26) + (18 + 20) + 1 + 27 + 1
    assert dict(list_edits("국밥"))["굽갑"] == "swap"
    letters = len(unicodedata.normalize("NFD", "각오"))
    assert {len(unicodedata.normalize("NFD", edited)) for edited in edits} == {letters - 1, letters, letters + 1}


@pytest.mark.parametrize("word", ["먹어", "국밥", "않았다", "lantern", "Don"])
def test_every_edit_can_be_undone_by_an_edit(word):
    for edited, _ in list_edits(word):
        if len(edited) > 1:
            assert word.lower() in {back.lower() for back, _ in list_edits(edited)}, edited


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_an_artificial_error_depends_on_its_seed_and_has_its_kind(sentence, kind):
    texts = [corrupt(sentence, random.Random(seed), kind) for seed in range(8)]
    assert texts == [corrupt(sentence, random.Random(seed), kind) for seed in range(8)]
    assert sentence not in texts
    if kind.startswith("space"):
        assert all(text.replace(" ", "") == sentence.replace(" ", "") for text in texts)
        assert {text.count(" ") - sentence.count(" ") for text in texts} == {-1 if kind == "space removed" else 1}
    else:
        assert all(sum(a != b for a, b in zip(text.split(), sentence.split(), strict=True)) == 1 for text in texts)


def test_no_error_is_made_where_there_is_no_place():
    assert corrupt("2024", random.Random(0), "drop") is None
    assert corrupt("Rain", random.Random(0), "space removed") is None


def test_a_gain_is_the_change_of_the_pseudo_log_likelihood(tiny_checkpoint):
    session = bertlab.load(tiny_checkpoint)
    text = "The keeepr carried a lan tern. 비가 많이왔다."
    found = session.suggest_corrections(text, -1000.0)
    assert found
    before = session.surprise(text).total
    for each in found:
        assert text[each.start : each.end] == each.original
        edited = text[: each.start] + each.replacement + text[each.end :]
        assert each.gain == pytest.approx(before - session.surprise(edited).total, abs=1e-2)
    spans = [(each.start, each.end) for each in found]
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    limit = max(each.gain for each in found)
    assert session.suggest_corrections(text, limit) == ()


@pytest.mark.skipif("korean" not in find_shipped_checkpoints(), reason="no shipped checkpoints")
@pytest.mark.parametrize(
    ("checkpoint", "text", "expected"),
    [
        ("scratch", "She opend the window and sat in the gar den.", {"opend": "opened", "gar den": "garden"}),
        ("scratch", "The old man put the galss on thetable.", {"galss": "glass", "thetable": "the table"}),
        ("korean", "이 역은 1974년에 처음 무늘 열었다.", {"무늘": "문을"}),
        ("korean", "그는 서울 에서 태어낫다.", {"서울 에서": "서울에서", "태어낫다": "태어났다"}),
    ],
)
def test_shipped_checkpoints_correct_clear_errors(checkpoint, text, expected):
    found = bertlab.load(checkpoint).suggest_corrections(text, 8.0)
    assert {each.original: each.replacement for each in found} == expected


def test_half_of_the_sentences_get_an_error_of_every_kind():
    sentences = [f"{sentence[:-1]} {number}." for number in range(24) for sentence in SENTENCES]
    rows = make_rows(sentences, 0)
    assert make_rows(sentences, 0) == rows
    assert sum(bool(row.kind) for row in rows) == len(rows) / 2
    assert {row.kind for row in rows} == {"", *KINDS}
    for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
        assert len({row.kind for row in half}) == 7
    assert all((row.text == row.original) == (not row.kind) for row in rows)


def test_precision_recall_and_the_margin_equal_values_computed_by_hand():
    def correction(text: str, gain: float) -> Correction:
        return Correction(0, 1, "a", text, "letter", gain)

    rows = [
        Row("b", "a", "replace", (correction("b", 9.0),)), Row("b", "a", "replace", (correction("c", 4.0),)),
        Row("a", "a", "", (correction("c", 6.0),)), Row("b", "a", "replace", (correction("b", 2.0),)),
    ]  # fmt: skip
    assert score(rows, 1.0)["precision"] == pytest.approx(2 / 4)
    assert score(rows, 1.0)["recall"] == pytest.approx(2 / 3)
    assert score(rows, 6.0) == pytest.approx(
        {"precision": 1, "recall": 1 / 3, "f": 1.25 / 3 / (0.25 + 1 / 3), "suggestions": 1, "errors": 3}
    )
    assert tune_margin(rows) == 6.0
    assert score(rows, 10.0)["f"] == 0
