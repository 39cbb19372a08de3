"""BERT, opened up: train it, fine-tune it, and look inside it while it thinks."""

__version__ = "0.1.0"
