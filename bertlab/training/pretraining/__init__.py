"""Pre-training: a corpus to a BERT."""
