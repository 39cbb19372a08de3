"""The inside of a layer: its steps recompose, the most striking weight is above the mean, rollout is a product."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support import view_facts
from support.errors import raises_error
from support.figures import read_charts
from support.pages import bodies, errors, open_page

import bertlab
from bertlab.abilities.attention.roles import find_head_roles
from bertlab.abilities.attention.rollout import compute_rollout
from bertlab.abilities.attention.summary import compute_entropy, find_most_striking_weight, summarise_attention
from bertlab.abilities.encode import make_batch_of_one
from bertlab.abilities.results import AttentionMap
from bertlab.config.errors import InterventionError
from bertlab.nn.bert import make_additive_mask
from bertlab.nn.trace import Trace
from bertlab.views.numbers import percent

A, B = "The potter set the green bowl on the shelf.", "Rain fell on the harbour all night."
CLOSE = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(scope="module")
def session(tiny_checkpoint):
    return bertlab.load(tiny_checkpoint)


@pytest.fixture(scope="module")
def trace(session) -> Trace:
    """What the model itself records for the pair."""
    trace = Trace.of("hidden", "head_outputs", "probs")
    with torch.inference_mode():
        session.model(make_batch_of_one(session.encode_input(A, B), torch.device("cpu")), trace=trace)
    return trace


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("position", [0, 3, 17])
def test_the_steps_of_a_layer_recompose(session, trace, layer, position):
    config, encoder_layer = session.config, session.model.encoder.layers[layer]
    input_1TH = trace["hidden"][layer]
    with torch.inference_mode():
        mask = make_additive_mask(torch.ones(input_1TH.shape[:2], dtype=torch.bool), input_1TH)
        attention_H = encoder_layer.attention(input_1TH, mask)[0, position].numpy()
        attended_H = encoder_layer.attention_norm(input_1TH[0, position] + torch.from_numpy(attention_H)).numpy()
    for head in range(config.num_heads):
        block = session.block(A, B, layer=layer, head=head, position=position)
        own_D = slice(head * config.head_size, (head + 1) * config.head_size)
        np.testing.assert_allclose(block.weighted_TD.sum(0), block.head_output_D, **CLOSE)
        np.testing.assert_allclose(block.probs_T @ block.value_TD, block.head_output_D, **CLOSE)
        np.testing.assert_allclose(block.heads_H[own_D], block.head_output_D, **CLOSE)
    np.testing.assert_allclose(block.attention_H, attention_H, **CLOSE)
    np.testing.assert_allclose(block.attention_sum_H, block.input_H + block.attention_H, **CLOSE)
    np.testing.assert_allclose(block.attended_H, attended_H, **CLOSE)
    np.testing.assert_allclose(block.feed_forward_sum_H, block.attended_H + block.feed_forward_H, **CLOSE)
    np.testing.assert_allclose(block.input_H, input_1TH[0, position], **CLOSE)
    np.testing.assert_allclose(block.output_H, trace["hidden"][layer + 1][0, position], **CLOSE)
    assert len(block.neurons_I) == config.intermediate_size
    assert block.neurons_I.min() > -0.2, "a GELU is never below -0.17"


def test_the_concatenation_is_the_output_of_all_heads(session, trace):
    block = session.block(A, B, layer=1, head=0, position=4)
    expected_H = trace["head_outputs"][1][0, :, 4].flatten()
    np.testing.assert_allclose(block.heads_H, expected_H, **CLOSE)
    np.testing.assert_allclose(block.probs_T, trace["probs"][1][0, 0, 4], **CLOSE)


def test_the_layers_end_in_the_prediction(session, trace):
    block = session.block(A, B, layer=0, head=1, position=5)
    lens = session.lens(A, B)
    assert [summary.layer for summary in block.layers] == [None, 0, 1]
    assert [summary.prediction for summary in block.layers] == [tokens_T[5] for tokens_T in lens.tokens_LT]
    np.testing.assert_allclose([summary.probability for summary in block.layers], lens.probs_LT[:, 5], rtol=1e-4)
    for summary, hidden_1TH in zip(block.layers, trace["hidden"], strict=True):
        assert summary.output_norm == pytest.approx(float(hidden_1TH[0, 5].norm()), rel=1e-5)
    assert block.layers[1].attention_norm == pytest.approx(float(np.linalg.norm(block.attention_H)), rel=1e-5)
    assert block.layers[1].feed_forward_norm == pytest.approx(float(np.linalg.norm(block.feed_forward_H)), rel=1e-5)


def test_without_an_mlm_layer_there_is_no_prediction(checkpoints):
    block = bertlab.load(checkpoints / "bare").block(A)
    assert {summary.prediction for summary in block.layers} == {None}


@pytest.mark.parametrize(
    ("choice", "error"),
    [
        ({"layer": 2}, "layer-out-of-range"),
        ({"head": 9}, "head-out-of-range"),
        ({"position": 99}, "position-out-of-range"),
    ],
)
def test_a_missing_part_is_an_error(session, choice, error):
    with raises_error(InterventionError, error):
        session.block(A, B, **choice)


def make_attention(peaks: dict[tuple[int, int, int, int], float]) -> AttentionMap:
    """Uniform attention of 2 layers and 3 heads, with some weights {(layer, head, query, key): weight}."""
    tokens = view_facts.rows()
    size = len(tokens)
    probs_LNTT = np.full((2, 3, size, size), 1 / size, np.float32)
    for (layer, head, query, key), weight in peaks.items():
        probs_LNTT[layer, head, query] = (1 - weight) / (size - 1)
        probs_LNTT[layer, head, query, key] = weight
    return AttentionMap(tokens, probs_LNTT)


def test_most_striking_weight_leaves_out_special_tokens_and_neighbours():
    attention = make_attention({(0, 1, 2, 0): 0.99, (0, 2, 3, 4): 0.95, (1, 0, 5, 5): 0.9, (1, 2, 11, 2): 0.7})
    found = find_most_striking_weight(attention)
    assert (found.layer, found.head, found.query, found.key) == (1, 2, 11, 2)
    assert found.share == pytest.approx(0.7)


def test_most_striking_weight_passes_over_a_head_that_always_attends_two_tokens_ahead():
    positional = {(0, 0, query, query + 2): 0.95 for query in range(13)}
    found = find_most_striking_weight(make_attention({**positional, (1, 1, 12, 6): 0.6}))
    assert (found.layer, found.head, found.query, found.key) == (1, 1, 12, 6)


@pytest.mark.parametrize("words", [["tea"], ["green", "tea"], ["."]])
def test_most_striking_weight_of_a_very_short_text(words):
    tokens = view_facts.rows(words, [])
    attention = view_facts.attention(2, 3, tokens)
    found = find_most_striking_weight(attention)
    assert not tokens[found.query].special
    assert not tokens[found.key].special


def test_a_summary_has_the_largest_shown_weight_and_the_role_of_its_head():
    attention = view_facts.attention()
    found = summarise_attention(attention, 1, [0, 3], queries=[4, 5])
    shown = attention.probs_LNTT[1][[0, 3]][:, [4, 5]]
    assert found.share == pytest.approx(float(shown.max()))
    assert found.share == pytest.approx(float(attention.probs_LNTT[1, found.head, found.query, found.key]))
    assert found.head in (0, 3)
    assert found.query in (4, 5)
    roles = find_head_roles(attention)
    assert found.role == roles.names_LN[1][found.head]
    assert found.role_share == pytest.approx(float(roles.share_LN[1, found.head]))
    assert found.entropy == pytest.approx(compute_entropy(attention.probs_LNTT[1, found.head, found.query]))
    assert summarise_attention(attention, 1, [2], keys=[7]).key == 7


def test_entropy_ranges_from_one_token_to_uniform_attention():
    assert compute_entropy(np.eye(8)[0]) == 0
    assert compute_entropy(np.full(8, 1 / 8)) == pytest.approx(3)
    uniform = make_attention({})
    assert summarise_attention(uniform, 0, [0]).entropy == pytest.approx(np.log2(len(uniform.tokens)))


def test_rollout_is_the_product_of_the_layers(session):
    attention, rollout = session.attention(A, B), session.rollout(A, B)
    expected_TT = np.eye(len(rollout.tokens))
    for layer, probs_NTT in enumerate(attention.probs_LNTT):
        expected_TT = (0.5 * probs_NTT.mean(0) + 0.5 * np.eye(len(expected_TT))) @ expected_TT
        np.testing.assert_allclose(rollout.shares_LTT[layer], expected_TT, **CLOSE)
    np.testing.assert_allclose(rollout.shares_LTT.sum(-1), 1, rtol=1e-5)


def test_rollout_of_heads_that_attend_to_themselves_changes_nothing():
    attention = view_facts.attention()
    itself = np.broadcast_to(np.eye(len(attention.tokens), dtype=np.float32), attention.probs_LNTT.shape)
    rollout = compute_rollout(replace(attention, probs_LNTT=itself))
    np.testing.assert_array_equal(rollout.shares_LTT[-1], np.eye(len(attention.tokens)))


@pytest.mark.parametrize("language", ["en", "ko"])
def test_page_opens_on_the_most_striking_head_and_says_what_it_does(shipped, language):
    app = open_page("attention", a="She asked for tea.", b="He brought a kettle.", lang=language)
    assert not app.exception
    assert not errors(app)
    found = find_most_striking_weight(bertlab.load("strongest").attention("She asked for tea.", "He brought a kettle."))
    assert any(percent(found.share) in body for body in bodies(app))
    assert "layer" not in app.query_params, "the opening is computed, so the link does not need it"


def test_a_link_decides_which_layer_the_page_opens(shipped):
    app = open_page("attention", layer="1", heads="[0]")
    assert app.query_params["layer"] == "1"
    assert app.query_params["heads"] == "[0]"


@pytest.mark.parametrize(("look", "charts"), [("neuron", 2), ("rollout", 1)])
def test_page_shows_the_steps_of_all_layers_and_the_rollout(shipped, look, charts):
    app = open_page("attention", look=look, lang="ko")
    assert not errors(app)
    assert len(read_charts(app)) == charts
