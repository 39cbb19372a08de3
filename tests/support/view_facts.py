"""Small made-up results for the tests of the views: computed without a model, with the same numbers in every run."""

import numpy as np

from bertlab.abilities.results import AttentionMap, NeuronMap, TokenRow

A = ["the", "lamp", "on", "the", "pier", "went", "out"]
B = ["so", "the", "boat", "waited", "오래", "기다렸다"]


def rows(first=A, second=B) -> tuple[TokenRow, ...]:
    tokens = [("[CLS]", 0, True), *((word, 0, False) for word in first), ("[SEP]", 0, True)]
    if second:
        tokens += [*((word, 1, False) for word in second), ("[SEP]", 1, True)]
    rows, offset = [], 0
    for position, (token, segment, special) in enumerate(tokens):
        start, end = (0, 0) if special else (offset, offset + len(token))
        rows.append(TokenRow(position, 100 + position, token, start, end, segment, special))
        offset = end + 1 if not special else offset
    return tuple(rows)


def attention(layers=3, heads=4, tokens=None, seed=0) -> AttentionMap:
    """Random attention like that of trained heads: some attend to neighbours, some to the first token."""
    tokens = tokens or rows()
    size = len(tokens)
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1.2, (layers, heads, size, size))
    near = -np.abs(np.arange(size)[:, None] - np.arange(size)[None]) / 2
    scores += rng.uniform(0, 2, (layers, heads, 1, 1)) * np.maximum(near, -6)
    scores[..., 0] += rng.uniform(0, 4, (layers, heads, 1))
    return AttentionMap(tokens, softmax(scores))


def long_attention(size=140, layers=12, heads=12) -> AttentionMap:
    half = size // 2
    words = [f"w{i}" for i in range(size - 3)]
    return attention(layers, heads, rows(words[:half], words[half:]))


def neuron(dimensions=8, seed=0) -> NeuronMap:
    tokens = rows()
    rng = np.random.default_rng(seed)
    query, key = rng.normal(size=(2, len(tokens), dimensions)).astype(np.float32)
    scores = (query @ key.T / np.sqrt(dimensions)).astype(np.float32)
    return NeuronMap(tokens, 1, 2, query, key, scores, softmax(scores))


def softmax(scores) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


def decode(codes: bytes, scale: dict) -> np.ndarray:
    """The probabilities (float32, flat) of a block of encoded bytes, as the browser computes them."""
    values = np.frombuffer(codes, np.uint8)
    if scale["bytes"] == 2:
        high, low = values.reshape(2, -1).astype(np.float32)
        return (high * 256 + low) / 65535
    return ((values / 255.0) ** (1 / scale["power"])).astype(np.float32)
