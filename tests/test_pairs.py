"""Sentence pairs: half are IsNext, the others come from other documents, and lengths do not reveal which."""

import numpy as np
import pytest
from support.sentence_pairs import bag_of_lengths_accuracy, documents

from bertlab.text.pretraining.sentence_pairs import IS_NEXT, NOT_NEXT, make_pairs


@pytest.fixture(scope="module")
def pairs(library):
    return make_pairs(library, 128, np.random.default_rng(1))


def document_of(library, position_E):
    """The index of the document that each token position belongs to."""
    segment = np.searchsorted(library.sentence_start, position_E, side="right") - 1
    return np.searchsorted(library.document_start, segment, side="right") - 1


def test_half_are_next(pairs):
    n = len(pairs)
    assert n > 2000
    assert np.mean(pairs.label_E == IS_NEXT) == pytest.approx(0.5, abs=4 * 0.5 / n**0.5)


def test_only_is_next_pairs_are_from_one_document_and_in_order(library, pairs):
    for start, length, document_E in (
        (pairs.a_start_E, pairs.a_length_E, pairs.document_a_E),
        (pairs.b_start_E, pairs.b_length_E, pairs.document_b_E),
    ):
        assert (length >= 1).all()
        assert np.array_equal(document_of(library, start), document_E)
        assert np.array_equal(document_of(library, start + length - 1), document_E)
    is_next = pairs.label_E == IS_NEXT
    assert np.array_equal(pairs.document_a_E == pairs.document_b_E, is_next)
    gap = pairs.b_start_E - (pairs.a_start_E + pairs.a_length_E)
    assert (gap[is_next] >= 0).all()  # a gap holds tokens that were removed to make the pair fit
    assert (library.source_D[pairs.document_a_E] == library.source_D[pairs.document_b_E]).all()


def test_pairs_fit_and_most_are_full(pairs):
    total = pairs.a_length_E + pairs.b_length_E + 3
    assert total.max() <= 128
    assert np.mean(total == 128) > 0.7


def test_most_tokens_of_a_document_are_used(library, pairs):
    seen = np.zeros(len(library.tokens), bool)
    for start, length in ((pairs.a_start_E, pairs.a_length_E), (pairs.b_start_E, pairs.b_length_E)):
        for s, n in zip(start, length, strict=True):
            seen[s : s + n] = True
    assert seen.mean() > 0.8


def test_lengths_do_not_reveal_the_label(pairs):
    assert bag_of_lengths_accuracy(pairs) < 0.56


def test_lengths_in_short_documents_do_not_reveal_the_label():
    rng = np.random.default_rng(3)
    short = documents([rng.integers(5, 40, rng.integers(2, 8)).tolist() for _ in range(4000)])
    assert bag_of_lengths_accuracy(make_pairs(short, 128, np.random.default_rng(0))) < 0.58


@pytest.mark.parametrize("share", [0.5, 1.0], ids=["half of the documents", "all documents"])
def test_documents_of_one_sentence_do_not_reveal_the_label(share):
    rng = np.random.default_rng(3)
    lengths = [rng.integers(5, 40, 1 if rng.random() < share else rng.integers(3, 9)).tolist() for _ in range(4000)]
    library = documents(lengths)
    pairs = make_pairs(library, 128, np.random.default_rng(4))
    assert np.mean(pairs.label_E == IS_NEXT) == pytest.approx(0.5, abs=4 * 0.5 / len(pairs) ** 0.5)
    assert bag_of_lengths_accuracy(pairs) < 0.56
    single_D = np.diff(library.document_start) == 1
    inside_E = np.isin(pairs.b_start_E, library.sentence_start, invert=True)
    for label in (IS_NEXT, NOT_NEXT):  # the position at which B begins does not reveal it either
        assert inside_E[(pairs.label_E == label) & single_D[pairs.document_a_E]].mean() > 0.9


def test_a_single_document_has_only_is_next_pairs():
    for copies in (1, 5):
        library = documents([[10] * 50]).repeat(np.array([copies]))
        pairs = make_pairs(library, 64, np.random.default_rng(0))
        assert len(pairs)
        assert (pairs.label_E == IS_NEXT).all()


def test_sources_with_few_documents_draw_random_sentences_from_one_another():
    """A folder of files, one text each, has as many sources as documents."""
    sources = np.array([*range(2, 32), *[0] * 16, *[1] * 16])
    library = documents([[10] * 50] * len(sources), sources)
    pairs = make_pairs(library, 64, np.random.default_rng(0))
    a, b = sources[pairs.document_a_E], sources[pairs.document_b_E]
    for few in (True, False):
        assert np.mean(pairs.label_E[(a > 1) == few] == NOT_NEXT) == pytest.approx(0.5, abs=0.1)
    assert np.array_equal(np.minimum(a, 2), np.minimum(b, 2))


def test_copies_of_a_document_do_not_count_as_other_documents():
    library = documents([[10] * 50] * 20).repeat(np.array([40] + [1] * 19))
    pairs = make_pairs(library, 64, np.random.default_rng(0))
    random = pairs.label_E == NOT_NEXT
    assert random.sum() > 200
    whose = library.original_D
    assert (whose[pairs.document_a_E[random]] != whose[pairs.document_b_E[random]]).all()


def test_the_same_seed_gives_the_same_pairs(library):
    first, second = (make_pairs(library, 128, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(first.b_start_E, second.b_start_E)
    assert not np.array_equal(first.label_E[:500], make_pairs(library, 128, np.random.default_rng(6)).label_E[:500])


@pytest.mark.parametrize("lengths", [[[1]], [[1], [1]], [[500]], [[1, 1]], [[300, 1], [2]]])
def test_very_short_or_long_documents(lengths):
    for seed in range(20):
        pairs = make_pairs(documents(lengths), 32, np.random.default_rng(seed))
        assert (pairs.a_length_E >= 1).all()
        assert (pairs.b_length_E >= 1).all()
        assert (pairs.a_length_E + pairs.b_length_E <= 29).all()


def test_the_place_of_a_random_sentence_in_its_document_does_not_reveal_the_label():
    """In short documents, a B that follows A often ends its document and never begins it."""
    rng = np.random.default_rng(3)
    library = documents([rng.integers(5, 20, rng.integers(8, 20)).tolist() for _ in range(3000)])

    def difference(measure, **options):
        pairs = make_pairs(library, 128, np.random.default_rng(0), **options)
        begin_E, end_E = (library.sentence_start[library.document_start[pairs.document_b_E + n]] for n in (0, 1))
        values_E = measure(pairs.b_start_E - begin_E, end_E - pairs.b_start_E - pairs.b_length_E)
        next_mean, other_mean = (values_E[pairs.label_E == label].mean() for label in (IS_NEXT, NOT_NEXT))
        return abs(next_mean - other_mean), bag_of_lengths_accuracy(pairs)

    for measure in (lambda before, after: after < 5, lambda before, after: before / (before + after + 1)):
        anywhere, _ = difference(measure)
        same, accuracy = difference(measure, random_b_position="same")
        assert anywhere > 0.25
        assert same < anywhere / 5
        assert accuracy < 0.58
