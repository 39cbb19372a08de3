"""Strings to integers: tokenizers, file readers, pre-training corpora."""
