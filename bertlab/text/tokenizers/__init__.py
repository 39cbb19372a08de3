"""Tokenizers, WordPiece and others: their files, their training, encoding and decoding."""
