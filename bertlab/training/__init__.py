"""Training: data to a checkpoint, and its metrics."""
