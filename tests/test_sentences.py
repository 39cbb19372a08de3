"""The sentences about figures: computed from the numbers drawn, and shown on the pages in both languages."""

import html
import re
from types import SimpleNamespace

import numpy as np
import pytest
from support.pages import bodies, errors, open_example_page

import bertlab
from bertlab.app import display, sentences
from bertlab.config.languages import render
from bertlab.explore.facts import HeadEffects, WordEffect, WordEffects
from bertlab.explore.pair_laboratory import RankedSentence
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
    assert plain(sentences.tags(SimpleNamespace(words=words))) == "The least certain word is ran: its tag O has 60.0%."
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
    assert plain(sentences.confusion(["no", "yes"], counts)) == "Most frequent error: no predicted as yes, once."
    assert plain(sentences.confusion(["no", "yes"], 3 * counts)).endswith("no predicted as yes, 3 times.")
    assert plain(sentences.confusion(["no"], np.array([[9]]))) == "There is no error in these rows."
    assert counts[0, 0] == 9, "the counts themselves stay as they are"


def test_the_largest_part_has_its_share():
    assert plain(sentences.parts({"a": 3.0, "b": 1.0}, "A")) == "Largest part: A, with 75.0%."


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
