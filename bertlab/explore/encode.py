"""Text -> model input, checked; and the tokens as rows to show.

Shape legend: T tokens.
"""

import torch

from bertlab.config.config import ModelConfig
from bertlab.config.errors import TextError
from bertlab.explore.facts import TokenRow
from bertlab.text.batch import Batch
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer


def encode(tokenizer: Tokenizer, text: str, pair: str | None, config: ModelConfig) -> Encoding:
    """[CLS] text [SEP], or [CLS] text [SEP] pair [SEP].

    Args:
        config: of the model that reads it.

    Raises:
        TextError: a text without tokens, more tokens than positions, or a pair for a model with one token type.
    """
    if pair is not None and config.type_vocab_size < 2:
        raise TextError("pair-without-token-types")
    encoding = tokenizer.encode(text, pair, max_tokens=config.max_positions)
    filled = {segment for segment, added in zip(encoding.token_type_ids, encoding.special, strict=True) if not added}
    if 0 not in filled:
        raise TextError("text-empty")
    if pair is not None and 1 not in filled:
        raise TextError("second-text-empty")
    return encoding


def batch_of_one(encoding: Encoding, device: torch.device) -> Batch:
    """A batch of one input, without padding."""
    input_ids_1T = torch.tensor([encoding.ids], device=device)
    token_type_ids_1T = torch.tensor([encoding.token_type_ids], device=device)
    return Batch(input_ids_1T, token_type_ids_1T, torch.ones_like(input_ids_1T, dtype=torch.bool))


def token_rows(encoding: Encoding) -> tuple[TokenRow, ...]:
    """The tokens of an input as rows."""
    columns = (encoding.ids, encoding.tokens, encoding.offsets, encoding.token_type_ids, encoding.special)
    return tuple(
        TokenRow(position, id, token, start, end, segment, special)
        for position, (id, token, (start, end), segment, special) in enumerate(zip(*columns, strict=True))
    )
