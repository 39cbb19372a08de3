"""Guesses for a masked word beside a run's snapshots."""

import numpy as np
import pytest
from bertlab_app.classroom import current, roles
from support.errors import raises_error
from support.figures import read_charts
from support.pages import bodies, errors, open_page

from bertlab.abilities.timeline.compute import timeline
from bertlab.abilities.timeline.guess_figures import guess_bars, guess_columns
from bertlab.abilities.timeline.guesses import compare_guesses
from bertlab.cli.app import CLASSROOM_ADDRESS, CLASSROOM_KEY, CLASSROOM_LESSON
from bertlab.config.errors import TextError

TEXT = "Green [MASK]."


def test_probabilities_are_those_of_the_time_machine(shipped_runs):
    run = shipped_runs / "learner"
    track = timeline(run, TEXT).tracks[0]
    word = next(word for word in track.words if word.isalpha())
    compared = compare_guesses(run, TEXT, {word: 3, "qqqqzzzz xx": 1})
    assert compared.words == (word, "qqqqzzzz xx")
    assert np.allclose(compared.shares_W, [0.75, 0.25])
    assert np.allclose(compared.probs_SW[:, 0], track.probs_SW[:, track.words.index(word)], atol=1e-3)
    assert np.all(compared.probs_SW[:, 1] == 0), "several tokens have no probability"
    assert np.allclose(compared.overlap_S, np.minimum(compared.probs_SW[:, 0], 0.75))
    assert compared.overlap_S[compared.closest] == compared.overlap_S.max()
    columns = guess_columns(compared)
    assert columns["people"][:2] == [0.75, 0.25]
    assert len(set(columns["word"])) == len(columns["word"])
    figure = guess_bars(compared, 0, lang="ko")
    assert figure.layout.xaxis.range[1] > max(max(bar.x) for bar in figure.data), "all bars are drawn to their ends"
    assert [trace.name for trace in figure.data] == ["BERT", "사람들의 예측"]


def test_no_mask_and_no_guess_are_errors(shipped_runs):
    with raises_error(TextError, "guesses-no-mask"):
        compare_guesses(shipped_runs / "learner", "Green tea.", {"tea": 1})
    with raises_error(TextError, "guesses-missing"):
        compare_guesses(shipped_runs / "learner", TEXT, {})


def test_the_page_compares_typed_guesses(shipped_runs):
    app = open_page("guess", run="learner", **{"guess-text": TEXT}, guesses="tea, tea, , Cup")
    assert not errors(app)
    assert read_charts(app)
    assert read_charts(open_page("guess", run="learner", guesses=" ,", **{"guess-text": TEXT})) == []


@pytest.mark.parametrize("code", ["en", "ko"])
def test_in_a_class_the_page_shows_the_guesses_only_after_the_reveal(code, shipped_runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in (
        (CLASSROOM_LESSON, str(tmp_path / "tea.toml")),
        (CLASSROOM_KEY, "k" * 20),
        (CLASSROOM_ADDRESS, "http://x/"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(roles, "read_cookie", lambda name: "")
    (tmp_path / "tea.toml").write_text(
        'title="T"\nminutes=1\n[[steps]]\ntitle="G"\nsay="S"\npage="guess?run=learner&guess-text=Green [MASK]."\n'
        'question={ask="W?", kind="word"}'
    )
    current.open_store.cache_clear()
    store = current.open_store()
    store.set_phase("open")
    store.record_guess("a", 0, "matcha")
    app = open_page("guess", lang=code)
    assert app.session_state["url.page"] == "guess"
    assert not read_charts(app)
    assert not any("matcha" in body for body in bodies(app))
    store.set_phase("revealed")
    assert read_charts(app.run())
    current.open_store.cache_clear()
