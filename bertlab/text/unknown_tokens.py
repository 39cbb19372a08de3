"""Recognise texts that a vocabulary cannot represent, for example emoji or another script."""

from collections.abc import Sequence


def is_mostly_unknown(tokens: Sequence[str], unk: str) -> bool:
    """Whether at least half of the tokens of a text are [UNK], not counting punctuation and other symbols.

    >>> [is_mostly_unknown(tokens.split(), "[UNK]") for tokens in ("[UNK] . , .", "[UNK] green tea", ". .")]
    [True, False, False]
    """
    num_unknown = tokens.count(unk)
    num_known = sum(any(map(str.isalnum, token)) for token in tokens if token != unk)
    return num_unknown > 0 and num_unknown >= num_known
