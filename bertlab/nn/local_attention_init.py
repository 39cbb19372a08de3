"""Random weights whose first heads attend to neighbouring tokens: masked tokens are then learned sooner.

The embedding of a masked position is [MASK], so all that it can know about its token comes through attention. Plain
random weights attend uniformly, and the loss stays at that of token frequencies until heads find the neighbouring
tokens, as heads of trained BERTs do (Clark et al. 2019, section 3.1). Here position embeddings start as sinusoids
(Vaswani et al. 2017, section 3.5), for which a step to the previous token is the same rotation at every position, and
the first layers' heads start with such a rotation between query and key (compare the structured starts of Trockman and
Kolter 2023, arXiv 2305.09828). All weights stay trainable and the model is an ordinary BERT.

Shape legend: H hidden, N heads, D head size.
"""

import math

import torch

from bertlab.nn.bert import Bert

OFFSETS = (-1, 1, -2, 2, -3, 3, -4, 4)  # of head 0, 1, ...
LAYERS = 2  # how many layers start like this
# Position embeddings are this many times as large as token embeddings.
POSITION_SCALE = 2.0
# About the attention score where query and key agree, whatever the sizes: of 64 tokens, a head of the first layer then
# gives a third of its attention to its neighbour.
SCORE = 10.24


def frequencies(positions: int, hidden: int) -> torch.Tensor:
    """Angular frequencies, from half a turn per token to half a turn over all positions -> [H / 2].

    The high ones distinguish neighbours.
    """
    return math.pi * positions ** -torch.linspace(0, 1, hidden // 2, dtype=torch.float64)


def sinusoids(positions: int, hidden: int) -> torch.Tensor:
    """Sines, then cosines, with a root mean square of 1 -> [positions, H]."""
    angle = torch.arange(positions, dtype=torch.float64)[:, None] * frequencies(positions, hidden)
    return (2**0.5 * torch.cat([angle.sin(), angle.cos()], dim=1)).float()


def rotation(positions: int, hidden: int, offset: int) -> torch.Tensor:
    """The matrix [H, H] that maps the sinusoid of position t to that of t + offset.

    >>> table = sinusoids(16, 8)
    >>> torch.allclose(table[3] @ rotation(16, 8, 2).T, table[5], atol=1e-5)
    True
    """
    angle = offset * frequencies(positions, hidden)
    sine, cosine = angle.sin().diag(), angle.cos().diag()
    return torch.cat([torch.cat([cosine, sine], 1), torch.cat([-sine, cosine], 1)]).float()


@torch.no_grad()
def attend_to_neighbours(model: Bert) -> None:
    """Overwrite a fresh model's position embeddings, and the queries and keys of its first layers."""
    config = model.config
    H, D = config.hidden_size, config.head_size
    scale = POSITION_SCALE * config.initializer_range
    model.embeddings.position.weight.copy_(scale * sinusoids(config.max_positions, H))
    sd = (SCORE / (D**0.5 * H)) ** 0.5
    for layer in model.encoder.layers[:LAYERS]:
        query_HH, key_HH, _ = layer.attention.qkv.weight.view(3, H, H)
        for head in range(config.num_heads):
            rows = slice(head * D, (head + 1) * D)
            offset = OFFSETS[head % len(OFFSETS)]
            key_HH[rows] *= sd / config.initializer_range
            query_HH[rows] = key_HH[rows] @ rotation(config.max_positions, H, offset)
