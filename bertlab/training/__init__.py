"""Train and evaluate models: from data to a checkpoint and its metrics."""
