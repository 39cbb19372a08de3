"""The effect of each word on a classification."""
