"""Multiple choice: the parts of a score, their figures, and the page."""

import json

import numpy as np
import pytest
from support.figures import draw_from_code, read_charts, saved_figures, trace_values
from support.pages import HOSTILE, bodies, errors, open_example_page
from support.texts import text

import bertlab
from bertlab.abilities.choose import figures as choices
from bertlab.config.errors import MissingHead, TextError

CONTEXT = "She asked for tea."
ENDINGS = ["He brought a kettle.", "The boats stayed in.", "A train leaves at six."]


@pytest.fixture
def chooser(shipped):
    return bertlab.load("comve")


def test_products_with_the_vector_add_up_to_the_scores(chooser):
    scores = chooser.choice_scores(CONTEXT, ENDINGS)
    assert scores.choices == tuple(chooser.choose(CONTEXT, ENDINGS))
    sums = scores.products_CH.sum(1) + scores.bias
    assert sums == pytest.approx([choice.score for choice in scores.choices], abs=1e-5)
    assert sum(choice.probability for choice in scores.choices) == pytest.approx(1, abs=1e-5)


def test_a_score_does_not_depend_on_the_other_choices(chooser):
    first = chooser.choice_scores(CONTEXT, ENDINGS[:2]).choices[0]
    assert first.score == pytest.approx(chooser.choice_scores(CONTEXT, ENDINGS).choices[0].score, abs=1e-5)


def test_choice_scores_need_two_choices_and_an_output_layer(chooser):
    with pytest.raises(TextError) as error:
        chooser.choice_scores(CONTEXT, ENDINGS[:1])
    assert error.value.id == "too-few-choices"
    with pytest.raises(MissingHead):
        bertlab.load("strongest").choice_scores(CONTEXT, ENDINGS)


def test_bars_of_the_products_add_up_to_the_difference_of_the_scores(chooser):
    scores = chooser.choice_scores(CONTEXT, ENDINGS)
    bars = choices.choice_products(scores, 2, 0, limit=5).data[0]
    assert len(bars.y) == 6
    assert sum(bars.y) == pytest.approx(scores.choices[2].score - scores.choices[0].score, abs=1e-5)
    sizes = np.abs(bars.y[:5])
    assert (np.diff(sizes) <= 0).all(), "the largest differences come first"


def test_probability_axis_ends_at_100_percent_unless_zoomed(chooser):
    scores = chooser.choice_scores(CONTEXT, ENDINGS)
    largest = max(choice.probability for choice in scores.choices)
    assert choices.choice_bars(scores).layout.xaxis.range[1] >= 1
    assert choices.choice_bars(scores, zoom=True).layout.xaxis.range[1] < 1.3 * largest


def open_choose(**values):
    names = {"context": CONTEXT} | {f"ending{number}": ending for number, ending in enumerate(ENDINGS)}
    return open_example_page("choose", **(names | values))


@pytest.mark.parametrize("language", ["en", "ko"])
def test_page_shows_the_most_probable_ending(shipped, chooser, language):
    app = open_choose(lang=language)
    assert not app.exception
    assert not errors(app)
    best = max(chooser.choose(CONTEXT, ENDINGS), key=lambda choice: choice.probability)
    assert any(f"<b>{best.text}</b>" in body for body in bodies(app))


@pytest.mark.parametrize("language", ["en", "ko"])
def test_page_opens_with_an_example(shipped, language):
    app = open_example_page("choose", lang=language)
    assert not errors(app)
    assert len([field for field in app.text_input if field.key.startswith("ending")]) == 3


def test_number_of_endings_follows_the_link(shipped):
    app = open_choose(endings="5", ending3="Some bread.", ending4="Two cups.")
    assert len([field for field in app.text_input if field.key.startswith("ending")]) == 5
    assert not errors(app)
    app = open_choose(endings="99")
    assert len([field for field in app.text_input if field.key.startswith("ending")]) == 5


def test_an_empty_ending_is_reported_in_one_line(shipped):
    app = open_choose(endings="4")
    assert not app.exception
    assert any(text("choose-empty", number=4) in body for body in bodies(app))


def test_hostile_endings_are_drawn_as_text(shipped):
    app = open_choose(context=HOSTILE[:45], ending0=HOSTILE, ending1=HOSTILE[::-1])
    assert not app.exception
    assert all("<script" not in body and "<img" not in body for body in bodies(app))


def test_code_of_the_menus_draws_the_figures(shipped, monkeypatch):
    app = open_choose()
    drawings = read_charts(app)
    assert len(drawings) == 2
    for saved, drawing in zip(saved_figures(app), drawings, strict=True):
        redrawn = json.loads(draw_from_code(saved["code"], monkeypatch).to_json())
        assert trace_values(redrawn) == trace_values(drawing)
