"""Predictions for the rows of a file."""
