"""Encode texts as model inputs, check these inputs, and list their tokens as `TokenRow` objects.

Shape legend: T tokens.
"""

import torch

from bertlab.abilities.results import TokenRow
from bertlab.config.config import ModelConfig
from bertlab.config.errors import TextError
from bertlab.text.batch import Batch
from bertlab.text.tokenizers.wordpiece import Encoding, Tokenizer


def encode(tokenizer: Tokenizer, text: str, pair: str | None, config: ModelConfig) -> Encoding:
    """Encode a text as [CLS] text [SEP], or a pair as [CLS] text [SEP] pair [SEP].

    Args:
        tokenizer: the tokenizer of the model.
        text: the text.
        pair: the second text; None for a single text.
        config: the configuration of the model.

    Raises:
        TextError: a text has no tokens, the input has more tokens than the model has positions, or there is a pair and
            the model has only one token type.
    """
    if pair is not None and not config.can_read_pairs:
        raise TextError("pair-without-token-types")
    encoding = tokenizer.encode(text, pair, max_tokens=config.max_tokens)
    segments_and_marks = zip(encoding.token_type_ids, encoding.special, strict=True)
    segments_with_text = {segment for segment, is_special in segments_and_marks if not is_special}
    if 0 not in segments_with_text:
        raise TextError("text-empty")
    if pair is not None and 1 not in segments_with_text:
        raise TextError("second-text-empty")
    return encoding


def make_batch_of_one(encoding: Encoding, device: torch.device) -> Batch:
    """Make a batch of one input, which needs no padding."""
    input_ids_1T = torch.tensor([encoding.ids], device=device)
    token_type_ids_1T = torch.tensor([encoding.token_type_ids], device=device)
    return Batch(input_ids_1T, token_type_ids_1T, torch.ones_like(input_ids_1T, dtype=torch.bool))


def make_token_rows(encoding: Encoding) -> tuple[TokenRow, ...]:
    """List the tokens of an input as rows."""
    columns = (encoding.ids, encoding.tokens, encoding.offsets, encoding.token_type_ids, encoding.special)
    return tuple(
        TokenRow(position, id, token, start, end, segment, special)
        for position, (id, token, (start, end), segment, special) in enumerate(zip(*columns, strict=True))
    )
