"""Sparse attention for long texts: its settings, and their fields in a `config.json` of Longformer and BigBird.

Sources: `LongformerConfig` and `BigBirdConfig` in `transformers`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bertlab.config.errors import CheckpointError

MAX_WINDOW = 10**6  # upper limit of window widths and block sizes (in tokens), and of the number of random blocks


@dataclass(frozen=True)
class WindowAttention:
    """Each token attends to nearby tokens and to a few global tokens, which attend to all tokens (Longformer).

    Source: Beltagy et al. 2020 (arXiv 2004.05150), section 3.1.

    >>> WindowAttention((4,)).count_pairs(8), WindowAttention((4,)).count_pairs(16)
    (34, 74)
    """

    windows: tuple[int, ...]
    """Width of the window of each layer: a token attends to itself and to `width // 2` tokens on each side."""
    separator_id: int = 2  # the token id of [SEP], which ends the question in a question-answering input
    has_global_weights: ClassVar[bool] = True  # whether global tokens have queries, keys and values of their own

    def count_pairs(self, tokens: int, layer: int = 0) -> int:
        """Count the pairs of tokens for which a layer computes a score, as if there were no global tokens."""
        side = min(self.windows[layer] // 2, tokens - 1)
        return tokens * (2 * side + 1) - side * (side + 1)

    def to_hf(self) -> dict:
        return {"attention_window": list(self.windows), "sep_token_id": self.separator_id}


@dataclass(frozen=True)
class BlockAttention:
    """Each block of tokens attends to itself, to its neighbours, and to the first and the last block (BigBird).

    The first and the last block attend to all tokens. In the paper, each block also attends to random blocks.
    `transformers` draws these in training only; in predictions, the first block takes the place of each random block,
    so the keys of the first block count several times in the softmax.

    Source: Zaheer et al. 2020 (arXiv 2007.14062), section 2.

    >>> BlockAttention(block_size=2, num_random_blocks=1).count_pairs(14)  # short texts have full attention
    196
    >>> BlockAttention(block_size=2, num_random_blocks=1).count_pairs(16)
    200
    """

    block_size: int = 64  # number of tokens in a block
    num_random_blocks: int = 3  # number of random blocks for each block
    is_sparse: bool = True
    """Whether long texts have sparse attention; False for checkpoints with the `attention_type` "original_full"."""
    separator_id: int = 66
    """The token id of [SEP], by which `transformers` finds the question in a question-answering input."""
    has_global_weights: ClassVar[bool] = False  # whether global tokens have queries, keys and values of their own

    @property
    def full_length(self) -> int:
        """Texts with at most this many tokens have full attention, because sparse attention would hardly save time."""
        return (5 + 2 * self.num_random_blocks) * self.block_size

    def has_full_attention(self, tokens: int) -> bool:
        """Whether each token of a text attends to all tokens; `tokens` is the number of tokens in the text."""
        return not self.is_sparse or tokens <= self.full_length

    def count_pairs(self, tokens: int, layer: int = 0) -> int:
        """Count the pairs of tokens for which a layer computes a score, random blocks included."""
        if self.has_full_attention(tokens):
            return tokens**2
        blocks = -(-tokens // self.block_size)
        # In the matrix of blocks, the first and the last row are complete. The row next to each of these two has four
        # blocks and the random ones; every other row has five blocks and the random ones.
        return self.block_size**2 * (
            2 * blocks + 2 * (4 + self.num_random_blocks) + (5 + self.num_random_blocks) * (blocks - 4)
        )

    def to_hf(self) -> dict:
        return {
            "attention_type": "block_sparse" if self.is_sparse else "original_full",
            "block_size": self.block_size,
            "num_random_blocks": self.num_random_blocks,
            "sep_token_id": self.separator_id,
        }


SparseAttention = WindowAttention | BlockAttention


def read_sparse(layers: str, fields: Mapping, num_layers: int) -> dict[str, SparseAttention]:
    """Read the settings of a `config.json`, and return {"sparse": the value of this field of `ModelConfig`}.

    The result is {} if layers of this kind do not have sparse attention.
    """
    if layers == "window":
        window = fields.get("attention_window", 512)
        windows = window if isinstance(window, list) else [window] * num_layers
        if len(windows) != num_layers:
            _raise_invalid("attention_window", windows, f"{num_layers} numbers")
        for width in windows:
            if not _is_between(width, 2, MAX_WINDOW) or width % 2:
                _raise_invalid("attention_window", width, "an even number")
        return {"sparse": WindowAttention(tuple(windows), _read_separator_id(fields, 2))}
    if layers == "block":
        block_size, random_blocks = fields.get("block_size", 64), fields.get("num_random_blocks", 3)
        kind = fields.get("attention_type", "block_sparse")
        if not _is_between(block_size, 1, MAX_WINDOW):
            _raise_invalid("block_size", block_size, "a positive number")
        if not _is_between(random_blocks, 0, MAX_WINDOW):
            _raise_invalid("num_random_blocks", random_blocks, "a number of blocks")
        if kind not in ("block_sparse", "original_full"):
            _raise_invalid("attention_type", kind, '"block_sparse" or "original_full"')
        separator_id = _read_separator_id(fields, 66)
        return {"sparse": BlockAttention(block_size, random_blocks, kind == "block_sparse", separator_id)}
    return {}


def _read_separator_id(fields: Mapping, default: int) -> int:
    separator_id = fields.get("sep_token_id", default)
    if not _is_between(separator_id, 0, 10**8):
        _raise_invalid("sep_token_id", separator_id, "a token id")
    return separator_id


def _is_between(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _raise_invalid(name: str, value: object, expected: str) -> None:
    raise CheckpointError("config-field-unsupported", name=name, value=str(value)[:40], expected=expected)
