"""Extractive summaries."""
