"""Pre-training data: corpora, sentence pairs, masking."""
