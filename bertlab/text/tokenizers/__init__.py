"""Tokenizers: WordPiece."""
