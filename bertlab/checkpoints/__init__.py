"""A checkpoint directory to a model and back; the hub, pruning, averaging."""
