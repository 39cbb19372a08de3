"""The examples with which the pages open still show something on the checkpoints that ship."""

import numpy as np
import pytest
from bertlab_app.examples import read_examples
from support.pages import bodies, open_example_page
from support.texts import text

import bertlab
from bertlab.config.languages import render
from bertlab.tasks.registry import TASK_TYPES
from bertlab.text.word_spans import find_words, mask_spans
from bertlab.views.numbers import percent

pytestmark = pytest.mark.skipif("strongest" not in bertlab.find_shipped_checkpoints(), reason="no shipped checkpoints")
LANGUAGES = ["en", "ko"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_masked_word_of_the_example_is_among_the_likeliest(language):
    examples = read_examples(language)
    start, end = find_words(examples.sentence)[int(examples.masked_word)]
    session = bertlab.load(bertlab.default_checkpoint("fill-mask", language))
    masked = mask_spans(examples.sentence, [(start, end)])
    (fill,) = session.fill_mask(masked, originals=[examples.sentence[start:end]])
    assert fill.original.rank <= 3
    assert fill.original.probability > 0.1


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_next_sentence_examples_tell_topics_apart(language):
    session = bertlab.load(bertlab.default_checkpoint("next-sentence", language))
    pairs = read_examples(language).next_sentence_pairs
    probabilities = {name: session.next_sentence(*pair).probability for name, pair in pairs.items()}
    assert probabilities["follow"] > 0.9
    assert probabilities["other"] < 0.4


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_head_changes_the_prediction_of_head_surgery(language):
    session = bertlab.load(bertlab.default_checkpoint("fill-mask", language))
    effects = session.head_effects("masked_lm", read_examples(language).masked_sentence)
    assert np.abs(effects.effects_LN).max() > 0.6, "a head that nearly halves or doubles the odds"


@pytest.mark.parametrize(("language", "kind", "change"), [
    ("en", "masked_lm", 0.2), ("en", "sentence_pair", 0.3), ("en", "classification", 0.1),
    ("ko", "masked_lm", 0.3), ("ko", "classification", 0.05),
])  # fmt: skip
def test_the_tools_of_head_surgery_open_on_changes_that_matter(language, kind, change):
    examples = read_examples(language)
    texts = {"masked_lm": (examples.masked_sentence,), "sentence_pair": examples.pair}.get(kind, (examples.review,))
    session = bertlab.load(bertlab.default_checkpoint(TASK_TYPES[kind].command, language))
    row, patch = (
        session.intervene(kind, *texts, changes=part, other=examples.other_masked_sentence)
        for part in examples.surgery[kind]
    )
    assert abs(row.outcomes[0].after - row.outcomes[0].before) > change
    assert abs(patch.outcomes[0].after - patch.outcomes[0].before) > 0.1


def test_a_patched_hidden_state_halves_the_korean_next_sentence_probability():
    examples, session = read_examples("ko"), bertlab.load(bertlab.default_checkpoint("next-sentence", "ko"))
    part, options = examples.surgery["sentence_pair"][1], {"other": examples.other_masked_sentence}
    outcome = session.intervene("sentence_pair", *examples.pair, changes=part, **options).outcomes[0]
    assert outcome.before - outcome.after > 0.4


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "language"), [("row", "en"), ("patch", "ko")])
def test_a_tool_of_head_surgery_says_what_its_example_would_do(tool, language):
    examples = read_examples(language)
    session = bertlab.load(bertlab.default_checkpoint("fill-mask", language))
    part = examples.surgery["masked_lm"][tool == "patch"]
    outcome = session.intervene(
        "masked_lm", examples.masked_sentence, changes=part, other=examples.other_masked_sentence
    ).outcomes[0]
    app = open_example_page("heads", tool=tool, lang=language)
    shares = {"before": percent(outcome.before), "after": percent(outcome.after)}
    said = text("heads-preview", language, word=f"<b>{outcome.label}</b>", **shares)
    assert any(said in body for body in bodies(app))
    apply = next(button for button in app.button if button.label == text("heads-apply", language))
    apply.click().run()
    assert app.query_params["changes"] == part
    assert text("heads-preview-applied", language) in [caption.value for caption in app.caption]


def test_the_example_questions_are_answered_from_the_passage():
    examples = read_examples("en")
    session = bertlab.load("squad")
    answers = [session.answer(question, examples.passage).answers[0].text for question in examples.questions]
    assert answers[0] == "1987"
    assert answers[3] == "whale oil"
    assert "twenty-two miles" in answers[1]
    assert "three ships had been lost" in answers[2]


def test_the_korean_example_questions_are_answered_from_the_passage():
    examples = read_examples("ko")
    session = bertlab.load(bertlab.default_checkpoint("answer", "ko"))
    answers = [session.answer(question, examples.passage).answers[0].text for question in examples.questions]
    assert answers == ["1987년", "1987년", "박물관", "고래기름"]


def test_the_korean_example_pair_is_an_entailment():
    examples = read_examples("ko")
    assert bertlab.load("klue_nli").classify(*examples.similar_pair).best.label == "entailment"


def test_the_example_names_are_found():
    entities = bertlab.load("wikiann_en").tag(read_examples("en").text_with_names).entities
    assert {(entity.text, entity.label) for entity in entities} == {
        ("University of Vienna", "ORG"), ("Clara Schumann", "PER"), ("Lake Garda", "LOC"),
    }  # fmt: skip


def test_the_right_ending_is_chosen():
    examples = read_examples("en")
    choices = bertlab.load("comve").choose(examples.choice_context, list(examples.choices))
    assert max(choices, key=lambda choice: choice.probability).text == examples.choices[1]


@pytest.mark.parametrize(("name", "language"), [("sst2", "en"), ("nsmc", "ko")])
def test_the_example_review_is_positive(name, language):
    best = bertlab.load(name).classify(read_examples(language).review).best
    assert best.label == "positive"
    assert best.probability > 0.8


def test_the_comparisons_open_on_checkpoints_of_the_language():
    for language, before, after, models in (
        ("en", "strongest", "squad", ["strongest", "scratch"]),
        ("ko", "korean_morphemes", "korquad", ["korean", "korean_morphemes"]),
    ):
        page = open_example_page("compare", lang=language)
        assert {before, after} <= {box.value for box in page.selectbox}
        assert read_examples(language).pair[0] in [field.value for field in page.text_input]
        page = open_example_page("compare", lang=language, between="models")
        assert models in [box.value for box in page.multiselect]


def test_a_page_without_a_checkpoint_of_the_language_says_so():
    note = render("checkpoint-none-in-language", "ko", language=text("language-name-ko", "ko"))
    for page, is_expected in (("choose", True), ("classify", False)):
        app = open_example_page(page, lang="ko")
        assert any(note in body for body in bodies(app)) == is_expected
