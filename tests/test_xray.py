"""The x-ray of an answer: it shows what `answer` uses, window by window, and attention as the attention view has it."""

import numpy as np
import pytest

import bertlab
from bertlab.explore.session import Session
from bertlab.spec.errors import BertlabError, MissingHead, TextError

QUESTION = "Who carried the lantern?"
PASSAGE = "Rain fell on the harbour. The keeper of the old mill carried the lantern, two cups and some bread."
LONG = " ".join([PASSAGE] * 30)


@pytest.fixture(scope="module")
def session(tiny_checkpoint) -> Session:
    return bertlab.load(tiny_checkpoint)


@pytest.mark.parametrize("passage", [PASSAGE, LONG, "할머니가 부엌에서 따뜻한 보리차를 끓였다.", "tea"])
def test_it_says_what_the_answer_says(session, passage):
    seen = session.xray(QUESTION, passage, n_best=7, max_tokens=60, stride=16)
    assert seen.answers == session.answer(QUESTION, passage, n_best=7, max_tokens=60, stride=16)
    assert len(seen.readings) == len(seen.answers.windows)
    for (start, end), reading in zip(seen.answers.windows, seen.readings, strict=True):
        assert (reading.start, reading.end) == (start, end)


def test_the_best_window_and_the_lowest_no_answer_are_the_answers(session):
    seen = session.xray(QUESTION, LONG, n_best=30)
    assert len(seen.readings) > 5
    assert max(reading.score for reading in seen.readings) == pytest.approx(seen.answers.answers[0].score)
    assert min(reading.no_answer_score for reading in seen.readings) == pytest.approx(seen.answers.no_answer_score)
    best = seen.readings[seen.answers.best_window]
    assert best.score == pytest.approx(seen.answers.answers[0].score)
    assert seen.answer_windows[0] == seen.answers.best_window
    for answer, window in zip(seen.answers.answers, seen.answer_windows, strict=True):
        assert seen.readings[window].start <= answer.start
        assert answer.end <= seen.readings[window].end


def test_starts_and_ends_are_distributions_and_score_is_their_sum(session):
    """Log-probabilities differ from logits by a constant of the window, so scores less the no-answer score agree."""
    for reading in session.xray(QUESTION, LONG).readings:
        for probs_T in (reading.start_probs_T, reading.end_probs_T):
            assert len(probs_T) == len(reading.tokens)
            assert probs_T.sum() == pytest.approx(1)
        start, end = (
            next(token.position for token in reading.tokens if token.segment and getattr(token, side) == place)
            for side, place in zip(("start", "end"), reading.answer, strict=True)
        )
        odds = (
            np.log(reading.start_probs_T[start] / reading.start_probs_T[0])
            + np.log(reading.end_probs_T[end] / reading.end_probs_T[0])
        )  # fmt: skip
        assert odds == pytest.approx(reading.score - reading.no_answer_score, abs=1e-4)


def test_tokens_are_the_windows_pieces(session):
    [reading] = session.xray(QUESTION, PASSAGE).readings
    assert [token.piece for token in reading.tokens] == [token.piece for token in session.encode(QUESTION, PASSAGE)]
    shown = [token for token in reading.tokens if token.segment and not token.special]
    pieces = session.encode(PASSAGE)[1:-1]
    assert [(token.start, token.end) for token in shown] == [(token.start, token.end) for token in pieces]
    assert [token.special for token in reading.tokens] == [token.special for token in session.encode(QUESTION, PASSAGE)]


def test_attention_between_question_and_answer_is_the_attention_views(session):
    seen = session.xray(QUESTION, PASSAGE)
    answer = seen.answers.answers[0]
    found = session.span_attention(QUESTION, PASSAGE, 0, answer.start, answer.end)
    whole = session.attention(QUESTION, PASSAGE)
    assert [token.piece for token in found.tokens] == [token.piece for token in whole.tokens]
    question = [t.position for t in whole.tokens if t.segment == 0 and not t.special]
    inside = [
        t.position for t in whole.tokens
        if t.segment == 1 and not t.special and answer.start <= t.start and t.end <= answer.end
    ]  # fmt: skip
    assert (list(found.question), list(found.answer)) == (question, inside)
    probs_LNTT = whole.probs_LNTT
    np.testing.assert_allclose(
        found.question_to_answer_LN, probs_LNTT[:, :, question][..., inside].sum(-1).mean(-1), atol=1e-6
    )
    np.testing.assert_allclose(
        found.answer_to_question_LN, probs_LNTT[:, :, inside][..., question].sum(-1).mean(-1), atol=1e-6
    )
    np.testing.assert_allclose(found.from_question_LNT.sum(-1), 1, atol=1e-5)


def test_attention_in_a_later_window(session):
    seen = session.xray(QUESTION, LONG)
    last = len(seen.readings) - 1
    reading = seen.readings[last]
    found = session.span_attention(QUESTION, LONG, last, *reading.answer)
    covered = [reading.tokens[place] for place in found.answer]
    assert (covered[0].start, covered[-1].end) == reading.answer


@pytest.mark.parametrize(
    ("window", "start", "end", "said"), [(9, 0, 4, "no window 9"), (-1, 0, 4, "no window"), (0, 9000, 9004, "not show")]
)
def test_what_is_not_there_is_refused(session, window, start, end, said):
    with pytest.raises(TextError, match=said):
        session.span_attention(QUESTION, PASSAGE, window, start, end)


@pytest.mark.parametrize(("question", "passage"), [("", PASSAGE), (QUESTION, ""), (QUESTION, " \n")])
def test_an_empty_text_is_refused_as_by_answer(session, question, passage):
    with pytest.raises(TextError, match="empty"):
        session.xray(question, passage)


def test_numbers_below_one_and_a_missing_head_are_refused(session, shipped):
    with pytest.raises(BertlabError, match="n_best"):
        session.xray(QUESTION, PASSAGE, n_best=0)
    with pytest.raises(MissingHead):
        bertlab.load("strongest").xray(QUESTION, PASSAGE)
