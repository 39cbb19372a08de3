"""WordPiece tokenizers: their files, their training, encoding and decoding."""
