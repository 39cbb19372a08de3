"""Tokenizers, WordPiece and others: their files, their training, encoding and decoding."""

from bertlab.text.tokenizers import subword  # noqa: F401  (it registers the tokenizers other than WordPiece)
