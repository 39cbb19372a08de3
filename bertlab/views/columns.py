"""Convert results to the columns of a CSV file, such as layer, head, position, token and value.

Layers and heads count from 0; the hidden states before layer 0 are called "embeddings". Shape legend: T tokens, U
compared units (tokens or words), N heads, L layers (of the first side), M layers of the second side.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from bertlab.views.export import Columns
from bertlab.views.token_labels import token_labels

if TYPE_CHECKING:
    from bertlab.abilities.attention.block import BlockMap
    from bertlab.abilities.attention.rollout import Rollout
    from bertlab.abilities.compare.compute import Comparison
    from bertlab.abilities.results import HeadEffects, Lens, PredictionChange, SpanXray


def heads(values: dict[str, np.ndarray], layers: Sequence[int] | None = None) -> Columns:
    """Make one row for each head, of arrays [layers, heads]; `layers` are the numbers of the rows.

    >>> heads({"share": np.array([[0.25, 0.75]])})
    {'layer': [0, 0], 'head': [0, 1], 'share': [0.25, 0.75]}
    """
    num_layers, num_heads = next(iter(values.values())).shape
    pairs = list(product(layers or range(num_layers), range(num_heads)))
    columns = {"layer": [layer for layer, _ in pairs], "head": [head for _, head in pairs]}
    return columns | {name: array.astype(float).ravel().tolist() for name, array in values.items()}


def _layer_name(index: int) -> int | str:
    return index - 1 if index else "embeddings"


def head_effects(effects: HeadEffects) -> Columns:
    """One row for each head: the change in log-odds, and the probability, if only this head is ablated."""
    values = {"log_odds_change": effects.effects_LN, "probability_without": effects.probabilities_LN}
    return heads(values, effects.layers)


def prediction_change(change: PredictionChange) -> Columns:
    """One row for each outcome: its probability and log-odds before and after the interventions."""
    names = ("label", "before", "after", "log_odds_before", "log_odds_after")
    return {name: [getattr(outcome, name) for outcome in change.outcomes] for name in names}


def lens(lens_result: Lens) -> Columns:
    """One row for each layer and position: the predictions of this layer and of the last one.

    `final_rank` and `final_probability` are what the layer gives to the last layer's prediction.
    """
    layers, positions = lens_result.probs_LT.shape
    tokens = token_labels(lens_result.tokens)
    indices = list(np.ndindex(layers, positions))
    return {
        "layer": [_layer_name(layer) for layer, _ in indices],
        "position": [position for _, position in indices],
        "token": [tokens[position] for _, position in indices],
        "prediction": [lens_result.tokens_LT[layer][position] for layer, position in indices],
        "probability": [float(lens_result.probs_LT[index]) for index in indices],
        "final_prediction": [lens_result.final_T[position] for _, position in indices],
        "final_probability": [float(lens_result.probs_of_final_LT[index]) for index in indices],
        "final_rank": [int(lens_result.rank_LT[index]) for index in indices],
    }


def lens_at(lens_result: Lens, position: int) -> Columns:
    """Return the rows of `lens` for one position."""
    columns = lens(lens_result)
    rows = [row for row, row_position in enumerate(columns["position"]) if row_position == position]
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def block_steps(block: BlockMap) -> Columns:
    """One row for each number in the steps of one layer at one position; only value vectors have a token."""
    labels = token_labels(block.tokens)
    parts = [
        (name, label, vector_D)
        for name, matrix_TD in (("value", block.value_TD), ("weighted_value", block.weighted_TD))
        for label, vector_D in zip(labels, matrix_TD, strict=True)
    ]
    parts += [
        ("head_output", "", block.head_output_D), ("heads", "", block.heads_H), ("input", "", block.input_H),
        ("attention", "", block.attention_H), ("attention_sum", "", block.attention_sum_H),
        ("attention_layer_norm", "", block.attended_H), ("neurons", "", block.neurons_I),
        ("feed_forward", "", block.feed_forward_H), ("feed_forward_sum", "", block.feed_forward_sum_H),
        ("output", "", block.output_H),
    ]  # fmt: skip
    return {
        "step": [name for name, _, vector in parts for _ in vector],
        "token": [label for _, label, vector in parts for _ in vector],
        "index": [index for _, _, vector in parts for index in range(len(vector))],
        "value": np.concatenate([vector for _, _, vector in parts]).astype(float).tolist(),
    }


def residual_norms(block: BlockMap) -> Columns:
    """One row for the embeddings and each layer, at one position: three norms and the prediction."""
    names = ("attention_norm", "feed_forward_norm", "output_norm", "prediction", "probability")
    columns = {"layer": [_layer_name(index) for index in range(len(block.layers))]}
    return columns | {name: [getattr(summary, name) for summary in block.layers] for name in names}


def rollout(result: Rollout, position: int) -> Columns:
    """One row for each layer and input token: the token's share in the hidden state of one position."""
    labels, shares_LT = token_labels(result.tokens), result.shares_LTT[:, position]
    return {
        "layer": [layer for layer, _ in np.ndindex(*shares_LT.shape)],
        "source_position": [source for _, source in np.ndindex(*shares_LT.shape)],
        "source": [labels[source] for _, source in np.ndindex(*shares_LT.shape)],
        "share": shares_LT.astype(float).ravel().tolist(),
    }


def head_differences(comparison: Comparison) -> Columns:
    """One row for each head: the Jensen-Shannon distance, and how many units farther the second side attends."""
    return heads({"js_distance": comparison.js_LN, "distance_difference": comparison.distance_difference_LN})


def head_difference(comparison: Comparison, layer: int, head: int) -> Columns:
    """One row for each pair of compared units: one head's attention on both sides."""
    pairs = list(np.ndindex(len(comparison.units), len(comparison.units)))
    labels = [unit.label for unit in comparison.units]
    first, second = comparison.first_LNUU[layer, head], comparison.second_MNUU[layer, head]
    return {
        "layer": [layer] * len(pairs), "head": [head] * len(pairs),
        "query_position": [query for query, _ in pairs], "query": [labels[query] for query, _ in pairs],
        "key_position": [key for _, key in pairs], "key": [labels[key] for _, key in pairs],
        "first": [float(first[pair]) for pair in pairs], "second": [float(second[pair]) for pair in pairs],
        "difference": [float(second[pair] - first[pair]) for pair in pairs],
    }  # fmt: skip


def layer_differences(comparison: Comparison) -> Columns:
    """One row for the embeddings and each layer: linear CKA and mean cosine distance of the two sides."""
    distances = comparison.cosine_distance_LU.mean(1).astype(float)
    cka = np.diagonal(comparison.cka_LM).astype(float)
    return {
        "layer": list(map(_layer_name, range(len(distances)))),
        "linear_cka": cka.tolist(),
        "cosine_distance": distances.tolist(),
    }


def layer_similarity(comparison: Comparison) -> Columns:
    """One row for each layer of the first side and of the second: their linear CKA."""
    pairs = list(np.ndindex(*comparison.cka_LM.shape))
    return {
        "first_layer": [_layer_name(first) for first, _ in pairs],
        "second_layer": [_layer_name(second) for _, second in pairs],
        "linear_cka": [float(comparison.cka_LM[pair]) for pair in pairs],
    }


def most_changed_tokens(comparison: Comparison, index: int) -> Columns:
    """One row for each compared unit: the cosine distance in hidden state `index`, largest first."""
    order = np.argsort(-comparison.cosine_distance_LU[index], kind="stable").tolist()
    return {
        "layer": [_layer_name(index % len(comparison.cosine_distance_LU))] * len(order),
        "position": order,
        "first": [comparison.units[unit_index].first for unit_index in order],
        "second": [comparison.units[unit_index].second for unit_index in order],
        "cosine_distance": [float(comparison.cosine_distance_LU[index, unit_index]) for unit_index in order],
    }


def windows(span_xray: SpanXray, passage: str) -> Columns:
    """One row for each window of a passage: start and end (in characters), best span, its score and that of "no
    answer"."""
    return {
        "window": list(range(1, len(span_xray.readings) + 1)),
        "start": [reading.start for reading in span_xray.readings],
        "end": [reading.end for reading in span_xray.readings],
        "answer": [passage[slice(*reading.answer)] if reading.answer else "" for reading in span_xray.readings],
        "score": [reading.score if reading.answer else None for reading in span_xray.readings],
        "no_answer_score": [reading.no_answer_score for reading in span_xray.readings],
    }
