"""Load and save checkpoints, download them from the hub, prune and average them, and read run directories."""
