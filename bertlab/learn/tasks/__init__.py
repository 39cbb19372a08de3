"""Fine-tuning and measuring: rows of labels, values, choices, tags or questions -> a checkpoint, and its figures."""
