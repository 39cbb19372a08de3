"""Random weights whose first heads look at neighbours: a start from which masked words are learnt sooner.

A masked position holds nothing but [MASK], so all it can know must come by attention, and from plain random weights
attention is uniform: the loss stands at the frequency of words until heads find the tokens next to them, as trained
BERTs' heads do (Clark et al. 2019, section 3.1). Here positions start as sinusoids (Vaswani et al. 2017, section 3.5),
for which "the token before" is one rotation for every place, and the first layers' heads start with that rotation
between query and key (compare the structured starts of Trockman and Kolter 2023, arXiv 2305.09828). Everything stays
learnable; the model is an ordinary BERT.

Shape legend: H hidden, N heads, D head size.
"""

import math

import torch

from bertlab.nn.bert import Bert

OFFSETS = (-1, 1, -2, 2, -3, 3, -4, 4)
LAYERS = 2
# Places twice as loud as words, and about this score where query and key agree, whatever the sizes: of 64 tokens, a
# head of the first layer then gives a third of its attention to its neighbour.
LOUDNESS, SCORE = 2.0, 10.24


def frequencies(positions: int, hidden: int) -> torch.Tensor:
    """From half a turn a token down to half a turn in all, [H / 2]: fast ones tell neighbours apart."""
    return math.pi * positions ** -torch.linspace(0, 1, hidden // 2, dtype=torch.float64)


def sinusoids(positions: int, hidden: int) -> torch.Tensor:
    """[positions, H] of root mean square 1: sines, then cosines."""
    angle = torch.arange(positions, dtype=torch.float64)[:, None] * frequencies(positions, hidden)
    return (2**0.5 * torch.cat([angle.sin(), angle.cos()], dim=1)).float()


def rotation(positions: int, hidden: int, offset: int) -> torch.Tensor:
    """[H, H] that takes the sinusoid of place t to that of t + offset.

    >>> table = sinusoids(16, 8)
    >>> torch.allclose(table[3] @ rotation(16, 8, 2).T, table[5], atol=1e-5)
    True
    """
    turn = offset * frequencies(positions, hidden)
    sine, cosine = turn.sin().diag(), turn.cos().diag()
    return torch.cat([torch.cat([cosine, sine], 1), torch.cat([-sine, cosine], 1)]).float()


@torch.no_grad()
def look_at_neighbours(model: Bert) -> None:
    """Rewrite a fresh model's positions, and the queries and keys of its first layers."""
    config = model.config
    H, D = config.hidden_size, config.head_size
    loudness = LOUDNESS * config.initializer_range
    model.embeddings.position.weight.copy_(loudness * sinusoids(config.max_positions, H))
    sd = (SCORE / (D**0.5 * H)) ** 0.5
    for block in model.encoder.layers[:LAYERS]:
        query_HH, key_HH, _ = block.attention.qkv.weight.view(3, H, H)
        for head in range(config.num_heads):
            rows = slice(head * D, (head + 1) * D)
            offset = OFFSETS[head % len(OFFSETS)]
            key_HH[rows] *= sd / config.initializer_range
            query_HH[rows] = key_HH[rows] @ rotation(config.max_positions, H, offset)
