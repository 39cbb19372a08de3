"""The snapshots of a training run on one text."""
