"""Measure how important attention heads and feed-forward neurons are for a task.

It is, to first order, how much the loss changes if one is removed.

Shape legend: B batch, L layers, N heads, D head size, I feed-forward neurons, H hidden.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import nn

from bertlab.nn.bert import Bert, BertInput, BertOutput
from bertlab.nn.interventions import Interventions
from bertlab.nn.trace import Trace
from bertlab.nn.variants.model import FamilyBert
from bertlab.tasks.loss import Loss


@dataclass(frozen=True)
class Importance:
    """The importance of every head and every neuron."""

    heads_LN: torch.Tensor
    """The expected |A_h . dL/dA_h| of every head (A_h: its output), divided by the norm over the heads of its layer
    (Michel et al. 2019, arXiv 1905.10650, section 4 and equation 2); 0 for heads that are pruned already."""
    neurons_LI: torch.Tensor
    """The expected |a_i . dL/da_i| of every neuron (a_i: its activation at all tokens of a batch; Molchanov et al.
    2017, arXiv 1611.06440, equation 8; Hou et al. 2020, arXiv 2004.04037, section 2.1 for BERT)."""


class _ScaledHeads(FamilyBert):
    """A model that shares the modules of another one, and multiplies each head output by a factor of 1.

    The gradient of the factor is A_h . dL/dA_h.
    """

    def __init__(self, model: Bert):
        nn.Module.__init__(self)
        self.__dict__.update(model.__dict__)  # the same modules and parameters
        self.scales: list[torch.Tensor] = []  # the factors, [L, B, N], of each forward pass

    def forward(
        self, batch: BertInput, *, trace: Trace | None = None, interventions: Interventions | None = None
    ) -> BertOutput:
        """Encode a batch and append its factors to `scales`; `trace` and `interventions` are ignored."""
        config, B = self.config, len(batch.input_ids_BT)
        scale_LBN = torch.ones(config.num_layers, B, config.num_heads, requires_grad=True)
        self.scales.append(scale_LBN)
        return FamilyBert.forward(self, batch, interventions=Interventions(head_scale_LBN=scale_LBN))


def compute_importance(model: Bert, batches: Iterable, loss: Callable[[nn.Module, object], Loss]) -> Importance:
    """Compute the importance of heads and neurons on batches of a task's rows; the weights do not change."""
    was_training, config = model.training, model.config
    required_grad_before = {parameter: parameter.requires_grad for parameter in model.parameters()}
    model.eval().requires_grad_(False)  # other gradients, such as those of the vocabulary, would take most of the time
    for encoder_layer in model.encoder.layers:
        encoder_layer.feed_forward.down.weight.requires_grad_(True)
    scaled_model = _ScaledHeads(model)
    heads_LN = torch.zeros(config.num_layers, config.num_heads)
    neurons_LI = torch.zeros(config.num_layers, config.intermediate_size)
    with torch.enable_grad():
        for batch in batches:
            scaled_model.scales.clear()
            model.zero_grad(set_to_none=True)
            loss(scaled_model, batch).value.backward()
            for scale_LBN in scaled_model.scales:
                # The loss is the mean over the rows of the batch, so a row's gradient is divided by the number of rows.
                heads_LN += scale_LBN.grad.abs().sum(1)
            for layer, encoder_layer in enumerate(model.encoder.layers):
                weight_HI = encoder_layer.feed_forward.down.weight
                neurons_LI[layer] += (weight_HI.detach() * weight_HI.grad).sum(0).abs()
    model.zero_grad(set_to_none=True)
    model.train(was_training)
    for parameter, requires_grad in required_grad_before.items():
        parameter.requires_grad_(requires_grad)
    heads_LN = heads_LN / heads_LN.norm(dim=1, keepdim=True).clamp(min=1e-30)
    return Importance(heads_LN, neurons_LI)


def choose_heads_to_prune(
    heads_LN: torch.Tensor, share: float, pruned: Iterable[tuple[int, int]] = ()
) -> list[tuple[int, int]]:
    """Choose a share of all heads, the least important first; every layer keeps at least one.

    Args:
        pruned: (layer, head) pairs that are pruned already; the share and the result include them.

    >>> choose_heads_to_prune(torch.tensor([[0.1, 0.2], [0.9, 0.3]]), 0.75)
    [(0, 0), (1, 1)]
    """
    L, N = heads_LN.shape
    pruned_heads = set(pruned)
    for index in heads_LN.flatten().argsort(stable=True).tolist():
        layer, head = divmod(index, N)
        if len(pruned_heads) >= math.floor(share * L * N):
            break
        if (layer, head) not in pruned_heads and sum(pruned_layer == layer for pruned_layer, _ in pruned_heads) < N - 1:
            pruned_heads.add((layer, head))
    return sorted(pruned_heads)


def choose_neurons_to_keep(neurons_LI: torch.Tensor, removed_share: float, multiple: int = 16) -> list[torch.Tensor]:
    """Choose the most important neurons of each layer, in their original order.

    Their number is rounded up to `multiple`, because processors compute such sizes faster.
    """
    I = neurons_LI.shape[1]  # noqa: E741
    count = min(I, max(1, math.ceil((1 - removed_share) * I / multiple) * multiple))
    return [importance_I.topk(count).indices.sort().values for importance_I in neurons_LI]
