"""Compute the values that appear in the text of a lesson's step (see `bertlab.classroom.computed_values`).

They are computed for the text in the address of the step, with the checkpoint that the step's page uses.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

import streamlit as st

from bertlab.abilities.attention.summary import summarise_attention
from bertlab.classroom.computed_values import fill_in, find_value_names
from bertlab.classroom.lesson import Step
from bertlab.config.errors import BertlabError
from bertlab.text.tokenizers.encoding import MASK_NAMES
from bertlab.text.word_spans import find_words, mask_spans
from bertlab.views.numbers import percent
from bertlab_app import calls, url
from bertlab_app.data import cached_results, sessions
from bertlab_app.widgets import selection

Parameters = Mapping[str, str]  # parameter in the address of a step -> its value


def fill_in_step(step: Step) -> Step:
    """Return the step with the placeholders in its text replaced by computed values (by dashes if an error occurs)."""
    if not find_value_names(step.say):
        return step
    values: dict[str, object] = {}
    # a step that a teacher wrote may have invalid parameters; the page of the step shows what is wrong with them
    with suppress(BertlabError, LookupError, TypeError, ValueError, StopIteration):
        parameters = dict(step.parameters)
        texts = [parameters[name] for name in ("a", "b", "masked", "text") if parameters.get(name)]
        checkpoint = selection.select_checkpoint(COMPUTATIONS[step.page][0], texts)
        values = _compute_cached(checkpoint, step.page, parameters)
    return replace(step, say=fill_in(step.say, values))


@st.cache_data(max_entries=64, show_spinner=False)
def _compute_cached(checkpoint: sessions.CheckpointKey, page: str, parameters: Parameters) -> dict[str, object]:
    return COMPUTATIONS[page][1](checkpoint, parameters)


def _compute_input(checkpoint: sessions.CheckpointKey, parameters: Parameters) -> dict[str, object]:
    """Count the tokens, and find the word that is split into the most tokens."""
    text = parameters["a"]
    tokens = calls.compute(checkpoint, "encode", text, parameters.get("b") or None)
    words = [
        (text[start:end], [row.token for row in tokens if not row.special | row.segment and start <= row.start < end])
        for start, end in find_words(text)
    ]
    word, pieces = max(words, key=lambda row: len(row[1]))
    return {"tokens": len(tokens), "word": word, "pieces": " + ".join(pieces)}


def _compute_attention(checkpoint: sessions.CheckpointKey, parameters: Parameters) -> dict[str, object]:
    """Find the largest attention weight of the layer, heads and tokens in the address."""
    texts = parameters["a"], parameters.get("b") or None
    attention = calls.compute(checkpoint, "attention", *texts)
    summary = cached_results.find_most_striking_weight(checkpoint, *texts)
    if "layer" in parameters:
        heads = _parse_parameter(parameters, "heads") or [_parse_parameter(parameters, "head", 0)]
        queries = _parse_parameter(parameters, "tokens") or [_parse_parameter(parameters, "token", 1)]
        summary = summarise_attention(attention, _parse_parameter(parameters, "layer", 0), heads, queries)
    query, key = (attention.tokens[position].token for position in (summary.query, summary.key))
    head_index = {"layer": summary.layer, "head": summary.head}
    return {"query": query, "key": key, "share": percent(summary.share)} | head_index


def _compute_lens(checkpoint: sessions.CheckpointKey, parameters: Parameters) -> dict[str, object]:
    """Find the first layer's prediction for the [MASK], and from which layer on the final prediction has rank 1."""
    lens = calls.compute(checkpoint, "lens", parameters["masked"])
    position = next(row.position for row in lens.tokens if row.token in MASK_NAMES)
    ranks = lens.rank_LT[:, position].tolist()
    first_index = next(index for index in range(len(ranks)) if all(rank == 1 for rank in ranks[index:]))
    return {
        "early": lens.tokens_LT[1][position], "early_rank": ranks[1], "layer": first_index - 1, "last": len(ranks) - 2,
        "word": lens.final_T[position], "share": percent(float(lens.probs_of_final_LT[-1, position])),
    }  # fmt: skip


def _compute_fill_mask(checkpoint: sessions.CheckpointKey, parameters: Parameters) -> dict[str, object]:
    """Find the two most probable tokens for the [MASK]."""
    text, spans = parameters["text"], find_words(parameters["text"])
    masked = mask_spans(text, [spans[int(index)] for index in parameters.get("mask", "").split(".") if index])
    first, second = calls.compute(checkpoint, "fill_mask", masked, top_k=2)[0].candidates
    return {
        "first": first.token, "share": percent(first.probability),
        "second": second.token, "second_share": percent(second.probability),
    }  # fmt: skip


def _parse_parameter(parameters: Parameters, name: str, default: int | None = None):
    return url.parse_value(parameters.get(name, ""), default)


# page -> (the command whose checkpoint the page uses, the function that computes the values of the page). The names of
# the values are in `computed_values.VALUE_NAMES`.
COMPUTATIONS: Mapping[str, tuple[str, Callable[[sessions.CheckpointKey, Parameters], dict[str, object]]]] = {
    "input": ("embed", _compute_input),
    "attention": ("attention", _compute_attention),
    "logit-lens": ("fill-mask", _compute_lens),
    "fill-mask": ("fill-mask", _compute_fill_mask),
}
