"""Scores of continuations of a text."""
