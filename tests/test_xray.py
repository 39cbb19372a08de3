"""The answer x-ray: the windows and scores are those of `answer`, and the attention is that of the attention view."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from bertlab_app import calls
from bertlab_app.data import sessions
from bertlab_app.widgets import frame
from support.errors import raises_error
from support.figures import read_charts
from support.pages import open_page
from support.texts import text

import bertlab
from bertlab.abilities.answer import span_attention
from bertlab.abilities.answer import xray_figures as xray
from bertlab.config.errors import BertlabError, MissingHead, TextError
from bertlab.session import Session
from bertlab.tasks.span.answer import Answer
from bertlab.views.numbers import SignedNumber

QUESTION = "Who carried the lantern?"
PASSAGE = "Rain fell on the harbour. The keeper of the old mill carried the lantern, two cups and some bread."
LONG = " ".join([PASSAGE] * 30)


@pytest.fixture(scope="module")
def session(tiny_checkpoint) -> Session:
    return bertlab.load(tiny_checkpoint)


@pytest.mark.parametrize("passage", [PASSAGE, LONG, "할머니가 부엌에서 따뜻한 보리차를 끓였다.", "tea"])
def test_the_xray_holds_the_answers_and_windows_of_answer(session, passage):
    seen = session.xray(QUESTION, passage, n_best=7, max_tokens=60, stride=16)
    assert seen.answers == session.answer(QUESTION, passage, n_best=7, max_tokens=60, stride=16)
    assert len(seen.readings) == len(seen.answers.windows)
    for (start, end), reading in zip(seen.answers.windows, seen.readings, strict=True):
        assert (reading.start, reading.end) == (start, end)


def test_the_answer_has_the_score_of_the_best_window_and_the_lowest_no_answer_score(session):
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


def test_starts_and_ends_are_distributions_that_give_the_score(session):
    """Log-probabilities differ from logits by a constant of the window, so differences to the no-answer score agree."""
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


def test_the_tokens_are_those_of_the_window(session):
    [reading] = session.xray(QUESTION, PASSAGE).readings
    assert [token.token for token in reading.tokens] == [token.token for token in session.encode(QUESTION, PASSAGE)]
    shown = [token for token in reading.tokens if token.segment and not token.special]
    tokens = session.encode(PASSAGE)[1:-1]
    assert [(token.start, token.end) for token in shown] == [(token.start, token.end) for token in tokens]
    assert [token.special for token in reading.tokens] == [token.special for token in session.encode(QUESTION, PASSAGE)]


def test_attention_between_question_and_answer_equals_that_of_the_attention_view(session):
    seen = session.xray(QUESTION, PASSAGE)
    answer = seen.answers.answers[0]
    found = session.span_attention(QUESTION, PASSAGE, 0, answer.start, answer.end)
    whole = session.attention(QUESTION, PASSAGE)
    assert [token.token for token in found.tokens] == [token.token for token in whole.tokens]
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
    ("window", "start", "end", "id"),
    [
        (9, 0, 4, "window-out-of-range"),
        (-1, 0, 4, "window-out-of-range"),
        (0, 9000, 9004, "window-without-characters"),
    ],
)
def test_windows_and_characters_that_do_not_exist_are_refused(session, window, start, end, id):
    with raises_error(TextError, id, window=window):
        session.span_attention(QUESTION, PASSAGE, window, start, end)


@pytest.mark.parametrize(
    ("question", "passage", "id"),
    [("", PASSAGE, "question-empty"), (QUESTION, "", "passage-empty"), (QUESTION, " \n", "passage-empty")],
)
def test_an_empty_text_is_refused_as_by_answer(session, question, passage, id):
    with raises_error(TextError, id):
        session.xray(question, passage)


def test_numbers_below_one_and_a_missing_head_are_refused(session, shipped):
    with raises_error(BertlabError, "input-out-of-range", name="n_best"):
        session.xray(QUESTION, PASSAGE, n_best=0)
    with pytest.raises(MissingHead):
        bertlab.load("strongest").xray(QUESTION, PASSAGE)


# -- figures ---------------------------------------------------------------------------------------------------

HOSTILE = 'tea <img src=x onerror="alert(1)"> %{y} </script><script>alert(1)</script> \ud800 bread'


def without_tags(html: str) -> str:
    return re.sub(r"<[^<>]*>", "", html)


@pytest.mark.parametrize(
    "passage", [PASSAGE, HOSTILE, "할머니가 부엌에서 따뜻한 보리차를 끓였다.", "مرحبا tea", "茶を飲む"]
)
def test_columns_show_the_whole_passage_as_text(session, passage):
    reading = session.xray(QUESTION, passage).readings[0]
    html = xray.columns_html(passage, reading)
    assert "<script" not in html
    assert "<img" not in html
    shown = without_tags(html.replace("&lt;", "\x01").replace("&gt;", "\x02"))
    shown = shown.replace("\x01", "<").replace("\x02", ">").replace("&quot;", '"').removeprefix("[CLS] ")
    covered = passage[reading.start : reading.end].encode("utf-8", "replace").decode()
    assert shown == covered
    assert html.count("title=") == sum(t.segment == 1 and not t.special and t.end > t.start for t in reading.tokens) + 1


def test_the_tallest_column_is_the_highest_probability(session):
    [reading] = session.xray(QUESTION, PASSAGE).readings
    for logarithmic in (False, True):
        html = xray.columns_html(PASSAGE, reading, logarithmic=logarithmic)
        columns = re.findall(r"([\d.]+)px / clamp\([^)]*\) ([\d.]+)px no-repeat", html)
        assert len(columns) == 2 * html.count("title=")
        assert all(float(gap) + float(height) == pytest.approx(xray.COLUMN_HEIGHT) for gap, height in columns)
        heights = [float(height) for _, height in columns]
        assert max(heights) <= xray.COLUMN_HEIGHT
        if not logarithmic:
            assert max(heights) == xray.COLUMN_HEIGHT
        assert min(heights) >= 1, "a line shows where a column is"


def test_overlapping_spans_lie_in_lanes():
    answers = [Answer("b c", 2, 5, 3.0, 0.5), Answer("c d", 4, 7, 2.0, 0.3), Answer("a", 0, 1, 1.0, 0.1)]
    html = xray.spans_html("a b c d e", answers)
    assert without_tags(re.sub("<sup.*?</sup>", "", html)) == "a b c d e"
    assert [badge in html for badge in ("1 · 3.0", "2 · 2.0", "3 · 1.0")] == [True] * 3
    overlapped = next(mark for mark in re.findall("<mark.*?</mark>", html) if mark.endswith(">c</mark>"))
    assert overlapped.count("no-repeat") == 2
    assert xray.spans_html("a <b>", []).count("&lt;b&gt;") == 1


def test_the_threshold_strip_changes_at_the_margin_and_stays_in_its_bounds(session):
    seen = session.xray(QUESTION, PASSAGE)
    for bound in (30.0, 0.001):
        unanswered, answered = xray.threshold_strip(seen, 0.0, bound).data
        change = min(max(seen.margin, -bound), bound)
        assert unanswered.base[0] + unanswered.x[0] == pytest.approx(change)
        assert answered.base[0] == pytest.approx(change)
        assert answered.base[0] + answered.x[0] == pytest.approx(bound)


def test_windows_and_heads_are_all_drawn(session):
    seen = session.xray(QUESTION, LONG)
    figure = xray.windows_figure(seen, LONG)
    assert len(figure.data[0].y) == len(seen.readings)
    assert list(figure.data[2].x) == [reading.score for reading in seen.readings]
    answer = seen.answers.answers[0]
    found = session.span_attention(QUESTION, LONG, seen.answer_windows[0], answer.start, answer.end)
    squares = span_attention.heads_map(found.question_to_answer_LN, 0.1, (1, 0)).data[0]
    assert [list(place[:2]) for place in squares.customdata] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert list(squares.marker.line.width) == [1, 1, 3, 1]
    html = span_attention.attended_tokens_html(found, 0, 0)
    assert html.count("<bdi") == len(found.tokens)
    assert html.count("solid") == len(found.question)
    assert html.count("dashed") == len(found.answer)


# -- the page --------------------------------------------------------------------------------------------------


def test_moving_the_threshold_past_the_margin_gives_no_answer(shipped):
    app = open_page("xray", question=QUESTION, passage=PASSAGE, tau="20")
    margin = bertlab.load("squad").xray(QUESTION, PASSAGE).margin
    assert -20 < margin < 20
    result_html = lambda: next(body.proto.body for body in app.get("html") if 'class="say"' in body.proto.body)  # noqa: E731
    assert text("xray-answer-at", tau=20) in result_html()
    app.slider(key="tau").set_value(-20.0).run()
    assert text("xray-no-answer-at", tau=SignedNumber(-20)) in result_html()
    assert app.query_params["tau"] == "-20.0"


def test_the_page_opens_a_long_passage_at_the_best_window(shipped):
    app = open_page("xray", question=QUESTION, passage=LONG)
    assert not app.exception
    seen = bertlab.load("squad").xray(QUESTION, LONG, 10)
    assert app.number_input(key="window").value == seen.answers.best_window + 1
    assert len(read_charts(app)) == 3


def test_a_head_opens_in_the_attention_page(shipped):
    app = open_page("xray", question=QUESTION, passage=PASSAGE)
    app.number_input(key="neuron.between.layer").set_value(1).run()
    next(button for button in app.button if button.label == text("xray-open-head-in-attention")).click().run()
    assert not app.exception
    assert app.title[0].value == text("attention-title")
    assert [app.text_input(key=key).value for key in "ab"] == [QUESTION, PASSAGE]
    assert app.session_state["checkpoint"] == "squad"
    assert app.query_params["layer"] == "1"


def test_a_long_passage_is_read_in_batches_with_progress_and_only_once(shipped):
    batches, chosen = [], sessions.find_checkpoint("squad")

    def progress(rows):
        for row in rows:
            batches.append(row)
            yield row

    seen = calls.compute(chosen, "xray", "What fell?", LONG, n_best=10, progress=progress)
    num_batches = -(-len(seen.readings) // 8)
    assert len(batches) == num_batches > 1
    alone = sessions.open_session(chosen).answer("What fell?", LONG, 10)
    assert [answer.text for answer in seen.answers.answers] == [answer.text for answer in alone.answers]
    assert calls.compute(chosen, "xray", "What fell?", LONG, n_best=10, progress=progress) is seen
    assert len(batches) == num_batches, "nothing is read twice"


def test_long_work_shows_a_progress_bar(monkeypatch):
    events = []
    monkeypatch.setattr(frame, "t", lambda key, **values: text(key, **values))
    place = SimpleNamespace(progress=lambda *arguments: events.append(arguments), empty=lambda: events.append("gone"))
    assert list(frame.progress_bar(place, "answer-progress")([1, 2, 3])) == [1, 2, 3]
    assert events == ["gone"], "quick work shows no bar"
    monkeypatch.setattr(frame, "PROGRESS_DELAY", -1.0)
    list(frame.progress_bar(place, "answer-progress")([1, 2]))
    assert events[1:] == [(0.0, text("answer-progress", done=0, of=2)),
                        (0.5, text("answer-progress", done=1, of=2)), "gone"]  # fmt: skip
