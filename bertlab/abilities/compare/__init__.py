"""Two checkpoints on one text, or several beside each other."""
