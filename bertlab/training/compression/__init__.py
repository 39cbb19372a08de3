"""Compress a fine-tuned checkpoint: prune heads, neurons, layers and weights, retrain, quantise, and measure."""
