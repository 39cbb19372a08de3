"""WordPiece step by step: the search, the merges, position vectors, and their page."""

import itertools
import random

import numpy as np
import pytest
from support.figures import read_charts
from support.hard_strings import HARD_STRINGS
from support.pages import HOSTILE, bodies, errors, open_example_page
from support.texts import text
from support.tiny_model import TEXTS

import bertlab
from bertlab.abilities.wordpiece import figures as wordpiece
from bertlab.abilities.wordpiece.positions import make_sinusoids
from bertlab.config.errors import TextError
from bertlab.text.tokenizers.search import find_merges, search_word, shows_merge_order
from bertlab.text.tokenizers.wordpiece import Tokenizer


def tokens_of(tokenizer, text):
    return [token for search in tokenizer.search(text) for token in search.tokens]


@pytest.mark.parametrize("string", [*HARD_STRINGS, *TEXTS, HOSTILE, "x" * 5000, "tea\0\x07bowl", "a [MASK] b[SEP]c"])
def test_search_gives_the_tokens_of_the_tokenizer(tiny_tokenizer, string):
    assert tokens_of(tiny_tokenizer, string) == tiny_tokenizer.encode_segments([string])[0].tokens


def test_search_gives_the_tokens_of_random_words(tiny_tokenizer):
    rng = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyzé할머니가#'-"
    words = ["".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(500)]
    for word in words:
        assert tokens_of(tiny_tokenizer, word) == tiny_tokenizer.encode_segments([word])[0].tokens, word


def test_each_step_tries_the_longest_candidates_first():
    search = search_word("teapots", {"tea": 1, "te": 2, "##pot": 3, "##s": 4})
    assert search.tokens == ("tea", "##pot", "##s")
    assert search.steps[0].rejected == ("teapots", "teapot", "teapo", "teap")
    assert search.steps[1].rejected == ("##pots",)
    assert [step.start for step in search.steps] == [0, 3, 6]


def test_a_word_without_tokens_and_a_long_word_become_unknown():
    assert search_word("tex", {"te": 1}).tokens == ("[UNK]",)
    search = search_word("tea" * 40, {"tea": 1, "##tea": 2})
    assert search.is_too_long
    assert search.tokens == ("[UNK]",)


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    words = ["lighthouse", "light", "house", "houses", "lights", "keeper", "keep"]
    return Tokenizer.train(list(itertools.chain.from_iterable([word] * 9 for word in words)), 90)


def test_merges_of_a_trained_vocabulary_build_every_token(trained):
    merged = [token for token in trained.vocab if len(token.removeprefix("##")) > 1 and token[0] != "["]
    assert len(merged) > 10
    for history in trained.merges(merged):
        assert history.merges[-1].token == history.token
        ranks = [merge.rank for merge in history.merges]
        assert min(ranks) >= 1
        assert history.merges[-1].rank == max(ranks), "the token itself is made last"
        for merge in history.merges:
            assert merge.left + merge.right.removeprefix("##") == merge.token
            assert max(trained.vocab[merge.left], trained.vocab[merge.right]) < trained.vocab[merge.token]


def test_ranks_count_the_merges_of_training(trained):
    merged = [token for token in trained.vocab if len(token.removeprefix("##")) > 1 and token[0] != "["]
    assert sorted(history.merges[-1].rank for history in trained.merges(merged)) == list(range(1, len(merged) + 1))


def test_an_ambiguous_history_is_marked():
    vocab = {"a": 0, "##b": 1, "##c": 2, "ab": 3, "##bc": 4, "abc": 5}
    assert not find_merges("abc", vocab, 3).is_unique
    assert find_merges("ab", vocab, 3).is_unique


def test_merges_are_unknown_for_a_vocabulary_in_another_order(tiny_tokenizer, tmp_path):
    assert not shows_merge_order({"tea": 0, "t": 1, "##e": 2, "##a": 3}, frozenset())
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "##pot"]))
    assert Tokenizer.from_vocab(vocab).merges(["tea"]) is None


def test_similarity_of_positions_is_the_cosine_of_their_vectors(shipped):
    session = bertlab.load("strongest")
    found = session.position_similarity(size=8)
    weight = session.model.embeddings.position.weight.detach().double().numpy()
    first, second = found.positions_S[1], found.positions_S[5]
    cosine = weight[first] @ weight[second] / np.linalg.norm(weight[first]) / np.linalg.norm(weight[second])
    assert found.learned_SS[1, 5] == pytest.approx(cosine, abs=1e-5)
    pairs = [weight[n] @ weight[n + 3] / np.linalg.norm(weight[n]) / np.linalg.norm(weight[n + 3])
             for n in range(len(weight) - 3)]  # fmt: skip
    assert found.learned_P[3] == pytest.approx(np.mean(pairs), abs=1e-5)
    assert np.diagonal(found.sinusoidal_SS) == pytest.approx(1)


def test_sinusoids_depend_only_on_the_distance():
    vectors = make_sinusoids(40, 64)
    products = vectors @ vectors.T
    assert np.ptp(np.diagonal(products, 7)) < 1e-9
    assert make_sinusoids(5, 7).shape == (5, 7)


def test_empty_text_is_an_error(shipped):
    with pytest.raises(TextError) as error:
        bertlab.load("strongest").search_tokens(" ")
    assert error.value.id == "text-empty"


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("part", ["search", "merges", "compare", "positions"])
def test_every_part_of_the_page_opens_with_its_example(shipped, language, part):
    app = open_example_page("wordpiece", lang=language, part=part)
    assert not errors(app)
    assert len(read_charts(app)) == {"compare": 1, "positions": 2}.get(part, 0)


def test_page_shows_the_search(shipped):
    app = open_example_page("wordpiece", words="Teapots [MASK]")
    (drawn,) = [body for body in bodies(app) if "bl-wordpiece" in body]
    session = bertlab.load("strongest")
    assert drawn == wordpiece.search_html(session.search_tokens("Teapots [MASK]"))
    app.text_input(key="words").set_value("tea").run()
    assert app.query_params["words"] == "tea"


@pytest.mark.parametrize("part", ["search", "merges", "compare"])
@pytest.mark.parametrize("string", ["", "   ", HOSTILE, "x" * 5000, "tea " * 600])
def test_bad_input_gets_at_most_one_line(shipped, part, string):
    app = open_example_page("wordpiece", part=part)
    app.text_input(key="words").set_value(string).run()
    assert not app.exception
    assert len(errors(app)) == (not string.strip())
    assert all("<script" not in body and "<img" not in body for body in bodies(app))


def test_many_words_are_drawn_in_part(shipped):
    app = open_example_page("wordpiece", words="tea " * 30)
    assert any(text("wordpiece-words-shown", shown=12, total=30) in body for body in bodies(app))
