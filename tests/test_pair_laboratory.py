"""The next-sentence laboratory: candidates, attention between the sentences, test pairs, lists of pairs, the page."""

import numpy as np
import pytest
from support.figures import read_charts
from support.pages import HOSTILE, bodies, errors, open_page
from support.texts import text

import bertlab
from bertlab.abilities.files.batch import predict_texts
from bertlab.abilities.next_sentence import figures as pair_laboratory
from bertlab.abilities.next_sentence.laboratory import TEST_PAIR_KINDS
from bertlab.config.errors import TextError
from bertlab.config.languages import languages, read_data

FIRST, CANDIDATES = "She asked for tea.", ["He brought a kettle.", "The boats stayed in.", "A train leaves at six."]


@pytest.fixture
def session(shipped):
    return bertlab.load("strongest")


@pytest.fixture
def short_test_pairs(monkeypatch) -> list[dict]:
    """Two groups of test pairs that are short enough for the tiny model."""
    pairs = [
        {
            "first": "Tea is hot.",
            "follows": "Bread is warm.",
            "same_topic": "Tea is cold.",
            "other_topic": "Boats sail.",
        },
        {
            "first": "Rain fell.",
            "follows": "Boats stayed in.",
            "same_topic": "It was dry.",
            "other_topic": "Tea cools.",
        },
    ]
    monkeypatch.setattr("bertlab.abilities.next_sentence.laboratory.read_data", lambda *_: {"test_pairs": pairs})
    return pairs


def test_candidates_are_ranked_by_the_prediction_of_each_pair(session):
    ranking = session.rank_next_sentences(FIRST, CANDIDATES)
    assert [row.probability for row in ranking] == sorted((row.probability for row in ranking), reverse=True)
    for row in ranking:
        assert row.text == CANDIDATES[row.index]
        assert row.probability == session.next_sentence(FIRST, row.text).probability
    with pytest.raises(TextError) as error:
        session.rank_next_sentences(FIRST, [])
    assert error.value.id == "no-candidates"


def test_attention_between_the_sentences_is_the_sum_of_attention_weights(session):
    found = session.pair_attention(FIRST, CANDIDATES[0])
    attention = session.attention(FIRST, CANDIDATES[0])
    a = [row.position for row in attention.tokens if row.segment == 0 and not row.special]
    b = [row.position for row in attention.tokens if row.segment == 1 and not row.special]
    expected = np.mean([sum(attention.probs_LNTT[1, 0, query, key] for key in a) for query in b])
    assert found.share_LN[1, 0] == pytest.approx(expected, abs=1e-5)
    assert found.uniform == len(a) / len(attention.tokens)
    assert found.queries == tuple(b)


@pytest.mark.parametrize("language", list(languages()))
def test_the_test_pairs_are_complete(language):
    pairs = read_data("next_sentence_test_pairs", language)["test_pairs"]
    assert len(pairs) == 12
    for group in pairs:
        assert set(group) == {"first", *TEST_PAIR_KINDS}
    sentences = [sentence for group in pairs for sentence in group.values()]
    assert len(set(sentences)) == len(sentences)
    uses_script = languages()[language].uses_script
    assert not languages()[language].script or all(map(uses_script, sentences))


def test_the_test_pairs_are_scored_by_kind(session, short_test_pairs):
    results = session.predict_test_pairs()
    assert len(results) == 6
    for result in results:
        assert result.probability == session.next_sentence(result.first, result.second).probability
        assert result.is_correct == ((result.probability >= 0.5) == (result.kind == "follows"))
    bars = pair_laboratory.pair_kind_bars(results).data[0]
    assert sum(bars.x) * 2 == pytest.approx(sum(result.is_correct for result in results))


def test_pairs_of_a_table_are_predicted_and_single_texts_are_reported(session):
    rows = predict_texts(session, "next-sentence", [(FIRST, CANDIDATES[0]), (FIRST, None), ("", CANDIDATES[0])])
    prediction = session.next_sentence(FIRST, CANDIDATES[0])
    assert rows[0]["label"] == prediction.label
    assert rows[0]["probability"] == max(prediction.probability, 1 - prediction.probability)
    assert [bool(row["error"]) for row in rows] == [False, True, True]


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(("view", "charts"), [("pair", 2), ("candidates", 1), ("test-pairs", 1), ("list", 0)])
def test_every_view_of_the_page_opens(shipped, short_test_pairs, language, view, charts):
    app = open_page("next_sentence", lang=language, nsp=view)
    assert not errors(app)
    assert len(read_charts(app)) == charts


def test_page_shows_the_input_with_its_segments(shipped):
    app = open_page("next_sentence")
    assert any("bl-tokens" in body and "[SEP]" in body for body in bodies(app))


def test_shuffle_button_changes_the_order_of_the_words_in_sentence_b(shipped):
    """The same sentence is always shuffled in the same way; words that are all equal are left alone."""
    shuffled = []
    for sentence in (CANDIDATES[0], CANDIDATES[0], "tea tea"):
        app = open_page("next_sentence", second=sentence)
        next(button for button in app.button if "shuffle" in (button.icon or "")).click().run()
        shuffled.append(app.text_input(key="second").value)
        assert sorted(shuffled[-1].split()) == sorted(sentence.split())
        assert app.query_params["second"] == shuffled[-1]
    assert shuffled[0] == shuffled[1] != CANDIDATES[0]
    assert shuffled[2] == "tea tea"


def test_a_test_pair_opens_in_the_first_view(shipped, short_test_pairs):
    app = open_page("next_sentence", nsp="test-pairs")
    app.button(key="test-pair-1").click().run()
    assert not errors(app)
    assert app.text_input(key="second").value == short_test_pairs[1]["follows"]
    assert "nsp" not in app.query_params


@pytest.mark.parametrize("view", ["pair", "candidates"])
@pytest.mark.parametrize("string", ["", "tea and bread " * 60])
def test_bad_input_gets_one_line(shipped, view, string):
    app = open_page("next_sentence", nsp=view, first=string)
    app.text_input(key="first").set_value(string).run()
    assert not app.exception
    assert len(errors(app)) == 1


def test_page_without_candidates_says_so(shipped):
    app = open_page("next_sentence", nsp="candidates")
    for number in range(1, 6):
        app.text_input(key=f"b{number}").set_value("")
    app.run()
    assert any(text("no-candidates") in error for error in errors(app))


def test_hostile_candidates_are_drawn_as_text(shipped):
    app = open_page("next_sentence", nsp="candidates", b1=HOSTILE[:60])
    assert all("<script" not in body and "<img" not in body for body in bodies(app))


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_pasted_list_of_pairs_is_predicted(shipped, language):
    table = "sentence1,sentence2\nShe asked for tea.,He brought a kettle.\nRain fell.,A train leaves.\n"
    app = open_page("next_sentence", lang=language, nsp="list")
    app.text_area(key="batch-next-sentence").set_value(table).run()
    next(button for button in app.button if "play_arrow" in (button.icon or "")).click().run()
    assert not app.exception
    assert not errors(app)
    predicted = app.dataframe[0].value
    assert list(predicted["predicted"].isin(["IsNext", "NotNext"])) == [True, True]
