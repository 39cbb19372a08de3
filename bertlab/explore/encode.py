"""Text -> what a model reads, refused in one clear line when it cannot be read; and the tokens as rows to show.

Knows a tokenizer and how many positions there are; no model.

Shape legend: T tokens.
"""

import torch

from bertlab.config.errors import TextError
from bertlab.explore.facts import TokenRow
from bertlab.text.batch import Batch
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer


def encode(tokenizer: Tokenizer, text: str, pair: str | None, max_tokens: int) -> Encoding:
    """[CLS] text [SEP], or [CLS] text [SEP] pair [SEP].

    Raises:
        TextError: a text without any piece, or more tokens than `max_tokens`.
    """
    encoding = tokenizer.encode(text, pair, max_tokens=max_tokens)
    filled = {segment for segment, added in zip(encoding.token_type_ids, encoding.special, strict=True) if not added}
    if 0 not in filled:
        raise TextError("text-empty")
    if pair is not None and 1 not in filled:
        raise TextError("the second text is empty: type some words")
    return encoding


def alone(encoding: Encoding, device: torch.device) -> Batch:
    """A batch of one input, so without padding."""
    input_ids_1T = torch.tensor([encoding.ids], device=device)
    token_type_ids_1T = torch.tensor([encoding.token_type_ids], device=device)
    return Batch(input_ids_1T, token_type_ids_1T, torch.ones_like(input_ids_1T, dtype=torch.bool))


def token_rows(encoding: Encoding) -> tuple[TokenRow, ...]:
    """The tokens of an input as rows."""
    columns = (encoding.ids, encoding.pieces, encoding.offsets, encoding.token_type_ids, encoding.special)
    return tuple(
        TokenRow(position, id, piece, start, end, segment, special)
        for position, (id, piece, (start, end), segment, special) in enumerate(zip(*columns, strict=True))
    )
