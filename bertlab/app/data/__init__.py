"""Cached models, rows and runs that the pages draw."""
