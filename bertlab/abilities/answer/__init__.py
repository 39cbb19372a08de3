"""Answers to questions about a passage, and the scores behind them."""
