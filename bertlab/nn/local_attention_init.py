"""Initialise heads of the first layers to attend to neighbouring tokens, so that MLM accuracy rises sooner.

At a masked position, a model learns about the original token only through attention, which random weights make nearly
uniform; heads of trained BERTs attend to neighbours (Clark et al. 2019, section 3.1). Here position embeddings start as
sinusoids (Vaswani et al. 2017, section 3.5), for which one rotation maps every position to its neighbour, and heads of
the first layers with such a rotation between query and key (compare Trockman and Kolter 2023, arXiv 2305.09828).

A projection P of the embeddings (ALBERT, ELECTRA) starts orthogonal; a rotation R of the embeddings is then P R P⁺ for
the hidden states, with the pseudo-inverse P⁺. Shape legend: H hidden, E width of the embeddings, D head size.
"""

import math

import torch

from bertlab.config.config import ModelConfig
from bertlab.nn.bert import Bert

HEAD_OFFSETS = (-1, 1, -2, 2, -3, 3, -4, 4)  # the relative position that head 0, 1, ... attends to
NUM_LAYERS = 2  # how many layers, from the first one on, are initialised like this
POSITION_SCALE = 2.0  # the root mean square of position embeddings, divided by `initializer_range`
# What the expected attention score of the neighbour would be if hidden states consisted only of position embeddings.
# Position embeddings make up two thirds of the variance of an embedding, so the score is between 6 and 7 in the first
# layer, for any hidden size and head size. A head of this layer then gives about a third of its attention to the
# neighbour in an input of 64 tokens.
NEIGHBOUR_SCORE = 10.24


def make_frequencies(num_positions: int, hidden_size: int) -> torch.Tensor:
    """Make angular frequencies in radians per position, from pi down to pi / num_positions -> [H / 2]."""
    return math.pi * num_positions ** -torch.linspace(0, 1, hidden_size // 2, dtype=torch.float64)


def make_sinusoids(num_positions: int, hidden_size: int) -> torch.Tensor:
    """Make the sinusoid of each position: sines, then cosines, with a root mean square of 1 -> [num_positions, H]."""
    angle = torch.arange(num_positions, dtype=torch.float64)[:, None] * make_frequencies(num_positions, hidden_size)
    return (2**0.5 * torch.cat([angle.sin(), angle.cos()], dim=1)).float()


def make_rotation(num_positions: int, hidden_size: int, offset: int) -> torch.Tensor:
    """Make the matrix [H, H] that maps the sinusoid of position t to that of t + offset.

    >>> table = make_sinusoids(16, 8)
    >>> torch.allclose(table[3] @ make_rotation(16, 8, 2).T, table[5], atol=1e-5)
    True
    """
    angle = offset * make_frequencies(num_positions, hidden_size)
    sine, cosine = angle.sin().diag(), angle.cos().diag()
    return torch.cat([torch.cat([cosine, sine], 1), torch.cat([-sine, cosine], 1)]).float()


def supports_local_attention_init(config: ModelConfig) -> bool:
    """Whether the model adds position embeddings to token embeddings, which `initialise_local_attention` needs."""
    return config.family.embeddings == "sum"


@torch.no_grad()
def initialise_local_attention(model: Bert) -> None:
    """Initialise an untrained model so that heads of its first `NUM_LAYERS` layers attend to neighbouring tokens."""
    config = model.config
    H, E, D = config.hidden_size, config.embedding_width, config.head_size
    scale = POSITION_SCALE * config.initializer_range
    model.embeddings.position.weight.copy_(scale * make_sinusoids(config.max_positions, E))
    projection = getattr(model.embeddings, "projection", None)
    if projection is not None:
        # The input of the projection has a variance of 1 in each dimension; with this gain, so does its output.
        torch.nn.init.orthogonal_(projection.weight, gain=max(1.0, H / E) ** 0.5)
    rotations = [_make_hidden_rotation(config, projection, offset) for offset in HEAD_OFFSETS]
    # A hidden state has the squared length H. With key weights of this standard deviation, and query weights that
    # are the key weights times a rotation, the expected score key . query / sqrt(D) is std**2 * D * H / sqrt(D).
    std = (NEIGHBOUR_SCORE / (D**0.5 * H)) ** 0.5
    for layer in dict.fromkeys(model.encoder.layers[:NUM_LAYERS]):  # layers may share their weights
        query_HH, key_HH, _ = layer.attention.qkv.weight.view(3, H, H)
        for head in range(config.num_heads):
            rows = slice(head * D, (head + 1) * D)
            key_HH[rows] *= std / config.initializer_range
            query_HH[rows] = key_HH[rows] @ rotations[head % len(HEAD_OFFSETS)]


def _make_hidden_rotation(config: ModelConfig, projection: torch.nn.Linear | None, offset: int) -> torch.Tensor:
    """Make the matrix [H, H] that maps the hidden state of position t, without tokens, to that of t + offset."""
    rotation_EE = make_rotation(config.max_positions, config.embedding_width, offset)
    if projection is None:
        return rotation_EE
    weight_HE = projection.weight.float()
    return weight_HE @ rotation_EE @ torch.linalg.pinv(weight_HE)
