"""What a change inside the model does to one prediction, and what every attention head does for it.

Effects are differences of log-odds, log(p / (1 - p)): a probability near 0 or 1 hardly moves whatever is done to it.
Knows neither pages nor pictures.

Shape legend: B batch, T tokens, H hidden, N heads, L layers, C candidates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from bertlab.config.errors import InterventionError
from bertlab.explore.encode import alone, token_rows
from bertlab.explore.facts import HeadEffects, Outcome, PredictionChange
from bertlab.explore.intervention_syntax import Changes
from bertlab.explore.predict import device_of
from bertlab.explore.probes import Probe
from bertlab.nn.bert import Bert
from bertlab.nn.fast.ablation import ablate_each_head
from bertlab.nn.interventions import NO_INTERVENTIONS, Interventions
from bertlab.nn.trace import Trace
from bertlab.text.tokenizers.wordpiece import Encoding

AT_ONCE = 2**24  # attention probabilities of one layer that a forward pass may make, over all rows of its batch


def resolve_interventions(
    model: Bert, changes: Changes, num_tokens: int, other: Encoding | None = None
) -> Interventions:
    """The changes as what a forward pass over `num_tokens` tokens takes. other: the text that patches come from.

    Raises:
        InterventionError: a layer, head or position that is not there, or patches without another text to come from.
    """
    config = model.config
    rows = {place: _row(weights, num_tokens) for place, weights in changes.rows.items()}
    patches = {}
    if changes.patches:
        if other is None:
            raise InterventionError("a hidden state to put in comes from another text: give one")
        trace = Trace.of("hidden")
        model(alone(other, device_of(model)), trace=trace)
        for (layer, position), (from_layer, from_position) in changes.patches.items():
            _must_exist("layer", from_layer, config.num_layers + 1)
            hidden_TH = trace["hidden"][from_layer][0]
            if position is None and len(hidden_TH) != num_tokens:
                raise InterventionError(
                    f"the two texts have {num_tokens} and {len(hidden_TH)} tokens: choose one position in each"
                )
            if position is None:
                patches |= {(layer, place): hidden_TH[place] for place in range(num_tokens)}
            else:
                _must_exist("position", from_position, len(hidden_TH), " in the other text")
                patches[layer, position] = hidden_TH[from_position]
    knocked_out = Interventions.ablate_heads(config, sorted(changes.heads)).head_scale_LBN if changes.heads else None
    return Interventions(knocked_out, rows, patches)


def intervene(
    model: Bert, probe: Probe, changes: Changes, other: Encoding | None = None, top_k: int = 5
) -> PredictionChange:
    """One prediction before and after the changes: the `top_k` candidates of either, the original one first.

    Raises:
        InterventionError: a change that does not fit this model and input.
    """
    batch = alone(probe.encoding, device_of(model))
    both = (NO_INTERVENTIONS, resolve_interventions(model, changes, len(probe.encoding), other))
    logits_2C = torch.cat(
        [_logits(probe, model(batch, interventions=interventions).hidden_BTH) for interventions in both]
    )
    odds_2C = log_odds(logits_2C)
    best_2K = logits_2C.topk(min(top_k, logits_2C.shape[1])).indices
    chosen = dict.fromkeys([*best_2K[0].tolist(), *best_2K[1].tolist()])
    outcomes = [
        Outcome(probe.label(candidate), *odds_2C[:, candidate].sigmoid().tolist(), *odds_2C[:, candidate].tolist())
        for candidate in chosen
    ]
    return PredictionChange(probe.kind, tuple(outcomes), top=list(chosen).index(int(best_2K[1, 0])))


def head_effects(model: Bert, probe: Probe, layers: Sequence[int] | None = None) -> HeadEffects:
    """How much less or more probable the model's own prediction gets when one head is knocked out, for every head.

    Args:
        layers: only the heads of these.

    Raises:
        InterventionError: there is no such layer.
    """
    wanted = range(model.config.num_layers) if layers is None else layers
    return together(list(effects_by_layer(model, probe, wanted)))


def effects_by_layer(model: Bert, probe: Probe, layers: Sequence[int]) -> Iterator[HeadEffects]:
    """`head_effects` of one layer after the other, each as soon as it is found; what they share is computed once.

    Raises:
        InterventionError: there is no such layer.
    """
    for layer in layers:
        _must_exist("layer", layer, model.config.num_layers)
    trace = Trace.of("hidden")
    logits_C = _logits(probe, model(alone(probe.encoding, device_of(model)), trace=trace).hidden_BTH)[0]
    best = int(logits_C.argmax())
    odds = float(log_odds(logits_C)[best])
    tokens, label = token_rows(probe.encoding), probe.label(best)
    positions_P = torch.tensor(probe.positions, device=logits_C.device)
    at_once = max(1, AT_ONCE // (model.config.num_heads * len(tokens) ** 2))
    for layer in layers:
        hidden_NPH = ablate_each_head(model, trace["hidden"][layer], layer, positions_P, at_once)
        effects_N = log_odds(probe.logits(hidden_NPH))[:, best] - odds
        yield HeadEffects(probe.kind, tokens, label, odds, (layer,), effects_N[None].float().cpu().numpy())


def together(parts: Sequence[HeadEffects]) -> HeadEffects:
    """The effects of some layers and those of others, of one prediction, as one."""
    layers = tuple(layer for part in parts for layer in part.layers)
    return replace(parts[0], layers=layers, effects_LN=np.concatenate([part.effects_LN for part in parts]))


def log_odds(logits_XC: torch.Tensor) -> torch.Tensor:
    """log(p / (1 - p)) of every candidate, where p is the softmax; exact where p is so near to 1 that 1 - p is 0.

    >>> log_odds(torch.tensor([[0.0, 0.0], [100.0, 0.0]])).tolist()
    [[0.0, 0.0], [100.0, -100.0]]
    """
    logits_XC = logits_XC.double()
    logp_XC = logits_XC.log_softmax(-1)
    odds_XC = logp_XC - torch.log1p(-logp_XC.exp())
    # 1 - p cancels for the likeliest alone: what the others come to is summed without it
    top_X1 = logits_XC.argmax(-1, keepdim=True)
    others_X1 = logits_XC.scatter(-1, top_X1, float("-inf")).logsumexp(-1, keepdim=True)
    return odds_XC.scatter(-1, top_X1, logits_XC.gather(-1, top_X1) - others_X1)


def _logits(probe: Probe, hidden_BTH: torch.Tensor) -> torch.Tensor:
    return probe.logits(hidden_BTH[:, list(probe.positions)])


def _row(weights: Sequence[tuple[int, float]], num_tokens: int) -> torch.Tensor:
    """A row of attention, its weights scaled to a sum of 1; all alike without any."""
    if not weights:
        return torch.full((num_tokens,), 1 / num_tokens)
    row_T = torch.zeros(num_tokens)
    for position, weight in weights:
        _must_exist("position", position, num_tokens)
        row_T[position] += weight
    return row_T / row_T.sum()


def _must_exist(what: str, index: int, count: int, where: str = "") -> None:
    if not 0 <= index < count:
        raise InterventionError(f"there is no {what} {index}{where}: they go from 0 to {count - 1}")
