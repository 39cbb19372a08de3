"""The sentences about figures: computed from the numbers drawn, and shown on the pages in both languages."""

import html
import re
from types import SimpleNamespace

import numpy as np
import pytest
from support.pages import bodies, errors, open_example_page

import bertlab
from bertlab.app import display, result_sentences, sentences
from bertlab.config.languages import render
from bertlab.explore.facts import HeadEffects, Outcome, PredictionChange, WordEffect, WordEffects
from bertlab.explore.pair_laboratory import RankedSentence
from bertlab.tasks.error_analysis import Group, ScoredRow
from bertlab.tasks.masked_lm import Candidate

LANGUAGES = ["en", "ko"]


def plain(said: sentences.Sentence, language: str = "en") -> str:
    return render(said.id, language, **said.values)


def make_candidates(*probabilities: float) -> list[Candidate]:
    return [Candidate(token, 0, share) for token, share in zip("abc", probabilities, strict=False)]


def test_candidates_are_compared_with_each_other():
    said = plain(sentences.candidates(make_candidates(0.6, 0.2, 0.1)))
    assert said == "a is 3.0 times as probable as b. The 3 tokens shown have 90.0% of the probability."
    assert plain(sentences.candidates(make_candidates(0.6))) == "a has 60.0% of the probability."


@pytest.mark.parametrize(
    ("label", "effect", "expected"),
    [
        ("positive", 1.5, "w has the largest effect: masking it lowers the log-odds of positive by 1.50."),
        ("positive", -1.5, "w has the largest effect: masking it raises the log-odds of positive by 1.50."),
        (None, 1.5, "w has the largest effect: masking it lowers the value by 1.50."),
        (None, -1.5, "w has the largest effect: masking it raises the value by 1.50."),
    ],
)
def test_the_word_with_the_largest_effect_is_named(label, effect, expected):
    words = tuple(WordEffect(text, 0, 1, False, value) for text, value in (("v", 0.5), ("w", effect), ("x", -0.1)))
    assert plain(sentences.word_effects(WordEffects(label, words))) == expected
    assert sentences.word_effects(WordEffects(label, ())) is None


def test_token_rates_are_compared():
    said = plain(sentences.token_rates({"own": (3.0, 0.0), "other": (1.5, 0.0)}))
    assert said == "other needs 1.5 tokens per word, own 3.0: 2.0 times as many."
    assert (
        plain(sentences.token_rates({"a": (2.0, 0.0), "b": (2.0, 0.0)}))
        == "Both vocabularies need 2.0 tokens per word."
    )
    assert sentences.token_rates({"a": (0.0, 0.0), "b": (0.0, 0.0)}) is None  # an empty text


def test_position_similarity_is_compared_at_two_distances():
    similarity = SimpleNamespace(learned_P=np.array([1.0, 0.5, *[0.3] * 8, 0.25, 0.1]))
    assert plain(sentences.positions(similarity)).endswith("0.50; vectors 10 positions apart, 0.25.")
    assert plain(sentences.positions(SimpleNamespace(learned_P=np.array([1.0, 0.5])))).endswith(
        "1 position apart, 0.50."
    )


def test_lengths_of_embeddings_are_means_over_tokens():
    parts = SimpleNamespace(
        token_TH=np.array([[3.0, 4.0], [0.0, 1.0]]), position_TH=np.ones((2, 1)), token_type_TH=np.zeros((2, 1))
    )
    assert plain(sentences.embeddings(parts)) == "Mean length of the vectors: token 3.00, position 1.00, segment 0.00."


def test_candidates_for_b_are_named_by_their_numbers():
    rows = [RankedSentence("x", 2, 0.9), RankedSentence("y", 0, 0.5), RankedSentence("z", 1, 0.01)]
    expected = "Candidate 3 is the most probable next sentence (90.0%), candidate 2 the least probable (1.0%)."
    assert plain(sentences.ranking(rows)) == expected
    assert plain(sentences.ranking(rows[:1])) == "Candidate 3 follows with a probability of 90.0%."


def test_the_least_certain_tag_is_named():
    words = [SimpleNamespace(text=text, tag=tag, probabilities=shares)
             for text, tag, shares in (("Rome", "B-LOC", (0.1, 0.9)), ("ran", "O", (0.6, 0.4)))]  # fmt: skip
    assert (
        plain(sentences.tags(SimpleNamespace(words=words)))
        == "The least certain word is ran: its tag O has a probability of 60.0%."
    )
    assert sentences.tags(SimpleNamespace(words=())) is None


def test_the_words_of_the_span_are_named():
    answers = SimpleNamespace(words=((0, 2), (3, 5), (6, 8)), start_probs=(0.1, 0.8, 0.1), end_probs=(0.1, 0.2, 0.7))
    said = plain(sentences.span(answers, "aa bb cc"))
    assert said == "The answer starts most probably at bb (80.0%) and ends most probably at cc (70.0%)."


def test_settled_predictions_are_counted():
    rank_LT = np.array([[9, 1, 9], [1, 1, 9], [1, 5, 9], [1, 1, 1]])  # embeddings, then layers 0 to 2
    lens = SimpleNamespace(rank_LT=rank_LT, final_T=("a", "b", "c"))
    said = "After layer 1, 1 of 3 positions already predicts the same token as after the last layer."
    assert plain(sentences.lens(lens)) == said
    assert plain(sentences.lens_at(lens, 0)) == "From layer 0 on, a stays in first place."
    assert plain(sentences.lens_at(lens, 1)) == "From layer 2 on, b stays in first place.", "layer 1 lost it again"
    lens.rank_LT = np.ones((4, 3), int)
    assert plain(sentences.lens_at(lens, 0)) == "a is in first place from the embeddings on."


@pytest.mark.parametrize(
    ("effects_LN", "expected"),
    [
        ([[0.1, -0.5], [0.3, 0.0]], "Head 3.1 helps a most: without it, the log-odds fall by 0.50. "
         "Head 4.0 hurts it most: without it, they rise by 0.30."),
        ([[0.1, 0.2]], "No head helps a. Head 3.1 hurts it most: without it, the log-odds rise by 0.20."),
        ([[-0.1, -0.2]], "Head 3.1 helps a most: without it, the log-odds fall by 0.20. No head hurts it."),
    ],
)  # fmt: skip
def test_the_heads_with_the_largest_effects_are_named(effects_LN, expected):
    effects = HeadEffects("masked_lm", (), "a", 0.0, (3, 4), np.array(effects_LN))
    assert plain(sentences.head_effects(effects, "a")) == expected


def test_what_a_layer_adds_is_a_length():
    layers = [SimpleNamespace(layer=layer, attention_norm=attention, feed_forward_norm=feed_forward)
              for layer, attention, feed_forward in ((None, None, None), (0, 1.0, 4.0), (1, 2.0, 3.0))]  # fmt: skip
    block = SimpleNamespace(layer=1, attention_H=np.array([3.0, 4.0]), feed_forward_H=np.array([1.0]), layers=layers)
    said = plain(sentences.block(block))
    assert "attention adds a vector of length 5.0 to this token, and the feed-forward network one of length 1.0" in said
    said = plain(sentences.layer_norms(block))
    assert said == "Attention adds most in layer 1 (length 2.0), the feed-forward network in layer 0 (4.0)."


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([1, 5, 6], "For 1 of 3 chosen tokens, the true token is the first guess; for 2, it is among the first 5."),
        ([1], "One token was chosen, and the true token is the first guess."),
        ([2], "One token was chosen, and the true token is not the first guess."),
    ],
)
def test_right_guesses_are_counted(ranks, expected):
    example = SimpleNamespace(predictions=[SimpleNamespace(rank=rank) for rank in ranks])
    assert plain(sentences.predictions(example)) == expected


@pytest.mark.parametrize(("own", "word"), [(80.0, "10.0 points below"), (95.0, "5.0 points above")])
def test_our_result_is_compared_with_the_best_published_one(own, word):
    rows = [("BERT large", "test", 90.0), ("BERT base", "dev", 85.0)]
    assert plain(sentences.results(rows)) == "BERT large has the best published result: 90.0."
    said = plain(sentences.results([*rows, ("mini", "validation", own), ("tiny", "validation", 70.0)]))
    assert said == f"Our best result, {own:.1f} (mini), is {word} the best published one, 90.0 (BERT large)."


def test_the_largest_differences_of_two_sides_are_named():
    units = [SimpleNamespace(label=label) for label in "ab"]
    difference_UU = np.array([[0.1, 0.0], [-0.3, 0.2]])
    comparison = SimpleNamespace(
        js_LN=np.array([[0.1, 0.5], [0.3, 0.2]]), units=units, difference_UU=lambda *_: difference_UU,
        cka_LM=np.array([[1.0, 0.1, 0.1], [0.1, 0.9, 0.1], [0.1, 0.1, 0.7]]), cosine_distance_LU=np.array([[0.0, 0.2]]),
    )  # fmt: skip
    said = "The attention of head 0.1 differs most (distance 0.50). 2 of 4 heads differ by less than half of that."
    assert plain(sentences.compared_heads(comparison)) == said
    said = "In head 1.0, the attention of b to a changes most: it falls by 30.0 percentage points."
    assert plain(sentences.compared_head(comparison, 1, 0)) == said
    assert plain(sentences.compared_layers(comparison)) == "The hidden states differ most after layer 1 (CKA 0.70)."
    said = "The hidden state of b differs most (cosine distance 0.20)."
    assert plain(sentences.changed_tokens(comparison, 0)) == said


def test_equal_sides_have_no_largest_difference():
    same = SimpleNamespace(js_LN=np.zeros((2, 2)), difference_UU=lambda *_: np.zeros((2, 2)))
    assert plain(sentences.compared_heads(same)) == "No head differs."
    assert plain(sentences.compared_head(same, 1, 0)) == "Head 1.0 does not differ."


def test_the_most_frequent_error_is_named():
    counts = np.array([[9, 1], [0, 5]])
    assert plain(result_sentences.confusion(["no", "yes"], counts)) == "Most frequent error: no predicted as yes, once."
    assert plain(result_sentences.confusion(["no", "yes"], 3 * counts)).endswith("no predicted as yes, 3 times.")
    assert plain(result_sentences.confusion(["no"], np.array([[9]]))) == "There is no error in these rows."
    assert counts[0, 0] == 9, "the counts themselves stay as they are"


def test_the_largest_part_has_its_share():
    assert plain(sentences.parts({"a": 3.0, "b": 1.0}, "A")) == "Largest part: A, with 75.0%."


def curve_points(*rows: tuple[str, str, float], metric: str = "loss") -> dict[str, list]:
    runs, splits, values = (list(column) for column in zip(*rows, strict=True))
    return {"run": runs, "split": splits, "tokens": list(range(len(rows))), metric: values}


def test_the_run_with_the_best_held_out_value_is_named():
    rows = (("a", "training", 1.0), ("a", "held-out", 3.0), ("a", "held-out", 4.0), ("b", "held-out", 3.5))
    said = plain(result_sentences.curve(curve_points(*rows), "loss", "loss"))
    assert said == "Lowest loss on held-out text: a, 3 (last value: 4)."
    rows = (("a", "held-out", 0.5), ("b", "held-out", 0.625), ("b", "held-out", 0.25))
    points = curve_points(*rows, metric="masked_accuracy")
    said = plain(result_sentences.curve(points, "masked_accuracy", "masked-token accuracy"))
    assert said == "Highest masked-token accuracy on held-out text: b, 62.5% (last value: 25.0%)."


def test_without_held_out_text_the_sentence_is_about_the_solid_curve_of_training():
    noisy = [("a", "training", value) for value in (4.0, 0.0, 5.0)]
    said = plain(result_sentences.curve(curve_points(*noisy), "loss", "loss"))
    assert said == "Lowest loss in training, smoothed: a, 3, at the end of the curve.", "3 is the mean of all three"
    rates = [("a", "training", value) for value in (0.0, 1e-3, 2.5e-4)]
    said = plain(result_sentences.curve(curve_points(*rates, metric="learning_rate"), "learning_rate", "learning rate"))
    assert said == "Highest learning rate in training: a, 1e-3 (last value: 2.5e-4)."
    empty = {"run": [], "split": [], "tokens": [], "loss": []}
    assert result_sentences.curve(empty, "loss", "loss") is None


def make_timeline(tracks=(), follows=None, probs=(), steps=(0, 10, 2000)):
    return SimpleNamespace(
        snapshots=[SimpleNamespace(step=step) for step in steps], follows=follows, probs=probs,
        tracks=[SimpleNamespace(words=("tea", "milk"), probs_SW=np.array(rows)) for rows in tracks],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("probs_SW", "since"),
    [
        ([[0.1, 0.2], [0.2, 0.3], [0.7, 0.1]], "2,000"),
        ([[0.1, 0.05], [0.2, 0.3], [0.7, 0.1]], "2,000"),  # in first place, then not, then again
        ([[0.1, 0.2], [0.4, 0.3], [0.7, 0.1]], "10"),
        ([[0.1, 0.0], [0.4, 0.3], [0.7, 0.1]], "0"),
    ],
)
def test_the_last_guess_of_a_timeline_is_followed_back(probs_SW, since):
    expected = f"tea has 10.0% at step 0 and 70.0% at step 2,000. It is the first guess for {{}} from step {since} on."
    assert plain(result_sentences.timeline(make_timeline([probs_SW]))) == expected.format("[MASK]")
    said = plain(result_sentences.timeline(make_timeline([probs_SW, probs_SW], follows=(0.5, 0.5, 0.5))))
    assert said == expected.format("the first [MASK]")


def test_a_timeline_without_mask_is_about_the_pair_or_the_attention():
    said = plain(result_sentences.timeline(make_timeline(follows=(0.5, 0.7, 0.9))))
    assert said == "The probability that B follows A is 50.0% at step 0 and 90.0% at step 2,000."
    first, last = np.zeros((2, 1, 2, 2), np.float16), np.zeros((2, 1, 2, 2), np.float16)
    first[..., 0] = last[..., 0] = 1.0
    last[1, 0, 1] = (0.5, 0.5)  # layer 1: one of two tokens moves half of its attention
    said = plain(result_sentences.timeline(make_timeline(probs=(first, first, last))))
    assert said.endswith("head 1.0 changes most: on average, 25.0% of its attention moves to other tokens.")


def test_one_snapshot_is_compared_with_nothing():
    said = plain(result_sentences.timeline(make_timeline([[[0.6, 0.2]]], steps=(5,))))
    assert said == "At step 5, the first guess for [MASK] is tea (60.0%)."
    assert result_sentences.timeline(make_timeline(follows=(0.5,), steps=(5,))) is None


def test_the_best_and_the_worst_group_are_named():
    groups = [Group("who", (0, 1), 50.0, 60.0), Group("", (2,), 0.0, 20.0), Group("why", (3,), 0.0, 40.0)]
    said = plain(result_sentences.groups(groups, "other"))
    assert said == "Highest F1: who (60.0%, 2 questions). Lowest F1: other (20.0%, 1 question)."
    assert plain(result_sentences.groups(groups[:1], "other")) == "All questions are in one group, with an F1 of 60.0%."
    assert plain(result_sentences.groups([groups[0]] * 2, "other")) == "All groups have an F1 of 60.0%."
    assert result_sentences.groups([], "other") is None


def test_the_errors_of_a_regression_are_summed_up():
    rows = [ScoredRow(id, ("t",), "", "", 0.0, None, values)
            for id, values in (("a", (1.0, 1.5)), ("b", (-4.0, -2.5)))]  # fmt: skip
    said = plain(result_sentences.errors(rows))
    assert said == (
        "On average, predictions are 1.00 away from the labels. "
        "Largest error: row b, with label −4.00 and prediction −2.50."
    )
    said = plain(result_sentences.errors(rows[:1]))
    assert said == "The prediction 1.50 is 0.50 away from the label 1.00."


def test_windows_are_compared_by_their_scores():
    values = (((0, 2), 1.0, -2.0), (None, -np.inf, -3.0), ((4, 6), 4.5, -1.0))
    names = ("answer", "score", "no_answer_score")
    readings = [SimpleNamespace(**dict(zip(names, reading, strict=True))) for reading in values]
    said = plain(sentences.windows(SimpleNamespace(readings=readings)))
    assert said == (
        "The best span is in window 3 (score 4.50), 3.50 above the best span of window 1. "
        "The lowest no-answer score is that of window 2 (−3.00)."
    )
    said = plain(sentences.windows(SimpleNamespace(readings=readings[1:])))
    assert said.startswith("Only window 2 has a possible span (score 4.50).")
    assert sentences.windows(SimpleNamespace(readings=readings[1:2])) is None


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ((0.4, 0.3), "Largest change: the probability of b rises by 20.0 percentage points."),
        ((0.2, 0.15), "Largest change: the probability of no answer falls by 30.0 percentage points."),
        ((0.5004, 0.0995), "No probability changes by 0.1 percentage points or more."),
    ],
)
def test_the_outcome_that_changes_most_is_named(after, expected):
    outcomes = tuple(Outcome(label, before, value, 0.0, 0.0)
                     for label, before, value in zip(("", "b"), (0.5, 0.1), after, strict=True))  # fmt: skip
    change = PredictionChange("span", outcomes, 0)
    assert plain(sentences.prediction_change(change, {"": "no answer"})) == expected


def test_texts_in_a_sentence_are_escaped(monkeypatch):
    drawn = []
    monkeypatch.setattr("bertlab.app.display.st.html", drawn.append)
    monkeypatch.setattr("bertlab.app.display.t", lambda id, **values: render(id, "en", **values))
    display.sentence(sentences.candidates([Candidate("<i>", 0, 1.0)]))
    display.sentence(None)
    assert drawn == ['<p class="small" dir="auto"><b>&lt;i&gt;</b> has 100.0% of the probability.</p>']


@pytest.mark.slow
@pytest.mark.skipif("squad" not in bertlab.shipped(), reason="no shipped checkpoints")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("screen", "parameters", "ids"),
    [
        ("start", {}, ["candidates"]),
        ("fill_mask", {"text": "She opened the [MASK]."}, ["candidates"]),
        ("wordpiece", {"part": "positions"}, ["positions"]),
        ("wordpiece", {"part": "compare"}, ["token-rates"]),
        ("input", {}, ["embeddings"]),
        ("attention", {"look": "neuron"}, ["block", "layer-norms"]),
        ("next_sentence", {"nsp": "candidates"}, ["ranking"]),
        ("question", {}, ["span"]),
        ("depth", {}, ["lens", "lens-at"]),
        ("pretraining", {}, ["predictions"]),
        ("cost", {}, ["parts"]),
        ("paper", {}, ["results"]),
        ("training", {}, ["curve"]),
        ("time_machine", {}, ["timeline-mask"]),
        ("evaluation", {"most": "50"}, ["confusion"]),
        ("evaluation", {"most": "50", "measure": "question"}, ["groups"]),
        ("evaluation", {"most": "50", "checkpoint": "stsb"}, ["errors"]),
        ("xray", {"passage": "The tower opened in 1931. " * 100}, ["windows"]),
        ("heads", {"changes": "0"}, ["prediction-change"]),
    ],
)
def test_pages_show_their_sentences(monkeypatch, screen, parameters, ids, language):
    computed, show = [], display.sentence
    monkeypatch.setattr(display, "sentence", lambda said: (computed.append(said), show(said)))
    app = open_example_page(screen, lang=language, **parameters)
    assert not errors(app)
    assert [id for id in ids if not any(said and said.id.startswith(f"sentence-{id}") for said in computed)] == []
    shown = [re.sub("</?b>", "", body) for body in bodies(app)]
    for said in filter(None, computed):
        assert any(html.escape(render(said.id, language, **said.values), quote=False) in body for body in shown)
