"""Measure the effect of interventions, and of ablating each attention head, on one prediction.

Effects are differences of log-odds, log(p / (1 - p)), because probabilities near 0 or 1 hardly change.

Shape legend: B batch, T tokens, H hidden, N heads, L layers, C candidates, K best candidates, P positions of the
prediction, X any leading dimension.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from bertlab.abilities.encode import make_batch_of_one, make_token_rows
from bertlab.abilities.results import HeadEffects, Outcome, PredictionChange
from bertlab.abilities.surgery.syntax import Changes
from bertlab.config.errors import InterventionError
from bertlab.nn.bert import Bert
from bertlab.nn.fast.ablation import ablate_each_head
from bertlab.nn.interventions import (
    NO_INTERVENTIONS,
    Interventions,
    check_hidden_index,
    check_layer,
    check_position,
)
from bertlab.nn.trace import Trace
from bertlab.tasks.inference import find_device
from bertlab.tasks.recomputable_prediction import RecomputablePrediction
from bertlab.text.tokenizers.wordpiece import Encoding

MAX_PROBS = 2**24  # maximum number of attention probabilities of a layer in one forward pass, over the whole batch


def resolve_interventions(
    model: Bert, changes: Changes, num_tokens: int, other: Encoding | None = None
) -> Interventions:
    """Convert changes that were written as text into interventions on a forward pass over `num_tokens` tokens.

    Args:
        model: the model; it computes the hidden states of `other`.
        changes: the changes, as `intervention_syntax.resolve` returns them.
        num_tokens: number of tokens of the input.
        other: the encoded text whose hidden states are patched in.

    Raises:
        InterventionError: a layer, head or position does not exist, or there is no text to patch from.
    """
    config = model.config
    rows = {row: _make_row(weights, num_tokens) for row, weights in changes.rows.items()}
    patches = {}
    if changes.patches:
        if other is None:
            raise InterventionError("patch-without-text")
        trace = Trace.of("hidden")
        model(make_batch_of_one(other, find_device(model)), trace=trace)
        for (index, position), (from_index, from_position) in changes.patches.items():
            check_hidden_index(from_index, config.num_layers)
            hidden_TH = trace["hidden"][from_index][0]
            if position is None and len(hidden_TH) != num_tokens:
                raise InterventionError("patch-lengths-differ", tokens=num_tokens, other=len(hidden_TH))
            if position is None:
                patches |= {(index, target): hidden_TH[target] for target in range(num_tokens)}
            else:
                if from_position >= len(hidden_TH):
                    raise InterventionError("patch-position-missing", position=from_position, last=len(hidden_TH) - 1)
                patches[index, position] = hidden_TH[from_position]
    head_scale_LBN = Interventions.ablate_heads(config, sorted(changes.heads)).head_scale_LBN if changes.heads else None
    return Interventions(head_scale_LBN, rows, patches)


def intervene(
    model: Bert, prediction: RecomputablePrediction, changes: Changes, other: Encoding | None = None, top_k: int = 5
) -> PredictionChange:
    """Compute a prediction before and after interventions.

    The outcomes are the `top_k` best candidates before the interventions, then the candidates that are among the
    `top_k` best only after the interventions.

    Raises:
        InterventionError: an intervention does not fit this model and input.
    """
    batch = make_batch_of_one(prediction.encoding, find_device(model))
    before_and_after = (NO_INTERVENTIONS, resolve_interventions(model, changes, len(prediction.encoding), other))
    logits_2C = torch.cat(
        [
            _compute_logits(prediction, model(batch, interventions=interventions).hidden_BTH)
            for interventions in before_and_after
        ]
    )
    log_odds_2C = log_odds(logits_2C)
    best_2K = logits_2C.topk(min(top_k, logits_2C.shape[1])).indices
    candidates = list(dict.fromkeys([*best_2K[0].tolist(), *best_2K[1].tolist()]))
    outcomes = [
        Outcome(
            prediction.find_text(candidate),
            *log_odds_2C[:, candidate].sigmoid().tolist(),
            *log_odds_2C[:, candidate].tolist(),
        )
        for candidate in candidates
    ]
    return PredictionChange(prediction.kind, tuple(outcomes), top=candidates.index(int(best_2K[1, 0])))


def compute_head_effects(
    model: Bert, prediction: RecomputablePrediction, layers: Sequence[int] | None = None
) -> HeadEffects:
    """Measure, for every head, how the log-odds of the model's prediction change when that head is ablated.

    Args:
        model: the model.
        prediction: the prediction.
        layers: ablate only the heads of these layers; all layers by default.

    Raises:
        InterventionError: there is no such layer.
    """
    selected_layers = range(model.config.num_layers) if layers is None else layers
    return join_effects(list(compute_effects_by_layer(model, prediction, selected_layers)))


def compute_effects_by_layer(
    model: Bert, prediction: RecomputablePrediction, layers: Sequence[int]
) -> Iterator[HeadEffects]:
    """Yield the result of `compute_head_effects` layer by layer. The pass without ablation is computed only once.

    Raises:
        InterventionError: there is no such layer.
    """
    for layer in layers:
        check_layer(layer, model.config.num_layers)
    trace = Trace.of("hidden")
    batch = make_batch_of_one(prediction.encoding, find_device(model))
    batch = replace(batch, attention_mask_BT=None)  # a batch of one input has no padding
    logits_C = _compute_logits(prediction, model(batch, trace=trace).hidden_BTH)[0]
    best = int(logits_C.argmax())
    log_odds_before = float(log_odds(logits_C)[best])
    tokens, label = make_token_rows(prediction.encoding), prediction.find_text(best)
    positions_P = torch.tensor(prediction.positions, device=logits_C.device)
    batch_size = max(1, MAX_PROBS // (model.config.num_heads * len(tokens) ** 2))
    for layer in layers:
        hidden_NPH = ablate_each_head(model, batch, trace["hidden"][layer], layer, positions_P, batch_size)
        effects_N = log_odds(prediction.compute_logits(hidden_NPH))[:, best] - log_odds_before
        yield HeadEffects(
            prediction.kind, tokens, label, log_odds_before, (layer,), effects_N[None].float().cpu().numpy()
        )


def join_effects(parts: Sequence[HeadEffects]) -> HeadEffects:
    """Join the effects of several groups of layers on the same prediction."""
    layers = tuple(layer for part in parts for layer in part.layers)
    return replace(parts[0], layers=layers, effects_LN=np.concatenate([part.effects_LN for part in parts]))


def log_odds(logits_XC: torch.Tensor) -> torch.Tensor:
    """Compute log(p / (1 - p)) for every candidate, where p is the softmax; exact even where 1 - p rounds to 0.

    >>> log_odds(torch.tensor([[0.0, 0.0], [100.0, 0.0]])).tolist()
    [[0.0, 0.0], [100.0, -100.0]]
    """
    logits_XC = logits_XC.double()
    logp_XC = logits_XC.log_softmax(-1)
    log_odds_XC = logp_XC - torch.log1p(-logp_XC.exp())
    # 1 - p loses precision only for the most probable candidate, where the sum of the other probabilities replaces it.
    top_X1 = logits_XC.argmax(-1, keepdim=True)
    others_X1 = logits_XC.scatter(-1, top_X1, float("-inf")).logsumexp(-1, keepdim=True)
    return log_odds_XC.scatter(-1, top_X1, logits_XC.gather(-1, top_X1) - others_X1)


def _compute_logits(prediction: RecomputablePrediction, hidden_BTH: torch.Tensor) -> torch.Tensor:
    """Compute the logits of all candidates from the hidden states at the positions of a prediction -> [B, C]."""
    return prediction.compute_logits(hidden_BTH[:, list(prediction.positions)])


def _make_row(weights: Sequence[tuple[int, float]], num_tokens: int) -> torch.Tensor:
    """Make a row of attention whose weights are scaled to sum to 1; uniform if there are no weights."""
    if not weights:
        return torch.full((num_tokens,), 1 / num_tokens)
    row_T = torch.zeros(num_tokens)
    for position, weight in weights:
        check_position(position, num_tokens)
        row_T[position] += weight
    return row_T / row_T.sum()
