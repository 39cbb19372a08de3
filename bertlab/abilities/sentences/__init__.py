"""Sentence vectors: similarity, neighbours and clusters."""
