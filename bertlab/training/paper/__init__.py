"""Reproduce tables of the BERT paper at a small size."""
