"""Comparison of two checkpoints or two inputs: the distances and similarities equal those of their definitions."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from support.colours import SIGHTS, oklab
from support.errors import raises_error
from support.tiny_model import TEXTS

import bertlab
from bertlab.abilities.compare import figures as differences
from bertlab.abilities.compare.compute import compare, js_distance, linear_cka, mean_distance, pool_attention
from bertlab.checkpoints import checkpoint
from bertlab.config.errors import BertlabError, TextError
from bertlab.nn.fast.model import FastBert
from bertlab.text.tokenizers.wordpiece import Tokenizer
from bertlab.views.figures import DIVERGING

GRID = (Path(__file__).parent.parent / "app" / "bertlab_app" / "static" / "heads.js").read_text(encoding="utf-8")
TEXT, PAIR = "The keeper of the old mill carried the lantern.", "Rain fell."


@pytest.fixture(scope="module")
def one(tiny_checkpoint):
    return bertlab.load(tiny_checkpoint)


@pytest.fixture(scope="module")
def two(tmp_path_factory, tiny_model, tiny_tokenizer):
    """Another model of the same size and vocabulary."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = FastBert(tiny_model.config)
    return bertlab.load(checkpoint.save(tmp_path_factory.mktemp("two") / "two", model, tiny_tokenizer, {}))


@pytest.fixture(scope="module")
def foreign(tmp_path_factory, tiny_model):
    """Another vocabulary, depth and width."""
    tokenizer = Tokenizer.train(TEXTS, 200, cased=True, strip_accents=False, coverage=1.0)
    shape = tiny_model.config.replace(vocab_size=tokenizer.vocab_size, num_layers=3, hidden_size=24, num_heads=3)
    with torch.random.fork_rng():
        torch.manual_seed(8)
        model = FastBert(shape)
    return bertlab.load(checkpoint.save(tmp_path_factory.mktemp("foreign") / "foreign", model, tokenizer, {}))


def test_a_checkpoint_does_not_differ_from_itself(one):
    found = compare(one, one, TEXT, PAIR)
    assert found.unit_kind == "tokens"
    assert found.num_left_out == (0, 0)
    assert [unit.label for unit in found.units] == [row.token for row in one.encode(TEXT, PAIR)]
    assert np.allclose(found.signed_js_LN, 0)
    assert np.allclose(np.diagonal(found.cka_LM), 1)
    np.testing.assert_allclose(found.cosine_distance_LU, 0, atol=1e-6)


def test_differences_of_two_checkpoints_are_those_of_their_attention(one, two):
    found = compare(one, two, TEXT, PAIR)
    ours, theirs = (session.attention(TEXT, PAIR).probs_LNTT for session in (one, two))
    np.testing.assert_allclose(found.first_LNUU, ours, atol=1e-5)
    np.testing.assert_allclose(found.difference_UU(1, 0), theirs[1, 0] - ours[1, 0], atol=1e-5)
    assert np.all(found.js_LN > 0)
    assert np.array_equal(np.sign(found.signed_js_LN), np.sign(found.distance_difference_LN))
    np.testing.assert_allclose(np.abs(found.signed_js_LN), found.js_LN)
    back = compare(two, one, TEXT, PAIR)
    np.testing.assert_allclose(back.signed_js_LN, -found.signed_js_LN, atol=1e-6)
    np.testing.assert_allclose(back.cka_LM, found.cka_LM.T, atol=1e-6)


def test_js_distance_equals_that_of_scipy():
    distance = pytest.importorskip("scipy.spatial.distance")
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(9), (2, 5))
    first[0, :4] = 0
    first /= first.sum(-1, keepdims=True)
    expected = [distance.jensenshannon(p, q, base=2) for p, q in zip(first, second, strict=True)]
    np.testing.assert_allclose(js_distance(first, second), expected, atol=1e-9)


def test_linear_cka_equals_its_formula_and_ignores_rotation_and_scale():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 12, 5)), rng.normal(size=(3, 12, 7))
    similarities = linear_cka(first, second)
    for layer, x in enumerate(first):
        for other, y in enumerate(second):
            x0, y0 = x - x.mean(0), y - y.mean(0)
            squares = np.linalg.norm(y0.T @ x0) ** 2
            expected = squares / np.linalg.norm(x0.T @ x0) / np.linalg.norm(y0.T @ y0)
            assert similarities[layer, other] == pytest.approx(expected)
    rotation, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    assert linear_cka(first, 3 * first @ rotation + 1)[0, 0] == pytest.approx(1)
    assert linear_cka(first[:, :1], first[:, :1]).tolist() == [[0, 0], [0, 0]], "the CKA of a single unit is 0"


def test_attention_between_words_adds_keys_and_averages_queries():
    probs = np.random.default_rng(1).dirichlet(np.ones(4), (1, 1, 4))
    pooled = pool_attention(probs, [(0,), (1, 2), (3,)])[0, 0]
    assert pooled[0, 1] == pytest.approx(probs[0, 0, 0, 1] + probs[0, 0, 0, 2])
    assert pooled[1, 0] == pytest.approx((probs[0, 0, 1, 0] + probs[0, 0, 2, 0]) / 2)
    np.testing.assert_allclose(pooled.sum(-1), 1)
    assert mean_distance(np.eye(3)[::-1][None])[0] == pytest.approx(4 / 3)


def test_checkpoints_with_different_vocabularies_are_compared_by_words(one, foreign):
    found = compare(one, foreign, TEXT, PAIR)
    assert found.unit_kind == "words"
    labels = [unit.label for unit in found.units]
    assert labels == ["[CLS]", *TEXT[:-1].split(), ".", "[SEP]", "Rain", "fell", ".", "[SEP]"]
    for unit in found.units:
        for session, positions in ((one, unit.first_positions), (foreign, unit.second_positions)):
            spelt = "".join(session.encode(TEXT, PAIR)[at].token.removeprefix("##") for at in positions)
            assert spelt in (unit.label, unit.label.lower(), "[UNK]")
    assert not found.has_comparable_heads
    assert found.cosine_distance_LU is None
    assert found.cka_LM.shape == (3, 4)
    with raises_error(BertlabError, "compare-layers-differ"):
        differences.layer_differences(found)
    assert np.array(differences.layer_similarity(found).data[0].z).shape == (3, 4)


def test_inputs_of_equal_length_are_compared_position_by_position(one):
    found = compare(one, one, "green tea", None, "green bread")
    assert len(found.units) == len(one.encode("green tea")) == len(one.encode("green bread"))
    changed = [unit for unit in found.units if unit.first != unit.second]
    assert changed
    assert all(" → " in unit.label for unit in changed)
    assert found.cosine_distance_LU[0, 0] == pytest.approx(0), "the embedding of [CLS] is the same in both inputs"
    assert found.cosine_distance_LU[-1].max() > 0.001


def test_inputs_of_different_length_are_compared_at_their_common_tokens(one):
    found = compare(one, one, TEXT, None, "The old keeper of the mill carried the green lantern.")
    assert found.num_left_out[0] > 0
    assert found.num_left_out[1] > 0
    assert all(unit.first == unit.second for unit in found.units)
    np.testing.assert_allclose(found.first_LNUU.sum(-1), 1, atol=1e-6)
    assert found.first_LNUU.shape[-1] == found.cosine_distance_LU.shape[1] == len(found.units)


def test_inputs_with_nothing_in_common_are_refused_in_one_line(one):
    with raises_error(TextError, "compare-nothing-shared"):
        compare(one, one, "tea", None, "기차는 아침 일곱 시에 떠난다")


@pytest.mark.parametrize("text", ["", "tea " * 80])
def test_a_text_that_cannot_be_read_is_refused(one, two, text):
    for texts in ((text,), (TEXT, None, text)):
        with pytest.raises(TextError, match=r"^[^\n]+$"):
            compare(one, two, *texts)


def test_words_are_drawn_as_text(one, foreign):
    found = compare(one, foreign, "<b>tea</b> %{y}")
    for figure in (differences.head_difference(found, 0, 0), differences.layer_similarity(found)):
        assert "<b" not in figure.to_json().replace("\\u003c", "<")
    assert "&lt;" in differences.head_difference(found, 0, 0).layout.xaxis.ticktext


def test_the_figures_show_the_numbers(one, two):
    found = compare(one, two, "green tea and bread", None)
    heads = differences.head_differences(found, chosen=(1, 0))
    np.testing.assert_allclose(np.array(heads.data[0].z), found.signed_js_LN, atol=1e-4)
    assert (heads.layout.yaxis.ticktext[0], heads.layout.yaxis.title.text) == ("layer 0", None)
    assert len(heads.data) == 1, "other marks would extend the axis beyond the existing heads"
    matrix = differences.head_difference(found, 1, 1)
    np.testing.assert_allclose(np.array(matrix.data[0].z), found.difference_UU(1, 1), atol=1e-4)
    layers = differences.layer_differences(found)
    np.testing.assert_allclose(layers.data[0].y, np.diagonal(found.cka_LM), atol=1e-4)
    bars = differences.most_changed_tokens(found, top=3)
    assert list(bars.data[0].x) == sorted(bars.data[0].x)
    assert bars.data[0].x[-1] == pytest.approx(found.cosine_distance_LU[-1].max(), abs=1e-4)


@pytest.mark.parametrize("sight", SIGHTS)
def test_the_colours_of_both_directions_differ_in_lightness(sight):
    """Their lightness differs for every kind of colour vision; the grid of heads takes its colours from Python."""
    ends = [re.findall(r"\d+", DIVERGING[end][1])[:3] for end in (0, -1)]
    assert "data.colours" in GRID
    assert not re.search(r"#[0-9a-f]{6}|rgba?\(", GRID), "the grid of heads has no colours of its own"
    rgb = np.array(ends, float) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    less, more = oklab(linear @ np.transpose(SIGHTS[sight]))
    assert less[0] - more[0] > 0.2


def test_signed_cells_show_plus_or_minus(one, two):
    found = compare(one, two, "green tea and bread", None)
    for drawn in (differences.head_differences(found), differences.head_difference(found, 1, 1)):
        values, signs = np.array(drawn.data[0].z), np.array(drawn.data[0].text)
        assert set(signs[values > 0]) <= {"+", ""}
        assert set(signs[values < 0]) <= {"−", ""}
        assert signs.flat[np.abs(values).argmax()], "the cell with the largest difference has a sign"
