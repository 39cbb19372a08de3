"""Describe one attention weight in a few numbers: the largest of some heads, or the one that stands out in a text.

Shape legend: T tokens, N heads, L layers, K offsets (the key's position minus the query's).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.abilities.attention.roles import find_head_roles
from bertlab.abilities.results import AttentionMap


@dataclass(frozen=True)
class AttentionSummary:
    """One attention weight of one head, with the row and the head that it belongs to."""

    layer: int
    """The layer of the head, from 0."""
    head: int
    """The index of the head in its layer, from 0."""
    query: int
    """The position of the token that attends."""
    key: int
    """The position of the token that it attends to."""
    share: float
    """The share of the query's attention that goes to the key, 0..1."""
    entropy: float
    """The entropy of the query's attention, in bits: 0 if one token gets all of it."""
    max_entropy: float
    """The entropy of uniform attention over the tokens, log2 T bits."""
    role: str
    """The pattern that gets the largest share of the head's attention in this text: one of `roles.PATTERNS`, or the
    name of a special token."""
    role_share: float
    """The share of the head's attention in this pattern, 0..1, averaged over the tokens that are not special."""


def find_most_striking_weight(attention: AttentionMap) -> AttentionSummary:
    """Find the attention weight that is furthest above the mean of its head's other weights with the same offset.

    The offset is the key's position minus the query's. Such a weight depends on the text, not only on
    the head: if a head always attends to the token two positions ahead, for example, no weight with this offset is
    chosen. A pair of query and key is left out if one of them is a special token or punctuation, if they are
    neighbours, or if they are the same token. If no pair remains, these conditions are relaxed step by step.
    """
    probs_LNTT, tokens = attention.probs_LNTT, attention.tokens
    position_T = np.arange(len(tokens))
    distance_TT = np.abs(position_T[:, None] - position_T[None])
    is_special_T = np.array([row.special for row in tokens])
    is_word_T = ~is_special_T & [any(map(str.isalnum, row.token)) for row in tokens]
    is_word_pair_TT, is_text_pair_TT = np.outer(is_word_T, is_word_T), np.outer(~is_special_T, ~is_special_T)
    # conditions for a pair of query and key, from the strictest to none; the first one that any pair meets is used
    conditions = (
        is_word_pair_TT & (distance_TT > 1), is_text_pair_TT & (distance_TT > 0), is_text_pair_TT,
        np.ones_like(is_text_pair_TT),
    )  # fmt: skip
    allowed_TT = next(condition_TT for condition_TT in conditions if condition_TT.any())
    best_by_layer = []  # (excess over the mean at the same offset, layer, head, query, key)
    for layer, probs_NTT in enumerate(probs_LNTT):  # one layer at a time, to save memory
        excess_NTT = np.where(allowed_TT, probs_NTT - _compute_mean_of_other_queries(probs_NTT), -np.inf)
        head, query, key = np.unravel_index(int(excess_NTT.argmax()), excess_NTT.shape)
        best_by_layer.append((float(excess_NTT[head, query, key]), layer, int(head), int(query), int(key)))
    return _summarise(attention, *max(best_by_layer, key=lambda best: best[0])[1:])


def summarise_attention(
    attention: AttentionMap,
    layer: int,
    heads: Sequence[int],
    queries: Sequence[int] | None = None,
    keys: Sequence[int] | None = None,
) -> AttentionSummary:
    """Find the largest attention weight of some heads of one layer, between some queries and some keys.

    Args:
        attention: from `Session.attention`.
        layer: the layer.
        heads: the heads to compare.
        queries: the positions that attend; None: all tokens that are not special.
        keys: the positions that are attended to; None: all tokens.
    """
    if queries is None:
        queries = [row.position for row in attention.tokens if not row.special]
    if keys is None:
        keys = range(len(attention.tokens))
    selected_weights = attention.probs_LNTT[layer][np.ix_(heads, queries, keys)]
    head, query, key = np.unravel_index(int(selected_weights.argmax()), selected_weights.shape)
    return _summarise(attention, layer, heads[head], queries[query], keys[key])


def _summarise(attention: AttentionMap, layer: int, head: int, query: int, key: int) -> AttentionSummary:
    """Describe the weight that a query of one head gives to a key."""
    probs_T = attention.probs_LNTT[layer, head, query].astype(float)
    head_attention = AttentionMap(attention.tokens, attention.probs_LNTT[layer : layer + 1, head : head + 1])
    roles = find_head_roles(head_attention)
    return AttentionSummary(
        layer, head, query, key,
        share=float(probs_T[key]),
        entropy=compute_entropy(probs_T),
        max_entropy=float(np.log2(len(probs_T))),
        role=roles.names_LN[0][0],
        role_share=float(roles.share_LN[0, 0]),
    )  # fmt: skip


def compute_entropy(probs_T: np.ndarray) -> float:
    """Compute the entropy of one row of attention, in bits.

    >>> compute_entropy(np.array([0.5, 0.25, 0.25, 0.0]))
    1.5

    Source: Clark et al. 2019 (arXiv 1906.04341), section 3.3.
    """
    positive = probs_T[probs_T > 0]
    return abs(float(-(positive * np.log2(positive)).sum()))  # abs, because -0.0 would be shown as "-0.0"


def _compute_mean_of_other_queries(probs_NTT: np.ndarray) -> np.ndarray:
    """For every weight, compute the mean weight that the head's other queries give to the key at the same offset."""
    size = probs_NTT.shape[-1]
    offsets = range(-size + 1, size)
    sums_NK = np.stack([np.trace(probs_NTT, offset, 1, 2) for offset in offsets], axis=-1)
    # for each (query, key), the index of its offset in `offsets`
    index_TT = np.arange(size)[None] - np.arange(size)[:, None] + size - 1
    num_others_TT = np.maximum(size - 1 - np.abs(index_TT - size + 1), 1)
    return (sums_NK[:, index_TT] - probs_NTT) / num_others_TT
